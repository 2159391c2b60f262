//! The walk of `ListFiles` and `SearchFiles` through folders.
//!
//! It runs inside the sandbox of a command that may write nothing, because the walk opens files by name: a
//! command that swaps a folder for a symlink meanwhile gains nothing that it could not read itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde::{Deserialize, Serialize};

use crate::output::json_cost;

/// Entries of one list.
const ENTRIES_MAX: u64 = 10_000;

/// Matching lines of one search.
const MATCHES_MAX: u64 = 10_000;

/// Size of the text that is passed to Wakeful, as JSON. The pipe keeps 1 MiB.
const TEXT_COST_MAX: u64 = 400_000;

/// Longest part of a line that is shown.
const LINE_CHARS_MAX: usize = 300;

/// Characters before the match in a longer line.
const LINE_LEAD_CHARS: usize = 60;

/// Largest file that is searched. Larger ones are logs or data, and sparse ones have no end.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a walk may take; below the time limit of the tool.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Most threads of one search.
const THREADS_MAX: usize = 8;

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
    pub(crate) kind: ScanKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScanKind {
    List {
        depth: u32,
    },
    Search {
        pattern: String,
        ignore_case: bool,
        files_only: bool,
        context: u32,
    },
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScanReport {
    /// Lines for the model.
    pub(crate) text: String,
    /// Entries, or matching lines.
    pub(crate) count: u64,
    /// Files with a match.
    pub(crate) files: u64,
    /// Files that could not be read, or are too large.
    pub(crate) skipped: u64,
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
    Size,
    Time,
}

impl StopReason {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "10000 entries",
            Self::Matches => "10000 matching lines",
            Self::Size => "size of the result",
            Self::Time => "20 seconds",
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
        ScanKind::List { depth } => list(task, walker, *depth),
        ScanKind::Search {
            pattern,
            ignore_case,
            files_only,
            context,
        } => match matcher(pattern, *ignore_case) {
            Ok(matcher) => {
                let search = Search {
                    task,
                    matcher,
                    files_only: *files_only,
                    context: usize::try_from(*context).unwrap_or_default(),
                    begun: Instant::now(),
                    found: Mutex::default(),
                    matches: AtomicU64::new(0),
                    cost: AtomicU64::new(0),
                    skipped: AtomicU64::new(0),
                    stopped: Mutex::default(),
                    is_stopped: AtomicBool::new(false),
                };
                search.run(walker)
            }
            Err(error) => failed(error),
        },
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
    fn shown(&self, path: &Path) -> String {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let shown = match (self.shown.as_str(), inner.as_os_str().is_empty()) {
            (shown, true) => PathBuf::from(shown),
            (".", false) => inner.to_owned(),
            (shown, false) => Path::new(shown).join(inner),
        };
        shown.to_string_lossy().replace('\n', "\u{fffd}")
    }
}

fn list(task: &ScanTask, mut walker: WalkBuilder, depth: u32) -> ScanReport {
    let (begun, mut report, mut cost) = (Instant::now(), ScanReport::default(), 0);
    walker
        .max_depth(Some(usize::try_from(depth).unwrap_or(usize::MAX)))
        .sort_by_file_name(std::cmp::Ord::cmp);
    for entry in walker.build() {
        let Ok(entry) = entry else {
            report.skipped += 1;
            continue;
        };
        let kind = entry.file_type();
        let is_folder = kind.is_some_and(|kind| kind.is_dir());
        if entry.depth() == 0 && is_folder {
            continue;
        }
        // A glob names files; the folders on the way to them say nothing.
        if is_folder && task.glob.is_some() {
            continue;
        }
        let mark = match kind {
            Some(kind) if kind.is_dir() => "/",
            Some(kind) if kind.is_symlink() => "@",
            Some(_) | None => "",
        };
        let line = format!("{}{mark}\n", task.shown(entry.path()));
        cost += cost_of(&line);
        report.stopped = if report.count == ENTRIES_MAX {
            Some(StopReason::Entries)
        } else if cost > TEXT_COST_MAX {
            Some(StopReason::Size)
        } else if begun.elapsed() > TIME_MAX {
            Some(StopReason::Time)
        } else {
            None
        };
        if report.stopped.is_some() {
            break;
        }
        report.text.push_str(&line);
        report.count += 1;
    }
    report
}

fn cost_of(text: &str) -> u64 {
    text.chars().map(json_cost).sum::<usize>() as u64
}

/// A search on several threads.
struct Search<'a> {
    task: &'a ScanTask,
    matcher: RegexMatcher,
    files_only: bool,
    context: usize,
    begun: Instant,
    /// The lines of each file with a match.
    found: Mutex<BTreeMap<PathBuf, String>>,
    matches: AtomicU64,
    cost: AtomicU64,
    skipped: AtomicU64,
    stopped: Mutex<Option<StopReason>>,
    is_stopped: AtomicBool,
}

