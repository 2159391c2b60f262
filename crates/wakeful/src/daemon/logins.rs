//! The files in a home that hold browser logins: the saved list, and pages that pass a login link to a
//! browser.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use wakeful_server::LoginHost;

use super::files::RunDir;

/// Maximum size of a saved list. A full list takes half of it.
const LIST_BYTES_MAX: u64 = 64 * 1024;

/// Browser logins stored as files in a home.
pub(crate) struct LoginFiles {
    list: PathBuf,
    home: PathBuf,
    run: RunDir,
}

impl LoginFiles {
    pub(crate) fn of(home: &Path) -> Self {
        Self {
            list: home.join("logins.json"),
            home: home.to_owned(),
            run: RunDir::of(home),
        }
    }
}

impl LoginHost for LoginFiles {
    fn read_list(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match fs::File::open(&self.list) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        file.take(LIST_BYTES_MAX.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LIST_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "the file is too large"));
        }
        Ok(Some(bytes))
    }

    fn write_list(&self, list: &[u8]) -> io::Result<()> {
        let fresh = self.list.with_extension("json.tmp");
        let mut new = fs::OpenOptions::new();
        let mut file = new
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        file.write_all(list)?;
        file.sync_all()?;
        fs::rename(&fresh, &self.list)?;
        // A revocation is durable only after the directory entry is synced.
        fs::File::open(&self.home)?.sync_all()
    }

    fn remove_list(&self) -> io::Result<()> {
        match fs::remove_file(&self.list) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => fs::File::open(&self.home)?.sync_all(),
        }
    }

    fn write_page(&self, name: &str, html: &str) -> io::Result<PathBuf> {
        self.run.write_login_page(name, html)
    }

    fn remove_page(&self, path: &Path) {
        // A page that cannot be deleted contains a link that no longer works.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_list_is_replaced_atomically_and_is_private() {
        let home = tempfile::tempdir().expect("a folder");
        let files = LoginFiles::of(home.path());
        assert_eq!(files.read_list().expect("read"), None);
        for list in [b"first".as_slice(), b"2nd"] {
            files.write_list(list).expect("written");
            assert_eq!(files.read_list().expect("read").as_deref(), Some(list));
        }
        let mode = fs::metadata(home.path().join("logins.json"))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        files.remove_list().expect("removed");
        files.remove_list().expect("removed already");
        assert_eq!(files.read_list().expect("read"), None);
        let large = vec![b' '; 64 * 1024 + 1];
        files.write_list(&large).expect("written");
        assert!(files.read_list().is_err());
    }

    #[test]
    fn login_pages_of_an_earlier_daemon_are_deleted() {
        let home = tempfile::tempdir().expect("a folder");
        let files = LoginFiles::of(home.path());
        let page = files.write_page("1a", "a link").expect("written");
        assert_eq!(
            fs::metadata(&page).expect("a file").permissions().mode() & 0o777,
            0o600
        );
        assert!(
            files.write_page("1a", "another").is_err(),
            "an existing file is never followed"
        );
        RunDir::of(home.path()).remove_login_pages();
        assert!(!page.exists());
    }
}
