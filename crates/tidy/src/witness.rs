//! Checks that the comments of witness tests and the conformance tables agree.
//!
//! A person who changes a test must see which requirements depend on it. Therefore a comment above the test
//! names its rows, and both directions are compared: from the table to the test, and from the test to the
//! table.

use std::collections::{BTreeMap, BTreeSet};

use crate::conformance::{rust_tests, web_tests};
use crate::tree::File;

/// The beginning of such a comment.
const MARK: &str = "// Conformance:";

/// The beginning of each continuation line.
const CONTINUED: &str = "//     ";

/// A test with at least this many rows must state for each row which assertion proves it.
pub const NOTES_FROM: usize = 4;

/// A row that a comment names, with its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mention {
    row: String,
    note: Option<String>,
}

/// A comment with its position and the test below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comment {
    place: String,
    test: Option<String>,
    mentions: Vec<Mention>,
}

/// Compares the tables with the comments above tests. `named` contains each row with the tests that it
/// names.
pub fn violations(named: &[(String, Vec<String>)], files: &[File]) -> Vec<String> {
    let comments: Vec<Comment> = files.iter().flat_map(comments).collect();
    let mut said: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut found = Vec::new();
    for comment in &comments {
        let Some(test) = &comment.test else {
            found.push(format!("{}: stands above no test", comment.place));
            continue;
        };
        let rows = said.entry(test).or_default();
        rows.extend(comment.mentions.iter().map(|mention| mention.row.as_str()));
        found.extend(comment_faults(comment, test, named));
    }
    for (row, tests) in named {
        for test in tests {
            let is_said = said
                .get(test.as_str())
                .is_some_and(|rows| rows.contains(row.as_str()));
            if !is_said {
                found.push(format!(
                    "{row} names `{test}`, which has no comment `{MARK} {row}`"
                ));
            }
        }
    }
    found
}

/// Returns the violations of one comment.
fn comment_faults(comment: &Comment, test: &str, named: &[(String, Vec<String>)]) -> Vec<String> {
    let place = &comment.place;
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for Mention { row, note } in &comment.mentions {
        let is_named = named
            .iter()
            .any(|(other, tests)| other == row && tests.iter().any(|name| name == test));
        if !is_named {
            found.push(format!(
                "{place}: names `{row}`, whose row does not name `{test}`"
            ));
        }
        if !seen.insert(row) {
            found.push(format!("{place}: names {row} twice"));
        }
        if comment.mentions.len() >= NOTES_FROM && note.is_none() {
            found.push(format!("{place}: does not say which assertion shows {row}"));
        }
    }
    found
}

/// Returns the comments of one file.
fn comments(file: &File) -> Vec<Comment> {
    if !file.text.contains(MARK) {
        return Vec::new();
    }
    let is_web = file.path.contains(".test.") || file.path.contains(".spec.");
    let tests = match file.extension() {
        "rs" => rust_tests(&file.text),
        "ts" | "tsx" if is_web => web_tests(&file.text),
        _ => return Vec::new(),
    };
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(first) = line.strip_prefix(MARK) else {
            continue;
        };
        let rest = lines.get(at + 1..).unwrap_or_default();
        let more = rest.iter().map_while(|line| line.strip_prefix(CONTINUED));
        let text: Vec<&str> = std::iter::once(first).chain(more).map(str::trim).collect();
        let below = rest.get(text.len() - 1..).unwrap_or_default();
        let test = if file.extension() == "rs" {
            rust_test_below(below)
        } else {
            web_test_below(below)
        };
        found.push(Comment {
            place: format!("{}:{}", file.path, at + 1),
            test: test.filter(|name| tests.contains(name)),
            mentions: mentions(&text.join(" ")),
        });
    }
    found
}

/// Returns the name of the following function, if only its attributes and comments precede it.
fn rust_test_below(lines: &[&str]) -> Option<String> {
    let mut open = 0_usize;
    for line in lines {
        let brackets = |mark: char| line.matches(mark).count();
        let function = line.split_whitespace().skip_while(|word| *word != "fn").nth(1);
        if let Some(function) = function.filter(|_| open == 0 && !line.starts_with("//")) {
            let end = function.find(['(', '<']).unwrap_or(function.len());
            return function.get(..end).map(str::to_owned);
        }
        if open == 0 && !line.starts_with("#[") && !line.starts_with("//") {
            return None;
        }
        if !line.starts_with("//") {
            open = (open + brackets('[')).saturating_sub(brackets(']'));
        }
    }
    None
}

/// Returns the title of the following web test, if only comments precede it. The title may be on the line
/// after the call.
fn web_test_below(lines: &[&str]) -> Option<String> {
    let is_comment = |line: &&&str| ["//", "/*", "*"].iter().any(|mark| line.starts_with(mark));
    let call: Vec<&str> = lines.iter().skip_while(is_comment).take(2).copied().collect();
    web_tests(&call.join(" ")).into_iter().next()
}

