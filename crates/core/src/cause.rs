//! What a message came from, how urgent it is and how many agents' acts precede it: decided at admission, kept with the
//! message, and never taken from outside.

mod describe;

use serde::{Deserialize, Serialize};

use crate::change::LogicalChangeKey;
use crate::id::{EventName, RuleId, SourceName, TraceId};
use crate::journal::Author;
use crate::key::{Digest, RunKey};
use crate::time::Millis;

pub use self::describe::spelled;

/// Most causes made by agents that may precede a message. Beyond it two agents that wake one another would go on for ever.
pub const DEPTH_MAX: u32 = 8;

/// Most messages that one run takes up beside its own: as many as are told in words. What is left becomes the next run.
pub const ABSORBED_MAX: usize = 32;

/// Most of what a person says into a run that one round takes up. What is left joins the next round.
pub const INTERJECTED_MAX: usize = 8;

/// Most tokens of a notice that its message keeps. The rest is in the journal's outbox.
pub const CAUSE_TOKENS_MAX: usize = 64;

/// Most characters that are kept of what a sender calls the kind of its contents.
pub const CONTENT_TYPE_CHARS_MAX: usize = 100;

string_enum! {
    /// How soon a message wants its turn. A hint on order, never on trust.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Priority {
        /// Before all others.
        Interject = "interject",
        /// Before what is ordinary.
        Next = "next",
        /// In its turn.
        #[default]
        Normal = "normal",
        /// When there is nothing better to do.
        Background = "background",
    }
}

impl Priority {
    /// How many later messages may pass one of this priority. It is counted in places and not in time, so that the order
    /// does not hang on a clock, and nobody waits for ever.
    const fn handicap(self) -> i64 {
        match self {
            Self::Interject => -(1 << 40),
            Self::Next => 0,
            Self::Normal => 64,
            Self::Background => 1_024,
        }
    }

    /// Where a message stands in line: the least is next. Equal priorities keep the order in which they came, and what
    /// waits is passed by at most as many as its handicap.
    #[must_use]
    pub fn rank(self, seq: u64) -> i64 {
        i64::try_from(seq)
            .unwrap_or(i64::MAX)
            .saturating_add(self.handicap())
    }
}

