//! The tool host: schemas for the model, checks, execution, cleanup.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::key::OperationId;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_ports::journal::Journal;
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};

use crate::arguments::{Arguments, TOOL};
use crate::command::{Command, CommandStop, NoNamespaces};
use crate::environment;
use crate::guidance::GuidanceGuard;
use crate::journal;
use crate::operation_dir::OperationDir;
use crate::options::{CommandLimits, DisabledFeatures, ToolsOptions};
use crate::outcome::{no_room, not_begun, refused, spawn_failed, unprotected, with_findings};
use crate::sandbox::cgroup::Group;
use crate::sandbox::limits::check_room;
use crate::sandbox::protocol::Spec;
use crate::workspace::{Workdir, Workspace, WorkspaceError};
use crate::write_quota::WriteQuota;

/// Most commands of this process that run at the same time, over all runs; each has a thread and three
/// processes. Others wait for a permit.
pub const COMMANDS_MAX: usize = 32;

/// The folder beside an operation's temporary one for what is mounted over denied paths.
const COVERS: &str = "covers";

/// The permits of running commands. One semaphore for the whole process, because every run has its own
/// tools.
static PLACES: Semaphore = Semaphore::const_new(COMMANDS_MAX);

/// The built-in tools. Cheap to clone.
#[derive(Clone)]
pub struct Tools {
    inner: Arc<Inner>,
    journal: Option<Arc<dyn Journal>>,
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
    scratch: PathBuf,
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
                options,
                workspace,
                scratch,
                no_namespaces: AtomicBool::new(false),
            }),
            journal: None,
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

    /// The journal, if the tool writes to it.
    fn journal_of(&self, tool: &str) -> Option<Arc<dyn Journal>> {
        self.journal.clone().filter(|_| journal::is_ours(tool))
    }

    /// The folder that commands work in.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.inner.workspace
    }
}

impl Inner {
    /// Prepares a command. It accesses the file system, so it must not run on an async thread.
    fn job(&self, act: &ToolRequest, arguments: Arguments, left: u64) -> Result<Command, ToolError> {
        let workdir = match self.workspace.workdir(arguments.workdir.as_deref()) {
            Workdir::Inside(path) => path,
            Workdir::Outside => return Err(outside()),
            Workdir::Missing(path) => {
                let hint = "create the folder first, or omit workdir";
                let fault = spawn_failed(&format!("{} is not a folder", path.display()), hint);
                return Err(ToolError {
                    field: Some("workdir".to_owned()),
                    ..fault
                });
            }
        };
        let folder = OperationDir::of(&self.scratch, act.operation_id);
        let temporary = folder.temporary();
        let closed = self.workspace.closed_places(&self.options.closed);
        let closed =
            closed.map_err(|error| ToolError::new(error.code(), &error.to_string(), error.hint()))?;
        let options = &self.options;
        let (timeout_ms, output_tokens) = (arguments.timeout_ms(), arguments.output_tokens());
        let no_namespaces = options.pretend.no_namespaces || self.no_namespaces.load(Ordering::Relaxed);
        let spec = Spec {
            host: i32::try_from(std::process::id()).unwrap_or(0),
            args_prefix: options.program_args_prefix.clone(),
            cmd: arguments.cmd,
            workdir,
            environment: environment::of_command(&options.environment, &temporary),
            home: self.workspace.home().to_owned(),
            closed,
            covers: temporary.parent().unwrap_or(&temporary).join(COVERS),
            writable: vec![self.workspace.path().to_owned(), temporary],
            read_only: Vec::new(),
            limits: CommandLimits {
                written_bytes: options.limits.written_bytes.min(left),
                ..options.limits
            },
            group: Group::default(),
            unsandboxed: options.unsandboxed,
            pretend: DisabledFeatures {
                no_namespaces,
                ..options.pretend
            },
        };
        let timeout = Duration::from_millis(timeout_ms);
        Ok(Command {
            program: options.program.clone(),
            spec,
            folder,
            timeout,
            output_tokens,
            output: act.output.clone(),
            written_bytes: 0,
        })
    }

