//! One-time codes that a browser exchanges for a login. Only their hashes are kept, in memory, for a minute.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use subtle::{Choice, ConstantTimeEq as _};
use wakeful_core::key::Digest;

use super::page::LoginPageFile;

/// How long a code is valid: long enough for a browser to start, too short to be found later.
pub(crate) const CODE_MS: u64 = 60_000;

/// Most pending codes. A person opens one window at a time; the oldest is dropped first.
const CODES_MAX: usize = 64;

/// The unused codes.
#[derive(Default)]
pub(crate) struct Codes(Mutex<VecDeque<PendingCode>>);

struct PendingCode {
    hash: Digest,
    expires_ms: u64,
    /// The file that holds the code. Dropping it deletes the file.
    _page: Option<LoginPageFile>,
}

impl Codes {
    /// Adds a new code. `now_ms` is on the monotonic clock.
    pub(crate) fn add(&self, code: &str, page: Option<LoginPageFile>, now_ms: u64) {
        self.remove_expired(now_ms);
        let mut codes = self.lock();
        let oldest = if codes.len() >= CODES_MAX {
            codes.pop_front()
        } else {
            None
        };
        codes.push_back(PendingCode {
            hash: Digest::of(code.as_bytes()),
            expires_ms: now_ms.saturating_add(CODE_MS),
            _page: page,
        });
        drop(codes);
        // Deletes the file outside the lock.
        drop(oldest);
    }

    /// Consumes a code. Returns whether it was valid.
    pub(crate) fn take(&self, code: &str, now_ms: u64) -> bool {
        let hash = Digest::of(code.as_bytes());
        let mut found = Choice::from(0);
        self.keep_only(|waiting| {
            let is_this = waiting.hash.as_bytes().ct_eq(hash.as_bytes());
            let is_fresh = Choice::from(u8::from(waiting.expires_ms > now_ms));
            found |= is_this & is_fresh;
            bool::from(!is_this & is_fresh)
        });
        found.into()
    }

    /// Removes expired codes and deletes their files.
    pub(crate) fn remove_expired(&self, now_ms: u64) {
        self.keep_only(|waiting| waiting.expires_ms > now_ms);
    }

    /// Removes the other codes. Their files are deleted after the lock is released.
    fn keep_only(&self, is_kept: impl FnMut(&PendingCode) -> bool) {
        let mut codes = self.lock();
        let (kept, forgotten): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut *codes).into_iter().partition(is_kept);
        *codes = kept;
        drop(codes);
        drop(forgotten);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PendingCode>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_valid_once() {
        let codes = Codes::default();
        codes.add("a", None, 0);
        codes.add("b", None, 0);
        assert!(!codes.take("c", 1));
        assert!(codes.take("a", 1));
        assert!(!codes.take("a", 1));
        assert!(codes.take("b", CODE_MS - 1));
    }

    #[test]
    fn a_code_is_valid_for_a_minute() {
        let codes = Codes::default();
        codes.add("a", None, 0);
        assert!(!codes.take("a", 60_000));
    }

    #[test]
    fn codes_are_bounded_and_the_newest_stays() {
        let codes = Codes::default();
        for n in 0..=CODES_MAX {
            codes.add(&n.to_string(), None, 0);
        }
        assert_eq!(codes.0.lock().expect("lock").len(), CODES_MAX);
        assert!(!codes.take("0", 1) && codes.take(&CODES_MAX.to_string(), 1));
    }
}
