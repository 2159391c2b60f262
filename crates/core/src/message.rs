//! Messages in an agent's queue. Every cause of a run is a message, and every message has a key: a second
//! message with the same key is the same message.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::answer_schema::AnswerSchema;
use crate::blob::BlobHash;
use crate::budget::{BudgetPeriod, BudgetResource, BudgetScope, LimitKey};
use crate::cause::{Cause, MessageOrigin, Priority};
use crate::id::{AgentId, SessionId, ThreadId, TraceId, TurnId};
use crate::key::{OperationId, RunKey};
use crate::prompt::WINDOW_ENTRIES_MAX;
use crate::provenance::{SourceKind, Sources};
use crate::run::{EntryWrite, RunMachine};
use crate::time::Millis;

/// Maximum length of a prompt in bytes. A longer text belongs in a file of the workspace, which the agent
/// can read in parts.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// Maximum number of queued messages of one agent: two months of work at one run per minute. A sender
/// beyond it needs an error at once and not a place in the queue.
pub const QUEUE_MAX: u64 = 100_000;

/// Maximum number of entries of an earlier conversation that a run begins with: a model request contains no
/// more.
pub const HISTORY_ENTRIES_MAX: usize = WINDOW_ENTRIES_MAX;

string_enum! {
    /// The kind of cause.
    #[schemars(rename = "MessageKind")]
    pub enum MessageKind {
        /// A person sent a prompt.
        OperatorPrompt = "operator_prompt",
        /// A change matched a subscription.
        Notice = "notice",
        /// A schedule fired.
        TimerTick = "timer_tick",
        /// An external system called a trigger.
        Hint = "hint",
        /// A run of another agent sent a request.
        InternalFollowup = "internal_followup",
    }
}

string_enum! {
    /// The authority of a message. It is derived at admission and never accepted from a sender.
    pub enum Authority {
        /// An instruction of the operator.
        OperatorInstruction = "operator_instruction",
        /// An instruction that the operator set up in advance, such as a schedule or a subscription.
        RuntimeInstruction = "runtime_instruction",
        /// A signal of an authorized integration: data to consider, not an instruction.
        IntegrationSignal = "integration_signal",
        /// Data from any other sender, not an instruction.
        ExternalEvidence = "external_evidence",
    }
}

string_enum! {
    /// The interface through which a message arrived.
    pub enum DeliverySurface {
        /// `wakeful run`.
        RunOnce = "run_once",
        /// `wakeful message` in its own process, without a daemon.
        CliPrompt = "cli_prompt",
        /// The daemon's API, called by a person or program with the token.
        HttpControlPrompt = "http_control_prompt",
        /// The URL of an external trigger, called by an external system.
        HttpCallbackWake = "http_callback_wake",
        /// The daemon's scheduler.
        TimerScheduler = "timer_scheduler",
        /// The daemon itself, after it detected a change.
        RuntimeSystem = "runtime_system",
    }
}

string_enum! {
    /// How the sender was authenticated.
    pub enum AdmissionContext {
        /// A process of the same user on this machine.
        LocalProcess = "local_process",
        /// The sender presented the daemon's token.
        ControlAuthenticated = "control_authenticated",
        /// The sender presented the secret of an external trigger.
        ExternalTriggerCapability = "external_trigger_capability",
        /// The program itself created the message.
        RuntimeOwned = "runtime_owned",
    }
}

/// What a message requests for its run. Absent options are resolved from the configuration when the run
/// starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The folder in which its commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Tools that the run must not use.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny_tools: BTreeSet<String>,
    /// Tools that require a person's approval.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ask_tools: BTreeSet<String>,
    /// The conversation that the run begins with, if it continues an earlier run; at most
    /// [`HISTORY_ENTRIES_MAX`] entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<EntryWrite>,
    /// The schema that the answer must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<AnswerSchema>,
    /// Whether the run may change nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_read_only: bool,
    /// What the run may use together with its sub-runs, in the smallest unit of each resource. The limits are set
    /// when it starts, and removed when it ends.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<BudgetResource, u64>,
}

impl RunOptions {
    /// The limits of a run with these options.
    pub fn limits_of(&self, run: &RunKey) -> impl Iterator<Item = (LimitKey, u64)> {
        let subject = run.to_string();
        self.limits.iter().map(move |(resource, max)| {
            let key = LimitKey {
                scope: BudgetScope::Tree,
                subject: subject.clone(),
                resource: *resource,
                period: BudgetPeriod::Lifetime,
            };
            (key, *max)
        })
    }

    /// The options without contents, for a message that is erased.
    #[must_use]
    pub fn erased(self) -> Self {
        Self {
            history: Vec::new(),
            answer_schema: None,
            ..self
        }
    }
}

