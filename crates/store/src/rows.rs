//! The rows that store operations read and write. Plain data: the rules about them are in `core`.

mod audit;
mod budget;
mod external_trigger;
mod outbox;
mod retention;
mod schedule;
mod spend;
mod step;
mod subscription;
mod wake;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::blob::BlobHash;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::{Role, Usage};
use wakeful_core::decision::{Channel, Severity};
use wakeful_core::id::{AgentId, RunnerId, ThreadId};
use wakeful_core::key::{DecisionId, Digest, RunKey};
use wakeful_core::message::{Message, MessageKind};
use wakeful_core::provenance::Sources;
use wakeful_core::report::payload::EventBody;
use wakeful_core::report::{Event, LogHead};
use wakeful_core::run::RunStatus;
use wakeful_core::saga::Saga;
use wakeful_core::time::Millis;
use wakeful_core::wake::{
    AgentAvailability, AgentControl, InteractionMode, Lifecycle, MessageFacts, Suspension, Wait,
};

pub use self::audit::{
    BoundRow, DecisionRow, Inconsistency, KeyPart, PlacedEntry, QueuePosition, RunPruneState,
};
pub use self::budget::{BudgetOwner, Hold, HoldEnd, HoldRow, LimitRow, ResourceUse};
pub use self::external_trigger::{DeliveryRow, ExternalTriggerRow};
pub use self::outbox::{AgentOutboxRow, NoticeRow, OutboxCursor, OutboxCursorRow};
pub use self::retention::{
    BlobRefCursor, BlobRefs, DataSize, FileSweep, PruneCandidate, PruneResult, PruneTarget, RetentionStateRow,
};
pub use self::schedule::{
    ExecutionWithRun, ScheduleFilter, ScheduleRows, ScheduledExecutionRow, UnreadableSchedule,
};
pub use self::spend::{CapRow, PrivacyReceiptRow, Reservation, SpendDay};
pub use self::step::{SpendSettlement, StepRow, StepSettlement};
pub use self::subscription::{SubscribeOutcome, SubscriptionKey, SubscriptionRow};
pub use self::wake::{WakeFilter, WakeRefusalRow, WakeRow};

pub use wakeful_core::run::RunState;
pub use wakeful_core::wake::Visibility;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub agent_id: AgentId,
    /// Whether the agent is listed.
    pub visibility: Visibility,
    pub lifecycle: Lifecycle,
    /// Whether the agent works on its queue, is paused or stopped.
    pub control: AgentControl,
    /// Which causes may wake the agent.
    pub mode: InteractionMode,
    /// The time before which only a person wakes the agent.
    pub sleep_until: Option<Millis>,
    /// The folder in which its tools work, as UTF-8 text.
    pub workspace: String,
    /// The model that a person selected; `None` for the default.
    pub model_ref: Option<String>,
    pub settings: AgentSettings,
    pub created_at: Millis,
    /// Tokens over all its runs.
    pub usage: Usage,
    /// Model rounds over all its runs.
    pub model_rounds: u64,
}

/// An agent with its queue and its current work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOverview {
    pub agent: Agent,
    /// Number of queued messages.
    pub queued: u64,
    /// The sequence number of its newest event; 0 before the first.
    pub last_seq: u64,
    /// The run in progress; further open runs may wait for their turn.
    pub open_run: Option<RunKey>,
    /// Its newest run.
    pub last_run: Option<RunKey>,
    /// Whether a brake applies to the agent, its own or the one for all agents.
    pub is_braked: bool,
    /// Decisions of its runs that are not answered yet.
    pub pending_decisions: u64,
    /// Its runs that cannot continue until a person resumes or abandons them.
    pub quarantined_runs: u64,
    /// Whether one of its open runs waits for budget.
    pub is_waiting_for_budget: bool,
}

