//! Checks that every fail point is listed and every listed one is used.
//!
//! The crash tests kill the program at every listed point. An unlisted point is never tested, and an unused
//! one makes a test wait for a crash that cannot happen. One name may be used in several places (the two
//! databases commit in different files), but it is listed once.

use std::collections::BTreeSet;

use crate::scan::{Literal, Scanned, scan};
use crate::tree::File;

/// The file whose `POINTS` lists all fail points.
pub const LIST: &str = "crates/ports/src/fail_point.rs";
const CALLS: [&str; 2] = ["fail_point::fail_point(", "fail_point!("];

/// Returns points that are used and not listed, listed and not used, or listed twice.
pub fn violations(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for file in files.iter().filter(|file| may_use_points(file)) {
        let scanned = scan(&file.text).without_tests();
        let points = scanned
            .literals
            .iter()
            .filter(|literal| is_argument(&scanned, literal));
        let points: Vec<String> = points.map(|literal| literal.text.clone()).collect();
        let calls: usize = CALLS.iter().map(|call| scanned.code.matches(call).count()).sum();
        if calls != points.len() {
            let path = &file.path;
            found.push(format!(
                "{path}: name fail points by string literals, so that they can be found"
            ));
        }
        used.extend(points);
    }
    let list = files.iter().find(|file| file.path == LIST);
    if list.is_none() {
        found.push(format!("{LIST}: the list of fail points is missing"));
    }
    let list = list.map(|file| listed(&file.text)).unwrap_or_default();
    let mut known = BTreeSet::new();
    for point in list {
        if !used.contains(&point) {
            found.push(format!(
                "fail point `{point}` is listed in POINTS but nowhere used"
            ));
        }
        if let Some(point) = known.replace(point) {
            found.push(format!("fail point `{point}` is listed twice in POINTS"));
        }
    }
    let unlisted = used.difference(&known);
    found.extend(unlisted.map(|point| format!("fail point `{point}` is used but not listed in POINTS")));
    found
}

/// Returns whether a file may contain fail points. This crate is excluded, because it contains the calls as
/// patterns.
fn may_use_points(file: &File) -> bool {
    let is_source =
        file.path.starts_with("crates/") && file.extension() == "rs" && file.source_of().is_some();
    let exempt = file.is_test() || file.path == LIST || file.path.starts_with("crates/tidy/");
    is_source && !exempt && CALLS.iter().any(|call| file.text.contains(call))
}

fn is_argument(scanned: &Scanned, literal: &Literal) -> bool {
    let before = scanned.code.get(..literal.at).unwrap_or("").trim_end();
    CALLS.iter().any(|call| before.ends_with(call))
}

/// Returns the literals between `POINTS … =` and the semicolon that ends it.
fn listed(text: &str) -> Vec<String> {
    let scanned = scan(text);
    let Some(name) = scanned.code.find("POINTS") else {
        return Vec::new();
    };
    let rest = scanned.code.get(name..).unwrap_or("");
    let start = rest.find('=').unwrap_or(0);
    let end = rest
        .get(start..)
        .and_then(|value| value.find(';'))
        .map_or(rest.len(), |length| start + length);
    let inside = |literal: &&Literal| (name + start..name + end).contains(&literal.at);
    scanned
        .literals
        .iter()
        .filter(inside)
        .map(|literal| literal.text.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(list: &str, code: &str) -> Vec<String> {
        let list =
            format!("/// Each once.\npub const POINTS: &[&str] = &[{list}];\nconst OTHER: &str = \"x\";");
        violations(&[
            File::new(LIST, &list),
            File::new("crates/store/src/write.rs", code),
        ])
    }

    #[test]
    fn points_that_are_listed_and_used_pass() {
        let code = "fail_point::fail_point(\"a.before\"); fail_point!(\n    \"a.after\"\n);";
        assert_eq!(faults("\"a.before\", \"a.after\"", code), Vec::<String>::new());
    }

    #[test]
    fn an_unlisted_point_is_caught() {
        assert_eq!(
            faults("", "fail_point::fail_point(\"a\");"),
            ["fail point `a` is used but not listed in POINTS"]
        );
    }

    #[test]
    fn an_unused_point_is_caught() {
        let expected = ["fail point `a` is listed in POINTS but nowhere used"];
        assert_eq!(faults("\"a\"", "// fail_point::fail_point(\"a\");"), expected);
        assert_eq!(
            faults(
                "\"a\"",
                "#[cfg(test)] mod tests { fn t() { fail_point::fail_point(\"a\"); } }"
            ),
            expected
        );
    }

    #[test]
    fn a_point_may_be_used_twice_but_is_listed_once() {
        assert!(
            faults(
                "\"a\"",
                "fail_point::fail_point(\"a\"); fail_point::fail_point(\"a\");"
            )
            .is_empty()
        );
        let twice = faults("\"a\", \"a\"", "fail_point::fail_point(\"a\");");
        assert_eq!(twice, ["fail point `a` is listed twice in POINTS"]);
    }

    #[test]
    fn a_point_named_by_a_variable_is_caught() {
        assert_eq!(faults("", "fail_point::fail_point(name);").len(), 1);
    }
}
