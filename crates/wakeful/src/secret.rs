//! Where keys are stored: handles, which may be written anywhere, and the keys they resolve to, which may
//! not.

mod keyring;
mod store;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

pub(crate) use self::store::{SecretStore, keys_changed};
use wakeful_core::inference::NO_SECRET;
use wakeful_models::{CREDENTIAL_BYTES_MAX, Credential};

use crate::failure::Failure;
use crate::global_args::text_variable;
use crate::show::phrase::shell_word;
use crate::system::replace_file;

/// Maximum length of a handle in bytes: the longest path on Linux plus the prefix.
const HANDLE_BYTES_MAX: usize = 4_200;

/// The keyring service of keys that Wakeful stores.
const KEYRING_SERVICE: &str = "wakeful";

/// The folder of keys that Wakeful stores, in the home, which commands of agents cannot read.
const KEYS: &str = "keys";

/// The location of a key. It reveals nothing about the key itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SecretHandle {
    /// In this environment variable.
    Env(String),
    /// In this file, which only the current user may read.
    File(PathBuf),
    /// In the desktop's keyring.
    Keyring { service: String, account: String },
    /// No key exists, and none is needed.
    None,
}

/// A text that is not a handle. It may be a key, so messages do not repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadHandle;

impl SecretHandle {
    pub(crate) fn parse(text: &str) -> Result<Self, BadHandle> {
        if text.len() > HANDLE_BYTES_MAX || text.contains(char::is_control) {
            return Err(BadHandle);
        }
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match word {
            "none" if text == "none" => Ok(Self::None),
            "env" if is_variable(rest) => Ok(Self::Env(rest.to_owned())),
            "file" if Path::new(rest).is_absolute() => Ok(Self::File(rest.into())),
            "keyring" => match rest.split_once('/') {
                Some((service, account)) if !service.is_empty() && !account.is_empty() => Ok(Self::Keyring {
                    service: service.to_owned(),
                    account: account.to_owned(),
                }),
                Some(_) | None => Err(BadHandle),
            },
            _ => Err(BadHandle),
        }
    }

    /// Stores the key of a provider: in the system's keyring if one works, else in a file in the home that
    /// only the owner can read.
    pub(crate) fn store(home: &Path, provider: &str, key: &str) -> Result<Self, Failure> {
        let key = key.trim();
        if keyring::store(KEYRING_SERVICE, provider, key) {
            return Ok(Self::in_keyring(provider));
        }
        let folder = home.join(KEYS);
        let path = folder.join(provider);
        let written = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .and_then(|()| replace_file(&path, key));
        written.map_err(|error| {
            let attempt = format!("cannot write the key file {}", path.display());
            Failure::io("secret_unwritable", &attempt, &error, "make the home writable")
        })?;
        Ok(Self::File(path))
    }

    /// Deletes the key if [`store`](Self::store) created it. Other keys belong to the person.
    pub(crate) fn delete(&self, home: &Path, provider: &str) -> Result<(), Failure> {
        match self {
            Self::Keyring { .. } if *self == Self::in_keyring(provider) => {
                keyring::clear(KEYRING_SERVICE, provider);
                Ok(())
            }
            Self::File(path) if *path == home.join(KEYS).join(provider) => match fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let attempt = format!("cannot delete the key file {}", path.display());
                    Err(Failure::io(
                        "secret_unwritable",
                        &attempt,
                        &error,
                        "delete it yourself",
                    ))
                }
                Ok(()) | Err(_) => Ok(()),
            },
            Self::Env(_) | Self::File(_) | Self::Keyring { .. } | Self::None => Ok(()),
        }
    }

    /// Deletes the key that this one replaced, if it was stored in another place.
    pub(crate) fn delete_replaced(
        &self,
        before: Option<&Self>,
        home: &Path,
        provider: &str,
    ) -> Result<(), Failure> {
        match before.filter(|before| *before != self) {
            Some(before) => before.delete(home, provider),
            None => Ok(()),
        }
    }

    fn in_keyring(provider: &str) -> Self {
        Self::Keyring {
            service: KEYRING_SERVICE.to_owned(),
            account: provider.to_owned(),
        }
    }

    /// The key, or why it is not available. Both name the location, and neither reveals the content.
    pub(crate) fn resolve(&self) -> Result<Option<Credential>, Failure> {
        let Some(text) = self.text()? else {
            return Ok(None);
        };
        let credential = Credential::new(&text);
        credential.map(Some).map_err(|error| {
            Failure::new(
                "secret_invalid",
                format!("{self}: {error}"),
                "store only the key there",
            )
        })
    }

    /// The key in plain text, for code that must detect it where it is not allowed.
    pub(crate) fn text(&self) -> Result<Option<String>, Failure> {
        let text = match self {
            Self::None => return Ok(None),
            Self::Env(name) => text_variable(name)?.ok_or_else(|| {
                unavailable(
                    self,
                    "it is not set",
                    "export it where wakeful and its daemon start",
                )
            })?,
            Self::File(path) => self.read_file(path)?,
            Self::Keyring { service, account } => keyring::look(service, account).map_err(|why| {
                unavailable(
                    self,
                    &why,
                    "store it with `secret-tool store`, or configure another location",
                )
            })?,
        };
        Ok(Some(text))
    }

    fn read_file(&self, path: &Path) -> Result<String, Failure> {
        let away = |error: &std::io::Error| {
            let hint = "write the key to it: `(umask 077; printf %s \"$KEY\" > FILE)`";
            unavailable(self, &error.to_string(), hint)
        };
        // Non-blocking: a pipe without a writer is not a key file.
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path);
        let file = opened.map_err(|error| away(&error))?;
        let found = file.metadata().map_err(|error| away(&error))?;
        let unsafe_ =
            |why: &str, hint: String| Failure::new("secret_exposed", format!("{self}: {why}"), hint);
        if !found.is_file() {
            return Err(unsafe_(
                "it is not a regular file",
                "name a file that contains only the key".into(),
            ));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(unsafe_(
                "it belongs to another user",
                "name a file that you own".into(),
            ));
        }
        if found.mode() & 0o077 != 0 {
            let hint = format!("`chmod 600 {}`", shell_word(&path.display().to_string()));
            return Err(unsafe_("other users can read it", hint));
        }
        let limit = u64::try_from(CREDENTIAL_BYTES_MAX).unwrap_or(u64::MAX);
        let mut text = String::new();
        // Whitespace around a key is ignored, and a key that is too long is rejected by its length.
        let read = file.take(limit.saturating_add(64)).read_to_string(&mut text);
        read.map_err(|error| away(&error))?;
        Ok(text)
    }
}

