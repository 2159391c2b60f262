//! Measures what a tool round leaves on disk after the program has ended cleanly.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::Setting;
use crate::measure::{Measure, Target};
use crate::plain;
use crate::program::{Site, wall_ms};

pub(crate) const NAME: &str = "disk_bytes_per_tool_round";

/// Rounds of the short run. The size of its home is subtracted, so that only the rounds are counted.
const SHORT: usize = 20;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let more = setting.effort.pick(50, 200);
    let short = left_by(setting, SHORT)?;
    let long = left_by(setting, SHORT + more)?;
    let per_round = |long: u64, short: u64| long.saturating_sub(short) as f64 / more as f64;
    let mut measure = Measure::median(
        NAME,
        "bytes",
        &[per_round(long.files, short.files)],
        Target::AtMost(6_000.0),
    );
    let values: u64 = long.values.values().sum();
    let values_short: u64 = short.values.values().sum();
    measure = measure.beside(
        "the stored values themselves, an integer as eight bytes",
        &[per_round(values, values_short)],
    );
    for (table, bytes) in &long.values {
        let before = short.values.get(table).copied().unwrap_or(0);
        measure = measure.with(format!("values_{table}"), per_round(*bytes, before));
    }
    Ok(vec![measure.with("rounds_apart", more as f64)])
}

/// What a run leaves on disk.
struct Left {
    /// Bytes of all files in the home.
    files: u64,
    /// Bytes of the values in each table.
    values: BTreeMap<String, u64>,
}

fn left_by(setting: &Setting, rounds: usize) -> Result<Left> {
    let site = Site::new(&setting.folder.join(format!("disk-{rounds}")), &script(rounds))?;
    wall_ms(&mut setting.program.run(&site))?;
    // Measured before the database is opened, because opening it may create files.
    let files = bytes_below(&site.home)?;
    Ok(Left {
        files,
        values: value_bytes(&site.database())?,
    })
}

/// A script with this many rounds of one command, and an answer.
pub(crate) fn script(rounds: usize) -> String {
    let round = "  - tools: [{ name: ExecCommand, input: { cmd: \"true\" } }]\n";
    format!("rounds:\n{}  - text: done\n", round.repeat(rounds))
}

fn bytes_below(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() {
            bytes_below(&entry.path())?
        } else {
            metadata.len()
        };
    }
    Ok(bytes)
}

fn value_bytes(database: &Path) -> Result<BTreeMap<String, u64>> {
    let connection = plain::open_to_read(database)?;
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = tables.query_map([], |row| row.get::<_, String>(0))?;
    let mut bytes = BTreeMap::new();
    for name in names {
        let name = name?;
        let mut all = connection.prepare(&format!("SELECT * FROM {name}"))?;
        let columns = all.column_count();
        let mut rows = all.query([])?;
        let mut sum = 0;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                sum += match row.get_ref(column)? {
                    rusqlite::types::ValueRef::Null => 0,
                    rusqlite::types::ValueRef::Integer(_) | rusqlite::types::ValueRef::Real(_) => 8,
                    rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                        bytes.len() as u64
                    }
                };
            }
        }
        bytes.insert(name, sum);
    }
    bytes.retain(|_, bytes| *bytes > 0);
    Ok(bytes)
}
