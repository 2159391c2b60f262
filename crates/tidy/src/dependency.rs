//! Checks that every dependency is used, comes from the registry, and is built in one version.

use std::collections::{BTreeMap, BTreeSet};

use crate::metadata::{Kind, Package};
use crate::scan::scan;
use crate::tree::File;

/// Returns dependencies that no source file of their crate names.
pub fn unused(packages: &[Package], files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            let mut places = files
                .iter()
                .filter(|file| is_place(&package.folder, dependency.kind, &file.path));
            if !places.any(|file| names(&file.text, &dependency.called)) {
                found.push(format!(
                    "{}: does not use {}; remove it",
                    package.name, dependency.name
                ));
            }
        }
    }
    found
}

/// Returns whether a dependency of this kind may be used in the file. `folder` is absolute, `path` is
/// relative to the root.
fn is_place(folder: &str, kind: Kind, path: &str) -> bool {
    let parts = path
        .split_once("/src/")
        .or_else(|| path.split_once("/tests/"))
        .or_else(|| path.rsplit_once('/'));
    let Some((owner, inner)) = parts else { return false };
    let own = folder == owner || folder.ends_with(&format!("/{owner}"));
    let is_build = inner == "build.rs" && !path.contains("/src/");
    own && path.ends_with(".rs")
        && match kind {
            Kind::Normal => path.contains("/src/"),
            Kind::Build => is_build,
            Kind::Dev => !is_build,
        }
}

fn names(text: &str, called: &str) -> bool {
    // A search in the raw text avoids scanning nearly every file.
    text.contains(called) && scan(text).tokens().iter().any(|token| token.text == called)
}

/// Returns packages that come neither from this tree nor from the registry, but from Git or a second
/// registry.
pub fn strange_sources(packages: &[Package]) -> Vec<String> {
    let sources = || {
        packages
            .iter()
            .filter_map(|package| Some((package, package.source.as_deref()?)))
    };
    let registry = sources()
        .map(|(_, source)| source)
        .find(|source| is_registry(source));
    let strange = sources().filter(|(_, source)| !is_registry(source) || Some(*source) != registry);
    strange
        .map(|(package, source)| format!("{} {}: comes from {source}", package.name, package.version))
        .collect()
}

fn is_registry(source: &str) -> bool {
    source.starts_with("registry+") || source.starts_with("sparse+")
}

/// Returns packages in several versions that the list does not name, and listed names that are not needed
/// any more.
///
/// Each line of the list is `name: reason`, and the reason is mandatory. Unneeded lines are reported, so
/// that the list shrinks.
pub fn duplicates(packages: &[Package], list: &str) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions
            .entry(&package.name)
            .or_default()
            .insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut found = Vec::new();
    let mut listed = BTreeSet::new();
    for line in list
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line
            .split_once(':')
            .map(|(name, reason)| (name.trim(), reason.trim()))
        {
            Some((name, reason)) if !reason.is_empty() => listed.insert(name),
            _ => {
                found.push(format!("duplicates.txt: `{line}` is not `name: reason`"));
                continue;
            }
        };
    }
    for (name, versions) in &versions {
        if !listed.contains(name) {
            let versions = versions.iter().copied().collect::<Vec<_>>().join(", ");
            found.push(format!(
                "{name}: built in versions {versions}; align them, or list the name with a reason"
            ));
        }
    }
    let stale = listed.iter().filter(|name| !versions.contains_key(*name));
    found.extend(stale.map(|name| format!("duplicates.txt: {name} is built once; remove the line")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::planted;

    fn package(name: &str, version: &str, source: Option<&str>) -> Package {
        Package {
            version: version.to_owned(),
            source: source.map(str::to_owned),
            ..planted(name, &[])
        }
    }

    #[test]
    fn a_dependency_that_no_source_names_is_caught() {
        let tools = planted(
            "wakeful-tools",
            &[
                ("lz4-flex", Kind::Normal),
                ("insta", Kind::Dev),
                ("cc", Kind::Build),
            ],
        );
        let used = [
            File::new("crates/tools/src/a.rs", "use lz4_flex::block;"),
            File::new("crates/tools/tests/all.rs", "insta::assert_snapshot!(x);"),
            File::new("crates/tools/build.rs", "cc::Build::new();"),
        ];
        assert!(unused(std::slice::from_ref(&tools), &used).is_empty());
        let elsewhere = [
            File::new(
                "crates/models/src/a.rs",
                "use lz4_flex::block; use insta; use cc;",
            ),
            File::new(
                "crates/tools/src/a.rs",
                "// lz4_flex\nlet s = \"lz4_flex\"; lz4_flexible(); cc();",
            ),
            File::new("crates/tools/tests/all.rs", "use lz4_flex::block;"),
        ];
        assert_eq!(unused(&[tools], &elsewhere).len(), 3);
    }

    #[test]
    fn a_package_from_git_or_from_a_second_registry_is_caught() {
        let ours = package("wakeful-core", "0.1.0", None);
        let ordinary = package("serde", "1.0.0", Some("registry+one"));
        assert!(strange_sources(&[ours.clone(), ordinary.clone()]).is_empty());
        let git = package("x", "1.0.0", Some("git+elsewhere"));
        let second = package("y", "1.0.0", Some("registry+two"));
        assert_eq!(strange_sources(&[ours, ordinary, git, second]).len(), 2);
    }

    #[test]
    fn a_second_version_needs_a_listed_reason() {
        let packages = [
            package("a", "1.0.0", None),
            package("a", "2.0.0", None),
            package("b", "1.0.0", None),
        ];
        assert!(duplicates(&packages, "# why\n\na: x still wants the old one\n").is_empty());
        assert_eq!(duplicates(&packages, "").len(), 1);
        assert_eq!(duplicates(&packages, "a:\n").len(), 2);
    }

    #[test]
    fn an_unneeded_line_is_caught() {
        let found = duplicates(&[package("b", "1.0.0", None)], "b: once there were two\n");
        assert_eq!(found, ["duplicates.txt: b is built once; remove the line"]);
    }
}
