//! Draws on the limits of the budget: what each effect reserves before it starts, and what it used.
//!
//! A model request reserves in the transaction of its gates, and an action in the transaction of its intent. What
//! was used is settled in the transaction that records the result.

use std::collections::BTreeMap;

use wakeful_core::budget::{
    BudgetExceeded, BudgetGrant, BudgetPool, BudgetResource, Demand, check, check_each, reserve_all,
};
use wakeful_core::conversation::Usage;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::policy::CallFacts;
use wakeful_core::run::{BudgetStop, Effect, RunInput, RunMachine, RunPhase, Transition};
use wakeful_core::snapshot::may_write;
use wakeful_core::step::{Action, ActionStatus, EffectClass, StepStatus, model_operation};
use wakeful_core::sub_run::DEPTH_MAX;
use wakeful_core::time::Millis;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{BudgetOwner, Hold, HoldEnd, ResourceUse, RunRow};
use wakeful_store::{StoreError, Tx, View};

use crate::run::ClaimedRun;
use crate::step::{Freshness, NextAction};
use crate::{Engine, EngineError};

/// The least run time for which an effect starts. With less, nearly every effect would be stopped before its end.
const RUN_TIME_LEAST_MS: u64 = 1_000;

/// The most run time that a tool reserves whose limit is unknown.
const TOOL_RUN_TIME_MS_MAX: u64 = 60 * 60 * 1_000;

/// The most bytes that an action reserves which may write to files: what a command may write unless a setting says
/// otherwise.
const WRITTEN_BYTES_MAX: u64 = 4 << 30;

/// Returns who draws on the budget for a run, if a person set any limit.
pub(crate) fn owner_of(view: &mut View<'_>, run: &RunRow) -> Result<Option<BudgetOwner>, StoreError> {
    if !view.has_limits()? {
        return Ok(None);
    }
    Ok(Some(BudgetOwner {
        run_key: run.run_key,
        root_run: root_of(view, run.run_key)?,
        agent_id: run.agent_id.clone(),
        thread_id: run.thread_id.clone(),
    }))
}

/// The run at the top of a run's tree. A parent waits for its sub-runs, so the messages of all runs above exist.
pub(crate) fn root_of(view: &mut View<'_>, run: RunKey) -> Result<RunKey, StoreError> {
    let mut root = run;
    for _ in 0..=DEPTH_MAX {
        match view.message(&root)?.and_then(|message| message.parent) {
            Some(parent) => root = parent.run_key,
            None => break,
        }
    }
    Ok(root)
}

/// What a model request reserves.
pub(crate) fn demands_of_request(usage_max: Usage, microusd: u64, run_time_ms: u64) -> Vec<Demand> {
    vec![
        Demand::exactly(BudgetResource::Money, microusd),
        Demand::exactly(BudgetResource::Tokens, usage_max.total()),
        run_time(run_time_ms),
    ]
}

fn run_time(most: u64) -> Demand {
    Demand {
        resource: BudgetResource::RunTime,
        least: RUN_TIME_LEAST_MS.min(most),
        most,
    }
}

/// The granted amount of a resource, if a limit counts it.
pub(crate) fn granted(grants: &[BudgetGrant], resource: BudgetResource) -> Option<BudgetGrant> {
    grants.iter().find(|grant| grant.resource == resource).copied()
}

/// What one effect reserves, with the locked limits of its run.
pub(crate) struct ReservationRequest<'a> {
    pub(crate) owner: &'a BudgetOwner,
    pub(crate) pools: Vec<BudgetPool>,
    pub(crate) operation_id: OperationId,
    pub(crate) demands: &'a [Demand],
}

/// Reserves what one effect may use, or returns the limit that does not cover it.
pub(crate) fn reserve(
    tx: &mut Tx<'_>,
    request: ReservationRequest<'_>,
) -> Result<Result<Vec<BudgetGrant>, BudgetExceeded>, StoreError> {
    let ReservationRequest {
        owner,
        mut pools,
        operation_id,
        demands,
    } = request;
    let grants = match check(&pools, demands) {
        Ok(grants) => grants,
        Err(exceeded) => return Ok(Err(exceeded)),
    };
    reserve_all(&mut pools, &grants);
    let hold = Hold { operation_id, grants };
    tx.hold(&owner.run_key, &pools, std::slice::from_ref(&hold))?;
    Ok(Ok(hold.grants))
}

/// What one action may use; none where no limit counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ActionShare {
    pub(crate) run_time_ms: Option<u64>,
    pub(crate) written_bytes: Option<u64>,
}

