//! Checks the conformance tables.
//!
//! Each table in `docs/conformance` lists every requirement once, with the tests that witness it. A witness
//! that does not exist is worse than `open`, because readers rely on it.

use std::collections::BTreeSet;
use std::fmt;

use crate::scan::{closing, is_text, scan};
use crate::tree::File;

/// One table: its letter, its number of rows, and the number of digits in its row ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub letter: char,
    pub rows: usize,
    pub digits: usize,
}

/// All tables with their fixed sizes; rows are witnessed or replaced, never removed.
pub const TABLES: [Table; 4] = [
    Table {
        letter: 'L',
        rows: 218,
        digits: 3,
    },
    Table {
        letter: 'H',
        rows: 272,
        digits: 3,
    },
    Table {
        letter: 'P',
        rows: 358,
        digits: 2,
    },
    Table {
        letter: 'A',
        rows: 248,
        digits: 2,
    },
];

/// The number of rows of a table per status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub open: usize,
    pub witnessed: usize,
    pub replaced: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            open,
            witnessed,
            replaced,
        } = self;
        write!(f, "{witnessed} witnessed, {replaced} replaced, {open} open")
    }
}

/// Valid references of rows: the names of all tests and the numbers of all decision records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    pub tests: BTreeSet<String>,
    pub decisions: BTreeSet<String>,
}

impl Known {
    /// Collects the tests and decision records of the tree.
    pub fn in_tree(files: &[File]) -> Self {
        let mut known = Self::default();
        for file in files {
            match file.extension() {
                "rs" => known.tests.extend(rust_tests(&file.text)),
                "ts" | "tsx" if file.path.contains(".test.") || file.path.contains(".spec.") => {
                    known.tests.extend(web_tests(&file.text));
                }
                _ => {}
            }
            let record = file
                .path
                .strip_prefix("docs/decisions/")
                .and_then(|name| name.split_once('-'));
            known
                .decisions
                .extend(record.map(|(number, _)| number.to_owned()));
        }
        known
    }
}

/// Checks one table and counts its rows by status.
pub fn judge(table: Table, text: &str, known: &Known) -> (Counts, Vec<String>) {
    let mut counts = Counts::default();
    let mut found = Vec::new();
    let mut expected = (1..=table.rows).map(|number| id(table, number));
    for line in text
        .lines()
        .filter(|line| line.starts_with(&format!("| {}-", table.letter)))
    {
        let cells = cells(line);
        let [given, title, witness] = cells.as_slice() else {
            found.push(format!("`{line}` does not have three cells"));
            continue;
        };
        let next = expected.next().unwrap_or_else(|| "no further row".to_owned());
        if *given != next {
            found.push(format!("found {given} where {next} was expected"));
        }
        if title.is_empty() {
            found.push(format!("{given} has no title"));
        }
        found.extend(
            witness_faults(witness, known, &mut counts)
                .into_iter()
                .map(|fault| format!("{given}: {fault}")),
        );
    }
    found.extend(
        expected
            .next()
            .map(|missing| format!("{missing} and what follows it are missing")),
    );
    (counts, found)
}

/// Returns each row of a table with the tests that it names, in table order.
pub fn named_tests(table: Table, text: &str) -> Vec<(String, Vec<String>)> {
    let rows = text
        .lines()
        .filter(|line| line.starts_with(&format!("| {}-", table.letter)));
    let mut named = Vec::new();
    for line in rows {
        let cells = cells(line);
        let [row, _, witness] = cells.as_slice() else {
            continue;
        };
        let tests = witness.split("`,").filter_map(|name| {
            let quoted = name.trim().strip_prefix('`')?;
            Some(quoted.trim_end_matches('`').to_owned())
        });
        named.push((row.clone(), tests.collect()));
    }
    named
}

fn id(table: Table, number: usize) -> String {
    format!("{}-{number:0digits$}", table.letter, digits = table.digits)
}

/// Splits a table row into cells; an escaped pipe is text.
fn cells(line: &str) -> Vec<String> {
    let hidden = line.replace("\\|", "\u{0}");
    let inner = hidden.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().replace('\u{0}', "\\|"))
        .collect()
}

fn witness_faults(witness: &str, known: &Known, counts: &mut Counts) -> Vec<String> {
    if witness == "open" {
        counts.open += 1;
        return Vec::new();
    }
    if let Some(number) = witness.strip_prefix("replaced: decision ") {
        counts.replaced += 1;
        let exists = known.decisions.contains(number);
        return if exists {
            Vec::new()
        } else {
            vec![format!("decision record {number} does not exist")]
        };
    }
    counts.witnessed += 1;
    let mut faults = Vec::new();
    for name in witness.split("`,").map(str::trim) {
        let quoted = name.strip_prefix('`').map(|name| name.trim_end_matches('`'));
        match quoted {
            Some(name) if known.tests.contains(name) => {}
            Some(name) => faults.push(format!("test `{name}` does not exist")),
            None => faults.push(format!(
                "`{name}` is not `open`, `replaced: decision NNNN` or a test in backticks"
            )),
        }
    }
    faults
}

