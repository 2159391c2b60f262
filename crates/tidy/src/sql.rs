//! Checks that SQL occurs only in the store.
//!
//! A query outside the store would duplicate the meaning of the tables, and it would run on one database
//! only.

use crate::scan::scan;
use crate::tree::File;

/// Statements by their first words; `*` matches any single word.
const STATEMENTS: [&[&str]; 10] = [
    &["SELECT"],
    &["INSERT", "INTO"],
    &["INSERT", "OR"],
    &["UPDATE", "*", "SET"],
    &["DELETE", "FROM"],
    &["CREATE", "TABLE"],
    &["CREATE", "INDEX"],
    &["ALTER", "TABLE"],
    &["DROP", "TABLE"],
    &["PRAGMA"],
];

/// The store itself, the benchmarks, and this crate, which contains the statements as patterns.
const EXEMPT: [&str; 3] = ["crates/store/", "crates/tidy/", "bench/"];

/// Returns string literals that begin like a statement, in the sources of every crate except the store.
/// Tests may query a table to check its contents after a crash.
pub fn outside_the_store(file: &File) -> Vec<String> {
    let exempt = EXEMPT.iter().any(|folder| file.path.starts_with(folder));
    if exempt || file.is_test() || file.source_of().is_none() {
        return Vec::new();
    }
    let scanned = scan(&file.text).without_tests();
    let statements = scanned
        .literals
        .iter()
        .filter(|literal| is_statement(&literal.text));
    statements
        .map(|literal| format!("{}:{}: SQL outside the store", file.path, literal.line))
        .collect()
}

fn is_statement(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let begins = |statement: &&[&str]| {
        words.len() > statement.len().min(2)
            && statement
                .iter()
                .zip(&words)
                .all(|(expected, word)| *expected == "*" || expected == word)
    };
    STATEMENTS.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(path: &str, text: &str) -> bool {
        !outside_the_store(&File::new(path, text)).is_empty()
    }

    #[test]
    fn a_statement_in_another_crate_is_caught() {
        let planted = [
            "const Q: &str = \"SELECT run_key FROM wake\";",
            "const Q: &str = \"\n    INSERT INTO wake (run_key) VALUES (?1)\";",
            "const Q: &str = r#\"UPDATE wake SET done = 1\"#;",
            "const Q: &str = \"DELETE FROM wake\";",
            "const Q: &str = \"CREATE TABLE wake (run_key TEXT)\";",
        ];
        for text in planted {
            assert!(caught("crates/runtime/src/a.rs", text), "{text}");
            assert!(!caught("crates/store/src/a.rs", text), "{text}");
            assert!(!caught("crates/runtime/tests/all/a.rs", text), "{text}");
        }
    }

    #[test]
    fn prose_that_begins_with_such_a_word_passes() {
        for text in [
            "\"Select a model\"",
            "\"UPDATE\"",
            "\"SELECT\"",
            "// SELECT a FROM b",
            "\"UPDATE the README\"",
        ] {
            assert!(!caught("crates/runtime/src/a.rs", text), "{text}");
        }
    }
}
