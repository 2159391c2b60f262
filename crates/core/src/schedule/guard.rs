//! Guards of schedules: a predicate, in the language of subscriptions, over the agent's situation at the
//! time of a firing.

use serde_json::{Map, Value, json};

use super::draft::{ScheduleError, wrong};
use super::{SET_BACK_MS, Schedule, TriggerSource};
use crate::subscription::{Entity, PREDICATE_BYTES_MAX, PREDICATE_DEPTH_MAX, Predicate};
use crate::time::Millis;

/// Fields that a guard may use. Any other field is rejected as a mistake, because it would never match.
pub const GUARD_FIELDS: [&str; 5] = ["since_last_run_ms", "queued", "changed", "source", "is_catch_up"];

/// The duration reported for an unknown start time: longer than any guard requires, and exact as a JSON
/// number.
pub const LONG_AGO_MS: u64 = 1 << 53;

/// Longest part of an unknown word that an error repeats.
const WORD_CHARS_MAX: usize = 64;

/// A valid guard within its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard(Value);

/// The condition that a firing must meet to wake the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FiringCondition<'a> {
    Nothing,
    /// There is work to do.
    Work,
    /// The guard holds.
    Guard(&'a Guard),
}

/// The agent's situation at the time of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleFacts {
    /// When the agent's newest run began; none before the first run.
    pub last_run_at: Option<Millis>,
    /// Number of queued messages of the agent.
    pub queued: u64,
    /// Whether another author than the agent wrote to the journal since the agent's newest run began.
    pub is_changed: bool,
    /// What caused the firing.
    pub source: TriggerSource,
    /// Whether the firing is a catch-up.
    pub is_catch_up: bool,
    pub now: Millis,
}

impl Guard {
    /// Parses and validates a guard.
    pub fn parse(json: &Value) -> Result<Self, ScheduleError> {
        let bad = |problem: String| wrong("guard", problem);
        let predicate = Predicate::parse(json).map_err(|why| bad(format!("is not a predicate: {why}")))?;
        if predicate.depth() > PREDICATE_DEPTH_MAX {
            return Err(bad(format!("is nested deeper than {PREDICATE_DEPTH_MAX}")));
        }
        if json.to_string().len() > PREDICATE_BYTES_MAX {
            return Err(bad(format!("has more than {PREDICATE_BYTES_MAX} bytes")));
        }
        if let Some(unknown) = unknown_field(&predicate) {
            let word: String = unknown.chars().take(WORD_CHARS_MAX).collect();
            return Err(bad(format!(
                "uses the unknown field {word:?}; valid fields are {}",
                GUARD_FIELDS.join(", ")
            )));
        }
        Ok(Self(json.clone()))
    }

    /// Returns the guard as stored and as the API returns it.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.0
    }

    #[must_use]
    pub fn holds(&self, circumstances: &ScheduleFacts) -> bool {
        Predicate::parse(&self.0).is_ok_and(|guard| guard.holds(&circumstances.fields()))
    }
}

impl Schedule {
    /// Returns the condition of a firing. A manual firing has none, because a person decided on it. An
    /// event is news by itself. A guard, if present, replaces the check for work.
    #[must_use]
    pub const fn asks(&self, source: TriggerSource) -> FiringCondition<'_> {
        match (source, &self.guard) {
            (TriggerSource::TriggerNow, _) => FiringCondition::Nothing,
            (TriggerSource::Tick | TriggerSource::Event, Some(guard)) => FiringCondition::Guard(guard),
            (TriggerSource::Tick, None) if !self.always => FiringCondition::Work,
            (TriggerSource::Tick | TriggerSource::Event, None) => FiringCondition::Nothing,
        }
    }
}

impl ScheduleFacts {
    /// Returns the fields that guards can use. Unknown values are omitted.
    fn fields(&self) -> Entity {
        let mut fields = Map::new();
        if let Some(began) = self.last_run_at {
            fields.insert("since_last_run_ms".into(), json!(since_run(began, self.now)));
        }
        fields.insert("queued".into(), json!(self.queued));
        fields.insert("changed".into(), json!(self.is_changed));
        fields.insert("source".into(), json!(self.source.as_str()));
        fields.insert("is_catch_up".into(), json!(self.is_catch_up));
        fields
    }
}

/// Returns how long ago the newest run began, as guards use it. A start time in the future was recorded
/// before the clock was set back, so the real duration is unknown; it counts as long ago, so that no guard
/// blocks until the clock has caught up. A small clock correction gives 0. The next run is measured
/// normally.
#[must_use]
pub fn since_run(began: Millis, now: Millis) -> u64 {
    let was_set_back = began.0 > now.0.saturating_add(SET_BACK_MS);
    if was_set_back {
        LONG_AGO_MS
    } else {
        now.since(began)
    }
}

