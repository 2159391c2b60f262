//! Describes the machine that was measured: its processors, its load, and the sync speed of its disk.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::measure::{median, ms};

/// Number of timed syncs: enough for a median, and quickly done.
const SYNCS: usize = 21;

/// A page of a database.
const PAGE: [u8; 4096] = [7; 4096];

/// The machine before and after the measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    cpus: usize,
    /// Load over one, five and fifteen minutes. If it is far above zero at the start, other processes
    /// affected the numbers.
    load_before: [f64; 3],
    load_after: [f64; 3],
    /// Median time to append a page to a file and sync it. No commit can be faster.
    sync_ms: f64,
}

impl Machine {
    /// Reads the state before the measurement.
    pub(crate) fn look(folder: &Path) -> Result<Self> {
        let load = load()?;
        Ok(Self {
            cpus: std::thread::available_parallelism()?.get(),
            load_before: load,
            load_after: load,
            sync_ms: sync_ms(folder)?,
        })
    }

    /// Reads the load again.
    pub(crate) fn look_again(&mut self) -> Result<()> {
        self.load_after = load()?;
        Ok(())
    }
}

/// Processor time of this process in milliseconds. Unlike wall time, it does not include other processes.
pub(crate) fn processor_ms() -> Result<f64> {
    processor_ms_of("self")
}

/// Processor time of the calling thread.
pub(crate) fn processor_ms_of_thread() -> Result<f64> {
    processor_ms_of("thread-self")
}

/// Processor time of the process with this id.
pub(crate) fn processor_ms_of(process: &str) -> Result<f64> {
    /// The kernel reports times in hundredths of a second, independent of its own resolution.
    const MS_PER_TICK: f64 = 10.0;
    let text = fs::read_to_string(format!("/proc/{process}/stat")).context("reading the processor time")?;
    // The name in parentheses may contain any character, so fields are counted after its end.
    let fields = text
        .rsplit_once(')')
        .map(|(_, fields)| fields.split_whitespace().skip(11).take(2));
    let ticks = fields
        .context("the processor time is incomplete")?
        .map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? * MS_PER_TICK)
}

fn load() -> Result<[f64; 3]> {
    let text = fs::read_to_string("/proc/loadavg").context("reading the load average")?;
    let mut numbers = text.split_whitespace().map(str::parse);
    let mut next = || {
        numbers
            .next()
            .context("the load average is incomplete")?
            .context("not a number")
    };
    Ok([next()?, next()?, next()?])
}

fn sync_ms(folder: &Path) -> Result<f64> {
    let path = folder.join("sync");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let begun = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times.push(ms(begun.elapsed()));
    }
    fs::remove_file(&path)?;
    Ok((median(&times) * 1e3).round() / 1e3)
}
