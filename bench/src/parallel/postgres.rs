//! Many agents on PostgreSQL, compared with the blocking driver with prepared statements, one transaction
//! per transition and as many connections.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, Statement};
use rusqlite::types::Value;

use wakeful_core::id::RunnerId;
use wakeful_store::rows::Runner;
use wakeful_store::{PostgresOptions, Store};

use super::rows::{Rows, TransitionRows};
use super::table::bytes;
use super::workload::{self, Load};
use super::{Spent, sqlite};
use crate::measure::{Measure, Target, median};
use crate::{Setting, engine_setup, say};

pub(crate) const NAME: &str = "parallel_transitions_per_s_postgres";
pub(crate) const FIVE_STEPS: &str = "five_step_runs_per_s_postgres";

/// Connections of the store and of the bare limit: a few more than a small machine has processors, so that
/// some can wait for the disk while others work.
const CONNECTIONS: usize = 8;

/// Tables that identify the database; the store needs them unchanged.
const KEPT: [&str; 2] = ["schema_version", "host"];

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let load = workload::LONG;
    measured(setting, load, |rows| {
        (NAME, "transitions/s", rows, Target::Informs)
    })
}

/// Short runs of sixteen clients, counted in runs.
pub(crate) fn take_five_steps(setting: &Setting) -> Result<Vec<Measure>> {
    let load = workload::FIVE_STEPS;
    measured(setting, load, |_| {
        (FIVE_STEPS, "runs/s", load.all_runs(), Target::RatioAtLeast(0.45))
    })
}

/// The name and unit of a measure, the amount of work, and the target.
type Named = (&'static str, &'static str, usize, Target);

fn measured(setting: &Setting, load: Load, named: impl FnOnce(usize) -> Named) -> Result<Vec<Measure>> {
    let Some(url) = &setting.postgres else {
        say("  no PostgreSQL server given; start one with scripts/with-postgres");
        return Ok(Vec::new());
    };
    // The rows are the same on both databases, and reading them back from SQLite is easier.
    let rows = sqlite::engine_pass(&setting.folder.join("parallel-rows"), load)?.rows;
    let (name, unit, count, target) = named(rows.transitions.len());
    let (mut engine, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(1, 3) {
        let scratch = Scratch::new(url)?;
        let runtime = engine_setup::runtime()?;
        engine.push(Spent::on(|| runtime.block_on(engine_pass(&scratch, load)))?.per_second(count));
        scratch.empty()?;
        bare.push(Spent::on(|| scratch.write(&rows))?.per_second(count));
    }
    let measure = Measure::most(name, unit, &engine, target)
        .beside_most(
            "plain driver: the same rows and connections, a transaction for each transition",
            &bare,
        )
        .with("ratio_of_medians", median(&engine) / median(&bare))
        .with("agents", load.agents as f64)
        .with("connections", CONNECTIONS as f64);
    Ok(vec![measure])
}

/// One pass of the engine on a fresh database.
async fn engine_pass(scratch: &Scratch, load: Load) -> Result<Duration> {
    let options = PostgresOptions {
        url: scratch.url.clone(),
        connections: CONNECTIONS,
    };
    let store = Store::open_postgres(&options, engine_setup::HOST).await?;
    let runner = Runner {
        runner_id: RunnerId::new(engine_setup::RUNNER),
        machine: "bench".to_owned(),
        pid: std::process::id(),
        pid_started: 0,
    };
    store.write(move |tx| tx.register_runner(&runner)).await?;
    let wall = workload::drive(&store, load).await?;
    store.close().await?;
    Ok(wall)
}

/// A temporary database on the given server, dropped at the end.
struct Scratch {
    admin: Config,
    name: String,
    url: String,
}

impl Scratch {
    fn new(url: &str) -> Result<Self> {
        let admin: Config = url.parse().context("parsing the PostgreSQL URL")?;
        let name = format!("wakeful_bench_{}", std::process::id());
        let mut client = admin.connect(NoTls).context("connecting to PostgreSQL")?;
        client.batch_execute(&format!("CREATE DATABASE {name}"))?;
        Ok(Self {
            admin,
            url: with_database(url, &name),
            name,
        })
    }

    /// Deletes the rows that a store left, and keeps its tables.
    fn empty(&self) -> Result<()> {
        let mut client = self.connect()?;
        let tables = client.query(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'wakeful_agents'",
            &[],
        )?;
        for table in tables {
            let name: String = table.get(0);
            if !KEPT.contains(&name.as_str()) {
                client.batch_execute(&format!("TRUNCATE {name}"))?;
            }
        }
        // Cleanup of the emptied tables must not happen during the measurement.
        client.batch_execute("CHECKPOINT")?;
        Ok(())
    }

    /// Writes all rows through several connections and returns the duration.
    fn write(&self, rows: &Rows) -> Result<Duration> {
        let mut lanes = Vec::with_capacity(CONNECTIONS);
        for work in divided(rows)? {
            let mut client = self.connect()?;
            let statements = rows
                .statements
                .iter()
                .map(|sql| client.prepare(&sql.replace('?', "$")));
            let statements = statements.collect::<Result<Vec<_>, _>>()?;
            lanes.push((client, statements, work));
        }
        let begun = Instant::now();
        thread::scope(|scope| {
            let lanes = lanes.into_iter();
            let lanes = lanes
                .map(|(client, statements, work)| scope.spawn(move || write(client, &statements, &work)));
            for lane in lanes.collect::<Vec<_>>() {
                match lane.join() {
                    Ok(done) => done?,
                    Err(_) => bail!("a connection's thread panicked"),
                }
            }
            Ok(())
        })?;
        Ok(begun.elapsed())
    }

    fn connect(&self) -> Result<Client> {
        let mut client = Client::connect(&self.url, NoTls)?;
        client.batch_execute("SET search_path TO wakeful_agents")?;
        Ok(client)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let dropped = self.admin.connect(NoTls).and_then(|mut client| {
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name))
        });
        if let Err(error) = dropped {
            say(&format!(
                "the database {} could not be dropped: {error}",
                self.name
            ));
        }
    }
}

