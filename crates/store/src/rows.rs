//! The rows that the store's verbs read and write. Plain data: the rules that decide about them are in `core`.

mod audit;
mod external_trigger;
mod outbox;
mod retention;
mod schedule;
mod spend;
mod subscription;
mod wake;

use wakeful_core::attempt::AttemptRecord;
use wakeful_core::blob::BlobHash;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::{Role, Usage};
use wakeful_core::decision::{Channel, Severity};
use wakeful_core::id::{AgentId, RunnerId, ThreadId};
use wakeful_core::key::{ActionBase, DecisionId, Digest, OperationId, RunKey};
use wakeful_core::message::Message;
use wakeful_core::report::payload::EventBody;
use wakeful_core::report::{Event, LogHead};
use wakeful_core::run::RunStatus;
use wakeful_core::saga::Saga;
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::wake::{
    AgentAvailability, AgentControl, InteractionMode, Lifecycle, MessageFacts, Suspension, Wait,
};

pub use self::audit::{
    BoundRow, DecisionRow, Inconsistency, KeyPart, PlacedEntry, QueuePosition, RunPruneState,
};
pub use self::external_trigger::{DeliveryRow, ExternalTriggerRow};
pub use self::outbox::{AgentOutboxRow, NoticeRow, OutboxCursor, OutboxCursorRow};
pub use self::retention::{
    BlobRefCursor, BlobRefs, DataSize, FileSweep, PruneCandidate, PruneResult, PruneTarget, RetentionStateRow,
};
pub use self::schedule::{
    ExecutionWithRun, ScheduleFilter, ScheduleRows, ScheduledExecutionRow, UnreadableSchedule,
};
pub use self::spend::{CapRow, PrivacyReceiptRow, Reservation, SpendDay};
pub use self::subscription::{SubscribeOutcome, SubscriptionKey, SubscriptionRow};
pub use self::wake::{WakeFilter, WakeRefusalRow, WakeRow};

pub use wakeful_core::run::RunState;
pub use wakeful_core::wake::Visibility;

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name.
    pub agent_id: AgentId,
    /// Whether it is listed.
    pub visibility: Visibility,
    /// Where it stands in its life.
    pub lifecycle: Lifecycle,
    /// Whether it works on what waits for it.
    pub control: AgentControl,
    /// Who may wake it.
    pub mode: InteractionMode,
    /// Until when only a person wakes it.
    pub sleep_until: Option<Millis>,
    /// The folder its commands run in, as UTF-8 text.
    pub workspace: String,
    /// The model that a person chose for it; none for the default.
    pub model_ref: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// Tokens over all its runs.
    pub usage: Usage,
    /// Model rounds over all its runs.
    pub model_rounds: u64,
}

/// An agent with what waits for it and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOverview {
    /// The agent.
    pub agent: Agent,
    /// Messages that wait for their turn.
    pub queued: u64,
    /// The number of its newest event; 0 before the first.
    pub last_seq: u64,
    /// The run that is under way; others may wait for their turn behind it.
    pub open_run: Option<RunKey>,
    /// Its newest run.
    pub last_run: Option<RunKey>,
    /// Whether a brake holds it, its own or that of all.
    pub is_braked: bool,
    /// Questions of its runs that wait for an answer.
    pub pending_decisions: u64,
    /// Its runs that cannot go on until a person says so.
    pub quarantined_runs: u64,
    /// Whether an open run of it waits for the budget.
    pub is_waiting_for_budget: bool,
}

impl Agent {
    /// What a person settled about it that decides whether it may begin something.
    #[must_use]
    pub const fn availability(&self) -> AgentAvailability {
        AgentAvailability {
            lifecycle: self.lifecycle,
            control: self.control,
            mode: self.mode,
            sleep_until: self.sleep_until,
        }
    }
}

