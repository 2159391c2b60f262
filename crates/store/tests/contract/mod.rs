//! What every database must do.

mod agent;
pub(crate) mod blob;
mod event;
pub(crate) mod head;
mod proof;
mod queue;
mod run;
mod runner;
mod spend;
mod step;
mod transaction;
mod wake;
