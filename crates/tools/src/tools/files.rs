//! The file tools in the tool host: what they need from it, and the sandboxed process of a walk.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wakeful_core::policy::CallFacts;
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::{EffectClass, PARTIAL, ToolError};
use wakeful_ports::tool::{OutputSink, ToolOutcome, ToolRequest};

use super::{Inner, day_s_writing_used, unknown_writing};
use crate::arguments::Arguments;
use crate::command::{CommandStop, Execution, NoNamespaces};
use crate::files::judged::{JudgedPaths, NothingToSearch};
use crate::files::location::Reach;
use crate::files::scan_task::{ScanReport, ScanTask};
use crate::files::{self, FileCall};
use crate::outcome::{CommandOutcome, failed, no_room, spawn_failed, succeeded};
use crate::registry;
use crate::sandbox::limits::check_room;
use crate::system_paths;
use crate::write_quota::WriteQuota;

/// How long a walk may take with its process; it ends itself before.
const SCAN_MAX: Duration = Duration::from_secs(25);

impl Inner {
    fn reach(&self, scope: &SandboxScope) -> Result<Reach, ToolError> {
        let user = system_paths::user_folder(&self.options.environment);
        let user = user.as_deref().and_then(Path::to_str).unwrap_or_default();
        Reach::new(&self.workspace, &self.options.closed, &scope.below_user(user))
    }

    /// Checks the arguments, and that the paths can be resolved.
    pub(super) fn check_files(&self, tool: &str, input: &Value) -> Result<(), ToolError> {
        let call = FileCall::parse(tool, input)?;
        call.check(&self.reach(&SandboxScope::default())?)
    }

    pub(super) fn file_facts(&self, tool: &str, input: &Value, scope: &SandboxScope) -> CallFacts {
        let facts = FileCall::parse(tool, input).and_then(|call| Ok(call.facts(&self.reach(scope)?)));
        facts.unwrap_or_default()
    }

    /// The first path of a call that is denied, with the reason.
    pub(super) fn denied_path(&self, tool: &str, input: &Value, scope: &SandboxScope) -> Option<String> {
        let call = FileCall::parse(tool, input).ok()?;
        call.denied(&self.reach(scope).ok()?)
    }

    /// The changes of a call as a unified diff; none if there are none.
    pub(super) fn preview(&self, tool: &str, input: &Value, scope: &SandboxScope) -> Option<String> {
        let call = FileCall::parse(tool, input).ok()?;
        call.preview(&self.reach(scope).ok()?)
    }

    /// Reads or changes files.
    pub(super) fn perform_files(&self, act: &ToolRequest) -> ToolOutcome {
        if registry::find(&act.tool).is_some_and(|entry| entry.class == EffectClass::Plain) {
            return self.recorded(act, || self.perform_known_files(act));
        }
        self.perform_known_files(act)
    }

    fn perform_known_files(&self, act: &ToolRequest) -> ToolOutcome {
        let reach = match self.reach(&act.scope) {
            Ok(reach) => reach,
            Err(fault) => return failed(&act.tool, &fault),
        };
        files::perform(&files::Act {
            request: act,
            reach: &reach,
            output: self.options.output,
            reserve: &|bytes| self.reserve(act, bytes),
        })
    }

    /// Counts bytes against the agent's quota before they are written.
    fn reserve(&self, act: &ToolRequest, bytes: u64) -> Result<(), ToolError> {
        if act.written.room() < bytes {
            return Err(writing_over_budget(bytes, act.written.room()));
        }
        let written = WriteQuota::of(self.workspace.home(), &act.agent_id);
        let most = self.options.limits.written_bytes_per_day;
        let unknown = |error| unknown_writing(written.file(), &error);
        if written.bytes(act.at).map_err(unknown)?.saturating_add(bytes) > most {
            return Err(day_s_writing_used(most));
        }
        if let Ok(Err(lack)) = check_room(self.workspace.home()) {
            return Err(no_room(lack));
        }
        written.add(act.at, bytes).map_err(unknown)?;
        act.written.add(bytes);
        Ok(())
    }

