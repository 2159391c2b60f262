//! Paths outside the home that commands cannot read: key files, other Wakeful homes and their copies, and
//! the places where programs store credentials.
//!
//! They are looked up for every call, because they may be created while the daemon runs. Commands are denied only
//! existing paths: denying a missing path would make its folder unlistable without a benefit. File tools compare
//! names as well, because they could otherwise create such a path.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use crate::files::location::resolve_missing;

/// Paths below a user's folder that hold credentials or command history. A trailing `*` matches every name
/// with that prefix.
pub const CREDENTIAL_PATHS: &[&str] = &[
    // Keys and passwords.
    ".ssh",
    ".gnupg",
    ".pki",
    ".password-store",
    ".local/share/keyrings",
    ".gnome2/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    ".config/sops",
    ".vault-token",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".config/doctl",
    ".oci",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".terraform.d/credentials.tfrc.json",
    // Code hosts and package registries.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/composer/auth.json",
    // Browsers and mail.
    ".mozilla",
    ".thunderbird",
    ".config/chromium",
    ".config/google-chrome",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    // Other agents and model providers.
    ".claude*",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".cache/huggingface/token",
    // Command history.
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".histfile",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".local/share/fish/fish_history",
    // The list of homes: a command that can write here could otherwise remove entries from it.
    ".local/state/wakeful",
];

/// Files that only the superuser, and so only the superuser's commands, can read.
pub const SYSTEM_PATHS: &[&str] = &[
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/ssl/private",
    "/etc/NetworkManager/system-connections",
    "/var/backups",
];

/// Private host keys: the folder, and the prefix and suffix of their names.
const HOST_KEYS: (&str, &str, &str) = ("/etc/ssh", "ssh_host_", "_key");

/// Most users whose folders are checked. Only the superuser has more than one.
const USERS_MAX: usize = 64;

/// Most homes, copies and key files in the per-user list.
pub const LISTED_MAX: usize = 256;

/// Largest list that is read: 256 paths of the greatest length, with a margin.
const LIST_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Most entries of one folder that are compared with a pattern.
const ENTRIES_MAX: usize = 4_096;

/// Most denied paths of one command; more than the lists above can name for three users.
const DENIED_PATHS_MAX: usize = 2_048;

/// The file that marks a folder as a Wakeful home.
const HOME_MARKER: &str = "wakeful-home";

/// The infix in the name of a home's copy that a restore replaced.
const COPY_INFIX: &str = ".before-restore-";

/// Where to look for paths that commands must not read.
#[derive(Debug, Clone, Default)]
pub struct DeniedPaths {
    /// The folders of the users whose credentials are denied: the current user's, and for the superuser
    /// those of all users.
    pub user_folders: Vec<PathBuf>,
    /// The per-user list of Wakeful homes, their copies and key files; see [`remember`].
    pub list: Option<PathBuf>,
    /// Key files that this home uses. A workspace that contains one is refused.
    pub key_files: Vec<PathBuf>,
}

/// More paths must be denied than one command supports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyDeniedPaths;

impl DeniedPaths {
    /// All existing denied paths, with symlinks resolved, without those inside another one or inside this
    /// home.
    pub(crate) fn existing(&self, own_home: &Path) -> Result<Vec<PathBuf>, TooManyDeniedPaths> {
        let mut found = BTreeSet::new();
        for user in self.user_folders.iter().take(USERS_MAX) {
            for place in CREDENTIAL_PATHS {
                found.extend(expand(&user.join(place)));
            }
        }
        if geteuid().is_root() {
            for place in SYSTEM_PATHS {
                found.extend(expand(Path::new(place)));
            }
            let (folder, begin, end) = HOST_KEYS;
            found.extend(entries(Path::new(folder), |name| {
                name.starts_with(begin) && name.ends_with(end)
            }));
        }
        let listed = self.list.as_deref().map(remembered).unwrap_or_default();
        let default_homes = self
            .user_folders
            .iter()
            .take(USERS_MAX)
            .map(|user| user.join(".wakeful"));
        let homes: BTreeSet<PathBuf> = listed
            .into_iter()
            .chain(default_homes)
            .chain([own_home.to_owned()])
            .collect();
        found.extend(copies(&homes));
        found.extend(homes.into_iter().filter(|path| is_home_or_file(path)));
        found.extend(self.key_files.iter().cloned());
        resolve(&found, own_home)
    }

