//! A cause in words, as `why` and `why-not` tell it. The same words for the command line, the API and the page.

use std::collections::BTreeMap;

use super::{MessageOrigin, OriginKind};
use crate::change::Token;

/// Tokens that are spelled out. The rest is counted.
const TOKENS_LISTED_MAX: usize = 8;

impl MessageOrigin {
    /// Its kind.
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

    /// What arose, in one sentence without its full stop.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Operator => "a person said so".to_owned(),
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
                let told = told(tokens);
                format!("change {seq}, made by {by}, matched subscription {subscription}{told}")
            }
            Self::Schedule {
                schedule,
                scheduled_at,
                is_catch_up,
                event,
            } => {
                if let Some(event) = event {
                    return format!("event {event} came, which schedule {schedule} waits for");
                }
                let late = match is_catch_up {
                    true => ", missed then and made up for",
                    false => "",
                };
                format!(
                    "the moment {} of schedule {schedule} came{late}",
                    scheduled_at.rfc3339()
                )
            }
            // The name of a delivery goes with what it said.
            Self::Trigger {
                trigger, delivery, ..
            } if delivery.is_empty() => format!("a system outside called trigger {trigger}"),
            Self::Trigger {
                trigger, delivery, ..
            } => {
                format!("a system outside called trigger {trigger} (delivery {delivery})")
            }
            Self::Run { run } => format!("run {run} asked for it"),
        }
    }
}

impl MessageOrigin {
    /// What it names by id, each under the name of what it is.
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

/// A token as a person writes it: `TASK`, `task.status=done`, `id:RECORD`. What is kept under another form stays as it is.
#[must_use]
pub fn spelled(token: &str) -> String {
    Token::parse_key(token).map_or_else(|| token.to_owned(), |token| token.to_word())
}

fn told(tokens: &[String]) -> String {
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
    fn a_token_is_told_as_a_person_writes_it() {
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
    fn each_cause_is_told_in_one_sentence() {
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
            event: None,
        };
        let words = "the moment 1970-01-01T00:00:00.000Z of schedule daily came, missed then and made up for";
        assert_eq!(late.words(), words);
        let event = MessageOrigin::Schedule {
            schedule: rule("daily"),
            scheduled_at: Millis(0),
            is_catch_up: false,
            event: EventName::parse("backup.done").ok(),
        };
        assert_eq!(
            event.words(),
            "event backup.done came, which schedule daily waits for"
        );
        let outside = MessageOrigin::Trigger {
            trigger: rule("ci"),
            delivery: "d1".into(),
            content_type: None,
        };
        assert_eq!(
            outside.words(),
            "a system outside called trigger ci (delivery d1)"
        );
        let erased = MessageOrigin::Trigger {
            trigger: rule("ci"),
            delivery: String::new(),
            content_type: None,
        };
        assert_eq!(erased.words(), "a system outside called trigger ci");
        assert_eq!(erased.source_refs().len(), 1);
        let run = RunKey(Digest::of(b"run"));
        assert_eq!(
            MessageOrigin::Run { run }.words(),
            format!("run {run} asked for it")
        );
        assert_eq!(
            (
                MessageOrigin::Operator.words().as_str(),
                MessageOrigin::Operator.kind()
            ),
            ("a person said so", OriginKind::Operator)
        );
    }
}
