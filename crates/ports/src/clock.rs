//! Clock and randomness behind traits, so that tests and simulations can control them.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::time::Millis;

/// Longest sleep before the wall clock is read again, so that a changed clock is noticed.
pub const CLOCK_RECHECK_MS_MAX: u64 = 60_000;

/// The current time, and sleeping.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock.
    fn now(&self) -> Millis;

    /// Milliseconds on a monotonic clock. Only differences are meaningful.
    fn monotonic_ms(&self) -> u64;

    /// Waits for a duration.
    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Waits until a wall-clock time at the latest. It may return earlier, in particular after the clock
    /// was changed, so the caller reads the clock again. An implementation that cannot detect clock changes
    /// returns every [`CLOCK_RECHECK_MS_MAX`].
    fn sleep_until(&self, moment: Millis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.sleep(moment.since(self.now()).clamp(1, CLOCK_RECHECK_MS_MAX))
    }
}

/// A source of random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Returns 32 random bytes, enough for a salt.
    fn random_bytes(&self) -> [u8; 32];
}
