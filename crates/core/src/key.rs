//! Derived keys. A key is computed from what it identifies and is never random, because two devices, or one
//! device before and after a crash, must compute the same key.
//!
//! `H(label, f1, f2, …)` is the SHA-256 of `v1|label|f1|f2|…`, where `%` and `|` inside a field are
//! escaped, so that different lists of fields never give the same string.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::change::LogicalChangeKey;
use crate::id::{AgentId, SessionId, TurnId};
use crate::time::Millis;

/// A SHA-256 hash, formatted as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The predecessor hash of an agent's first event.
    pub const ZERO: Self = Self([0; 32]);

    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Wraps 32 stored bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses exactly 64 lower-case hex digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0_u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            let [high, low] = pair.map(hex_value);
            *byte = (high? << 4) | low?;
        }
        Some(Self(bytes))
    }
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Hashes are formatted very often, so the text is built in one pass.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
        let mut text = [b'0'; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        f.pad(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_hex(&text).ok_or_else(|| serde::de::Error::custom("expected 64 lower-case hex digits"))
    }
}

impl schemars::JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "A SHA-256 hash in lower-case hex digits.",
        })
    }
}

/// Whether a text is a valid hash label: `[a-z0-9._]+`.
#[must_use]
pub fn is_label(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
    !text.is_empty() && text.bytes().all(fits)
}

/// `H` of the module documentation: a labelled hash over escaped fields. Labels match `[a-z0-9._]+`.
#[must_use]
pub fn derived_hash(label: &str, fields: &[&str]) -> Digest {
    let mut text = String::with_capacity(label.len() + 3 + fields.iter().map(|f| f.len() + 1).sum::<usize>());
    text.push_str("v1|");
    text.push_str(label);
    for field in fields {
        text.push('|');
        escape_into(field, &mut text);
    }
    Digest::of(text.as_bytes())
}

pub(crate) fn escape_into(field: &str, text: &mut String) {
    for c in field.chars() {
        match c {
            '%' => text.push_str("%25"),
            '|' => text.push_str("%7C"),
            other => text.push(other),
        }
    }
}

macro_rules! derived_key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub Digest);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

derived_key! {
    /// The key of a run. It is derived, because two replicas that receive the same cause must compute
    /// the same key, or the work is done twice.
    RunKey
}
derived_key! {
    /// The identity of an action within its run: tool, arguments, scope and targets, without its
    /// occurrence.
    ActionBase
}
derived_key! {
    /// The id of one action of one run. External systems that deduplicate requests receive this id.
    OperationId
}
derived_key! {
    /// The id of a decision about one action. It is derived, so that a repeated write creates the same
    /// decision.
    DecisionId
}

derived_key! {
    /// The summary of one span of a thread under one contract.
    SummaryId
}

/// The cause of a wake, with everything that distinguishes it from the agent's other wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKeySource<'a> {
    /// A notice matched a subscription.
    Subscription {
        subscription: &'a str,
        /// The transaction of the notice.
        change: LogicalChangeKey,
    },
    /// A schedule fired.
    Timer {
        /// The id of the schedule. Another pattern or time zone makes it another one.
        timer: &'a str,
        /// The nominal time of the firing, even if it is late.
        scheduled_at: Millis,
    },
    /// A person sent a prompt.
    User {
        session: &'a str,
        /// The turn id of the prompt.
        turn: &'a str,
    },
    /// Another cause.
    Source {
        kind: RunKeySourceKind,
        /// Identifies the occurrence, not its origin.
        source: &'a str,
    },
}

string_enum! {
    /// The causes that are identified by a source alone.
    #[derive(PartialOrd, Ord)]
    pub enum RunKeySourceKind {
        /// A delivery of an external trigger.
        Trigger = "trigger",
        /// The result of a background task.
        Task = "task",
        /// A tick of the clock.
        Tick = "tick",
        /// A revision of a work item.
        Work = "work",
        /// A message from a parent run to its sub-run.
        Spawn = "spawn",
        /// A manual request.
        Manual = "manual",
        /// Recovery after a crash without any other source.
        Catchup = "catchup",
    }
}

impl RunKey {
    /// The key of an agent's run for one cause.
    #[must_use]
    pub fn of(agent: &str, cause: &RunKeySource<'_>) -> Self {
        Self(match *cause {
            RunKeySource::Subscription { subscription, change } => {
                derived_hash("run.subscription", &[agent, subscription, &change.0.to_string()])
            }
            RunKeySource::Timer { timer, scheduled_at } => {
                derived_hash("run.timer", &[agent, timer, &scheduled_at.rfc3339()])
            }
            RunKeySource::User { session, turn } => derived_hash("run.user", &[agent, session, turn]),
            RunKeySource::Source { kind, source } => {
                derived_hash(&format!("run.{}", kind.as_str()), &[agent, source])
            }
        })
    }

