//! The settings of a subscription: which changes match, when and how often they wake the agent, and its
//! message.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{BadFilter, BadPredicate, Entity, Filter, Predicate};
use crate::change::{BadToken, Token};
use crate::problem::Problem;
use crate::time::Millis;

/// Largest number of subscriptions per agent. One subscription may contain many tokens.
pub const SUBSCRIPTIONS_PER_AGENT_MAX: u64 = 1_000;

/// Largest number of subscriptions per home; all of them are kept in memory.
pub const SUBSCRIPTIONS_MAX: u64 = 1_000_000;

/// Longest message to the agent, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4_096;

/// Longest cooldown between two wakes of one subscription: a week.
pub const COOLDOWN_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;

/// Longest debounce window: an hour.
pub const DEBOUNCE_MS_MAX: u64 = 60 * 60 * 1_000;

/// Longest part of an unknown word that an error repeats.
const WORD_CHARS_MAX: usize = 64;

/// The settings of a subscription, as stored and as the API returns them. Evaluated by
/// [`SubscriptionSpec::filter`] and [`SubscriptionSpec::holds`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscriptionSpec {
    /// Tokens of which one is sufficient.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any: Vec<String>,
    /// Tokens that are all required.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<String>,
    /// The condition on a changed record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<Value>,
    /// The condition on the agent and the change, see [`SubscriptionFacts`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Value>,
    /// How long nothing starts after a wake by this subscription. Changes in that time are collected.
    #[serde(default)]
    pub cooldown_ms: u64,
    /// How long changes are collected before the first of them wakes the agent.
    #[serde(default)]
    pub debounce_ms: u64,
    /// The message that the agent receives.
    #[serde(default)]
    pub message: String,
}

/// New terms of a subscription. Terms that are absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubscriptionEdit {
    pub any: Option<Vec<String>>,
    pub all: Option<Vec<String>>,
    /// The new condition on a changed record, or its removal.
    pub predicate: Option<Option<Value>>,
    /// The new condition on the agent and the change, or its removal.
    pub guard: Option<Option<Value>>,
    pub cooldown_ms: Option<u64>,
    pub debounce_ms: Option<u64>,
    pub message: Option<String>,
}

/// The facts that a guard can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionFacts {
    /// How long ago the agent's newest run began; none before the first run.
    pub since_last_run_ms: Option<u64>,
    /// Number of queued messages of the agent.
    pub queued: u64,
    /// The author of the change: `person`, or `agent:` and its name.
    pub author: String,
    /// The causal depth of the change.
    pub depth: u32,
}

impl SubscriptionFacts {
    /// Returns the fields that guards can use. Unknown values are omitted.
    #[must_use]
    pub fn fields(&self) -> Entity {
        let mut fields = Map::new();
        if let Some(since) = self.since_last_run_ms {
            fields.insert("since_last_run_ms".into(), json!(since));
        }
        fields.insert("queued".into(), json!(self.queued));
        fields.insert("author".into(), json!(self.author));
        fields.insert("depth".into(), json!(self.depth));
        fields
    }
}

