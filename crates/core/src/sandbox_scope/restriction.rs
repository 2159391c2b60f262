//! The scope of a run that another run started: at most what the other has. So an agent cannot reach more by
//! starting an agent that may.

use std::collections::BTreeSet;

use super::{PACKAGES, SandboxScope};

impl SandboxScope {
    /// What both this scope and its parent's allow. Placeholders are replaced already, because the two belong
    /// to different agents.
    ///
    /// Hosts are compared by their text: a pattern is kept only if an entry of the other list contains all of
    /// it, so the result may be narrower than what both allow, and never wider.
    #[must_use]
    pub fn restricted_by(&self, parent: &Self) -> Self {
        let reads = |scope: &Self| -> BTreeSet<String> {
            scope
                .readable_paths
                .union(&scope.writable_paths)
                .cloned()
                .collect()
        };
        let writable_paths = common(&self.writable_paths, &parent.writable_paths, is_in_path);
        let mut readable_paths = common(&reads(self), &reads(parent), is_in_path);
        readable_paths.retain(|path| !writable_paths.contains(path));
        Self {
            readable_paths,
            writable_paths,
            denied_paths: self.denied_paths.union(&parent.denied_paths).cloned().collect(),
            unprotected_paths: common(&self.unprotected_paths, &parent.unprotected_paths, is_in_path),
            allowed_hosts: common(&self.allowed_hosts, &parent.allowed_hosts, is_in_host),
            denied_hosts: self.denied_hosts.union(&parent.denied_hosts).cloned().collect(),
            published_ports: self
                .published_ports
                .intersection(&parent.published_ports)
                .copied()
                .collect(),
            allowed_secrets: &self.allowed_secrets & &parent.allowed_secrets,
        }
    }
}

/// The entries of each list that are in an entry of the other.
fn common(
    ours: &BTreeSet<String>,
    theirs: &BTreeSet<String>,
    is_in: impl Fn(&str, &str) -> bool,
) -> BTreeSet<String> {
    let in_any = |entry: &String, list: &BTreeSet<String>| list.iter().any(|outer| is_in(entry, outer));
    let kept = ours.iter().filter(|entry| in_any(entry, theirs));
    kept.chain(theirs.iter().filter(|entry| in_any(entry, ours)))
        .cloned()
        .collect()
}

/// Whether a path is another or is below it.
fn is_in_path(path: &str, outer: &str) -> bool {
    let mut parts = parts(path);
    path.starts_with('/') == outer.starts_with('/')
        && self::parts(outer).all(|part| parts.next() == Some(part))
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// Whether everything that a pattern matches is matched by another.
fn is_in_host(host: &str, outer: &str) -> bool {
    let [host, outer] = [host, outer].map(str::to_ascii_lowercase);
    if host == outer {
        return true;
    }
    let (Some((name, port)), Some((domain, outer_port))) = (split(&host), split(&outer)) else {
        return false;
    };
    port == outer_port
        && domain.strip_prefix('*').is_some_and(|suffix| {
            suffix.starts_with('.') && name.len() > suffix.len() && name.ends_with(suffix)
        })
}

/// The name and the port of a pattern. The name of a list and an IPv6 address equal only themselves.
fn split(host: &str) -> Option<(&str, &str)> {
    if host == PACKAGES || host.matches(':').count() > 1 {
        return None;
    }
    Some(host.split_once(':').unwrap_or((host, "")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(entries: &[&str]) -> BTreeSet<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn a_child_keeps_what_its_parent_has_too() {
        let child = SandboxScope {
            readable_paths: set(&["/a/b", "/secret"]),
            writable_paths: set(&["/w/x", "/a/c"]),
            denied_paths: set(&["/a/b/no"]),
            unprotected_paths: set(&[".git/hooks", ".vscode"]),
            allowed_hosts: set(&["api.example.com", "evil.test", "packages", "example.com"]),
            published_ports: [3000, 4000].into(),
            allowed_secrets: set(&["MINE", "OURS"]),
            ..SandboxScope::default()
        };
        let parent = SandboxScope {
            readable_paths: set(&["/a"]),
            writable_paths: set(&["/w"]),
            denied_hosts: set(&["bad.test"]),
            unprotected_paths: set(&[".git"]),
            allowed_hosts: set(&["*.example.com", "packages"]),
            published_ports: [3000].into(),
            allowed_secrets: set(&["OURS", "THEIRS"]),
            ..SandboxScope::default()
        };
        let expected = SandboxScope {
            readable_paths: set(&["/a/b", "/a/c"]),
            writable_paths: set(&["/w/x"]),
            denied_paths: set(&["/a/b/no"]),
            unprotected_paths: set(&[".git/hooks"]),
            allowed_hosts: set(&["api.example.com", "packages"]),
            denied_hosts: set(&["bad.test"]),
            published_ports: [3000].into(),
            allowed_secrets: set(&["OURS"]),
        };
        assert_eq!(child.restricted_by(&parent), expected);
        assert_eq!(
            child.restricted_by(&SandboxScope::default()).writable_paths,
            set(&[])
        );
    }

    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        prop::collection::btree_set("(/[ab]{1,2}){1,3}", 0..4)
    }

    fn scopes() -> impl Strategy<Value = SandboxScope> {
        let hosts = || prop::collection::btree_set(r"(\*\.)?([ab]\.){0,2}t(:8)?", 0..4);
        let ports = prop::collection::btree_set(1_u16..6, 0..4);
        (paths(), paths(), paths(), hosts(), hosts(), ports).prop_map(
            |(readable_paths, writable_paths, denied_paths, allowed_hosts, denied_hosts, published_ports)| {
                SandboxScope {
                    readable_paths,
                    writable_paths,
                    denied_paths,
                    unprotected_paths: BTreeSet::new(),
                    allowed_hosts,
                    denied_hosts,
                    published_ports,
                    allowed_secrets: BTreeSet::new(),
                }
            },
        )
    }

    fn has(list: &BTreeSet<String>, entry: &str, is_in: fn(&str, &str) -> bool) -> bool {
        list.iter().any(|outer| is_in(entry, outer))
    }

    fn may_read(scope: &SandboxScope, path: &str) -> bool {
        let lists = [&scope.readable_paths, &scope.writable_paths];
        lists.iter().any(|list| has(list, path, is_in_path)) && !has(&scope.denied_paths, path, is_in_path)
    }

    fn may_write(scope: &SandboxScope, path: &str) -> bool {
        has(&scope.writable_paths, path, is_in_path) && !has(&scope.denied_paths, path, is_in_path)
    }

    proptest! {
        // Conformance: A-179
        /// For all scopes, a child may do exactly what both may do with files and ports, and no more with hosts.
        #[test]
        fn a_child_is_never_wider_than_its_parent(
            child in scopes(), parent in scopes(), path in "(/[ab]{1,2}){1,4}", host in r"([ab]\.){0,3}t(:8)?",
        ) {
            let both = child.restricted_by(&parent);
            prop_assert_eq!(may_read(&both, &path), may_read(&child, &path) && may_read(&parent, &path));
            prop_assert_eq!(may_write(&both, &path), may_write(&child, &path) && may_write(&parent, &path));
            if has(&both.allowed_hosts, &host, is_in_host) {
                prop_assert!(has(&child.allowed_hosts, &host, is_in_host));
                prop_assert!(has(&parent.allowed_hosts, &host, is_in_host));
            }
            prop_assert!(both.denied_hosts.is_superset(&parent.denied_hosts));
            prop_assert!(both.published_ports.is_subset(&parent.published_ports));
            prop_assert_eq!(both.restricted_by(&both), both);
        }
    }
}