impl AgentOverview {
    /// What decides whether a message that is not delayed may begin.
    #[must_use]
    pub const fn message_facts(&self) -> MessageFacts {
        MessageFacts {
            delay: None,
            is_braked: self.is_braked,
            open_run: self.open_run,
        }
    }
}

/// What waits for a person, over all agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HumanBacklog {
    /// Questions that wait for an answer.
    pub pending_decisions: u64,
    /// Runs that cannot go on until a person says so.
    pub quarantined_runs: u64,
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRow {
    /// Its place: the number of the event that announced it.
    pub seq: u64,
    /// The moment before which it does not begin; none for at once.
    pub not_before: Option<Millis>,
    /// The message.
    pub message: Message,
}

/// The right to write for an agent: the number that every transition must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence(pub i64);

/// Whether a runner got the right to write for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It did, under this fence.
    Won(Fence),
    /// Another runner holds it and lives.
    Held {
        /// Who.
        by: RunnerId,
    },
}

/// A process that may hold agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// Its name.
    pub runner_id: RunnerId,
    /// The machine and process space it lives in: where its pid means something.
    pub machine: String,
    /// Its process id there.
    pub pid: u32,
    /// When that process began, in clock ticks after boot: a pid may be used again.
    pub pid_started: u64,
}

/// What became of a message's admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageAdmission {
    /// It is new.
    New,
    /// The same message is already there.
    Same,
    /// Another message has its key.
    Differs,
}

/// A run with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its name.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// The line of conversation.
    pub thread_id: ThreadId,
    /// The kind of machine.
    pub machine: String,
    /// The machine's version.
    pub machine_version: u32,
    /// How many transitions it has made. A write that expects another number is a conflict.
    pub version: i64,
    /// The state as JSON.
    pub state: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it began.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// What it waits for; none where it can go on.
    pub suspension: Option<Suspension>,
    /// Why it cannot go on; none for one that can.
    pub fault: Option<String>,
}

impl RunRow {
    /// What it waits for.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        self.suspension.map(|suspension| suspension.wait)
    }
}

/// A brake that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakeRow {
    /// Who is braked; none for all.
    pub agent_id: Option<AgentId>,
    /// Why, in the words of whoever set it.
    pub reason: String,
    /// By which way it came.
    pub channel: Channel,
    /// When.
    pub at: Millis,
}

/// That somebody was told of a question by one way, or that it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionNotificationRow {
    /// Which question.
    pub decision_id: DecisionId,
    /// How severe it was then: a question that grows more severe is told of again.
    pub severity: Severity,
    /// By which way.
    pub way: String,
    /// How often it was tried.
    pub tries: u32,
    /// Whether it came through.
    pub is_done: bool,
    /// Why not, the last time.
    pub error: Option<String>,
    /// When it was last tried.
    pub at: Millis,
}

/// Which decisions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Only those that wait for an answer.
    pub pending_only: bool,
    /// Only those of this run.
    pub run_key: Option<RunKey>,
    /// How many.
    pub limit: u32,
}

/// One transition in a run's journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLogRow {
    /// Which run.
    pub run_key: RunKey,
    /// Which transition, from 1.
    pub ordinal: i64,
    /// The input and what was read for it, as canonical JSON.
    pub body: Vec<u8>,
    /// Hash of what was read.
    pub reads_hash: Digest,
    /// Hash of the state it led to.
    pub state_hash: Digest,
    /// Hash of the effects it led to.
    pub effects_hash: Digest,
    /// When.
    pub at: Millis,
}

