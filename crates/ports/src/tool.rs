//! Tools: the actions that agents can perform.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;
use wakeful_core::blob::Blob;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::id::AgentId;
use wakeful_core::key::OperationId;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::step::{EffectClass, RetryAfter, ToolError};
use wakeful_core::time::Millis;

/// One action to perform. Its arguments have passed [`ToolHost::check`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// The id by which an external system can reject a repetition.
    pub operation_id: OperationId,
    pub tool: String,
    pub input: Value,
    /// The agent that requested it.
    pub agent_id: AgentId,
    pub at: Millis,
    /// Receives the output while the action runs.
    pub output: OutputSink,
}

/// One of the two output streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputStream {
    Stdout,
    Stderr,
}

/// Receives the output of an action while it runs, in the order of each stream. It must not block, because
/// the action waits. Without a receiver the output is only part of the result.
#[derive(Clone, Default)]
pub struct OutputSink(Option<Arc<Receive>>);

type Receive = dyn Fn(OutputStream, &[u8]) + Send + Sync;

impl OutputSink {
    /// A sink that calls a function for every piece.
    pub fn new(receive: impl Fn(OutputStream, &[u8]) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receive)))
    }

    /// Passes a piece on.
    pub fn send(&self, stream: OutputStream, bytes: &[u8]) {
        if let Some(receive) = &self.0 {
            receive(stream, bytes);
        }
    }
}

impl std::fmt::Debug for OutputSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputSink").finish_non_exhaustive()
    }
}

/// The receiver is not part of what a request asks for, so all sinks are equal.
impl PartialEq for OutputSink {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The result of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// The text for the model: JSON within the tool's own limit.
    pub content: String,
    /// The error code; none on success.
    pub code: Option<String>,
    /// The isolation that was actually enforced, for tools that start processes.
    pub sandbox: Option<String>,
    /// The exit status of a command; none for other tools.
    pub exit_status: Option<i32>,
    /// Contents that `content` references by hash, stored with the result.
    pub blobs: Vec<Blob>,
    /// Set if the failure was transient and nothing was done.
    pub retry_after: Option<RetryAfter>,
}

/// The code of an action that did not begin, because [`StopSignal::start_forbidden`] resolved while it
/// waited for a slot. Nothing was done, so it can be postponed.
pub const NOT_BEGUN: &str = "not_begun";

/// Signals an action to end early. Cheap to clone; once set, it stays set.
pub trait StopSignal: Send + Sync + 'static {
    /// Resolves when the action should end.
    fn stopped(&self) -> impl Future<Output = ()> + Send;

    /// Resolves when nothing may start any more, no later than [`Self::stopped`], which gives running
    /// actions time to end. An action that still waits for a slot then ends with [`NOT_BEGUN`].
    fn start_forbidden(&self) -> impl Future<Output = ()> + Send {
        self.stopped()
    }

    /// Resolves when a fresh check allows the action to start. An action that waited for a slot needs it,
    /// because the earlier check is outdated. If starting is not allowed, [`Self::start_forbidden`]
    /// resolves instead.
    fn start_allowed(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Registers tools and performs their actions.
pub trait ToolHost: Send + Sync + 'static {
    /// Returns the tool descriptions for the model, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Returns the class of a registered tool.
    fn class(&self, tool: &str) -> Option<EffectClass>;

    /// Returns the automatic retries of a repeatable tool after transient failures.
    fn retry(&self, _tool: &str) -> Option<RetryPolicy> {
        None
    }

    /// Checks the arguments of a registered tool without side effects.
    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError>;

    /// Performs an action. It ends early when `stop` resolves, and never leaves a process behind.
    fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> impl Future<Output = ToolOutcome> + Send;

    /// Removes what an interrupted action left behind, in particular running processes. Called before an
    /// unknown outcome is recorded, so that nothing changes any more when a person investigates.
    fn clean_up(&self, operation_id: OperationId) -> impl Future<Output = ()> + Send;
}