impl Search<'_> {
    fn run(self, mut walker: WalkBuilder) -> ScanReport {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let walker = walker.threads(threads.min(THREADS_MAX)).build_parallel();
        walker.run(|| {
            let mut searcher = SearcherBuilder::new()
                .line_number(!self.files_only)
                .binary_detection(BinaryDetection::quit(0))
                .before_context(self.context)
                .after_context(self.context)
                .build();
            let search = &self;
            Box::new(move |entry| match entry {
                Ok(entry) => search.visit(&entry, &mut searcher),
                Err(_) => {
                    search.skipped.fetch_add(1, Ordering::Relaxed);
                    WalkState::Continue
                }
            })
        });
        let found = self
            .found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let stopped = self
            .stopped
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ScanReport {
            files: found.len() as u64,
            text: found
                .into_values()
                .collect::<Vec<_>>()
                .join(if self.files_only { "" } else { "\n" }),
            count: self.matches.into_inner().min(MATCHES_MAX),
            skipped: self.skipped.into_inner(),
            stopped,
            error: None,
        }
    }

    fn visit(&self, entry: &DirEntry, searcher: &mut Searcher) -> WalkState {
        if self.is_stopped.load(Ordering::Relaxed) {
            return WalkState::Quit;
        }
        if self.begun.elapsed() > TIME_MAX {
            self.stop(StopReason::Time);
            return WalkState::Quit;
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return WalkState::Continue;
        }
        match self.search(entry.path(), searcher) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.add(entry.path(), text),
            Err(_) => {
                self.skipped.fetch_add(1, Ordering::Relaxed);
            }
        }
        WalkState::Continue
    }

    fn search(&self, path: &Path, searcher: &mut Searcher) -> io::Result<String> {
        // A FIFO that took the place of a file does not block, and a link is not followed.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = File::from(openat(CWD, path, flags, Mode::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
            return Err(io::Error::other("not searched"));
        }
        let mut lines = MatchingLines {
            search: self,
            path,
            text: String::new(),
        };
        searcher.search_file(&self.matcher, &file, &mut lines)?;
        Ok(lines.text)
    }

    fn add(&self, path: &Path, text: String) {
        let cost = cost_of(&text);
        if self.cost.fetch_add(cost, Ordering::Relaxed) + cost > TEXT_COST_MAX {
            self.stop(StopReason::Size);
            return;
        }
        let mut found = self
            .found
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        found.insert(path.to_owned(), text);
    }

    fn stop(&self, why: StopReason) {
        let mut stopped = self
            .stopped
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        stopped.get_or_insert(why);
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// The matching lines of one file as text.
struct MatchingLines<'a> {
    search: &'a Search<'a>,
    path: &'a Path,
    text: String,
}

impl MatchingLines<'_> {
    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        if self.text.is_empty() {
            self.text = format!("{}\n", self.search.task.shown(self.path));
        }
        let line = String::from_utf8_lossy(line);
        let line = shown_line(line.trim_end_matches(['\n', '\r']), &self.search.matcher);
        let number = number.unwrap_or_default();
        // Writing to a string does not fail.
        let _written = writeln!(self.text, "{number}{mark}{line}");
        self.text.len() < usize::try_from(TEXT_COST_MAX).unwrap_or(usize::MAX)
    }
}

impl Sink for MatchingLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.search.matches.fetch_add(1, Ordering::Relaxed) >= MATCHES_MAX {
            self.search.stop(StopReason::Matches);
            return Ok(false);
        }
        if self.search.files_only {
            self.text = format!("{}\n", self.search.task.shown(self.path));
            return Ok(false);
        }
        Ok(self.push(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        match line.kind() {
            SinkContextKind::Before | SinkContextKind::After | SinkContextKind::Other => {
                Ok(self.push(line.line_number(), '-', line.bytes()))
            }
        }
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}

/// A line, or the part of a long one around its first match.
fn shown_line(line: &str, matcher: &RegexMatcher) -> String {
    if line.chars().count() <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    let start = matcher
        .find(line.as_bytes())
        .ok()
        .flatten()
        .map_or(0, |found| found.start());
    let before = line.get(..start).unwrap_or_default().chars().count();
    let skipped = before.saturating_sub(LINE_LEAD_CHARS);
    let part: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).collect();
    format!("{}{part}…", if skipped > 0 { "…" } else { "" })
}
