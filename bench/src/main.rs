//! Benchmarks, each compared with a bare limit that is measured in the same run.
//!
//! | module | measures |
//! |---|---|
//! | [`version`] | the start of the program |
//! | [`run`] | one short run on an existing home, and on a fresh one; its memory |
//! | [`round`] | the cost of a tool round beyond the sandboxed command itself |
//! | [`disk`] | what a tool round leaves on disk |
//! | [`flat`] | whether a late step costs more than an early one |
//! | [`binary`] | the size of the program |
//! | [`serve`] | the daemon: its start, idle cost, queue, streams and wakes |
//! | [`models`] | model requests: the client compared with the official SDKs, streams, the first request |
//! | [`verify`] | verified log events per second |
//! | [`matching`] | matching a notice against many subscriptions |
//! | [`policy`] | one decision with 200 policies |
//! | [`tool_call`] | the path of an allowed call, and the start of a command |
//! | [`injection`] | attacks by text that agents read, and what honest work costs in decisions |
//! | [`taint`] | what following untrusted text costs in a round |
//! | [`search`] | searching 100,000 files |
//! | [`causal`] | joining two records of an agent's state |
//! | [`parallel`] | committed transitions per second of many agents, on both databases |
//!
//! `measure` defines the form of a result, `machine` describes the machine, `engine_setup` provides the
//! ports of an engine, `program` runs the shipped program as a process, `plain` is SQLite without the
//! store.
//!
//! Standard output has one JSON object and nothing else; progress is written to standard error.
#![forbid(unsafe_code)]

mod binary;
mod causal;
mod disk;
mod engine_setup;
mod flat;
mod injection;
mod machine;
mod matching;
mod measure;
mod models;
mod parallel;
mod plain;
mod policy;
mod program;
mod redaction;
mod round;
mod run;
mod search;
mod serve;
mod taint;
mod tool_call;
mod verify;
mod version;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::machine::Machine;
use crate::measure::Measure;
use crate::models::{client, cost, crowd, first, forward, word};
use crate::program::Program;
use crate::serve::{dormant, drain, enqueue, flood, idle, notice, ready, stream};

/// Measures Wakeful against bare limits and prints one JSON object.
#[derive(Debug, Parser)]
#[command(name = "wakeful-bench", args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    part: Option<Role>,
    /// The program to measure
    #[arg(long, value_name = "FILE", required = true)]
    wakeful: Option<PathBuf>,
    /// Where homes are created while measuring; use a folder on a real disk [default: the temporary folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// A PostgreSQL server on which a database may be created and dropped
    #[arg(
        long,
        value_name = "URL",
        env = "WAKEFUL_TEST_POSTGRES",
        hide_env_values = true
    )]
    postgres: Option<String>,
    /// A Python installation with the official SDKs, to compare with
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Take few samples: to check that the benchmarks work, not for reliable numbers
    #[arg(long)]
    quick: bool,
    /// Only the measures of this name; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// The role of this program when it starts itself.
#[derive(Debug, Subcommand)]
enum Role {
    /// Send requests to a fake provider
    #[command(hide = true)]
    Client(client::Job),
}

/// The input of every measure.
struct Setting {
    program: Program,
    python: Option<PathBuf>,
    folder: PathBuf,
    postgres: Option<String>,
    effort: Effort,
}

/// How many samples to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    Quick,
    Full,
}

