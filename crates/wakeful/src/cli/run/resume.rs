//! `wakeful run --resume`: finishing what was cut off, one run after another.

use std::collections::BTreeSet;

use wakeful_api::{Control, GetAgentStatus, Limit, ListRuns, ResumeAgent, Text};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::time::Millis;
use wakeful_core::wake::Wait;
use wakeful_ports::clock::{Clock as _, Entropy as _};
use wakeful_runtime::EngineError;
use wakeful_runtime::run::{claim, move_aside};
use wakeful_runtime::service::Workshop as _;
use wakeful_runtime::wake::Admitted;
use wakeful_store::rows::{Agent, RunFilter, RunRow, RunState};
use wakeful_store::{ROWS_MAX, StoreError, View};

use super::RunArgs;
use super::journey::{Journey, Trouble};
use crate::backend::Backend;
use crate::config::{self, Overrides};
use crate::failure::{FAILED, Failure};
use crate::global_args::GlobalArgs;
use crate::model::ModelRegistry;
use crate::place::Place;
use crate::reach::daemon;
use crate::show::{Out, ResumedView};
use crate::signals::Signals;
use crate::world::{RealClock, RealEntropy};

/// Open runs of a daemon that are counted.
const RUNS_LOOKED_AT: u32 = 500;

/// Runs the verb.
pub(super) async fn resume(args: &RunArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent_id = args.agent.as_deref().map(AgentId::parse).transpose()?;
    if let Some(client) = daemon(shared).await? {
        return through_daemon(&Backend { client }, agent_id, out).await;
    }
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let place = Place::open_for_writing(shared).await?.under(&settings.config);
    let sandboxing = args.sandboxing();
    let wanted = agent_id.clone();
    let filter = RunFilter {
        agent_id,
        state: RunState::Open,
        limit: ROWS_MAX,
        before: None,
    };
    place
        .work(out, async |place| {
            let mut open = place.store.read(move |view| view.runs(&filter)).await?;
            if let Some(words) = place.upgrade_journal().await {
                out.note(&words);
            }
            place.recover_sagas_and_tell(out).await?;
            // Oldest first: later runs may build on what earlier ones did. Those that wait for their turn come last.
            open.reverse();
            open.sort_by_key(|row| row.wait() == Some(Wait::Turn));
            let signals = Signals::listen()?;
            let mut tally = Tally::default();
            let mut journey = Journey {
                place,
                sandboxing,
                registry: ModelRegistry::new(&settings.config),
                config: &settings.config,
                signals,
                out,
            };
            for row in open {
                tally.take(&mut journey, &row).await?;
            }
            let now = RealClock::new().now();
            let kept = place.store.read(move |view| kept(view, wanted.as_ref(), now));
            for (agent, message) in kept.await? {
                let begun = tally.begin(&mut journey, &agent, &message).await;
                tally.count(&journey, message.run_key, begun)?;
            }
            if tally.view.resumed == 0 {
                out.nothing_resumed(&tally.view);
            }
            Ok(tally.code)
        })
        .await
}

/// A daemon goes on with what is open by itself.
async fn through_daemon(backend: &Backend, agent: Option<AgentId>, out: &Out) -> Result<u8, Failure> {
    let open = ListRuns {
        agent_id: agent.map(Text),
        state: wakeful_api::RunState::Open,
        limit: Limit(RUNS_LOOKED_AT),
        ..ListRuns::default()
    };
    let open = backend.call(open).await?.runs;
    // Whoever waits, for money or for a model, is looked at again. A paused agent stays paused.
    let agents: BTreeSet<&str> = open.iter().map(|run| run.agent_id.as_str()).collect();
    for agent in agents {
        let agent_id = Text(AgentId::parse(agent)?);
        let status = GetAgentStatus {
            agent_id: agent_id.clone(),
        };
        if backend.call(status).await?.control == Control::Running {
            backend.call(ResumeAgent { agent_id }).await?;
        }
    }
    let open = open.len();
    out.note("a daemon runs in this home and goes on with open runs by itself");
    out.nothing_resumed(&ResumedView {
        driven_elsewhere: u32::try_from(open).unwrap_or(u32::MAX),
        ..ResumedView::default()
    });
    Ok(0)
}

