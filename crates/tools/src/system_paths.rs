//! What every command may read beside its own folders: programs, libraries and settings of the system, and the
//! toolchains in the user's folder. Each is named, because the user's folder holds credentials at places that
//! no list of credentials knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::trusted_path;

/// Folders and files of the system. Files that only the superuser can read are denied separately.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/proc",
    // The number of processors and the limits of the group, which runtimes read at their start.
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm",
    // Systems that keep programs elsewhere.
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu/store",
    "/run/current-system",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
    // The targets of links in `/etc`, and databases that programs only read.
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/var/lib/ca-certificates",
    "/var/lib/dpkg",
    "/var/cache/fontconfig",
];

/// Folders of toolchains below the user's folder. None contains credentials: `.cargo/config.toml`, for example,
/// may hold a token, so `.cargo` is named in parts.
pub const TOOLCHAINS: &[&str] = &[
    "bin",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/fnm",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pnpm",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/registry",
    ".rustup",
    ".nvm",
    ".volta",
    ".nodenv",
    ".npm-global",
    ".yarn/bin",
    ".bun/bin",
    ".deno/bin",
    ".pyenv",
    ".virtualenvs",
    "miniconda3",
    "anaconda3",
    "miniforge3",
    ".rbenv",
    ".rvm",
    ".gem/ruby",
    "go/bin",
    "go/pkg",
    ".goenv",
    ".sdkman/candidates",
    ".jenv",
    ".asdf",
    ".dotnet",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".opam",
    ".juliaup",
    ".elan",
    ".nix-profile",
];

/// Variables that lead a toolchain's programs to it, and its usual folder. They are needed because `HOME` is
/// another folder inside.
const VARIABLES: &[(&str, &str)] = &[
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("NODENV_ROOT", ".nodenv"),
    ("RBENV_ROOT", ".rbenv"),
    ("GOENV_ROOT", ".goenv"),
    ("SDKMAN_DIR", ".sdkman"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("OPAMROOT", ".opam"),
    ("ELAN_HOME", ".elan"),
    ("JULIAUP_DEPOT_PATH", ".juliaup"),
    ("DOTNET_ROOT", ".dotnet"),
];

/// The user's own folder, as far as Wakeful's environment names one.
pub(crate) fn user_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let path = environment.get("HOME").map(PathBuf::from)?;
    path.is_absolute().then_some(path)
}

/// The existing folders and files, with links resolved. What is inside a writable folder is left out: it can be
/// read anyway, and a command could have put a link there that leads elsewhere.
pub(crate) fn readable(environment: &BTreeMap<String, String>, writable: &[PathBuf]) -> Vec<PathBuf> {
    let user = user_folder(environment);
    let below_user = user
        .iter()
        .flat_map(|user| TOOLCHAINS.iter().map(|name| user.join(name)));
    let named = VARIABLES.iter().filter_map(|(name, _)| environment.get(*name));
    let system = SYSTEM.iter().map(PathBuf::from);
    let all = system.chain(below_user).chain(named.map(PathBuf::from));
    // A variable or a link to the user's whole folder would allow everything in it.
    let is_part = |path: &PathBuf| path.parent().is_some() && !user.iter().any(|user| user.starts_with(path));
    let mut found: Vec<PathBuf> = all
        .filter_map(|path| trusted_path::resolve(&path, writable))
        .filter(is_part)
        .collect();
    found.sort();
    // In sorted order, a folder precedes its contents.
    found.dedup_by(|path, before| path.starts_with(before));
    found
}

/// The variables of the toolchains that exist.
pub(crate) fn variables(environment: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let user = user_folder(environment);
    let value = |name: &str, folder: &str| {
        let usual = user.as_ref().map(|user| user.join(folder));
        let usual = usual.filter(|path| path.is_dir());
        let path = environment.get(name).map(PathBuf::from).or(usual)?;
        Path::to_str(&path).map(str::to_owned)
    };
    VARIABLES
        .iter()
        .filter_map(|(name, folder)| Some(((*name).to_owned(), value(name, folder)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::denied_paths::CREDENTIAL_PATHS;

    #[test]
    fn toolchains_are_readable_and_the_rest_of_the_users_folder_is_not() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a path");
        let user = root.join("user");
        for folder in [
            ".cargo/bin",
            ".rustup/toolchains",
            ".pyenv",
            "work/.local",
            "notes",
        ] {
            fs::create_dir_all(user.join(folder)).expect("a folder");
        }
        // A link into the workspace, one to everything, and one to a toolchain elsewhere.
        std::os::unix::fs::symlink(user.join("work/.local"), user.join(".local")).expect("a link");
        fs::create_dir_all(user.join("work/.local/bin")).expect("a folder");
        std::os::unix::fs::symlink("/", user.join(".nvm")).expect("a link");
        fs::create_dir_all(root.join("volta")).expect("a folder");
        std::os::unix::fs::symlink(root.join("volta"), user.join(".volta")).expect("a link");
        let environment = BTreeMap::from([
            ("HOME".to_owned(), user.to_str().expect("text").to_owned()),
            ("OPAMROOT".to_owned(), root.to_str().expect("text").to_owned()),
        ]);
        let found = readable(&environment, &[user.join("work")]);
        let ours: Vec<PathBuf> = found
            .iter()
            .filter(|path| path.starts_with(&root))
            .cloned()
            .collect();
        let expected = [
            user.join(".cargo/bin"),
            user.join(".pyenv"),
            user.join(".rustup"),
            root.join("volta"),
        ];
        assert_eq!(ours, expected);
        assert!(!found.contains(&root) && !found.contains(&PathBuf::from("/")));
        let variables: BTreeMap<String, String> = variables(&environment).into_iter().collect();
        assert_eq!(
            variables["RUSTUP_HOME"],
            user.join(".rustup").to_str().expect("text")
        );
        assert!(!variables.contains_key("RBENV_ROOT"));
    }

    #[test]
    fn no_toolchain_folder_contains_a_credential() {
        for place in CREDENTIAL_PATHS {
            let place = Path::new(place.trim_end_matches('*'));
            assert!(
                !TOOLCHAINS.iter().any(|folder| place.starts_with(folder)),
                "{}",
                place.display()
            );
        }
    }
}
