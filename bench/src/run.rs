//! Measures one short run from the command line: the time that a person waits, and its memory.

use anyhow::Result;

use crate::Setting;
use crate::measure::{Measure, Target};
use crate::plain;
use crate::program::{ONE_ROUND, Site, peak_mb, wall_ms};

pub(crate) const EXISTING: &str = "run_existing_ms";
pub(crate) const STATUS: &str = "status_existing_ms";
pub(crate) const MEMORY: &str = "run_peak_rss_mb";
pub(crate) const FRESH: &str = "run_fresh_ms";

/// Commits of a run with one round: its admission, and its answer, which also releases the agent.
const COMMITS: usize = 2;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS bare (n INTEGER NOT NULL) STRICT;";

/// On an existing home with an existing database.
pub(crate) fn take_existing(setting: &Setting) -> Result<Vec<Measure>> {
    let site = Site::new(&setting.folder.join("existing"), ONE_ROUND)?;
    let beside = setting.folder.join("existing").join("bare.sqlite");
    // The first call of each creates what the others find.
    wall_ms(&mut setting.program.run(&site))?;
    plain::commits_ms(&beside, TABLE, COMMITS)?;
    let (mut here, mut bare, mut status, mut started) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(8, 30) {
        here.push(wall_ms(&mut setting.program.run(&site))?);
        let version = wall_ms(&mut setting.program.version())?;
        bare.push(version + plain::commits_ms(&beside, TABLE, COMMITS)?);
        started.push(version);
        status.push(wall_ms(&mut setting.program.status(&site))?);
    }
    let (mut peaks, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(2, 5) {
        peaks.push(peak_mb(&mut setting.program.run(&site))?);
        floor.push(peak_mb(&mut setting.program.version())?);
    }
    let time = Measure::median(EXISTING, "ms", &here, Target::Below(25.0)).beside(
        "`wakeful --version`, then plain SQLite: open, two commits, close",
        &bare,
    );
    let status =
        Measure::median(STATUS, "ms", &status, Target::Below(15.0)).beside("`wakeful --version`", &started);
    let memory =
        Measure::most(MEMORY, "MB", &peaks, Target::AtMost(40.0)).beside("`wakeful --version`", &floor);
    Ok(vec![time, status, memory])
}

/// On a home that must be created first.
pub(crate) fn take_fresh(setting: &Setting) -> Result<Vec<Measure>> {
    let (mut here, mut bare) = (Vec::new(), Vec::new());
    for round in 0..setting.effort.pick(5, 20) {
        let folder = setting.folder.join(format!("fresh-{round}"));
        let site = Site::new(&folder, ONE_ROUND)?;
        here.push(wall_ms(&mut setting.program.run(&site))?);
        let schema = plain::schema(&plain::open_to_read(&site.database())?)?;
        let started = wall_ms(&mut setting.program.version())?;
        bare.push(started + plain::commits_ms(&folder.join("bare.sqlite"), &(schema + TABLE), COMMITS)?);
    }
    let measure = Measure::median(FRESH, "ms", &here, Target::Below(250.0));
    Ok(vec![measure.beside(
        "`wakeful --version`, then plain SQLite: make the same tables, two commits, close",
        &bare,
    )])
}
