//! What an agent wants to be woken for, and which subscriptions a notice concerns.
//!
//! | module | decides |
//! |---|---|
//! | [`predicate`] | whether a changed record is one of those that are meant |
//! | [`index`] | which of very many filters a notice can concern at all |
//! | [`terms`] | what a person settles: tokens, predicate, guard, windows, and what the agent is to do |
//!
//! A [`Filter`] looks at tokens first, because a notice brings them along. Records are loaded only for filters that ask
//! about their fields and that the tokens have let pass.

pub mod index;
pub mod predicate;
pub mod spec;

use std::collections::BTreeSet;

pub use self::index::{Candidates, FilterIndex};
pub use self::predicate::{BadPredicate, Predicate};
pub use self::spec::{BadSubscription, SubscriptionSpec};
use crate::change::Token;
use crate::id::{AgentId, SubscriptionId};

/// The fields of a changed record, as predicates see them.
pub type Entity = serde_json::Map<String, serde_json::Value>;

/// Most tokens that a subscription may name, both lists together.
pub const TOKENS_MAX: usize = 256;

/// Longest token, in bytes of its key.
pub const TOKEN_BYTES_MAX: usize = 1_024;

/// Longest predicate that a subscription may have, in bytes of its JSON.
pub const PREDICATE_BYTES_MAX: usize = 16_384;

/// Deepest predicate that a subscription may have.
pub const PREDICATE_DEPTH_MAX: usize = 32;

/// One wish of one agent to be woken.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// Its name.
    pub id: SubscriptionId,
    /// Who is woken.
    pub agent: AgentId,
    /// By what.
    pub filter: Filter,
}

/// Which notices are meant: by their tokens, and by the fields of a record that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    any: BTreeSet<Token>,
    all: BTreeSet<Token>,
    predicate: Option<Predicate>,
}

/// Why something is no filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFilter {
    /// It names no token, so every change of anything would have to be looked at.
    #[error("a subscription needs a token in tokens_any or in tokens_all")]
    NoTokens,
    /// It names too many tokens.
    #[error("a subscription has at most {TOKENS_MAX} tokens; make several subscriptions")]
    TooManyTokens,
    /// One of its tokens is too long.
    #[error("a token of a subscription has at most {TOKEN_BYTES_MAX} bytes")]
    TokenTooLong,
    /// Its predicate is too long.
    #[error("the predicate of a subscription has at most {PREDICATE_BYTES_MAX} bytes of JSON")]
    PredicateTooLong,
    /// Its predicate is nested too deep.
    #[error("the predicate of a subscription is nested at most {PREDICATE_DEPTH_MAX} deep")]
    PredicateTooDeep,
}

impl Filter {
    /// A filter that lets a notice pass which has at least one of `any`, if there are some, and every one of `all`, and
    /// of whose changed records at least one satisfies the predicate, if there is one.
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

    /// Whether it is small enough to be kept and looked at with every notice.
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

    /// The tokens of which one is enough.
    #[must_use]
    pub const fn any(&self) -> &BTreeSet<Token> {
        &self.any
    }

    /// The tokens that must all be there.
    #[must_use]
    pub const fn all(&self) -> &BTreeSet<Token> {
        &self.all
    }

    /// What it asks about a changed record.
    #[must_use]
    pub const fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }

    /// Whether tokens let a notice pass.
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
    fn one_of_any_and_every_one_of_all_must_be_there() {
        let filter = Filter::new([token("A"), token("B")], [token("C"), token("D")], None).expect("a filter");
        let admits = |words: &str| {
            let tokens = words.split(' ').map(token).collect();
            filter.admits(&tokens)
        };
        assert!(admits("A C D") && admits("B C D X"));
        assert!(!admits("C D") && !admits("A C") && !admits("A B X"));
    }

    #[test]
    fn a_filter_that_is_kept_has_bounds() {
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