/// Assigns all transitions of an agent to one connection, so that their order is kept and none waits for
/// another's lock.
fn divided(rows: &Rows) -> Result<Vec<Vec<&TransitionRows>>> {
    let mut lanes: Vec<Vec<&TransitionRows>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    let mut lane_of: BTreeMap<&[u8], usize> = BTreeMap::new();
    for transition in &rows.transitions {
        let next = lane_of.len() % CONNECTIONS;
        let lane = *lane_of.entry(bytes(&transition.agent)?).or_insert(next);
        lanes.get_mut(lane).context("no such lane")?.push(transition);
    }
    Ok(lanes)
}

fn write(mut client: Client, statements: &[Statement], work: &[&TransitionRows]) -> Result<()> {
    for transition in work {
        client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")?;
        for write in &transition.writes {
            let statement = statements.get(write.statement).context("no such statement")?;
            client.execute(statement, &typed(statement, &write.values)?)?;
        }
        client.batch_execute("COMMIT")?;
    }
    Ok(())
}

/// Converts values to the types that the statement expects; the driver refuses any other, also for a null.
fn typed<'a>(statement: &Statement, values: &'a [Value]) -> Result<Vec<&'a (dyn ToSql + Sync)>> {
    const NO_INTEGER: &Option<i64> = &None;
    const NO_TEXT: &Option<&str> = &None;
    const NO_BYTES: &Option<&[u8]> = &None;
    let pairs = values.iter().zip(statement.params());
    let values = pairs.map(|(value, expected)| -> Result<&(dyn ToSql + Sync)> {
        match value {
            Value::Null if *expected == Type::INT8 => Ok(NO_INTEGER),
            Value::Null if *expected == Type::TEXT => Ok(NO_TEXT),
            Value::Null => Ok(NO_BYTES),
            Value::Integer(value) => Ok(value),
            Value::Text(value) => Ok(value),
            Value::Blob(value) => Ok(value),
            Value::Real(_) => bail!("no column contains fractional numbers"),
        }
    });
    values.collect()
}

/// The same URL with another database.
fn with_database(url: &str, name: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // In the key=value form, the last value of a key counts.
        return format!("{url} dbname={name}");
    };
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let server = place.split_once('/').map_or(place, |(server, _)| server);
    let question = if options.is_empty() { "" } else { "?" };
    format!("{scheme}://{server}/{name}{question}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_replaced_in_both_url_forms() {
        let words = with_database("host=/tmp user=postgres dbname=postgres", "b");
        assert_eq!(
            words
                .parse::<Config>()
                .map(|config| config.get_dbname() == Some("b"))
                .ok(),
            Some(true)
        );
        assert_eq!(
            with_database("postgres://u@h:1/a?x=y", "b"),
            "postgres://u@h:1/b?x=y"
        );
        assert_eq!(with_database("postgres://h", "b"), "postgres://h/b");
    }
}