    /// The key of the run for one prompt of a person.
    #[must_use]
    pub fn of_user(agent: &AgentId, session: &SessionId, turn: &TurnId) -> Self {
        let (session, turn) = (session.as_str(), turn.as_str());
        Self::of(agent.as_str(), &RunKeySource::User { session, turn })
    }

    /// The key of a sub-run. It is derived from the operation that starts it, so that a start repeated
    /// after a crash starts nothing new.
    #[must_use]
    pub fn of_spawn(agent: &AgentId, source: &OperationId) -> Self {
        Self(derived_hash("run.spawn", &[agent.as_str(), &source.to_string()]))
    }

    /// The key of a retry of an ended run. It is derived from that run and the number of its retries that
    /// have ended: two requests at once are one run, and a request after its end is another.
    #[must_use]
    pub fn of_retry(agent: &AgentId, ended: &Self, retries_ended: u64) -> Self {
        Self(derived_hash(
            "run.retry",
            &[agent.as_str(), &ended.to_string(), &retries_ended.to_string()],
        ))
    }
}

/// The part of a thread that a summary covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadSpan<'a> {
    pub agent: &'a str,
    pub thread: &'a str,
    /// The first message.
    pub start: &'a str,
    /// The last message.
    pub end: &'a str,
}

impl SummaryId {
    /// Computes the id before the summary is written, so that two devices that summarize the same span
    /// write one summary.
    #[must_use]
    pub fn new(span: &ThreadSpan<'_>, contract_version: &str) -> Self {
        let span = derived_hash("span", &[span.agent, span.thread, span.start, span.end]);
        Self(derived_hash("summary", &[&span.to_string(), contract_version]))
    }
}

/// The parts by which two actions are equal: everything except the occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionParts {
    /// The registered name of the tool, or the unknown name that the model used.
    pub tool: String,
    /// Hash of the arguments' canonical JSON.
    pub arguments: Digest,
    /// Hash of the scope's canonical JSON.
    pub scope: Digest,
    /// Hash of the sorted, unique list of targets as canonical JSON.
    pub targets: Digest,
}

impl ActionParts {
    /// The hash without the occurrence, by which equal actions are counted.
    #[must_use]
    pub fn base(&self) -> ActionBase {
        let fields = [
            &self.tool,
            &self.arguments.to_string(),
            &self.scope.to_string(),
            &self.targets.to_string(),
        ];
        ActionBase(derived_hash("action.base", &fields.map(String::as_str)))
    }

    /// The stable id of the `occurrence`-th equal action of a run, counted from 0, so that intentionally
    /// repeated actions stay distinct.
    #[must_use]
    pub fn stable_id(&self, occurrence: u64) -> Digest {
        let fields = [
            &self.tool,
            &self.arguments.to_string(),
            &self.scope.to_string(),
            &self.targets.to_string(),
            &occurrence.to_string(),
        ];
        derived_hash("action", &fields.map(String::as_str))
    }
}

impl OperationId {
    /// Computed once, when the plan is committed, and stored.
    #[must_use]
    pub fn new(run: &RunKey, action_stable_id: &Digest) -> Self {
        Self(derived_hash(
            "operation",
            &[&run.to_string(), &action_stable_id.to_string()],
        ))
    }
}