/// What became of the open runs.
#[derive(Debug, Default)]
struct Tally {
    code: u8,
    view: ResumedView,
}

impl Tally {
    /// Goes on with one run. What is wrong with it alone is told and does not stand in the way of the others.
    async fn take(&mut self, journey: &mut Journey<'_>, row: &RunRow) -> Result<(), Failure> {
        let tried = self.attempt(journey, row).await;
        self.count(journey, row.run_key, tried)
    }

    fn count(
        &mut self,
        journey: &Journey<'_>,
        run: RunKey,
        tried: Result<u8, Trouble>,
    ) -> Result<(), Failure> {
        match tried {
            Ok(code) => self.code = worse(self.code, code),
            Err(Trouble::One(failure)) => {
                journey
                    .out
                    .note(&format!("run {run} is left as it is: {failure}"));
                self.view.failed += 1;
                self.code = worse(self.code, failure.exit());
            }
            Err(Trouble::All(failure)) => return Err(failure),
        }
        Ok(())
    }

    /// Begins the run of a message that a brake kept from its turn.
    async fn begin(
        &mut self,
        journey: &mut Journey<'_>,
        agent: &Agent,
        message: &Message,
    ) -> Result<u8, Trouble> {
        let factory = journey.engine_factory();
        let limits = factory.limits(agent, message);
        let engine = factory.engine(&agent.agent_id, &limits)?;
        let Admitted::New(claimed) = engine.take_up(message.run_key, limits).await? else {
            return Ok(0);
        };
        let short: String = message.run_key.to_string().chars().take(12).collect();
        journey.out.note(&format!(
            "beginning run {short} of agent {}, which was kept",
            agent.agent_id
        ));
        self.view.resumed += 1;
        journey.drive(&engine, claimed).await
    }

    /// A run that can never go on as it is stands in nobody's way any longer.
    async fn move_aside(
        &self,
        journey: &Journey<'_>,
        row: &RunRow,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let store = &journey.place.store;
        let now = (RealClock::new().now(), RealEntropy.bytes32());
        if move_aside(store, row.run_key, error, now).await?.is_some() {
            let hint = format!(
                "`wakeful runs retry {0}` tries it again, `wakeful runs abandon {0}` gives it up",
                row.run_key
            );
            journey
                .out
                .note(&format!("run {} is quarantined: {hint}", row.run_key));
        }
        Ok(())
    }

    async fn attempt(&mut self, journey: &mut Journey<'_>, row: &RunRow) -> Result<u8, Trouble> {
        let place = journey.place;
        let claimed = match claim(&place.store, &place.runner.runner_id, row.run_key).await {
            Ok(Some(claimed)) => claimed,
            // It ended between the look and the claim.
            Ok(None) => return Ok(0),
            Err(error @ EngineError::AgentBusy { .. }) => {
                journey.out.note(&error.to_string());
                self.view.driven_elsewhere += 1;
                return Ok(0);
            }
            Err(error) => {
                self.move_aside(journey, row, &error).await?;
                return Err(error.into());
            }
        };
        let short: String = row.run_key.to_string().chars().take(12).collect();
        journey
            .out
            .note(&format!("resuming run {short} of agent {}", row.agent_id));
        let code = journey.go_on(claimed).await?;
        self.view.resumed += 1;
        Ok(code)
    }
}

/// The messages that were to be answered in a process of their own when a brake was on, of agents that may work now, in
/// their order.
fn kept(
    view: &mut View<'_>,
    wanted: Option<&AgentId>,
    now: Millis,
) -> Result<Vec<(Agent, Message)>, StoreError> {
    let mut kept = Vec::new();
    for id in view.agents_with_work(now)? {
        if wanted.is_some_and(|wanted| *wanted != id) {
            continue;
        }
        let Some(agent) = view.agent(&id)? else { continue };
        let rows = view.queue(&id, ROWS_MAX)?.into_iter();
        let ours = rows.filter(|row| row.not_before.is_none() && row.message.is_of_run_once());
        kept.extend(ours.map(|row| (agent.clone(), row.message)));
    }
    Ok(kept)
}

/// Of two exit codes the one that needs a person more: failed before denied before fine.
fn worse(one: u8, other: u8) -> u8 {
    match (one, other) {
        (FAILED, _) | (_, FAILED) => FAILED,
        (one, other) => one.max(other),
    }
}
