//! What every database must do.

mod agent;
pub(crate) mod blob;
mod brake;
mod decision;
mod event;
pub(crate) mod head;
mod queue;
mod run;
mod runner;
mod spend;
mod step;
mod transaction;
mod wake;
