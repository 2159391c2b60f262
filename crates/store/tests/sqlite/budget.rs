//! The disk space of a tool round.

use std::fs;
use std::ops::Range;
use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::conversation::{Role, Usage};
use wakeful_core::id::PolicyVersion;
use wakeful_core::provenance::Sources;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::{EventDraft, EventKind, LogHead, SealedEvent};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_store::rows::{
    Fence, PackedBlob, RunLogRow, RunRow, StepRow, StepSettlement, TranscriptEntryRow,
};
use wakeful_store::{Store, StoreError, Tx};

use crate::contract::head::held;
use crate::fixture::{block_on, files, open_file, sample};

/// Maximum bytes on disk for all rows of one tool round with short contents, including indexes and free
/// space.
const ROUND_BYTES_MAX: u64 = 6_000;

/// Enough rounds to make the fixed size of a database negligible.
const ROUNDS: i64 = 400;

#[test]
fn a_tool_round_stays_within_its_budget_on_disk() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let fence = held(&store).await;
        store
            .write(|tx| tx.create_run(&sample::run("run")))
            .await
            .expect("created");
        rounds(&store, fence, 0..ROUNDS).await;
        store.close().await.expect("closed");
    });
    let bytes = fs::metadata(files(home.path()).path).expect("there").len();
    let per_round = bytes / ROUNDS.unsigned_abs();
    eprintln!("{per_round} bytes per tool round");
    assert!(per_round <= ROUND_BYTES_MAX, "{per_round} bytes per tool round");
}

async fn rounds(store: &Store, fence: Fence, which: Range<i64>) {
    for round in which {
        let blobs = pack(store, round).await;
        for half in [1, 2] {
            let blobs = blobs.clone();
            store
                .write(move |tx| transition(tx, fence, 2 * round + half, &blobs))
                .await
                .expect("committed");
        }
    }
}

/// Returns the bytes written to disk for ten rounds, measured by the length of a log that was emptied
/// before.
async fn written(store: &Store, fence: Fence, home: &Path, from: i64) -> u64 {
    let path = files(home).path;
    let beside = Connection::open(&path).expect("opens");
    let emptied = beside.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    assert_eq!(emptied.expect("emptied"), 0);
    rounds(store, fence, from..from + 10).await;
    let log = format!("{}-wal", path.display());
    fs::metadata(log).expect("a log").len()
}

// Conformance: L-010
#[test]
fn appending_costs_the_same_for_any_length_of_history() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let fence = held(&store).await;
        let begun = store.write(|tx| tx.create_run(&sample::run("run"))).await;
        begun.expect("created");
        rounds(&store, fence, 0..20).await;
        let early = written(&store, fence, home.path(), 20).await;
        rounds(&store, fence, 30..ROUNDS).await;
        let late = written(&store, fence, home.path(), ROUNDS).await;
        eprintln!("{early} bytes after 20 rounds, {late} after {ROUNDS}");
        // A tree that is one level deeper costs one more page for each of its rows; the history itself
        // costs nothing.
        assert!(
            late <= early * 2,
            "{early} bytes after 20 rounds, {late} after {ROUNDS}"
        );
    });
}

/// The reply, the result and the request of a round, with short contents as in an end-to-end test.
async fn pack(store: &Store, round: i64) -> Vec<PackedBlob> {
    let reply = json!([{"type": "text", "text": format!("Let me look at file {round} now.")},
        {"type": "tool_use", "call_id": format!("call_{round:024}"), "name": "ExecCommand",
         "input": {"cmd": format!("ls -l notes/{round}.md")}}]);
    let result = json!([{"type": "tool_result", "call_id": format!("call_{round:024}"), "is_error": false,
        "content": format!("{{\"exit_code\":0,\"stdout\":\"-rw-r--r-- 1 ada ada {round} notes/{round}.md\\n\"}}")}]);
    let mut packed = Vec::new();
    for value in [reply, result] {
        packed.push(
            store
                .pack(Blob::new(value.to_string().into_bytes()))
                .await
                .expect("packed"),
        );
    }
    packed
}