impl DecisionId {
    /// The id of the next question about an action that was asked about `asked_before` times.
    #[must_use]
    pub fn new(operation: &OperationId, asked_before: u32) -> Self {
        Self(derived_hash(
            "decision",
            &[&operation.to_string(), &asked_before.to_string()],
        ))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn h_hashes_the_documented_string() {
        assert_eq!(derived_hash("run.user", &[]), Digest::of(b"v1|run.user"));
        assert_eq!(
            derived_hash("x", &["a|b", "50%", ""]),
            Digest::of(b"v1|x|a%7Cb|50%25|")
        );
        assert_eq!(derived_hash("x", &[""]), Digest::of(b"v1|x|"));
    }

    // Conformance: L-073
    #[test]
    fn a_known_run_key_never_changes() {
        let agent = AgentId::parse("main").expect("id");
        let turn = TurnId::parse("t1").expect("id");
        let key = RunKey::of_user(&agent, &SessionId::new("cli"), &turn);
        assert_eq!(key.0, Digest::of(b"v1|run.user|main|cli|t1"));
    }

    // Conformance: L-033, L-077
    #[test]
    fn every_cause_has_its_own_key() {
        let (source, change) = ("x", LogicalChangeKey(Digest::ZERO));
        let mut causes = vec![
            RunKeySource::Subscription {
                subscription: source,
                change,
            },
            RunKeySource::Timer {
                timer: source,
                scheduled_at: Millis(0),
            },
            RunKeySource::User {
                session: source,
                turn: source,
            },
        ];
        causes.extend(RunKeySourceKind::ALL.map(|kind| RunKeySource::Source { kind, source }));
        let keys: std::collections::BTreeSet<RunKey> =
            causes.iter().map(|cause| RunKey::of("main", cause)).collect();
        assert_eq!(keys.len(), causes.len());
        let zeros = "0".repeat(64);
        let spelled = |text: &str| RunKey(Digest::of(text.as_bytes()));
        assert!(keys.contains(&spelled(&format!("v1|run.subscription|main|x|{zeros}"))));
        assert!(keys.contains(&spelled("v1|run.timer|main|x|1970-01-01T00:00:00.000Z")));
        assert!(keys.contains(&spelled("v1|run.catchup|main|x")));
        assert!(
            RunKeySourceKind::ALL
                .iter()
                .all(|kind| RunKeySourceKind::parse(kind.as_str()) == Some(*kind))
        );
    }

    // Conformance: L-107
    #[test]
    fn a_summary_id_depends_on_span_and_contract() {
        let span = ThreadSpan {
            agent: "a",
            thread: "t",
            start: "m1",
            end: "m2",
        };
        let inner = Digest::of(b"v1|span|a|t|m1|m2");
        assert_eq!(
            SummaryId::new(&span, "1").0,
            Digest::of(format!("v1|summary|{inner}|1").as_bytes())
        );
        assert_ne!(SummaryId::new(&span, "1"), SummaryId::new(&span, "2"));
    }

    #[test]
    fn a_label_is_lower_case_letters_digits_dots_and_underscores() {
        assert!(is_label("run.user") && is_label("_9.a"));
        for bad in ["", "A", "a b", "a|b", "\u{e9}", "a-b"] {
            assert!(!is_label(bad), "{bad}");
        }
    }

    #[test]
    fn a_sub_run_key_depends_on_agent_and_starting_operation() {
        let (b, c) = (AgentId::parse("b").expect("id"), AgentId::parse("c").expect("id"));
        let operation = OperationId(Digest::of(b"operation"));
        let text = format!("v1|run.spawn|b|{operation}");
        assert_eq!(RunKey::of_spawn(&b, &operation).0, Digest::of(text.as_bytes()));
        assert_ne!(RunKey::of_spawn(&b, &operation), RunKey::of_spawn(&c, &operation));
    }

    proptest::proptest! {
        #[test]
        fn a_retry_key_is_stable_and_differs_by_run_and_count(
            one in proptest::prelude::any::<[u8; 32]>(), other in proptest::prelude::any::<[u8; 32]>(),
            count in 0_u64..1_000, later in 0_u64..1_000,
        ) {
            let agent = AgentId::parse("main").expect("id");
            let of = |run: [u8; 32], count| RunKey::of_retry(&agent, &RunKey(Digest::from_bytes(run)), count);
            let key = of(one, count);
            proptest::prop_assert_eq!(key, of(one, count));
            proptest::prop_assert_eq!(key == of(other, later), one == other && count == later);
        }
    }

    // Conformance: L-148
    #[test]
    fn equal_actions_have_different_operation_ids_by_occurrence() {
        let zero = Digest::ZERO;
        let parts = ActionParts {
            tool: "ExecCommand".into(),
            arguments: zero,
            scope: zero,
            targets: zero,
        };
        let run = RunKey(Digest::of(b"run"));
        let first = OperationId::new(&run, &parts.stable_id(0));
        assert_eq!(first, OperationId::new(&run, &parts.stable_id(0)));
        assert_ne!(first, OperationId::new(&run, &parts.stable_id(1)));
        assert_ne!(
            first,
            OperationId::new(&RunKey(Digest::of(b"other")), &parts.stable_id(0))
        );
    }

    #[test]
    fn only_canonical_hex_is_parsed() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::from_hex(&digest.to_string()), Some(digest));
        assert_eq!(Digest::from_hex(&digest.to_string().to_uppercase()), None);
        assert_eq!(Digest::from_hex("00"), None);
    }

    proptest! {
        /// Escaping must be injective, or two different causes could share a run key.
        #[test]
        fn different_fields_never_share_a_hash(
            here in proptest::collection::vec("[a|%7C25]{0,4}", 0..4),
            there in proptest::collection::vec("[a|%7C25]{0,4}", 0..4),
        ) {
            let refs = |v: &[String]| v.iter().map(|s| s.as_str().to_owned()).collect::<Vec<_>>();
            let (a, b) = (refs(&here), refs(&there));
            let hash = |v: &[String]| derived_hash("p", &v.iter().map(String::as_str).collect::<Vec<_>>());
            prop_assert_eq!(a == b, hash(&a) == hash(&b));
        }
    }
}
