//! What the files of a call are worth: which of them are untrusted, and the record of what actions with untrusted
//! data write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wakeful_core::policy::{CommandFact, PathAccess, PathScope, Target};
use wakeful_core::provenance::{SourceKind, Sources, receives_nothing};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::ToolError;
use wakeful_core::tool::reached_hosts;
use wakeful_ports::tool::{ToolOutcome, ToolRequest};

use super::Inner;
use crate::arguments;
use crate::files::edit::WRITE_FILE;
use crate::outcome::{failed, with_findings};
use crate::sandbox::probe::{NAMESPACES, level_here};
use crate::system_paths;
use crate::trusted_folders::{FolderAnswers, TrustedFolders};
use crate::untrusted_writes::{self, FolderMoves, OpenPeriods, PeriodEnd, PeriodStart, UntrustedWrites};

/// What Git obeys when it reaches a remote, below the workspace.
const REMOTE_SETTINGS: [&str; 3] = [".git/config", ".git/hooks", ".git/hooks/pre-push"];

impl Inner {
    fn answers(&self) -> FolderAnswers {
        TrustedFolders::of(self.workspace.home()).load()
    }

    fn writes(&self, folder: &Path) -> UntrustedWrites {
        UntrustedWrites::of(self.workspace.home(), folder)
    }

    fn folder_moves(&self) -> FolderMoves {
        match *self.level.get_or_init(|| level_here(&self.options)) < NAMESPACES {
            true => FolderMoves::Possible,
            false => FolderMoves::Impossible,
        }
    }

    /// Whether something in the workspace is untrusted: an action with untrusted data changed it, or the operator
    /// does not trust it.
    pub(super) fn is_workspace_untrusted(&self) -> bool {
        let workspace = self.workspace.path();
        self.writes(workspace).is_any() || self.answers().has_distrusted(workspace)
    }

    /// Whether a command may read something untrusted.
    pub(super) fn may_read_untrusted(&self, scope: &SandboxScope) -> bool {
        self.is_workspace_untrusted() || !self.untrusted_folders(scope, &[]).is_empty()
    }

    /// The folders outside the workspace that a command may read, and that the operator does not trust.
    fn untrusted_folders(&self, scope: &SandboxScope, granted: &[Target]) -> Vec<String> {
        let answers = self.answers();
        let granted = granted.iter().filter_map(|target| match target {
            Target::Path { path, .. } => Some(path),
            Target::Host { .. } | Target::Agent { .. } | Target::Secret { .. } => None,
        });
        let folders = scope.readable_paths.union(&scope.writable_paths).chain(granted);
        let is_untrusted = |folder: &&String| {
            self.resolved(folder).is_none_or(|path| {
                !path.starts_with(self.workspace.path()) && !self.is_trusted_outside(&path, &answers)
            })
        };
        folders.filter(is_untrusted).cloned().collect()
    }

    /// A path of the settings as the kernel knows it.
    fn resolved(&self, path: &str) -> Option<PathBuf> {
        let user = || system_paths::user_folder(&self.options.environment);
        let path = match path.strip_prefix("~/") {
            Some(below) => user()?.join(below),
            None => PathBuf::from(path),
        };
        path.canonicalize().ok()
    }

    /// Whether the operator trusts everything in a folder outside the workspace, and no action with untrusted data
    /// changed it.
    fn is_trusted_outside(&self, folder: &Path, answers: &FolderAnswers) -> bool {
        let trusted = answers.nearest(folder).filter(|(_, answer)| answer.is_trusted);
        trusted.is_some_and(|(trusted, _)| !answers.has_distrusted(folder) && !self.writes(trusted).is_any())
    }

    /// Whether a file outside the workspace is trusted.
    fn is_trusted_file_outside(&self, file: &Path, answers: &FolderAnswers) -> bool {
        let trusted = answers.nearest(file).filter(|(_, answer)| answer.is_trusted);
        trusted.is_some_and(|(trusted, _)| match file.is_dir() {
            true => self.is_trusted_outside(file, answers),
            false => !self.writes(trusted).may_have_written(file, self.folder_moves()),
        })
    }

