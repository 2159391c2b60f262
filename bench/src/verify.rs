//! Measures how fast a log is verified, compared with only hashing the same bytes.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::report::payload::Payload;
use wakeful_core::report::{Event, EventDraft, EventKind, LogHead, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_runtime::proof::{EVENTS_BETWEEN, VerifyOptions, sign, verify};
use wakeful_store::Store;
use wakeful_store::rows::Visibility;

use crate::Setting;
use crate::engine_setup::{HOST, runtime, sqlite};
use crate::measure::{Measure, Target};

pub(crate) const NAME: &str = "verify_events_per_s";

/// Number of events of the log.
const EVENTS: u64 = 200_000;

/// Events per commit while the log is created.
const BATCH: u64 = EVENTS_BETWEEN;

/// The hashed parts of one event: its header, its payload, and the payload's salted hash.
struct Hashed {
    header: String,
    payload: Vec<u8>,
    salted: String,
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let home = setting.folder.join("verify");
    let events = match setting.effort.pick(0, 1) {
        0 => EVENTS / 10,
        _ => EVENTS,
    };
    let (mut here, mut bare) = (Vec::new(), Vec::new());
    let mut bytes = 0;
    runtime()?.block_on(async {
        let store = sqlite(&home)?;
        let hashed = write(&store, events).await?;
        bytes = hashed.iter().map(Hashed::len).sum::<usize>();
        for _ in 0..setting.effort.pick(2, 7) {
            bare.push(rate(events, || hashed.iter().for_each(Hashed::hash)));
            let begun = Instant::now();
            let mut seen = Vec::new();
            verify(&store, &VerifyOptions::default(), |verdict| seen.push(verdict)).await?;
            here.push(per_second(events, begun));
            let flaw = seen.iter().find_map(|verdict| verdict.first_error.as_ref());
            ensure!(flaw.is_none(), "the log is invalid: {flaw:?}");
            ensure!(seen.iter().map(|verdict| verdict.seen.events).sum::<u64>() == events);
        }
        store.close().await?;
        anyhow::Ok(())
    })?;
    #[expect(clippy::cast_precision_loss, reason = "bytes of one event are few")]
    let per_event = bytes as f64 / events as f64;
    let measure = Measure::median(NAME, "1/s", &here, Target::AtLeast(100_000.0));
    let measure = measure.beside("SHA-256 of the same bytes, in memory, on one core", &bare);
    Ok(vec![measure.with("hashed_bytes_per_event", per_event)])
}

fn rate(events: u64, work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    per_second(events, begun)
}

fn per_second(events: u64, begun: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred thousand")]
    let events = events as f64;
    events / begun.elapsed().as_secs_f64()
}

impl Hashed {
    fn len(&self) -> usize {
        self.header.len() + self.payload.len() + self.salted.len()
    }

    fn hash(&self) {
        black_box(Digest::of(self.header.as_bytes()));
        black_box(Digest::of(&self.payload));
        black_box(Digest::of(self.salted.as_bytes()));
    }
}

/// Writes a log as left by runs with a tool, signed at the intervals of a daemon.
async fn write(store: &Store, events: u64) -> Result<Vec<Hashed>> {
    let agent = AgentId::parse("main")?;
    let key = DeviceKey::from_seed(&[1; 32]);
    let mut head = LogHead {
        next_seq: 1,
        chain_hash: Digest::ZERO,
        incarnation: Incarnation::new(format!("{HOST}.1")),
    };
    let name = agent.clone();
    store.write(move |tx| tx.create_agent(&new_agent(&name))).await?;
    let mut hashed = Vec::new();
    while head.next_seq <= events {
        let mut batch: Vec<Event> = Vec::new();
        for _ in 0..BATCH {
            let previous = head.chain_hash;
            let event = head.chain(&agent, sealed(head.next_seq)?);
            hashed.push(bytes_of(&agent, &head.incarnation, previous, &event));
            batch.push(event);
        }
        let (name, moved) = (agent.clone(), head.clone());
        store
            .write(move |tx| {
                batch.iter().try_for_each(|event| tx.append_event(&name, event))?;
                tx.put_head(&name, &moved)
            })
            .await?;
        sign(store, &key, Millis(1)).await?;
    }
    Ok(hashed)
}

/// The events of a run with one tool call, repeated.
fn sealed(seq: u64) -> Result<SealedEvent> {
    let run = RunKey(Digest::of(&(seq / 8).to_le_bytes()));
    let (kind, payload) = match seq % 8 {
        0 => (
            EventKind::MessageAdmitted,
            json!({"run_key": run, "kind": "operator_prompt", "authority": "operator_instruction",
                "surface": "run_once", "context": "local_process", "text": "Do your work, please."}),
        ),
        1 => (
            EventKind::WakeDecided,
            json!({"run_key": run, "verdict": "run", "reason": "operator_prompt"}),
        ),
        2 => (
            EventKind::RunStarted,
            json!({"run_key": run, "model_ref": "scripted:script.yaml", "max_rounds": 50}),
        ),
        3 | 6 => (
            EventKind::AssistantRoundRecorded,
            json!({"round": 1, "text": "Let me look at what is there.", "tools": ["ExecCommand"]}),
        ),
        4 => (
            EventKind::PolicyDecided,
            json!({"operation_id": run, "tool": "ExecCommand", "effect": "permit", "rule": "registered_tool",
                "input": "{\"cmd\":\"ls -la\"}"}),
        ),
        5 => (
            EventKind::ToolExecuted,
            json!({"operation_id": run, "tool": "ExecCommand", "status": "ok", "duration_ms": seq, "sandbox": "enforced"}),
        ),
        _ => (
            EventKind::RunEnded,
            json!({"outcome": "completed", "rounds": 2, "token_usage": {"input_tokens": seq, "output_tokens": 8}}),
        ),
    };
    let payload = Payload::read(kind.as_str(), &payload).context("a payload of its kind")?;
    let at = Millis(1_790_000_000_000 + i64::try_from(seq)?);
    let salt = *Digest::of(&seq.to_le_bytes()).as_bytes();
    Ok(SealedEvent::new(EventDraft::new(payload), at, Some(run), salt)?)
}

fn bytes_of(agent: &AgentId, incarnation: &Incarnation, previous: Digest, event: &Event) -> Hashed {
    let sealed = &event.sealed;
    let (kind, at, hash) = (sealed.kind.as_str(), sealed.at.rfc3339(), sealed.payload_hash);
    let seq = event.seq;
    Hashed {
        header: format!("v1|event|{previous}|{agent}|{incarnation}|{seq}|{kind}|{at}|{hash}|"),
        salted: format!(
            "v1|payload|{}|{}",
            Digest::from_bytes(sealed.salt),
            Digest::of(&sealed.payload)
        ),
        payload: sealed.payload.clone(),
    }
}

fn new_agent(agent: &AgentId) -> wakeful_store::rows::Agent {
    wakeful_store::rows::Agent {
        agent_id: agent.clone(),
        visibility: Visibility::Public,
        lifecycle: wakeful_core::wake::Lifecycle::Active,
        control: wakeful_core::wake::AgentControl::Running,
        mode: wakeful_core::wake::InteractionMode::default(),
        sleep_until: None,
        workspace: String::new(),
        model_ref: None,
        settings: wakeful_core::agent_settings::AgentSettings::with_all_categories(),
        created_at: Millis(0),
        usage: wakeful_core::conversation::Usage::default(),
        model_rounds: 0,
    }
}
