//! The paths outside the home that commands must not read: key files, the users' credentials, and the homes
//! on the per-user list.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use wakeful_core::id::AgentId;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_tools::{DeniedPaths, denied_paths};

use crate::config::Settings;
use crate::secret::SecretHandle;

/// The list of homes, copies of homes and key files, relative to the user's state folder.
const LIST: &str = "wakeful/homes";

/// Maximum bytes of `/etc/passwd` that are read.
const PASSWD_BYTES_MAX: u64 = 1024 * 1024;

/// Maximum number of accounts whose folders are denied.
const ACCOUNTS_MAX: usize = 64;

/// The paths that commands must not read under these settings.
pub(crate) fn places(config: &Settings) -> DeniedPaths {
    let key_files = key_files(config);
    // Commands of other homes must not read them either.
    key_files.iter().for_each(|file| remember(file));
    DeniedPaths {
        user_folders: user_folders(),
        list: list(),
        key_files,
    }
}

/// The paths that no agent may use, for people. More of them than one command supports are not listed, because
/// then no command starts.
pub(crate) fn shown(config: &Settings, home: &Path) -> Vec<String> {
    let shown = |path: &Path| path.display().to_string();
    let denied = places(config).listed(home);
    std::iter::once(shown(home))
        .chain(denied.iter().map(|path| shown(path)))
        .collect()
}

/// A sandbox scope with the placeholders of its paths replaced, as for a command.
pub(crate) fn resolved(scope: &SandboxScope, agent: &AgentId) -> SandboxScope {
    let user = std::env::home_dir().unwrap_or_default();
    scope.resolved(agent, &user.to_string_lossy())
}

/// Adds a home, a copy of a home or a key file to the per-user list. If the list cannot be written, the
/// home is still denied to its own commands, and to those of other homes only if it is the default home.
pub(crate) fn remember(path: &Path) {
    if let Some(list) = list() {
        let _unwritable = denied_paths::remember(&list, path);
    }
}

/// The homes, copies and key files on the per-user list.
pub(crate) fn remembered() -> Vec<PathBuf> {
    list()
        .map(|list| denied_paths::remembered(&list))
        .unwrap_or_default()
}

/// `$XDG_STATE_HOME/wakeful/homes`, else `~/.local/state/wakeful/homes`.
fn list() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.filter(|path| path.is_absolute());
    let state = state.or_else(|| std::env::home_dir().map(|home| home.join(".local/state")));
    state
        .filter(|path| path.is_absolute())
        .map(|path| path.join(LIST))
}

/// Every file that the settings name as the location of a key or token.
fn key_files(config: &Settings) -> Vec<PathBuf> {
    let providers = config
        .providers
        .values()
        .filter_map(|provider| provider.key.as_deref());
    let secrets = config.secrets.values().filter_map(|secret| secret.key.as_deref());
    let handles = providers
        .chain(secrets)
        .chain(config.notify.webhook_key.as_deref());
    let named = handles.filter_map(|text| match SecretHandle::parse(text) {
        Ok(SecretHandle::File(path)) => Some(path),
        Ok(SecretHandle::Env(_) | SecretHandle::Keyring { .. } | SecretHandle::None) | Err(_) => None,
    });
    let token = config.server.token_file.as_ref().map(PathBuf::from);
    named.chain(token).filter(|path| path.is_absolute()).collect()
}

/// The home folder of this user according to the environment and `/etc/passwd`; for root, who can read them
/// all, the folders of all users.
fn user_folders() -> Vec<PathBuf> {
    let mut text = String::new();
    if let Ok(file) = File::open("/etc/passwd") {
        // Accounts after a line that is not UTF-8 are ignored.
        let _cut = file.take(PASSWD_BYTES_MAX).read_to_string(&mut text);
    }
    let mut folders: Vec<PathBuf> = std::env::home_dir().into_iter().collect();
    folders.extend(folders_of(rustix::process::geteuid().as_raw(), &text));
    folders.retain(|folder| folder.is_absolute() && folder.as_path() != Path::new("/"));
    folders.sort_unstable();
    folders.dedup();
    folders.truncate(ACCOUNTS_MAX);
    folders
}

/// The home folders of a user in `/etc/passwd`, or all of them for root.
fn folders_of(uid: u32, passwd: &str) -> Vec<PathBuf> {
    let account = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let owner: u32 = fields.next()?.parse().ok()?;
        let folder = fields.nth(2).map(PathBuf::from)?;
        (uid == 0 || owner == uid).then_some(folder)
    };
    passwd.lines().filter_map(account).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_file_is_known_from_the_settings() {
        let mut config = Settings::default();
        config.providers.insert("a".to_owned(), provider("file:/keys/a"));
        config.providers.insert("b".to_owned(), provider("env:KEY"));
        config.notify.webhook_key = Some("file:/keys/hook".to_owned());
        config.server.token_file = Some("/keys/token".to_owned());
        let expected = ["/keys/a", "/keys/hook", "/keys/token"].map(PathBuf::from);
        assert_eq!(key_files(&config), expected);
    }

    fn provider(key: &str) -> crate::config::ProviderSettings {
        crate::config::ProviderSettings {
            key: Some(key.to_owned()),
            ..Default::default()
        }
    }

    #[test]
    fn root_denies_the_folders_of_all_accounts() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbroken\n";
        assert_eq!(folders_of(1000, passwd), [PathBuf::from("/home/ann")]);
        assert_eq!(folders_of(0, passwd).len(), 2);
    }
}