    /// Walks through folders in a sandboxed process that may write nothing.
    pub(super) fn scan(&self, act: &ToolRequest, brake: &CommandStop) -> ToolOutcome {
        match self.scanned(act, brake) {
            Ok(result) => ToolOutcome {
                // A walk that reached a bound, or that policies restrict, found a part of what was asked for.
                code: ["truncated", "withheld"]
                    .iter()
                    .any(|part| result.get(part).is_some())
                    .then(|| PARTIAL.to_owned()),
                ..succeeded(result.to_string())
            },
            Err(fault) => failed(&act.tool, &fault),
        }
    }

    fn scanned(&self, act: &ToolRequest, brake: &CommandStop) -> Result<Value, ToolError> {
        let reach = self.reach(&act.scope)?;
        let (call, location) = FileCall::parse(&act.tool, &act.input)?.scan(&reach, &act.grant)?;
        let task = call.task(&location);
        let walk = |task: ScanTask| self.walk(act, task, brake);
        let (report, confinement) = match act.paths.is_restricting() {
            true => {
                // Names first: a file that a policy excludes is not opened, so neither the result nor a bound that
                // it reaches depends on its contents.
                let (names, confinement) = walk(task.names())?;
                let judged = JudgedPaths::of(names, &task.root, &reach, &act.paths);
                match judged.search(task) {
                    Ok(task) => {
                        let (found, confinement) = walk(task)?;
                        (judged.found(found), confinement)
                    }
                    Err(NothingToSearch) => (judged.listed(), confinement),
                }
            }
            false => walk(task)?,
        };
        let mut result = call.result(&report, self.options.output.chars(call.output_tokens()))?;
        if let Some(members) = result.as_object_mut() {
            members.insert("confinement".to_owned(), json!(confinement));
        }
        Ok(result)
    }

    /// Runs a task in a sandboxed process that may write nothing. Returns also how it was confined.
    fn walk(
        &self,
        act: &ToolRequest,
        task: ScanTask,
        brake: &CommandStop,
    ) -> Result<(ScanReport, Value), ToolError> {
        let nothing = Arguments {
            cmd: String::new(),
            workdir: None,
            timeout_ms: None,
            max_output_tokens: None,
            secrets: None,
            hosts: None,
        };
        // A walk is confined like a command of a read-only run.
        let act = ToolRequest {
            is_read_only: true,
            ..act.clone()
        };
        let (mut job, _) = self.job(&act, nothing, 0)?;
        job.spec.task = Some(task);
        job.spec.writable.clear();
        job.spec.limits.written_bytes = self.options.limits.written_bytes;
        job.timeout = SCAN_MAX;
        // What the process prints is for this function only.
        job.output = OutputSink::default();
        let done = job.execute(brake).or_else(|NoNamespaces| {
            job.spec.pretend.no_namespaces = true;
            job.execute(brake)
        });
        match done {
            Ok(Execution::Ran(ran)) => {
                let confinement = json!(ran.isolation.confinement());
                Ok((report_of(ran)?, confinement))
            }
            Ok(Execution::Refused(fault)) => Err(fault),
            Err(NoNamespaces) => Err(spawn_failed(
                "the sandbox created a namespace although it was disabled",
                "",
            )),
        }
    }
}

fn report_of(ran: CommandOutcome) -> Result<ScanReport, ToolError> {
    let (code, message) = (ran.ending.code(), ran.ending.limit());
    let printed = ran.stdout.into_bytes();
    serde_json::from_slice(&printed).map_err(|_| {
        let message = message.unwrap_or_else(|| "the walk through the folders ended early".to_owned());
        let kind = code.as_deref().unwrap_or("scan_failed");
        ToolError::new(kind, &message, "narrow the path, the glob or the pattern")
    })
}

fn writing_over_budget(bytes: u64, left: u64) -> ToolError {
    let message =
        format!("the call would write {bytes} bytes, and the budget for written bytes has {left} left");
    let hint = "write less, or ask a person to raise the limit with `wakeful budget set`";
    ToolError::new(BUDGET_EXCEEDED, &message, hint)
}