/// What a transition settles and reserves.
#[derive(Debug, Clone)]
pub(crate) struct BudgetChange {
    owner: BudgetOwner,
    at: Millis,
    /// The effects that end with the transition.
    ends: Vec<(OperationId, HoldEnd)>,
    /// The actions that begin with the transition, in their order, and what each reserves.
    begins: Vec<(OperationId, Vec<Demand>)>,
}

impl BudgetChange {
    /// Settles and reserves. If not every action fits, nothing is written, and the machine decides again.
    pub(crate) fn write(&self, tx: &mut Tx<'_>) -> Result<Option<BudgetStop>, StoreError> {
        let run = &self.owner.run_key;
        if self.begins.is_empty() {
            tx.settle_holds(run, &self.ends, self.at)?;
            return Ok(None);
        }
        let mut pools = tx.lock_limits(&self.owner, self.at)?;
        for row in tx.holds_of(run)? {
            let ended = self
                .ends
                .iter()
                .find(|(operation, _)| *operation == row.operation_id);
            let pool = pools.iter_mut().find(|pool| pool.limit == row.limit);
            if let (Some((_, end)), Some(pool)) = (ended, pool) {
                pool.settle(row.amount, end.used(row.resource, row.amount));
            }
        }
        let wanted: Vec<Vec<Demand>> = self.begins.iter().map(|(_, demands)| demands.clone()).collect();
        let (granted, exceeded) = check_each(&mut pools, &wanted);
        if let Some(exceeded) = exceeded {
            let covered = u32::try_from(granted.len()).unwrap_or(u32::MAX);
            return Ok(Some(BudgetStop { covered, exceeded }));
        }
        tx.settle_holds(run, &self.ends, self.at)?;
        let holds = self
            .begins
            .iter()
            .zip(granted)
            .map(|((operation_id, _), grants)| Hold {
                operation_id: *operation_id,
                grants,
            });
        let holds: Vec<Hold> = holds.collect();
        tx.hold(run, &pools, &holds)?;
        Ok(None)
    }

    /// Whether something may be released, so that waiting runs may continue.
    pub(crate) fn settles(&self) -> bool {
        !self.ends.is_empty()
    }
}

/// The effects that end with an input, and what they used.
fn ends(turn: &RunMachine, input: &RunInput, freshness: Freshness) -> Vec<(OperationId, HoldEnd)> {
    let request = model_operation(&turn.run_key, turn.requests);
    match input {
        RunInput::Replied(reply) => {
            let used = ResourceUse {
                microusd: Some(reply.bill.cost.unwrap_or_default().0),
                // A provider that does not count tokens gets the whole reservation.
                tokens: Some(reply.usage.total()).filter(|tokens| *tokens > 0),
                run_time_ms: Some(reply.duration_ms),
                written_bytes: Some(0),
            };
            vec![(request, HoldEnd::Used(used))]
        }
        RunInput::AttemptFailed {
            failure,
            duration_ms,
            bill,
        } => {
            let used = ResourceUse {
                microusd: Some(bill.cost.unwrap_or_default().0),
                tokens: (!failure.may_be_billed).then_some(0),
                run_time_ms: Some(*duration_ms),
                written_bytes: Some(0),
            };
            vec![(request, HoldEnd::Used(used))]
        }
        // Its run time is used up; what else it used is unknown.
        RunInput::Parked { .. } => vec![(request, HoldEnd::InFull)],
        RunInput::Settled { results } => results
            .iter()
            .map(|result| {
                let is_known = freshness == Freshness::Fresh && result.status != StepStatus::OutcomeUnknown;
                let used = ResourceUse {
                    run_time_ms: is_known.then_some(result.duration_ms),
                    written_bytes: result.written_bytes.filter(|_| is_known),
                    ..ResourceUse::default()
                };
                (result.operation_id, HoldEnd::Used(used))
            })
            .collect(),
        RunInput::Postponed => intended(turn)
            .map(|action| (action.operation_id, HoldEnd::Released))
            .collect(),
        RunInput::Admitted { .. }
        | RunInput::Resumed
        | RunInput::Started { .. }
        | RunInput::Cancelled
        | RunInput::Decided { .. }
        | RunInput::ApprovalExpired { .. } => Vec::new(),
    }
}

fn actions_of(turn: &RunMachine) -> &[Action] {
    match &turn.phase {
        RunPhase::Acting { actions, .. } => actions,
        RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. } => &[],
    }
}

