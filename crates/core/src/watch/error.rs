//! Why something outside cannot be watched or looked at.

use super::{
    ENTRIES_MAX, IGNORE_BYTES_MAX, IGNORE_LINE_BYTES_MAX, IGNORE_LINES_MAX, IGNORE_PATTERNS_MAX,
    IGNORE_PATTERNS_PER_SCAN_MAX, NAMES_BYTES_MAX, PATH_BYTES_MAX, SCAN_MS_MAX, SOURCES_MAX,
};
use crate::id::SourceId;
use crate::problem::Problem;

/// What an ignore file has too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreFileLimit {
    /// Its size.
    #[error("{0} bytes; at most {IGNORE_BYTES_MAX}")]
    Bytes(u64),
    /// Its lines.
    #[error("{0} lines; at most {IGNORE_LINES_MAX}")]
    Lines(usize),
    /// The bytes of one line.
    #[error("a line of {0} bytes; at most {IGNORE_LINE_BYTES_MAX}")]
    Line(usize),
    /// The patterns that apply to its folder.
    #[error("{0} patterns, together with those of the folders above; at most {IGNORE_PATTERNS_MAX}")]
    Patterns(usize),
    /// The patterns of all ignore files of the source.
    #[error(
        "{0} patterns, together with the source's other ignore files; at most {IGNORE_PATTERNS_PER_SCAN_MAX}"
    )]
    PatternsOfAll(usize),
    /// What its patterns compile to.
    #[error("patterns that are too complex to compile")]
    Compiled,
}

/// Why something outside cannot be watched or looked at. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSource {
    /// There is no such folder, or it cannot be read.
    #[error("{0} is no folder that can be read")]
    NoFolder(String),
    /// There is no Git repository.
    #[error("{0} is no Git repository")]
    NotARepository(String),
    /// A repository that keeps its refs in a way that is not read here.
    #[error("the repository {0} keeps its refs as reftable, which is not read here")]
    Reftable(String),
    /// Its path is none that can be kept.
    #[error("the path of a source is absolute, UTF-8 and at most {PATH_BYTES_MAX} bytes long")]
    BadPath,
    /// It is in the home, which is never watched.
    #[error("{0} is in the home of wakeful, which is never watched")]
    InHome(String),
    /// It is what Git keeps for itself.
    #[error("{0} is what Git keeps for itself, which is never watched as a folder")]
    InGit(String),
    /// It is watched under another name.
    #[error("{path} is watched already, as {source_id}")]
    AlreadyWatched {
        /// What is to be watched.
        path: String,
        /// Under which name it is.
        source_id: SourceId,
    },
    /// The name is that of another one.
    #[error("there is a source {0} already, which watches something else")]
    Exists(SourceId),
    /// There is no such source.
    #[error("there is no source {0}")]
    Unknown(SourceId),
    /// It is on another device.
    #[error("the source {0} is on another device, which looks at it")]
    OtherDevice(SourceId),
    /// There are as many as are watched.
    #[error("there are {SOURCES_MAX} sources, which is as many as are watched")]
    TooManySources,
    /// There is more in it than is watched.
    #[error(
        "{path} has more than {ENTRIES_MAX} files and folders, which is as many as are watched (found {found}, then stopped)"
    )]
    TooManyFiles {
        /// Where.
        path: String,
        /// How many were counted.
        found: usize,
    },
    /// An ignore file is larger than is read. The source is not scanned until it is shorter: without its patterns, files
    /// that are meant to be ignored would be reported.
    #[error("ignore file too large: {path} has {excess}; the source is not scanned until it is shortened")]
    IgnoreTooLarge {
        /// The ignore file.
        path: String,
        /// What it has too much of.
        excess: IgnoreFileLimit,
    },
    /// The names in it are longer than is kept.
    #[error("the names in {0} have more than {NAMES_BYTES_MAX} bytes together")]
    NamesTooLong(String),
    /// A look takes too long.
    #[error("scanning {0} takes longer than {SCAN_MS_MAX} ms")]
    TooSlow(String),
    /// The kernel watches no more folders for this user.
    #[error("the kernel watches no more folders for this user, so changes in {0} are found only by looking")]
    TooManyWatches(String),
    /// Somebody else looked at the same time, again and again.
    #[error("others look at {0} at the same time")]
    Busy(SourceId),
}

impl BadSource {
    /// A stable word for programs.
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

    /// The way out.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NoFolder(_) => "name a folder that is there and that you may read",
            Self::NotARepository(_) => "name a folder that has a .git, or a bare repository",
            Self::Reftable(_) => "`git refs migrate --ref-format=files` turns it into one that is read",
            Self::BadPath => "give the whole path, from / on",
            Self::InHome(_) => "name a folder outside of the home",
            Self::InGit(_) => "watch the repository: `wakeful source add git PATH`",
            Self::AlreadyWatched { .. } | Self::Exists(_) | Self::Unknown(_) => {
                "`wakeful source list` shows those there are"
            }
            Self::OtherDevice(_) => "call it there",
            Self::TooManySources => "take one away: `wakeful source remove ID`",
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
