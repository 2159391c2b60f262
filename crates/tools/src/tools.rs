//! The tool host: schemas for the model, checks, execution, cleanup.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread;

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use wakeful_core::conversation::{ToolCall, ToolSpec};
use wakeful_core::hook::HookEvent;
use wakeful_core::id::AgentId;
use wakeful_core::key::OperationId;
use wakeful_core::network_scope::HostRules;
use wakeful_core::policy::{CallFacts, CommandFact, HostScope, SecretScope, Target, WRITE_QUOTA_EXCEEDED};
use wakeful_core::provenance::{SourceKind, Sources};
use wakeful_core::retry::RetryPolicy;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::tool::{RiskLevel, ToolContract};
use wakeful_ports::journal::Journal;
use wakeful_ports::tool::{
    HookRequest, HookRun, StopSignal, TOOL_MS_MAX, ToolHost, ToolOutcome, ToolRequest,
};

use crate::arguments::{self, Arguments};
use crate::command::CommandStop;
use crate::contract;
use crate::hook::{self, HookContext, HookFiles};
use crate::journal;
use crate::journal_reading::{self, Reading};
use crate::operation_dir::OperationDir;
use crate::options::ToolsOptions;
use crate::outcome::{failed, not_begun, refused, spawn_failed};
use crate::registry::{self, ToolEntry, ToolGroup};
use crate::sandbox::probe::level_here;
use crate::web;
use crate::workspace::{Workspace, WorkspaceError};

/// Most commands of this process that run at the same time, over all runs; each has a thread and three
/// processes. Others wait for a permit.
pub const COMMANDS_MAX: usize = 32;

/// The permits of running commands. One semaphore for the whole process, because every run has its own
/// tools.
static PLACES: Semaphore = Semaphore::const_new(COMMANDS_MAX);

/// The built-in tools. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    inner: Arc<Inner>,
    journal: Option<Arc<dyn Journal>>,
    /// Whether the tools of a journal are known without one, to explain calls of them.
    is_journal_known: bool,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Inner {
    options: ToolsOptions,
    workspace: Workspace,
    hooks: HookFiles,
    scratch: PathBuf,
    /// The level of the sandbox, once it was determined.
    level: OnceLock<u8>,
    /// Set after a namespace was created that could not be used, so that it is not tried for every command.
    no_namespaces: AtomicBool,
}

impl Tools {
    /// Validates the folders and creates the scratch folder. Starts no process.
    pub fn new(options: ToolsOptions) -> Result<Self, WorkspaceError> {
        let workspace = Workspace::new(&options.home, &options.workspace)?;
        // Repeated for every command; checked here so that no run starts in an unusable workspace.
        workspace.closed_places(&options.closed)?;
        let unusable = |source| WorkspaceError::Unusable {
            path: options.scratch.clone(),
            source,
        };
        fs::create_dir_all(&options.scratch).map_err(unusable)?;
        let scratch = options.scratch.canonicalize().map_err(unusable)?;
        // In another folder, a command could write the record that decides which process is killed.
        if !scratch.starts_with(workspace.home()) {
            return Err(WorkspaceError::ScratchOutside {
                scratch,
                home: workspace.home().to_owned(),
            });
        }
        Ok(Self {
            inner: Arc::new(Inner {
                hooks: HookFiles::new(workspace.home()),
                options,
                workspace,
                scratch,
                level: OnceLock::new(),
                no_namespaces: AtomicBool::new(false),
            }),
            journal: None,
            is_journal_known: false,
        })
    }

    /// Adds the tools that write to a journal.
    #[must_use]
    pub fn with_journal(self, journal: Arc<dyn Journal>) -> Self {
        Self {
            journal: Some(journal),
            ..self
        }
    }

    /// Knows the tools of a journal although there is none, to explain calls of them. None of them can be
    /// performed.
    #[must_use]
    pub fn for_explanation(self) -> Self {
        Self {
            is_journal_known: true,
            ..self
        }
    }