/// Why a subscription is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSubscription {
    /// A word is not a token.
    #[error("{field}: {word:?} is not a token: {why}")]
    Token {
        field: &'static str,
        /// The given word, shortened.
        word: String,
        why: BadToken,
    },
    /// The tokens and the predicate do not make a valid filter.
    #[error(transparent)]
    Filter(#[from] BadFilter),
    /// A predicate or a guard is invalid.
    #[error("{field}: {why}")]
    Predicate { field: &'static str, why: BadPredicate },
    /// The message to the agent is too long.
    #[error("say: it has more than {MESSAGE_BYTES_MAX} bytes")]
    SayTooLong,
    #[error("cooldown_ms: it is longer than {COOLDOWN_MS_MAX}, a week")]
    CooldownTooLong,
    #[error("debounce_ms: it is longer than {DEBOUNCE_MS_MAX}, an hour")]
    DebounceTooLong,
}

impl BadSubscription {
    /// Returns the stable error code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Token { .. } => "bad_api_token",
            Self::Filter(BadFilter::NoTokens) => "tokens_missing",
            Self::Filter(_) => "subscription_too_large",
            Self::Predicate { .. } => "bad_predicate",
            Self::SayTooLong => "message_too_long",
            Self::CooldownTooLong => "bad_cooldown",
            Self::DebounceTooLong => "bad_debounce",
        }
    }

    /// Returns how to fix the error.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Token { .. } => {
                "a token is a kind such as TASK, a value such as task.status=done, or id:RECORD"
            }
            Self::Filter(BadFilter::NoTokens) => "name at least one token, such as TASK",
            Self::Filter(_) => "make several smaller subscriptions",
            Self::Predicate { .. } => {
                "a predicate is {\"field\": …, \"op\": …, \"value\": …} with eq, ne, in, lt, lte, gt, gte or exists, \
                 or all, any or not around others"
            }
            Self::SayTooLong => "say it in fewer words, or put it into the agent's guidance",
            Self::CooldownTooLong | Self::DebounceTooLong => "give a shorter time",
        }
    }
}

impl From<&BadSubscription> for Problem {
    fn from(bad: &BadSubscription) -> Self {
        Self::new(bad.code(), bad.to_string(), bad.hint())
    }
}

impl SubscriptionSpec {
    /// Checks that every setting is valid and within its limits.
    pub fn check(&self) -> Result<(), BadSubscription> {
        self.filter()?.check_bounds()?;
        if let Some(guard) = self.guard_predicate()? {
            // A guard is stored and evaluated like a predicate, so it has the same limits.
            let any = [Token::SemanticKey("GUARD".into())];
            Filter::new(any, [], Some(guard))?.check_bounds()?;
        }
        if self.message.len() > MESSAGE_BYTES_MAX {
            return Err(BadSubscription::SayTooLong);
        }
        if self.cooldown_ms > COOLDOWN_MS_MAX {
            return Err(BadSubscription::CooldownTooLong);
        }
        if self.debounce_ms > DEBOUNCE_MS_MAX {
            return Err(BadSubscription::DebounceTooLong);
        }
        Ok(())
    }

    /// Returns the terms after an edit, which are not checked.
    #[must_use]
    pub fn edited(&self, edit: &SubscriptionEdit) -> Self {
        Self {
            any: edit.any.clone().unwrap_or_else(|| self.any.clone()),
            all: edit.all.clone().unwrap_or_else(|| self.all.clone()),
            predicate: edit.predicate.clone().unwrap_or_else(|| self.predicate.clone()),
            guard: edit.guard.clone().unwrap_or_else(|| self.guard.clone()),
            cooldown_ms: edit.cooldown_ms.unwrap_or(self.cooldown_ms),
            debounce_ms: edit.debounce_ms.unwrap_or(self.debounce_ms),
            message: edit.message.clone().unwrap_or_else(|| self.message.clone()),
        }
    }

    /// Returns the filter that selects notices.
    pub fn filter(&self) -> Result<Filter, BadSubscription> {
        let predicate = read("predicate", self.predicate.as_ref())?;
        Ok(Filter::new(
            tokens("any", &self.any)?,
            tokens("all", &self.all)?,
            predicate,
        )?)
    }

    /// Returns whether the guard holds; none without a guard. An unreadable guard never holds.
    #[must_use]
    pub fn holds(&self, circumstances: &SubscriptionFacts) -> Option<bool> {
        match self.guard_predicate() {
            Ok(None) => None,
            Ok(Some(guard)) => Some(guard.holds(&circumstances.fields())),
            Err(_) => Some(false),
        }
    }

    fn guard_predicate(&self) -> Result<Option<Predicate>, BadSubscription> {
        read("guard", self.guard.as_ref())
    }

