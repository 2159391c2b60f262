//! Checks the database as a reader: agents, their workspaces, and runs that no process drives.

use std::path::Path;

use wakeful_api::ListCategories;
use wakeful_core::saga::SagaStatus;
use wakeful_store::rows::{
    Agent, DecisionFilter, DecisionNotificationRow, RunFilter, RunRow, RunState, SagaRow, Visibility,
};
use wakeful_store::{StoreError, View};

use super::Check;
use super::files::HomeUse;
use crate::backend::read;
use crate::config::{self, Overrides, SettingOrigin};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::open_home::with_read_only;
use crate::workspace::WorkspacePath;

/// Maximum number of decisions whose notifications are checked.
const PENDING_MAX: u32 = 100;

/// Maximum number of open runs that are counted.
const OPEN_MAX: u32 = 1_000;

/// Checks the home's own database, or the configured server.
pub(super) async fn look(shared: &GlobalArgs, home: &Path, use_of_home: HomeUse) -> Vec<Check> {
    let read = with_read_only(shared, async |store| {
        let found = store.read(|view| {
            let open = RunFilter {
                state: RunState::Open,
                limit: OPEN_MAX,
                ..RunFilter::default()
            };
            Ok((
                view.agents(true)?,
                view.runs(&open)?,
                view.unfinished_sagas()?,
                needs(view)?,
            ))
        });
        Ok(found.await?)
    });
    let (agents, open, unfinished, needs) = match read.await {
        Ok(found) => found,
        Err(failure) => return vec![unreadable_database(&failure)],
    };
    let message = match shared.database() {
        Some(_) => "PostgreSQL responds, and its tables are readable",
        None => "the database opens, its schema is supported, and agents and runs are readable",
    };
    let mut checks = vec![Check::ok("database", message)];
    checks.push(runs(&open, use_of_home, shared));
    checks.extend(needs);
    checks.extend(unknown_agents(&agents, home));
    let public: Vec<Agent> = agents
        .into_iter()
        .filter(|agent| agent.visibility == Visibility::Public)
        .collect();
    checks.extend(workspaces(&public, home));
    checks.push(sagas(&unfinished));
    checks.push(journal(shared).await);
    checks
}

/// Agents in the settings that do not exist: such settings have no effect.
fn unknown_agents(agents: &[Agent], home: &Path) -> Vec<Check> {
    let Ok(loaded) = config::load(home, &Overrides::default()) else {
        // The check of the settings reports why.
        return Vec::new();
    };
    let default = (!agents.is_empty() && loaded.origin("agent.default") != &SettingOrigin::Default)
        .then(|| ("agent.default".to_owned(), loaded.config.agent.default.clone()));
    let sections = loaded.config.agents.keys();
    let sections = sections.map(|name| (format!("[agents.{name}]"), name.clone()));
    let is_known = |name: &str| agents.iter().any(|agent| agent.agent_id.as_str() == name);
    let unknown = default
        .into_iter()
        .chain(sections)
        .filter(|(_, name)| !is_known(name));
    let check = unknown.map(|(setting, name)| {
        let message = format!("{setting} of config.toml names the agent {name}, which does not exist");
        let hint = format!("`wakeful agent create {name}` creates it; otherwise remove the setting");
        Check::problem("agents", message, hint)
    });
    check.collect()
}

/// Active brakes, pending decisions, quarantined runs, and failed notifications.
fn needs(view: &mut View<'_>) -> Result<Vec<Check>, StoreError> {
    let (brakes, owed) = (view.brakes()?, view.human_backlog()?);
    let mut checks = Vec::new();
    match brakes.len() {
        0 => checks.push(Check::ok("brake", "no brake is set")),
        many => checks.push(Check::warning(
            "brake",
            format!("{many} brakes are set; the work that they hold does not start"),
            "`wakeful brake status` shows them",
        )),
    }
    match owed.pending_decisions {
        0 => checks.push(Check::ok("decisions", "no decisions are pending")),
        many => checks.push(Check::warning(
            "decisions",
            format!("{many} decisions are pending"),
            "`wakeful decision list` shows them",
        )),
    }
    if owed.quarantined_runs > 0 {
        checks.push(Check::warning(
            "quarantine",
            format!(
                "{} quarantined runs wait until you resume or abandon them",
                owed.quarantined_runs
            ),
            "`wakeful runs list --status quarantined` shows them",
        ));
    }
    checks.extend(failed_notifications(view)?);
    Ok(checks)
}

/// Notification targets that failed for pending decisions.
fn failed_notifications(view: &mut View<'_>) -> Result<Option<Check>, StoreError> {
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
            target: way,
            error: Some(error),
            ..
        }) = failed
        {
            let message = format!("a notification of a decision could not be sent by {way}: {error}");
            let hint = "correct [notify] in config.toml; `wakeful decision test-notifications` tests it";
            return Ok(Some(Check::warning("notify", message, hint)));
        }
    }
    Ok(None)
}

/// A missing database is a warning, because a new home has none.
fn unreadable_database(failure: &Failure) -> Check {
    let check = Check::failure("database", failure);
    if ["home_missing", "database_empty"].contains(&failure.code()) {
        return Check::warning(
            "database",
            "no database exists yet",
            "create it with `wakeful init`",
        );
    }
    check
}

fn runs(open: &[RunRow], use_of_home: HomeUse, shared: &GlobalArgs) -> Check {
    let count = open.len();
    let hint = "`wakeful run --resume` finishes them, and so does a daemon when it starts";
    match (count, use_of_home, shared.database()) {
        (0, _, _) => Check::ok("runs", "no run is open"),
        (_, HomeUse::Taken, None) => Check::ok(
            "runs",
            format!("{count} open, and a process is working in the home"),
        ),
        (_, HomeUse::Free, None) => {
            Check::warning("runs", format!("{count} open, but no process drives them"), hint)
        }
        // Only the server knows which process drives a run; resuming skips the runs that another process
        // drives.
        (_, _, Some(_)) => Check::warning(
            "runs",
            format!("{count} open; a process on another machine may drive them"),
            hint,
        ),
    }
}

/// Sagas that are neither completed nor undone.
fn sagas(unfinished: &[SagaRow]) -> Check {
    let stuck = unfinished
        .iter()
        .filter(|row| row.saga.status == SagaStatus::Stuck)
        .count();
    match (unfinished.len(), stuck) {
        (0, _) => Check::ok("sagas", "every write to the journal is completed or undone"),
        (open, 0) => Check::warning(
            "sagas",
            format!("{open} writes to the journal are incomplete"),
            "`wakeful run --resume` completes or undoes them, and so does a daemon when it starts",
        ),
        (_, stuck) => Check::problem(
            "sagas",
            format!("{stuck} writes to the journal can be neither completed nor undone"),
            "`wakeful saga list` shows why; `wakeful saga resolve OPERATION` keeps the journal as it is",
        ),
    }
}

/// Whether the journal exists and is the one that agents wrote to.
async fn journal(shared: &GlobalArgs) -> Check {
    let read = read(shared, async |backend| backend.call(ListCategories {}).await);
    match read.await {
        Ok(_) => Check::ok("journal", "the journal is readable"),
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
            let hint = "recreate the folder, or choose another: `wakeful agent set AGENT --workspace DIR`";
            Some(Check::problem("workspace", message, hint))
        })
        .collect();
    if wrong.is_empty() {
        let message = format!("agents: {}, each with an existing workspace", agents.len());
        return vec![Check::ok("workspace", message)];
    }
    wrong
}
