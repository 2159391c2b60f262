//! The cause of a message: its origin, priority and causal depth. Admission determines it and stores it
//! with the message; senders cannot set it.

mod describe;

use serde::{Deserialize, Serialize};

use crate::change::LogicalChangeKey;
use crate::id::{EventName, RuleId, SourceName, TraceId};
use crate::journal::Author;
use crate::key::{Digest, RunKey};
use crate::provenance::{SourceKind, Sources};
use crate::time::Millis;

pub use self::describe::spelled;

/// Maximum causal depth of a message. It stops agents that wake each other endlessly.
pub const DEPTH_MAX: u32 = 8;

/// Maximum number of messages that one run absorbs in addition to its own, which is also the number that
/// the model is shown. The rest start the next run.
pub const ABSORBED_MAX: usize = 32;

/// Maximum number of interjections that join one round. The rest join the next round.
pub const INTERJECTED_MAX: usize = 8;

/// Maximum number of a notice's tokens that are stored with its message. The journal's outbox holds all of
/// them.
pub const CAUSE_TOKENS_MAX: usize = 64;

/// Maximum number of characters stored of the sender's content type.
pub const CONTENT_TYPE_CHARS_MAX: usize = 100;

string_enum! {
    /// The order of a message in its queue. It never affects trust.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Priority {
        /// Joins the active run before its next model request, or is first in the queue.
        Interject = "interject",
        /// Before normal messages.
        Next = "next",
        /// In order of arrival.
        #[default]
        Normal = "normal",
        /// After other messages.
        Background = "background",
    }
}

impl Priority {
    /// The number of later messages that may overtake a message of this priority. Counting messages instead
    /// of time keeps the order independent of the clock and prevents starvation.
    const fn handicap(self) -> i64 {
        match self {
            Self::Interject => -(1 << 40),
            Self::Next => 0,
            Self::Normal => 64,
            Self::Background => 1_024,
        }
    }

    /// The queue position of a message; the smallest comes next. Equal priorities keep their order of
    /// arrival, and a waiting message is overtaken by at most as many messages as its handicap.
    #[must_use]
    pub fn rank(self, seq: u64) -> i64 {
        i64::try_from(seq)
            .unwrap_or(i64::MAX)
            .saturating_add(self.handicap())
    }
}

string_enum! {
    /// The kind of a message's origin.
    #[derive(Default)]
    pub enum OriginKind {
        /// The operator.
        #[default]
        Operator = "operator",
        /// A subscription.
        Subscription = "subscription",
        /// A schedule.
        Schedule = "schedule",
        /// An external trigger.
        Trigger = "trigger",
        /// A run of another agent.
        Run = "run",
    }
}

/// The origin of a message, with its details.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person sent it.
    #[default]
    Operator,
    /// A change matched a subscription.
    Subscription {
        subscription: RuleId,
        /// The matched transaction.
        change: LogicalChangeKey,
        /// The position of the transaction in the journal's outbox.
        seq: u64,
        /// The tokens of the notice, at most [`CAUSE_TOKENS_MAX`].
        tokens: Vec<String>,
        /// The author of the change: `person`, or `agent:` and the agent's id.
        author: String,
    },
    /// A schedule fired.
    Schedule {
        schedule: RuleId,
        /// The nominal time of the firing, which may be earlier than the time of delivery.
        scheduled_at: Millis,
        /// Whether it is a catch-up of a missed firing.
        is_catch_up: bool,
        /// Whether a person fired it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_by_hand: bool,
        /// The event that fired the schedule; `None` if it was due or a person fired it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<EventName>,
    },
    /// An external system called the agent's trigger.
    Trigger {
        trigger: RuleId,
        /// The delivery id.
        delivery: String,
        /// The content type declared by the sender, at most [`CONTENT_TYPE_CHARS_MAX`] characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<String>,
    },
    /// A run of another agent sent it.
    Run { run: RunKey },
}

impl MessageOrigin {
    /// Whether one run may absorb several of these messages. A message of a person or of another run always
    /// gets its own run.
    #[must_use]
    pub const fn is_absorbed(&self) -> bool {
        match self {
            Self::Operator | Self::Run { .. } => false,
            Self::Subscription { .. } | Self::Schedule { .. } | Self::Trigger { .. } => true,
        }
    }

