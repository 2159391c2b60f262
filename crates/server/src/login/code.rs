//! One-time codes that a browser exchanges for a cookie. Only their hashes are kept, in memory, for two minutes.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use subtle::{Choice, ConstantTimeEq as _};
use wakeful_core::key::Digest;

/// How long a code is worth something: long enough to click, too short to be found later.
pub(crate) const CODE_MS: u64 = 2 * 60 * 1_000;

/// Most codes that wait. A person opens one window at a time; the oldest goes first.
const CODES_MAX: usize = 64;

/// The codes that nobody has used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<VecDeque<Waiting>>);

struct Waiting {
    hash: Digest,
    expires_ms: u64,
}

impl Codes {
    /// Takes a fresh code in. `now_ms` is on the clock that never goes back.
    pub(crate) fn add(&self, code: &str, now_ms: u64) {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|waiting| waiting.expires_ms > now_ms);
        if codes.len() >= CODES_MAX {
            codes.pop_front();
        }
        codes.push_back(Waiting {
            hash: Digest::of(code.as_bytes()),
            expires_ms: now_ms.saturating_add(CODE_MS),
        });
    }

    /// Whether the code was good. It is not any more.
    pub(crate) fn take(&self, code: &str, now_ms: u64) -> bool {
        let hash = Digest::of(code.as_bytes());
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Choice::from(0);
        codes.retain(|waiting| {
            let is_this = waiting.hash.as_bytes().ct_eq(hash.as_bytes());
            let is_fresh = Choice::from(u8::from(waiting.expires_ms > now_ms));
            found |= is_this & is_fresh;
            bool::from(!is_this & is_fresh)
        });
        found.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let codes = Codes::default();
        codes.add("a", 0);
        codes.add("b", 0);
        assert!(!codes.take("c", 1));
        assert!(codes.take("a", 1));
        assert!(!codes.take("a", 1));
        assert!(codes.take("b", CODE_MS - 1));
    }

    #[test]
    fn a_code_is_good_for_two_minutes() {
        let codes = Codes::default();
        codes.add("a", 0);
        assert!(!codes.take("a", CODE_MS));
    }

    #[test]
    fn codes_are_kept_within_a_bound_and_the_newest_stays() {
        let codes = Codes::default();
        for n in 0..=CODES_MAX {
            codes.add(&n.to_string(), 0);
        }
        assert_eq!(codes.0.lock().expect("lock").len(), CODES_MAX);
        assert!(!codes.take("0", 1) && codes.take(&CODES_MAX.to_string(), 1));
    }
}