    /// Returns the earliest time at which a change seen now may wake the agent; none for immediately.
    /// `last_due` is the result for the previous change. A change that arrives while an earlier one is
    /// delayed joins it.
    #[must_use]
    pub fn window(&self, now: Millis, last_due: Option<Millis>) -> Option<Millis> {
        let longest = self.cooldown_ms.max(self.debounce_ms);
        // A time further ahead than any window was stored before the clock was set back.
        let last = last_due.filter(|due| due.since(now) <= longest);
        if let Some(due) = last.filter(|due| *due > now) {
            return Some(due);
        }
        let gathered = later(now, self.debounce_ms);
        let cooled = last.map_or(now, |due| later(due, self.cooldown_ms));
        Some(gathered.max(cooled)).filter(|due| *due > now)
    }

    /// Returns whether it can match agent notices and not only changes of the journal.
    #[must_use]
    pub fn concerns_agents(&self) -> bool {
        let words = self.any.iter().chain(&self.all);
        let mut tokens = words.filter_map(|word| Token::parse_word(word).ok());
        tokens.any(|token| match token {
            Token::SemanticKey(key) => crate::notice::AGENT_KEYS.contains(&key.as_str()),
            Token::Subtype { namespace, .. } => namespace == crate::notice::RUN_STATUS,
            Token::EntityId(_) => true,
        })
    }
}

