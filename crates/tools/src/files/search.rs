//! The search of file contents, inside the sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::scan_task::{
    ScanKind, ScanReport, ScanTask, StopReason, TEXT_COST_MAX, TIME_MAX, cost_of, matcher,
};

/// Matching lines of one search.
const MATCHES_MAX: u64 = 10_000;

/// Longest part of a line that is shown.
const LINE_CHARS_MAX: usize = 300;

/// Characters before the match in a longer line.
const LINE_LEAD_CHARS: usize = 60;

/// Largest file that is searched. Larger ones are logs or data, and sparse ones have no end.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Names of larger files in one result.
const TOO_LARGE_NAMED_MAX: usize = 20;

/// A file that is smaller is searched in memory.
const BUFFER_BYTES: usize = 64 * 1024;

/// Most threads of one search.
const THREADS_MAX: usize = 8;

/// Searches the files of a walk, or only the named ones.
pub(super) fn run(task: &ScanTask, walker: WalkBuilder) -> Result<ScanReport, String> {
    let ScanKind::Search {
        pattern,
        ignore_case,
        files_only,
        context,
        only,
    } = &task.kind
    else {
        return Err("the task is not a search".to_owned());
    };
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let search = Search {
        task,
        root: openat(CWD, &task.root, folder, Mode::empty()).ok(),
        matcher: matcher(pattern, *ignore_case)?,
        files_only: *files_only,
        context: usize::try_from(*context).unwrap_or_default(),
        begun: Instant::now(),
        found: Mutex::default(),
        matches: AtomicU64::new(0),
        cost: AtomicU64::new(0),
        skipped: AtomicU64::new(0),
        too_large: Mutex::default(),
        stopped: Mutex::default(),
        is_stopped: AtomicBool::new(false),
    };
    match only {
        Some(files) => search.read_all(files),
        None => search.walk(walker),
    }
    Ok(search.report())
}

/// A search on several threads.
struct Search<'a> {
    task: &'a ScanTask,
    /// The folder. Paths below it are shorter than absolute ones, and the kernel finds them sooner.
    root: Option<OwnedFd>,
    matcher: RegexMatcher,
    files_only: bool,
    context: usize,
    begun: Instant,
    /// The lines of each file with a match.
    found: Mutex<BTreeMap<PathBuf, String>>,
    matches: AtomicU64,
    cost: AtomicU64,
    skipped: AtomicU64,
    /// Names of files that are too large.
    too_large: Mutex<BTreeSet<String>>,
    stopped: Mutex<Option<StopReason>>,
    is_stopped: AtomicBool,
}

impl Search<'_> {
    fn walk(&self, mut walker: WalkBuilder) {
        let walker = walker.threads(threads()).build_parallel();
        walker.run(|| {
            let mut reader = self.reader();
            Box::new(move |entry| match entry {
                Ok(entry) => self.visit(&entry, &mut reader),
                Err(_) => {
                    self.skipped.fetch_add(1, Ordering::Relaxed);
                    WalkState::Continue
                }
            })
        });
    }

    /// Searches these files, and no file that appeared since.
    fn read_all(&self, files: &[String]) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let work = || {
                let mut reader = self.reader();
                while let Some(inner) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The search starts from a file, which has no path below itself.
                    let path = match inner.as_str() {
                        "" => self.task.root.clone(),
                        inner => self.task.root.join(inner),
                    };
                    if self.read(&path, &mut reader) == WalkState::Quit {
                        break;
                    }
                }
            };
            for _ in 1..threads() {
                // Without another thread, this one does all the work.
                let _unavailable = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    fn reader(&self) -> FileSearcher {
        let searcher = SearcherBuilder::new()
            .line_number(!self.files_only)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(self.context)
            .after_context(self.context)
            .build();
        FileSearcher {
            searcher,
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    fn report(self) -> ScanReport {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stopped = self.stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
        let too_large = self
            .too_large
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        ScanReport {
            files: found.len() as u64,
            text: found
                .into_values()
                .collect::<Vec<_>>()
                .join(if self.files_only { "" } else { "\n" }),
            count: self.matches.into_inner().min(MATCHES_MAX),
            skipped: self.skipped.into_inner(),
            stopped: stopped.or((!too_large.is_empty()).then_some(StopReason::FileSize)),
            too_large: too_large.into_iter().collect(),
            ..ScanReport::default()
        }
    }

    fn visit(&self, entry: &DirEntry, reader: &mut FileSearcher) -> WalkState {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return WalkState::Continue;
        }
        self.read(entry.path(), reader)
    }

    fn read(&self, path: &Path, reader: &mut FileSearcher) -> WalkState {
        if self.is_stopped.load(Ordering::Relaxed) {
            return WalkState::Quit;
        }
        if self.begun.elapsed() > TIME_MAX {
            self.stop(StopReason::Time);
            return WalkState::Quit;
        }
        match self.search(path, reader) {
            Ok(text) if text.is_empty() => {}
            Ok(text) => self.add(path, text),
            Err(error) => {
                self.skipped.fetch_add(1, Ordering::Relaxed);
                if error.kind() == io::ErrorKind::FileTooLarge {
                    self.add_too_large(path);
                }
            }
        }
        WalkState::Continue
    }

    fn search(&self, path: &Path, reader: &mut FileSearcher) -> io::Result<String> {
        // A FIFO that took the place of a file does not block, and a link is not followed.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let inner = path.strip_prefix(&self.task.root);
        let file = match (&self.root, inner) {
            (Some(root), Ok(inner)) => openat(root.as_fd(), inner, flags, Mode::empty())?,
            (Some(_) | None, _) => openat(CWD, path, flags, Mode::empty())?,
        };
        let mut lines = MatchingLines {
            search: self,
            path,
            text: String::new(),
        };
        reader.search(File::from(file), &mut lines)?;
        Ok(lines.text)
    }

    fn add(&self, path: &Path, text: String) {
        let cost = cost_of(&text);
        if self.cost.fetch_add(cost, Ordering::Relaxed) + cost > TEXT_COST_MAX {
            self.stop(StopReason::Size);
            return;
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(path.to_owned(), text);
    }

    /// The search continues; the reason only says that this file was not searched.
    fn add_too_large(&self, path: &Path) {
        let mut names = self.too_large.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < TOO_LARGE_NAMED_MAX {
            names.insert(self.task.shown(path));
        }
    }

    fn stop(&self, why: StopReason) {
        let mut stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        stopped.get_or_insert(why);
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

fn threads() -> usize {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    threads.min(THREADS_MAX)
}

/// The searcher and the buffer of one thread.
struct FileSearcher {
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl FileSearcher {
    fn search(&mut self, mut file: File, lines: &mut MatchingLines<'_>) -> io::Result<()> {
        let matcher = &lines.search.matcher;
        let mut filled = 0;
        while let Some(rest) = self.buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read(rest)? {
                0 => {
                    let text = self.buffer.get(..filled).unwrap_or_default();
                    return self.searcher.search_slice(matcher, text, lines);
                }
                count => filled += count,
            }
        }
        // Most files end here. Metadata is read only for those that do not, because it costs as much as the text.
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("not a file"));
        }
        if metadata.len() > FILE_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        file.rewind()?;
        self.searcher.search_file(matcher, &file, lines)
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
