//! Copies of the last valid version of each policy file, so that a new process knows what a file said before it
//! became invalid.
//!
//! A copy that cannot be written is only reported by its absence: then nothing is permitted while the file is invalid.

use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::folder::read_bounded;

/// The copies of one policy folder.
#[derive(Debug, Clone)]
pub(crate) struct LastValid {
    folder: PathBuf,
    /// Commands that only read write no copies.
    is_writing: bool,
}

impl LastValid {
    pub(crate) const fn new(folder: PathBuf, is_writing: bool) -> Self {
        Self { folder, is_writing }
    }

    /// The copy of a file.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        String::from_utf8(read_bounded(&self.folder.join(name)).ok()?).ok()
    }

    /// Writes the copy of a valid file, unless it is there.
    pub(crate) fn keep(&self, name: &str, text: &str) {
        if self.is_writing && self.text(name).as_deref() != Some(text) {
            // The next valid version is written again.
            let _written = self.write(name, text);
        }
    }

    /// Removes the copies of files that were deleted.
    pub(crate) fn retain(&self, names: &[String]) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return;
        };
        let is_gone = |path: &Path| {
            let name = path.file_name().and_then(std::ffi::OsStr::to_str);
            !name.is_some_and(|name| names.iter().any(|known| known == name))
        };
        let gone = entries.flatten().map(|entry| entry.path());
        for path in gone.filter(|path| self.is_writing && is_gone(path)) {
            let _removed = std::fs::remove_file(path);
        }
    }

    /// Replaces a copy atomically.
    fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        let mut folder = std::fs::DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        let passing = self.folder.join(format!(".{name}.{}", std::process::id()));
        let mut file = std::fs::OpenOptions::new();
        let mut file = file
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&passing)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(passing, self.folder.join(name))
    }
}
