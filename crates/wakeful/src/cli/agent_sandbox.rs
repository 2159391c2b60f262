//! The flags that set what an agent's sandbox allows, and how that is shown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_tools::denied_paths::CREDENTIAL_PATHS;

use crate::failure::Failure;

/// The word for an empty list.
const NONE: &str = "none";

/// What the agent's commands may reach beyond its workspace. Each flag may be repeated and replaces the whole
/// list.
#[derive(Debug, Default, Args)]
pub(crate) struct SandboxArgs {
    /// File or folder that its commands may read, absolute or below `~/`; repeatable, `none` removes all
    #[arg(long, value_name = "PATH")]
    allow_read: Vec<String>,
    /// Folder that its commands may write to and read; repeatable, `none` removes all
    #[arg(long, value_name = "PATH")]
    allow_write: Vec<String>,
    /// Path that its commands may not access, even in an allowed folder; repeatable, `none` removes all
    #[arg(long, value_name = "PATH")]
    deny_path: Vec<String>,
    /// Protected place of the workspace, such as `.git/hooks`, that its commands may write to; repeatable,
    /// `none` removes all
    #[arg(long, value_name = "PATH")]
    unprotect: Vec<String>,
    /// Host that its commands may connect to: `HOST`, `HOST:PORT`, `*.DOMAIN` or `packages`; repeatable,
    /// `none` removes all
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Host that its commands may not connect to, even if a pattern allows it; repeatable, `none` removes all
    #[arg(long, value_name = "HOST")]
    deny_host: Vec<String>,
    /// Port of a server in the sandbox to publish on this machine; repeatable, `none` removes all
    #[arg(long, value_name = "PORT")]
    publish_port: Vec<String>,
    /// Secret that its commands may receive; repeatable, `none` removes all
    #[arg(long, value_name = "NAME")]
    allow_secret: Vec<String>,
}

impl SandboxArgs {
    /// Whether any flag was given.
    pub(super) fn is_given(&self) -> bool {
        let lists = [
            &self.allow_read,
            &self.allow_write,
            &self.deny_path,
            &self.unprotect,
            &self.allow_host,
            &self.deny_host,
            &self.publish_port,
            &self.allow_secret,
        ];
        lists.iter().any(|list| !list.is_empty())
    }

    /// The scope with the given lists in place of its own.
    pub(super) fn applied_to(&self, scope: SandboxScope) -> Result<SandboxScope, Failure> {
        let ports = match listed(&self.publish_port) {
            Some(words) => words.iter().map(|word| port(word)).collect::<Result<_, _>>()?,
            None => scope.published_ports,
        };
        let or = |given: &[String], own: BTreeSet<String>| listed(given).unwrap_or(own);
        let after = SandboxScope {
            readable_paths: or(&self.allow_read, scope.readable_paths),
            writable_paths: or(&self.allow_write, scope.writable_paths),
            denied_paths: or(&self.deny_path, scope.denied_paths),
            unprotected_paths: or(&self.unprotect, scope.unprotected_paths),
            allowed_hosts: or(&self.allow_host, scope.allowed_hosts),
            denied_hosts: or(&self.deny_host, scope.denied_hosts),
            published_ports: ports,
            allowed_secrets: or(&self.allow_secret, scope.allowed_secrets),
        };
        after
            .check_bounds()
            .map_err(|problem| Failure::usage("bad_setting", problem.message, problem.hint))?;
        Ok(after)
    }
}

/// Refuses paths that would allow the user's whole folder or Wakeful's home, or that have no effect because they
/// hold credentials. `user` and `home` are absolute.
pub(super) fn check_places(scope: &SandboxScope, user: &Path, home: &Path) -> Result<(), Failure> {
    let lists = [
        ("--allow-read", &scope.readable_paths),
        ("--allow-write", &scope.writable_paths),
    ];
    let entries = lists
        .iter()
        .flat_map(|(flag, list)| list.iter().map(move |entry| (flag, entry)));
    for (flag, entry) in entries {
        let Some(why) = misplaced(entry, user, home) else {
            continue;
        };
        let message = format!("{flag}: {} {why}", entry.escape_debug());
        return Err(Failure::usage(
            "bad_setting",
            message,
            "name the folders that are needed",
        ));
    }
    Ok(())
}

