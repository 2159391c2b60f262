//! The daemon's numbers: the shipped program as a process of its own, spoken to over loopback, on a SQLite home.
//!
//! | module | measures |
//! |---|---|
//! | [`ready`] | from the start of the process to the first `200` of `/readyz` |
//! | [`idle`] | memory and wake-ups while nothing happens |
//! | [`enqueue`] | durable messages per second |
//! | [`stream`] | how late an event is, and what many listeners cost |
//! | [`drain`] | a queue that is worked off |
//! | [`notice`] | from a write to the journal to the run that it leads to |
//! | [`dormant`] | very many agents that sleep |
//! | [`flood`] | what a flood of triggers does to others |
//!
//! `daemon` is the process, `http` a client that costs next to nothing, `history` a home that has seen much, `commits`
//! what plain SQLite does on the same disk.

mod commits;
pub(crate) mod daemon;
pub(crate) mod dormant;
pub(crate) mod drain;
pub(crate) mod enqueue;
pub(crate) mod flood;
mod history;
pub(crate) mod http;
pub(crate) mod idle;
pub(crate) mod notice;
pub(crate) mod ready;
pub(crate) mod stream;
