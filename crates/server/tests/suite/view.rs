//! Conversion of the runtime's values to wire types.

use wakeful_api::Activity;
use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::{Block, Role};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::provenance::Sources;
use wakeful_core::time::Millis;
use wakeful_runtime::api::TranscriptItem;
use wakeful_runtime::rows::{EventRow, TranscriptEntryRow};
use wakeful_server::view::{self, WorkHealth};

use super::services::{at_once, main};
use super::test_server::TestServer;

#[test]
fn an_agents_activity_follows_its_run_its_queue_and_its_blockers() {
    let (world, run) = (TestServer::new(), Some(RunKey(Digest::ZERO)));
    let asleep = at_once(world.services.open.runtime.agents.get(main())).expect("the agent");
    for (open_run, queued, (asks, is_braked), going, activity) in [
        (None, 0, (0, false), WorkHealth::Well, Activity::Asleep),
        (None, 0, (0, true), WorkHealth::Well, Activity::Asleep),
        (None, 2, (0, false), WorkHealth::Well, Activity::Queued),
        (run, 0, (0, false), WorkHealth::Well, Activity::Working),
        (run, 0, (1, false), WorkHealth::Well, Activity::WaitingOnHuman),
        (run, 0, (1, true), WorkHealth::Well, Activity::WaitingOnHuman),
        (run, 0, (0, true), WorkHealth::Well, Activity::Waiting),
        (run, 2, (0, false), WorkHealth::Stuck, Activity::Stuck),
        (None, 2, (0, false), WorkHealth::Stuck, Activity::Stuck),
        (None, 0, (0, false), WorkHealth::Stuck, Activity::Asleep),
    ] {
        let mut agent = asleep.clone();
        (agent.overview.open_run, agent.overview.queued) = (open_run, queued);
        (agent.overview.pending_decisions, agent.overview.is_braked) = (asks, is_braked);
        assert_eq!(view::agent_status(&agent, going).activity, activity);
    }
}

#[test]
fn an_event_with_an_erased_payload_keeps_its_position_and_summary() {
    let row = EventRow {
        seq: 7,
        run_key: None,
        kind: "message_admitted".to_owned(),
        at: Millis(0),
        hash: Digest::ZERO,
        payload_hash: Digest::ZERO,
        policy_version: String::new(),
        payload: None,
    };
    let event = view::event(&main(), &row);
    assert!(event.erased && event.payload == serde_json::json!({}));
    assert_eq!((event.seq, event.policy_version, event.run_key), (7, None, None));
    assert_eq!(event.presentation.title, "Message received");
    let payload = serde_json::json!({
        "run_key": RunKey(Digest::ZERO), "kind": "operator_prompt", "authority": "operator_instruction",
        "surface": "run_once", "context": "local_process", "text": "hello",
    });
    let with_payload = EventRow {
        payload: Some((payload.to_string().into_bytes(), [0; 32])),
        policy_version: "p1".to_owned(),
        ..row
    };
    let event = view::event(&main(), &with_payload);
    assert!(!event.erased);
    assert_eq!(event.policy_version.as_deref(), Some("p1"));
    assert_eq!(event.presentation.summary, "hello");
}

#[test]
fn an_erased_line_is_shown_as_erased() {
    let line = |blocks: Option<Vec<Block>>| TranscriptItem {
        row: TranscriptEntryRow {
            run_key: RunKey(Digest::ZERO),
            role: Role::Assistant,
            content: BlobHash(Digest::ZERO),
            at: Millis(0),
            sources: Sources::none(),
        },
        run: None,
        blocks,
    };
    let erased = view::transcript_line(&line(None));
    assert!(erased.erased && erased.blocks.is_empty());
    let text = "yes".to_owned();
    let said = view::transcript_line(&line(Some(vec![Block::Text { text: text.clone() }])));
    assert_eq!(
        (said.erased, said.blocks),
        (false, vec![wakeful_api::Block::Text { text }])
    );
}
