//! What every database must do.

mod agent;
mod alert;
pub(crate) mod blob;
pub(crate) mod bound;
mod brake;
mod care;
mod cause;
mod decision;
mod dispatch;
mod event;
pub(crate) mod head;
pub(crate) mod journal;
mod journal_told;
mod journal_whole;
mod outside;
mod proof;
mod queue;
mod run;
mod runner;
mod saga;
mod schedule;
mod spend;
mod step;
mod subrun;
mod transaction;
mod trigger;
mod wake;
