//! What enters an agent's queue. Every cause of a run is a message, and every message has a key: a second
//! message with the same key is the same message.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::blob::BlobHash;
use crate::cause::{Cause, MessageOrigin, Priority};
use crate::id::{AgentId, SessionId, ThreadId, TraceId, TurnId};
use crate::key::{OperationId, RunKey};
use crate::time::Millis;

/// Largest prompt in bytes. A longer text belongs in a file of the workspace, which the agent can read in parts.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// Most messages that wait for one agent. At a run a minute it is two months of work; whoever sends more needs an
/// answer now and not a place in that line.
pub const QUEUE_MAX: u64 = 100_000;

string_enum! {
    /// What kind of cause a message is.
    #[schemars(rename = "MessageKind")]
    pub enum MessageKind {
        /// A person said something.
        OperatorPrompt = "operator_prompt",
        /// A change matched a subscription.
        Notice = "notice",
        /// A moment came that a schedule names.
        TimerTick = "timer_tick",
        /// A system outside says that there may be something to do.
        Hint = "hint",
        /// A run of another agent asks for something.
        InternalFollowup = "internal_followup",
    }
}

string_enum! {
    /// Whose word it is. Derived at admission, never accepted from outside.
    pub enum Authority {
        /// The owner's own instruction.
        OperatorInstruction = "operator_instruction",
        /// What the owner settled beforehand, such as a schedule or a subscription.
        RuntimeInstruction = "runtime_instruction",
        /// The word of a system that was let in: something to look at, not to obey.
        IntegrationSignal = "integration_signal",
        /// The word of anybody: evidence only.
        ExternalEvidence = "external_evidence",
    }
}

string_enum! {
    /// The door by which it came in.
    pub enum DeliverySurface {
        /// `wakeful run`.
        RunOnce = "run_once",
        /// `wakeful message`, in a process of its own beside no daemon.
        CliPrompt = "cli_prompt",
        /// The daemon's API, used by a person or a program that holds the token.
        HttpControlPrompt = "http_control_prompt",
        /// A trigger's address, called by a system outside.
        HttpCallbackWake = "http_callback_wake",
        /// The clock of the daemon.
        TimerScheduler = "timer_scheduler",
        /// The daemon itself, which saw a change.
        RuntimeSystem = "runtime_system",
    }
}

string_enum! {
    /// How the door knows who came through it.
    pub enum AdmissionContext {
        /// A process of the same user on this machine.
        LocalProcess = "local_process",
        /// Whoever came showed the daemon's token.
        ControlAuthenticated = "control_authenticated",
        /// Whoever came showed the secret of a trigger.
        ExternalTriggerCapability = "external_trigger_capability",
        /// Nobody came: it was made here.
        RuntimeOwned = "runtime_owned",
    }
}

/// What a message says about how its run is to be carried out. What it leaves open, the configuration answers when
/// the run begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// Most rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The folder its commands run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Tools it may not use.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deny_tools: BTreeSet<String>,
    /// Tools that it may use only after a person said so.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ask_tools: BTreeSet<String>,
}

/// A message after admission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The run this message asks for, and the message's own key.
    pub run_key: RunKey,
    /// Whose queue it is in.
    pub agent_id: AgentId,
    /// The line of conversation it belongs to.
    pub thread_id: ThreadId,
    /// What kind of cause it is.
    pub kind: MessageKind,
    /// Whose word it is.
    pub authority: Authority,
    /// The door by which it came.
    pub surface: DeliverySurface,
    /// How that door knows the sender.
    pub context: AdmissionContext,
    /// The contents, as a transcript entry.
    pub body: BlobHash,
    /// How its run is to be carried out.
    #[serde(default)]
    pub options: RunOptions,
    /// What it came from.
    #[serde(default)]
    pub cause: Cause,
    /// The run that sent it, where no person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// When it was admitted.
    pub admitted_at: Millis,
}

/// The run that sent a message, and that waits for the end of the run it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRun {
    /// The run.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// The action by which it was sent.
    pub operation_id: OperationId,
    /// How many runs stand above the one it asks for.
    pub depth: u32,
}

/// What every message has when it is admitted.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Whose queue it goes into.
    pub agent_id: AgentId,
    /// The contents, as a transcript entry.
    pub body: BlobHash,
    /// When it is admitted.
    pub admitted_at: Millis,
}

impl Message {
    /// Admits what a person typed at this machine. The key comes from agent, session and turn alone, so the
    /// same turn submitted twice, also across a restart, asks for one run.
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
            admitted_at: new.admitted_at,
        }
    }

    /// Whether whoever said it waits, or waited, for its run in a process of their own.
    #[must_use]
    pub fn is_from_run_command(&self) -> bool {
        self.cause.origin == MessageOrigin::Operator && self.surface == DeliverySurface::RunOnce
    }

    /// What the program says to an agent by itself: a change, a moment or a call from outside came to pass. Whose word it
    /// is follows from where it comes from. Each has a thread of its own, named by its run.
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
            admitted_at: new.admitted_at,
        }
    }

    /// What one run asks of another agent, in the chain of causes that it belongs to. Its key comes from the agent and the
    /// operation alone. The run gets a thread of its own: nobody's conversation is continued by somebody else.
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
            admitted_at: new.admitted_at,
        }
    }

    /// The same message, come in through the daemon's API.
    #[must_use]
    pub fn through_api(self, wishes: RunOptions) -> Self {
        Self {
            surface: DeliverySurface::HttpControlPrompt,
            context: AdmissionContext::ControlAuthenticated,
            options: wishes,
            ..self
        }
    }

    /// The same message, put in line by a process of its own on this machine.
    #[must_use]
    pub fn through_cli(self, wishes: RunOptions) -> Self {
        Self {
            surface: DeliverySurface::CliPrompt,
            context: AdmissionContext::LocalProcess,
            options: wishes,
            ..self
        }
    }

    /// The same message, of a run whose cause was outside or not.
    #[must_use]
    pub fn with_external_cause(mut self, is_outside: bool) -> Self {
        self.cause.follows_outside = is_outside;
        self
    }

    /// The same message, which wants its turn this soon.
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.cause.priority = priority;
        self
    }

    /// Whether it may join a run of a thread that is under way, between what tools did and the next request. Only a person
    /// interrupts, and only their own conversation: what somebody says in one is no word on what goes on in another. What
    /// others call urgent is only first in line. Who wishes for another model or fewer tools gets a run of its own: the one
    /// under way has its own.
    #[must_use]
    pub fn may_join(&self, thread: &ThreadId) -> bool {
        self.thread_id == *thread
            && self.cause.priority == Priority::Interject
            && self.authority == Authority::OperatorInstruction
            && !self.cause.is_external()
            && self.options == RunOptions::default()
    }

    /// Whether two messages with one key are one message: whose they are and what they say must agree, or a key
    /// would name two things. The door and the time may differ; but through the same door the same wishes come. A command
    /// that waits for the answer tells which of its wishes the run does not follow instead.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let same_door = self.surface == other.surface && self.surface != DeliverySurface::RunOnce;
        let twin = Self {
            surface: other.surface,
            context: other.context,
            admitted_at: other.admitted_at,
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