impl Agent {
    /// Returns the settings by people that determine whether the agent may start work.
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
    /// Returns the facts that determine whether a message that is not delayed may start.
    #[must_use]
    pub const fn message_facts(&self) -> MessageFacts {
        MessageFacts {
            delay: None,
            is_braked: self.is_braked,
            open_run: self.open_run,
        }
    }
}

/// What requires a person, over all agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HumanBacklog {
    /// Decisions that are not answered yet.
    pub pending_decisions: u64,
    /// Runs that cannot continue until a person resumes or abandons them.
    pub quarantined_runs: u64,
}

/// A queued message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRow {
    /// The sequence number of its admission event, which is its position in the queue.
    pub seq: u64,
    /// The time before which it does not start; `None` if it is not delayed.
    pub not_before: Option<Millis>,
    pub message: Message,
}

/// The right to write for an agent: the number that every transition must present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence(pub i64);

/// The result of claiming the right to write for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The runner holds the claim under this fence.
    Won(Fence),
    /// Another live runner holds the claim.
    Held { by: RunnerId },
}

/// A process that may hold claims on agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    pub runner_id: RunnerId,
    /// The machine and process namespace in which its pid is valid.
    pub machine: String,
    pub pid: u32,
    /// When that process started, in clock ticks after boot, because pids are reused.
    pub pid_started: u64,
}

/// The result of admitting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageAdmission {
    New,
    /// The same message already exists.
    Same,
    /// Another message has the same key.
    Differs,
}

/// A run with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub run_key: RunKey,
    pub agent_id: AgentId,
    /// The conversation thread.
    pub thread_id: ThreadId,
    /// The kind of run machine.
    pub machine: String,
    pub machine_version: u32,
    /// Number of transitions made. A write that expects another number is a conflict.
    pub version: i64,
    /// The state of the run machine, as JSON.
    pub state: String,
    pub status: RunStatus,
    pub started_at: Millis,
    pub ended_at: Option<Millis>,
    /// What the run waits for; `None` if it can continue.
    pub suspension: Option<Suspension>,
    /// Why the run cannot continue; `None` if it can.
    pub fault: Option<String>,
}

impl RunRow {
    /// Returns what the run waits for.
    #[must_use]
    pub fn wait(&self) -> Option<Wait> {
        self.suspension.map(|suspension| suspension.wait)
    }
}

/// An active brake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrakeRow {
    /// The braked agent; `None` for all agents.
    pub agent_id: Option<AgentId>,
    /// The reason given by the person who set the brake.
    pub reason: String,
    /// How the brake arrived.
    pub channel: Channel,
    pub at: Millis,
}

/// The attempts to notify a person of a decision through one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionNotificationRow {
    pub decision_id: DecisionId,
    /// The severity at that time: a decision that becomes more severe is notified again.
    pub severity: Severity,
    /// The notification target.
    pub target: String,
    /// Number of attempts.
    pub tries: u32,
    /// Whether the notification was delivered.
    pub is_done: bool,
    /// The error of the last failed attempt.
    pub error: Option<String>,
    /// When the last attempt was made.
    pub at: Millis,
}

/// Which decisions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Only decisions that are not answered yet.
    pub pending_only: bool,
    /// Only decisions of this run.
    pub run_key: Option<RunKey>,
    /// Maximum number of decisions.
    pub limit: u32,
}

/// One transition in a run log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLogRow {
    pub run_key: RunKey,
    /// The number of the transition, from 1.
    pub ordinal: i64,
    /// The input and its read set, as canonical JSON.
    pub body: Vec<u8>,
    /// Hash of the read set.
    pub reads_hash: Digest,
    /// Hash of the resulting state.
    pub state_hash: Digest,
    /// Hash of the resulting effects.
    pub effects_hash: Digest,
    pub at: Millis,
}