    /// The entry of a tool that is available here.
    fn entry(&self, tool: &str) -> Option<&'static ToolEntry> {
        registry::find(tool).filter(|entry| {
            contract::contract(entry.name).is_some()
                && match entry.group {
                    ToolGroup::Command
                    | ToolGroup::Files
                    | ToolGroup::Scan
                    | ToolGroup::Web
                    | ToolGroup::Provider => true,
                    ToolGroup::Journal | ToolGroup::JournalReading => {
                        self.journal.is_some() || self.is_journal_known
                    }
                    ToolGroup::Engine => false,
                }
        })
    }

    /// The folder that commands work in.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.inner.workspace
    }
}

impl Inner {
    async fn perform(self: Arc<Self>, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        let arguments = match self.check(&act.input) {
            Ok(arguments) => arguments,
            Err(fault) => return refused(&fault),
        };
        let work = move |inner: &Self, act: &ToolRequest, brake: &CommandStop| {
            inner.recorded(act, || inner.begin(act, arguments, brake))
        };
        self.on_thread(act, stop, work).await
    }

    /// Does the work of a call on its own thread, within the bound on running commands.
    async fn on_thread(
        self: Arc<Self>,
        act: ToolRequest,
        stop: impl StopSignal,
        work: impl FnOnce(&Self, &ToolRequest, &CommandStop) -> ToolOutcome + Send + 'static,
    ) -> ToolOutcome {
        let tool = act.tool.clone();
        let refused = |fault: &ToolError| failed(&tool, fault);
        let Some(turn) = place(&stop).await else {
            return refused(&not_begun());
        };
        // An earlier stop would otherwise race with the shell's first lines.
        let is_stopped = tokio::select! {
            biased;
            () = stop.stopped() => true,
            () = std::future::ready(()) => false,
        };
        if is_stopped {
            return refused(&crate::outcome::cancelled());
        }
        let Ok(brake) = CommandStop::new().map(Arc::new) else {
            return refused(&spawn_failed(
                "no file descriptor is available",
                "close some files, or raise the limit on open files",
            ));
        };
        // Also applies when this future is dropped: the result is not needed then, so the command must
        // stop.
        let guard = StopOnDrop(Arc::clone(&brake));
        let (answer, mut answered) = oneshot::channel();
        let whole = move || {
            let done = work(&self, &act, &brake);
            drop(turn);
            // The receiver may be gone.
            let _unheard = answer.send(done);
        };
        if let Err(e) = thread::Builder::new().name("command".to_owned()).spawn(whole) {
            return refused(&spawn_failed(
                &format!("the thread of the command could not be started: {e}"),
                "wait until other commands have ended",
            ));
        }
        let done = tokio::select! {
            done = &mut answered => done,
            () = stop.stopped() => {
                guard.0.pull();
                answered.await
            }
        };
        done.unwrap_or_else(|_| refused(&spawn_failed("the thread of the command ended early", "")))
    }
}