impl Effort {
    /// Selects a number of samples.
    const fn pick(self, quick: usize, full: usize) -> usize {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// Measures that are taken together, with their names in the report.
struct Part {
    names: &'static [&'static str],
    take: fn(&Setting) -> Result<Vec<Measure>>,
}

const PARTS: [Part; 40] = [
    Part {
        names: &[version::NAME],
        take: version::take,
    },
    Part {
        names: &[run::EXISTING, run::STATUS, run::MEMORY],
        take: run::take_existing,
    },
    Part {
        names: &[run::FRESH],
        take: run::take_fresh,
    },
    Part {
        names: &[round::NAME],
        take: round::take,
    },
    Part {
        names: &[disk::NAME],
        take: disk::take,
    },
    Part {
        names: &[binary::NAME],
        take: binary::take,
    },
    Part {
        names: &[ready::EXISTING],
        take: ready::take_existing,
    },
    Part {
        names: &[ready::FRESH],
        take: ready::take_fresh,
    },
    Part {
        names: &[flat::NAME],
        take: flat::take,
    },
    Part {
        names: &[ready::MILLION],
        take: ready::take_million,
    },
    Part {
        names: &[ready::OPEN],
        take: ready::take_open,
    },
    Part {
        names: &[idle::MEMORY, idle::WAKEUPS],
        take: idle::take,
    },
    Part {
        names: &[enqueue::ONE, enqueue::MANY],
        take: enqueue::take,
    },
    Part {
        names: &[stream::LATE],
        take: stream::take_late,
    },
    Part {
        names: &[stream::LISTENERS],
        take: stream::take_listeners,
    },
    Part {
        names: &[drain::NAME],
        take: drain::take,
    },
    Part {
        names: &[notice::NAME],
        take: notice::take,
    },
    Part {
        names: &[dormant::READY, dormant::MEMORY, dormant::WAKEUPS],
        take: dormant::take,
    },
    Part {
        names: &[flood::LATE, flood::MEMORY],
        take: flood::take,
    },
    Part {
        names: &[cost::OPENAI, cost::OPENAI_TOKEN],
        take: cost::take_openai,
    },
    Part {
        names: &[cost::ANTHROPIC, cost::ANTHROPIC_TOKEN],
        take: cost::take_anthropic,
    },
    Part {
        names: &[cost::OPENAI_COUNTED, cost::ANTHROPIC_COUNTED],
        take: cost::take_counted,
    },
    Part {
        names: &[forward::NAME],
        take: forward::take,
    },
    Part {
        names: &[word::NAME],
        take: word::take,
    },
    Part {
        names: &[tool_call::COMMAND],
        take: tool_call::take_command,
    },
    Part {
        names: &[tool_call::PATH],
        take: tool_call::take_path,
    },
    Part {
        names: &[search::NAME],
        take: search::take,
    },
    Part {
        names: &[crowd::NAME],
        take: crowd::take,
    },
    Part {
        names: &[first::NAME],
        take: first::take,
    },
    Part {
        names: &[verify::NAME],
        take: verify::take,
    },
    Part {
        names: &[matching::NAME],
        take: matching::take,
    },
    Part {
        names: &[policy::NAME, policy::MEDIAN],
        take: policy::take,
    },
    Part {
        names: &[redaction::NAME],
        take: redaction::take,
    },
    Part {
        names: &[injection::NAME, injection::ACTED, injection::DECISIONS],
        take: injection::take,
    },
    Part {
        names: &[taint::NAME],
        take: taint::take,
    },
    Part {
        names: &[causal::NAME],
        take: causal::take,
    },
    Part {
        names: &[parallel::SQLITE],
        take: parallel::take_sqlite,
    },
    Part {
        names: &[parallel::POSTGRES],
        take: parallel::take_postgres,
    },
    Part {
        names: &[parallel::FIVE_STEPS],
        take: parallel::take_five_steps,
    },
    Part {
        names: &[parallel::FIVE_STEPS_POSTGRES],
        take: parallel::take_five_steps_postgres,
    },
];

#[derive(Serialize)]
struct Report {
    quick: bool,
    machine: Machine,
    measures: Vec<Measure>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(Role::Client(job)) = &args.part {
        return client::work(job);
    }
    let known = || PARTS.iter().flat_map(|part| part.names.iter().copied());
    if let Some(name) = args.only.iter().find(|only| known().all(|name| name != *only)) {
        bail!(
            "unknown measure {name}; available: {}",
            known().collect::<Vec<_>>().join(", ")
        );
    }
    let parent = args.folder.unwrap_or_else(std::env::temp_dir);
    std::fs::create_dir_all(&parent).with_context(|| format!("making {}", parent.display()))?;
    let folder = tempfile::TempDir::new_in(&parent)?;
    let setting = Setting {
        program: Program::new(&args.wakeful.context("--wakeful is missing")?)?,
        python: args.python,
        folder: folder.path().canonicalize()?,
        postgres: args.postgres,
        effort: if args.quick { Effort::Quick } else { Effort::Full },
    };
    let mut machine = Machine::look(&setting.folder)?;
    let mut measures = Vec::new();
    for part in &PARTS {
        let wanted =
            args.only.is_empty() || part.names.iter().any(|name| args.only.iter().any(|o| o == name));
        if wanted {
            say(&format!("measuring {} …", part.names.join(", ")));
            let taken =
                (part.take)(&setting).with_context(|| format!("measuring {}", part.names.join(", ")))?;
            taken.iter().for_each(|measure| say(&format!("  {measure}")));
            measures.extend(taken);
        }
    }
    machine.look_again()?;
    let report = Report {
        quick: args.quick,
        machine,
        measures,
    };
    let mut text = serde_json::to_vec_pretty(&report)?;
    text.push(b'\n');
    std::io::stdout().write_all(&text)?;
    Ok(())
}

/// Writes a progress line to standard error.
fn say(text: &str) {
    eprintln!("{text}");
}
