//! Causal state: what an agent durably is on several devices at once, and why they all come to agree about it.
//!
//! A [`Record`] keeps writes, not a result. Each write has a *dot*: who made it, and the how-manieth of that host it is.
//! Per field the *live writes* are kept, those that no write has replaced, and for the whole record one *vector*: how far
//! the writes of each host have been seen. Joining keeps a live write if both sides have it, or if the other side has not
//! yet seen its dot. What is missing on a side that has seen it was replaced there, and goes.
//!
//! What a field reads as is worked out from its live writes each time it is read, and never kept. That is the
//! difference to a merge of values: a value that a rule chose would look like something that somebody wrote.
//!
//! | module | holds |
//! |---|---|
//! | `write` | what can be written, and how it is spelled |
//! | `register` | fields with live writes |
//! | `open_loop` | the set in which an add wins over a concurrent remove |
//! | `processed` | which changes of a host were processed: all through one, and some above |
//! | `record` | all of them with one vector: write, join, digest |
//! | `read` | what concurrent live writes read as |
//! | `ancestry` | which message came before which |

mod ancestry;
mod open_loop;
mod processed;
mod read;
mod record;
mod register;
mod write;

#[cfg(test)]
mod counterexamples;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use ancestry::{Ancestry, AncestryCycle};
pub use record::{AgentDestroyed, CausalRecord};
pub use write::{FormError, Lifecycle, LoopWrite, Write};
