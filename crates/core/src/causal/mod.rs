//! Causal state: the durable state of an agent on several devices, and the join by which the devices
//! converge.
//!
//! A [`CausalRecord`] stores writes, not results. Each write has a *dot*: its host and that host's write
//! counter. Per field the record keeps the *live writes*, which no later write has replaced, and for the
//! whole record one *version vector*: the highest counter seen of each host. A join keeps a live write if
//! both sides have it, or if the other side has not yet seen its dot. A write that is missing on a side
//! that has seen its dot was replaced there, and is dropped.
//!
//! The value of a field is computed from its live writes at each read and never stored. A stored value that
//! a merge rule chose would be indistinguishable from a value that a host wrote.
//!
//! | module | contents |
//! |---|---|
//! | `write` | the possible writes and their JSON form |
//! | `register` | fields with live writes |
//! | `open_loop` | a set in which an add wins over a concurrent remove |
//! | `processed` | the processed changes of a host: a contiguous range and single counters above it |
//! | `record` | all fields with one version vector: write, join, digest |
//! | `read` | the value of concurrent live writes |
//! | `ancestry` | the predecessor relation of messages |

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
