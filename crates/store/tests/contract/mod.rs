//! The contract that every database must fulfil.

mod agent;
pub(crate) mod blob;
pub(crate) mod bound;
mod brake;
mod cause;
mod decision;
mod dispatch;
mod event;
pub(crate) mod head;
pub(crate) mod journal;
mod journal_records;
mod journal_tokens;
mod proof;
mod queue;
mod retention;
mod run;
mod runner;
mod saga;
mod schedule;
mod spend;
mod step;
mod subrun;
mod subscription;
mod transaction;
mod trigger;
mod wake;
mod watch;
