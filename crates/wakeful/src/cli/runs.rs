//! `wakeful runs`: what ran, how it ended, and ending one.

mod cancel;

use clap::Subcommand;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_ports::records::{RunFilter, RunRow, StepRow};
use wakeful_ports::store::{Store as _, StoreError, View};
use wakeful_runtime::{EngineError, report};
use wakeful_store::Store;

use super::Shared;
use crate::failure::Failure;
use crate::place::reading;
use crate::show::{Out, RunInFull, RunsView};

/// Runs shown unless asked otherwise.
const LIST_DEFAULT: u32 = 20;

/// Steps read at once.
const STEPS_PAGE: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    /// List runs, newest first
    List {
        /// Only this agent's runs
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Only runs that have not ended
        #[arg(long)]
        open: bool,
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Show a run with every step
    Show {
        /// The run's key, or the first digits of it
        run: String,
    },
    /// End a run: what is under way is stopped, nothing else begins
    Cancel {
        /// The run's key, or the first digits of it
        run: String,
    },
}

/// Runs the verb.
pub(crate) async fn runs(verb: &RunsVerb, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    match verb {
        RunsVerb::List { agent, open, limit } => {
            let agent_id = agent.as_deref().map(AgentId::parse).transpose()?;
            let filter = RunFilter {
                agent_id,
                open_only: *open,
                limit: *limit,
            };
            reading(shared, async |store| list(store, filter, out).await).await?;
        }
        RunsVerb::Show { run } => {
            reading(shared, async |store| {
                show(store, find(store, run).await?, out).await
            })
            .await?;
        }
        RunsVerb::Cancel { run } => cancel::cancel(run, shared, out).await?,
    }
    Ok(0)
}

async fn list(store: &Store, filter: RunFilter, out: &Out) -> Result<(), Failure> {
    let named = filter.agent_id.clone();
    let found = store.read(move |view| {
        if let Some(agent) = &filter.agent_id
            && view.agent(agent)?.is_none()
        {
            return Ok(None);
        }
        view.runs(&filter).map(Some)
    });
    match (found.await?, named) {
        (Some(rows), _) => out.runs(&RunsView::new(&rows)),
        (None, Some(agent)) => return Err(EngineError::UnknownAgent(agent).into()),
        (None, None) => {}
    }
    Ok(())
}

/// Shows a run with every step. One whose state cannot be read is shown as far as its rows go.
async fn show(store: &Store, run: RunKey, out: &Out) -> Result<(), Failure> {
    let full = match report::load(store, run).await {
        Ok(report) => RunInFull::new(&report),
        Err(error @ (EngineError::Broken { .. } | EngineError::MachineVersion { .. })) => {
            let rows = store.read(move |view| rows(view, &run)).await?;
            let (row, steps) = rows.ok_or(EngineError::UnknownRun(run))?;
            out.note(&format!("only the rows of this run can be shown: {error}"));
            RunInFull::of_rows(&row, &steps, Failure::from(error).code())
        }
        Err(error) => return Err(error.into()),
    };
    out.run_in_full(&full);
    Ok(())
}

/// A run's own row and those of its steps.
fn rows(view: &mut dyn View, run: &RunKey) -> Result<Option<(RunRow, Vec<StepRow>)>, StoreError> {
    let Some(row) = view.run(run)? else {
        return Ok(None);
    };
    let mut steps: Vec<StepRow> = Vec::new();
    loop {
        let after = steps.last().map_or(0, |step| step.ordinal);
        let page = view.steps(run, after, STEPS_PAGE)?;
        if page.is_empty() {
            return Ok(Some((row, steps)));
        }
        steps.extend(page);
    }
}

/// Finds a run by the first digits of its key.
async fn find(store: &Store, given: &str) -> Result<RunKey, Failure> {
    let hex = given.to_ascii_lowercase();
    if hex.is_empty() || hex.len() > 64 || !hex.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        let message = format!("{given:?} is no run key");
        return Err(Failure::usage(
            "bad_run_key",
            message,
            "`wakeful runs list` shows the keys; the first digits are enough",
        ));
    }
    if let Some(digest) = Digest::from_hex(&hex) {
        let run = RunKey(digest);
        let known = store.read(move |view| view.run(&run)).await?;
        return known
            .map(|row| row.run_key)
            .ok_or_else(|| EngineError::UnknownRun(run).into());
    }
    let prefix = hex.clone();
    let found = store.read(move |view| view.runs_with_prefix(&prefix)).await?;
    match found.as_slice() {
        [run] => Ok(*run),
        [] => Err(Failure::new(
            "run_unknown",
            format!("no run begins with {hex}"),
            "`wakeful runs list` shows the runs there are",
        )),
        _ => Err(Failure::usage(
            "run_ambiguous",
            format!("several runs begin with {hex}"),
            "give more digits",
        )),
    }
}