    /// Runs a command within the remaining write quota of its agent, and records what it wrote.
    fn begin(&self, act: &ToolRequest, arguments: Arguments, brake: &CommandStop) -> ToolOutcome {
        let written = WriteQuota::of(self.workspace.home(), &act.agent_id);
        let most = self.options.limits.written_bytes_per_day;
        let left = match written.bytes(act.at) {
            Ok(bytes) => most.saturating_sub(bytes),
            Err(error) => return refused(&unknown_writing(written.file(), &error)),
        };
        if left == 0 {
            return refused(&day_s_writing_used(most));
        }
        if let Ok(Err(lack)) = check_room(self.workspace.home()) {
            return refused(&no_room(lack));
        }
        match self.job(act, arguments, left) {
            Err(fault) => refused(&fault),
            Ok(mut job) => {
                let done = self.run(&mut job, brake);
                // If the record cannot be written, this command is not counted; its own limit was enforced.
                let _unwritable = written.add(act.at, job.written_bytes);
                done
            }
        }
    }

    /// Runs a command, and reverts its changes to guidance files.
    fn run(&self, job: &mut Command, brake: &CommandStop) -> ToolOutcome {
        let guard = match GuidanceGuard::take(self.workspace.home(), self.workspace.path()) {
            Ok(guard) => guard,
            Err(error) => return refused(&unprotected(&error)),
        };
        job.spec.read_only = guard.files();
        let done = self.run_guarded(job, brake);
        with_findings(done, guard.release())
    }

    fn run_guarded(&self, job: &mut Command, brake: &CommandStop) -> ToolOutcome {
        let done = job.run(brake).or_else(|NoNamespaces| {
            self.no_namespaces.store(true, Ordering::Relaxed);
            job.spec.pretend.no_namespaces = true;
            job.run(brake)
        });
        done.unwrap_or_else(|NoNamespaces| {
            refused(&spawn_failed(
                "the sandbox created a namespace although it was disabled",
                "",
            ))
        })
    }

    fn check(&self, tool: &str, input: &Value) -> Result<Arguments, ToolError> {
        if tool != TOOL {
            let hint = "use one of the available tools";
            return Err(ToolError::new(
                "unknown_tool",
                &format!("unknown tool: {tool}"),
                hint,
            ));
        }
        let arguments = Arguments::parse(input)?;
        match self.workspace.workdir(arguments.workdir.as_deref()) {
            // A folder that is missing now may exist when the command starts.
            Workdir::Inside(_) | Workdir::Missing(_) => Ok(arguments),
            Workdir::Outside => Err(outside()),
        }
    }

    async fn perform(self: Arc<Self>, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        let arguments = match self.check(&act.tool, &act.input) {
            Ok(arguments) => arguments,
            Err(fault) => return refused(&fault),
        };
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
        let work = move || {
            let done = self.begin(&act, arguments, &brake);
            drop(turn);
            // The receiver may be gone.
            let _unheard = answer.send(done);
        };
        if let Err(e) = thread::Builder::new().name("command".to_owned()).spawn(work) {
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
        let mut specs = crate::specs();
        specs.retain(|spec| self.journal.is_some() || !journal::is_ours(&spec.name));
        specs
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        match self.journal_of(tool) {
            Some(_) => Some(EffectClass::Saga),
            None => (tool == TOOL).then_some(EffectClass::Plain),
        }
    }

    fn retry(&self, tool: &str) -> Option<RetryPolicy> {
        self.journal_of(tool).map(|_| RetryPolicy::REPEATABLE)
    }

    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError> {
        match self.journal_of(tool) {
            Some(_) => journal::mutation(tool, input).map(drop),
            None => self.inner.check(tool, input).map(drop),
        }
    }

    async fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        match self.journal_of(&act.tool) {
            Some(journal) => journal::perform(journal, act).await,
            None => Arc::clone(&self.inner).perform(act, stop).await,
        }
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
    ToolError::new("disk_write_exceeded", &message, hint)
}

fn unknown_writing(file: &Path, error: &std::io::Error) -> ToolError {
    let message = format!("command refused: the write quota record of this agent cannot be read: {error}");
    let hint = format!("a person must make {} readable, or remove it", file.display());
    ToolError::new("disk_write_exceeded", &message, &hint)
}

fn outside() -> ToolError {
    let fault = ToolError::new(
        "outside_workspace",
        "workdir leads out of the workspace",
        "use a folder inside the workspace, relative to it",
    );
    ToolError {
        field: Some("workdir".to_owned()),
        ..fault
    }
}

#[cfg(test)]
mod tests;