    /// The denied paths whether they exist or not, for tools that compare names.
    pub(crate) fn named(&self) -> Vec<NamePattern> {
        let users = self.user_folders.iter().take(USERS_MAX);
        let credentials = users.flat_map(|user| CREDENTIAL_PATHS.iter().map(|place| user.join(place)));
        let mut paths: Vec<PathBuf> = credentials.collect();
        if geteuid().is_root() {
            paths.extend(SYSTEM_PATHS.iter().map(PathBuf::from));
        }
        let mut found: Vec<NamePattern> = paths
            .iter()
            .chain(&self.key_files)
            .filter_map(|path| NamePattern::of(path))
            .collect();
        // A link without a target would be followed once something creates the target.
        let targets = paths
            .iter()
            .filter_map(|path| Some((path, fs::read_link(path).ok()?)));
        found.extend(targets.filter_map(|(path, target)| NamePattern::of(&path.parent()?.join(target))));
        found
    }

    /// The denied paths for people; none if there are more than one command supports.
    #[must_use]
    pub fn listed(&self, own_home: &Path) -> Vec<PathBuf> {
        self.existing(own_home).unwrap_or_default()
    }

    /// The key file that a workspace contains, by its path or by the target of a link.
    pub(crate) fn key_file_in(&self, workspace: &Path) -> Option<&Path> {
        let is_inside = |file: &&PathBuf| {
            file.starts_with(workspace)
                || file
                    .canonicalize()
                    .is_ok_and(|found| found.starts_with(workspace))
        };
        self.key_files.iter().find(is_inside).map(PathBuf::as_path)
    }
}

/// A denied name in a folder, with the folder's symlinks resolved as far as it exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePattern {
    folder: PathBuf,
    name: String,
    /// Whether the name is a prefix.
    is_prefix: bool,
}

impl NamePattern {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let prefix = name.strip_suffix('*');
        Some(Self {
            folder: resolve_missing(path.parent()?).ok()?,
            name: prefix.unwrap_or(name).to_owned(),
            is_prefix: prefix.is_some(),
        })
    }

    /// Whether a resolved path is this one or inside it.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        let Ok(inner) = path.strip_prefix(&self.folder) else {
            return false;
        };
        let first = inner.components().next();
        let first = first.and_then(|first| first.as_os_str().to_str());
        first.is_some_and(|first| match self.is_prefix {
            true => first.starts_with(&self.name),
            false => first == self.name,
        })
    }
}

impl std::fmt::Display for NamePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_prefix { "*" } else { "" };
        write!(f, "{}{mark}", self.folder.join(&self.name).display())
    }
}

/// Resolves symlinks and drops paths that are missing, duplicate, or inside another path or this home. In
/// sorted order, a folder directly precedes its contents.
fn resolve(found: &BTreeSet<PathBuf>, own_home: &Path) -> Result<Vec<PathBuf>, TooManyDeniedPaths> {
    let resolved: BTreeSet<PathBuf> = found.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut places: Vec<PathBuf> = Vec::new();
    for path in resolved {
        let is_covered = places.iter().any(|place| path.starts_with(place));
        // The sandbox receives paths as UTF-8. A path that is not UTF-8 cannot be denied, and it does not
        // stop the command.
        if path.starts_with(own_home) || is_covered || path.to_str().is_none() {
            continue;
        }
        if places.len() == DENIED_PATHS_MAX {
            return Err(TooManyDeniedPaths);
        }
        places.push(path);
    }
    Ok(places)
}

/// The path if it exists, or, for a path that ends with `*`, every entry with that prefix.
fn expand(path: &Path) -> Vec<PathBuf> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    match (name.strip_suffix('*'), path.parent()) {
        (Some(begin), Some(folder)) => entries(folder, |name| name.starts_with(begin)),
        // Nearly all paths are missing. One `exists` call detects that; resolving takes one call per
        // component.
        _ => path.exists().then(|| path.to_owned()).into_iter().collect(),
    }
}

fn entries(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found
        .take(ENTRIES_MAX)
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_meant))
        .map(|entry| entry.path())
        .collect()
}

/// Copies of homes in the same parent folder.
fn copies(homes: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let parents: BTreeSet<&Path> = homes.iter().filter_map(|home| home.parent()).collect();
    parents
        .into_iter()
        .flat_map(|parent| entries(parent, |name| name.contains(COPY_INFIX)))
        .filter(|path| is_home_or_file(path))
        .collect()
}

