//! The stream of one agent.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use wakeful_runtime::hub::LISTENER_LAG_MAX;

use super::super::agent::open;
use super::super::{LAG_EVENTS_MAX, STALL_MS_MAX};
use super::agent_logs::AgentLogs;
use super::{Client, Daemon, Seen, code, id};

/// A client that has read the first frame.
async fn follow(logs: &AgentLogs, daemon: &Daemon, after_seq: Option<u64>) -> Client {
    let source = open(logs.runtime.clone(), id("main"), after_seq, daemon.stay()).await;
    let mut client = Client::of(source.expect("a stream"));
    assert_eq!(client.see().await.name, "cursor");
    client
}

fn dropped(why: &str, after_seq: u64) -> Seen {
    Seen {
        name: "dropped".to_owned(),
        id: Some(after_seq.to_string()),
        data: json!({"code": why, "after_seq": after_seq}),
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_starts_with_the_retry_delay_and_its_position() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 2);
    let source = open(logs.runtime, id("main"), None, daemon.stay())
        .await
        .expect("a stream");
    let first = Client::of(source).text().await.expect("a frame");
    assert_eq!(
        first,
        "retry: 1000\nid: 2\nevent: cursor\ndata: {\"after_seq\":2}\n\n"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_is_one_frame_with_its_number_as_its_position() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    logs.write("main", 1);
    let text = client.text().await.expect("a frame");
    let data = text
        .strip_prefix("id: 1\nevent: event\ndata: ")
        .and_then(|rest| rest.strip_suffix("\n\n"));
    let event: wakeful_api::Event = serde_json::from_str(data.expect("three lines")).expect("an event");
    assert_eq!(
        (event.agent_id.as_str(), event.seq, event.kind.as_str()),
        ("main", 1, "run_started")
    );
    assert_eq!(event.presentation.summary, "Run started with m");
}

#[tokio::test(start_paused = true)]
async fn without_a_position_only_new_events_arrive() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.write("main", 3);
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.write("main", 2);
    assert_eq!(client.seqs(2).await, [4, 5]);
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn from_a_number_on_every_event_arrives_once() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 450);
    let mut client = follow(&logs, &daemon, Some(3)).await;
    let mut seen = client.seqs(100).await;
    logs.write("main", 50);
    seen.extend(client.seqs(397).await);
    assert_eq!(seen, (4..=500).collect::<Vec<u64>>());
    assert!(client.is_silent().await);
    logs.write("main", 1);
    assert_eq!(client.seqs(1).await, [501]);
}

#[tokio::test(start_paused = true)]
async fn a_gap_in_the_numbers_is_read_from_the_store() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    let events = logs.append("main", 3);
    logs.tell("main", &events[2..]);
    assert_eq!(client.seqs(3).await, [1, 2, 3]);
    logs.tell("main", &events[..1]);
    logs.tell("main", &events[1..2]);
    assert!(client.is_silent().await, "an event came twice");
}

#[tokio::test(start_paused = true)]
async fn a_notification_without_events_causes_a_read() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.append("main", 2);
    assert!(client.is_silent().await, "no stream was notified");
    logs.tell("main", &[]);
    assert_eq!(client.seqs(2).await, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn contiguous_notifications_need_no_read() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    let reads = logs.reads();
    logs.write("main", 20);
    assert_eq!(client.seqs(20).await.len(), 20);
    assert_eq!(logs.reads(), reads);
}

#[tokio::test(start_paused = true)]
async fn known_notifications_need_no_read() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    let events = logs.append("main", 3);
    logs.tell("main", &[]);
    assert_eq!(client.seqs(3).await, [1, 2, 3]);
    assert!(client.is_silent().await);
    let reads = logs.reads();
    logs.tell("main", &events[..2]);
    assert!(client.is_silent().await);
    assert_eq!(logs.reads(), reads);
}