fn later(moment: Millis, ms: u64) -> Millis {
    Millis(moment.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

fn tokens(field: &'static str, words: &[String]) -> Result<Vec<Token>, BadSubscription> {
    let parse = |word: &String| {
        Token::parse_word(word).map_err(|why| BadSubscription::Token {
            field,
            word: word.chars().take(WORD_CHARS_MAX).collect(),
            why,
        })
    };
    words.iter().map(parse).collect()
}

fn read(field: &'static str, json: Option<&Value>) -> Result<Option<Predicate>, BadSubscription> {
    let read = json.map(Predicate::parse).transpose();
    read.map_err(|why| BadSubscription::Predicate { field, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(any: &str) -> SubscriptionSpec {
        SubscriptionSpec {
            any: any.split_whitespace().map(str::to_owned).collect(),
            ..SubscriptionSpec::default()
        }
    }

    #[test]
    fn an_invalid_subscription_is_refused_with_its_field() {
        let with = |change: fn(&mut SubscriptionSpec)| {
            let mut terms = terms("TASK");
            change(&mut terms);
            terms.check().expect_err("was taken").code()
        };
        assert_eq!(terms("").check().expect_err("no tokens").code(), "tokens_missing");
        assert_eq!(with(|terms| terms.all = vec!["=x".into()]), "bad_api_token");
        assert_eq!(
            with(|terms| terms.predicate = Some(json!({"field": 1}))),
            "bad_predicate"
        );
        assert_eq!(with(|terms| terms.guard = Some(json!([]))), "bad_predicate");
        assert_eq!(
            with(|terms| terms.message = "x".repeat(MESSAGE_BYTES_MAX + 1)),
            "message_too_long"
        );
        assert_eq!(
            with(|terms| terms.cooldown_ms = COOLDOWN_MS_MAX + 1),
            "bad_cooldown"
        );
        assert_eq!(
            with(|terms| terms.debounce_ms = DEBOUNCE_MS_MAX + 1),
            "bad_debounce"
        );
        let many =
            |terms: &mut SubscriptionSpec| terms.any = (0..300).map(|number| format!("T{number}")).collect();
        assert_eq!(with(many), "subscription_too_large");
        let deep = |terms: &mut SubscriptionSpec| {
            terms.guard = Some((0..100).fold(json!({"all": []}), |inner, _| json!({"not": inner})));
        };
        assert_eq!(with(deep), "subscription_too_large");
        assert_eq!(terms("TASK task.status=done id:abc").check(), Ok(()));
    }

    #[test]
    fn an_edit_changes_the_given_terms_and_keeps_the_others() {
        let old = SubscriptionSpec {
            any: vec!["TASK".into()],
            all: vec!["id:abc".into()],
            predicate: Some(json!({"field": "category", "op": "eq", "value": "gym"})),
            guard: Some(json!({"field": "depth", "op": "eq", "value": 0})),
            cooldown_ms: 1,
            debounce_ms: 2,
            message: "plan".into(),
        };
        assert_eq!(old.edited(&SubscriptionEdit::default()), old);
        let words = SubscriptionEdit {
            any: Some(vec!["NOTE".into()]),
            all: Some(Vec::new()),
            predicate: Some(None),
            message: Some(String::new()),
            ..SubscriptionEdit::default()
        };
        let new = SubscriptionSpec {
            any: vec!["NOTE".into()],
            all: Vec::new(),
            predicate: None,
            message: String::new(),
            ..old.clone()
        };
        assert_eq!(old.edited(&words), new);
        let times = SubscriptionEdit {
            guard: Some(None),
            cooldown_ms: Some(3),
            debounce_ms: Some(4),
            ..SubscriptionEdit::default()
        };
        let new = SubscriptionSpec {
            guard: None,
            cooldown_ms: 3,
            debounce_ms: 4,
            ..old.clone()
        };
        assert_eq!(old.edited(&times), new);
    }

    #[test]
    fn changes_within_a_window_wake_together_and_later_ones_wait() {
        let terms = SubscriptionSpec {
            cooldown_ms: 1_000,
            debounce_ms: 100,
            ..terms("TASK")
        };
        let first = terms.window(Millis(5_000), None);
        assert_eq!(first, Some(Millis(5_100)), "gathered first");
        assert_eq!(terms.window(Millis(5_050), first), first, "goes with it");
        assert_eq!(
            terms.window(Millis(5_200), first),
            Some(Millis(6_100)),
            "the pause"
        );
        assert_eq!(
            terms.window(Millis(9_000), first),
            Some(Millis(9_100)),
            "long over"
        );
        let plain = self::terms("TASK");
        assert_eq!(plain.window(Millis(5_000), Some(Millis(5_000))), None);
    }

    #[test]
    fn a_clock_set_back_ten_years_delays_nothing() {
        let terms = SubscriptionSpec {
            cooldown_ms: 1_000,
            ..terms("TASK")
        };
        let (then, now) = (Millis(1_800_000_000_000), Millis(1_500_000_000_000));
        assert_eq!(terms.window(now, Some(then)), None);
    }

    #[test]
    fn every_known_kind_can_be_subscribed_and_a_misspelt_one_is_reported() {
        let kinds = crate::notice::kinds();
        let told = "TASK NOTE CATEGORY CHECKLIST TIME_ENTRY DAY_PLAN RATING LINK FILE GIT_REF RUN \
                    agentChangedNotification agentStateChangedNotification";
        assert_eq!(kinds, told.split_whitespace().collect());
        for kind in kinds {
            let filter = terms(kind).filter().expect("a filter");
            let tokens = [Token::SemanticKey(kind.into())].into();
            assert!(
                filter.admits(&tokens) && terms(kind).warnings(&[]).is_empty(),
                "{kind}"
            );
        }
        let strange = terms("TASK task TASKS task.status=done id:abc");
        assert_eq!(strange.warnings(&[]).len(), 2);
    }

    #[test]
    fn a_guard_checks_the_state_of_the_agent() {
        let guarded = SubscriptionSpec {
            guard: Some(json!({"field": "since_last_run_ms", "op": "gt", "value": 1_000})),
            ..terms("TASK")
        };
        let standing = |since_last_run_ms| SubscriptionFacts {
            since_last_run_ms,
            queued: 0,
            author: "person".into(),
            depth: 0,
        };
        assert_eq!(guarded.holds(&standing(Some(2_000))), Some(true));
        assert_eq!(guarded.holds(&standing(Some(500))), Some(false));
        assert_eq!(
            guarded.holds(&standing(None)),
            Some(false),
            "what is missing has no order"
        );
        assert_eq!(terms("TASK").holds(&standing(None)), None);
    }
}