    /// Whether a file or folder of the workspace is untrusted. A walk reads many files.
    fn is_untrusted_inside(&self, path: &Path, answers: &FolderAnswers) -> bool {
        let writes = self.writes(self.workspace.path());
        writes.may_have_written(path, self.folder_moves())
            || answers.is_distrusted(path)
            || (path.is_dir() && (writes.is_any() || answers.has_distrusted(path)))
    }

    /// Whether a command works in the repository of the workspace, and no action with untrusted data wrote its
    /// settings.
    pub(super) fn is_repository_trusted(&self, input: &Value) -> bool {
        let workdir = input.get("workdir").and_then(Value::as_str).unwrap_or_default();
        let workspace = self.workspace.path();
        let is_at_root = matches!(workdir, "" | "." | "./") || Path::new(workdir) == workspace;
        let (answers, writes, moves) = (self.answers(), self.writes(workspace), self.folder_moves());
        let is_foreign = |place: &str| {
            let path = workspace.join(place);
            answers.is_distrusted(&path) || writes.may_have_written(&path, moves)
        };
        is_at_root && workspace.join(".git/config").is_file() && !REMOTE_SETTINGS.into_iter().any(is_foreign)
    }

    /// The hosts that a command reached, and the untrusted folders that it could read.
    pub(super) fn command_sources(&self, content: &str, scope: &SandboxScope) -> Sources {
        let mut sources = Sources::none();
        for host in reached_hosts(content) {
            sources.join(&Sources::of(SourceKind::Command, &host));
        }
        for folder in self.untrusted_folders(scope, &[]) {
            sources.join(&Sources::of(SourceKind::File, &folder));
        }
        if self.is_workspace_untrusted() {
            let workspace = self.workspace.path().to_string_lossy();
            sources.join(&Sources::of(SourceKind::File, &workspace));
        }
        sources
    }

    /// The files that a call reads and that are outside the workspace or may come from untrusted data.
    pub(super) fn file_sources(&self, tool: &str, input: &Value) -> Sources {
        let mut sources = Sources::none();
        for path in self.untrusted_files(tool, input) {
            sources.join(&Sources::of(SourceKind::File, &path));
        }
        sources
    }

    fn untrusted_files(&self, tool: &str, input: &Value) -> Vec<String> {
        let answers = self.answers();
        let targets = self.file_facts(tool, input, &SandboxScope::default()).targets;
        let untrusted = targets.into_iter().filter_map(|target| {
            let Target::Path { path, scope, .. } = target else {
                return None;
            };
            let place = Path::new(&path);
            let is_untrusted = match scope {
                PathScope::Granted | PathScope::Outside | PathScope::Denied => {
                    !self.is_trusted_file_outside(place, &answers)
                }
                PathScope::Workspace | PathScope::Protected | PathScope::Temporary => {
                    self.is_untrusted_inside(place, &answers)
                }
            };
            is_untrusted.then_some(path)
        });
        untrusted.collect()
    }

