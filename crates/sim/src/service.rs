//! What a process does for an ask: it claims the run, drives it as far as possible, and reports the end.

use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::cause::Priority;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::RunOptions;
use wakeful_core::run::RunStatus;
use wakeful_core::wake::Wait;
use wakeful_runtime::api::{ApiContext, IncomingMessage, NewAgent, RuntimeApi, StartAtOnce};
use wakeful_runtime::run::{ClaimedRun, DriveOutcome, claim, quarantine};
use wakeful_runtime::wake::{ResolvedOptions, StartOutcome};
use wakeful_runtime::{EngineError, Stamp};
use wakeful_store::WorkQuery;
use wakeful_store::rows::{RunFilter, RunRow, RunState};

use crate::process::{Driven, SimEngine, SimProcess};
use crate::script::Ask;

/// Maximum number of checks of one run by one process. Each is a due time or an escalated question, and a
/// run has few.
const LOOKS_MAX: u32 = 500;

/// How often in a row a run may be ready without progress. An answer may arrive in between, but not
/// forever.
const IDLE_MAX: u32 = 5;

/// How a process finds the run to drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It asks as if for the first time.
    Ask,
    /// It looks for an open run, and asks only if there is none.
    Resume,
    /// It drives every agent with work, as a daemon does, and waits for the due times of the others.
    Serve,
}

/// Claims a run, drives it as far as possible, and reports the end.
pub(crate) async fn serve(
    engine: SimEngine,
    life: SimProcess,
    (way, ask): (Way, Ask),
    stranger: Option<Ask>,
) -> Result<Driven, EngineError> {
    if let Some(stranger) = stranger {
        match admit(&engine, stranger).await {
            Err(EngineError::Refused(_)) => {}
            Err(error) => return Err(error),
            Ok(_) => life
                .world
                .complain("a second run started beside an open one".to_owned()),
        }
    }
    let agent = ask.agent.clone();
    let begun = match way {
        Way::Ask => asked(&engine, &life, ask).await,
        Way::Resume => match open_run(&engine).await? {
            Some(open) => resume(&engine, open.run_key)
                .await
                .map(|driven| (open.run_key, Some(driven))),
            None => asked(&engine, &life, ask).await,
        },
        Way::Serve => begun(&engine, &life, ask).await,
    };
    let driven = match begun {
        Ok((run, driven)) => looked_after(&engine, &life, (&agent, run), driven).await,
        Err(error) => Err(error),
    };
    let driven = match driven {
        Ok(driven) => driven,
        // A run that cannot continue is quarantined, as by a daemon.
        Err(error) => {
            let standing = engine.store.read(move |view| view.overview(&agent)).await?;
            if let Some(run) = standing.and_then(|overview| overview.open_run) {
                let stamp = Stamp {
                    at: engine.clock.now(),
                    salt: engine.entropy.random_bytes(),
                };
                quarantine(&engine.store, run, &error, stamp).await?;
            }
            return Err(error);
        }
    };
    let (run, outcome) = driven;
    life.world.acknowledge(run);
    if outcome == DriveOutcome::Ended {
        life.world.tell_end(life.number, run);
    }
    Ok(driven)
}

/// Sends an ask as the command line does without a daemon, and starts its run.
async fn admit(engine: &SimEngine, ask: Ask) -> Result<StartOutcome, EngineError> {
    let (clock, entropy) = (Arc::clone(&engine.clock), Arc::clone(&engine.entropy));
    let started: Arc<Mutex<Option<Box<ClaimedRun>>>> = Arc::default();
    let (starting, limits, keeping) = (engine.clone(), ask.limits.clone(), Arc::clone(&started));
    let api = RuntimeApi::without_service(ApiContext::new(engine.store.clone(), clock, entropy));
    let api = api.starting_at_once(StartAtOnce {
        prepare: Box::new(move |_agent, message, entry| {
            let (engine, limits) = (starting.clone(), limits.clone());
            Box::pin(async move { engine.prepare_start(message, entry, limits).await })
        }),
        started: Box::new(move |claimed| {
            *keeping.lock().unwrap_or_else(PoisonError::into_inner) = Some(claimed);
        }),
        create: Some(NewAgent::new(ask.agent.clone(), ask.limits.workspace.clone())),
    });
    let posted = api.messages.send(IncomingMessage {
        thread: None,
        agent: ask.agent,
        turn: ask.turn,
        text: ask.prompt,
        attachments: Vec::new(),
        run_options: wishes(&ask.limits),
        priority: Priority::default(),
    });
    let run = posted.await?.run_key;
    let started = started.lock().unwrap_or_else(PoisonError::into_inner).take();
    match started {
        Some(claimed) => Ok(StartOutcome::Started(claimed)),
        // A brake held it, or it was sent before.
        None => engine.wake(run, ask.limits).await,
    }
}

fn wishes(limits: &ResolvedOptions) -> RunOptions {
    RunOptions {
        model_ref: Some(limits.model_ref.clone()),
        max_rounds: Some(limits.max_rounds),
        workspace: Some(limits.workspace.clone()),
        deny_tools: limits.deny_tools.clone(),
        ask_tools: limits.ask_tools.clone(),
        ..RunOptions::default()
    }
}

