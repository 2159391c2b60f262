//! Tools: the actions that agents can perform.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};
use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Attachment, ToolCall, ToolSpec};
use wakeful_core::hook::{HookEvent, HookVerdict};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::policy::{CallFacts, HostDecision, PathDecisions, Target};
use wakeful_core::provenance::Sources;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::sandbox_policy::TOOL_EXECUTION_MS_MAX;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::{EffectClass, RetryAfter, ToolError};
use wakeful_core::sub_run::START_RUN;
use wakeful_core::time::Millis;
use wakeful_core::tool::{AgentAccessScope, ChangedEntity, RiskLevel, ToolContract, ToolRiskClassification};

/// One action to perform. Its arguments have passed [`ToolHost::check`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRequest {
    /// The id by which an external system can reject a repetition.
    pub operation_id: OperationId,
    pub tool: String,
    pub input: Value,
    /// The run that requested it, for people; none outside of a run.
    pub run_key: Option<RunKey>,
    /// The agent that requested it.
    pub agent_id: AgentId,
    pub at: Millis,
    /// What the verdict on this action permits beyond the tool's own scope.
    pub grant: CallGrant,
    /// What the agent's sandbox allows beyond its workspace.
    pub scope: SandboxScope,
    /// What the policies say about hosts that the action connects to.
    pub hosts: HostPolicy,
    /// What the policies say about paths that the action finds in a folder.
    pub paths: PathPolicy,
    /// Which categories of the journal the agent may use.
    pub access: AgentAccessScope,
    /// Whether the run may change nothing: its commands cannot write in the workspace.
    pub is_read_only: bool,
    /// Whether the run has read untrusted data and the operator did not name the action. Its commands get a
    /// `HOME` of their own.
    pub is_untrusted: bool,
    /// Receives the output while the action runs.
    pub output: OutputSink,
    /// Counts what it writes to files.
    pub written: WriteMeter,
}

impl ToolRequest {
    /// A request without grants or restrictions beyond those of the workspace, whose output is not followed.
    #[must_use]
    pub fn new(operation_id: OperationId, agent_id: AgentId, tool: &str, input: Value) -> Self {
        Self {
            operation_id,
            tool: tool.to_owned(),
            input,
            run_key: None,
            agent_id,
            at: Millis(0),
            grant: CallGrant::default(),
            scope: SandboxScope::default(),
            hosts: HostPolicy::default(),
            paths: PathPolicy::default(),
            access: AgentAccessScope::everything(),
            is_read_only: false,
            is_untrusted: false,
            output: OutputSink::default(),
            written: WriteMeter::default(),
        }
    }
}

/// Counts the bytes that an action writes to files, within a maximum if the budget has one.
#[derive(Debug, Clone, Default)]
pub struct WriteMeter {
    max: Option<u64>,
    bytes: Arc<AtomicU64>,
}

impl WriteMeter {
    /// A meter that admits at most this many bytes.
    #[must_use]
    pub fn new(max: Option<u64>) -> Self {
        Self {
            max,
            bytes: Arc::default(),
        }
    }

    /// How many bytes may still be written.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.max.map_or(u64::MAX, |max| max.saturating_sub(self.bytes()))
    }

    /// Counts bytes.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The bytes that were counted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// What is counted is not part of what a request asks for.
impl PartialEq for WriteMeter {
    fn eq(&self, other: &Self) -> bool {
        self.max == other.max
    }
}

/// The targets that a policy or a person permitted for one action. The default is that of a host without a
/// policy: only the tool's own scope counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallGrant {
    /// Whether the targets of the call were judged. Then a file tool may reach only those that are granted.
    pub is_judged: bool,
    /// A tool may reach each, although it may be outside its ordinary scope.
    pub targets: Vec<Target>,
}

impl CallGrant {
    /// The grant of a call that was judged.
    #[must_use]
    pub const fn judged(targets: Vec<Target>) -> Self {
        Self {
            is_judged: true,
            targets,
        }
    }
}

/// Decides on hosts that an action connects to while it runs. It must not block. Without a policy the lists
/// of the agent's sandbox decide alone.
#[derive(Clone, Default)]
pub struct HostPolicy(Option<Arc<DecideHost>>);

type DecideHost = dyn Fn(&Target) -> HostDecision + Send + Sync;

impl HostPolicy {
    /// A policy that calls a function for every host.
    pub fn new(decide: impl Fn(&Target) -> HostDecision + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    /// Decides on a host.
    #[must_use]
    pub fn decide(&self, host: &Target) -> HostDecision {
        self.0
            .as_ref()
            .map_or(HostDecision::AsListed, |decide| decide(host))
    }
}

impl std::fmt::Debug for HostPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostPolicy").finish_non_exhaustive()
    }
}

/// The policies are not part of what a request asks for, so all are equal.
impl PartialEq for HostPolicy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Decides on paths that an action finds in a folder while it runs. It must not block. Without a policy the scope
/// of the tool decides alone.
#[derive(Clone, Default)]
pub struct PathPolicy(Option<Arc<DecidePaths>>);

type DecidePaths = dyn Fn(&[Target]) -> PathDecisions + Send + Sync;

impl PathPolicy {
    /// A policy that calls a function for the paths of a folder.
    pub fn new(decide: impl Fn(&[Target]) -> PathDecisions + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(decide)))
    }

    /// Whether a policy restricts paths, so that each must be decided on.
    #[must_use]
    pub fn is_restricting(&self) -> bool {
        self.decide(&[]) != PathDecisions::Unrestricted
    }

    /// Decides on paths.
    #[must_use]
    pub fn decide(&self, paths: &[Target]) -> PathDecisions {
        self.0
            .as_ref()
            .map_or(PathDecisions::Unrestricted, |decide| decide(paths))
    }
}

