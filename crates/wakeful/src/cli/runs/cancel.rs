//! `wakeful runs cancel`: a request to end a run, seen through as far as this process may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wakeful_api::{CancelRun, CancelledRun, GetRun, PendingCancel, Text};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::stop::StopTarget;
use wakeful_runtime::run::{ClaimedRun, claim, release_run};
use wakeful_runtime::{EngineError, Halt};

use wakeful_store::keep_in_slot;

use super::show;
use crate::backend::Backend;
use crate::backend::stop::{self, StopDelivery};
use crate::discover::daemon_now;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::model::demo;
use crate::open_home::{EngineOptions, LockOutcome, OpenHome, RealEngine, SandboxRequirement};
use crate::show::{Out, Progress};
use crate::workspace::WorkspacePath;

/// How long it waits for whoever is in the way, and how often it looks.
const WAIT: Duration = Duration::from_secs(10);
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// How long the state of a run before its cancellation is waited for: it is a remark, and the request is urgent.
const BEFORE_WAIT: Duration = Duration::from_millis(500);

/// Runs the verb.
pub(super) async fn cancel(given: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if let Some(client) = daemon_now(shared)? {
        return through_daemon(&Backend { client }, given, shared, out).await;
    }
    let home = stop::home_of(shared)?;
    // A whole key needs no look at the database: the request is in force for whatever drives the run before that is opened.
    let Some(run) = Digest::from_hex(&given.to_ascii_lowercase()).map(RunKey) else {
        return beside(given, shared, out).await;
    };
    let request = stop::request(StopTarget::Run(run), String::new());
    let _ = keep_in_slot(&home.brake_slot(), &request);
    match stop::told(&home, request, OpenHome::open_unlocked(shared)).await? {
        StopDelivery::Taken(place) => {
            place
                .run_and_close(out, async |place| end(place, given, out).await)
                .await
        }
        StopDelivery::Kept(pending) => {
            tell_pending(&stop::pending_cancel(run, &pending), out);
            Ok(())
        }
    }
}

/// The same where only the database knows which run is meant.
async fn beside(given: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let place = OpenHome::open_unlocked(shared).await?;
    place
        .run_and_close(out, async |place| end(place, given, out).await)
        .await
}

/// Ends a run from this process.
async fn end(place: &mut OpenHome, given: &str, out: &Out) -> Result<(), Failure> {
    let backend = Backend::of_place(place)?;
    let run = backend.find_run(given).await?;
    let run_key = Text(run);
    let before = backend.call(GetRun { run_key }).await?;
    // One that stands aside is not ended here, and the runtime says what is to be done about it.
    if let CancelledRun::Pending(pending) = backend.call(CancelRun { run_key }).await? {
        tell_pending(&pending, out);
        return Ok(());
    }
    if before.outcome == RunStatus::Open {
        see_through(place, run, out).await?;
    } else if before.outcome != RunStatus::Queued {
        out.note("the run had already ended");
    }
    show(&backend.call(GetRun { run_key }).await?, out);
    Ok(())
}

fn tell_pending(pending: &PendingCancel, out: &Out) {
    let words = format!(
        "cancelled  run {}\n           {}",
        pending.run_key, pending.not_durable.message
    );
    out.answer(pending, &words);
}

/// The daemon ends what it drives; it is waited for.
async fn through_daemon(
    backend: &Backend,
    given: &str,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    let run = backend.find_run(given).await?;
    let run_key = Text(run);
    let before = tokio::time::timeout(BEFORE_WAIT, backend.call(GetRun { run_key })).await;
    let has_ended = matches!(before, Ok(Ok(run)) if !run.outcome.is_under_way());
    let deadline = Instant::now() + WAIT;
    let request = stop::request(StopTarget::Run(run), String::new());
    let told = stop::told(
        &stop::home_of(shared)?,
        request,
        backend.call(CancelRun { run_key }),
    )
    .await?;
    let mut seen = match told {
        StopDelivery::Taken(CancelledRun::Run(seen)) => *seen,
        StopDelivery::Taken(CancelledRun::Pending(pending)) => {
            tell_pending(&pending, out);
            return Ok(());
        }
        StopDelivery::Kept(pending) => {
            tell_pending(&stop::pending_cancel(run, &pending), out);
            return Ok(());
        }
    };
    if has_ended {
        out.note("the run had already ended");
    }
    while seen.outcome.is_under_way() {
        if Instant::now() >= deadline {
            return Err(left(run, "the daemon has not come to it"));
        }
        tokio::time::sleep(CANCEL_POLL).await;
        seen = backend.call(GetRun { run_key }).await?;
    }
    show(&seen, out);
    Ok(())
}

/// Waits until the run has ended by whoever drives it, or ends it here as soon as nobody does.
async fn see_through(place: &mut OpenHome, run: RunKey, out: &Out) -> Result<(), Failure> {
    let deadline = Instant::now() + WAIT;
    loop {
        let row = place.store.read(move |view| view.run(&run)).await?;
        if row.is_none_or(|row| row.status != RunStatus::Open) {
            return Ok(());
        }
        let in_the_way = match place.acquire_drive_lock()? {
            LockOutcome::HeldByOther { pid } => format!("the home is in use by process {pid}"),
            LockOutcome::Acquired => match claim(&place.store, &place.runner.runner_id, run).await {
                Ok(Some(claimed)) => return finish(place, claimed, out).await,
                Ok(None) => return Ok(()),
                Err(error @ EngineError::AgentBusy { .. }) => {
                    place.remove_dead_runners().await?;
                    error.to_string()
                }
                Err(error) => return Err(error.into()),
            },
        };
        if Instant::now() >= deadline {
            return Err(left(run, &in_the_way));
        }
        tokio::time::sleep(CANCEL_POLL).await;
    }
}

fn left(run: RunKey, in_the_way: &str) -> Failure {
    let message = format!("run {run} has not ended yet: {in_the_way}; the request to end it is left");
    let hint = "whoever drives the run ends it at its next step; if nobody does, call this again later";
    Failure::new("cancel_pending", message, hint)
}

/// Nobody drives the run, so its end is written by us: the driver meets the request before anything else.
async fn finish(place: &OpenHome, claimed: Box<ClaimedRun>, out: &Out) -> Result<(), Failure> {
    // Neither a model nor a command is asked for anything on this way, so neither may stand in it.
    let home = place.home.root();
    let own = WorkspacePath::look(claimed.turn().workspace.as_ref(), home);
    let workspace = own.or_else(|_| WorkspacePath::stand_in(home));
    match workspace.and_then(|workspace| Ok((engine(place, &workspace, out)?, workspace))) {
        Ok((engine, _workspace)) => {
            engine.drive(claimed).await?;
            Ok(place.recover_sagas_and_tell(out).await?)
        }
        Err(failure) => {
            release_run(&place.store, claimed).await?;
            Err(failure)
        }
    }
}

fn engine(place: &OpenHome, workspace: &WorkspacePath, out: &Out) -> Result<RealEngine, Failure> {
    let (models, sandboxing, halt) = (demo()?, SandboxRequirement::Required, Halt::never());
    place.engine(EngineOptions {
        models,
        workspace,
        sandboxing,
        halt,
        observer: Arc::new(Progress::new(out, Arc::default())),
    })
}
