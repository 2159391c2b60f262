//! The stream of all listed agents.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use wakeful_runtime::hub::LISTENER_LAG_MAX;
use wakeful_runtime::rows::Visibility;

use super::super::all::{CURSOR_EACH_CHARS_MAX, open};
use super::super::cursor::{CURSOR_AGENTS_MAX, Positions};
use super::super::{LAG_EVENTS_MAX, STALL_MS_MAX};
use super::agent_logs::AgentLogs;
use super::{Client, Daemon, Seen, code, id};

/// A client that has read the first frame, and the cursor in it.
async fn follow(logs: &AgentLogs, daemon: &Daemon, cursor: Option<&str>) -> (Client, String) {
    let from = cursor.map(|cursor| Positions::decode(cursor).expect("a cursor"));
    let source = open(logs.runtime.clone(), from, daemon.stay()).await;
    let mut client = Client::of(source.expect("a stream"));
    let first = client.see().await;
    let cursor = first.id.expect("a cursor");
    assert_eq!(
        (first.name.as_str(), first.data["cursor"].as_str()),
        ("cursor", Some(cursor.as_str()))
    );
    (client, cursor)
}

fn dropped(why: &str, cursor: &str) -> Seen {
    Seen {
        name: "dropped".to_owned(),
        id: Some(cursor.to_owned()),
        data: json!({"code": why, "cursor": cursor}),
    }
}

