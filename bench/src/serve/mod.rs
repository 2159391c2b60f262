//! Measures the daemon: the shipped program as a separate process, over loopback, on a SQLite home.
//!
//! | module | measures |
//! |---|---|
//! | [`ready`] | from the start of the process to the first `200` of `/readyz` |
//! | [`idle`] | memory and wake-ups while nothing happens |
//! | [`enqueue`] | durable messages per second |
//! | [`stream`] | the delay of an event, and the cost of many listeners |
//! | [`drain`] | draining a queue |
//! | [`notice`] | from a write to the journal to the run that it starts |
//! | [`dormant`] | very many sleeping agents |
//! | [`flood`] | the effect of a trigger flood on other clients |
//!
//! `daemon` is the process, `http` a client with minimal cost, `history` a home with a long history,
//! `commits` plain SQLite on the same disk.

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