/// Asks, and drives the answering run as far as possible.
async fn asked(
    engine: &SimEngine,
    life: &SimProcess,
    ask: Ask,
) -> Result<(RunKey, Option<Driven>), EngineError> {
    match begun(engine, life, ask).await? {
        (run, None) => Ok((run, Some(resume(engine, run).await?))),
        begun => Ok(begun),
    }
}

/// Asks, and drives the run if it is new.
async fn begun(
    engine: &SimEngine,
    life: &SimProcess,
    ask: Ask,
) -> Result<(RunKey, Option<Driven>), EngineError> {
    match admit(engine, ask).await? {
        StartOutcome::Started(claimed) => {
            let run = claimed.run_key();
            life.world.acknowledge(run);
            Ok((run, Some(driven(engine, claimed).await?)))
        }
        StartOutcome::NotQueued(run) => {
            life.world.acknowledge(run);
            Ok((run, None))
        }
    }
}

async fn driven(engine: &SimEngine, claimed: Box<ClaimedRun>) -> Result<Driven, EngineError> {
    let run = claimed.run_key();
    Ok((run, engine.drive(claimed).await?))
}

async fn resume(engine: &SimEngine, run: RunKey) -> Result<Driven, EngineError> {
    match claim(&engine.store, &engine.runner, run).await? {
        Some(claimed) => driven(engine, claimed).await,
        None => Ok((run, DriveOutcome::Ended)),
    }
}

/// Drives the agent while it has work, and otherwise waits for its run's due time. A process that waits for
/// a person ends; another starts after the answer.
async fn looked_after(
    engine: &SimEngine,
    life: &SimProcess,
    (agent, run): (&AgentId, RunKey),
    mut driven: Option<Driven>,
) -> Result<Driven, EngineError> {
    let mut idle = 0;
    for _ in 0..LOOKS_MAX {
        match driven.take() {
            None | Some((_, DriveOutcome::Waiting(Wait::Due { .. } | Wait::Rate { .. }))) => {}
            Some(driven) => return Ok(driven),
        }
        let wall = engine.clock.now();
        let query = WorkQuery {
            now: wall,
            daily_cap: engine.defaults.daily_cap,
        };
        let look = engine.store.read(move |view| {
            let (ready, due) = (view.agents_with_work(query)?, view.next_due(wall)?);
            Ok((ready, due, view.run(&run)?))
        });
        let (ready, due, row) = look.await?;
        let row = row.ok_or(EngineError::UnknownRun(run))?;
        if row.status != RunStatus::Open {
            return ended(row);
        }
        if ready.contains(agent) {
            idle += 1;
            if idle > IDLE_MAX {
                life.world
                    .complain(format!("it is ready and makes no progress: {row:?}"));
                return Ok((run, DriveOutcome::Waiting(Wait::Due { until: wall })));
            }
            driven = Some(resume(engine, run).await?);
            continue;
        }
        idle = 0;
        let Some(due) = due else {
            if row.wait() == Some(Wait::Decision { until: None }) {
                return Ok((run, DriveOutcome::Waiting(Wait::Decision { until: None })));
            }
            let agent = agent.clone();
            if engine.store.read(move |view| view.is_braked(&agent)).await? {
                return Ok((run, DriveOutcome::Braked));
            }
            // It was released meanwhile.
            continue;
        };
        tokio::select! {
            biased;
            () = engine.halt.wait_until_set() => return Ok((run, DriveOutcome::Stopped)),
            () = engine.clock.sleep(due.since(wall).max(1)) => {}
            () = life.world.hears_of_end(run) => {}
        }
    }
    life.world.complain(format!("{run} was checked too often"));
    Ok((run, DriveOutcome::Stopped))
}

fn ended(row: RunRow) -> Result<Driven, EngineError> {
    if row.status == RunStatus::Quarantined {
        let (run, why) = (row.run_key, row.fault.unwrap_or_default());
        return Err(EngineError::Quarantined { run, why });
    }
    Ok((row.run_key, DriveOutcome::Ended))
}

async fn open_run(engine: &SimEngine) -> Result<Option<RunRow>, EngineError> {
    Ok(engine.store.read(|view| view.runs(&open_only())).await?.pop())
}

/// Repeats the ask, and then sends another one under its key.
pub(crate) async fn repeat(engine: SimEngine, mut ask: Ask) -> Result<Driven, EngineError> {
    let run = run_of(&ask);
    let is_same =
        matches!(admit(&engine, ask.clone()).await?, StartOutcome::NotQueued(before) if before == run);
    let is_over = claim(&engine.store, &engine.runner, run).await?.is_none();
    ask.prompt.push_str(", but differently");
    let is_refused =
        matches!(admit(&engine, ask).await, Err(EngineError::KeyReused { run: other }) if other == run);
    if is_same && is_over && is_refused {
        Ok((run, DriveOutcome::Ended))
    } else {
        Err(EngineError::UnknownRun(run))
    }
}

/// The run that answers an ask.
pub(crate) fn run_of(ask: &Ask) -> RunKey {
    RunKey::of_user(&ask.agent, &ask.session, &ask.turn)
}

/// A filter for the newest open run.
pub(crate) fn open_only() -> RunFilter {
    RunFilter {
        until: None,
        agent_id: None,
        state: RunState::Open,
        limit: 1,
        before: None,
    }
}
