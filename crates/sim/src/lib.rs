//! A deterministic simulation of the real engine, in which faults are injected at any port call.
//!
//! A [`FaultPlan`] is a seed and a list of faults. The seed determines everything that models, tools and
//! clocks do; the faults determine when a process dies, is suspended, loses its database for a moment, or
//! is asked to stop. Playing a plan twice gives the same bytes, so the plan is enough to reproduce a
//! failure.
//!
//! | module | holds |
//! |---|---|
//! | `rng` | random numbers from a seed |
//! | [`fault_plan`](FaultPlan) | the seed and the faults, and their text form |
//! | `script` | what people ask, what the model responds, how tools behave |
//! | `environment`, `time`, `ledger` | the pending faults; virtual time; what really happened |
//! | `process` | one process: the ports of an engine, and the loop that polls it until it ends or dies |
//! | `ports`, `faulty_store` | model, tools, clock and salts of such a process; a store that may fail |
//! | `person` | people: answers, brakes, and the handling of quarantined runs |
//! | `service` | what a process does for an ask, as the command line or as the daemon |
//! | `simulate`, `coverage` | a whole plan: asks, processes, suspended processes, and the checks after each; what was covered |
//! | `daemon` | the other kind of scenario: a daemon that is woken by changes, schedules and external triggers |
//! | `evidence`, `invariant` | the contents of ledger and store, and what must hold of them |
//! | `warning` | observes what the program logs |
//! | [`injection`] | attacks by text that an agent reads, on the real tools, and honest tasks beside them |
//! | [`search`](mod@search) | many plans, and the smallest one that still fails |
//!
//! Except for [`injection`], the simulation uses no threads, no real clock and no runtime: a process is one future, polled by hand.
//! When it waits for nothing but time, time advances. A crash drops that future while a port keeps it
//! pending, so that nothing in it runs again, while the database and the ledger keep what was written.
#![forbid(unsafe_code)]

mod coverage;
mod daemon;
mod environment;
mod evidence;
mod fault_plan;
mod faulty_store;
pub mod injection;
mod invariant;
mod ledger;
mod person;
mod ports;
mod process;
mod rng;
mod script;
pub mod search;
mod service;
mod simulate;
mod time;
mod tool_policy;
mod warning;

pub use crate::coverage::Coverage;
pub use crate::fault_plan::{ASKS_MAX, BadSchedule, Fault, FaultKind, FaultPlan, Kind};
pub use crate::invariant::Violation;
pub use crate::simulate::{crashing_equals_not_crashing, log_hash, play, same_again};
pub use crate::warning::OnWarning;
