//! Subscriptions: what wakes an agent, and which subscriptions a notice matches.
//!
//! | module | decides |
//! |---|---|
//! | [`predicate`] | whether a changed record matches |
//! | [`index`] | which of very many filters a notice can match |
//! | [`spec`] | the settings of a subscription: tokens, predicate, guard, windows, and the message to the agent |
//! | [`warning`] | which of its words match nothing |
//!
//! A [`Filter`] checks tokens first, because a notice contains them. Records are loaded only for filters
//! that match by token and have a predicate.

pub mod index;
pub mod predicate;
pub mod spec;
pub mod warning;

use std::collections::BTreeSet;

pub use self::index::{Candidates, FilterIndex};
pub use self::predicate::{BadPredicate, Predicate};
pub use self::spec::{BadSubscription, SubscriptionEdit, SubscriptionSpec};
use crate::change::Token;
use crate::id::{AgentId, SubscriptionId};

/// The fields of a changed record as predicates read them.
pub type Entity = serde_json::Map<String, serde_json::Value>;

/// Largest number of tokens of a subscription, both lists together.
pub const TOKENS_MAX: usize = 256;

/// Longest token, as the length of its key in bytes.
pub const TOKEN_BYTES_MAX: usize = 1_024;

/// Longest predicate of a subscription, as bytes of JSON.
pub const PREDICATE_BYTES_MAX: usize = 16_384;

/// Deepest predicate of a subscription.
pub const PREDICATE_DEPTH_MAX: usize = 32;

/// A subscription of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    pub id: SubscriptionId,
    /// The agent that it wakes.
    pub agent: AgentId,
    pub filter: Filter,
}

/// Selects notices by their tokens and by the fields of a changed record.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    any: BTreeSet<Token>,
    all: BTreeSet<Token>,
    predicate: Option<Predicate>,
}

/// Why a filter is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFilter {
    /// It has no token, so that every change would have to be checked.
    #[error("a subscription needs a token in tokens_any or in tokens_all")]
    NoTokens,
    #[error("a subscription has at most {TOKENS_MAX} tokens; make several subscriptions")]
    TooManyTokens,
    #[error("a token of a subscription has at most {TOKEN_BYTES_MAX} bytes")]
    TokenTooLong,
    #[error("the predicate of a subscription has at most {PREDICATE_BYTES_MAX} bytes of JSON")]
    PredicateTooLong,
    #[error("the predicate of a subscription is nested at most {PREDICATE_DEPTH_MAX} deep")]
    PredicateTooDeep,
}

impl Filter {
    /// Creates a filter. It matches a notice that has at least one token of `any` (if not empty) and every
    /// token of `all`, and that changed at least one record which satisfies the predicate (if given).
    pub fn new(
        any: impl IntoIterator<Item = Token>,
        all: impl IntoIterator<Item = Token>,
        predicate: Option<Predicate>,
    ) -> Result<Self, BadFilter> {
        let (any, all) = (BTreeSet::from_iter(any), BTreeSet::from_iter(all));
        if any.is_empty() && all.is_empty() {
            return Err(BadFilter::NoTokens);
        }
        Ok(Self { any, all, predicate })
    }

    /// Checks the limits that keep stored filters cheap to evaluate for every notice.
    pub fn check_bounds(&self) -> Result<(), BadFilter> {
        if self.any.len() + self.all.len() > TOKENS_MAX {
            return Err(BadFilter::TooManyTokens);
        }
        if self
            .any
            .union(&self.all)
            .any(|token| token.key().len() > TOKEN_BYTES_MAX)
        {
            return Err(BadFilter::TokenTooLong);
        }
        let Some(predicate) = &self.predicate else {
            return Ok(());
        };
        if predicate.depth() > PREDICATE_DEPTH_MAX {
            return Err(BadFilter::PredicateTooDeep);
        }
        if predicate.to_json().to_string().len() > PREDICATE_BYTES_MAX {
            return Err(BadFilter::PredicateTooLong);
        }
        Ok(())
    }

    /// Tokens of which one is sufficient.
    #[must_use]
    pub const fn any(&self) -> &BTreeSet<Token> {
        &self.any
    }

    /// Tokens that are all required.
    #[must_use]
    pub const fn all(&self) -> &BTreeSet<Token> {
        &self.all
    }

    /// The condition on a changed record.
    #[must_use]
    pub const fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }

    /// Returns whether these tokens match.
    #[must_use]
    pub fn admits(&self, tokens: &BTreeSet<Token>) -> bool {
        let has_any = self.any.is_empty() || self.any.iter().any(|token| tokens.contains(token));
        has_any && self.all.is_subset(tokens)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(value: &str) -> Token {
        Token::SemanticKey(value.into())
    }

    #[test]
    fn a_filter_without_tokens_is_refused() {
        assert_eq!(Filter::new([], [], None), Err(BadFilter::NoTokens));
    }

    #[test]
    fn one_token_of_any_and_every_token_of_all_are_required() {
        let filter = Filter::new([token("A"), token("B")], [token("C"), token("D")], None).expect("a filter");
        let admits = |words: &str| {
            let tokens = words.split(' ').map(token).collect();
            filter.admits(&tokens)
        };
        assert!(admits("A C D") && admits("B C D X"));
        assert!(!admits("C D") && !admits("A C") && !admits("A B X"));
    }

    #[test]
    fn a_stored_filter_has_limits() {
        let many = (0..=TOKENS_MAX).map(|number| token(&number.to_string()));
        let bounds = |any: Vec<Token>, predicate: Option<serde_json::Value>| {
            let predicate = predicate.map(|json| Predicate::parse(&json).expect("a predicate"));
            Filter::new(any, [], predicate).expect("a filter").check_bounds()
        };
        assert_eq!(bounds(many.collect(), None), Err(BadFilter::TooManyTokens));
        assert_eq!(
            bounds(vec![token(&"x".repeat(2_000))], None),
            Err(BadFilter::TokenTooLong)
        );
        let deep = (0..PREDICATE_DEPTH_MAX).fold(json!({"all": []}), |inner, _| json!({"not": inner}));
        assert_eq!(
            bounds(vec![token("A")], Some(deep)),
            Err(BadFilter::PredicateTooDeep)
        );
        let long = json!({"field": "a", "op": "eq", "value": "x".repeat(PREDICATE_BYTES_MAX)});
        assert_eq!(
            bounds(vec![token("A")], Some(long)),
            Err(BadFilter::PredicateTooLong)
        );
        let fine = json!({"field": "category", "op": "eq", "value": "gym"});
        assert_eq!(bounds(vec![token("A")], Some(fine)), Ok(()));
    }
}