/// Returns whether a line belongs to such a comment. These lines do not count towards the length of a file,
/// because rows are added and removed.
pub(crate) fn is_comment_line(line: &str) -> bool {
    let line = line.trim();
    let is_row = |rest: &str| rest.get(1..2) == Some("-") && rest.starts_with(['L', 'H', 'P', 'A']);
    line.starts_with(MARK) || line.strip_prefix(CONTINUED).is_some_and(is_row)
}

/// Parses the rows of a comment: `L-001, L-002 (why, and how)`.
fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ',')]) {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                found.extend(mention(text.get(start..at).unwrap_or("").trim()));
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

fn mention(item: &str) -> Option<Mention> {
    let (row, note) = match item.split_once(" (") {
        Some((row, note)) => (row, note.strip_suffix(')').map(str::to_owned)),
        None => (item, None),
    };
    (!row.is_empty()).then(|| Mention {
        row: row.to_owned(),
        note: note.filter(|note| !note.is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, tests: &[&str]) -> (String, Vec<String>) {
        (
            id.to_owned(),
            tests.iter().map(|test| (*test).to_owned()).collect(),
        )
    }

    /// Returns the violations of one Rust file compared with a table.
    fn faults(named: &[(String, Vec<String>)], text: &str) -> Vec<String> {
        violations(named, &[File::new("crates/a/src/a.rs", text)])
    }

    #[test]
    fn a_comment_and_a_table_that_agree_pass() {
        let named = [row("L-001", &["a_holds"]), row("H-002", &["a_holds", "b_holds"])];
        let text = concat!(
            "// Conformance: L-001,\n",
            "//     H-002 (the last assert, of two)\n",
            "/// Why.\n#[test]\nfn a_holds() {}\n",
            "// Conformance: H-002\n",
            "#[tokio::test(\n    start_paused = true\n)]\n#[expect(x)]\nasync fn b_holds() {}\n"
        );
        assert_eq!(faults(&named, text), Vec::<String>::new());
    }

    #[test]
    fn a_row_whose_test_has_no_comment_is_caught() {
        let named = [row("L-001", &["a_holds"]), row("L-002", &["a_holds"])];
        assert_eq!(faults(&named, "#[test]\nfn a_holds() {}").len(), 2);
        let one = concat!("// Conformance: L-001\n", "#[test]\nfn a_holds() {}");
        assert_eq!(
            faults(&named, one),
            ["L-002 names `a_holds`, which has no comment `// Conformance: L-002`"]
        );
    }

    #[test]
    fn a_comment_whose_row_names_another_test_is_caught() {
        let named = [row("L-001", &["a_holds"]), row("L-002", &[])];
        let text = concat!(
            "// Conformance: L-001\n#[test]\nfn a_holds() {}\n",
            "// Conformance: L-001, L-002, L-003\n#[test]\nfn b_holds() {}"
        );
        assert_eq!(faults(&named, text).len(), 3);
    }

    #[test]
    fn a_comment_without_a_test_or_with_a_repeated_row_is_caught() {
        let named = [row("L-001", &["a_holds"])];
        let twice = concat!("// Conformance: L-001, L-001\n", "#[test]\nfn a_holds() {}");
        assert_eq!(faults(&named, twice).len(), 1);
        for between in ["\n", "let x = 1;\n", "fn helper() {}\n"] {
            let text = format!("{MARK} L-001\n{between}#[test]\nfn a_holds() {{}}");
            assert_eq!(faults(&named, &text).len(), 2, "{between:?}");
        }
    }

    #[test]
    fn a_test_of_many_rows_must_explain_each_row() {
        let ids = ["L-001", "L-002", "L-003", "L-004"];
        let named: Vec<_> = ids.iter().map(|id| row(id, &["a_holds"])).collect();
        let text = |items: &[String]| format!("{MARK} {}\n#[test]\nfn a_holds() {{}}", items.join(", "));
        let bare = ids.map(str::to_owned);
        assert_eq!(faults(&named, &text(&bare)).len(), 4);
        assert_eq!(
            faults(&named[..3], &text(&bare[..3])).len(),
            0,
            "three need no note"
        );
        let noted = ids.map(|id| format!("{id} (the assert on it)"));
        assert_eq!(faults(&named, &text(&noted)).len(), 0);
    }

    #[test]
    fn comments_of_web_tests_are_compared_as_well() {
        let named = [row("P-01", &["shows a"])];
        let with = |text: &str| violations(&named, &[File::new("web/src/a.test.ts", text)]);
        let good = concat!("// Conformance: P-01\n", "it('shows a', () => {})");
        assert_eq!(with(good), Vec::<String>::new());
        let broken = concat!("  // Conformance: P-01\n", "  it(\n    'shows a',\n    f)");
        assert_eq!(with(broken), Vec::<String>::new());
        let above = concat!(
            "// Conformance: P-01\n",
            "// Why.\n/** More. */\nit('shows a', f)"
        );
        assert_eq!(with(above), Vec::<String>::new());
        let elsewhere = concat!("// Conformance: P-01\n", "f();\nf();\nit('shows a', f)");
        assert_eq!(with(elsewhere).len(), 2);
        assert_eq!(with(&good.replace("P-01", "P-02")).len(), 2);
        assert_eq!(with("it('shows a', () => {})").len(), 1);
    }
}
