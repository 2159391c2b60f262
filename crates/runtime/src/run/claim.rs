//! Claims open runs.

use std::collections::BTreeSet;

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::run::is_newer;
use wakeful_core::wake::{Refusal, Wait};
use wakeful_ports::fail_point;
use wakeful_store::rows::{BudgetOwner, Claim, Fence, RunRow};
use wakeful_store::{Store, StoreError, Tx};

use super::reads::ActionHistory;
use super::{CLAIMS_MAX, ClaimedRun, decode, release, unsupported};
use crate::EngineError;
use crate::budget::owner_of;
use crate::hook::HookState;
use crate::step::Freshness;
use crate::sub_run::settings_of_run;

/// A claim that succeeded.
struct WonClaim {
    row: RunRow,
    fence: Fence,
    /// The number of claims without progress.
    claims: u32,
    settings: AgentSettings,
    budget: Option<BudgetOwner>,
}

/// The result of the claiming transaction.
enum ClaimOutcome {
    Won(Box<WonClaim>),
    /// Another runner drives the agent.
    Held(RunRow, RunnerId),
    /// The run waits for its turn behind this one.
    Behind(RunKey),
    Ended,
    /// A newer program version started the run.
    Newer(RunRow),
    /// The run does not exist.
    Unknown,
}

/// Claims an open run after a crash or a halt. Returns none if it has ended. Needs neither model nor tools,
/// because the run's state names them.
pub async fn claim(
    store: &Store,
    runner: &RunnerId,
    run: RunKey,
) -> Result<Option<Box<ClaimedRun>>, EngineError> {
    let runner = runner.clone();
    let found = store.write(move |tx| claim_in(tx, &runner, run)).await?;
    if !matches!(found, ClaimOutcome::Unknown) {
        fail_point::fail_point("claim.after_commit");
    }
    let won = match found {
        ClaimOutcome::Won(won) => *won,
        ClaimOutcome::Held(row, by) => {
            let agent = row.agent_id;
            return Err(EngineError::AgentBusy { agent, by });
        }
        ClaimOutcome::Behind(run) => return Err(Refusal::RunOpen { run }.into()),
        ClaimOutcome::Ended => return Ok(None),
        ClaimOutcome::Newer(row) => return Err(unsupported(&row)),
        ClaimOutcome::Unknown => return Err(EngineError::UnknownRun(run)),
    };
    let WonClaim {
        row,
        fence,
        claims,
        settings,
        budget,
    } = won;
    let found = match decode(&row) {
        Ok(_) if claims > CLAIMS_MAX => Err(EngineError::CrashLoop { run, claims }),
        found => found,
    };
    let turn = match found {
        Ok(turn) => turn,
        Err(error) => {
            release(store, row.agent_id, fence).await?;
            return Err(error);
        }
    };
    let effects = turn.pending_effects();
    Ok(Some(Box::new(ClaimedRun {
        row,
        machine: turn,
        fence,
        settings,
        effects,
        freshness: Freshness::Recovered,
        thread: None,
        asked: Vec::new(),
        known: ActionHistory::not_all(),
        judged_by: None,
        judged_again: BTreeSet::new(),
        recorded_files: None,
        opening: None,
        starts: Vec::new(),
        refused: Vec::new(),
        hooks: HookState::default(),
        tripped: Vec::new(),
        // The process that drove it may have ended before it recorded the workspace.
        has_written: true,
        budget,
    })))
}

fn claim_in(tx: &mut Tx<'_>, runner: &RunnerId, run: RunKey) -> Result<ClaimOutcome, StoreError> {
    let Some(row) = tx.run(&run)? else {
        return Ok(ClaimOutcome::Unknown);
    };
    // An ended run needs no claim, and claiming it would take the agent from the runner of another run.
    if row.status != RunStatus::Open {
        return Ok(ClaimOutcome::Ended);
    }
    if is_newer(&row.machine, row.machine_version) {
        return Ok(ClaimOutcome::Newer(row));
    }
    let claim = tx.claim_head(&row.agent_id, runner)?;
    // Read again under the claim, which excludes other writers. Continuing from a state read earlier would
    // reserve money for a request that was already answered.
    let row = tx.run(&run)?.unwrap_or(row);
    let fence = match claim {
        Claim::Won(fence) => fence,
        Claim::Held { by } => return Ok(ClaimOutcome::Held(row, by)),
    };
    let found = match blocking_run(tx, &row)? {
        _ if row.status != RunStatus::Open => ClaimOutcome::Ended,
        Some(other) => ClaimOutcome::Behind(other),
        None => {
            // A run without its agent cannot exist; the error is that of an unreadable record.
            let settings = settings_of_run(tx, &row.agent_id, &run)?;
            let settings = settings.ok_or(StoreError::Malformed("agent.settings"))?;
            return Ok(ClaimOutcome::Won(Box::new(WonClaim {
                fence,
                claims: tx.count_claim(&run)?,
                settings,
                budget: owner_of(tx, &row)?,
                row,
            })));
        }
    };
    tx.release_head(&row.agent_id, fence)?;
    Ok(found)
}

/// The run behind which this one waits for its turn. A cancelled run does not wait.
fn blocking_run(tx: &mut Tx<'_>, row: &RunRow) -> Result<Option<RunKey>, StoreError> {
    if row.wait() != Some(Wait::Turn) || tx.cancel_requested(&row.run_key)? {
        return Ok(None);
    }
    let first = tx.overview(&row.agent_id)?.and_then(|overview| overview.open_run);
    Ok(first.filter(|first| *first != row.run_key))
}
