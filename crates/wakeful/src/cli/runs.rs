//! `wakeful runs`: what ran, how it ended, and ending one.

use std::time::Duration;

use clap::Subcommand;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_ports::clock::Clock as _;
use wakeful_ports::records::{RUN_OPEN, RunFilter};
use wakeful_ports::store::Store as _;
use wakeful_runtime::EngineError;
use wakeful_runtime::report;

use super::Shared;
use crate::failure::Failure;
use crate::place::{Place, Sandboxing, load_model, workspace_path};
use crate::show::{Out, RunView, RunsView};
use crate::world::RealClock;

/// Runs shown unless asked otherwise.
const LIST_DEFAULT: u32 = 20;

/// How long `cancel` waits for the process that drives the run, and how often it looks.
const CANCEL_WAIT: Duration = Duration::from_secs(10);
const CANCEL_LOOK: Duration = Duration::from_millis(50);

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
            let place = Place::open_for_reading(shared).await?;
            let filter = RunFilter {
                agent_id,
                open_only: *open,
                limit: *limit,
            };
            let rows = place.store.read(move |view| view.runs(&filter)).await?;
            out.runs(&RunsView::new(&rows));
        }
        RunsVerb::Show { run } => {
            let place = Place::open_for_reading(shared).await?;
            let run = find(&place, run).await?;
            let report = report::load(&place.store, run).await?;
            out.run_in_full(&RunView::new(&report));
        }
        RunsVerb::Cancel { run } => return cancel(run, shared, out).await,
    }
    Ok(0)
}

/// Finds a run by the first digits of its key.
async fn find(place: &Place, given: &str) -> Result<RunKey, Failure> {
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
        let known = place.store.read(move |view| view.run(&run)).await?;
        return known
            .map(|row| row.run_key)
            .ok_or_else(|| EngineError::UnknownRun(run).into());
    }
    let prefix = hex.clone();
    let found = place
        .store
        .read(move |view| view.runs_with_prefix(&prefix))
        .await?;
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

/// Leaves a request to end a run, and sees it through: here if nobody drives the run, else by waiting a
/// while for whoever does.
async fn cancel(given: &str, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    let place = Place::open_beside(shared).await?;
    let run = find(&place, given).await?;
    let at = RealClock::new().now();
    let open = place.store.write(move |tx| {
        let open = tx.run(&run)?.is_some_and(|row| row.status == RUN_OPEN);
        if open {
            tx.request_cancel(&run, at)?;
        }
        Ok(open)
    });
    if !open.await? {
        let report = report::load(&place.store, run).await?;
        out.note("the run had already ended");
        out.run_in_full(&RunView::new(&report));
        return Ok(0);
    }
    if let Some(place) = place.with_lock_if_free().await? {
        finish_here(&place, run, out).await?;
        place.close().await?;
    } else if !wait_for_end(&place, run).await? {
        out.note("the request is left; the process that drives the run ends it at its next step");
    }
    let report = report::load(&place.store, run).await?;
    out.run_in_full(&RunView::new(&report));
    Ok(0)
}

/// Nobody drives the run, so its end is written by us: the driver meets the request before anything else.
async fn finish_here(place: &Place, run: RunKey, out: &Out) -> Result<(), Failure> {
    let row = place
        .store
        .read(move |view| view.run(&run))
        .await?
        .ok_or(EngineError::UnknownRun(run))?;
    let turn = wakeful_runtime::run::decode(&row)?;
    // The model is never asked on this way, so a script that has gone must not stand in it.
    let models = load_model(Some("demo"), out)?.1;
    let workspace = workspace_path(Some(turn.workspace.as_ref()), None, &place.home)?;
    let engine = place.engine(models, &workspace, Sandboxing::Required, out)?;
    match engine.claim(run).await {
        Ok(Some(claimed)) => engine.drive(claimed).await.map(drop)?,
        Ok(None) => {}
        Err(EngineError::AgentBusy { .. }) => {
            wait_for_end(place, run).await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn wait_for_end(place: &Place, run: RunKey) -> Result<bool, Failure> {
    let looks = CANCEL_WAIT.as_millis() / CANCEL_LOOK.as_millis();
    for _ in 0..looks {
        let row = place.store.read(move |view| view.run(&run)).await?;
        if row.is_none_or(|row| row.status != RUN_OPEN) {
            return Ok(true);
        }
        tokio::time::sleep(CANCEL_LOOK).await;
    }
    Ok(false)
}
