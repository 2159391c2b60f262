//! The folders of a scenario.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use wakeful_tools::trusted_folders::{FolderAnswer, TrustedFolders};

/// The folders of a scenario.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub(super) home: String,
    /// The workspace of the agent `main`.
    pub(super) workspace: String,
    /// A folder outside that the agents may write to.
    pub(super) outside: String,
    /// A folder outside that the agents may read, with files that others wrote.
    pub(super) foreign: String,
}

/// Which folders outside of their workspaces agents may read.
#[derive(Debug, Clone, Copy)]
pub(super) enum FolderAccess {
    Foreign,
    Own,
}

/// The operator trusts a folder. It is the one that agents may write to, so that commands of a trusted run are not
/// confined because of it, and after a review every one.
pub(super) fn trust(ground: &Ground, folder: &str) -> Result<()> {
    let answer = FolderAnswer {
        is_trusted: true,
        at_ms: 0,
    };
    TrustedFolders::of(Path::new(&ground.home)).answer(Path::new(folder), answer)?;
    Ok(())
}

pub(super) fn ground(root: &Path) -> Result<Ground> {
    let make = |name: &str| -> Result<String> {
        let folder = root.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder.to_str().context("a plain path")?.to_owned())
    };
    Ok(Ground {
        home: make("home")?,
        workspace: make("work/main")?,
        outside: make("outside")?,
        foreign: make("foreign")?,
    })
}

/// Makes a folder a Git repository and commits its files.
pub(super) fn commit_all(folder: &str) -> Result<()> {
    let identity = ["-c", "user.name=operator", "-c", "user.email=operator@localhost"];
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["commit", "-q", "-m", "start"],
    ] {
        let done = Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(folder)
            .status();
        ensure!(done.context("starting git")?.success(), "git {args:?} failed");
    }
    Ok(())
}
