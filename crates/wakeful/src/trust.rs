//! Trusted folders: the operator's answers in the home, and the question about a folder that is new.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use wakeful_api::{FolderReview, TrustedFolder, UntrustedFile};
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_server::FolderHost;
use wakeful_tools::trusted_folders::{FolderAnswer, TrustedFolders};
use wakeful_tools::untrusted_writes::UntrustedWrites;

use crate::cli::confirm::is_affirmed;
use crate::failure::Failure;
use crate::home::Home;
use crate::system::RealClock;

/// How a command came to use a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderChoice {
    /// The operator named it in this command, which is an answer.
    Named,
    /// It is the folder in which the command was started.
    Current,
}

/// Records the operator's trust in a workspace that has no answer yet. A folder that the operator did not name is
/// asked about once, if there is a terminal. Without one the folder in which a command was started counts as trusted,
/// and nothing is recorded.
pub(crate) fn settle(home: &Path, folder: &str, choice: FolderChoice) -> Result<(), Failure> {
    let folder = Path::new(folder);
    let folders = TrustedFolders::of(home);
    // The record must not be what creates a home.
    if !Home::is_there(home) || folders.load().nearest(folder).is_some() {
        return Ok(());
    }
    let has_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let is_trusted = match choice {
        FolderChoice::Named => true,
        FolderChoice::Current if !has_terminal => return Ok(()),
        FolderChoice::Current => is_affirmed(&format!(
            "Do you trust the files in {}? If not, agents treat them as untrusted data",
            folder.display()
        )),
    };
    record(home, folder, is_trusted).map_err(Failure::from)
}

fn record(home: &Path, folder: &Path, is_trusted: bool) -> Result<(), Problem> {
    let answer = FolderAnswer {
        is_trusted,
        at_ms: RealClock::new().now().0,
    };
    let recorded = TrustedFolders::of(home).answer(folder, answer);
    recorded.map_err(|error| unusable("trusted-folders.json", &error))
}

fn unusable(file: &str, error: &std::io::Error) -> Problem {
    Problem::new(
        "folder_record_unusable",
        format!("the record of folders cannot be used: {error}"),
        format!("make {file} in the home readable and writable"),
    )
}

/// The answers and records of a home.
#[derive(Debug, Clone)]
pub(crate) struct HomeFolders {
    pub(crate) home: PathBuf,
}

impl HomeFolders {
    fn found(folder: &str) -> Result<PathBuf, Problem> {
        let found = Path::new(folder).canonicalize();
        let found = found
            .ok()
            .filter(|path| Path::new(folder).is_absolute() && path.is_dir());
        found.ok_or_else(|| {
            Problem::new(
                "folder_unknown",
                format!("there is no folder {folder}"),
                "give the whole path of an existing folder",
            )
        })
    }

    fn describe(&self, folder: &Path, answer: Option<FolderAnswer>) -> TrustedFolder {
        let listed = UntrustedWrites::of(&self.home, folder).actions();
        TrustedFolder {
            folder: folder.to_string_lossy().into_owned(),
            is_trusted: answer.is_none_or(|answer| answer.is_trusted),
            answered_at: answer.map(|answer| Millis(answer.at_ms).rfc3339()),
            agents: Vec::new(),
            untrusted_actions: listed as u64,
        }
    }

    fn listed(&self, folder: &Path) -> Result<FolderReview, Problem> {
        let listed = UntrustedWrites::of(&self.home, folder).list();
        let listed = listed.map_err(|error| unusable("untrusted-writes", &error))?;
        let files = listed.files.into_iter().map(|file| UntrustedFile {
            path: file.path,
            changed_at: at(file.changed_at_ms).rfc3339(),
            run_key: Some(file.run).filter(|run| !run.is_empty()),
            agent_id: file.agent,
            tool: file.tool,
        });
        Ok(FolderReview {
            folder: folder.to_string_lossy().into_owned(),
            listed_at: at(listed.listed_at_ms).rfc3339(),
            untrusted_actions: listed.actions as u64,
            files: files.collect(),
            is_truncated: listed.is_truncated,
        })
    }
}

fn at(ms: u64) -> Millis {
    Millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

impl FolderHost for HomeFolders {
    fn list(&self, workspaces: &[String]) -> Result<Vec<TrustedFolder>, Problem> {
        let answers = TrustedFolders::of(&self.home).load();
        let mut listed: Vec<TrustedFolder> = answers
            .iter()
            .map(|(folder, answer)| self.describe(folder, Some(answer)))
            .collect();
        for workspace in workspaces {
            if listed.iter().any(|one| one.folder == *workspace) {
                continue;
            }
            let folder = Path::new(workspace);
            // An answer about a folder above applies to it.
            let above = answers.nearest(folder).map(|(_, answer)| answer);
            let described = self.describe(folder, above);
            listed.push(TrustedFolder {
                is_trusted: !answers.is_distrusted(folder),
                answered_at: None,
                ..described
            });
        }
        listed.sort_by(|one, other| one.folder.cmp(&other.folder));
        Ok(listed)
    }

    fn answer(&self, folder: &str, is_trusted: bool) -> Result<TrustedFolder, Problem> {
        let folder = Self::found(folder)?;
        record(&self.home, &folder, is_trusted)?;
        let answers = TrustedFolders::of(&self.home).load();
        let answer = answers.nearest(&folder).map(|(_, answer)| answer);
        Ok(self.describe(&folder, answer))
    }

    fn files(&self, folder: &str) -> Result<FolderReview, Problem> {
        self.listed(&Self::found(folder)?)
    }

    fn review(&self, folder: &str, until: Millis) -> Result<FolderReview, Problem> {
        let folder = Self::found(folder)?;
        let until = u64::try_from(until.0).unwrap_or_default();
        let reviewed = UntrustedWrites::of(&self.home, &folder).review(until);
        reviewed.map_err(|error| unusable("untrusted-writes", &error))?;
        self.listed(&folder)
    }
}