/// Why a path may not be allowed.
fn misplaced(entry: &str, user: &Path, home: &Path) -> Option<&'static str> {
    let path = match entry.strip_prefix("~/") {
        Some(below) => user.join(below),
        None => PathBuf::from(entry),
    };
    let (path, user, home) = (real(&path), real(user), real(home));
    if user.starts_with(&path) {
        return Some("contains the user's whole folder");
    }
    if home.starts_with(&path) || path.starts_with(&home) {
        return Some("contains Wakeful's home, or is in it");
    }
    let is_credential = |place: &&&str| match place.strip_suffix('*') {
        Some(prefix) => path
            .strip_prefix(&user)
            .is_ok_and(|inner| inner.to_string_lossy().starts_with(prefix)),
        None => path.starts_with(user.join(place)) || path.starts_with(real(&user.join(place))),
    };
    let credential = CREDENTIAL_PATHS.iter().find(is_credential);
    credential.map(|_| "holds credentials, which no agent may access, so it has no effect")
}

/// A path as the kernel knows it, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut known = path.ancestors().filter_map(|above| {
        let below = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(below))
    });
    known.next().unwrap_or_else(|| path.to_owned())
}

/// The entries of a flag; none if it was not given.
fn listed(given: &[String]) -> Option<BTreeSet<String>> {
    match given {
        [] => None,
        [word] if word == NONE => Some(BTreeSet::new()),
        given => Some(given.iter().map(|entry| entry.trim().to_owned()).collect()),
    }
}

fn port(word: &str) -> Result<u16, Failure> {
    word.parse().map_err(|_| {
        let message = format!("--publish-port: {word:?} is not a port");
        Failure::usage(
            "bad_setting",
            message,
            "use a number between 1 and 65535, or none",
        )
    })
}

/// The lines of `agent show`, only those with a value.
pub(super) fn lines(scope: &SandboxScope) -> Vec<(&'static str, String)> {
    let words = |list: &BTreeSet<String>| list.iter().cloned().collect::<Vec<_>>().join(", ");
    let ports: BTreeSet<String> = scope.published_ports.iter().map(u16::to_string).collect();
    let lines = [
        ("may read", words(&scope.readable_paths)),
        ("may write", words(&scope.writable_paths)),
        ("denied paths", words(&scope.denied_paths)),
        ("unprotected", words(&scope.unprotected_paths)),
        ("may connect to", words(&scope.allowed_hosts)),
        ("denied hosts", words(&scope.denied_hosts)),
        ("published ports", words(&ports)),
        ("secrets", words(&scope.allowed_secrets)),
    ];
    lines.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_flag_replaces_its_list_and_keeps_the_others() {
        let before = SandboxScope {
            readable_paths: ["/a".to_owned()].into(),
            denied_paths: ["/b".to_owned()].into(),
            ..SandboxScope::default()
        };
        let args = SandboxArgs {
            allow_read: words(&["~/notes", "/srv"]),
            deny_path: words(&["none"]),
            publish_port: words(&["3000"]),
            ..SandboxArgs::default()
        };
        let after = args.applied_to(before).expect("valid");
        let expected = SandboxScope {
            readable_paths: ["/srv".to_owned(), "~/notes".to_owned()].into(),
            published_ports: [3000].into(),
            ..SandboxScope::default()
        };
        assert_eq!(after, expected);
        assert!(args.is_given() && !SandboxArgs::default().is_given());
        for (flag, bad) in [("/a/*", "0"), ("relative", "x")] {
            let paths = SandboxArgs {
                allow_write: words(&[flag]),
                ..SandboxArgs::default()
            };
            assert!(paths.applied_to(SandboxScope::default()).is_err(), "{flag}");
            let ports = SandboxArgs {
                publish_port: words(&[bad]),
                ..SandboxArgs::default()
            };
            assert!(ports.applied_to(SandboxScope::default()).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_that_allow_too_much_or_nothing_are_refused_by_name() {
        let root = tempfile::tempdir().expect("a folder");
        let user = root.path().join("ann");
        let home = user.join(".wakeful");
        std::fs::create_dir_all(home.join("agents")).expect("a folder");
        std::os::unix::fs::symlink(&user, root.path().join("link")).expect("a link");
        let refused = |entry: &str| {
            let entry = entry.replace("ROOT", &root.path().to_string_lossy());
            let scope = SandboxScope {
                writable_paths: [entry.clone()].into(),
                ..SandboxScope::default()
            };
            let failure = check_places(&scope, &user, &home).err()?;
            assert!(failure.to_string().contains(&entry), "{failure}");
            Some(())
        };
        for entry in [
            "ROOT/ann",
            "ROOT/ann/",
            "ROOT/link",
            "ROOT",
            "ROOT/ann/.wakeful",
            "~/.wakeful/agents",
            "~/.ssh",
            "~/.ssh/x",
            "ROOT/link/.aws",
            "~/.claude.json",
        ] {
            assert!(refused(entry).is_some(), "{entry}");
        }
        for entry in [
            "~/notes",
            "ROOT/ann/.sshx",
            "/srv/data",
            "ROOT/ann2",
            "~/{agentId}/x",
        ] {
            assert!(refused(entry).is_none(), "{entry}");
        }
    }
}