#[tokio::test(start_paused = true)]
async fn an_event_arrives_although_its_notification_was_crowded_out() {
    let (logs, daemon) = (AgentLogs::of(&["main", "other"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.write("main", 1);
    (0..=LISTENER_LAG_MAX).for_each(|_| logs.say("other", "…"));
    assert_eq!(client.seqs(1).await, [1]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_missed_notifications_catches_up_from_the_store() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    let many = LISTENER_LAG_MAX + 500;
    logs.write("main", many);
    let expected: Vec<u64> = (1..).take(many).collect();
    assert_eq!(client.seqs(many).await, expected);
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_reader_too_far_behind_is_dropped_with_its_position() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    logs.write("main", 1);
    assert_eq!(client.seqs(1).await, [1]);
    logs.append(
        "main",
        usize::try_from(LAG_EVENTS_MAX).expect("small") - LISTENER_LAG_MAX,
    );
    logs.write("main", LISTENER_LAG_MAX + 1);
    assert_eq!(client.see().await, dropped("too_slow", 1));
    assert!(client.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_request_a_log_longer_than_the_lag_limit() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let all = usize::try_from(LAG_EVENTS_MAX).expect("small") + 1;
    logs.append("main", all);
    let mut client = follow(&logs, &daemon, Some(0)).await;
    assert_eq!(client.seqs(all).await.last(), Some(&(LAG_EVENTS_MAX + 1)));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_half_a_minute_for_a_frame_is_dropped() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    logs.write("main", 3);
    assert_eq!(client.seqs(1).await, [1]);
    tokio::time::advance(Duration::from_millis(STALL_MS_MAX)).await;
    assert_eq!(client.seqs(1).await, [2]);
    tokio::time::advance(Duration::from_millis(STALL_MS_MAX + 1)).await;
    assert_eq!(client.see().await, dropped("too_slow", 2));
    assert!(client.has_ended().await);
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_sends_a_keep_alive_every_quarter_minute() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    let begun = tokio::time::Instant::now();
    for count in 1..=5 {
        assert_eq!(client.text().await.as_deref(), Some(":\n\n"));
        assert_eq!(begun.elapsed().as_secs(), 15 * count);
    }
    logs.write("main", 1);
    assert_eq!(client.seqs(1).await, [1]);
}

#[tokio::test(start_paused = true)]
async fn streams_end_at_once_when_the_daemon_stops() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 10);
    let mut waiting = follow(&logs, &daemon, None).await;
    let mut reading = follow(&logs, &daemon, Some(0)).await;
    assert_eq!(reading.seqs(2).await, [1, 2]);
    let stopped = async {
        tokio::task::yield_now().await;
        daemon.stop();
    };
    let (ended, ()) = tokio::join!(waiting.has_ended(), stopped);
    assert!(ended && reading.has_ended().await);
    drop((waiting, reading));
    assert_eq!(logs.listeners(), 0);
}

#[tokio::test(start_paused = true)]
async fn deltas_have_no_position_and_belong_to_this_agent_only() {
    let (logs, daemon) = (AgentLogs::of(&["main", "other"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.say("other", "not for you");
    logs.write("other", 1);
    logs.say("main", "one\ntwo");
    let expected = Seen {
        name: "delta".to_owned(),
        id: None,
        data: json!({"agent_id": "main", "run_key": "0".repeat(64), "attempt": 0, "chunk": 3, "text": "one\ntwo"}),
    };
    assert_eq!(client.see().await, expected);
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn output_of_a_running_command_is_streamed_without_a_position() {
    let (logs, daemon) = (AgentLogs::of(&["main", "other"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.print("other", "not for you\n");
    logs.print("main", "one\n");
    let zero = "0".repeat(64);
    let expected = Seen {
        name: "tool_output".to_owned(),
        id: None,
        data: json!({
            "agent_id": "main", "run_key": zero, "operation_id": zero, "stream": "stderr", "chunk": 1, "text": "one\n",
        }),
    };
    assert_eq!(client.see().await, expected);
    assert!(client.is_silent().await);
}

#[tokio::test(start_paused = true)]
async fn deltas_from_before_the_stream_caught_up_are_not_repeated() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 1);
    let mut client = follow(&logs, &daemon, Some(0)).await;
    logs.say("main", "old");
    logs.write("main", 1);
    assert_eq!(client.seqs(2).await, [1, 2]);
    assert!(client.is_silent().await);
    logs.say("main", "new");
    assert_eq!(client.see().await.data["text"], "new");
}

// Conformance: H-063
#[tokio::test(start_paused = true)]
async fn a_client_that_reconnects_misses_nothing_and_gets_no_duplicates() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 6);
    for cut in 0..=6 {
        let mut client = follow(&logs, &daemon, Some(0)).await;
        let mut seen = client.seqs(cut).await;
        let place = seen.last().copied().unwrap_or(0);
        let mut again = follow(&logs, &daemon, Some(place)).await;
        seen.extend(again.seqs(6 - cut).await);
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_beyond_the_newest_event_is_refused() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    logs.append("main", 2);
    let refused = open(logs.runtime.clone(), id("main"), Some(3), daemon.stay())
        .await
        .err()
        .expect("refused");
    assert_eq!(code(&refused), "bad_cursor");
    let refused = open(logs.runtime, id("nobody"), None, daemon.stay())
        .await
        .err()
        .expect("refused");
    assert!(code(&refused).contains("agent_unknown"));
}

#[tokio::test(start_paused = true)]
async fn a_closed_store_ends_the_stream_with_its_position() {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, None).await;
    assert!(client.is_silent().await);
    logs.close();
    logs.tell("main", &[]);
    assert_eq!(client.see().await, dropped("unavailable", 0));
    assert!(client.has_ended().await);
}

/// Faults that may affect a stream.
#[derive(Debug, Clone)]
enum StreamFault {
    Write(usize),
    AppendUntold(usize),
    TellNothing,
    TellLate(usize),
    Flood,
    Say,
    Read(usize),
    Reconnect,
}

fn mishap() -> impl Strategy<Value = StreamFault> {
    prop_oneof![
        4 => (1_usize..5).prop_map(StreamFault::Write),
        2 => (1_usize..300).prop_map(StreamFault::AppendUntold),
        1 => Just(StreamFault::TellNothing),
        2 => (0_usize..400).prop_map(StreamFault::TellLate),
        1 => Just(StreamFault::Flood),
        1 => Just(StreamFault::Say),
        4 => (1_usize..50).prop_map(StreamFault::Read),
        2 => Just(StreamFault::Reconnect),
    ]
}

/// Reads events up to a limit or until none arrives, and records their sequence numbers.
async fn read(client: &mut Client, seen: &mut Vec<u64>, at_most: usize) {
    for _ in 0..at_most {
        let soon = Duration::from_millis(1);
        let Ok(frame) = tokio::time::timeout(soon, client.see()).await else {
            return;
        };
        match frame.name.as_str() {
            "event" => {
                assert_eq!(frame.id, Some(frame.data["seq"].to_string()));
                seen.push(frame.data["seq"].as_u64().expect("a number"));
            }
            "delta" => assert_eq!(frame.id, None),
            _ => panic!("{frame:?}"),
        }
    }
}

async fn live_through(mishaps: Vec<StreamFault>) {
    let (logs, daemon) = (AgentLogs::of(&["main"]), Daemon::new());
    let mut client = follow(&logs, &daemon, Some(0)).await;
    let (mut seen, mut written) = (Vec::new(), Vec::new());
    for mishap in mishaps {
        match mishap {
            StreamFault::Write(count) => {
                let events = logs.append("main", count);
                logs.tell("main", &events);
                written.extend(events);
            }
            StreamFault::AppendUntold(count) => written.extend(logs.append("main", count)),
            StreamFault::TellNothing => logs.tell("main", &[]),
            StreamFault::TellLate(at) => logs.tell("main", written.get(at..).unwrap_or_default()),
            StreamFault::Flood => (0..LISTENER_LAG_MAX + 1).for_each(|_| logs.say("main", "…")),
            StreamFault::Say => logs.say("main", "…"),
            StreamFault::Read(count) => read(&mut client, &mut seen, count).await,
            StreamFault::Reconnect => {
                client = follow(&logs, &daemon, Some(seen.last().copied().unwrap_or(0))).await
            }
        }
    }
    logs.tell("main", &[]);
    read(&mut client, &mut seen, usize::MAX).await;
    let expected: Vec<u64> = written.iter().map(|event| event.seq).collect();
    assert_eq!(seen, expected);
}

proptest! {
    // Conformance: H-063
    /// Other processes write, notifications are late or lost, connections break: a reader still receives
    /// each event once.
    #[test]
    fn every_event_arrives_once_and_in_order_despite_faults(mishaps in proptest::collection::vec(mishap(), 0..16)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(live_through(mishaps));
    }
}