/// A folder that once was a home may have another purpose today and then needs no protection.
fn is_home_or_file(path: &Path) -> bool {
    path.is_file() || path.join(HOME_MARKER).exists()
}

/// The paths in a per-user list. A missing or damaged list yields fewer paths and never stops a command.
pub fn remembered(list: &Path) -> Vec<PathBuf> {
    let mut text = Vec::new();
    let Ok(file) = fs::File::open(list) else {
        return Vec::new();
    };
    // A truncated list is read as far as possible.
    let _cut = file.take(LIST_BYTES_MAX).read_to_end(&mut text);
    let mut paths: Vec<PathBuf> = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok())
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .collect();
    // The newest are at the end.
    let surplus = paths.len().saturating_sub(LISTED_MAX);
    paths.drain(..surplus);
    paths
}

/// Adds a home, a copy of one or a key file to the per-user list, unless it is already listed.
///
/// It appends one line, so two processes cannot overwrite each other's entries. A list that has grown too
/// long is rewritten without paths that no longer exist.
pub fn remember(list: &Path, path: &Path) -> io::Result<()> {
    let Some(text) = path
        .to_str()
        .filter(|text| !text.contains('\n') && path.is_absolute())
    else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let known = remembered(list);
    if known.iter().any(|known| known == path) {
        return Ok(());
    }
    if let Some(folder) = list.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    if known.len() >= LISTED_MAX {
        let kept = known
            .iter()
            .filter(|path| path.exists())
            .filter_map(|path| path.to_str());
        // Makes room for the new path even if all still exist: the oldest is dropped.
        let kept: Vec<&str> = kept.collect();
        let surplus = (kept.len() + 1).saturating_sub(LISTED_MAX);
        let lines: Vec<&str> = kept.into_iter().skip(surplus).chain([text]).collect();
        let draft = list.with_extension("new");
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes())?;
        return fs::rename(draft, list);
    }
    let mut file = options.append(true).create(true).mode(0o600).open(list)?;
    // The leading newline ends a line that a crash may have truncated.
    file.write_all(format!("\n{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(path: &Path) {
        fs::create_dir_all(path).expect("a folder");
        fs::write(path.join(HOME_MARKER), "").expect("a marker");
    }

    #[test]
    fn homes_copies_keys_and_credentials_are_denied_at_their_link_targets() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let at = |name: &str| root.join(name);
        for name in ["own", "user/.wakeful", "b", "b.before-restore-2026"] {
            home(&at(name));
        }
        fs::create_dir_all(at("user/gone")).expect("no home any more");
        fs::create_dir_all(at("elsewhere/ssh")).expect("a folder");
        std::os::unix::fs::symlink(at("elsewhere/ssh"), at("user/.ssh")).expect("a link");
        for name in ["user/.netrc", "user/.claude.json", "key", "own/inner-key"] {
            fs::write(at(name), "x").expect("a file");
        }
        let list = at("list");
        fs::write(&list, b"\xff\xfe\nrelative\n").expect("a broken list");
        for name in ["b", "user/gone", "own"] {
            remember(&list, &at(name)).expect("remembered");
        }
        let places = DeniedPaths {
            user_folders: vec![at("user")],
            list: Some(list),
            key_files: vec![at("key"), at("own/inner-key"), at("missing")],
        };
        let ours: Vec<PathBuf> = places.existing(&at("own")).expect("few");
        let ours: Vec<PathBuf> = ours.into_iter().filter(|path| path.starts_with(&root)).collect();
        let expected = [
            "b",
            "b.before-restore-2026",
            "elsewhere/ssh",
            "key",
            "user/.claude.json",
            "user/.netrc",
            "user/.wakeful",
        ];
        assert_eq!(ours, expected.map(at));
    }

    #[test]
    fn the_list_of_homes_stays_bounded_and_keeps_the_newest() {
        let root = tempfile::tempdir().expect("a folder");
        let list = root.path().join("state/wakeful/homes");
        for number in 0..LISTED_MAX + 20 {
            let path = root.path().join(format!("h{number}"));
            fs::create_dir(&path).expect("a folder");
            remember(&list, &path).expect("remembered");
            remember(&list, &path).expect("once");
        }
        let known = remembered(&list);
        assert_eq!(known.len(), LISTED_MAX);
        assert_eq!(
            known.last(),
            Some(&root.path().join(format!("h{}", LISTED_MAX + 19)))
        );
        assert!(remembered(&root.path().join("missing")).is_empty());
    }
}
