//! Descriptions of causes for `why` and `why-not`. The command line, the API and the page share them.

use std::collections::BTreeMap;

use super::{MessageOrigin, OriginKind};
use crate::change::Token;

/// Number of tokens that are listed. The rest are counted.
const TOKENS_LISTED_MAX: usize = 8;

impl MessageOrigin {
    #[must_use]
    pub const fn kind(&self) -> OriginKind {
        match self {
            Self::Operator => OriginKind::Operator,
            Self::Subscription { .. } => OriginKind::Subscription,
            Self::Schedule { .. } => OriginKind::Schedule,
            Self::Trigger { .. } => OriginKind::Trigger,
            Self::Run { .. } => OriginKind::Run,
        }
    }

    /// Describes the origin in one sentence without a full stop.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Operator => "a person sent it".to_owned(),
            Self::Subscription {
                subscription,
                seq,
                tokens,
                author,
                ..
            } => {
                let by = match author.as_str() {
                    "person" => "a person".to_owned(),
                    other => other.replacen("agent:", "agent ", 1),
                };
                let told = format_tokens(tokens);
                format!("change {seq}, made by {by}, matched subscription {subscription}{told}")
            }
            Self::Schedule {
                schedule,
                scheduled_at,
                is_catch_up,
                event,
                ..
            } => {
                if let Some(event) = event {
                    return format!("event {event} occurred, which schedule {schedule} waits for");
                }
                let late = match is_catch_up {
                    true => ", missed then and caught up later",
                    false => "",
                };
                format!("schedule {schedule} was due at {}{late}", scheduled_at.rfc3339())
            }
            // The delivery id is erased together with the contents.
            Self::Trigger {
                trigger, delivery, ..
            } if delivery.is_empty() => format!("an external system called trigger {trigger}"),
            Self::Trigger {
                trigger, delivery, ..
            } => {
                format!("an external system called trigger {trigger} (delivery {delivery})")
            }
            Self::Run { run } => format!("run {run} requested it"),
        }
    }
}

impl MessageOrigin {
    /// The ids that the origin refers to, keyed by what they identify.
    #[must_use]
    pub fn source_refs(&self) -> BTreeMap<String, String> {
        let refs: Vec<(&'static str, String)> = match self {
            Self::Operator => Vec::new(),
            Self::Subscription {
                subscription,
                change,
                seq,
                ..
            } => vec![
                ("subscription_id", subscription.to_string()),
                ("change_key", change.0.to_string()),
                ("change_seq", seq.to_string()),
            ],
            Self::Schedule {
                schedule,
                scheduled_at,
                ..
            } => vec![
                ("schedule_id", schedule.to_string()),
                ("scheduled_at", scheduled_at.rfc3339()),
            ],
            Self::Trigger {
                trigger, delivery, ..
            } => {
                let delivery = (!delivery.is_empty()).then(|| ("delivery_id", delivery.clone()));
                let trigger = ("external_trigger_id", trigger.to_string());
                [trigger].into_iter().chain(delivery).collect()
            }
            Self::Run { run } => vec![("run_key", run.to_string())],
        };
        refs.into_iter().map(|(name, id)| (name.to_owned(), id)).collect()
    }
}

/// Formats a token as people write it: `TASK`, `task.status=done`, `id:RECORD`. Text in any other form is
/// returned unchanged.
#[must_use]
pub fn spelled(token: &str) -> String {
    Token::parse_key(token).map_or_else(|| token.to_owned(), |token| token.to_word())
}

fn format_tokens(tokens: &[String]) -> String {
    let rest = tokens.len().saturating_sub(TOKENS_LISTED_MAX);
    let first: Vec<&str> = tokens
        .iter()
        .take(TOKENS_LISTED_MAX)
        .map(String::as_str)
        .collect();
    match (first.is_empty(), rest) {
        (true, _) => String::new(),
        (false, 0) => format!(" with {}", first.join(", ")),
        (false, rest) => format!(" with {} and {rest} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::LogicalChangeKey;
    use crate::id::{EventName, RuleId};
    use crate::key::{Digest, RunKey};
    use crate::time::Millis;

    fn rule(name: &str) -> RuleId {
        RuleId::parse(name).expect("id")
    }

    #[test]
    fn a_token_is_shown_as_people_write_it() {
        for (kept, told) in [
            ("semanticKey|-|TASK", "TASK"),
            ("subtypeToken|task.status|done", "task.status=done"),
            ("entityId|-|3f2a", "id:3f2a"),
            ("else", "else"),
        ] {
            assert_eq!(spelled(kept), told);
        }
    }

    #[test]
    fn each_cause_is_described_in_one_sentence() {
        let change = |author: &str, count: usize| MessageOrigin::Subscription {
            subscription: rule("gym"),
            change: LogicalChangeKey(Digest::of(b"change")),
            seq: 7,
            tokens: (0..count).map(|n| format!("T{n}")).collect(),
            author: author.to_owned(),
        };
        assert_eq!(
            change("person", 2).words(),
            "change 7, made by a person, matched subscription gym with T0, T1"
        );
        assert_eq!(
            change("agent:coach", 10).words(),
            "change 7, made by agent coach, matched subscription gym with T0, T1, T2, T3, T4, T5, T6, T7 and 2 more"
        );
        let late = MessageOrigin::Schedule {
            schedule: rule("daily"),
            scheduled_at: Millis(0),
            is_catch_up: true,
            is_by_hand: false,
            event: None,
        };
        let words = "schedule daily was due at 1970-01-01T00:00:00.000Z, missed then and caught up later";
        assert_eq!(late.words(), words);
        let event = MessageOrigin::Schedule {
            schedule: rule("daily"),
            scheduled_at: Millis(0),
            is_catch_up: false,
            is_by_hand: false,
            event: EventName::parse("backup.done").ok(),
        };
        assert_eq!(
            event.words(),
            "event backup.done occurred, which schedule daily waits for"
        );
        let outside = MessageOrigin::Trigger {
            trigger: rule("ci"),
            delivery: "d1".into(),
            content_type: None,
        };
        assert_eq!(
            outside.words(),
            "an external system called trigger ci (delivery d1)"
        );
        let erased = MessageOrigin::Trigger {
            trigger: rule("ci"),
            delivery: String::new(),
            content_type: None,
        };
        assert_eq!(erased.words(), "an external system called trigger ci");
        assert_eq!(erased.source_refs().len(), 1);
        let run = RunKey(Digest::of(b"run"));
        assert_eq!(
            MessageOrigin::Run { run }.words(),
            format!("run {run} requested it")
        );
        assert_eq!(
            (
                MessageOrigin::Operator.words().as_str(),
                MessageOrigin::Operator.kind()
            ),
            ("a person sent it", OriginKind::Operator)
        );
    }
}
