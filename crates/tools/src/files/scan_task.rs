//! The walk of `ListFiles` and `SearchFiles` through folders.
//!
//! It runs inside the sandbox of a command that may write nothing, because the walk opens files by name: a
//! command that swaps a folder for a symlink meanwhile gains nothing that it could not read itself.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde::{Deserialize, Serialize};

use super::search;
use crate::output::json_cost;

/// Entries of one list.
const ENTRIES_MAX: u64 = 10_000;

/// Files of one search on which policies decide one by one.
const FILES_MAX: u64 = 20_000;

/// Size of the text that is passed to Wakeful, as JSON. The pipe keeps 1 MiB.
pub(super) const TEXT_COST_MAX: u64 = 400_000;

/// Size of the paths of [`FILES_MAX`] files, as JSON.
const PATHS_COST_MAX: u64 = 1_000_000;

/// The quotes and the comma of a path in JSON.
const PATH_MARKS_COST: u64 = 3;

/// How long a walk may take; below the time limit of the tool.
pub(super) const TIME_MAX: Duration = Duration::from_secs(20);

/// How long the files of a search may be collected before it begins.
const COLLECTING_MAX: Duration = Duration::from_secs(5);

/// The folder of a repository's own data, which is never listed or searched.
const REPOSITORY: &str = ".git";

/// What to walk through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScanTask {
    /// The folder or file, without symlinks.
    pub(crate) root: PathBuf,
    /// How results name it.
    pub(crate) shown: String,
    pub(crate) glob: Option<String>,
    /// Whether hidden and ignored files are included.
    pub(crate) all: bool,
    /// Whether policies decide on each listed path, so that the report must have the paths as well.
    pub(crate) is_judged: bool,
    pub(crate) kind: ScanKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScanKind {
    List {
        depth: u32,
    },
    /// The files that a search would open, without opening them.
    Files,
    Search {
        pattern: String,
        ignore_case: bool,
        files_only: bool,
        context: u32,
        /// The only files to search, relative to the root; all if policies do not decide on each.
        only: Option<Vec<String>>,
    },
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScanReport {
    /// Lines for the model.
    pub(crate) text: String,
    /// The paths of a judged list in the order of its lines, relative to the root; none for a path that is not
    /// UTF-8.
    pub(crate) paths: Vec<Option<String>>,
    /// Entries, or matching lines.
    pub(crate) count: u64,
    /// Files with a match.
    pub(crate) files: u64,
    /// Files that could not be read, or are too large.
    pub(crate) skipped: u64,
    /// The names of files that are too large, as far as they fit.
    pub(crate) too_large: Vec<String>,
    /// Paths that policies exclude. Wakeful's own process counts them.
    pub(crate) withheld: u64,
    /// Why not everything was walked through.
    pub(crate) stopped: Option<StopReason>,
    /// Why nothing was walked through.
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    Entries,
    Matches,
    Files,
    Size,
    Time,
    Collecting,
    FileSize,
}

impl StopReason {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "10000 entries",
            Self::Matches => "10000 matching lines",
            Self::Files => "20000 files, because policies decide on each",
            Self::Size => "size of the result",
            Self::Time => "20 seconds",
            Self::FileSize => "256 MiB of a file",
            Self::Collecting => "5 seconds for the names of files, because policies decide on each",
        }
    }
}

/// The matcher of a pattern, or what is wrong with it.
pub(super) fn matcher(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).line_terminator(Some(b'\n'));
    builder.build(pattern).map_err(|error| error.to_string())
}

/// Whether a glob can be read.
pub(super) fn check_glob(glob: &str) -> Result<(), String> {
    override_of(Path::new("/"), Some(glob)).map(drop)
}

fn override_of(root: &Path, glob: Option<&str>) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(root);
    if let Some(glob) = glob {
        builder.add(glob).map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}

/// Walks and reports. A problem is part of the report.
pub(crate) fn run(task: &ScanTask) -> ScanReport {
    let failed = |error: String| ScanReport {
        error: Some(error),
        ..ScanReport::default()
    };
    if let Err(error) = task.root.symlink_metadata() {
        return failed(format!("{}: {error}", task.shown));
    }
    let walker = match task.walker() {
        Ok(walker) => walker,
        Err(error) => return failed(error),
    };
    match &task.kind {
        ScanKind::List { depth } => list(task, walker, usize::try_from(*depth).ok()),
        ScanKind::Files => list(task, walker, None),
        ScanKind::Search { .. } => search::run(task, walker).unwrap_or_else(failed),
    }
}