impl ToolHost for Tools {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = registry::specs();
        specs.retain(|spec| self.entry(&spec.name).is_some());
        specs
    }

    fn sandbox_level(&self) -> u8 {
        *self.inner.level.get_or_init(|| level_here(&self.inner.options))
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        self.entry(tool).map(|entry| entry.class)
    }

    fn risk(&self, tool: &str) -> RiskLevel {
        // The engine performs its own tools, and asks for their risk here.
        registry::find(tool).map_or(RiskLevel::High, |entry| entry.risk)
    }

    fn contract(&self, tool: &str) -> Option<ToolContract> {
        // The engine's own tools are available with every host.
        let is_engine = registry::find(tool).is_some_and(|entry| entry.group == ToolGroup::Engine);
        let is_available = is_engine || self.entry(tool).is_some();
        contract::contract(tool).filter(|_| is_available).cloned()
    }

    fn time_limit_ms(&self, tool: &str) -> Option<u64> {
        self.entry(tool)
            .map_or(Some(TOOL_MS_MAX), |entry| entry.time_limit_ms)
    }

    fn longest_ms(&self, tool: &str, input: &Value) -> Option<u64> {
        match self.entry(tool)?.group == ToolGroup::Command {
            true => Some(arguments::longest_ms(input)),
            false => self.time_limit_ms(tool),
        }
    }

    fn retry(&self, tool: &str) -> Option<RetryPolicy> {
        self.entry(tool)?.retry
    }

    fn facts(&self, tool: &str, input: &Value, scope: &SandboxScope) -> CallFacts {
        match self.entry(tool).map(|entry| entry.group) {
            Some(ToolGroup::Command) => CallFacts {
                is_repository_trusted: self.inner.is_repository_trusted(input),
                may_read_untrusted: self.inner.may_read_untrusted(scope),
                is_workspace_untrusted: self.inner.is_workspace_untrusted(),
                ..command_facts(input, scope)
            },
            Some(ToolGroup::Files | ToolGroup::Scan) => self.inner.file_facts(tool, input, scope),
            Some(ToolGroup::Web) => CallFacts {
                is_workspace_untrusted: self.inner.is_workspace_untrusted(),
                ..web::facts(input, scope)
            },
            Some(ToolGroup::Journal) => journal::facts(tool, input),
            Some(ToolGroup::Provider | ToolGroup::JournalReading | ToolGroup::Engine) | None => {
                CallFacts::default()
            }
        }
    }

    fn sources(&self, call: &ToolCall, content: &str, scope: &SandboxScope) -> Sources {
        match self.entry(&call.name).map(|entry| entry.group) {
            Some(ToolGroup::Command) => self.inner.command_sources(content, scope),
            Some(ToolGroup::Files | ToolGroup::Scan) => self.inner.file_sources(&call.name, &call.input),
            Some(ToolGroup::Web) => web::sources(&call.input, content),
            // Titles and details may repeat what their writers read elsewhere.
            Some(ToolGroup::JournalReading) => Sources::of(SourceKind::Journal, &call.name),
            Some(ToolGroup::Provider | ToolGroup::Journal | ToolGroup::Engine) | None => Sources::none(),
        }
    }

    fn constraint(&self, tool: &str, input: &Value, scope: &SandboxScope) -> Option<String> {
        match self.entry(tool)?.group {
            ToolGroup::Files | ToolGroup::Scan => self.inner.denied_path(tool, input, scope),
            ToolGroup::Web => web::constraint(input, scope),
            ToolGroup::Command
            | ToolGroup::Provider
            | ToolGroup::Journal
            | ToolGroup::JournalReading
            | ToolGroup::Engine => None,
        }
    }

    fn redact(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.inner.options.secrets.redactor().bytes(bytes)
    }

    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError> {
        match self.entry(tool).map(|entry| entry.group) {
            Some(ToolGroup::Command) => self.inner.check(input).map(drop),
            Some(ToolGroup::Files | ToolGroup::Scan) => self.inner.check_files(tool, input),
            Some(ToolGroup::Web) => web::check(input),
            Some(ToolGroup::Provider) => web::check_search(input),
            Some(ToolGroup::Journal) => journal::mutation(tool, input).map(drop),
            Some(ToolGroup::JournalReading) => Reading::parse(tool, input).map(drop),
            Some(ToolGroup::Engine) | None => Err(unknown_tool(tool)),
        }
    }

    fn preview(&self, tool: &str, input: &Value, scope: &SandboxScope) -> Option<String> {
        let entry = self.entry(tool)?;
        let previewed = (entry.group == ToolGroup::Files).then(|| self.inner.preview(tool, input, scope));
        previewed.flatten()
    }

    async fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        match (self.entry(&act.tool).map(|entry| entry.group), &self.journal) {
            (Some(ToolGroup::Web), _) => match self.inner.connector(&act) {
                Ok(connector) => web::perform(&connector, &act.input, stop).await,
                Err(fault) => failed(&act.tool, &fault),
            },
            (Some(ToolGroup::Provider), _) => failed(&act.tool, &web::not_callable()),
            (Some(ToolGroup::Command), _) => Arc::clone(&self.inner).perform(act, stop).await,
            (Some(ToolGroup::Files), _) => {
                let inner = Arc::clone(&self.inner);
                inner
                    .on_thread(act, stop, |inner, act, _| inner.perform_files(act))
                    .await
            }
            (Some(ToolGroup::Scan), _) => {
                let inner = Arc::clone(&self.inner);
                inner.on_thread(act, stop, Inner::scan).await
            }
            (Some(ToolGroup::Journal), Some(journal)) => journal::perform(Arc::clone(journal), act).await,
            (Some(ToolGroup::JournalReading), Some(journal)) => {
                let output = self.inner.options.output;
                journal_reading::perform(Arc::clone(journal), act, output).await
            }
            (Some(ToolGroup::Journal | ToolGroup::JournalReading | ToolGroup::Engine) | None, _) => {
                failed(&act.tool, &unknown_tool(&act.tool))
            }
        }
    }

    fn has_hooks(&self, agent_id: &AgentId, event: HookEvent) -> bool {
        self.inner.hooks.has(agent_id, event)
    }

    async fn run_hooks(&self, request: HookRequest) -> Vec<HookRun> {
        let inner = &self.inner;
        let context = HookContext::new(&inner.options.environment, &inner.options.secrets);
        hook::run(&inner.hooks, context, request).await
    }

    async fn clean_up(&self, operation_id: OperationId) {
        let folder = OperationDir::of(&self.inner.scratch, operation_id);
        let (answer, answered) = oneshot::channel();
        let work = move || {
            folder.clear();
            let _unheard = answer.send(());
        };
        if thread::Builder::new()
            .name("clear".to_owned())
            .spawn(work)
            .is_ok()
        {
            let _ended = answered.await;
        }
    }
}

