//! Errors of watched sources.

use super::{
    ENTRIES_MAX, IGNORE_BYTES_MAX, IGNORE_LINE_BYTES_MAX, IGNORE_LINES_MAX, IGNORE_PATTERNS_MAX,
    IGNORE_PATTERNS_PER_SCAN_MAX, NAMES_BYTES_MAX, PATH_BYTES_MAX, SCAN_MS_MAX, SOURCES_MAX,
};
use crate::id::SourceId;
use crate::problem::Problem;

/// The limit that an ignore file exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreFileLimit {
    #[error("{0} bytes; at most {IGNORE_BYTES_MAX}")]
    Bytes(u64),
    /// Number of lines.
    #[error("{0} lines; at most {IGNORE_LINES_MAX}")]
    Lines(usize),
    /// Bytes of one line.
    #[error("a line of {0} bytes; at most {IGNORE_LINE_BYTES_MAX}")]
    Line(usize),
    /// Patterns that apply to its folder.
    #[error("{0} patterns, together with those of the folders above; at most {IGNORE_PATTERNS_MAX}")]
    Patterns(usize),
    /// Patterns of all ignore files of the source.
    #[error(
        "{0} patterns, together with the source's other ignore files; at most {IGNORE_PATTERNS_PER_SCAN_MAX}"
    )]
    PatternsOfAll(usize),
    /// Complexity of the compiled patterns.
    #[error("patterns that are too complex to compile")]
    Compiled,
}

/// Why a source cannot be added or scanned. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSource {
    /// The folder does not exist or cannot be read.
    #[error("{0} is not a readable folder")]
    NoFolder(String),
    /// The path is not a Git repository.
    #[error("{0} is not a Git repository")]
    NotARepository(String),
    /// The repository stores its refs in an unsupported format.
    #[error("the repository {0} stores its refs as reftable, which is not supported")]
    Reftable(String),
    /// The path cannot be stored.
    #[error("the path of a source must be absolute, UTF-8 and at most {PATH_BYTES_MAX} bytes long")]
    BadPath,
    /// The path is inside the home, which is never watched.
    #[error("{0} is in the home of wakeful, which is never watched")]
    InHome(String),
    /// The path is inside a Git directory.
    #[error("{0} is an internal Git folder, which is never watched as a folder")]
    InGit(String),
    /// The path is already watched under another name.
    #[error("{path} is watched already, as {source_id}")]
    AlreadyWatched { path: String, source_id: SourceId },
    /// Another source has this name.
    #[error("the source {0} already exists and watches something else")]
    Exists(SourceId),
    /// The source does not exist.
    #[error("the source {0} does not exist")]
    Unknown(SourceId),
    /// Another device watches the source.
    #[error("the source {0} is on another device, which scans it")]
    OtherDevice(SourceId),
    /// The number of sources is at its limit.
    #[error("the limit of {SOURCES_MAX} sources is reached")]
    TooManySources,
    /// The source has too many entries.
    #[error(
        "{path} has more than {ENTRIES_MAX} files and folders, which is the limit (found {found}, then stopped)"
    )]
    TooManyFiles { path: String, found: usize },
    /// An ignore file exceeds a limit. The source is not scanned until the file is shortened: without its
    /// patterns, files that should be ignored would be reported.
    #[error("ignore file too large: {path} has {excess}; the source is not scanned until it is shortened")]
    IgnoreTooLarge { path: String, excess: IgnoreFileLimit },
    /// The names of its entries are too long in total.
    #[error("the names in {0} have more than {NAMES_BYTES_MAX} bytes together")]
    NamesTooLong(String),
    /// A scan takes too long.
    #[error("scanning {0} takes longer than {SCAN_MS_MAX} ms")]
    TooSlow(String),
    /// The kernel limit of watches per user is reached.
    #[error("the kernel limit of watched folders is reached, so changes in {0} are found only by scanning")]
    TooManyWatches(String),
    /// Concurrent scans of the source conflicted repeatedly.
    #[error("other processes scan {0} at the same time")]
    Busy(SourceId),
}

impl BadSource {
    /// Returns the stable error code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoFolder(_) => "folder_not_found",
            Self::NotARepository(_) => "not_a_repository",
            Self::Reftable(_) => "repository_unsupported",
            Self::BadPath => "bad_path",
            Self::InHome(_) => "inside_home",
            Self::InGit(_) => "inside_git",
            Self::AlreadyWatched { .. } => "already_watched",
            Self::Exists(_) => "source_exists",
            Self::Unknown(_) => "source_unknown",
            Self::OtherDevice(_) => "source_on_other_device",
            Self::TooManySources => "too_many_sources",
            Self::TooManyFiles { .. } => "too_many_files",
            Self::IgnoreTooLarge { .. } => "ignore_too_large",
            Self::NamesTooLong(_) => "source_names_too_long",
            Self::TooSlow(_) => "source_too_slow",
            Self::TooManyWatches(_) => "too_many_watches",
            Self::Busy(_) => "source_busy",
        }
    }

    /// Returns how to fix the error.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NoFolder(_) => "name a folder that is there and that you may read",
            Self::NotARepository(_) => "name a folder that has a .git, or a bare repository",
            Self::Reftable(_) => "convert it with `git refs migrate --ref-format=files`",
            Self::BadPath => "use the absolute path, starting with /",
            Self::InHome(_) => "name a folder outside of the home",
            Self::InGit(_) => "watch the repository: `wakeful source add git PATH`",
            Self::AlreadyWatched { .. } | Self::Exists(_) | Self::Unknown(_) => {
                "list the existing sources with `wakeful source list`"
            }
            Self::OtherDevice(_) => "run the command on that device",
            Self::TooManySources => "remove one with `wakeful source remove ID`",
            Self::IgnoreTooLarge { .. } => {
                "shorten the ignore file: ignore whole folders instead of single files"
            }
            Self::TooManyFiles { .. } | Self::NamesTooLong(_) | Self::TooSlow(_) => {
                "leave folders out in a .wakefulignore, written like a .gitignore; or watch a folder below"
            }
            Self::TooManyWatches(_) => {
                "raise fs.inotify.max_user_watches, or leave folders out in a .wakefulignore; then `wakeful source scan ID`"
            }
            Self::Busy(_) => "try again",
        }
    }
}

impl From<&BadSource> for Problem {
    fn from(bad: &BadSource) -> Self {
        Self::new(bad.code(), bad.to_string(), bad.hint())
    }
}
