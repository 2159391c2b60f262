//! Checks that every Rust file is compiled.
//!
//! A Rust file that no `mod` line names is never compiled, so its tests silently never run. Each additional
//! file directly in `tests/` would be a separate program to link, so there is only `all.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifest::is_root;
use crate::scan::{closing, is_text, scan};
use crate::tree::File;

/// Returns test programs other than `tests/all.rs`.
pub fn extra_test_programs(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let Some((_, inner)) = rust_path(file).and_then(|path| path.rsplit_once("/tests/")) else {
            continue;
        };
        let is_program =
            !inner.contains('/') || (inner.ends_with("/main.rs") && inner.matches('/').count() == 1);
        if is_program && inner != "all.rs" && !file.path.contains("/src/") {
            found.push(format!(
                "{}: a second test program; make it a module under `tests/all.rs`",
                file.path
            ));
        }
    }
    found
}

/// Returns Rust files below `src` or `tests` that no chain of `mod` lines reaches.
pub fn unreached(files: &[File]) -> Vec<String> {
    let by_path: BTreeMap<&str, &File> = files
        .iter()
        .filter_map(|file| Some((rust_path(file)?, file)))
        .collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut waiting: Vec<String> = by_path
        .keys()
        .filter(|path| begins(path))
        .map(|path| (*path).to_owned())
        .collect();
    while let Some(path) = waiting.pop() {
        if let Some(file) = by_path.get(path.as_str())
            && reached.insert(path.clone())
        {
            waiting.extend(children(file));
        }
    }
    let counted = |path: &&&str| path.contains("/src/") || path.contains("/tests/");
    let forgotten = by_path
        .keys()
        .filter(counted)
        .filter(|path| !reached.contains(**path));
    forgotten
        .map(|path| format!("{path}: no `mod` line reaches it, so it is never compiled"))
        .collect()
}

fn rust_path(file: &File) -> Option<&str> {
    file.path.ends_with(".rs").then_some(file.path.as_str())
}

fn begins(path: &str) -> bool {
    // A file directly in `tests` is always a program; the rule above reports it.
    let is_test_program = path
        .rsplit_once("/tests/")
        .is_some_and(|(_, inner)| !inner.contains('/'));
    is_root(path) || (is_test_program && !path.contains("/src/"))
}

/// Returns the possible paths of the modules that a file declares.
fn children(file: &File) -> Vec<String> {
    let scanned = scan(&file.text);
    let tokens = scanned.tokens();
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let base = if begins(&file.path) || file.path.ends_with("/mod.rs") {
        folder.to_owned()
    } else {
        file.path.trim_end_matches(".rs").to_owned()
    };
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.text == "mod" && is_text(&tokens, index + 2, &[";"]) {
            let name = tokens.get(index + 1).map_or("", |name| name.text);
            found.extend([format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")]);
        }
        if is_text(&tokens, index, &["#", "[", "path", "="]) {
            let end = tokens
                .get(closing(&tokens, index + 1).saturating_sub(1))
                .map_or(token.at, |last| last.at);
            let given = scanned
                .literals
                .iter()
                .find(|literal| (token.at..end).contains(&literal.at));
            found.extend(given.map(|literal| format!("{folder}/{}", literal.text)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Vec<File> {
        files.iter().map(|(path, text)| File::new(path, text)).collect()
    }

    #[test]
    fn a_second_test_program_is_caught() {
        let files = tree(&[
            ("crates/a/tests/all.rs", ""),
            ("crates/a/tests/more.rs", ""),
            ("crates/a/tests/other/main.rs", ""),
            ("crates/a/tests/suite/mod.rs", ""),
        ]);
        let found = extra_test_programs(&files);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_file_that_no_mod_line_names_is_caught() {
        let files = tree(&[
            ("crates/a/tests/all.rs", "mod suite;\n// mod forgotten;\n"),
            ("crates/a/tests/suite/mod.rs", "mod wake;"),
            ("crates/a/tests/suite/wake.rs", ""),
            ("crates/a/tests/suite/forgotten.rs", ""),
            (
                "crates/a/src/lib.rs",
                "mod run;\n#[path = \"odd/place.rs\"]\nmod place;",
            ),
            ("crates/a/src/run.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/a/src/run/tests.rs", ""),
            ("crates/a/src/odd/place.rs", ""),
            ("crates/a/src/run/lost.rs", ""),
            ("crates/a/build.rs", ""),
        ]);
        let expected = ["crates/a/src/run/lost.rs", "crates/a/tests/suite/forgotten.rs"]
            .map(|path| format!("{path}: no `mod` line reaches it, so it is never compiled"));
        assert_eq!(unreached(&files), expected);
    }
}
