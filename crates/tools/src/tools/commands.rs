//! Commands in the tool host: their paths, network and quota.

use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use wakeful_core::network_scope::HostRules;
use wakeful_core::step::ToolError;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use super::{Inner, day_s_writing_used, unknown_writing};
use crate::agent_folder::{AgentFolder, FolderTrust};
use crate::arguments::Arguments;
use crate::command::{Command, CommandStop, NoNamespaces};
use crate::command_paths::{Aftermath, CommandPaths};
use crate::environment;
use crate::guidance::GuidanceGuard;
use crate::network::call::NetworkOptions;
use crate::network::connector::{Connector, SystemResolver};
use crate::network::upstream::Upstream;
use crate::operation_dir::OperationDir;
use crate::options::{CommandLimits, DisabledFeatures};
use crate::outcome::{no_room, refused, spawn_failed, unprotected, with_findings};
use crate::sandbox::cgroup::Group;
use crate::sandbox::limits::check_room;
use crate::sandbox::protocol::Spec;
use crate::secrets;
use crate::workspace::Workdir;
use crate::write_quota::WriteQuota;

/// The folder beside an operation's temporary one for what is mounted over denied paths.
const COVERS: &str = "covers";

impl Inner {
    /// Prepares a command. It accesses the file system, so it must not run on an async thread.
    pub(super) fn job(
        &self,
        act: &ToolRequest,
        arguments: Arguments,
        left: u64,
    ) -> Result<(Command, Aftermath), ToolError> {
        let workdir = self.workdir_of(&arguments)?;
        let folder = OperationDir::of(&self.scratch, act.operation_id);
        let temporary = folder.temporary();
        let options = &self.options;
        let (timeout_ms, output_tokens) = (
            arguments.timeout_ms(),
            options.output.tokens(arguments.max_output_tokens),
        );
        let agent_folder = self.agent_folder(act, &temporary)?;
        let own = [temporary.as_path(), agent_folder.path()];
        let mut paths = CommandPaths::of(options, &self.workspace, act, own)?;
        let mut environment =
            environment::of_command(&options.environment, &temporary, &agent_folder, &paths.readable);
        environment.extend(paths.git_variables());
        let is_complete = paths.is_protection_complete();
        let aftermath = paths.aftermath(self.workspace.path(), act, agent_folder);
        let no_namespaces = options.pretend.no_namespaces || self.no_namespaces.load(Ordering::Relaxed);
        let secrets = secrets::values(&*options.secrets, &act.scope, arguments.secrets.iter().flatten())?;
        let network = NetworkOptions {
            connector: self.connector(act)?,
            published_ports: act.scope.published_ports.clone(),
        };
        let spec = Spec {
            host: i32::try_from(std::process::id()).unwrap_or(0),
            args_prefix: options.program_args_prefix.clone(),
            cmd: arguments.cmd,
            task: None,
            workdir,
            environment,
            secrets,
            home: self.workspace.home().to_owned(),
            closed: take(&mut paths.closed),
            covers: temporary.parent().unwrap_or(&temporary).join(COVERS),
            publishes_ports: !act.scope.published_ports.is_empty(),
            loopback_ports: network.loopback_targets().into_keys().collect(),
            readable: take(&mut paths.readable),
            writable: take(&mut paths.writable),
            read_only: take(&mut paths.read_only),
            is_read_only_complete: is_complete,
            shared: take(&mut paths.shared),
            limits: CommandLimits {
                written_bytes: options.limits.written_bytes.min(left).min(act.written.room()),
                ..options.limits
            },
            group: Group::default(),
            unsandboxed: options.unsandboxed,
            pretend: DisabledFeatures {
                no_namespaces,
                ..options.pretend
            },
        };
        let command = Command {
            program: options.program.clone(),
            spec,
            folder,
            timeout: Duration::from_millis(timeout_ms),
            output_tokens,
            network,
            output: act.output.clone(),
            redactor: options.secrets.redactor(),
            written_bytes: 0,
        };
        Ok((command, aftermath))
    }

    /// The folder that is the command's `HOME`.
    fn agent_folder(&self, act: &ToolRequest, temporary: &Path) -> Result<AgentFolder, ToolError> {
        let trust = match (act.is_read_only, act.is_untrusted) {
            (true, _) => return Ok(AgentFolder::temporary(temporary)),
            (false, true) => FolderTrust::Untrusted,
            (false, false) => FolderTrust::Trusted,
        };
        AgentFolder::open(self.workspace.home(), &act.agent_id, trust).map_err(|e| no_folder(&e))
    }

    fn workdir_of(&self, arguments: &Arguments) -> Result<PathBuf, ToolError> {
        match self.workspace.workdir(arguments.workdir.as_deref()) {
            Workdir::Inside(path) => Ok(path),
            Workdir::Outside => Err(outside()),
            Workdir::Missing(path) => {
                let hint = "create the folder first, or omit workdir";
                let fault = spawn_failed(&format!("{} is not a folder", path.display()), hint);
                Err(ToolError {
                    field: Some("workdir".to_owned()),
                    ..fault
                })
            }
        }
    }

    /// The connections that an action may make.
    pub(super) fn connector(&self, act: &ToolRequest) -> Result<Connector, ToolError> {
        let rules = HostRules::parse(&act.scope)
            .map_err(|problem| ToolError::new(&problem.code, &problem.message, &problem.hint))?;
        Ok(Connector {
            rules: rules.with_granted(&act.grant.targets),
            policy: act.hosts.clone(),
            agent_id: act.agent_id.clone(),
            resolver: Arc::new(SystemResolver),
            upstream: Upstream::of(&self.options.environment),
            own_addresses: self.options.own_addresses.clone(),
        })
    }

    /// Runs a command within the remaining write quota of its agent, and records what it wrote.
    pub(super) fn begin(&self, act: &ToolRequest, arguments: Arguments, brake: &CommandStop) -> ToolOutcome {
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
            Ok((mut job, aftermath)) => {
                let done = self.run(&mut job, brake);
                // If the record cannot be written, this command is not counted; its own limit was enforced.
                let _unwritable = written.add(act.at, job.written_bytes);
                act.written.add(job.written_bytes);
                let findings = aftermath.findings(&done, self.workspace.path(), job.written_bytes);
                with_findings(done, findings)
            }
        }
    }

    /// Runs a command, and reverts its changes to guidance files.
    fn run(&self, job: &mut Command, brake: &CommandStop) -> ToolOutcome {
        let guard = match GuidanceGuard::take(self.workspace.home(), self.workspace.path()) {
            Ok(guard) => guard,
            Err(error) => return refused(&unprotected(&error)),
        };
        if job.spec.writable.contains(&self.workspace.path().to_owned()) {
            job.spec.read_only.extend(guard.files());
        }
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

    pub(super) fn check(&self, input: &Value) -> Result<Arguments, ToolError> {
        let arguments = Arguments::parse(input)?;
        match self.workspace.workdir(arguments.workdir.as_deref()) {
            // A folder that is missing now may exist when the command starts.
            Workdir::Inside(_) | Workdir::Missing(_) => Ok(arguments),
            Workdir::Outside => Err(outside()),
        }
    }
}

fn no_folder(error: &std::io::Error) -> ToolError {
    ToolError::new(
        "agent_folder_unusable",
        &format!("the folder of the agent in Wakeful's home cannot be used: {error}"),
        "a person must make the folder `agent-folders` in the home writable",
    )
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
