//! Things to put into a store. What a test does not care about is the same every time.

use wakeful_core::blob::BlobHash;
use wakeful_core::budget::MicroUsd;
use wakeful_core::cause::Cause;
use wakeful_core::conversation::{Role, Usage};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, RunnerId, SessionId, ThreadId, TurnId};
use wakeful_core::key::{ActionBase, Digest, OperationId, RunKey};
use wakeful_core::message::{Message, NewMessage};
use wakeful_core::report::payload::{Actor, ContentErased, ErasedTarget, ToolExecuted};
use wakeful_core::report::{Draft, Event, Head, Sealed};
use wakeful_core::run::RunStatus;
use wakeful_core::step::{EffectClass, Status};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, WakeOutcome};
use wakeful_store::WorkQuery;
use wakeful_store::rows::{
    Agent, EntryRow, JournalRow, RunRow, Runner, Settlement, StepEnd, StepRow, Visibility, WakeRow,
};

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

pub(crate) fn agent_id(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

pub(crate) fn run_key(text: &str) -> RunKey {
    RunKey(digest(text))
}

pub(crate) fn thread() -> ThreadId {
    ThreadId::new("main:session:cli")
}

pub(crate) fn agent(name: &str) -> Agent {
    Agent {
        agent_id: agent_id(name),
        visibility: Visibility::Public,
        lifecycle: Lifecycle::Active,
        control: wakeful_core::wake::Control::Running,
        mode: wakeful_core::wake::Mode::default(),
        sleep_until: None,
        workspace: "/home/ada/garden – Süd".into(),
        model_ref: None,
        created_at: Millis(1_000),
        usage: Usage::default(),
        model_rounds: 0,
    }
}

pub(crate) fn message(turn: &str, body: &str) -> Message {
    let turn = TurnId::parse(turn).expect("a good turn");
    let new = NewMessage {
        agent_id: agent_id("main"),
        body: BlobHash(digest(body)),
        admitted_at: Millis(2_000),
    };
    Message::from_operator(new, &SessionId::new("cli"), &turn)
}

pub(crate) fn wake(run: &str, verdict: &str) -> WakeRow {
    WakeRow {
        run_key: run_key(run),
        agent_id: agent_id("main"),
        verdict: WakeOutcome::parse(verdict).expect("a word"),
        gates: r#"[{"gate":"lifecycle","passed":true}]"#.into(),
        cause: Cause::default(),
        absorbed_by: None,
        at: Millis(3_000),
    }
}

pub(crate) fn run(text: &str) -> RunRow {
    RunRow {
        run_key: run_key(text),
        agent_id: agent_id("main"),
        thread_id: thread(),
        machine: "turn".into(),
        machine_version: 1,
        version: 0,
        state: "{}".into(),
        status: RunStatus::Open,
        started_at: Millis(4_000),
        ended_at: None,
        suspension: None,
        fault: None,
    }
}

pub(crate) fn input(run: &str, ordinal: i64) -> JournalRow {
    JournalRow {
        run_key: run_key(run),
        ordinal,
        body: format!(r#"{{"input":{ordinal}}}"#).into_bytes(),
        reads_hash: digest("reads"),
        state_hash: digest("state"),
        effects_hash: digest("effects"),
        at: Millis(5_000),
    }
}

pub(crate) fn operation(text: &str) -> OperationId {
    OperationId(digest(text))
}

/// A planned tool call. The ordinal is what the store must not believe.
pub(crate) fn step(run: &str, operation: &str) -> StepRow {
    StepRow {
        attempt: None,
        operation_id: self::operation(operation),
        run_key: run_key(run),
        ordinal: -1,
        name: "ExecCommand".into(),
        class: Some(EffectClass::Plain),
        base: Some(ActionBase(digest("base"))),
        status: Status::Planned,
        reason: "default".into(),
        put_at: Millis(6_000),
        duration_ms: None,
        sandbox: None,
        usage: Usage::default(),
    }
}

pub(crate) fn end(operation: &str, status: Status) -> StepEnd {
    StepEnd {
        attempt: None,
        settlement: Settlement::Nothing,
        operation_id: self::operation(operation),
        status,
        duration_ms: 12,
        sandbox: Some("landlock".into()),
        reason: None,
        usage: Usage::of(3, 4),
    }
}

pub(crate) fn entry(run: &str, text: &str) -> EntryRow {
    EntryRow {
        run_key: run_key(run),
        role: Role::Tool,
        content: BlobHash(digest(text)),
        at: Millis(7_000),
    }
}

/// An event about an action that took so many milliseconds.
pub(crate) fn draft(duration_ms: u64) -> Draft {
    Draft::new(ToolExecuted {
        operation_id: operation("event"),
        tool: "Exec".into(),
        status: Status::Ok,
        duration_ms,
        sandbox: None,
        code: None,
        attempt: None,
        again_in_ms: None,
    })
}

/// The record of an erasure of so many payloads.
pub(crate) fn erased(events: u64) -> Draft {
    Draft::new(ContentErased {
        by: Actor::Operator,
        channel: Channel::Cli,
        reason: "told by mistake".into(),
        events,
        transitions: 0,
        blobs: 0,
        target: ErasedTarget::Run {
            run_key: run_key("run"),
        },
    })
}

/// The next event after a head.
pub(crate) fn event(head: &mut Head, agent: &str, number: i64) -> Event {
    let sealed = Sealed::new(
        draft(number.unsigned_abs()),
        Millis(8_000),
        Some(run_key("run")),
        [9; 32],
    )
    .expect("canonical");
    head.chain(&agent_id(agent), sealed)
}

pub(crate) fn runner(name: &str) -> Runner {
    Runner {
        runner_id: RunnerId::new(name),
        place: "machine/1".into(),
        pid: 4_194_304,
        pid_started: 123_456_789,
    }
}

/// A look for work at a time, with a cap that no test here reaches by itself.
pub(crate) const fn work_at(now: Millis) -> WorkQuery {
    WorkQuery {
        now,
        daily_cap: MicroUsd(1_000_000),
    }
}
