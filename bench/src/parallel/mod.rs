//! Committed transitions per second of many agents in one process, with a model and a tool that cost nothing.
//!
//! What is left is the engine and the store. The bare limit writes the same rows with prepared statements and
//! nothing else: on SQLite from one thread, with as many transitions in a commit as the engine had on average; on
//! PostgreSQL from as many connections as the store had, one transaction for each transition.

mod postgres;
mod rows;
mod sqlite;
mod table;
mod workload;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use wakeful_core::id::RunnerId;
use wakeful_ports::records::Runner;
use wakeful_ports::store::Store as _;
use wakeful_store::{PostgresOptions, Store};

use self::postgres::Scratch;
use self::rows::Rows;
use crate::measure::{Measure, Target, median};
use crate::{Setting, say, world};

pub(crate) const SQLITE: &str = "parallel_transitions_per_s";
pub(crate) const POSTGRES: &str = "parallel_transitions_per_s_postgres";

/// Connections of the store, and of the bare limit: a few more than the processors of a small machine, so that
/// some can wait for the disk while others work.
const CONNECTIONS: usize = 8;

/// What the engine must reach of the bare limit.
const TARGET: Target = Target::RatioAtLeast(0.45);

/// One pass on SQLite.
struct Pass {
    engine: f64,
    bare: f64,
    group: f64,
    statements: f64,
}

pub(crate) fn take_sqlite(setting: &Setting) -> Result<Vec<Measure>> {
    let mut passes = Vec::new();
    for number in 0..setting.effort.pick(2, 7) {
        passes.push(pass(setting, number)?);
    }
    let column = |pick: fn(&Pass) -> f64| passes.iter().map(pick).collect::<Vec<_>>();
    let measure = Measure::median(SQLITE, "transitions/s", &column(|pass| pass.engine), TARGET)
        .beside("plain SQLite: one thread, the same rows, groups of the same size", &column(|pass| pass.bare))
        .with_ratio(median(&column(|pass| pass.engine / pass.bare)), TARGET)
        .with("agents", workload::AGENTS as f64)
        .with("transitions_per_commit", median(&column(|pass| pass.group)))
        .with("bare_statements_per_transition", median(&column(|pass| pass.statements)));
    Ok(vec![measure])
}

fn pass(setting: &Setting, number: usize) -> Result<Pass> {
    let folder = setting.folder.join(format!("parallel-{number}"));
    let (engine, rows, commits) = engine_pass(&folder)?;
    let count = rows.transitions.len();
    let group = count as f64 / f64::from(commits);
    let bare = sqlite::write(&folder.join("bare.sqlite"), &rows, count.div_ceil(commits.try_into()?))?;
    std::fs::remove_dir_all(&folder)?;
    Ok(Pass {
        engine: per_second(count, engine),
        bare: per_second(count, bare),
        group,
        statements: rows.statements_per_transition(),
    })
}

/// One pass of the engine on a fresh file: how long it took, what it wrote, and in how many commits.
fn engine_pass(folder: &std::path::Path) -> Result<(Duration, Rows, u32)> {
    std::fs::create_dir_all(folder)?;
    let database = folder.join("agent.sqlite");
    let (wall, commits) = world::runtime()?.block_on(async {
        let store = world::sqlite(folder)?;
        let before = sqlite::commits(&database)?;
        let wall = workload::drive(&store).await?;
        let commits = sqlite::commits(&database)?.wrapping_sub(before);
        store.close().await?;
        anyhow::Ok((wall, commits))
    })?;
    ensure!(commits > 0, "no commit was counted");
    let rows = Rows::read(&database).context("reading back what the engine wrote")?;
    Ok((wall, rows, commits))
}

pub(crate) fn take_postgres(setting: &Setting) -> Result<Vec<Measure>> {
    let Some(url) = &setting.postgres else {
        say("  no PostgreSQL was given; scripts/with-postgres starts one");
        return Ok(Vec::new());
    };
    // The rows are the same on both databases, and SQLite gives them back more easily.
    let (_, rows, _) = engine_pass(&setting.folder.join("parallel-rows"))?;
    let count = rows.transitions.len();
    let (mut engine, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(1, 3) {
        let scratch = Scratch::new(url)?;
        engine.push(per_second(count, world::runtime()?.block_on(postgres_pass(&scratch))?));
        scratch.empty()?;
        bare.push(per_second(count, scratch.write(&rows, CONNECTIONS)?));
    }
    let pairs: Vec<f64> = engine.iter().zip(&bare).map(|(engine, bare)| engine / bare).collect();
    let measure = Measure::median(POSTGRES, "transitions/s", &engine, Target::Informs)
        .beside("plain driver: the same rows and connections, a transaction for each transition", &bare)
        .with_ratio(median(&pairs), Target::Informs)
        .with("agents", workload::AGENTS as f64)
        .with("connections", CONNECTIONS as f64);
    Ok(vec![measure])
}

async fn postgres_pass(scratch: &Scratch) -> Result<Duration> {
    let options = PostgresOptions {
        url: scratch.url().to_owned(),
        connections: CONNECTIONS,
    };
    let store = Store::open_postgres(&options, world::HOST).await?;
    let runner = Runner {
        runner_id: RunnerId::new(world::RUNNER),
        place: "bench".to_owned(),
        pid: std::process::id(),
        pid_started: 0,
    };
    store.write(move |tx| tx.register_runner(&runner)).await?;
    let wall = workload::drive(&store).await?;
    store.close().await?;
    Ok(wall)
}

fn per_second(count: usize, wall: Duration) -> f64 {
    count as f64 / wall.as_secs_f64()
}
