//! `make torture`: the real program under load, with kills, power cuts and disk faults, checked by a
//! separate program. See `docs/torture.md`.
//!
//! - [`campaign`] plays episodes one after another until the time is over; [`episode`] plays one; [`pairs`]
//!   selects the fail points.
//! - [`load`] and [`script`] are the clients and their requests; [`http`] is their transport, [`history`]
//!   their records.
//! - [`people`] answer, brake and cancel; [`environment`] is the journal, a watched folder and the
//!   schedule.
//! - [`daemon`] is one process of the program, [`power`] applies a power cut to its files, [`fault`]
//!   injects disk faults.
//! - [`hostile`] is an episode whose commands try to harm the program.
//! - [`server`] creates a database for each episode on PostgreSQL.
//! - [`test_dir`] is the directory of an episode, [`counts`] its counters, [`rng`] random numbers,
//!   [`moment`] times in the API's format.
#![forbid(unsafe_code)]
#![expect(
    clippy::indexing_slicing,
    reason = "indexing into JSON that lacks a field gives null and never panics"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "crashes happen in real time, and the driver has no clock port"
)]

mod campaign;
mod counts;
mod daemon;
mod environment;
mod episode;
mod fault;
mod history;
mod hostile;
mod http;
mod load;
mod moment;
mod orphans;
mod pairs;
mod people;
mod power;
mod rng;
mod script;
mod server;
mod test_dir;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match campaign::run(&campaign::Options::parse()) {
        Ok(campaign::End::Sound) => ExitCode::SUCCESS,
        Ok(campaign::End::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("torture: {error:#}");
            ExitCode::from(2)
        }
    }
}
