//! Checks that the core is pure.
//!
//! The same state and input must give the same result on every machine, or replay proves nothing. A clock,
//! a random iteration order, the environment and the file system would each break that without a failing
//! test.

use crate::metadata::{Kind, Package};
use crate::scan::{Token, closing, is_text, scan};
use crate::tree::File;

/// The permitted dependencies of the core: data, hashing, signatures, error types, the search for texts, and
/// time-zone tables and host names as data.
const ALLOWED: [&str; 11] = [
    "aho-corasick",
    "base64",
    "ed25519-dalek",
    "jiff",
    "ryu-js",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "url",
];

const BANNED_WORDS: [(&str, &str); 5] = [
    ("HashMap", "its order is random; use BTreeMap"),
    ("HashSet", "its order is random; use BTreeSet"),
    ("SystemTime", "time arrives inside inputs"),
    ("async", "the core is synchronous; the runtime waits"),
    ("tokio", "the core is synchronous; the runtime waits"),
];

const BANNED_PATHS: [(&[&str], &str); 1] = [(&["Instant", ":", ":", "now"], "time arrives inside inputs")];

const BANNED_STD: [&str; 3] = ["env", "fs", "net"];

/// Returns dependencies of the core that are not on the list.
pub fn foreign_dependencies(packages: &[Package]) -> Vec<String> {
    let core = packages.iter().find(|package| package.name == "wakeful-core");
    let mut found = Vec::new();
    for dependency in core.into_iter().flat_map(|core| &core.dependencies) {
        if dependency.kind != Kind::Dev && !ALLOWED.contains(&dependency.name.as_str()) {
            found.push(format!(
                "wakeful-core: {} is not among the few crates it may use",
                dependency.name
            ));
        }
    }
    found
}

/// Returns uses of clocks, random order, the system or async in one file of the core, except in tests.
pub fn impurities(file: &File) -> Vec<String> {
    if file.is_test() {
        return Vec::new();
    }
    let scanned = scan(&file.text).without_tests();
    let tokens = scanned.tokens();
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let mut report = |what: &str, why: &str| {
            found.push(format!(
                "{}:{}: `{what}` in the core: {why}",
                file.path, token.line
            ));
        };
        if let Some((word, why)) = BANNED_WORDS.iter().find(|(word, _)| token.text == *word) {
            report(word, why);
        }
        if let Some((path, why)) = BANNED_PATHS
            .iter()
            .find(|(path, _)| is_text(&tokens, index, path))
        {
            report(&path.concat(), why);
        }
        for name in std_modules(&tokens, index).filter(|name| BANNED_STD.contains(name)) {
            report(&format!("std::{name}"), "the core does no I/O");
        }
    }
    found
}

/// Returns the modules named by `std::x` or `std::{x, y}` at `index`.
fn std_modules<'a>(tokens: &'a [Token<'a>], index: usize) -> impl Iterator<Item = &'a str> {
    let begins = is_text(tokens, index, &["std", ":", ":"]);
    let first = index + 3;
    let grouped = is_text(tokens, first, &["{"]);
    let end = if grouped {
        closing(tokens, first)
    } else {
        first + 1
    };
    let named = if begins {
        tokens.get(first..end).unwrap_or_default()
    } else {
        &[]
    };
    // In a group, only a word after the brace or a comma is a module of `std` itself; the others are nested
    // deeper.
    let opens = move |at: usize| {
        !grouped
            || named
                .get(at.wrapping_sub(1))
                .is_some_and(|t| matches!(t.text, "{" | ","))
    };
    named
        .iter()
        .enumerate()
        .filter(move |(at, _)| opens(*at))
        .map(|(_, token)| token.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::planted;

    fn caught(text: &str) -> usize {
        impurities(&File::new("crates/core/src/a.rs", text)).len()
    }

    #[test]
    fn clocks_random_order_io_and_async_are_caught() {
        let planted = [
            "use std::collections::HashMap;",
            "fn f(x: HashSet<u8>) {}",
            "let t = SystemTime::UNIX_EPOCH;",
            "let t = std::time::Instant::now();",
            "use std::fs;",
            "use std::{fmt, env::var};",
            "std::net::TcpStream::connect(x)",
            "async fn f() {}",
            "tokio::spawn(x);",
        ];
        for text in planted {
            assert_eq!(caught(text), 1, "{text}");
        }
    }

    #[test]
    fn comments_strings_tests_and_ordinary_modules_pass() {
        let innocent = [
            "// a HashMap would be replayed in another order",
            "let s = \"std::fs\";",
            "#[cfg(test)]\nmod tests { use std::collections::HashMap; }",
            "use std::collections::BTreeMap;",
            "use std::{fmt, collections::{BTreeMap, BTreeSet}};",
            "use crate::net;",
        ];
        for text in innocent {
            assert_eq!(caught(text), 0, "{text}");
        }
        assert!(impurities(&File::new("crates/core/src/a/tests.rs", "use std::fs;")).is_empty());
    }

    #[test]
    fn a_foreign_dependency_of_the_core_is_caught_except_in_tests() {
        let core = planted(
            "wakeful-core",
            &[
                ("serde", Kind::Normal),
                ("rand", Kind::Normal),
                ("proptest", Kind::Dev),
            ],
        );
        assert_eq!(foreign_dependencies(&[core]).len(), 1);
    }
}