fn seen(events: &[(&str, u64)]) -> Vec<(String, u64)> {
    events
        .iter()
        .map(|(agent, seq)| ((*agent).to_owned(), *seq))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_event_of_all_listed_agents_has_the_position_after_it() {
    let (logs, daemon) = (AgentLogs::of(&["a", "b"]), Daemon::new());
    logs.write("a", 2);
    let (mut client, _) = follow(&logs, &daemon, None).await;
    logs.write("b", 1);
    logs.write("a", 1);
    let first = client.see().await;
    assert_eq!(
        (&first.data["agent_id"], &first.data["seq"]),
        (&"b".into(), &1.into())
    );
    let (mut again, cursor) = follow(&logs, &daemon, first.id.as_deref()).await;
    assert_eq!(Some(cursor), first.id);
    assert_eq!(client.events(1).await, seen(&[("a", 3)]));
    assert_eq!(again.events(1).await, seen(&[("a", 3)]));
    assert!(client.is_silent().await && again.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_received_nothing_resumes_where_it_started() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    logs.write("a", 3);
    let (client, cursor) = follow(&logs, &daemon, None).await;
    drop(client);
    logs.write("a", 2);
    let (mut again, _) = follow(&logs, &daemon, Some(&cursor)).await;
    assert_eq!(again.events(2).await, seen(&[("a", 4), ("a", 5)]));
}

#[tokio::test(start_paused = true)]
async fn an_event_during_the_start_of_a_stream_is_not_lost() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    let source = open(logs.runtime.clone(), None, daemon.stay()).await;
    assert_eq!(logs.unheard_reads(), 0, "it listens before it reads");
    logs.write("a", 1);
    let mut client = Client::of(source.expect("a stream"));
    assert_eq!(client.see().await.name, "cursor");
    assert_eq!(client.events(1).await, seen(&[("a", 1)]));
}

#[tokio::test(start_paused = true)]
async fn private_agents_are_never_included_not_even_their_deltas() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    logs.make("secret", Visibility::Private);
    let (mut client, cursor) = follow(&logs, &daemon, None).await;
    let reads = logs.reads();
    logs.say("secret", "psst");
    logs.write("secret", 5);
    logs.tell("secret", &[]);
    assert!(client.is_silent().await);
    assert_eq!(logs.reads(), reads + 1, "it is asked for once");
    logs.say("a", "hello");
    assert_eq!(client.see().await.data["text"], "hello");
    let (mut again, _) = follow(&logs, &daemon, Some(&cursor)).await;
    assert!(again.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_new_agent_joins_with_its_first_event() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    let (mut client, cursor) = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.make("b", Visibility::Public);
    logs.write("b", 2);
    assert_eq!(client.events(2).await, seen(&[("b", 1), ("b", 2)]));
    logs.make("c", Visibility::Public);
    logs.append("c", 2);
    logs.tell("c", &[]);
    assert_eq!(client.events(2).await, seen(&[("c", 1), ("c", 2)]));
    let (mut again, _) = follow(&logs, &daemon, Some(&cursor)).await;
    assert_eq!(again.events(4).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_read_from_the_store() {
    let (logs, daemon) = (AgentLogs::of(&["a", "b"]), Daemon::new());
    let (mut client, _) = follow(&logs, &daemon, None).await;
    let events = logs.append("b", 3);
    logs.tell("b", &events[2..]);
    logs.tell("b", &events[..1]);
    assert_eq!(client.events(3).await, seen(&[("b", 1), ("b", 2), ("b", 3)]));
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_missed_notifications_catches_up_on_all_agents() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    let (mut client, _) = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.make("b", Visibility::Public);
    logs.write("b", 300);
    logs.write("a", LISTENER_LAG_MAX + 100);
    let mut got = client.events(LISTENER_LAG_MAX + 400).await;
    assert!(client.is_silent().await);
    let (of_a, of_b): (Vec<_>, Vec<_>) = got.drain(..).partition(|(agent, _)| agent == "a");
    assert!(
        of_a.into_iter()
            .map(|(_, seq)| seq)
            .eq((1..).take(LISTENER_LAG_MAX + 100))
    );
    assert!(of_b.into_iter().map(|(_, seq)| seq).eq(1..=300));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_half_a_minute_for_a_frame_is_dropped() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    let (mut client, cursor) = follow(&logs, &daemon, None).await;
    tokio::time::advance(Duration::from_millis(STALL_MS_MAX + 1)).await;
    assert_eq!(client.see().await, dropped("too_slow", &cursor));
    assert!(client.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn a_reader_too_far_behind_on_all_agents_together_is_dropped() {
    let (logs, daemon) = (AgentLogs::of(&["a", "b"]), Daemon::new());
    let (mut client, cursor) = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    let half = usize::try_from(LAG_EVENTS_MAX / 2).expect("small");
    logs.append("b", half);
    logs.append("a", half - LISTENER_LAG_MAX);
    logs.write("a", LISTENER_LAG_MAX + 1);
    assert_eq!(client.see().await, dropped("too_slow", &cursor));
    assert!(client.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn streams_end_at_once_when_the_daemon_stops() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    logs.append("a", 10);
    let (mut waiting, _) = follow(&logs, &daemon, None).await;
    let (mut reading, _) = follow(&logs, &daemon, Some(&Positions::default().encode())).await;
    assert_eq!(reading.events(1).await, seen(&[("a", 1)]));
    let stopped = async {
        tokio::task::yield_now().await;
        daemon.stop();
    };
    let (ended, ()) = tokio::join!(waiting.has_ended(), stopped);
    assert!(ended && reading.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn a_closed_store_ends_the_stream() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    let (mut client, _) = follow(&logs, &daemon, None).await;
    logs.close();
    logs.tell("a", &[]);
    let last = client.see().await;
    assert_eq!(
        (last.name.as_str(), &last.data["code"]),
        ("dropped", &"unavailable".into())
    );
    assert!(client.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn deltas_from_before_the_stream_caught_up_are_not_repeated() {
    let (logs, daemon) = (AgentLogs::of(&["a", "b"]), Daemon::new());
    logs.append("a", 1);
    logs.append("b", 1);
    let (mut client, _) = follow(&logs, &daemon, Some(&Positions::default().encode())).await;
    logs.say("a", "old");
    assert_eq!(client.events(2).await, seen(&[("a", 1), ("b", 1)]));
    assert!(client.is_silent().await);
    logs.say("a", "new");
    assert_eq!(client.see().await.data["text"], "new");
}

/// Enough agents that their cursor is longer than an event.
fn crowd(agents: usize) -> AgentLogs {
    let logs = AgentLogs::of(&[]);
    for n in 0..agents {
        logs.make(&format!("agent-{n}"), Visibility::Public);
        logs.append(&format!("agent-{n}"), 1);
    }
    logs
}

#[tokio::test(start_paused = true)]
async fn a_long_cursor_never_costs_more_than_its_events() {
    let (logs, daemon) = (crowd(400), Daemon::new());
    let (mut client, cursor) = follow(&logs, &daemon, None).await;
    assert!(cursor.len() > CURSOR_EACH_CHARS_MAX);
    let (mut events, mut cursors, mut places) = (0, 0, 0);
    for _ in 0..40 {
        logs.write("agent-7", 1);
        let text = client.text().await.expect("a frame");
        let place = text
            .lines()
            .find_map(|line| line.strip_prefix("id: "))
            .map_or(0, str::len);
        events += text.len() - place;
        cursors += place;
        places += usize::from(place > 0);
        assert!(cursors <= events, "{cursors} of cursors, {events} of events");
    }
    assert!(places >= 3, "{places} cursors only");
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_of_many_agents_sends_its_position() {
    let (logs, daemon) = (crowd(400), Daemon::new());
    let (mut client, _) = follow(&logs, &daemon, None).await;
    logs.write("agent-7", 1);
    assert_eq!(client.see().await.id, None);
    let place = client.see().await;
    assert_eq!(place.name, "cursor");
    assert_eq!(client.text().await.as_deref(), Some(":\n\n"));
    let (mut again, _) = follow(&logs, &daemon, place.id.as_deref()).await;
    assert!(again.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn more_agents_than_a_cursor_holds_are_refused_even_later() {
    let (logs, daemon) = (crowd(CURSOR_AGENTS_MAX), Daemon::new());
    let (mut client, _) = follow(&logs, &daemon, None).await;
    logs.make("late", Visibility::Public);
    logs.write("late", 1);
    let last = client.see().await;
    assert_eq!(
        (last.name.as_str(), &last.data["code"]),
        ("dropped", &"too_many_agents".into())
    );
    let refused = open(logs.runtime, None, daemon.stay())
        .await
        .err()
        .expect("refused");
    assert_eq!(code(&refused), "too_many_agents");
}

#[tokio::test(start_paused = true)]
async fn a_cursor_beyond_the_newest_event_is_refused() {
    let (logs, daemon) = (AgentLogs::of(&["a"]), Daemon::new());
    logs.write("a", 2);
    let (_, cursor) = follow(&logs, &daemon, None).await;
    let (other, from) = (
        AgentLogs::of(&["a"]),
        Positions::decode(&cursor).expect("a cursor"),
    );
    let refused = open(other.runtime, Some(from), daemon.stay())
        .await
        .err()
        .expect("refused");
    assert_eq!(code(&refused), "bad_cursor");
}

#[test]
fn an_agent_id_has_a_unique_tag_among_all_expected_agents() {
    use super::super::cursor::Tag;
    let tags: BTreeSet<Tag> = (0..10_000).map(|n| Tag::of(&id(&format!("agent-{n}")))).collect();
    assert_eq!(tags.len(), 10_000);
}

const AGENTS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum StreamFault {
    Write(usize, usize),
    AppendUntold(usize, usize),
    TellNothing(usize),
    Flood,
    Read(usize),
    Reconnect,
}

fn mishap() -> impl Strategy<Value = StreamFault> {
    prop_oneof![
        4 => (0..3_usize, 1_usize..5).prop_map(|(agent, count)| StreamFault::Write(agent, count)),
        2 => (0..3_usize, 1_usize..250).prop_map(|(agent, count)| StreamFault::AppendUntold(agent, count)),
        1 => (0..3_usize).prop_map(StreamFault::TellNothing),
        1 => Just(StreamFault::Flood),
        4 => (1_usize..50).prop_map(StreamFault::Read),
        2 => Just(StreamFault::Reconnect),
    ]
}

async fn read(client: &mut Client, got: &mut Vec<(String, u64)>, place: &mut String, at_most: usize) {
    for _ in 0..at_most {
        let soon = Duration::from_millis(1);
        let Ok(frame) = tokio::time::timeout(soon, client.see()).await else {
            return;
        };
        if frame.name == "event" {
            let agent = frame.data["agent_id"].as_str().expect("an agent").to_owned();
            got.push((agent, frame.data["seq"].as_u64().expect("a number")));
        }
        *place = frame.id.unwrap_or_else(|| std::mem::take(place));
    }
}

async fn live_through(mishaps: Vec<StreamFault>) {
    let (logs, daemon) = (AgentLogs::of(&AGENTS), Daemon::new());
    let (mut client, mut place) = follow(&logs, &daemon, None).await;
    let (mut got, mut counts) = (Vec::new(), [0_u64; 3]);
    for mishap in mishaps {
        match mishap {
            StreamFault::Write(agent, count) => {
                logs.write(AGENTS[agent], count);
                counts[agent] += u64::try_from(count).expect("small");
            }
            StreamFault::AppendUntold(agent, count) => {
                logs.append(AGENTS[agent], count);
                counts[agent] += u64::try_from(count).expect("small");
            }
            StreamFault::TellNothing(agent) => logs.tell(AGENTS[agent], &[]),
            StreamFault::Flood => (0..LISTENER_LAG_MAX + 1).for_each(|_| logs.say("a", "…")),
            StreamFault::Read(count) => read(&mut client, &mut got, &mut place, count).await,
            StreamFault::Reconnect => (client, _) = follow(&logs, &daemon, Some(&place)).await,
        }
    }
    AGENTS.iter().for_each(|agent| logs.tell(agent, &[]));
    read(&mut client, &mut got, &mut place, usize::MAX).await;
    for (agent, count) in AGENTS.iter().zip(counts) {
        let of_agent = got.iter().filter(|(of, _)| of == agent).map(|(_, seq)| *seq);
        assert!(of_agent.eq(1..=count), "{agent}");
    }
}

proptest! {
    #[test]
    fn events_of_each_agent_arrive_once_in_order_despite_faults(
        mishaps in proptest::collection::vec(mishap(), 0..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(live_through(mishaps));
    }
}
