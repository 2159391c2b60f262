//! Identifiers. Each kind is its own type, so that a thread id cannot be passed as an agent id.
//!
//! Derived identifiers (hashes) are in [`crate::key`]; people or the program choose the ones here. Random
//! ones are generated outside this crate and arrive as text.

use serde::{Deserialize, Serialize};

/// Maximum length of an agent id. It must fit a folder name and a table column.
pub const AGENT_ID_CHARS_MAX: usize = 64;

/// The id of the home's log beside those of agents. No agent id starts with its first character.
const HOME_LOG: &str = "~home";

/// Maximum length of an idempotency key or turn id. A UUID with a long prefix fits.
pub const TURN_ID_CHARS_MAX: usize = 200;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
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

/// Ids whose text the program creates and therefore does not validate.
macro_rules! made_id {
    ($($name:ident),*) => {$(
        impl $name {
            /// Wraps a text that this program created or stored before.
            #[must_use]
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }
        }
    )*};
}

text_id! {
    /// An agent's id, chosen by a person or generated for a temporary agent. Validated once, on input.
    AgentId
}
text_id! {
    /// One conversation of a person with an agent, such as `cli`.
    SessionId
}
text_id! {
    /// One prompt of a person in a session: new for each call, or the caller's idempotency key.
    TurnId
}
text_id! {
    /// A conversation thread: `agent:session:<session>` or `agent:run:<run key>`.
    ThreadId
}
text_id! {
    /// A host and its incarnation, which changes when a device is restored or cloned, so that names are
    /// never reused.
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
    /// The version of the policy under which a verdict was reached.
    PolicyVersion
}
text_id! {
    /// A rule that wakes an agent: a subscription, a schedule or an external trigger.
    RuleId
}
text_id! {
    /// An event that schedules wait for, such as `backup.done`.
    EventName
}
text_id! {
    /// A watched folder or Git repository.
    SourceId
}
text_id! {
    /// The source of causes, under which refusals are counted and shown: `operator`, `subscription:` and an
    /// id, …
    SourceName
}
text_id! {
    /// A correlation or causation id: a derived key, or an id that the sender gave.
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

/// Why an id is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// The agent id has an invalid character or length.
    #[error("agent id {0:?} must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or digit")]
    Agent(String),
    /// The turn id or idempotency key is empty, too long or has control characters.
    #[error("idempotency key must be 1 to 200 characters without control characters")]
    Turn,
    /// The sender's correlation or causation is empty, too long or has control characters.
    #[error("correlation and causation must be 1 to 200 characters without control characters")]
    Trace,
    /// The rule id has an invalid character or length.
    #[error("name {0:?} must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or digit")]
    Rule(String),
    /// The name of a conversation has an invalid character or length.
    #[error("thread {0:?} must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a letter or digit")]
    Thread(String),
    /// The event name has an invalid character or length.
    #[error("event {0:?} must be 1 to 64 of a-z, 0-9, '.', '-' and '_', and begin with a letter or digit")]
    Event(String),
}

impl AgentId {
    /// Validates an id given by a person. Only lower case is allowed, because the id becomes a folder name
    /// and some file systems ignore case.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Agent(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl AgentId {
    /// The log of the home itself, which contains the bindings of governing rows. No agent can have this
    /// id.
    #[must_use]
    pub fn home_log() -> Self {
        Self(HOME_LOG.to_owned())
    }

    /// Whether it is the log of the home and not an agent's.
    #[must_use]
    pub fn is_home_log(&self) -> bool {
        self.0 == HOME_LOG
    }
}

impl RuleId {
    /// Builds an id from random digits.
    #[must_use]
    pub fn random(kind: &str, digits: &crate::key::Digest) -> Self {
        let digits: String = digits.to_string().chars().take(12).collect();
        Self(format!("{kind}-{digits}"))
    }