impl std::fmt::Display for SecretHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Keyring { service, account } => write!(f, "keyring:{service}/{account}"),
            Self::None => f.write_str("none"),
        }
    }
}

fn unavailable(handle: &SecretHandle, why: &str, hint: &str) -> Failure {
    Failure::new(NO_SECRET, format!("{handle}: {why}"), hint)
}

fn is_variable(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_handle_round_trips_and_a_key_is_not_a_handle() {
        for text in ["env:MY_KEY", "file:/a/b c", "keyring:wakeful/open ai/x", "none"] {
            assert_eq!(
                SecretHandle::parse(text).map(|handle| handle.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in [
            "",
            "sk-abc",
            "env:",
            "env:1X",
            "env:A B",
            "file:",
            "file:rel",
            "keyring:",
            "keyring:x",
            "keyring:/x",
            "none:",
            "None",
        ] {
            assert_eq!(SecretHandle::parse(text), Err(BadHandle), "{text}");
        }
    }

    #[test]
    fn a_key_that_moved_is_deleted_at_its_old_place() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join(KEYS).join("acme");
        fs::create_dir(home.path().join(KEYS)).expect("a folder");
        fs::write(&path, "key").expect("written");
        let (file, keyring) = (SecretHandle::File(path.clone()), SecretHandle::in_keyring("acme"));
        let kept = file.delete_replaced(Some(&file), home.path(), "acme");
        assert!(kept.is_ok() && path.exists(), "it is the key in use");
        let moved = keyring.delete_replaced(Some(&file), home.path(), "acme");
        assert!(moved.is_ok() && !path.exists());
    }

    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let handle = SecretHandle::File(path.clone());
        let code = || {
            handle
                .resolve()
                .map(|found| found.is_some())
                .map_err(|f| f.code().to_owned())
        };
        assert_eq!(code(), Err("secret_unavailable".to_owned()));
        std::fs::write(&path, "sk-very-secret\n").expect("a file");
        let mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("permissions");
        };
        for open in [0o644, 0o640, 0o604, 0o620, 0o660] {
            mode(open);
            let failure = handle.resolve().expect_err("it is open");
            assert_eq!(failure.code(), "secret_exposed");
            assert!(!format!("{failure} {failure:?}").contains("very-secret"));
        }
        for private in [0o600, 0o400] {
            mode(private);
            assert_eq!(code(), Ok(true));
        }
        mode(0o600);
        std::fs::write(&path, "two words").expect("a file");
        assert_eq!(code(), Err("secret_invalid".to_owned()));
        std::fs::write(&path, "k".repeat(CREDENTIAL_BYTES_MAX + 65)).expect("a file");
        assert_eq!(code(), Err("secret_invalid".to_owned()));
        let folder = SecretHandle::File(folder.path().to_owned());
        assert_eq!(folder.resolve().expect_err("a folder").code(), "secret_exposed");
    }
}
