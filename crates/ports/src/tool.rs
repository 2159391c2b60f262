//! Actions in the world.

use std::future::Future;

use serde_json::Value;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::id::AgentId;
use wakeful_core::key::OperationId;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::step::{EffectClass, RetryAfter, ToolError};
use wakeful_core::time::Millis;

/// One action to carry out. Its arguments have passed [`ToolHost::check`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// The id under which the world may refuse it a second time.
    pub operation_id: OperationId,
    /// The registered tool.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// For whom it is done.
    pub agent_id: AgentId,
    /// When it begins.
    pub at: Millis,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads: JSON as text, within the tool's own bound.
    pub content: String,
    /// The stable word of what went wrong; none when it did what was asked.
    pub code: Option<String>,
    /// The isolation that was really enforced, for tools that start processes.
    pub sandbox: Option<String>,
    /// Contents that `content` names by hash, to be kept with the result.
    pub blobs: Vec<Blob>,
    /// That it failed for the moment only, and nothing was done.
    pub again: Option<RetryAfter>,
}

/// The code of an action that was not begun: [`StopSignal::start_forbidden`] resolved while it waited for its place. Nothing was done, so
/// it can be taken back and done later.
pub const NOT_BEGUN: &str = "not_begun";

/// Tells an action to end early. Cheap to clone; once set it stays set.
pub trait StopSignal: Send + Sync + 'static {
    /// Resolves when the action should end.
    fn stopped(&self) -> impl Future<Output = ()> + Send;

    /// Resolves when nothing may begin any more; no later than [`Self::stopped`], which leaves time to what has begun. An
    /// action that still waits for its place ends as [`NOT_BEGUN`] then.
    fn start_forbidden(&self) -> impl Future<Output = ()> + Send {
        self.stopped()
    }

    /// Resolves when nothing stands against a beginning, as looked at now. For an action that had to wait for its place:
    /// what was looked at before is old by then. Where something does stand against it, [`Self::start_forbidden`] resolves
    /// instead.
    fn start_allowed(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The tools there are, and their performance.
pub trait ToolHost: Send + Sync + 'static {
    /// What the model is told, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// The class of a registered tool.
    fn class(&self, tool: &str) -> Option<EffectClass>;

    /// How often a tool that may be repeated is tried again by itself, when it says that it failed for the moment.
    fn retry(&self, _tool: &str) -> Option<RetryPolicy> {
        None
    }

    /// Checks the arguments of a registered tool without doing anything.
    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError>;

    /// Carries out an action. It ends early when `stop` resolves, and leaves no process behind either way.
    fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> impl Future<Output = ToolOutcome> + Send;

    /// Removes what an interrupted action left behind, above all running processes. Called before an
    /// unknown outcome is written, so that the world stands still when a person looks.
    fn clean_up(&self, operation_id: OperationId) -> impl Future<Output = ()> + Send;
}
