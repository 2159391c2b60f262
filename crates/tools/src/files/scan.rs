//! `ListFiles` and `SearchFiles`: their arguments and their results.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::step::ToolError;

use super::fault::{fault, named};
use super::location::Location;
use super::scan_task::{self, ScanKind, ScanReport, ScanTask, StopReason};
use crate::output::json_cost;
use crate::schema;

pub(crate) const LIST_FILES: &str = "ListFiles";

pub(crate) const SEARCH_FILES: &str = "SearchFiles";

/// Levels of folders that are listed, by default and at most.
const DEPTH_DEFAULT: u32 = 2;
const DEPTH_MAX: u32 = 64;

/// Lines around a match at most.
const CONTEXT_MAX: u32 = 20;

/// Why paths are left out of a result.
const WITHHELD_REASON: &str = "a policy does not permit these paths for this tool";

/// Longest pattern.
const PATTERN_BYTES_MAX: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFiles {
    /// Folder. Default: the workspace.
    #[serde(default)]
    path: Option<String>,
    /// Levels of folders. Default 2.
    #[serde(default)]
    #[schemars(range(min = 1, max = 64))]
    depth: Option<u32>,
    /// Only names like this, such as *.rs.
    #[serde(default)]
    glob: Option<String>,
    /// Also hidden and ignored files.
    #[serde(default)]
    all: Option<bool>,
    /// Default 8000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_output_tokens: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFiles {
    /// Regular expression (Rust syntax) within one line.
    #[schemars(length(min = 1, max = 4096))]
    pattern: String,
    /// Folder or file. Default: the workspace.
    #[serde(default)]
    path: Option<String>,
    /// Only files like this, such as *.rs.
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    ignore_case: Option<bool>,
    /// Only the names of files with a match.
    #[serde(default)]
    files_only: Option<bool>,
    /// Lines around each match. Default 0.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: Option<u32>,
    /// Also hidden and ignored files.
    #[serde(default)]
    all: Option<bool>,
    /// Default 8000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_output_tokens: Option<u32>,
}

/// A call that walks through folders.
#[derive(Debug)]
pub(crate) enum ScanCall {
    List(ListFiles),
    Search(SearchFiles),
}

pub(crate) fn list_spec() -> ToolSpec {
    schema::spec::<ListFiles>(
        LIST_FILES,
        "List files below a folder, without those that .gitignore excludes.",
    )
}

pub(crate) fn search_spec() -> ToolSpec {
    schema::spec::<SearchFiles>(
        SEARCH_FILES,
        "Search file contents, without binary files and those that .gitignore excludes.",
    )
}

impl ScanCall {
    pub(super) fn parse(tool: &str, input: &Value) -> Result<Self, ToolError> {
        let call = if tool == LIST_FILES {
            let hint = "the arguments are path, depth, glob, all and max_output_tokens; none is required";
            Self::List(schema::read(input, hint)?)
        } else {
            let hint = "the arguments are pattern, path, glob, ignore_case, files_only, context, all and \
                max_output_tokens; only pattern is required";
            Self::Search(schema::read(input, hint)?)
        };
        call.check()?;
        Ok(call)
    }

    fn check(&self) -> Result<(), ToolError> {
        let bad = |field, message: &str| Err(schema::invalid(Some(field), message, "correct this argument"));
        match self {
            Self::List(call) if call.depth.is_some_and(|depth| depth == 0 || depth > DEPTH_MAX) => {
                return bad("depth", "depth must be from 1 to 64");
            }
            Self::Search(call) if call.pattern.is_empty() || call.pattern.len() > PATTERN_BYTES_MAX => {
                return bad("pattern", "the pattern must have 1 to 4096 bytes");
            }
            Self::Search(call) if call.context.is_some_and(|lines| lines > CONTEXT_MAX) => {
                return bad("context", "context must be at most 20 lines");
            }
            Self::Search(call) => {
                let ignore_case = call.ignore_case == Some(true);
                if let Err(message) = scan_task::matcher(&call.pattern, ignore_case) {
                    return bad("pattern", &message);
                }
            }
            Self::List(_) => {}
        }
        match self.glob() {
            Some(glob) => scan_task::check_glob(glob).or_else(|message| bad("glob", &message)),
            None => Ok(()),
        }
    }

    pub(super) fn path(&self) -> &str {
        let path = match self {
            Self::List(call) => &call.path,
            Self::Search(call) => &call.path,
        };
        path.as_deref().unwrap_or(".")
    }

    fn glob(&self) -> Option<&str> {
        match self {
            Self::List(call) => call.glob.as_deref(),
            Self::Search(call) => call.glob.as_deref(),
        }
    }

    pub(crate) const fn output_tokens(&self) -> Option<u32> {
        match self {
            Self::List(call) => call.max_output_tokens,
            Self::Search(call) => call.max_output_tokens,
        }
    }

    /// The work of the sandboxed process.
    pub(crate) fn task(&self, location: &Location) -> ScanTask {
        let (all, kind) = match self {
            Self::List(call) => {
                let depth = call.depth.unwrap_or(DEPTH_DEFAULT);
                (call.all, ScanKind::List { depth })
            }
            Self::Search(call) => {
                let kind = ScanKind::Search {
                    pattern: call.pattern.clone(),
                    ignore_case: call.ignore_case == Some(true),
                    files_only: call.files_only == Some(true),
                    context: call.context.unwrap_or_default(),
                    only: None,
                };
                (call.all, kind)
            }
        };
        ScanTask {
            root: PathBuf::from(&location.absolute),
            shown: location.shown.clone(),
            glob: self.glob().map(str::to_owned),
            all: all == Some(true),
            is_judged: false,
            kind,
        }
    }

    /// The result for the model, from what the sandboxed process found, within this size.
    pub(crate) fn result(&self, report: &ScanReport, chars_max: usize) -> Result<Value, ToolError> {
        if let Some(error) = &report.error {
            let hint = "check the path with ListFiles on its parent folder";
            return Err(named("path", fault("not_found", error, hint)));
        }
        let (text, is_cut) = whole_lines(&report.text, chars_max);
        let stopped = report.stopped.map(StopReason::as_str);
        let stopped = stopped.or(is_cut.then_some("max_output_tokens"));
        let mut result = match self {
            Self::List(_) => json!({"ok": true, "entries": report.count, "files": text}),
            Self::Search(_) => {
                json!({"ok": true, "matches": report.count, "files_with_matches": report.files, "found": text})
            }
        };
        if let Some(members) = result.as_object_mut() {
            if let Some(limit) = stopped {
                members.insert("truncated".to_owned(), json!(true));
                members.insert("limit".to_owned(), json!(limit));
                members.insert(
                    "hint".to_owned(),
                    json!("narrow the path, the glob or the pattern"),
                );
            }
            if report.skipped > 0 {
                members.insert("skipped".to_owned(), json!(report.skipped));
            }
            if !report.too_large.is_empty() {
                members.insert("too_large".to_owned(), json!(report.too_large));
            }
            if report.withheld > 0 {
                members.insert("withheld".to_owned(), json!(report.withheld));
                members.insert("withheld_reason".to_owned(), json!(WITHHELD_REASON));
            }
        }
        Ok(result)
    }
}

/// The first whole lines of a text that fit.
fn whole_lines(text: &str, chars_max: usize) -> (&str, bool) {
    let mut room = chars_max;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let cost: usize = line.chars().map(json_cost).sum();
        if cost > room {
            return (text.get(..end).unwrap_or_default(), true);
        }
        room -= cost;
        end += line.len();
    }
    (text, false)
}
