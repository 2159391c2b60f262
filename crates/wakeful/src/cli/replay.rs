//! `wakeful replay`: runs a stored run again from its run log.

use clap::Args;
use serde_json::json;
use wakeful_runtime::proof::{ReplayResult, replay as run_again};

use super::GlobalArgs;
use crate::backend::Backend;
use crate::failure::{Failure, UNVERIFIED};
use crate::open_home::with_read_only;
use crate::show::Out;
use crate::show::phrase::count;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Run key or a unique prefix of it
    run: String,
}

/// Reads the database without a lock, so it works while a daemon runs.
pub(crate) async fn replay(args: &ReplayArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let replayed = with_read_only(shared, async |store| {
        let run = Backend::of_store(store, shared)?.find_run(&args.run).await?;
        Ok(run_again(store, run).await?)
    });
    let ReplayResult {
        row,
        transitions,
        events,
        ties,
        difference,
        alterations,
    } = replayed.await?;
    let run = row.run_key;
    if let Some(difference) = difference {
        let message = format!("run {run} differs from its record: {difference}");
        let hint =
            "the run log, the state or the event log was changed after it was written; compare with a backup";
        return Err(Failure::new("replay_differs", message, hint).with_exit(UNVERIFIED));
    }
    if let Some(altered) = alterations.first() {
        let message = format!("run {run} differs from its record: {altered}");
        return Err(Failure::new("replay_differs", message, altered.hint()).with_exit(UNVERIFIED));
    }
    let object = json!({
        "run_key": run, "agent_id": row.agent_id, "outcome": row.status, "ok": true,
        "transitions": transitions, "events": events,
        "bound": ties.hold(), "erased": ties.erased,
    });
    let held = match ties.erased {
        0 => String::new(),
        erased => format!(
            "\nthe contents of {erased} of its events were erased, so that part of the run log could not be checked against the event log"
        ),
    };
    let words = format!(
        "run {run} replayed identically: {} with the same states and effects, {}{held}",
        count(transitions, "transition"),
        count(events, "event")
    );
    out.answer(&object, &words);
    Ok(0)
}
