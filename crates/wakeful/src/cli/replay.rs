//! `wakeful replay`: a run, run again from its journal.

use clap::Args;
use serde_json::json;
use wakeful_runtime::proof::{ReplayResult, replay as run_again};

use super::GlobalArgs;
use crate::backend::Backend;
use crate::failure::{Failure, UNVERIFIED};
use crate::open_home::with_read_only;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The run's key, or the first digits of it
    run: String,
}

/// Runs the verb. The database is read as it is, also beside a daemon.
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
        let message = format!("run {run} is not what was recorded: {difference}");
        let hint =
            "the journal, the state or the log was changed after it was written: compare with a backup";
        return Err(Failure::new("replay_differs", message, hint).with_exit(UNVERIFIED));
    }
    if let Some(altered) = alterations.first() {
        let message = format!("run {run} is not what was recorded: {altered}");
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
            "\nwhat {erased} of its events said was erased: nothing holds that part of the journal to the log"
        ),
    };
    let words = format!(
        "run {run} happened again as it was recorded: {transitions} transitions, every state and effect the same, \
         {events} events{held}"
    );
    out.answer(&object, &words);
    Ok(0)
}