    /// Validates an id given by a person or created by the program, with the rules of agent ids.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Rule(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl SourceId {
    /// Builds an id from random digits.
    #[must_use]
    pub fn random(digits: &crate::key::Digest) -> Self {
        let digits: String = digits.to_string().chars().take(12).collect();
        Self(format!("src-{digits}"))
    }

    /// Validates an id given by a person or created by the program, with the rules of agent ids.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Rule(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }
}

impl EventName {
    /// Validates an event name, with the rules of agent ids and dots between words.
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
    /// Validates an idempotency key of a caller, or a generated one.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let length = text.chars().count();
        if length == 0 || length > TURN_ID_CHARS_MAX || text.chars().any(char::is_control) {
            return Err(BadId::Turn);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TraceId {
    /// Validates a name given by a sender.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        TurnId::parse(text)
            .map(|turn| Self(turn.0))
            .map_err(|_| BadId::Trace)
    }

    /// Converts a derived key.
    #[must_use]
    pub fn of(key: &crate::key::Digest) -> Self {
        Self(key.to_string())
    }
}

impl SessionId {
    /// Validates the name of a conversation given by a person, with the rules of agent ids.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        if is_name(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadId::Thread(text.chars().take(AGENT_ID_CHARS_MAX).collect()))
        }
    }

    /// The conversation of a run that continues an earlier run from one of its steps.
    #[must_use]
    pub fn of_branch(run: &crate::key::RunKey) -> Self {
        let digits: String = run.to_string().chars().take(BRANCH_DIGITS).collect();
        Self(format!("from-{digits}"))
    }
}

/// Hex digits of the run key in the name of a branch; enough to exclude collisions among the conversations of
/// one agent.
const BRANCH_DIGITS: usize = 16;

impl ThreadId {
    /// The session of the thread; none for the thread of a run that no person started.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        let (_, session) = self.0.split_once(":session:")?;
        Some(SessionId(session.to_owned()))
    }

    /// The ids before and after those of all sessions of an agent.
    #[must_use]
    pub fn sessions_of(agent: &AgentId) -> (Self, Self) {
        (
            Self(format!("{agent}:session:")),
            Self(format!("{agent}:session;")),
        )
    }

    /// The thread of an interactive session.
    #[must_use]
    pub fn of_session(agent: &AgentId, session: &SessionId) -> Self {
        Self(format!("{agent}:session:{session}"))
    }

    /// The thread of a run that no person started: each has its own.
    #[must_use]
    pub fn of_run(agent: &AgentId, run: &crate::key::RunKey) -> Self {
        Self(format!("{agent}:run:{run}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_id_is_lower_case_and_bounded() {
        for good in ["main", "a", "0x", "gym-coach_2", &"a".repeat(64)] {
            assert_eq!(AgentId::parse(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "-a", "Main", "a b", "a/b", "..", "ä", &"a".repeat(65)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn an_event_name_may_contain_dots() {
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

    // Conformance: L-068, L-074
    #[test]
    fn a_session_thread_is_named_by_agent_and_session() {
        let agent = AgentId::parse("main").expect("a good id");
        assert_eq!(
            ThreadId::of_session(&agent, &SessionId::new("cli")).as_str(),
            "main:session:cli"
        );
    }

    #[test]
    fn the_session_of_a_thread_is_read_back() {
        let agent = AgentId::parse("main").expect("a good id");
        let session = SessionId::parse("trip-2").expect("a good name");
        let thread = ThreadId::of_session(&agent, &session);
        let (before, after) = ThreadId::sessions_of(&agent);
        assert!(before < thread && thread < after);
        assert_eq!(thread.session(), Some(session));
        let run = crate::key::RunKey(crate::key::Digest::ZERO);
        assert_eq!(ThreadId::of_run(&agent, &run).session(), None);
        for bad in ["", "A", "a b", "../x", "a:b", &"a".repeat(65)] {
            assert_eq!(
                SessionId::parse(bad),
                Err(BadId::Thread(bad.chars().take(64).collect()))
            );
        }
    }
}
