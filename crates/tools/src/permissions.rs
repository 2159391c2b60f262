//! Mode and owner of the home's own files, compared before and after each command.
//!
//! Without a mount namespace nothing keeps a command from changing them: Landlock does not ask, and a filter of system
//! calls does not see which file is meant. So a change is found, set back and told.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

/// What is compared, the home itself first: without it the others cannot be reached.
const GUARDED: [&str; 22] = [
    "",
    "token",
    "device.key",
    "config.toml",
    "wakeful-home",
    "lock",
    "agent.sqlite",
    "agent.sqlite-wal",
    "agent.sqlite-shm",
    "db.sqlite",
    "db.sqlite-wal",
    "db.sqlite-shm",
    "blobs",
    "scratch",
    "agents",
    "run",
    "run/daemon.json",
    "run/wakeful.sock",
    "brake.slot",
    "logins.json",
    "written",
    "guidance",
];

/// Of these nobody else may have any rights, whoever gave them.
const PRIVATE: [&str; 3] = ["", "token", "device.key"];

/// The bits of a mode that chmod(2) sets, and those for others than the owner.
const MODE_BITS: u32 = 0o7777;
const FOR_OTHERS: u32 = 0o077;

/// How the home's files were before a command.
#[derive(Debug)]
pub(crate) struct Guard {
    home: PathBuf,
    before: Vec<(&'static str, Metadata)>,
}

impl Guard {
    pub(crate) fn new(home: &Path) -> Self {
        let look = |name: &&'static str| {
            let found = fs::symlink_metadata(home.join(name)).ok()?;
            (!found.is_symlink()).then_some((*name, found))
        };
        Self {
            home: home.to_owned(),
            before: GUARDED.iter().filter_map(look).collect(),
        }
    }

    /// Sets back what was changed, and says what that was.
    pub(crate) fn repair(&self) -> Vec<String> {
        self.before
            .iter()
            .filter_map(|(name, before)| self.repair_one(name, before))
            .collect()
    }

    fn repair_one(&self, name: &str, before: &Metadata) -> Option<String> {
        let path = self.home.join(name);
        let now = fs::symlink_metadata(&path).ok()?;
        let mut mode = before.mode() & MODE_BITS;
        if PRIVATE.contains(&name) {
            mode &= !FOR_OTHERS;
        }
        let is_same_file = (now.dev(), now.ino()) == (before.dev(), before.ino());
        let is_same_owner = (now.uid(), now.gid()) == (before.uid(), before.gid());
        let is_same = now.mode() & MODE_BITS == mode && is_same_owner;
        // Another file in its place is Wakeful's own doing: a command cannot make one there.
        if !is_same_file || is_same {
            return None;
        }
        let owner = match is_same_owner {
            true => Ok(()),
            false => lchown(&path, Some(before.uid()), Some(before.gid())),
        };
        let set = owner.and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)));
        let became = if set.is_ok() {
            "set back to"
        } else {
            "could not be set back to"
        };
        let shown = if name.is_empty() { "the home" } else { name };
        Some(format!(
            "{shown}: mode {:o} {became} {mode:o}",
            now.mode() & MODE_BITS
        ))
    }
}
