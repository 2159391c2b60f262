//! `make torture`: the real program under load, killed, cut off from power and given a bad disk, with another program as
//! judge. See `docs/torture.md`.
//!
//! - [`campaign`] plays worlds one after the other until time is up; [`episode`] plays one; [`pairs`] are the points it dies at.
//! - [`load`] and [`script`] are the clients and what they ask for; [`http`] is how, [`history`] what they put down.
//! - [`people`] answer, brake and cancel; [`around`] is the journal, a watched folder and the clock.
//! - [`daemon`] is one life of the program, [`power`] what a power cut leaves of its files, [`fault`] how a disk fails.
//! - [`hostile`] is a world whose commands try to harm the program.
//! - [`server`] makes a database for each world on PostgreSQL.
//! - [`place`] is where a world is, [`tally`] what is counted, [`rng`] chance, [`moment`] time as the API spells it.
#![forbid(unsafe_code)]
#![expect(
    clippy::indexing_slicing,
    reason = "indexing into JSON that lacks a field gives null and never panics"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "deaths happen in real time, and there is no port here to ask for it"
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