/// Returns the names of Rust functions under an attribute such as `#[test]` or `#[tokio::test]`, inside or
/// outside `proptest!`.
pub(crate) fn rust_tests(text: &str) -> Vec<String> {
    let scanned = scan(text);
    let tokens = scanned.tokens();
    let mut found = Vec::new();
    for index in 0..tokens.len() {
        if !is_text(&tokens, index, &["#", "["]) {
            continue;
        }
        let after = closing(&tokens, index + 1);
        let attribute = tokens.get(index + 2..after.saturating_sub(1)).unwrap_or_default();
        let path_end = attribute
            .iter()
            .position(|token| token.text == "(")
            .unwrap_or(attribute.len());
        if path_end
            .checked_sub(1)
            .and_then(|last| attribute.get(last))
            .is_some_and(|token| token.text == "test")
        {
            let function = (after..tokens.len()).find(|at| is_text(&tokens, *at, &["fn"]));
            let name = function.and_then(|at| tokens.get(at + 1));
            found.extend(name.map(|name| name.text.to_owned()));
        }
    }
    found
}

/// Returns the titles passed to `it` and `test` in a web test file.
pub(crate) fn web_tests(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in ["it(", "test("] {
        for (at, _) in text.match_indices(call) {
            let starts_word = text
                .get(..at)
                .and_then(|before| before.chars().last())
                .is_none_or(|c| !c.is_alphanumeric());
            let argument = text.get(at + call.len()..).unwrap_or("").trim_start();
            let quote = argument.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'));
            if let Some(quote) = quote.filter(|_| starts_word) {
                let title = argument.get(1..).and_then(|rest| rest.split(quote).next());
                found.extend(title.map(str::to_owned));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Table = Table {
        letter: 'L',
        rows: 2,
        digits: 3,
    };

    fn known() -> Known {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Known {
            tests: names(&["a_holds", "b_holds", "shows a, then b"]),
            decisions: names(&["0003"]),
        }
    }

    fn faults(rows: &str) -> Vec<String> {
        judge(TWO, rows, &known()).1
    }

    #[test]
    fn open_replaced_and_witnessed_rows_are_counted() {
        let rows = "# L\n\n| id | title | witness |\n|---|---|---|\n\
            | L-001 | One \\| two | `a_holds`, `shows a, then b` |\n| L-002 | Three | replaced: decision 0003 |\n";
        assert_eq!(
            judge(TWO, rows, &known()),
            (
                Counts {
                    open: 0,
                    witnessed: 1,
                    replaced: 1
                },
                Vec::new()
            )
        );
        assert_eq!(
            judge(TWO, "| L-001 | a | open |\n| L-002 | b | open |", &known())
                .0
                .open,
            2
        );
    }

    #[test]
    fn a_missing_repeated_or_additional_row_is_caught() {
        assert_eq!(faults("| L-001 | a | open |").len(), 1);
        assert_eq!(faults("| L-002 | a | open |\n| L-001 | b | open |").len(), 2);
        assert_eq!(faults("| L-001 | a | open |\n| L-001 | b | open |").len(), 1);
        assert_eq!(
            faults("| L-001 | a | open |\n| L-002 | b | open |\n| L-003 | c | open |").len(),
            1
        );
        assert_eq!(faults("| L-1 | a | open |\n| L-002 |  | open |").len(), 2);
    }

    #[test]
    fn a_witness_that_does_not_exist_is_caught() {
        for witness in [
            "`c_holds`",
            "`a_holds`, `c_holds`",
            "replaced: decision 0099",
            "soon",
            "a_holds",
            "",
        ] {
            let rows = format!("| L-001 | a | {witness} |\n| L-002 | b | open |");
            assert_eq!(faults(&rows).len(), 1, "{witness}");
        }
    }

    #[test]
    fn the_tests_that_a_row_names_are_read() {
        let rows = "| L-001 | One | `a_holds`, `shows a, then b` |\n| L-002 | Three | open |\n";
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let expected = [
            ("L-001".to_owned(), names(&["a_holds", "shows a, then b"])),
            ("L-002".to_owned(), Vec::new()),
        ];
        assert_eq!(named_tests(TWO, rows), expected);
    }

    #[test]
    fn tests_are_found_only_by_their_attribute() {
        let text = "#[test]\nfn a_holds() {}\n#[tokio::test(start_paused = true)]\n#[expect(x)]\nasync fn b() {}\n\
            proptest! { /// Why.\n #[test] fn c(x in 0..9) {} }\nfn helper() {}\n// #[test] fn d() {}\n#[cfg(test)] fn e() {}";
        assert_eq!(rust_tests(text), ["a_holds", "b", "c"]);
    }

    #[test]
    fn titles_of_web_tests_are_found() {
        let text = "it('shows a', () => {}); test(\"b\", f); submit('no'); describe('no', f); edit(\"no\")";
        assert_eq!(web_tests(text), ["shows a", "b"]);
    }

    #[test]
    fn tests_and_decision_records_are_collected_from_the_tree() {
        let files = [
            File::new("crates/a/src/a.rs", "#[test] fn a_holds() {}"),
            File::new("web/src/a.test.tsx", "it('b', f)"),
            File::new("web/src/a.tsx", "it('no', f)"),
            File::new("docs/decisions/0003-keys.md", ""),
        ];
        let known = Known::in_tree(&files);
        assert_eq!(known.tests.into_iter().collect::<Vec<_>>(), ["a_holds", "b"]);
        assert_eq!(known.decisions.into_iter().collect::<Vec<_>>(), ["0003"]);
    }
}