impl ScanTask {
    fn walker(&self) -> Result<WalkBuilder, String> {
        let mut builder = WalkBuilder::new(&self.root);
        let ignores = !self.all;
        builder
            .standard_filters(ignores)
            .require_git(false)
            .git_global(false)
            .follow_links(false)
            .overrides(override_of(&self.root, self.glob.as_deref())?)
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != REPOSITORY);
        Ok(builder)
    }

    /// The path of an entry as results show it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let shown = match (self.shown.as_str(), inner.as_os_str().is_empty()) {
            (shown, true) => PathBuf::from(shown),
            (".", false) => inner.to_owned(),
            (shown, false) => Path::new(shown).join(inner),
        };
        shown.to_string_lossy().replace('\n', "\u{fffd}")
    }
}

/// The bounds of a list.
struct ListBounds {
    entries: u64,
    cost: u64,
    time: Duration,
    /// Why it ends at the bound on entries, and at that on time.
    reasons: [StopReason; 2],
}

impl ListBounds {
    const fn of(kind: &ScanKind) -> Self {
        match kind {
            ScanKind::List { .. } | ScanKind::Search { .. } => Self {
                entries: ENTRIES_MAX,
                cost: TEXT_COST_MAX,
                time: TIME_MAX,
                reasons: [StopReason::Entries, StopReason::Time],
            },
            ScanKind::Files => Self {
                entries: FILES_MAX,
                cost: PATHS_COST_MAX,
                time: COLLECTING_MAX,
                reasons: [StopReason::Files, StopReason::Collecting],
            },
        }
    }
}

fn list(task: &ScanTask, mut walker: WalkBuilder, depth: Option<usize>) -> ScanReport {
    let (begun, mut report, mut cost) = (Instant::now(), ScanReport::default(), 0);
    let (bounds, is_files) = (ListBounds::of(&task.kind), task.kind == ScanKind::Files);
    walker.max_depth(depth).sort_by_file_name(std::cmp::Ord::cmp);
    for entry in walker.build() {
        let Ok(entry) = entry else {
            report.skipped += 1;
            continue;
        };
        let line = match is_files {
            true => entry
                .file_type()
                .is_some_and(|kind| kind.is_file())
                .then(String::new),
            false => line_of(task, &entry),
        };
        let Some(line) = line else { continue };
        let path = entry.path();
        let path = path.strip_prefix(&task.root).unwrap_or(path).to_str();
        let path_cost = cost_of(path.unwrap_or_default()) + PATH_MARKS_COST;
        cost += cost_of(&line) + if task.is_judged { path_cost } else { 0 };
        report.stopped = if report.count == bounds.entries {
            Some(bounds.reasons[0])
        } else if cost > bounds.cost {
            Some(StopReason::Size)
        } else if begun.elapsed() > bounds.time {
            Some(bounds.reasons[1])
        } else {
            None
        };
        if report.stopped.is_some() {
            break;
        }
        report.text.push_str(&line);
        report
            .paths
            .extend(task.is_judged.then(|| path.map(str::to_owned)));
        report.count += 1;
    }
    report
}

/// The line of an entry; none for one that is not listed.
fn line_of(task: &ScanTask, entry: &DirEntry) -> Option<String> {
    let kind = entry.file_type();
    let is_folder = kind.is_some_and(|kind| kind.is_dir());
    // A glob names files; the folders on the way to them say nothing.
    if is_folder && (entry.depth() == 0 || task.glob.is_some()) {
        return None;
    }
    let mark = match kind {
        Some(kind) if kind.is_dir() => "/",
        Some(kind) if kind.is_symlink() => "@",
        Some(_) | None => "",
    };
    Some(format!("{}{mark}\n", task.shown(entry.path())))
}

/// The size of a text in the report: as JSON, which has other characters as they are.
pub(super) fn cost_of(text: &str) -> u64 {
    text.chars()
        .map(|c| json_cost(c).max(c.len_utf8()))
        .sum::<usize>() as u64
}
