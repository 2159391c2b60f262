//! Checks the manifest and the root file of every crate.

use crate::tree::File;

/// Returns manifests that do not inherit the workspace lints.
pub fn without_lints(files: &[File]) -> Vec<String> {
    let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let lacking = manifests.filter(|file| !inherits_lints(&file.text));
    lacking
        .map(|file| format!("{}: add `[lints]` with `workspace = true`", file.path))
        .collect()
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[lints]")
        .skip(1);
    lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.replace(' ', "") == "workspace=true")
}

/// Returns crate roots that do not forbid unsafe code. The workspace forbids it too; the attribute makes it
/// visible to readers of the crate.
pub fn without_forbid(files: &[File]) -> Vec<String> {
    let roots = files.iter().filter(|file| is_root(&file.path));
    let lacking = roots.filter(|file| {
        !file
            .text
            .lines()
            .any(|line| line.trim() == "#![forbid(unsafe_code)]")
    });
    lacking
        .map(|file| format!("{}: add `#![forbid(unsafe_code)]`", file.path))
        .collect()
}

/// Returns whether the path is the root of a library or a program for Cargo.
pub fn is_root(path: &str) -> bool {
    match path.rsplit_once("/src/") {
        Some((_, "lib.rs" | "main.rs")) => true,
        Some((_, inner)) => {
            let program = inner
                .strip_prefix("bin/")
                .and_then(|name| name.strip_suffix(".rs"));
            program.is_some_and(|name| !name.contains('/') || name.ends_with("/main"))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_that_does_not_inherit_the_lints_is_caught() {
        let with = "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n";
        assert!(without_lints(&[File::new("crates/a/Cargo.toml", with)]).is_empty());
        for lacking in [
            "[package]\n",
            "[lints]\n[dependencies]\nworkspace = true\n",
            "[lints]\nworkspace = false\n",
        ] {
            assert_eq!(
                without_lints(&[File::new("crates/a/Cargo.toml", lacking)]).len(),
                1,
                "{lacking}"
            );
        }
    }

    #[test]
    fn the_manifest_of_the_workspace_itself_has_no_lints_to_inherit() {
        assert!(without_lints(&[File::new("Cargo.toml", "[workspace]\n")]).is_empty());
    }

    #[test]
    fn a_root_that_does_not_forbid_unsafe_code_is_caught() {
        for root in [
            "crates/a/src/lib.rs",
            "crates/a/src/main.rs",
            "crates/a/src/bin/b.rs",
            "bench/src/main.rs",
        ] {
            assert_eq!(
                without_forbid(&[File::new(root, "// #![forbid(unsafe_code)]\n")]).len(),
                1,
                "{root}"
            );
            assert!(
                without_forbid(&[File::new(root, "//! Why.\n#![forbid(unsafe_code)]\n")]).is_empty(),
                "{root}"
            );
        }
        assert!(without_forbid(&[File::new("crates/a/src/b.rs", "")]).is_empty());
    }
}
