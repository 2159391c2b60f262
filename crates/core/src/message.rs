//! What enters an agent's queue. Every cause of a run is a message, and every message has a key: a second
//! message with the same key is the same message.

use serde::{Deserialize, Serialize};

use crate::blob::BlobHash;
use crate::id::{AgentId, SessionId, ThreadId, TurnId};
use crate::key::RunKey;
use crate::time::Millis;

/// Largest prompt in bytes. A longer text belongs in a file of the workspace, which the agent can read in parts.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// What kind of cause a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A person said something.
    OperatorPrompt,
}

/// Whose word it is. Derived at admission, never accepted from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// The owner's own instruction.
    OperatorInstruction,
}

/// The door by which it came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverySurface {
    /// `wakeful run`.
    RunOnce,
}

/// How the door knows who came through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionContext {
    /// A process of the same user on this machine.
    LocalProcess,
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
    pub kind: Kind,
    /// Whose word it is.
    pub authority: Authority,
    /// The door by which it came.
    pub surface: DeliverySurface,
    /// How that door knows the sender.
    pub context: AdmissionContext,
    /// The contents, as a transcript entry.
    pub body: BlobHash,
    /// When it was admitted.
    pub admitted_at: Millis,
}

impl Message {
    /// Admits what a person typed at this machine. The key comes from agent, session and turn alone, so the
    /// same turn submitted twice, also across a restart, asks for one run.
    #[must_use]
    pub fn from_operator(
        agent: AgentId,
        session: &SessionId,
        turn: &TurnId,
        body: BlobHash,
        now: Millis,
    ) -> Self {
        Self {
            run_key: RunKey::of_user(&agent, session, turn),
            thread_id: ThreadId::of_session(&agent, session),
            agent_id: agent,
            kind: Kind::OperatorPrompt,
            authority: Authority::OperatorInstruction,
            surface: DeliverySurface::RunOnce,
            context: AdmissionContext::LocalProcess,
            body,
            admitted_at: now,
        }
    }

    /// Whether two messages with one key are one message: everything but the time must agree, or a key would
    /// name two things.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        Self {
            admitted_at: other.admitted_at,
            ..self.clone()
        } == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Digest;

    fn message(text: &str, at: i64) -> Message {
        let agent = AgentId::parse("main").expect("id");
        let turn = TurnId::parse("t").expect("id");
        Message::from_operator(
            agent,
            &SessionId::new("cli"),
            &turn,
            BlobHash(Digest::of(text.as_bytes())),
            Millis(at),
        )
    }

    #[test]
    fn the_same_words_at_another_time_are_the_same_message() {
        assert!(message("a", 1).is_same_as(&message("a", 2)));
        assert!(!message("a", 1).is_same_as(&message("b", 1)));
        assert_eq!(message("a", 1).run_key, message("b", 2).run_key);
    }
}