    /// Performs an action that may write to the workspace. If what it writes may come from untrusted data, its
    /// period is recorded first.
    pub(super) fn recorded(&self, act: &ToolRequest, perform: impl FnOnce() -> ToolOutcome) -> ToolOutcome {
        // The workspace is read-only for it.
        if act.is_read_only {
            return perform();
        }
        let began = untrusted_writes::monotonic();
        let is_push = command_of(act).is_some_and(|command| receives_nothing(&command));
        let start = if act.is_untrusted || self.passes_on_untrusted(act) {
            Some(PeriodStart::Certain)
        } else if may_reach_hosts(act) && !is_push {
            Some(PeriodStart::Tentative)
        } else {
            None
        };
        let is_kept = |done: &ToolOutcome| {
            start == Some(PeriodStart::Certain)
                || (act.tool == arguments::TOOL && !is_push && !reached_hosts(&done.content).is_empty())
        };
        let home = self.workspace.home();
        let begun = start.map(|start| OpenPeriods::begin(&self.written_folders(act), home, act, start));
        let periods = match begun.transpose() {
            Ok(periods) => periods,
            Err(error) => return failed(&act.tool, &unrecorded(&error)),
        };
        let done = perform();
        let is_kept = is_kept(&done);
        match periods {
            Some(periods) if is_kept => periods.end(PeriodEnd::Kept),
            Some(periods) => periods.end(PeriodEnd::Dropped),
            // A policy or a person permitted a host that no list names.
            None if is_kept => {
                let mut folders = self.written_folders(act).into_iter();
                let added = folders.try_for_each(|folder| self.writes(&folder).add(act, began));
                if let Err(error) = added {
                    return with_findings(done, vec![unrecorded(&error).message]);
                }
            }
            None => {}
        }
        done
    }

    /// Whether an action of a trusted run can write what it finds in untrusted files: a command that may read
    /// folders that the operator does not trust, and a change of an untrusted file. A file that is written as a
    /// whole is not.
    fn passes_on_untrusted(&self, act: &ToolRequest) -> bool {
        match act.tool.as_str() {
            arguments::TOOL => {
                self.is_workspace_untrusted()
                    || !self.untrusted_folders(&act.scope, &act.grant.targets).is_empty()
            }
            WRITE_FILE => false,
            tool => !self.untrusted_files(tool, &act.input).is_empty(),
        }
    }

    /// The workspace, and the trusted folders outside it that an action may write to.
    fn written_folders(&self, act: &ToolRequest) -> BTreeSet<PathBuf> {
        let answers = self.answers();
        let targets = match command_of(act) {
            Some(_) => act.grant.targets.clone(),
            None => self.file_facts(&act.tool, &act.input, &act.scope).targets,
        };
        let written = targets.iter().filter_map(|target| match target {
            Target::Path {
                path,
                access: PathAccess::Write,
                ..
            } => Some(path),
            Target::Path { .. } | Target::Host { .. } | Target::Agent { .. } | Target::Secret { .. } => None,
        });
        let granted = act
            .scope
            .writable_paths
            .iter()
            .filter(|_| act.tool == arguments::TOOL);
        let paths: Vec<PathBuf> = written
            .chain(granted)
            .map(|path| self.resolved(path).unwrap_or_else(|| PathBuf::from(path)))
            .collect();
        let around = paths.iter().flat_map(|path| answers.trusted_around(path));
        let around = around.map(Path::to_owned);
        std::iter::once(self.workspace.path().to_owned())
            .chain(around)
            .collect()
    }
}

fn command_of(act: &ToolRequest) -> Option<CommandFact> {
    let command = act.input.get("cmd").and_then(Value::as_str);
    command
        .filter(|_| act.tool == arguments::TOOL)
        .map(CommandFact::new)
}

/// Whether a list or a grant lets a command reach hosts.
fn may_reach_hosts(act: &ToolRequest) -> bool {
    let is_host = |target: &Target| matches!(target, Target::Host { .. });
    act.tool == arguments::TOOL
        && (!act.scope.allowed_hosts.is_empty() || act.grant.targets.iter().any(is_host))
}

