//! `wakeful run --resume`: finishes interrupted runs, one after another.

use std::collections::BTreeSet;

use wakeful_api::{
    AgentControl, GetAgentStatus, Limit, ListRuns, ResumeAgent, Run, StatusFilter, Statuses, Text,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::run::RunStatus;
use wakeful_core::wake::Wait;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::EngineError;
use wakeful_store::rows::{RunFilter, RunState};
use wakeful_store::{ROWS_MAX, StoreError, View, WorkQuery};

use super::RunArgs;
use super::local::{DriveFailure, LocalRun};
use crate::backend::Backend;
use crate::config::{self, Overrides};
use crate::discover::daemon;
use crate::failure::{FAILED, Failure};
use crate::global_args::GlobalArgs;
use crate::model::ModelRegistry;
use crate::open_home::OpenHome;
use crate::show::{Out, ResumedView};
use crate::system::RealClock;

/// Maximum number of a daemon's open runs that are counted.
const RUNS_COUNTED_MAX: u32 = 500;

pub(super) async fn resume(args: &RunArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent_id = args.agent.as_deref().map(AgentId::parse).transpose()?;
    if let Some(client) = daemon(shared).await? {
        return through_daemon(&Backend { client }, agent_id, out).await;
    }
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let place = OpenHome::open_for_writing(shared)
        .await?
        .with_settings(&settings.config);
    let wanted = agent_id.clone();
    let filter = RunFilter {
        until: None,
        agent_id,
        state: RunState::Open,
        limit: ROWS_MAX,
        before: None,
    };
    place
        .run_and_close(out, async |place| {
            let mut open = place.store.read(move |view| view.runs(&filter)).await?;
            if let Some(words) = place.upgrade_journal().await {
                out.note(&words);
            }
            place.recover_sagas_and_tell(out).await?;
            // Oldest first, because later runs may build on earlier ones. Runs that have not started come
            // last.
            open.reverse();
            open.sort_by_key(|row| row.wait() == Some(Wait::Turn));
            let registry = ModelRegistry::new(&settings.config);
            let mut local = LocalRun::new(place, registry, &settings.config, out)?;
            local.sandboxing = args.sandboxing();
            let mut tally = ResumeStats::default();
            for row in open {
                tally.resume(&mut local, &row.agent_id, row.run_key).await?;
            }
            let query = WorkQuery {
                now: RealClock::new().now(),
                daily_cap: place.governance().daily_cap,
            };
            let kept = place.store.read(move |view| kept(view, wanted.as_ref(), query));
            for message in kept.await? {
                tally.start(&mut local, &message).await?;
            }
            if tally.view.resumed == 0 {
                out.nothing_resumed(&tally.view);
                out.note("no daemon is running here; `wakeful daemon start` starts queued work and continues runs by itself");
            }
            Ok(tally.code)
        })
        .await
}

/// A daemon continues open runs by itself, so this only triggers a new attempt.
async fn through_daemon(backend: &Backend, agent: Option<AgentId>, out: &Out) -> Result<u8, Failure> {
    let open = ListRuns {
        agent_id: agent.map(Text),
        status: Some(Text(Statuses(vec![StatusFilter::Open]))),
        limit: Limit(RUNS_COUNTED_MAX),
        ..ListRuns::default()
    };
    let open = backend.call(open).await?.runs;
    // Agents that wait for budget or for a model are tried again. A paused agent stays paused.
    let agents: BTreeSet<&str> = open.iter().map(|run| run.agent_id.as_str()).collect();
    for agent in agents {
        let agent_id = Text(AgentId::parse(agent)?);
        let status = GetAgentStatus {
            agent_id: agent_id.clone(),
        };
        if backend.call(status).await?.control == AgentControl::Running {
            backend.call(ResumeAgent { agent_id }).await?;
        }
    }
    let open = open.len();
    out.note("a daemon is running in this home and continues open runs by itself");
    out.nothing_resumed(&ResumedView {
        driven_elsewhere: u32::try_from(open).unwrap_or(u32::MAX),
        ..ResumedView::default()
    });
    Ok(0)
}

/// The results of the resumed runs.
#[derive(Debug, Default)]
struct ResumeStats {
    code: u8,
    view: ResumedView,
}

impl ResumeStats {
    async fn resume(
        &mut self,
        local: &mut LocalRun<'_>,
        agent: &AgentId,
        run: RunKey,
    ) -> Result<(), Failure> {
        let row = local.place.store.read(move |view| view.run(&run)).await?;
        // The run may have ended together with a run that was resumed before it.
        if row.is_none_or(|row| row.status != RunStatus::Open) {
            return Ok(());
        }
        local
            .out
            .note(&format!("resuming run {} of agent {agent}", short(run)));
        let driven = local.drive(local.service()?, agent, run).await;
        self.count(local, run, driven)
    }

    /// Starts the run of a queued message.
    async fn start(&mut self, local: &mut LocalRun<'_>, message: &Message) -> Result<(), Failure> {
        let (agent, run) = (&message.agent_id, message.run_key);
        local.out.note(&format!(
            "starting the queued run {} of agent {agent}",
            short(run)
        ));
        let driven = local.drive(local.service()?, agent, run).await;
        // A run that waits has started nevertheless.
        if matches!(driven, Err(DriveFailure::One(_))) {
            let row = local.place.store.read(move |view| view.run(&run)).await?;
            self.view.resumed += u32::from(row.is_some());
        }
        self.count(local, run, driven)
    }

    /// Reports a failure of one run; the other runs continue.
    fn count(
        &mut self,
        local: &LocalRun<'_>,
        run: RunKey,
        driven: Result<Run, DriveFailure>,
    ) -> Result<(), Failure> {
        let failure = match driven {
            Ok(seen) if seen.outcome == RunStatus::Quarantined => {
                let why = seen.fault.unwrap_or_default();
                EngineError::Quarantined { run, why }.into()
            }
            Ok(seen) => {
                self.view.resumed += 1;
                self.code = worse(self.code, local.show(&seen));
                return Ok(());
            }
            Err(DriveFailure::One(failure)) if failure.code() == "agent_busy" => {
                local.out.note(failure.message());
                self.view.driven_elsewhere += 1;
                return Ok(());
            }
            Err(DriveFailure::One(failure)) => failure,
            Err(DriveFailure::All(failure)) => return Err(failure),
        };
        local.out.note(&format!("run {run} was not resumed: {failure}"));
        self.view.failed += 1;
        self.code = worse(self.code, failure.exit());
        Ok(())
    }
}

/// A short prefix of the run key, for display.
fn short(run: RunKey) -> String {
    run.to_string().chars().take(12).collect()
}

/// The messages of `run` whose runs a brake held, of agents that may work now, in queue order.
fn kept(view: &mut View<'_>, wanted: Option<&AgentId>, query: WorkQuery) -> Result<Vec<Message>, StoreError> {
    let mut kept = Vec::new();
    for id in view.agents_with_work(query)? {
        if wanted.is_some_and(|wanted| *wanted != id) {
            continue;
        }
        let rows = view.queue(&id, ROWS_MAX)?.into_iter();
        let ours = rows.filter(|row| row.not_before.is_none() && row.message.is_from_run_command());
        kept.extend(ours.map(|row| row.message));
    }
    Ok(kept)
}

/// The more severe of two exit codes: failed before denied before success.
fn worse(one: u8, other: u8) -> u8 {
    match (one, other) {
        (FAILED, _) | (_, FAILED) => FAILED,
        (one, other) => one.max(other),
    }
}
