//! Time and chance, asked for in one place, so that tests and simulations can give them.

use std::future::Future;
use std::pin::Pin;

use wakeful_core::time::Millis;

/// What time it is, and waiting.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock.
    fn now(&self) -> Millis;

    /// Milliseconds on a clock that never goes back. Only differences mean anything.
    fn ticks_ms(&self) -> u64;

    /// Waits.
    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Fresh random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Thirty-two of them: a salt.
    fn bytes32(&self) -> [u8; 32];
}