fn intended(turn: &RunMachine) -> impl Iterator<Item = &Action> {
    let actions = actions_of(turn).iter();
    actions.filter(|action| action.fate == ActionStatus::Intended)
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// What the transition of an input settles and reserves; none without limits.
    pub(crate) fn budget_change(
        &self,
        claimed: &ClaimedRun,
        input: &RunInput,
        moved: &Transition,
    ) -> Option<BudgetChange> {
        let owner = claimed.budget.clone()?;
        let begins = moved.effects.iter().filter_map(|effect| match effect {
            Effect::Act {
                operation_id,
                position,
                ..
            } => Some((
                *operation_id,
                self.demands_of_action(claimed, &moved.turn, *position),
            )),
            Effect::CallModel { .. } => None,
        });
        Some(BudgetChange {
            owner,
            at: self.clock.now(),
            ends: ends(&claimed.machine, input, claimed.freshness),
            begins: begins.collect(),
        })
    }

    fn demands_of_action(&self, claimed: &ClaimedRun, turn: &RunMachine, position: usize) -> Vec<Demand> {
        let mut demands = vec![Demand::exactly(BudgetResource::ToolCalls, 1)];
        let Some(action) = actions_of(turn).get(position) else {
            return demands;
        };
        // The time of a sub-run is that of its own effects.
        if action.class == EffectClass::Internal {
            return demands;
        }
        let input = claimed.asked.get(position).map(|call| &call.input);
        let most = input.and_then(|input| self.tools.longest_ms(&action.tool, input));
        demands.push(run_time(most.unwrap_or(TOOL_RUN_TIME_MS_MAX)));
        let facts = || match input {
            Some(input) => self.tools.facts(&action.tool, input, &claimed.settings.sandbox),
            None => CallFacts::default(),
        };
        if may_write(action.class, facts) {
            let content = input.and_then(|input| input.get("content")?.as_str());
            let bytes = content.map_or(1, |text| u64::try_from(text.len()).unwrap_or(u64::MAX));
            demands.push(Demand {
                resource: BudgetResource::WrittenBytes,
                least: bytes.max(1),
                most: WRITTEN_BYTES_MAX.max(bytes),
            });
        }
        demands
    }

    /// Checks a run whose next action a limit does not cover: it resumes if there is room now.
    pub(crate) async fn recheck_limits(&self, claimed: &ClaimedRun) -> Result<NextAction, EngineError> {
        let actions = actions_of(&claimed.machine);
        let next = actions
            .iter()
            .position(|action| action.fate == ActionStatus::Waiting);
        let (Some(position), Some(owner)) = (next, claimed.budget.clone()) else {
            return Ok(NextAction::just(RunInput::Resumed));
        };
        let demands = self.demands_of_action(claimed, &claimed.machine, position);
        Ok(match self.check_limits(owner, demands).await? {
            None => NextAction::just(RunInput::Resumed),
            Some(exceeded) => NextAction::OverBudget(exceeded),
        })
    }

    /// Returns the limit that does not cover demands now, without reserving anything.
    pub(crate) async fn check_limits(
        &self,
        owner: BudgetOwner,
        demands: Vec<Demand>,
    ) -> Result<Option<BudgetExceeded>, EngineError> {
        let now = self.clock.now();
        let read = self.store.read(move |view| {
            let rows = view.limits_of(&owner)?;
            let pools: Vec<BudgetPool> = rows.into_iter().map(|row| row.pool.at(now)).collect();
            Ok(check(&pools, &demands).err())
        });
        Ok(read.await?)
    }

    /// What each action of a run may use, as far as limits count it.
    pub(crate) async fn granted_shares(
        &self,
        claimed: &ClaimedRun,
    ) -> Result<BTreeMap<OperationId, ActionShare>, EngineError> {
        if claimed.budget.is_none() {
            return Ok(BTreeMap::new());
        }
        let run = claimed.run_key();
        let holds = self.store.read(move |view| view.holds_of(&run)).await?;
        let mut shares: BTreeMap<OperationId, ActionShare> = BTreeMap::new();
        for hold in holds {
            let share = shares.entry(hold.operation_id).or_default();
            match hold.resource {
                BudgetResource::RunTime => share.run_time_ms = Some(hold.amount),
                BudgetResource::WrittenBytes => share.written_bytes = Some(hold.amount),
                BudgetResource::Money | BudgetResource::Tokens | BudgetResource::ToolCalls => {}
            }
        }
        Ok(shares)
    }
}
