//! Files that exist while a command runs, because a mount needs something to cover.
//!
//! If a command could create `commondir` in the folder of a repository, Git outside the sandbox would read its
//! settings and hooks from a folder of the command's choice. Each placeholder changes nothing: `commondir` names
//! the folder that it is in, and the settings of a worktree are empty.
//!
//! Several commands may use one placeholder, in several processes, so each locks it. The last one removes it. One
//! that a crash left behind is recognised by its text.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The settings of one worktree.
pub(super) const WORKTREE_SETTINGS: &str = "config.worktree";

/// The text of a placeholder for the settings of one worktree.
const SETTINGS: &str = "# Wakeful keeps this file while a command runs.\n";

/// The text of a placeholder for the path of the common folder.
const SAME_FOLDER: &str = ".\n";

/// How often a placeholder is opened that another command removes at the same time.
const ATTEMPTS_MAX: usize = 8;

/// A protected file of a repository that is missing otherwise.
#[derive(Debug)]
pub(crate) struct Placeholder {
    path: PathBuf,
    /// Its lock is shared by all commands that need it. None for a file that was there already.
    file: Option<File>,
}

impl Placeholder {
    /// All placeholders of a repository and one of its worktrees. None if one cannot be made.
    pub(super) fn all(common: &Path, own: &Path) -> Option<Vec<Self>> {
        let wanted = [
            (common.join("commondir"), SAME_FOLDER),
            (common.join(WORKTREE_SETTINGS), SETTINGS),
            (own.join(WORKTREE_SETTINGS), SETTINGS),
        ];
        let made = wanted.into_iter().map(|(path, text)| Self::make(path, text));
        made.collect::<io::Result<_>>().ok()
    }

    fn make(path: PathBuf, text: &str) -> io::Result<Self> {
        for _ in 0..ATTEMPTS_MAX {
            let mut new = OpenOptions::new();
            new.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
            let file = match new.open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let created = new.write(true).create_new(true).open(&path);
                    match created {
                        Ok(mut file) => {
                            file.write_all(text.as_bytes())?;
                            file
                        }
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            };
            file.try_lock_shared().map_err(io::Error::from)?;
            if !is_at(&file, &path)? {
                continue;
            }
            let mut found = String::new();
            (&File::open(&path)?)
                .take(text.len() as u64 + 1)
                .read_to_string(&mut found)?;
            let file = (found == text).then_some(file);
            // A person's own settings need no placeholder; a repository with another common folder is not supported.
            if file.is_none() && text == SAME_FOLDER {
                break;
            }
            return Ok(Self { path, file });
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        // Another command still needs it.
        if file.try_lock().is_ok() && is_at(&file, &self.path).unwrap_or(false) {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

/// Whether an open file is the one at a path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (open, there) = (file.metadata()?, fs::symlink_metadata(path));
    Ok(open.is_file() && there.is_ok_and(|found| (found.dev(), found.ino()) == (open.dev(), open.ino())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_removes_a_placeholder() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("commondir");
        let make = || Placeholder::make(path.clone(), SAME_FOLDER).expect("a placeholder");
        let (first, second) = (make(), make());
        drop(first);
        assert_eq!(fs::read_to_string(&path).expect("a file"), SAME_FOLDER);
        drop(second);
        assert!(!path.exists());
        // One of a command that crashed.
        fs::write(&path, SAME_FOLDER).expect("a file");
        drop(make());
        assert!(!path.exists());
    }

    #[test]
    fn a_persons_own_file_is_kept_and_another_common_folder_refused() {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().join("file");
        fs::write(&path, "[core]\n").expect("a file");
        drop(Placeholder::make(path.clone(), SETTINGS).expect("a placeholder"));
        assert_eq!(fs::read_to_string(&path).expect("a file"), "[core]\n");
        assert!(Placeholder::make(path, SAME_FOLDER).is_err());
    }
}
