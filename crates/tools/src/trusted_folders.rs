//! The folders whose files the operator trusts, and those that the operator does not. The nearest answer above a
//! path applies.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Most folders with an answer. A person trusts a folder with everything below it.
pub const FOLDERS_MAX: usize = 512;

/// Largest file that is read: the most folders with the longest paths.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Name of the file in the home, where no command can reach it.
const FILE: &str = "trusted-folders.json";

/// The operator's answer about a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderAnswer {
    pub is_trusted: bool,
    pub at_ms: i64,
}

/// The answers in a home.
#[derive(Debug, Clone)]
pub struct TrustedFolders {
    home: PathBuf,
}

/// The stored answers. A file that cannot be read is not an answer, and nothing is trusted.
#[derive(Debug, Clone, Default)]
pub struct FolderAnswers {
    answers: BTreeMap<PathBuf, FolderAnswer>,
    is_unreadable: bool,
}

impl TrustedFolders {
    #[must_use]
    pub fn of(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// The answers as they are now.
    #[must_use]
    pub fn load(&self) -> FolderAnswers {
        match self.read() {
            Ok(answers) => FolderAnswers {
                answers,
                is_unreadable: false,
            },
            Err(_) => FolderAnswers {
                answers: BTreeMap::new(),
                is_unreadable: true,
            },
        }
    }

    /// Records an answer about a folder, whose path is complete and without symbolic links.
    pub fn answer(&self, folder: &Path, answer: FolderAnswer) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.home)?;
        let mut options = fs::OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = lock.open(self.home.join("trusted-folders.lock"))?;
        lock.lock()?;
        let mut answers = self.read()?;
        answers.insert(folder.to_owned(), answer);
        if answers.len() > FOLDERS_MAX {
            let message = format!("{FOLDERS_MAX} folders have an answer; answer for a folder above several");
            return Err(io::Error::other(message));
        }
        let draft = self.home.join("trusted-folders.new");
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(&serde_json::to_vec(&answers)?)?;
        file.sync_data()?;
        fs::rename(draft, self.home.join(FILE))
    }

    fn read(&self) -> io::Result<BTreeMap<PathBuf, FolderAnswer>> {
        let mut json = Vec::new();
        match fs::File::open(self.home.join(FILE)) {
            Ok(file) => file.take(FILE_BYTES_MAX).read_to_end(&mut json)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error),
        };
        Ok(serde_json::from_slice(&json)?)
    }
}

impl FolderAnswers {
    /// The nearest answer: that about the path or the nearest folder above it.
    #[must_use]
    pub fn nearest(&self, path: &Path) -> Option<(&Path, FolderAnswer)> {
        path.ancestors().find_map(|above| {
            let (folder, answer) = self.answers.get_key_value(above)?;
            Some((folder.as_path(), *answer))
        })
    }

    /// Whether the operator does not trust a path, or the answers cannot be read.
    #[must_use]
    pub fn is_distrusted(&self, path: &Path) -> bool {
        self.is_unreadable || self.nearest(path).is_some_and(|(_, answer)| !answer.is_trusted)
    }

    /// Whether something in a folder is not trusted.
    #[must_use]
    pub fn has_distrusted(&self, folder: &Path) -> bool {
        let below = self.answers.iter().filter(|(path, _)| path.starts_with(folder));
        self.is_distrusted(folder) || below.into_iter().any(|(_, answer)| !answer.is_trusted)
    }

    /// The trusted folders that contain a path or are in it.
    pub fn trusted_around(&self, path: &Path) -> impl Iterator<Item = &Path> {
        let trusted = self.answers.iter().filter(|(_, answer)| answer.is_trusted);
        trusted
            .filter(move |(folder, _)| folder.starts_with(path) || path.starts_with(folder))
            .map(|(folder, _)| folder.as_path())
    }

    /// All answers, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, FolderAnswer)> {
        self.answers
            .iter()
            .map(|(path, answer)| (path.as_path(), *answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_trusted: bool) -> FolderAnswer {
        FolderAnswer { is_trusted, at_ms: 7 }
    }

    #[test]
    fn the_nearest_answer_applies() {
        let home = tempfile::tempdir().expect("a folder");
        let folders = TrustedFolders::of(home.path());
        for (path, is_trusted) in [("/srv", true), ("/srv/in", false), ("/srv/in/own", true)] {
            folders
                .answer(Path::new(path), answer(is_trusted))
                .expect("recorded");
        }
        let answers = folders.load();
        let found = ["/srv/a", "/srv/in/a", "/srv/in/own/a", "/srv2", "/"]
            .map(|path| answers.nearest(Path::new(path)).map(|(_, one)| one.is_trusted));
        assert_eq!(found, [Some(true), Some(false), Some(true), None, None]);
        assert!(answers.has_distrusted(Path::new("/srv")) && !answers.is_distrusted(Path::new("/srv")));
        assert!(!answers.has_distrusted(Path::new("/srv/in/own")));
    }

    #[test]
    fn damaged_answers_trust_nothing() {
        let home = tempfile::tempdir().expect("a folder");
        let folders = TrustedFolders::of(home.path());
        folders.answer(Path::new("/srv"), answer(true)).expect("recorded");
        fs::write(home.path().join(FILE), "{").expect("damaged");
        assert!(folders.load().is_distrusted(Path::new("/srv")));
        assert!(folders.answer(Path::new("/etc"), answer(true)).is_err());
    }

    #[test]
    fn the_number_of_answers_is_bounded() {
        let home = tempfile::tempdir().expect("a folder");
        let folders = TrustedFolders::of(home.path());
        let many = (0..FOLDERS_MAX).map(|number| (PathBuf::from(format!("/{number}")), answer(true)));
        let many: BTreeMap<PathBuf, FolderAnswer> = many.collect();
        fs::write(home.path().join(FILE), serde_json::to_vec(&many).expect("JSON")).expect("written");
        assert!(folders.answer(Path::new("/more"), answer(true)).is_err());
        assert!(folders.answer(Path::new("/1"), answer(false)).is_ok());
    }
}
