//! The secret that authenticates callers, in a file that only its owner can read.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use wakeful_core::key::Digest;
use wakeful_ports::clock::Entropy as _;
use wakeful_server::TOKEN_CHARS_MIN;

use crate::failure::Failure;
use crate::system::RealEntropy;

/// Maximum length of a token, which is sent in a header.
const TOKEN_CHARS_MAX: usize = 512;

/// The path of a home's own token.
pub(crate) fn path(home: &Path) -> PathBuf {
    home.join("token")
}

/// Reads a token. A file that others can read is refused, because its content is not secret.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read the token file {}", path.display());
        Failure::io(
            "token_unreadable",
            &attempt,
            error,
            "name a readable file, or start the daemon to create one",
        )
    };
    let mode = fs::metadata(path)
        .map_err(|error| unreadable(&error))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        let message = format!(
            "the token file {} can be read by others (mode {:o})",
            path.display(),
            mode & 0o777
        );
        let hint = format!("chmod 600 {}", path.display());
        return Err(Failure::new("token_exposed", message, hint));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    check(text.trim()).map(str::to_owned)
}

/// Reads a home's own token, or creates it if it does not exist.
pub(crate) fn read_or_make(path: &Path) -> Result<String, Failure> {
    let fresh = Digest::from_bytes(RealEntropy.random_bytes()).to_string();
    let mut new = fs::OpenOptions::new();
    match new.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            let written = file.write_all(fresh.as_bytes()).and_then(|()| file.sync_all());
            written.map_err(|error| {
                let attempt = format!("cannot write the token file {}", path.display());
                Failure::io("home_unwritable", &attempt, &error, "make the home writable")
            })?;
            Ok(fresh)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(error) => {
            let attempt = format!("cannot create the token file {}", path.display());
            Err(Failure::io(
                "home_unwritable",
                &attempt,
                &error,
                "make the home writable",
            ))
        }
    }
}

/// Checks the length and characters of a token.
pub(crate) fn check(token: &str) -> Result<&str, Failure> {
    let length = token.chars().count();
    let fits = (TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&length);
    if fits && token.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(token);
    }
    let message = format!(
        "a token has {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} printable ASCII characters without spaces"
    );
    Err(Failure::usage(
        "bad_api_token",
        message,
        "use another one, for example from `openssl rand -hex 32`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_created_once_and_only_its_owner_can_read_it() {
        let home = tempfile::tempdir().expect("a folder");
        let path = path(home.path());
        let made = read_or_make(&path).expect("made");
        assert_eq!(read_or_make(&path).expect("read"), made);
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(made.len(), 64);
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let path = path(home.path());
        read_or_make(&path).expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        assert_eq!(read(&path).expect_err("exposed").code(), "token_exposed");
    }

    #[test]
    fn a_guessable_or_malformed_token_is_refused() {
        for bad in [
            "",
            "short",
            "has spaces in the middle",
            "ümläute-sind-keine-token",
            &"x".repeat(513),
        ] {
            assert_eq!(
                check(bad).expect_err("refused").code(),
                "bad_api_token",
                "{bad:?}"
            );
        }
        assert!(check(&"x".repeat(32)).is_ok());
    }
}
