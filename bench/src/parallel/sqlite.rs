//! Many agents on a SQLite file, compared with one thread with prepared statements and one commit per
//! group.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rusqlite::params_from_iter;

use super::Spent;
use super::rows::Rows;
use super::workload::{self, Load};
use crate::measure::{Measure, Target, median, most};
use crate::{Setting, engine_setup, plain};

pub(crate) const NAME: &str = "parallel_transitions_per_s";
pub(crate) const FIVE_STEPS: &str = "five_step_runs_per_s";

/// The fraction of the bare limit that the engine must reach.
const TARGET: Target = Target::RatioAtLeast(0.45);

/// Offset of the transaction counter in the shared-memory file, as documented in SQLite's file format.
const TRANSACTIONS_AT: u64 = 8;

/// One pass of the engine, and two of plain SQLite with its rows.
struct Pass {
    engine: Spent,
    /// All agents in every commit. This is the limit: one that depends on the engine's own group size could
    /// be exceeded.
    bare: Spent,
    /// As many transitions per commit as the engine had.
    bare_alike: Spent,
    group: f64,
}

/// What the engine wrote in one pass.
pub(crate) struct Written {
    spent: Spent,
    commits: u32,
    pub(crate) rows: Rows,
}

impl Written {
    fn transitions(&self) -> usize {
        self.rows.transitions.len()
    }

    fn group(&self) -> f64 {
        self.transitions() as f64 / f64::from(self.commits)
    }

    /// Writes the same rows without an engine, with as many transitions per commit, or slightly more.
    fn bare_alike(&self, folder: &Path) -> Result<Spent> {
        let commits = usize::try_from(self.commits)?;
        self.bare_in_groups_of(self.transitions().div_ceil(commits), folder)
    }

    fn bare_in_groups_of(&self, group: usize, folder: &Path) -> Result<Spent> {
        fresh(folder)?;
        Spent::on(|| write(&folder.join("bare.sqlite"), &self.rows, group))
    }
}

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let (passes, written) = passes(setting, workload::LONG)?;
    let measure = told(
        &passes,
        (NAME, "transitions/s"),
        written.transitions(),
        written.transitions(),
    );
    Ok(vec![about(measure, &written, workload::LONG)])
}

/// Short runs of sixteen clients, counted in runs.
pub(crate) fn take_five_steps(setting: &Setting) -> Result<Vec<Measure>> {
    let (passes, written) = passes(setting, workload::FIVE_STEPS)?;
    let runs = workload::FIVE_STEPS.all_runs();
    let measure = told(&passes, (FIVE_STEPS, "runs/s"), runs, written.transitions());
    Ok(vec![about(measure, &written, workload::FIVE_STEPS)])
}

fn passes(setting: &Setting, load: Load) -> Result<(Vec<Pass>, Written)> {
    let folder = setting.folder.join("parallel");
    let (with_engine, without) = (folder.join("engine"), folder.join("bare"));
    // The first pass is a warm-up and is not counted.
    let mut written = engine_pass(&with_engine, load)?;
    let mut passes = Vec::new();
    for _ in 0..setting.effort.pick(3, 9) {
        written = engine_pass(&with_engine, load)?;
        passes.push(Pass {
            engine: written.spent,
            // All agents in every commit: the maximum group size.
            bare: written.bare_in_groups_of(load.agents, &without)?,
            bare_alike: written.bare_alike(&without)?,
            group: written.group(),
        });
    }
    Ok((passes, written))
}

/// Compares the best passes. Other load on the machine only adds time to a pass, so the best one is the
/// most accurate, for the engine and for the limit.
fn told(
    passes: &[Pass],
    (name, unit): (&'static str, &'static str),
    count: usize,
    transitions: usize,
) -> Measure {
    let column = |pick: &dyn Fn(&Pass) -> f64| passes.iter().map(pick).collect::<Vec<_>>();
    let engine = column(&|pass| pass.engine.per_second(count));
    let bare = column(&|pass| pass.bare.per_second(count));
    let alike = column(&|pass| pass.bare_alike.per_second(count));
    Measure::most(name, unit, &engine, TARGET)
        .beside_most(
            "plain SQLite: one thread, the same rows, all agents in every commit",
            &bare,
        )
        .with("bare_in_large_groups_per_s", most(&bare))
        .with("bare_in_groups_of_same_size_per_s", most(&alike))
        .with("ratio_of_medians", median(&engine) / median(&bare))
        .with("transitions_per_commit", median(&column(&|pass| pass.group)))
        .with(
            "processor_us_per_transition",
            median(&column(&|pass| pass.engine.processor_us(transitions))),
        )
        .with(
            "bare_processor_us_per_transition",
            median(&column(&|pass| pass.bare.processor_us(transitions))),
        )
}

