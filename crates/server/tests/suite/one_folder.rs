//! The folders of a home that has one.

use wakeful_api::{FolderReview, TrustedFolder};
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;
use wakeful_server::FolderHost;

/// The only folder that exists.
pub(super) const FOLDER: &str = "/srv/project";

pub(super) struct OneFolder;

fn known(folder: &str) -> Result<(), Problem> {
    match folder {
        FOLDER => Ok(()),
        other => {
            let message = format!("there is no folder {other}");
            Err(Problem::new("folder_unknown", message, "give an existing folder"))
        }
    }
}

fn folder(path: &str, is_trusted: bool) -> TrustedFolder {
    TrustedFolder {
        folder: path.to_owned(),
        is_trusted,
        answered_at: None,
        agents: Vec::new(),
        untrusted_actions: 0,
    }
}

fn review(until: Millis) -> FolderReview {
    FolderReview {
        folder: FOLDER.to_owned(),
        listed_at: until.rfc3339(),
        untrusted_actions: 0,
        files: Vec::new(),
        is_truncated: false,
    }
}

impl FolderHost for OneFolder {
    fn list(&self, workspaces: &[String]) -> Result<Vec<TrustedFolder>, Problem> {
        Ok(workspaces.iter().map(|path| folder(path, true)).collect())
    }

    fn answer(&self, path: &str, is_trusted: bool) -> Result<TrustedFolder, Problem> {
        known(path).map(|()| folder(path, is_trusted))
    }

    fn files(&self, folder: &str) -> Result<FolderReview, Problem> {
        known(folder).map(|()| review(Millis(0)))
    }

    fn review(&self, folder: &str, until: Millis) -> Result<FolderReview, Problem> {
        known(folder).map(|()| review(until))
    }
}