/// A message after admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The key of the message and of the run it requests.
    pub run_key: RunKey,
    /// The agent whose queue contains it.
    pub agent_id: AgentId,
    /// The conversation that it belongs to.
    pub thread_id: ThreadId,
    pub kind: MessageKind,
    pub authority: Authority,
    pub surface: DeliverySurface,
    pub context: AdmissionContext,
    /// The hash of the contents, a transcript entry.
    pub body: BlobHash,
    #[serde(default)]
    pub options: RunOptions,
    #[serde(default)]
    pub cause: Cause,
    /// The run that sent it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// The ended run that it runs again, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunKey>,
    pub admitted_at: Millis,
}

/// The run that sent a message and waits for the end of the requested run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRun {
    pub run_key: RunKey,
    pub agent_id: AgentId,
    /// The action that sent it.
    pub operation_id: OperationId,
    /// The number of ancestors of the requested run.
    pub depth: u32,
}

/// The contents of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryContents {
    /// Those of the ended run.
    Same,
    /// A transcript entry that the person wrote.
    Written(BlobHash),
}

/// The fields common to all new messages.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The agent whose queue receives it.
    pub agent_id: AgentId,
    /// The hash of the contents, a transcript entry.
    pub body: BlobHash,
    pub admitted_at: Millis,
}

