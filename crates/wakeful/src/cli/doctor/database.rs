//! The database, read as any reader would: agents, their workspaces, and runs that nobody drives.

use std::path::Path;

use wakeful_api::ListCategories;
use wakeful_core::saga::SagaStatus;
use wakeful_store::rows::{
    Agent, DecisionFilter, DecisionNotificationRow, RunFilter, RunRow, RunState, SagaRow,
};
use wakeful_store::{StoreError, View};

use super::Check;
use super::files::HomeUse;
use crate::backend::read;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::open_home::with_read_only;
use crate::workspace::WorkspacePath;

/// Questions whose announcements are looked at.
const PENDING_MAX: u32 = 100;

/// Open runs that are counted.
const OPEN_MAX: u32 = 1_000;

/// Looks at the home's own database, or at the server that was named.
pub(super) async fn look(shared: &GlobalArgs, home: &Path, use_of_home: HomeUse) -> Vec<Check> {
    let read = with_read_only(shared, async |store| {
        let found = store.read(|view| {
            let open = RunFilter {
                state: RunState::Open,
                limit: OPEN_MAX,
                ..RunFilter::default()
            };
            Ok((
                view.agents(false)?,
                view.runs(&open)?,
                view.unfinished_sagas()?,
                needs(view)?,
            ))
        });
        Ok(found.await?)
    });
    let (agents, open, unfinished, needs) = match read.await {
        Ok(found) => found,
        Err(failure) => return vec![unread(&failure)],
    };
    let message = match shared.database() {
        Some(_) => "PostgreSQL answers, and its tables can be read",
        None => "it opens, its schema fits, and agents and runs can be read",
    };
    let mut checks = vec![Check::ok("database", message)];
    checks.push(runs(&open, use_of_home, shared));
    checks.extend(needs);
    checks.extend(workspaces(&agents, home));
    checks.push(sagas(&unfinished));
    checks.push(journal(shared).await);
    checks
}

/// What is held, what waits for a person, and who could not be told of it.
fn needs(view: &mut View<'_>) -> Result<Vec<Check>, StoreError> {
    let (brakes, owed) = (view.brakes()?, view.human_backlog()?);
    let mut checks = Vec::new();
    match brakes.len() {
        0 => checks.push(Check::ok("brake", "no brake is on")),
        many => checks.push(Check::warning(
            "brake",
            format!("{many} on: what they hold begins nothing"),
            "`wakeful brake status` shows them",
        )),
    }
    match owed.pending_decisions {
        0 => checks.push(Check::ok("decisions", "nothing waits for an answer")),
        many => checks.push(Check::warning(
            "decisions",
            format!("{many} wait for an answer"),
            "`wakeful decision list` shows them",
        )),
    }
    if owed.quarantined_runs > 0 {
        checks.push(Check::warning(
            "quarantine",
            format!("{} runs cannot go on until you say so", owed.quarantined_runs),
            "`wakeful runs list --state quarantined` shows them",
        ));
    }
    checks.extend(untold(view)?);
    Ok(checks)
}

/// Ways by which people could not be told of what waits for them.
fn untold(view: &mut View<'_>) -> Result<Option<Check>, StoreError> {
    let pending = view.decisions(&DecisionFilter {
        pending_only: true,
        limit: PENDING_MAX,
        ..DecisionFilter::default()
    })?;
    for one in pending {
        let tries = view.announcements(&one.inquiry.decision_id)?;
        let failed = tries
            .into_iter()
            .rfind(|row| !row.is_done && row.severity == one.inquiry.severity);
        if let Some(DecisionNotificationRow {
            way,
            error: Some(error),
            ..
        }) = failed
        {
            let message = format!("a notification of a decision could not be sent by {way}: {error}");
            let hint = "correct [notify] in config.toml; `wakeful decision test-notifications` tries it";
            return Ok(Some(Check::warning("notify", message, hint)));
        }
    }
    Ok(None)
}

/// That there is no database yet is nothing wrong.
fn unread(failure: &Failure) -> Check {
    let check = Check::failure("database", failure);
    if ["home_missing", "database_empty"].contains(&failure.code()) {
        return Check::warning("database", "there is no database yet", "`wakeful init` makes it");
    }
    check
}

fn runs(open: &[RunRow], use_of_home: HomeUse, shared: &GlobalArgs) -> Check {
    let count = open.len();
    let hint = "`wakeful run --resume` finishes them, and so does a daemon when it starts";
    match (count, use_of_home, shared.database()) {
        (0, _, _) => Check::ok("runs", "no run is open"),
        (_, HomeUse::Taken, None) => {
            Check::ok("runs", format!("{count} open, and a process works in the home"))
        }
        (_, HomeUse::Free, None) => Check::warning("runs", format!("{count} open that nobody drives"), hint),
        // Who drives what is known to the server alone; resuming leaves those alone that somebody drives.
        (_, _, Some(_)) => Check::warning(
            "runs",
            format!("{count} open; a process somewhere may drive them"),
            hint,
        ),
    }
}

/// Writes to the journal that are neither finished nor taken back.
fn sagas(unfinished: &[SagaRow]) -> Check {
    let stuck = unfinished
        .iter()
        .filter(|row| row.saga.status == SagaStatus::Stuck)
        .count();
    match (unfinished.len(), stuck) {
        (0, _) => Check::ok("sagas", "every write to the journal is finished or taken back"),
        (open, 0) => Check::warning(
            "sagas",
            format!("{open} writes to the journal are not finished"),
            "`wakeful run --resume` finishes them or takes them back, and so does a daemon when it starts",
        ),
        (_, stuck) => Check::problem(
            "sagas",
            format!("{stuck} writes to the journal can be neither finished nor taken back"),
            "`wakeful saga list` says why; `wakeful saga resolve OPERATION` leaves the journal as it is",
        ),
    }
}

/// Whether the journal is there and is the one that agents wrote to.
async fn journal(shared: &GlobalArgs) -> Check {
    let read = read(shared, async |backend| backend.call(ListCategories {}).await);
    match read.await {
        Ok(_) => Check::ok("journal", "it can be read"),
        Err(failure) => Check::failure("journal", &failure),
    }
}

fn workspaces(agents: &[Agent], home: &Path) -> Vec<Check> {
    let wrong: Vec<Check> = agents
        .iter()
        .filter_map(|agent| {
            let failure = WorkspacePath::look(Path::new(&agent.workspace), home).err()?;
            let check = Check::failure("workspace", &failure);
            let message = format!("agent {}: {}", agent.agent_id, check.message);
            let hint = "make the folder again, or give --workspace DIR with each run";
            Some(Check::problem("workspace", message, hint))
        })
        .collect();
    if wrong.is_empty() {
        let message = format!("agents: {}, each with a folder to work in", agents.len());
        return vec![Check::ok("workspace", message)];
    }
    wrong
}
