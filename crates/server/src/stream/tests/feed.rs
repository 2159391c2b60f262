//! Pages of all listed agents' events.

use proptest::prelude::*;
use wakeful_api::EventFeed;
use wakeful_runtime::rows::Visibility;

use super::super::cursor::Positions;
use super::super::feed;
use super::agent_logs::AgentLogs;
use super::code;

async fn read(logs: &AgentLogs, cursor: Option<&str>, limit: u32) -> EventFeed {
    let from = cursor.map(|cursor| Positions::decode(cursor).expect("a cursor"));
    feed::read(&logs.runtime, from, limit).await.expect("a page")
}

fn seen(page: &EventFeed) -> Vec<(&str, u64)> {
    page.events
        .iter()
        .map(|event| (event.agent_id.as_str(), event.seq))
        .collect()
}

fn beginning() -> String {
    Positions::default().encode()
}

#[tokio::test]
async fn events_are_merged_by_time_then_agent_then_number() {
    let logs = AgentLogs::of(&["a", "b"]);
    for (agent, at) in [("b", 1), ("a", 5), ("b", 5), ("a", 9), ("b", 7)] {
        logs.append_at(agent, at);
    }
    let page = read(&logs, Some(&beginning()), 10).await;
    assert_eq!(seen(&page), [("b", 1), ("a", 1), ("b", 2), ("b", 3), ("a", 2)]);
    assert!(!page.has_more);
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_reorder_one_log() {
    let logs = AgentLogs::of(&["a", "b"]);
    for (agent, at) in [("a", 9), ("a", 2), ("b", 5)] {
        logs.append_at(agent, at);
    }
    let page = read(&logs, Some(&beginning()), 10).await;
    assert_eq!(seen(&page), [("b", 1), ("a", 1), ("a", 2)]);
}

#[tokio::test]
async fn the_cursor_covers_exactly_the_returned_events() {
    let logs = AgentLogs::of(&["a", "b"]);
    for (agent, at) in [("a", 1), ("b", 2), ("a", 3), ("b", 4)] {
        logs.append_at(agent, at);
    }
    let first = read(&logs, Some(&beginning()), 3).await;
    assert_eq!(
        (seen(&first), first.has_more),
        (vec![("a", 1), ("b", 1), ("a", 2)], true)
    );
    let second = read(&logs, Some(&first.cursor), 3).await;
    assert_eq!((seen(&second), second.has_more), (vec![("b", 2)], false));
    let third = read(&logs, Some(&second.cursor), 3).await;
    assert_eq!(
        (seen(&third), third.has_more, &third.cursor),
        (vec![], false, &second.cursor)
    );
}

#[tokio::test]
async fn without_a_cursor_the_newest_events_come_oldest_first() {
    let logs = AgentLogs::of(&["a", "b", "empty"]);
    for at in 0..20 {
        logs.append_at("a", at * 2);
    }
    for at in 17..19 {
        logs.append_at("b", at * 2 + 1);
    }
    let page = read(&logs, None, 5).await;
    assert_eq!(seen(&page), [("a", 18), ("b", 1), ("a", 19), ("b", 2), ("a", 20)]);
    assert!(!page.has_more);
    assert_eq!(seen(&read(&logs, Some(&page.cursor), 5).await), []);
    logs.append_at("empty", 1);
    assert_eq!(seen(&read(&logs, Some(&page.cursor), 5).await), [("empty", 1)]);
}

#[tokio::test]
async fn private_agents_are_in_no_page() {
    let logs = AgentLogs::of(&["a"]);
    logs.make("secret", Visibility::Private);
    logs.append("secret", 3);
    logs.append("a", 1);
    assert_eq!(seen(&read(&logs, None, 5).await), [("a", 1)]);
    assert_eq!(seen(&read(&logs, Some(&beginning()), 5).await), [("a", 1)]);
}

#[tokio::test]
async fn a_page_of_many_agents_reads_little_of_each() {
    let logs = AgentLogs::of(&[]);
    for n in 0..100 {
        logs.make(&format!("agent-{n}"), Visibility::Public);
        logs.append(&format!("agent-{n}"), 50);
    }
    for cursor in [None, Some(beginning())] {
        let before = logs.reads();
        assert_eq!(read(&logs, cursor.as_deref(), 100).await.events.len(), 100);
        // One of the reads lists the agents.
        assert!(logs.reads() - before <= 114, "{} reads", logs.reads() - before);
    }
}

#[tokio::test]
async fn a_cursor_of_another_home_is_refused() {
    let (here, there) = (AgentLogs::of(&["a"]), AgentLogs::of(&["a"]));
    here.append("a", 5);
    let cursor = read(&here, None, 1).await.cursor;
    let from = Positions::decode(&cursor).expect("a cursor");
    let refused = feed::read(&there.runtime, Some(from), 1)
        .await
        .expect_err("refused");
    assert_eq!(code(&refused), "bad_cursor");
}

async fn page_through(written: Vec<(usize, i64)>, limit: u32) {
    let names = ["a", "b", "c", "d"];
    let logs = AgentLogs::of(&names);
    for (agent, at) in &written {
        logs.append_at(names[*agent], *at);
    }
    let (mut cursor, mut got) = (beginning(), Vec::new());
    loop {
        let page = read(&logs, Some(&cursor), limit).await;
        assert!(page.events.len() <= limit as usize);
        got.extend(page.events);
        cursor = page.cursor;
        if !page.has_more {
            break;
        }
    }
    assert_eq!(got.len(), written.len());
    for name in names {
        let of_agent: Vec<u64> = got.iter().filter(|e| e.agent_id == name).map(|e| e.seq).collect();
        assert!(
            of_agent.iter().copied().eq((1..).take(of_agent.len())),
            "{name}: {of_agent:?}"
        );
    }
    let newest = read(&logs, None, limit).await;
    assert_eq!(newest.events.len(), written.len().min(limit as usize));
    assert_eq!(newest.cursor, cursor);
    if written.is_sorted_by_key(|(_, at)| *at) {
        let tail = got.len() - newest.events.len();
        assert_eq!(newest.events, got[tail..]);
        assert!(got.is_sorted_by_key(|event| event.at.clone()));
    }
}

proptest! {
    #[test]
    fn paging_returns_every_event_once(
        mut written in proptest::collection::vec((0..4_usize, 0..50_i64), 0..120),
        limit in 1..40_u32,
        clock_is_good in any::<bool>(),
    ) {
        if clock_is_good {
            written.sort_by_key(|(_, at)| *at);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(page_through(written, limit));
    }
}