/// A transcript entry that refers to its content by hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEntryRow {
    pub run_key: RunKey,
    pub role: Role,
    pub content: BlobHash,
    pub at: Millis,
    /// The untrusted sources of the content.
    pub sources: Sources,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub seq: u64,
    /// The run to which the event belongs.
    pub run_key: Option<RunKey>,
    pub kind: String,
    pub at: Millis,
    pub hash: Digest,
    /// The salted hash of the payload, which is part of the chain.
    pub payload_hash: Digest,
    /// The policy version in force; empty for none.
    pub policy_version: String,
    /// The payload's canonical JSON and its salt, unless erased.
    pub payload: Option<(Vec<u8>, [u8; 32])>,
}

impl EventRow {
    /// Parses the payload. Returns `None` if it was erased or this version cannot read it.
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

/// A blob ready to be stored: compressed, and with its file written if it needs one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedBlob {
    pub hash: BlobHash,
    /// Size before compression.
    pub size: u64,
    pub body: PackedBody,
}

/// How a blob's bytes are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackedBody {
    /// In the row, uncompressed.
    Raw(Vec<u8>),
    /// In the row, compressed.
    Lz4(Vec<u8>),
    /// In a compressed file that is already synced. Includes the bytes, because an erasure may remove the
    /// file.
    File(Vec<u8>),
}

/// The head of an agent's log, locked for this transaction.
pub type LockedHead = LogHead;

/// Which runs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this agent.
    pub agent_id: Option<AgentId>,
    /// Only runs in this state.
    pub state: RunState,
    /// Only runs that started at this time or earlier.
    pub until: Option<Millis>,
    /// Only runs that follow this one in the list.
    pub before: Option<RunKey>,
    /// At most this many, newest first.
    pub limit: u32,
}

/// The steps of a run, counted, and their cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Model replies.
    pub model_rounds: u64,
    /// All tool calls.
    pub tool_calls: u64,
    /// Tool calls that were denied.
    pub denied: u64,
    /// Tool calls that failed, including commands with a non-zero exit status.
    pub failed: u64,
    /// Tool calls with an unknown outcome.
    pub unknown: u64,
    /// The cost so far, including requests with an unknown outcome.
    pub cost: MicroUsd,
}

/// Which runs are counted per status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusCountsFilter {
    /// Only runs of this agent.
    pub agent_id: Option<AgentId>,
    /// Only runs with this kind of message.
    pub cause: Option<MessageKind>,
    /// Only runs that started at this time or later.
    pub since: Option<Millis>,
    /// Only runs that started at this time or earlier.
    pub until: Option<Millis>,
}

/// Runs per status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Runs that have not ended, including waiting ones.
    pub open: u64,
    /// Open runs that wait for something.
    pub waiting: u64,
    pub quarantined: u64,
    pub completed: u64,
    pub failed: u64,
    pub out_of_rounds: u64,
    pub cancelled: u64,
    pub abandoned: u64,
    /// Whether there are more runs than were counted.
    pub is_lower_bound: bool,
}

impl StatusCounts {
    /// Adds runs of one status, some of which wait.
    pub const fn add(&mut self, status: RunStatus, runs: u64, waiting: u64) {
        let count = match status {
            RunStatus::Open => {
                self.waiting += waiting;
                &mut self.open
            }
            RunStatus::Quarantined => &mut self.quarantined,
            RunStatus::Completed => &mut self.completed,
            RunStatus::Failed => &mut self.failed,
            RunStatus::OutOfRounds => &mut self.out_of_rounds,
            RunStatus::Cancelled => &mut self.cancelled,
            RunStatus::Abandoned => &mut self.abandoned,
            // Messages without a run have these.
            RunStatus::Queued
            | RunStatus::Absorbed
            | RunStatus::Replaced
            | RunStatus::Refused
            | RunStatus::Gone => return,
        };
        *count += runs;
    }
}

/// A saga with the run it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SagaRow {
    pub saga: Saga,
    /// The run whose action the saga performs.
    pub run_key: RunKey,
    /// The agent of that run; `None` if the run does not exist.
    pub agent_id: Option<AgentId>,
    /// Whether that run can continue.
    pub run_open: bool,
    /// When the saga last advanced.
    pub updated_at: Millis,
}
