//! Proof: whether a log, a run or a bundle is what it says it is. Nothing here reads anything; whoever asks brings the
//! rows.
//!
//! | module | judges |
//! |---|---|
//! | [`chain`] | the events of one agent: each follows from the one before, and nothing is missing |
//! | [`head`] | heads that a device has signed, here or elsewhere |
//! | [`signing`] | the key of a device, and what it is known by |
//! | [`bond`] | what ties a journal to the log |
//! | [`record`] | what binds rows that govern to the log |
//! | [`replay`] | a run: its journal leads to the states, effects and events that are kept |
//! | [`bundle`] | a run that was carried to another machine, with all that proves it |

pub mod bond;
pub mod bundle;
pub mod chain;
pub mod head;
pub mod record;
pub mod replay;
pub mod signing;
#[cfg(test)]
mod tests;