/// A step: a model round or a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// Its id.
    pub operation_id: OperationId,
    /// Which run.
    pub run_key: RunKey,
    /// Its place among the run's steps, from 1. Given by the store.
    pub ordinal: i64,
    /// Tool name or model reference.
    pub name: String,
    /// Its class; none for a model round.
    pub class: Option<EffectClass>,
    /// What equal actions are counted by.
    pub base: Option<ActionBase>,
    /// How it stands.
    pub status: StepStatus,
    /// The rule that permitted or denied it, or what was wrong.
    pub reason: String,
    /// When it was put down.
    pub put_at: Millis,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// The enforced isolation.
    pub sandbox: Option<String>,
    /// Tokens, for a model round.
    pub usage: Usage,
    /// What is kept of the attempt, for a model round that ended.
    pub attempt: Option<AttemptRecord>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSettlement {
    /// Its id.
    pub operation_id: OperationId,
    /// How it ended.
    pub status: StepStatus,
    /// How long it took.
    pub duration_ms: u64,
    /// The enforced isolation.
    pub sandbox: Option<String>,
    /// Why it ended like this, where there is more to say than that it was permitted.
    pub reason: Option<String>,
    /// Tokens, for a model round.
    pub usage: Usage,
    /// What is kept of the attempt, as JSON, for a model round.
    pub attempt: Option<String>,
    /// What becomes of the money that was put aside for it.
    pub settlement: SpendSettlement,
}

/// What becomes of money that was put aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendSettlement {
    /// None was.
    Nothing,
    /// So much was spent.
    Cost(MicroUsd),
    /// Nobody knows how much was spent, so all of it counts.
    InFull,
}

/// A line of a transcript, by hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEntryRow {
    /// The run it came from.
    pub run_key: RunKey,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: BlobHash,
    /// When.
    pub at: Millis,
}

/// An event as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its number.
    pub seq: u64,
    /// The run it belongs to.
    pub run_key: Option<RunKey>,
    /// What happened.
    pub kind: String,
    /// When.
    pub at: Millis,
    /// Its hash.
    pub hash: Digest,
    /// What the chain holds of the payload.
    pub payload_hash: Digest,
    /// Under which rules; empty for none.
    pub policy_version: String,
    /// The payload's canonical JSON and its salt, unless erased.
    pub payload: Option<(Vec<u8>, [u8; 32])>,
}

impl EventRow {
    /// What it says. None where that was erased, or where this version cannot read it.
    #[must_use]
    pub fn body(&self) -> Option<EventBody> {
        let (payload, _) = self.payload.as_ref()?;
        EventBody::read(&self.kind, payload)
    }
}

impl From<&Event> for EventRow {
    fn from(event: &Event) -> Self {
        let sealed = &event.sealed;
        let version = sealed.policy_version.as_ref();
        Self {
            seq: event.seq,
            run_key: sealed.run_key,
            kind: sealed.kind.as_str().to_owned(),
            at: sealed.at,
            hash: event.hash,
            payload_hash: sealed.payload_hash,
            policy_version: version.map_or_else(String::new, ToString::to_string),
            payload: Some((sealed.payload.clone(), sealed.salt)),
        }
    }
}

/// A blob made ready for storing: compressed, and its file written where it needs one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBlob {
    /// Its name.
    pub hash: BlobHash,
    /// Bytes before compression.
    pub size: u64,
    /// How the bytes are kept.
    pub body: PackedBody,
}

/// How a blob's bytes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackedBody {
    /// In the row, as they are.
    Raw(Vec<u8>),
    /// In the row, compressed.
    Lz4(Vec<u8>),
    /// In a compressed file, already synced. The same bytes again, because an erasure may take the file away.
    File(Vec<u8>),
}

/// The head of an agent's log, locked for this transaction.
pub type LockedHead = LogHead;

/// Which runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only this agent's.
    pub agent_id: Option<AgentId>,
    /// In which state.
    pub state: RunState,
    /// Only those that come after this one in the list.
    pub before: Option<RunKey>,
    /// At most this many, newest first.
    pub limit: u32,
}

/// A saga with the run it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SagaRow {
    /// Where it stands.
    pub saga: Saga,
    /// Whose action it carries out.
    pub run_key: RunKey,
    /// The agent of that run; none when the run is gone.
    pub agent_id: Option<AgentId>,
    /// Whether that run can go on.
    pub run_open: bool,
    /// When it last moved.
    pub updated_at: Millis,
}