/// Adds facts about the work to the measure.
fn about(measure: Measure, written: &Written, load: Load) -> Measure {
    measure
        .with("agents", load.agents as f64)
        .with("transitions", written.transitions() as f64)
        .with(
            "bare_statements_per_transition",
            written.rows.statements_per_transition(),
        )
}

/// One pass of the engine on a fresh file.
pub(crate) fn engine_pass(folder: &Path, load: Load) -> Result<Written> {
    fresh(folder)?;
    let database = folder.join("agent.sqlite");
    let runtime = engine_setup::runtime()?;
    let store = engine_setup::sqlite(folder)?;
    let before = commits(&database)?;
    let spent = Spent::on(|| runtime.block_on(workload::drive(&store, load)))?;
    let commits = commits(&database)?.wrapping_sub(before);
    ensure!(commits > 0, "no commit was counted");
    runtime.block_on(store.close())?;
    let rows = Rows::read(&database).context("reading back what the engine wrote")?;
    Ok(Written { spent, commits, rows })
}

/// Writes all rows to a new file and returns the duration.
fn write(path: &Path, rows: &Rows, transitions_per_commit: usize) -> Result<Duration> {
    let connection = plain::open(path)?;
    connection.execute_batch(&rows.schema)?;
    let statements = rows.statements.iter().map(|sql| connection.prepare(sql));
    let mut statements = statements.collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    for group in rows.transitions.chunks(transitions_per_commit) {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for write in group.iter().flat_map(|transition| &transition.writes) {
            let statement = statements.get_mut(write.statement).context("no such statement")?;
            statement.execute(params_from_iter(&write.values))?;
        }
        connection.execute_batch("COMMIT")?;
    }
    Ok(begun.elapsed())
}

/// Number of transactions that an open database has committed, by its own counter.
pub(crate) fn commits(database: &Path) -> Result<u32> {
    let mut name = database.as_os_str().to_owned();
    name.push("-shm");
    let mut file = File::open(&name).context("opening the shared memory of the database")?;
    file.seek(SeekFrom::Start(TRANSACTIONS_AT))?;
    let mut count = [0; 4];
    file.read_exact(&mut count)?;
    Ok(u32::from_ne_bytes(count))
}

/// Recreates an empty folder.
fn fresh(folder: &Path) -> Result<()> {
    if folder.try_exists()? {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_limit_writes_every_row_of_the_engine() {
        let folder = tempfile::tempdir().expect("a folder");
        let written = engine_pass(folder.path(), workload::SMALL).expect("a pass");
        let bare = folder.path().join("bare.sqlite");
        write(&bare, &written.rows, 1).expect("the same rows");
        let rows = |path: &Path, table: &str| -> i64 {
            let connection = plain::open_to_read(path).expect("a database");
            let count = format!("SELECT COUNT(*) FROM {table}");
            connection
                .query_row(&count, [], |row| row.get(0))
                .expect("a count")
        };
        let database = folder.path().join("agent.sqlite");
        for table in [
            "agent",
            "agent_head",
            "event",
            "message",
            "run",
            "run_log",
            "step",
        ] {
            assert_eq!(rows(&bare, table), rows(&database, table), "{table}");
        }
    }

    #[test]
    fn every_commit_is_counted_once_across_a_checkpoint() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sqlite");
        let connection = plain::open(&path).expect("a database");
        let insert = "INSERT INTO a (n) VALUES (1)";
        connection
            .execute_batch("CREATE TABLE a (n INTEGER) STRICT")
            .expect("a table");
        let before = commits(&path).expect("a count");
        for _ in 0..5 {
            connection.execute_batch(insert).expect("a row");
        }
        connection
            .execute_batch(&format!(
                "PRAGMA wal_checkpoint(TRUNCATE); BEGIN; {insert}; {insert}; COMMIT;"
            ))
            .expect("a checkpoint and two rows");
        assert_eq!(commits(&path).expect("a count") - before, 6);
    }
}