impl std::fmt::Debug for PathPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PathPolicy").finish_non_exhaustive()
    }
}

/// The policies are not part of what a request asks for, so all are equal.
impl PartialEq for PathPolicy {
    fn eq(&self, _: &Self) -> bool {
        true
    }
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
    /// Images that the model sees with `content`, stored in the same transcript entry.
    pub images: Vec<Attachment>,
    /// What the action changed, as far as the tool knows; at most [`wakeful_core::tool::CHANGED_MAX`]. A command does not know.
    pub changed: Vec<ChangedEntity>,
    /// Set if the failure was transient and nothing was done.
    pub retry_after: Option<RetryAfter>,
}

/// The time that a tool may take unless it has limits of its own.
pub const TOOL_MS_MAX: u64 = TOOL_EXECUTION_MS_MAX;

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

/// The event for which hooks run.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRequest {
    pub agent_id: AgentId,
    pub event: HookEvent,
    /// The tool of a call.
    pub tool: Option<String>,
    /// What each hook receives as JSON. The field `tool_input` has the arguments of a call.
    pub payload: Map<String, Value>,
    /// The time that all of them may take together.
    pub time_ms: u64,
}

/// The field of [`HookRequest::payload`] that a hook may change.
pub const TOOL_INPUT: &str = "tool_input";

/// One hook that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct HookRun {
    /// Its command or address.
    pub hook: String,
    /// The file that defines it.
    pub source: String,
    pub verdict: HookVerdict,
    pub duration_ms: u64,
}

/// Registers tools and performs their actions.
pub trait ToolHost: Send + Sync + 'static {
    /// Returns the tool descriptions for the model, in a stable order.
    fn specs(&self) -> Vec<ToolSpec>;

    /// Returns the facts about a call that policies decide on. The arguments have passed [`Self::check`].
    fn facts(&self, _tool: &str, _input: &Value, _scope: &SandboxScope) -> CallFacts {
        CallFacts::default()
    }

    /// Returns why a safety constraint excludes a target of a call, for the audit: the path or host, and the
    /// entry of the list. None if no constraint does, and for a tool without paths and hosts.
    fn constraint(&self, _tool: &str, _input: &Value, _scope: &SandboxScope) -> Option<String> {
        None
    }

    /// Returns the risk tier of a tool. An unregistered tool has the highest.
    fn risk(&self, _tool: &str) -> RiskLevel {
        RiskLevel::High
    }

    /// Returns the contract of a tool; none for an unknown tool, and if the contract file and the registry
    /// do not agree. Without a contract every call is denied. A host without a contract file permits
    /// its registered tools for every reason.
    fn contract(&self, tool: &str) -> Option<ToolContract> {
        let class = if tool == START_RUN {
            Some(EffectClass::Internal)
        } else {
            self.class(tool)
        };
        class.map(|class| ToolContract::open(tool, class, self.risk(tool)))
    }

    /// Returns the most specific risk classification that matches a tool. Without one, a person decides about
    /// every call.
    fn risk_classification(&self, tool: &str) -> Option<ToolRiskClassification> {
        self.contract(tool).as_ref().map(ToolRiskClassification::of)
    }

    /// Returns the sandbox level that this machine can enforce: 0 for none, 1 for Landlock and seccomp, 2 for
    /// namespaces in addition.
    fn sandbox_level(&self) -> u8 {
        0
    }

    /// Returns the class of a registered tool.
    fn class(&self, tool: &str) -> Option<EffectClass>;

    /// Returns the automatic retries of a repeatable tool after transient failures.
    fn retry(&self, _tool: &str) -> Option<RetryPolicy> {
        None
    }

    /// Returns the time that a tool may take; none for a tool with limits of its own.
    fn time_limit_ms(&self, _tool: &str) -> Option<u64> {
        Some(TOOL_MS_MAX)
    }

    /// Returns the longest that a call may take by the limits of its tool; none if that is unknown.
    fn longest_ms(&self, tool: &str, _input: &Value) -> Option<u64> {
        self.time_limit_ms(tool)
    }

    /// Returns the bytes without the values of secrets that commands may receive; none if they contain none.
    fn redact(&self, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Returns the untrusted sources of a call's result: what the call read or could read from outside.
    fn sources(&self, _call: &ToolCall, _content: &str, _scope: &SandboxScope) -> Sources {
        Sources::none()
    }

    /// Checks the arguments of a registered tool without side effects.
    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError>;

    /// Returns what a call would change, as a unified diff for the person who decides about it; none if it
    /// changes no files. The arguments have passed [`Self::check`].
    fn preview(&self, _tool: &str, _input: &Value, _scope: &SandboxScope) -> Option<String> {
        None
    }

    /// Performs an action. It ends early when `stop` resolves, and never leaves a process behind.
    fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> impl Future<Output = ToolOutcome> + Send;

    /// Returns whether hooks may run for an event of an agent. It is asked before every call, so it must be fast.
    fn has_hooks(&self, _agent_id: &AgentId, _event: HookEvent) -> bool {
        false
    }

    /// Runs the hooks of the operator for one event, in order, until one blocks. Each gets the arguments that the
    /// one before it changed. No process is left behind, also when the future is dropped.
    fn run_hooks(&self, _request: HookRequest) -> impl Future<Output = Vec<HookRun>> + Send {
        std::future::ready(Vec::new())
    }

    /// Removes what an interrupted action left behind, in particular running processes. Called before an
    /// unknown outcome is recorded, so that nothing changes any more when a person investigates.
    fn clean_up(&self, operation_id: OperationId) -> impl Future<Output = ()> + Send;
}