/// One of the two commits of a round: run log, state, a step begun or ended, an entry, two events, a blob.
fn transition(tx: &mut Tx<'_>, fence: Fence, ordinal: i64, blobs: &[PackedBlob]) -> Result<(), StoreError> {
    let main = sample::agent_id("main");
    let mut head = tx.lock_head(&main, fence)?;
    let first = ordinal % 2 == 1;
    let blob = if first { &blobs[0] } else { &blobs[1] };
    tx.put_blob(blob)?;
    tx.append_run_log(&journal_row(ordinal, &blob.hash))?;
    let state = json!({"run_key": sample::run_key("run"), "model_ref": "openai/gpt-5-mini", "max_rounds": 50,
        "rounds": ordinal, "requests": ordinal, "usage": {"input_tokens": 10_000, "output_tokens": 900},
        "phase": {"acting": {"reply": blob.hash, "actions": [{"operation_id": sample::digest("op"),
        "call_id": "call_000000000000000000000001", "tool": "ExecCommand", "class": "plain", "fate": "intended"}]}}});
    let run = RunRow {
        version: ordinal,
        state: state.to_string(),
        ..sample::run("run")
    };
    tx.put_state(&run, ordinal - 1)?;
    let name = format!("op-{ordinal}");
    let step = if first {
        tool_step(&name, ordinal)
    } else {
        model_step(&name)
    };
    tx.put_step(&step)?;
    tx.settle_step(&StepSettlement {
        sandbox: first.then(|| "landlock+seccomp".to_owned()),
        usage: Usage::of(4_321, 123),
        ..sample::end(&name, StepStatus::Ok)
    })?;
    let role = if first { Role::Assistant } else { Role::Tool };
    let at = Millis(1_771_344_000_000 + ordinal);
    tx.append_entry(
        &sample::thread(),
        &TranscriptEntryRow {
            run_key: run.run_key,
            role,
            content: blob.hash,
            at,
            sources: Sources::none(),
        },
    )?;
    for (kind, payload) in payloads(first, &name) {
        append(
            tx,
            &mut head,
            EventDraft {
                policy_version: policy(kind),
                ..EventDraft::new(Payload::read(kind.as_str(), &payload).expect("a payload"))
            },
            at,
        )?;
    }
    tx.add_usage(&main, Usage::of(4_321, 123), 1)?;
    tx.put_head(&main, &head)
}

fn journal_row(ordinal: i64, blob: &BlobHash) -> RunLogRow {
    let body = json!({"input": {"model_replied": {"reply": blob, "usage": {"input_tokens": 4321,
        "output_tokens": 123}, "stop": "tool_use", "duration_ms": 1834}}, "reads": [{"class": "plain",
        "verdict": {"allow": {"rule": "workspace.exec", "policy_version": "2026-02-17.1"}},
        "seen": {"count": 0, "unknown": false}}]});
    let hash = |what: &str| sample::digest(&format!("{what} {ordinal}"));
    RunLogRow {
        body: body.to_string().into_bytes(),
        reads_hash: hash("reads"),
        state_hash: hash("state"),
        effects_hash: hash("effects"),
        at: Millis(1_771_344_000_000 + ordinal),
        ..sample::input("run", ordinal)
    }
}

fn tool_step(name: &str, ordinal: i64) -> StepRow {
    let base = Some(wakeful_core::key::ActionBase(sample::digest(&format!(
        "base {ordinal}"
    ))));
    let step = sample::step("run", name);
    StepRow {
        base,
        class: Some(EffectClass::Plain),
        reason: "workspace.exec".into(),
        ..step
    }
}

fn model_step(name: &str) -> StepRow {
    let step = sample::step("run", name);
    StepRow {
        base: None,
        class: None,
        call: None,
        name: "openai/gpt-5-mini".into(),
        reason: String::new(),
        ..step
    }
}

fn payloads(first: bool, operation: &str) -> [(EventKind, serde_json::Value); 2] {
    let operation = sample::digest(operation);
    if first {
        let said = json!({"round": 12, "text": "Let me look at the file now.", "tools": ["ExecCommand"],
            "usage": {"input_tokens": 4321, "output_tokens": 123}});
        let allowed = json!({"operation_id": operation, "tool": "ExecCommand", "effect": "permit",
            "rule": "workspace.exec", "input": "commands inside the workspace are allowed"});
        [
            (EventKind::AssistantRoundRecorded, said),
            (EventKind::PolicyDecided, allowed),
        ]
    } else {
        let done = json!({"operation_id": operation, "tool": "ExecCommand", "status": "ok", "duration_ms": 12,
            "sandbox": "landlock+seccomp"});
        let asked = json!({"round": 12, "provider": "openai", "attempt": 1, "max_attempts": 3,
            "model_ref": "openai/gpt-5-mini", "duration_ms": 1834, "outcome": "succeeded",
            "token_usage": {"input_tokens": 4321, "output_tokens": 123}});
        [
            (EventKind::ToolExecuted, done),
            (EventKind::ProviderRoundCompleted, asked),
        ]
    }
}

fn policy(kind: EventKind) -> Option<PolicyVersion> {
    (kind == EventKind::PolicyDecided).then(|| PolicyVersion::new("2026-02-17.1"))
}

fn append(tx: &mut Tx<'_>, head: &mut LogHead, draft: EventDraft, at: Millis) -> Result<(), StoreError> {
    let salt = *sample::digest(&format!("salt {}", head.next_seq)).as_bytes();
    let sealed = SealedEvent::new(draft, at, Some(sample::run_key("run")), salt).expect("canonical");
    let main = sample::agent_id("main");
    tx.append_event(&main, &head.chain(&main, sealed))
}