fn unrecorded(error: &std::io::Error) -> ToolError {
    ToolError::new(
        "untrusted_writes_unrecorded",
        &format!("the record of what actions with untrusted data wrote cannot be changed: {error}"),
        "a person must make the folder `untrusted-writes` in the home writable",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wakeful_core::conversation::ToolCall;
    use wakeful_core::id::AgentId;
    use wakeful_core::key::{Digest, OperationId};
    use wakeful_ports::tool::{StopSignal, ToolHost as _};

    use super::super::Tools;
    use super::super::tests::tools;
    use super::*;
    use crate::trusted_folders::FolderAnswer;

    struct Never;

    impl StopSignal for Never {
        async fn stopped(&self) {
            std::future::pending().await
        }

        async fn start_forbidden(&self) {
            std::future::pending().await
        }

        async fn start_allowed(&self) {}
    }

    fn root() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    async fn perform(tools: &Tools, tool: &str, input: Value, is_untrusted: bool) {
        let id = OperationId(Digest::of(input.to_string().as_bytes()));
        let agent = AgentId::parse("main").expect("an id");
        let act = ToolRequest {
            is_untrusted,
            ..ToolRequest::new(id, agent, tool, input)
        };
        let done = tools.perform(act, Never).await;
        assert_eq!(done.code, None, "{}", done.content);
    }

    fn sources(tools: &Tools, tool: &str, input: Value) -> Sources {
        let call = ToolCall {
            call_id: "c".to_owned(),
            name: tool.to_owned(),
            input,
        };
        tools.sources(&call, "{}", &SandboxScope::default())
    }

    fn answer(tools: &Tools, folder: &Path, is_trusted: bool) {
        let answer = FolderAnswer { is_trusted, at_ms: 0 };
        let folders = TrustedFolders::of(tools.workspace().home());
        folders.answer(folder, answer).expect("recorded");
    }

    #[tokio::test]
    async fn an_untrusted_file_that_a_trusted_run_edits_stays_untrusted() {
        let root = root();
        let tools = tools(root.path());
        let write = |content: &str| json!({"path": "notes.md", "content": content});
        let read = || sources(&tools, "ReadFile", json!({"path": "notes.md"}));
        perform(&tools, WRITE_FILE, write("Title: obey"), true).await;
        assert!(!read().is_empty());
        std::thread::sleep(std::time::Duration::from_millis(60));
        let edit = json!({"path": "notes.md", "old": "Title", "new": "Heading"});
        perform(&tools, "EditFile", edit, false).await;
        assert!(!read().is_empty());
        std::thread::sleep(std::time::Duration::from_millis(60));
        // Its whole content is new.
        perform(&tools, WRITE_FILE, write("My own text"), false).await;
        assert!(read().is_empty());
    }

    #[test]
    fn only_trusted_folders_outside_leave_a_command_trusted() {
        let root = root();
        let tools = tools(root.path());
        let outside = root.path().canonicalize().expect("a folder").join("outside");
        std::fs::create_dir(&outside).expect("a folder");
        let scope = SandboxScope {
            readable_paths: [outside.to_string_lossy().into_owned()].into(),
            ..SandboxScope::default()
        };
        let is_untrusted = || {
            let input = json!({"cmd": "true"});
            tools.facts(arguments::TOOL, &input, &scope).may_read_untrusted
        };
        assert!(is_untrusted());
        answer(&tools, &outside, true);
        assert!(!is_untrusted());
        answer(&tools, &outside.join("in"), false);
        assert!(is_untrusted());
    }

    #[test]
    fn a_workspace_that_the_operator_does_not_trust_is_untrusted() {
        let root = root();
        let tools = tools(root.path());
        let workspace = tools.workspace().path().to_owned();
        std::fs::write(workspace.join("readme"), "text").expect("written");
        let read = || sources(&tools, "ReadFile", json!({"path": "readme"})).is_empty();
        let facts = || tools.facts(arguments::TOOL, &json!({"cmd": "true"}), &SandboxScope::default());
        assert!(read() && !facts().may_read_untrusted);
        answer(&tools, &workspace, false);
        assert!(!read() && facts().is_workspace_untrusted);
        let page = json!({"url": "https://docs.example/"});
        let page = tools.facts("WebFetch", &page, &SandboxScope::default());
        assert!(
            page.is_workspace_untrusted,
            "a link in a file may carry what the file's writer had read"
        );
    }
}
