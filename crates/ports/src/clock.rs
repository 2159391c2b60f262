//! Time and chance, asked for in one place, so that tests and simulations can give them.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::time::Millis;

/// The longest sleep for a moment: who trusts a clock for longer is fooled when it is set.
pub const CLOCK_RECHECK_MS_MAX: u64 = 60_000;

/// What time it is, and waiting.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock.
    fn now(&self) -> Millis;

    /// Milliseconds on a clock that never goes back. Only differences mean anything.
    fn monotonic_ms(&self) -> u64;

    /// Waits.
    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Waits for a moment of the wall clock, at most. It may come back before, above all when the clock was set: whoever
    /// waits looks what time it is. A clock that cannot tell that it was set comes back every [`CLOCK_RECHECK_MS_MAX`].
    fn sleep_until(&self, moment: Millis) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.sleep(moment.since(self.now()).clamp(1, CLOCK_RECHECK_MS_MAX))
    }
}

/// Fresh random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Thirty-two of them: a salt.
    fn random_bytes(&self) -> [u8; 32];
}