impl Message {
    /// Whether a person erased its contents.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.body == BlobHash::ERASED
    }

    /// Admits a prompt of a person at this machine. The key is derived only from agent, session and turn,
    /// so a turn submitted twice, even across a restart, requests one run.
    #[must_use]
    pub fn from_operator(new: NewMessage, session: &SessionId, turn: &TurnId) -> Self {
        Self {
            run_key: RunKey::of_user(&new.agent_id, session, turn),
            thread_id: ThreadId::of_session(&new.agent_id, session),
            agent_id: new.agent_id,
            kind: MessageKind::OperatorPrompt,
            authority: Authority::OperatorInstruction,
            surface: DeliverySurface::RunOnce,
            context: AdmissionContext::LocalProcess,
            body: new.body,
            options: RunOptions::default(),
            cause: Cause::default(),
            parent: None,
            retry_of: None,
            admitted_at: new.admitted_at,
        }
    }

    /// Whether `wakeful run` sent it, which waits for the run in its own process.
    #[must_use]
    pub fn is_from_run_command(&self) -> bool {
        self.cause.origin == MessageOrigin::Operator && self.surface == DeliverySurface::RunOnce
    }

    /// Admits a message that the program creates itself: for a change, a firing or a trigger. Its authority
    /// follows from its origin. Each has its own thread, named by its run.
    #[must_use]
    pub fn from_cause(new: NewMessage, run_key: RunKey, cause: Cause) -> Self {
        let (kind, authority, surface, context) = match &cause.origin {
            MessageOrigin::Operator => (
                MessageKind::OperatorPrompt,
                Authority::OperatorInstruction,
                DeliverySurface::RunOnce,
                AdmissionContext::LocalProcess,
            ),
            MessageOrigin::Subscription { .. } => (
                MessageKind::Notice,
                Authority::RuntimeInstruction,
                DeliverySurface::RuntimeSystem,
                AdmissionContext::RuntimeOwned,
            ),
            MessageOrigin::Schedule { .. } => (
                MessageKind::TimerTick,
                Authority::RuntimeInstruction,
                DeliverySurface::TimerScheduler,
                AdmissionContext::RuntimeOwned,
            ),
            MessageOrigin::Trigger { .. } => (
                MessageKind::Hint,
                Authority::IntegrationSignal,
                DeliverySurface::HttpCallbackWake,
                AdmissionContext::ExternalTriggerCapability,
            ),
            MessageOrigin::Run { .. } => (
                MessageKind::InternalFollowup,
                Authority::RuntimeInstruction,
                DeliverySurface::RuntimeSystem,
                AdmissionContext::RuntimeOwned,
            ),
        };
        Self {
            run_key,
            thread_id: ThreadId::of_run(&new.agent_id, &run_key),
            agent_id: new.agent_id,
            kind,
            authority,
            surface,
            context,
            body: new.body,
            options: RunOptions::default(),
            cause,
            parent: None,
            retry_of: None,
            admitted_at: new.admitted_at,
        }
    }

    /// Admits a message from a run to another agent, in the same chain of causes. The key is derived only
    /// from the agent and the operation. The requested run has its own thread, because it must not continue
    /// another conversation.
    #[must_use]
    pub fn from_run(new: NewMessage, parent: ParentRun, correlation: TraceId) -> Self {
        let run_key = RunKey::of_spawn(&new.agent_id, &parent.operation_id);
        let cause = Cause {
            origin: MessageOrigin::Run { run: parent.run_key },
            depth: parent.depth,
            ..Cause::default()
        };
        Self {
            run_key,
            thread_id: ThreadId::of_run(&new.agent_id, &run_key),
            agent_id: new.agent_id,
            kind: MessageKind::InternalFollowup,
            authority: Authority::RuntimeInstruction,
            surface: DeliverySurface::RuntimeSystem,
            context: AdmissionContext::RuntimeOwned,
            body: new.body,
            options: RunOptions::default(),
            cause: cause.following(TraceId::of(&parent.run_key.0), correlation),
            parent: Some(parent),
            retry_of: None,
            admitted_at: new.admitted_at,
        }
    }

    /// Admits the message of an ended run again, on behalf of a person. Unchanged contents keep their kind and
    /// authority, so that running an external message again does not make it an instruction of the operator;
    /// contents that the person wrote are the operator's. The chain of causes stays, including whether it is
    /// external. A run with a history has its own conversation, because the original one already contains that
    /// history and what followed it.
    #[must_use]
    pub fn retry(&self, contents: RetryContents, retries_ended: u64, at: Millis) -> Self {
        let run_key = RunKey::of_retry(&self.agent_id, &self.run_key, retries_ended);
        let again = Self {
            run_key,
            thread_id: match self.options.history.is_empty() {
                true => self.thread_id.clone(),
                false => ThreadId::of_session(&self.agent_id, &SessionId::of_branch(&run_key)),
            },
            cause: self.cause.clone().following(
                TraceId::of(&self.run_key.0),
                self.cause.correlation_of(&self.run_key),
            ),
            parent: None,
            retry_of: Some(self.run_key),
            admitted_at: at,
            ..self.clone()
        };
        let again = again.with_priority(Priority::default());
        match contents {
            RetryContents::Same => again,
            RetryContents::Written(body) => Self {
                kind: MessageKind::OperatorPrompt,
                authority: Authority::OperatorInstruction,
                surface: DeliverySurface::HttpControlPrompt,
                context: AdmissionContext::ControlAuthenticated,
                body,
                cause: Cause {
                    origin: MessageOrigin::Operator,
                    sources: self.cause.all_sources(),
                    ..again.cause
                },
                ..again
            },
        }
    }

    /// Whether its attachments stay when a person retries it with another text. Those of an external message do
    /// not: together with the person's text they would become an instruction of the operator.
    #[must_use]
    pub fn keeps_attachments(&self) -> bool {
        self.authority == Authority::OperatorInstruction && !self.cause.is_external()
    }

    /// Whether another run may absorb the message. A run that a person requested again is always its own.
    #[must_use]
    pub const fn is_absorbed(&self) -> bool {
        self.cause.origin.is_absorbed() && self.retry_of.is_none()
    }

    /// Marks the message as received through the daemon's API.
    #[must_use]
    pub fn through_api(self, wishes: RunOptions) -> Self {
        Self {
            surface: DeliverySurface::HttpControlPrompt,
            context: AdmissionContext::ControlAuthenticated,
            options: wishes,
            ..self
        }
    }

    /// Marks the message as queued by a separate process on this machine.
    #[must_use]
    pub fn through_cli(self, wishes: RunOptions) -> Self {
        Self {
            surface: DeliverySurface::CliPrompt,
            context: AdmissionContext::LocalProcess,
            options: wishes,
            ..self
        }
    }

    /// Sets the untrusted sources of the run that sent the message. The run itself is one of them, so that its
    /// text never counts as the operator's.
    #[must_use]
    pub fn with_sources_of(mut self, run: &RunMachine) -> Self {
        if run.is_untrusted() {
            let own = Sources::of(SourceKind::Run, &run.run_key.to_string());
            self.cause.sources = own.joined(&run.sources);
        }
        self
    }

    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.cause.priority = priority;
        self
    }

    /// Whether the message may join a run in progress of this thread, before its next model request. Only a
    /// person's interjection in the same conversation may; urgent messages of others are only first in the
    /// queue. A message with run options gets its own run, because the run in progress keeps its options.
    #[must_use]
    pub fn may_join(&self, thread: &ThreadId) -> bool {
        self.thread_id == *thread
            && self.cause.priority == Priority::Interject
            && self.authority == Authority::OperatorInstruction
            && !self.cause.is_external()
            && self.options == RunOptions::default()
    }

    /// Whether two messages with one key are the same message: the agent and the contents must agree, or a
    /// key would identify two things. The surface and the time may differ; for the same surface the options
    /// must agree as well. `wakeful run` is exempt: it reports the options that the run does not follow.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let same_door = self.surface == other.surface && self.surface != DeliverySurface::RunOnce;
        // A message that a run sends again after a crash may follow more sources than before.
        let twin = Self {
            surface: other.surface,
            context: other.context,
            admitted_at: other.admitted_at,
            cause: Cause {
                sources: other.cause.sources.clone(),
                ..self.cause.clone()
            },
            ..self.clone()
        };
        if same_door {
            twin == *other
        } else {
            Self {
                options: other.options.clone(),
                ..twin
            } == *other
        }
    }
}

#[cfg(test)]
mod tests;