/// Waits for a permit to start a command; none if starting is forbidden first. After a wait, the stop
/// signal is checked again, because a brake may have been set meanwhile.
async fn place(stop: &impl StopSignal) -> Option<SemaphorePermit<'static>> {
    if let Ok(place) = PLACES.try_acquire() {
        return Some(place);
    }
    let waited = async {
        // The semaphore is never closed.
        let place = PLACES.acquire().await.ok();
        stop.start_allowed().await;
        place
    };
    tokio::select! {
        biased;
        () = stop.start_forbidden() => None,
        place = waited => place,
    }
}

struct StopOnDrop(Arc<CommandStop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.pull();
    }
}

fn day_s_writing_used(most: u64) -> ToolError {
    let message = format!(
        "the commands of this agent wrote {} MiB within 24 hours",
        most >> 20
    );
    let hint = "wait, or ask a person to raise tools.disk_write_mib_per_day";
    ToolError::new(WRITE_QUOTA_EXCEEDED, &message, hint)
}

fn unknown_writing(file: &Path, error: &std::io::Error) -> ToolError {
    let message = format!("command refused: the write quota record of this agent cannot be read: {error}");
    let hint = format!("a person must make {} readable, or remove it", file.display());
    ToolError::new("disk_write_exceeded", &message, &hint)
}

fn unknown_tool(tool: &str) -> ToolError {
    let message = format!("unknown tool: {tool}");
    ToolError::new("unknown_tool", &message, "use one of the available tools")
}

/// The facts about a shell command: its text, the secrets that it receives, and the hosts that it asks for.
fn command_facts(input: &Value, scope: &SandboxScope) -> CallFacts {
    let cmd = input.get("cmd").and_then(Value::as_str).unwrap_or_default();
    let secrets = input
        .get("secrets")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let target = |name: &str| Target::Secret {
        name: name.to_owned(),
        scope: match scope.allowed_secrets.contains(name) {
            true => SecretScope::Allowed,
            false => SecretScope::Denied,
        },
    };
    let rules = HostRules::parse(scope);
    let asked = Arguments::parse(input).map(|arguments| arguments.hosts());
    let hosts = asked
        .unwrap_or_default()
        .into_iter()
        .map(|(host, port)| Target::Host {
            // Lists that cannot be read deny.
            scope: rules
                .as_ref()
                .map_or(HostScope::Denied, |rules| rules.judge(&host, port).scope),
            host: host.to_string(),
            port,
        });
    CallFacts {
        has_requests: true,
        targets: secrets
            .filter_map(Value::as_str)
            .map(target)
            .chain(hosts)
            .collect(),
        command: Some(CommandFact::new(cmd)),
        ..CallFacts::default()
    }
}

mod commands;
mod files;
#[cfg(test)]
pub(crate) mod tests;
mod trust;