fn unknown_field(predicate: &Predicate) -> Option<&str> {
    match predicate {
        Predicate::Field { path, .. } => (!GUARD_FIELDS.contains(&path.as_str())).then_some(path),
        Predicate::All(parts) | Predicate::Any(parts) => parts.iter().find_map(unknown_field),
        Predicate::Not(inner) => unknown_field(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{AgentId, RuleId};
    use crate::schedule::{FiringTime, ScheduleDraft};

    const NOW: Millis = Millis(10_000);

    fn quiet() -> ScheduleFacts {
        ScheduleFacts {
            last_run_at: Some(Millis(4_000)),
            queued: 0,
            is_changed: false,
            source: TriggerSource::Tick,
            is_catch_up: false,
            now: NOW,
        }
    }

    fn guard(json: &Value) -> Guard {
        Guard::parse(json).expect("a guard")
    }

    #[test]
    fn a_guard_checks_the_situation_when_the_schedule_fires() {
        let long_ago = guard(&json!({"field": "since_last_run_ms", "op": "gt", "value": 5_000}));
        assert!(long_ago.holds(&quiet()));
        let just_now = ScheduleFacts {
            last_run_at: Some(Millis(9_000)),
            ..quiet()
        };
        assert!(!long_ago.holds(&just_now));
        let changed = guard(&json!({"field": "changed", "op": "eq", "value": true}));
        assert!(!changed.holds(&quiet()));
        let written = ScheduleFacts {
            is_changed: true,
            ..quiet()
        };
        assert!(changed.holds(&written));
        let by_event = guard(&json!({"all": [
            {"field": "source", "op": "eq", "value": "event"},
            {"not": {"field": "is_catch_up", "op": "eq", "value": true}},
            {"field": "queued", "op": "lt", "value": 3},
        ]}));
        assert!(!by_event.holds(&quiet()));
        let arrived = ScheduleFacts {
            source: TriggerSource::Event,
            queued: 2,
            ..quiet()
        };
        assert!(by_event.holds(&arrived));
    }

    #[test]
    fn a_guard_replaces_the_work_check_and_manual_firings_skip_both() {
        let when = FiringTime::Every {
            interval_seconds: 60,
            anchor: Millis(0),
        };
        let id = RuleId::parse("daily").expect("id");
        let draft = ScheduleDraft::new(id, AgentId::parse("coach").expect("id"), when, "Look.".to_owned());
        let asks = |guard: Option<Guard>, always: bool, source| {
            let draft = ScheduleDraft {
                guard,
                always,
                ..draft.clone()
            };
            match draft.check(NOW).expect("a schedule").asks(source) {
                FiringCondition::Nothing => "nothing",
                FiringCondition::Work => "work",
                FiringCondition::Guard(_) => "guard",
            }
        };
        let some = || Some(guard(&json!({"field": "changed", "op": "eq", "value": true})));
        for (guard, always, expected) in [
            (None, false, ["work", "nothing", "nothing"]),
            (None, true, ["nothing", "nothing", "nothing"]),
            (some(), false, ["guard", "nothing", "guard"]),
            (some(), true, ["guard", "nothing", "guard"]),
        ] {
            assert_eq!(
                TriggerSource::ALL.map(|source| asks(guard.clone(), always, source)),
                expected
            );
        }
    }

    #[test]
    fn a_run_start_in_the_future_does_not_block_guards() {
        let long_ago = guard(&json!({"field": "since_last_run_ms", "op": "gt", "value": 31_536_000_000_u64}));
        let began = |began| ScheduleFacts {
            last_run_at: Some(Millis(began)),
            ..quiet()
        };
        let ten_years = 3_652 * 86_400_000;
        assert!(
            long_ago.holds(&began(NOW.0 + ten_years)),
            "the clock was set back"
        );
        assert!(!long_ago.holds(&began(NOW.0 + SET_BACK_MS)), "it was corrected");
        assert_eq!(since_run(Millis(NOW.0 + SET_BACK_MS), NOW), 0);
        assert_eq!(since_run(Millis(NOW.0 + SET_BACK_MS + 1), NOW), LONG_AGO_MS);
        assert_eq!(since_run(Millis(i64::MAX), Millis(i64::MIN)), LONG_AGO_MS);
        // Runs that begin afterwards are measured normally.
        assert!(!long_ago.holds(&began(NOW.0 - 1)));
    }

    #[test]
    fn an_invalid_guard_is_refused_with_its_reason() {
        let deep = (0..40).fold(json!({"all": []}), |inner, _| json!({"not": inner}));
        let long = json!({"field": "source", "op": "eq", "value": "x".repeat(PREDICATE_BYTES_MAX)});
        for (bad, word) in [
            (json!([]), "not a predicate"),
            (
                json!({"field": "queued", "op": "about", "value": 1}),
                "not a predicate",
            ),
            (json!({"field": "quened", "op": "eq", "value": 1}), "quened"),
            (
                json!({"any": [{"not": {"field": "mood", "op": "exists", "value": true}}]}),
                "mood",
            ),
            (deep, "nested"),
            (long, "bytes"),
        ] {
            let error = Guard::parse(&bad).expect_err(word).to_string();
            assert!(
                error.contains("`guard`") && error.contains(word),
                "{word}: {error}"
            );
        }
    }
}
