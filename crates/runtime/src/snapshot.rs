//! Records the workspace of a run before its first write, and the state that its writes left.
//!
//! The state after writes is recorded while the model is asked, so that it costs no time, and at the latest
//! before the run ends or is released.

use wakeful_core::conversation::ToolCall;
use wakeful_core::run::{Effect, RunInput};
use wakeful_core::snapshot::may_write;
use wakeful_core::step::EffectClass;
use wakeful_ports::model::Model;
use wakeful_ports::snapshot::{RunWorkspace, SnapshotFuture};
use wakeful_ports::tool::ToolHost;

use crate::run::ClaimedRun;
use crate::step::NextAction;
use crate::{Engine, EngineError};

fn workspace_of(claimed: &ClaimedRun) -> RunWorkspace {
    RunWorkspace {
        run: claimed.run_key(),
        workspace: claimed.machine.workspace.clone(),
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Records the workspace before the first of these calls that may write. Returns whether that took time.
    pub(crate) async fn record_before(
        &self,
        claimed: &mut ClaimedRun,
        calls: &[(EffectClass, &ToolCall)],
    ) -> bool {
        // The sandbox lets a run that may change nothing write nowhere.
        if claimed.machine.is_read_only {
            return false;
        }
        let scope = &claimed.settings.sandbox;
        let is_write = |(class, call): &(EffectClass, &ToolCall)| {
            may_write(*class, || self.tools.facts(&call.name, &call.input, scope))
        };
        if !calls.iter().any(is_write) {
            return false;
        }
        claimed.has_written = true;
        let of = workspace_of(claimed);
        if self.snapshots.has_begun(&of) {
            return false;
        }
        self.snapshots.record_before(of, self.clock.now()).await;
        true
    }

    /// Performs the next effect. While the model is asked, the state that the last actions left is recorded.
    pub(crate) async fn perform_and_record(
        &self,
        claimed: &mut ClaimedRun,
    ) -> Result<NextAction, EngineError> {
        let asks = matches!(claimed.effects.first(), Some(Effect::CallModel { .. }));
        if !asks || !claimed.has_written {
            return self.perform(claimed).await;
        }
        let recording = self.recording(claimed);
        tokio::join!(self.perform(claimed), recording).0
    }

    /// Records the state that the actions left, unless further actions may follow at once.
    pub(crate) async fn record_unless_acting(&self, claimed: &mut ClaimedRun, next: &NextAction) {
        let may_act = match next {
            NextAction::Input(performed) => matches!(performed.input, RunInput::Settled { .. }),
            NextAction::Stop | NextAction::Brake | NextAction::Wait(_) | NextAction::OverBudget(_) => false,
        };
        if !may_act {
            self.record_after(claimed).await;
        }
    }

    /// Records the state that the actions left, if it is not recorded.
    pub(crate) async fn record_after(&self, claimed: &mut ClaimedRun) {
        if claimed.has_written {
            self.recording(claimed).await;
        }
    }

    fn recording(&self, claimed: &mut ClaimedRun) -> SnapshotFuture<'static, ()> {
        claimed.has_written = false;
        self.snapshots
            .record_after(workspace_of(claimed), self.clock.now())
    }
}
