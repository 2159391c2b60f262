//! Identifiers. Each is a type of its own, so that a thread can never be passed where an agent is meant.
//!
//! Derived identifiers (hashes) are in [`crate::key`]; the ones here are names that people or the machine
//! chose. Random ones are made outside and arrive as text.

use serde::{Deserialize, Serialize};

/// Longest name an agent may have. Long enough for words, short enough for a folder name and a table column.
pub const AGENT_ID_CHARS_MAX: usize = 64;

/// Names the log of the home beside those of agents. The first character is one that no agent's name has.
const HOME_LOG: &str = "~home";

/// Longest idempotency key or turn id. Room for a UUID with a generous prefix.
pub const TURN_ID_CHARS_MAX: usize = 200;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Ids whose text is made by the program itself and therefore needs no check.
macro_rules! made_id {
    ($($name:ident),*) => {$(
        impl $name {
            /// Takes over a text that this program made or stored before.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
        }
    )*};
}

text_id! {
    /// An agent, chosen by a person (or made up for a temporary agent). Checked once, on the way in.
    AgentId
}
text_id! {
    /// One conversation of a person with an agent, such as `cli`.
    SessionId
}
text_id! {
    /// One thing a person said in a session. Fresh per call, or the caller's idempotency key.
    TurnId
}
text_id! {
    /// A line of conversation: `agent:session:<session>` or `agent:run:<run key>`.
    ThreadId
}
text_id! {
    /// A host and its life: changes when a device is restored or cloned, so that old and new never share a name.
    Incarnation
}
text_id! {
    /// One subscription of an agent.
    SubscriptionId
}
text_id! {
    /// One process that drives runs. Random, because two processes must never share it.
    RunnerId
}
text_id! {
    /// Names the set of rules by which a verdict was reached.
    PolicyVersion
}
text_id! {
    /// A standing order that wakes an agent: a subscription, a schedule or a trigger.
    RuleId
}
text_id! {
    /// Something that may happen and that schedules wait for, such as `backup.done`.
    EventName
}
text_id! {
    /// Something outside that is watched for changes: a folder, a Git repository.
    SourceId
}
text_id! {
    /// Where causes come from, as refusals are counted and people are told: `operator`, `subscription:` and an id, …
    SourceName
}
text_id! {
    /// What belongs together, or what something was caused by: a key of ours, or the name that a sender gave.
    TraceId
}
made_id!(
    SessionId,
    ThreadId,
    Incarnation,
    RunnerId,
    PolicyVersion,
    SourceName,
    SubscriptionId
);

/// Why a name was refused. The message says what would be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// The agent id has a character or a length we do not take.
    #[error("agent id {0:?} must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or digit")]
    Agent(String),
    /// The turn id or idempotency key is empty, too long or has control characters.
    #[error("idempotency key must be 1 to 200 characters without control characters")]
    Turn,
    /// The name by which a sender says what belongs together is empty, too long or has control characters.
    #[error("correlation and causation must be 1 to 200 characters without control characters")]
    Trace,
    /// The name of a standing order has a character or a length we do not take.
    #[error("name {0:?} must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or digit")]
    Rule(String),
    /// The name of an event has a character or a length we do not take.
    #[error("event {0:?} must be 1 to 64 of a-z, 0-9, '.', '-' and '_', and begin with a letter or digit")]
    Event(String),
}

impl AgentId {
    /// Checks a name given by a person. Lower case only, because it becomes a folder name on file systems
    /// that do not tell cases apart.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Agent(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl AgentId {
    /// The log of the home itself: changes of rows that govern are bound there. No agent can have this name.
    #[must_use]
    pub fn home_log() -> Self {
        Self(HOME_LOG.to_owned())
    }

    /// Whether it names the log of the home, and no agent.
    #[must_use]
    pub fn is_home_log(&self) -> bool {
        self.0 == HOME_LOG
    }
}

impl RuleId {
    /// A name made up from random digits.
    #[must_use]
    pub fn random(kind: &str, digits: &crate::key::Digest) -> Self {
        let digits: String = digits.to_string().chars().take(12).collect();
        Self(format!("{kind}-{digits}"))
    }

    /// Checks a name that a person gave or that the program made: the same letters as an agent's.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Rule(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl SourceId {
    /// A name made up from random digits.
    #[must_use]
    pub fn random(digits: &crate::key::Digest) -> Self {
        let digits: String = digits.to_string().chars().take(12).collect();
        Self(format!("src-{digits}"))
    }

    /// Checks a name that a person gave or that the program made: the same letters as an agent's.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Rule(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl EventName {
    /// Checks the name of an event: the same letters as an agent's, and dots between words.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(&text.replace('.', "-")) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Event(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let first_fits = chars
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let rest_fits = chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    first_fits && rest_fits && text.len() <= AGENT_ID_CHARS_MAX
}

impl TurnId {
    /// Checks an idempotency key given by a caller, or takes a fresh one.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let length = text.chars().count();
        if length == 0 || length > TURN_ID_CHARS_MAX || text.chars().any(char::is_control) {
            return Err(BadId::Turn);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TraceId {
    /// Checks a name that a sender gave.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        TurnId::parse(text)
            .map(|turn| Self(turn.0))
            .map_err(|_| BadId::Trace)
    }

    /// A key of ours, as a name.
    #[must_use]
    pub fn of(key: &crate::key::Digest) -> Self {
        Self(key.to_string())
    }
}

impl ThreadId {
    /// The thread of an interactive session.
    #[must_use]
    pub fn of_session(agent: &AgentId, session: &SessionId) -> Self {
        Self(format!("{agent}:session:{session}"))
    }

    /// The thread of a run that no person began: each has its own.
    #[must_use]
    pub fn of_run(agent: &AgentId, run: &crate::key::RunKey) -> Self {
        Self(format!("{agent}:run:{run}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_id_is_lower_case_words_of_bounded_length() {
        for good in ["main", "a", "0x", "gym-coach_2", &"a".repeat(64)] {
            assert_eq!(AgentId::parse(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "-a", "Main", "a b", "a/b", "..", "ä", &"a".repeat(65)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn the_name_of_an_event_may_have_dots_between_its_words() {
        for good in ["backup.done", "a", "0.1-rc_2", &"a".repeat(64)] {
            assert_eq!(
                EventName::parse(good).map(|name| name.to_string()),
                Ok(good.to_owned())
            );
        }
        for bad in ["", ".a", "Backup", "a b", "a/b", "a:b", "ä", &"a".repeat(65)] {
            assert!(EventName::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn a_turn_id_is_bounded_and_printable() {
        assert!(TurnId::parse("order 66, again").is_ok());
        assert_eq!(TurnId::parse(""), Err(BadId::Turn));
        assert_eq!(TurnId::parse("a\nb"), Err(BadId::Turn));
        assert_eq!(TurnId::parse(&"k".repeat(201)), Err(BadId::Turn));
    }

    #[test]
    fn a_session_thread_is_named_by_agent_and_session() {
        let agent = AgentId::parse("main").expect("a good id");
        assert_eq!(
            ThreadId::of_session(&agent, &SessionId::new("cli")).as_str(),
            "main:session:cli"
        );
    }
}
