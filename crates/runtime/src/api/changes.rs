//! What a run changed in its workspace, and undoing it.

use wakeful_core::key::RunKey;
use wakeful_core::report::EventDraft;
use wakeful_core::report::payload::RunUndone;
use wakeful_core::run::RunStatus;
use wakeful_core::snapshot::{RunChanges, UndoReport};
use wakeful_ports::snapshot::{ChangeQuery, RestoreMode, RestoreRequest, RunWorkspace, SnapshotError};
use wakeful_store::rows::{RunFilter, RunRow, RunState};
use wakeful_store::{StoreError, View};

use super::RunApi;
use super::shared::announce;
use crate::run::decode;
use crate::{EngineError, Observer as _};

/// Open runs that are examined before files are restored. More do not run at the same time.
const OPEN_RUNS_MAX: u32 = 1_000;

impl RunApi {
    /// Returns what a run changed in its workspace.
    pub async fn changes(&self, run: RunKey, query: ChangeQuery) -> Result<RunChanges, EngineError> {
        let (_, of) = self.workspace_of(run).await?;
        Ok(self.shared.snapshots.changes(of, query).await?)
    }

    /// Restores files of an ended run, and records it in the log of its agent. Returns the plan alone if
    /// only that is requested.
    pub async fn undo(&self, run: RunKey, request: RestoreRequest) -> Result<UndoReport, EngineError> {
        let (row, of) = self.workspace_of(run).await?;
        if row.status == RunStatus::Open || row.status == RunStatus::Quarantined {
            return Err(EngineError::NotEnded { run });
        }
        let workspace = of.workspace.clone();
        let busy = self
            .shared
            .store
            .read(move |view| working_in(view, &workspace))
            .await?;
        if let Some(other) = busy {
            return Err(SnapshotError::WorkspaceBusy(other).into());
        }
        let (mode, direction) = (request.mode, request.direction);
        let report = self.shared.snapshots.restore(of, request).await?;
        let changed = report.restored_total + report.removed_total;
        if mode == RestoreMode::Perform && changed > 0 {
            let undone = RunUndone {
                run_key: run,
                direction,
                restored: report.restored_total,
                removed: report.removed_total,
                skipped: report.skipped_total,
            };
            let sealed = self
                .shared
                .seal(EventDraft::new(undone), Some(run), self.shared.clock.now())?;
            let agent = row.agent_id.clone();
            let event = self.shared.write(move |tx| announce(tx, &agent, &sealed)).await?;
            if let Some(event) = event {
                self.shared.hub.on_events(&row.agent_id, &[event]);
            }
        }
        Ok(report)
    }

    async fn workspace_of(&self, run: RunKey) -> Result<(RunRow, RunWorkspace), EngineError> {
        let row = self.shared.store.read(move |view| view.run(&run)).await?;
        let row = row.ok_or(EngineError::UnknownRun(run))?;
        let workspace = decode(&row)?.workspace;
        Ok((row, RunWorkspace { run, workspace }))
    }
}

/// A run that works in a workspace now. A waiting one does not: its next action takes a new decision, and
/// its snapshots stay what they are.
fn working_in(view: &mut View<'_>, workspace: &str) -> Result<Option<RunKey>, StoreError> {
    let open = view.runs(&RunFilter {
        state: RunState::Open,
        limit: OPEN_RUNS_MAX,
        ..RunFilter::default()
    })?;
    let works = |row: &&RunRow| {
        row.wait().is_none() && decode(row).is_ok_and(|machine| machine.workspace == workspace)
    };
    Ok(open.iter().find(works).map(|row| row.run_key))
}
