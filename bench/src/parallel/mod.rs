//! Measures committed transitions per second of many agents in one process, with a model and a tool that
//! cost nothing.
//!
//! What remains is the engine and the store. The bare limit writes the same rows with prepared statements
//! and nothing else: on SQLite from one thread, with all agents in every commit; on PostgreSQL from as many
//! connections as the store had, with one transaction per transition.

mod postgres;
mod rows;
mod sqlite;
mod table;
mod workload;

use std::time::Duration;

use anyhow::Result;

pub(crate) use self::postgres::{
    FIVE_STEPS as FIVE_STEPS_POSTGRES, NAME as POSTGRES, take as take_postgres,
    take_five_steps as take_five_steps_postgres,
};
pub(crate) use self::sqlite::{FIVE_STEPS, NAME as SQLITE, commits, take as take_sqlite, take_five_steps};
pub(crate) use self::workload::{NoOp, TOOL};

use crate::machine::processor_ms;

/// The time that some work took.
#[derive(Clone, Copy)]
struct Spent {
    wall: Duration,
    processor_ms: f64,
}

impl Spent {
    /// Does the work, which returns its own wall time to exclude preparations.
    fn on(work: impl FnOnce() -> Result<Duration>) -> Result<Self> {
        let before = processor_ms()?;
        let wall = work()?;
        Ok(Self {
            wall,
            processor_ms: processor_ms()? - before,
        })
    }

    fn per_second(self, count: usize) -> f64 {
        count as f64 / self.wall.as_secs_f64()
    }

    fn processor_us(self, count: usize) -> f64 {
        self.processor_ms * 1e3 / count as f64
    }
}