    /// Whether the origin is neither the operator nor an operator's schedule. A message of a run is as
    /// external as its chain, see [`Cause::sources`].
    #[must_use]
    pub fn is_external(&self) -> bool {
        match self {
            Self::Operator | Self::Schedule { .. } | Self::Run { .. } => false,
            Self::Subscription { author, .. } => *author != Author::Person.to_text(),
            Self::Trigger { .. } => true,
        }
    }

    /// The source under which refusals are counted and shown to people.
    #[must_use]
    pub fn source(&self) -> SourceName {
        SourceName::new(match self {
            Self::Operator => "operator".to_owned(),
            Self::Subscription { subscription, .. } => format!("subscription:{subscription}"),
            Self::Schedule { schedule, .. } => format!("schedule:{schedule}"),
            Self::Trigger { trigger, .. } => format!("trigger:{trigger}"),
            Self::Run { run } => format!("run:{run}"),
        })
    }
}

/// The cause of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    #[serde(default)]
    pub origin: MessageOrigin,
    /// The number of agents' acts that precede the message.
    #[serde(default)]
    pub depth: u32,
    #[serde(default)]
    pub priority: Priority,
    /// The name of the whole chain of causes: the key of its first message, or a name given by the sender.
    /// `None` if the chain starts with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<TraceId>,
    /// The direct predecessor: a run, a change, or a name given by the sender. `None` if nothing precedes
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation: Option<TraceId>,
    /// The untrusted sources of the runs that precede it.
    #[serde(default, skip_serializing_if = "Sources::is_empty")]
    pub sources: Sources,
}

impl Cause {
    /// Whether its chain contains anything other than the operator or an operator's schedule.
    #[must_use]
    pub fn is_external(&self) -> bool {
        !self.sources.is_empty() || self.origin.is_external()
    }

    /// The untrusted sources of the chain and of the message that follows it.
    #[must_use]
    pub fn all_sources(&self) -> Sources {
        let own = match &self.origin {
            MessageOrigin::Operator | MessageOrigin::Schedule { .. } | MessageOrigin::Run { .. } => {
                Sources::none()
            }
            MessageOrigin::Subscription { author, .. } if *author == Author::Person.to_text() => {
                Sources::none()
            }
            MessageOrigin::Subscription { author, .. } if author.starts_with("agent:") => {
                Sources::of(SourceKind::Journal, author)
            }
            MessageOrigin::Subscription { subscription, .. } => {
                Sources::of(SourceKind::Webhook, subscription.as_str())
            }
            MessageOrigin::Trigger { trigger, .. } => Sources::of(SourceKind::Webhook, trigger.as_str()),
        };
        own.joined(&self.sources)
    }

    /// The correlation of a message with this cause; `own` is the key of the message itself.
    #[must_use]
    pub fn correlation_of(&self, own: &RunKey) -> TraceId {
        self.correlation.clone().unwrap_or_else(|| TraceId::of(&own.0))
    }

    /// Returns the same cause with this predecessor and correlation.
    #[must_use]
    pub fn following(self, causation: TraceId, correlation: TraceId) -> Self {
        Self {
            correlation: Some(correlation),
            causation: Some(causation),
            ..self
        }
    }

