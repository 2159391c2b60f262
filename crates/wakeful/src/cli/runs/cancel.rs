//! `wakeful runs cancel`: requests the end of a run, and completes it if this process can.

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

/// How long to wait for another process that holds the run.
const WAIT: Duration = Duration::from_secs(10);
const CANCEL_POLL: Duration = Duration::from_millis(50);

/// How long to wait for the run's state before the cancellation. It only affects a note in the output, and
/// the request is urgent.
const BEFORE_WAIT: Duration = Duration::from_millis(500);

pub(super) async fn cancel(given: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if let Some(client) = daemon_now(shared)? {
        return through_daemon(&Backend { client }, given, shared, out).await;
    }
    let home = stop::home_of(shared)?;
    // A full key needs no database lookup, so the request is in force before the database is opened.
    let Some(run) = Digest::from_hex(&given.to_ascii_lowercase()).map(RunKey) else {
        return beside(given, shared, out).await;
    };
    let request = stop::request(StopTarget::Run(run), String::new());
    let _ = keep_in_slot(&home.brake_slot(), &request);
    match stop::deliver(&home, request, OpenHome::open_unlocked(shared)).await? {
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

/// Cancels a run given by a key prefix, which only the database can resolve.
async fn beside(given: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let place = OpenHome::open_unlocked(shared).await?;
    place
        .run_and_close(out, async |place| end(place, given, out).await)
        .await
}

/// Cancels a run from this process.
async fn end(place: &mut OpenHome, given: &str, out: &Out) -> Result<(), Failure> {
    let backend = Backend::of_open_home(place)?;
    let run = backend.find_run(given).await?;
    let run_key = Text(run);
    let before = backend.call(GetRun { run_key }).await?;
    // A quarantined run is not cancelled here; the runtime's response describes what to do.
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

/// Asks the daemon to cancel the run, and waits for the end.
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
    let told = stop::deliver(
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
            return Err(left(run, "the daemon has not reached it yet"));
        }
        tokio::time::sleep(CANCEL_POLL).await;
        seen = backend.call(GetRun { run_key }).await?;
    }
    show(&seen, out);
    Ok(())
}

/// Waits until the process that drives the run ends it, or ends it here as soon as no process drives it.
async fn see_through(place: &mut OpenHome, run: RunKey, out: &Out) -> Result<(), Failure> {
    let deadline = Instant::now() + WAIT;
    loop {
        let row = place.store.read(move |view| view.run(&run)).await?;
        if row.is_none_or(|row| row.status != RunStatus::Open) {
            return Ok(());
        }
        let in_the_way = match place.acquire_drive_lock()? {
            LockOutcome::HeldByOther { pid } => format!("process {pid} is using the home"),
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
    let message = format!("run {run} has not ended yet: {in_the_way}; the cancellation request is stored");
    let hint = "the process that drives the run ends it at its next step; if none does, try again later";
    Failure::new("cancel_pending", message, hint)
}

/// No process drives the run, so this process writes its end; the driver handles the request before
/// anything else.
async fn finish(place: &OpenHome, claimed: Box<ClaimedRun>, out: &Out) -> Result<(), Failure> {
    // This path uses neither a model nor a command, so neither has to be available.
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