string_enum! {
    /// What kind of thing a message comes from.
    #[derive(Default)]
    pub enum OriginKind {
        /// A person.
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

/// Where a message comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MessageOrigin {
    /// A person said it.
    #[default]
    Operator,
    /// A change matched a subscription.
    Subscription {
        /// Which one.
        subscription: RuleId,
        /// The transaction that it matched.
        change: LogicalChangeKey,
        /// Its place in the journal's outbox.
        seq: u64,
        /// What the notice said, at most [`CAUSE_TOKENS_MAX`] of it.
        tokens: Vec<String>,
        /// Who wrote: `person`, or `agent:` and its name.
        author: String,
    },
    /// A moment came.
    Schedule {
        /// Which schedule.
        schedule: RuleId,
        /// The moment that was meant, which may be earlier than when it was seen to.
        scheduled_at: Millis,
        /// Whether it was missed and is made up for.
        is_catch_up: bool,
        /// What happened that it waits for; none where its moment came, or a person let it fire.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<EventName>,
    },
    /// A system outside called the agent's trigger.
    Trigger {
        /// Which trigger.
        trigger: RuleId,
        /// The delivery.
        delivery: String,
        /// What kind of contents the sender says it is, at most [`CONTENT_TYPE_CHARS_MAX`] characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<String>,
    },
    /// A run of another agent asks for something.
    Run {
        /// Which run.
        run: RunKey,
    },
}

impl MessageOrigin {
    /// Whether one run may take up several of these. What a person or another run says always gets a run of its own.
    #[must_use]
    pub const fn is_absorbed(&self) -> bool {
        match self {
            Self::Operator | Self::Run { .. } => false,
            Self::Subscription { .. } | Self::Schedule { .. } | Self::Trigger { .. } => true,
        }
    }

    /// Whether neither the operator nor an operator's schedule is behind it. What a run asks for is as its chain is, see
    /// [`Cause::follows_outside`].
    #[must_use]
    pub fn is_external(&self) -> bool {
        match self {
            Self::Operator | Self::Schedule { .. } | Self::Run { .. } => false,
            Self::Subscription { author, .. } => *author != Author::Person.to_text(),
            Self::Trigger { .. } => true,
        }
    }

    /// What refusals are counted by, and how a person is told of it.
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

/// What a message came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Where it comes from.
    #[serde(default)]
    pub origin: MessageOrigin,
    /// How many causes made by agents precede it.
    #[serde(default)]
    pub depth: u32,
    /// How soon it wants its turn.
    #[serde(default)]
    pub priority: Priority,
    /// What it belongs together with: the key with which its chain of causes began, or the name that a sender gave. None
    /// where the chain begins with this very message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<TraceId>,
    /// What it was caused by: a run, a change, or the name that a sender gave. None where nothing precedes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation: Option<TraceId>,
    /// Whether a run with an outside cause precedes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_outside: bool,
}

impl Cause {
    /// Whether something other than the operator or an operator's schedule is in its chain.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.follows_outside || self.origin.is_external()
    }

    /// What a message with this cause belongs together with, by one name for the whole chain.
    #[must_use]
    pub fn correlation_of(&self, own: &RunKey) -> TraceId {
        self.correlation.clone().unwrap_or_else(|| TraceId::of(&own.0))
    }

    /// The same, caused by something, in the chain that began with this name.
    #[must_use]
    pub fn following(self, causation: TraceId, correlation: TraceId) -> Self {
        Self {
            correlation: Some(correlation),
            causation: Some(causation),
            ..self
        }
    }

    /// What is left of it when the contents of a message are erased: where it came from, and none of the words that a sender
    /// outside chose. Of the names of its chain, which may be a sender's, the keys of ours stay.
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
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_kept_of_an_older_message_is_a_persons_word() {
        let cause: Cause = serde_json::from_str("{}").expect("cause");
        assert_eq!(cause, Cause::default());
        assert!(!cause.origin.is_absorbed());
        assert_eq!(cause.origin.source().as_str(), "operator");
    }

    #[test]
    fn what_is_left_of_an_erased_cause_has_no_word_of_a_sender() {
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
            follows_outside: false,
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
            ..said.clone()
        };
        assert_eq!((&left, left.erased()), (&kept, kept.clone()));
        // What followed it inherited the name.
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
    fn only_the_operator_and_an_operators_schedule_are_inside() {
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
            event: None,
        };
        let trigger = MessageOrigin::Trigger {
            trigger: rule(),
            delivery: "1".into(),
            content_type: None,
        };
        let run = RunKey(Digest::of(b"run"));
        let of = |origin: MessageOrigin, follows_outside| Cause {
            origin,
            follows_outside,
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
        #[test]
        fn within_a_priority_the_first_to_come_is_the_first_to_go(
            priority in priority(), seqs in prop::collection::btree_set(1_u64..1 << 40, 2..50),
        ) {
            let ranks: Vec<i64> = seqs.iter().map(|seq| priority.rank(*seq)).collect();
            prop_assert!(ranks.is_sorted_by(|a, b| a < b));
        }

        #[test]
        fn nobody_is_passed_by_more_than_a_named_number_of_later_ones(
            mine in prop::sample::select(vec![Priority::Next, Priority::Normal, Priority::Background]),
            other in prop::sample::select(vec![Priority::Next, Priority::Normal, Priority::Background]),
            seq in 1_u64..1 << 40,
        ) {
            let mine = mine.rank(seq);
            let passing = (seq + 1..seq + 2_000).filter(|later| other.rank(*later) < mine).count();
            prop_assert!(passing <= 1_024, "{passing}");
        }

        #[test]
        fn an_interjection_is_before_everything_else(seq in 1_u64..1 << 39, other in 1_u64..1 << 39, priority in priority()) {
            prop_assume!(priority != Priority::Interject);
            prop_assert!(Priority::Interject.rank(seq) < priority.rank(other));
        }
    }
}
