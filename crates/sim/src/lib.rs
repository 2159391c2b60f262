//! The real engine in a world made from a seed, where anything may stop at any moment.
//!
//! A [`Schedule`] is a seed and a list of mishaps. The seed fixes everything that models, tools and clocks do; the
//! mishaps say when a process dies, falls asleep, loses its database for a moment, or is asked to stop. Playing
//! a schedule twice gives the same bytes, so a failure is its seed and its few mishaps and nothing else.
//!
//! | module | holds |
//! |---|---|
//! | `chance` | random numbers from a seed |
//! | [`schedule`](Schedule) | the seed and the mishaps, and how they are written down |
//! | `script` | what people ask, what the model answers, how tools behave |
//! | `world`, `time`, `ledger` | the mishaps to come; virtual time; what really happened |
//! | `life` | one process: the ports of an engine, and the loop that polls it until it ends or dies |
//! | `ports`, `faulty` | model, tools, clock and salts of such a process; a store that may fail it |
//! | `person` | people: answers, brakes, and what they do about runs that stand aside |
//! | `service` | what a process does for an ask, as the command line or as the daemon |
//! | `play`, `tally` | a whole schedule: asks, processes, sleepers, and the judge after each |
//! | `alert` | the other kind of world: a daemon that is woken by changes, moments and calls from outside |
//! | `evidence`, `invariant` | what ledger and store say, and what must hold of it |
//! | `warning` | what the program logs, for those who must know of it |
//! | [`search`](mod@search) | many schedules, and the smallest one that still fails |
//!
//! There is no thread, no real clock and no runtime here: a process is one future, polled by hand. When it waits
//! for nothing but time, time moves on. A crash is that future dropped while a port keeps it waiting for ever, so
//! that nothing in it runs again, while the database and the ledger keep what they were told.
#![forbid(unsafe_code)]

mod coverage;
mod daemon;
mod environment;
mod evidence;
mod fault_plan;
mod faulty_store;
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
mod warning;

pub use crate::coverage::Coverage;
pub use crate::fault_plan::{ASKS_MAX, BadSchedule, Fault, FaultKind, FaultPlan, Kind};
pub use crate::invariant::Violation;
pub use crate::simulate::{crashing_equals_not_crashing, log_hash, play, same_again};
pub use crate::warning::OnWarning;