    /// The part of the cause that remains after the contents of a message are erased: its origin, without
    /// any text chosen by an external sender. Trace ids that a sender may have chosen are dropped; derived
    /// keys stay.
    #[must_use]
    pub fn erased(&self) -> Self {
        let is_ours = |name: &TraceId| Digest::from_hex(name.as_str()).is_some();
        let kept = |name: &Option<TraceId>| name.clone().filter(is_ours);
        let (origin, correlation, causation) = match &self.origin {
            MessageOrigin::Trigger { trigger, .. } => {
                let origin = MessageOrigin::Trigger {
                    trigger: trigger.clone(),
                    delivery: String::new(),
                    content_type: None,
                };
                (origin, None, None)
            }
            origin @ (MessageOrigin::Operator
            | MessageOrigin::Subscription { .. }
            | MessageOrigin::Schedule { .. }
            | MessageOrigin::Run { .. }) => (origin.clone(), kept(&self.correlation), kept(&self.causation)),
        };
        Self {
            origin,
            correlation,
            causation,
            sources: self.sources.erased(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_without_a_stored_cause_comes_from_the_operator() {
        let cause: Cause = serde_json::from_str("{}").expect("cause");
        assert_eq!(cause, Cause::default());
        assert!(!cause.origin.is_absorbed());
        assert_eq!(cause.origin.source().as_str(), "operator");
    }

    #[test]
    fn an_erased_cause_contains_no_text_of_the_sender() {
        let name = |text: &str| TraceId::parse(text).expect("a name");
        let own = TraceId::of(&Digest::of(b"run"));
        let trigger = RuleId::parse("ci").expect("a name");
        let said = Cause {
            origin: MessageOrigin::Trigger {
                trigger: trigger.clone(),
                delivery: "payroll-of-ann".into(),
                content_type: Some("text/secret".into()),
            },
            depth: 3,
            priority: Priority::Next,
            correlation: Some(name("ann")),
            causation: Some(own.clone()),
            sources: Sources::of(SourceKind::Web, "https://ann.example"),
        };
        let left = said.erased();
        let kept = Cause {
            origin: MessageOrigin::Trigger {
                trigger,
                delivery: String::new(),
                content_type: None,
            },
            correlation: None,
            causation: None,
            sources: Sources::of(SourceKind::Web, ""),
            ..said.clone()
        };
        assert_eq!((&left, left.erased()), (&kept, kept.clone()));
        // A following message inherited the correlation.
        let run = RunKey(Digest::of(b"run"));
        let followed = Cause {
            origin: MessageOrigin::Run { run },
            ..said
        };
        let left = followed.erased();
        assert_eq!((left.correlation, left.causation), (None, Some(own)));
        assert_eq!((left.origin, left.depth), (followed.origin, 3));
    }

    #[test]
    fn only_the_operator_and_an_operators_schedule_are_internal() {
        let rule = || RuleId::parse("r").expect("a name");
        let change = |author: &str| MessageOrigin::Subscription {
            subscription: rule(),
            change: LogicalChangeKey(Digest::of(b"change")),
            seq: 1,
            tokens: Vec::new(),
            author: author.to_owned(),
        };
        let schedule = MessageOrigin::Schedule {
            schedule: rule(),
            scheduled_at: Millis(0),
            is_catch_up: false,
            is_by_hand: false,
            event: None,
        };
        let trigger = MessageOrigin::Trigger {
            trigger: rule(),
            delivery: "1".into(),
            content_type: None,
        };
        let run = RunKey(Digest::of(b"run"));
        let of = |origin: MessageOrigin, follows_untrusted: bool| Cause {
            origin,
            sources: match follows_untrusted {
                true => Sources::of(SourceKind::Web, "https://a.example"),
                false => Sources::none(),
            },
            ..Cause::default()
        };
        for inside in [
            MessageOrigin::Operator,
            schedule,
            change("person"),
            MessageOrigin::Run { run },
        ] {
            assert!(!of(inside.clone(), false).is_external(), "{inside:?}");
            assert!(
                of(inside.clone(), true).is_external(),
                "{inside:?} in an outside chain"
            );
        }
        for outside in [
            trigger,
            change("outside"),
            change("agent:b"),
            change("what comes later"),
        ] {
            assert!(of(outside.clone(), false).is_external(), "{outside:?}");
            assert!(
                of(outside.clone(), false).erased().is_external(),
                "{outside:?} erased"
            );
        }
        assert!(of(MessageOrigin::Operator, true).erased().is_external());
    }

    fn priority() -> impl Strategy<Value = Priority> {
        prop::sample::select(Priority::ALL.to_vec())
    }

    proptest! {
        // Conformance: H-211
        #[test]
        fn equal_priorities_keep_their_order_of_arrival(
            priority in priority(), seqs in prop::collection::btree_set(1_u64..1 << 40, 2..50),
        ) {
            let ranks: Vec<i64> = seqs.iter().map(|seq| priority.rank(*seq)).collect();
            prop_assert!(ranks.is_sorted_by(|a, b| a < b));
        }

        // Conformance: H-211
        #[test]
        fn a_bounded_number_of_later_messages_overtakes_a_message(
            mine in prop::sample::select(vec![Priority::Next, Priority::Normal, Priority::Background]),
            other in prop::sample::select(vec![Priority::Next, Priority::Normal, Priority::Background]),
            seq in 1_u64..1 << 40,
        ) {
            let mine = mine.rank(seq);
            let passing = (seq + 1..seq + 2_000).filter(|later| other.rank(*later) < mine).count();
            prop_assert!(passing <= 1_024, "{passing}");
        }

        #[test]
        fn an_interjection_precedes_everything_else(seq in 1_u64..1 << 39, other in 1_u64..1 << 39, priority in priority()) {
            prop_assume!(priority != Priority::Interject);
            prop_assert!(Priority::Interject.rank(seq) < priority.rank(other));
        }
    }
}
