//! Retry policies: how often an effect is retried and when.
//!
//! The backoff doubles with every failure and has jitter, so that clients that failed together do not retry
//! together. The jitter is derived from a name instead of randomness, so that a replay computes the same
//! time.

use serde::{Deserialize, Serialize};

use crate::key::{Digest, derived_hash};

/// Longest wait that a provider may request before the attempt counts as a permanent failure.
pub const RETRY_AFTER_MS_MAX: u64 = 60_000;

/// How often an effect may be attempted, and the backoff between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Total attempts, including the first one.
    pub attempts: u32,
    /// The wait after the first failure, doubled after each further one.
    pub first_ms: u64,
    pub longest_ms: u64,
}

impl RetryPolicy {
    /// For repeatable effects whose failures are usually transient.
    pub const REPEATABLE: Self = Self {
        attempts: 5,
        first_ms: 100,
        longest_ms: 10_000,
    };

    /// Returns the wait after this many failures. None if the attempts are used up, or if the requested
    /// `retry_after_ms` exceeds the maximum. `name` determines the jitter.
    #[must_use]
    pub fn wait_ms(&self, failures: u32, retry_after_ms: Option<u64>, name: &Digest) -> Option<u64> {
        if failures >= self.attempts {
            return None;
        }
        match retry_after_ms {
            Some(wait) if wait > RETRY_AFTER_MS_MAX => None,
            Some(wait) => Some(wait),
            None => {
                let doubled = self
                    .first_ms
                    .saturating_mul(1 << failures.saturating_sub(1).min(20));
                Some(spread(doubled.min(self.longest_ms), failures, name))
            }
        }
    }
}

/// Returns a value between half of the wait and all of it.
fn spread(wait_ms: u64, failures: u32, name: &Digest) -> u64 {
    let drawn = derived_hash("retry", &[&name.to_string(), &failures.to_string()]);
    let half = wait_ms / 2;
    let share = drawn.as_bytes().first().copied().map_or(0, u64::from);
    wait_ms - half * share / u64::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_requested_wait_is_kept_up_to_the_maximum() {
        let (policy, name) = (RetryPolicy::REPEATABLE, Digest::of(b"one"));
        assert_eq!(policy.wait_ms(1, Some(7), &name), Some(7));
        assert_eq!(policy.wait_ms(1, Some(RETRY_AFTER_MS_MAX + 1), &name), None);
    }

    #[test]
    fn clients_that_failed_together_retry_at_different_times() {
        let wait = |n: u8| RetryPolicy::REPEATABLE.wait_ms(3, None, &Digest::of(&[n]));
        let waits: std::collections::BTreeSet<_> = (0..50).map(wait).collect();
        assert!(waits.len() > 25, "{waits:?}");
    }

    proptest! {
        #[test]
        fn a_wait_is_bounded_and_deterministic_and_attempts_end(
            attempts in 1_u32..20, first_ms in 1_u64..5_000, longest_ms in 1_u64..100_000, seed: u8, failures in 1_u32..40,
        ) {
            let (policy, name) = (RetryPolicy { attempts, first_ms, longest_ms }, Digest::of(&[seed]));
            let wait = policy.wait_ms(failures, None, &name);
            prop_assert_eq!(wait, policy.wait_ms(failures, None, &name));
            prop_assert_eq!(wait.is_some(), failures < attempts);
            if let Some(wait) = wait {
                let full = first_ms.saturating_mul(1 << (failures - 1).min(20)).min(longest_ms);
                prop_assert!(wait <= full && wait >= full - full / 2, "{} of {}", wait, full);
            }
        }
    }
}
