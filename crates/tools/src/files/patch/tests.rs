use proptest::prelude::*;

use super::hunk::{HunkLine, Position, apply};
use super::*;
use crate::files::text::unified_diff;

fn one(patch: &str) -> FilePatch {
    let mut files = parse(patch).expect("a patch");
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn applied(text: &str, patch: &str) -> Result<String, &'static str> {
    apply(text, &one(patch).hunks).map_err(|mismatch| mismatch.kind)
}

#[test]
fn both_grammars_give_the_same_file() {
    let text = "fn a() {\n    one();\n    two();\n}\n";
    let unified = "--- a/x.rs\n+++ b/x.rs\n@@ -1,4 +1,5 @@\n fn a() {\n-    one();\n+    1;\n+    1.5;\n     two();\n }\n";
    let envelope = "*** Begin Patch\n*** Update File: x.rs\n@@\n fn a() {\n-    one();\n+    1;\n+    1.5;\n     two();\n }\n*** End Patch";
    let expected = Ok("fn a() {\n    1;\n    1.5;\n    two();\n}\n".to_owned());
    assert_eq!(applied(text, unified), expected);
    assert_eq!(applied(text, envelope), expected);
    let paths = |patch: &str| (one(patch).old_path, one(patch).new_path);
    assert_eq!(paths(unified), paths(envelope));
}

#[test]
fn the_free_form_grammar_has_the_headers_that_are_read() {
    for header in envelope::HEADERS {
        assert!(apply::GRAMMAR.contains(&format!("\"{header}\"")), "{header}");
    }
}

#[test]
fn a_git_diff_creates_deletes_and_renames() {
    let patch = "\
diff --git a/new b/new\nnew file mode 100755\nindex 0000000..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+#!/bin/sh\n\
diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n\
diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n";
    let files = parse(patch).expect("a patch");
    let paths: Vec<_> = files
        .iter()
        .map(|file| (file.old_path.as_deref(), file.new_path.as_deref()))
        .collect();
    let expected = [
        (None, Some("new")),
        (Some("old"), None),
        (Some("from"), Some("to")),
        (None, Some("empty")),
    ];
    assert_eq!(paths, expected);
    assert_eq!(files[0].is_executable, Some(true));
    assert_eq!(apply("", &files[0].hunks).expect("applied"), "#!/bin/sh\n");
    assert_eq!(apply("x\n", &files[1].hunks).expect("applied"), "");
}

#[test]
fn the_envelope_adds_deletes_and_moves() {
    let patch = "*** Begin Patch\n*** Add File: a\n+one\n+two\n*** Delete File: b\n\
        *** Update File: c\n*** Move to: d\n@@ fn f\n-x\n+y\n*** End of File\n*** End Patch\n";
    let files = parse(patch).expect("a patch");
    assert_eq!(apply("", &files[0].hunks).expect("applied"), "one\ntwo\n");
    assert_eq!(
        (files[1].old_path.as_deref(), files[1].new_path.as_deref()),
        (Some("b"), None)
    );
    assert_eq!(
        (files[2].old_path.as_deref(), files[2].new_path.as_deref()),
        (Some("c"), Some("d"))
    );
    assert_eq!(
        apply("x\nfn f\nx\n", &files[2].hunks).expect("applied"),
        "x\nfn f\ny\n"
    );
}

#[test]
fn a_hunk_is_found_although_its_numbers_are_wrong() {
    let text: String = (1..=30).map(|n| format!("line {}\n", n % 10)).collect();
    let patch = "--- x\n+++ x\n@@ -23,9 +23,1 @@\n line 1\n-line 2\n+changed\n";
    let changed = applied(&text, patch).expect("applied");
    assert_eq!(
        changed.lines().nth(21),
        Some("changed"),
        "the nearest of three places"
    );
    assert_eq!(applied("a\n", patch), Err("no_match"));
}

#[test]
fn an_ambiguous_hunk_without_an_anchor_is_refused() {
    let patch = "*** Begin Patch\n*** Update File: x\n-a\n+b\n*** End Patch";
    assert_eq!(applied("a\na\n", patch), Err("several_matches"));
    assert_eq!(applied("a\n", patch).as_deref(), Ok("b\n"));
}

#[test]
fn line_endings_and_a_missing_last_one_are_kept() {
    let patch = "--- x\n+++ x\n@@ -1,2 +1,3 @@\n a\n+new\n b\n";
    assert_eq!(applied("a\r\nb\r\n", patch).as_deref(), Ok("a\r\nnew\r\nb\r\n"));
    assert_eq!(
        applied("a\nb", patch).as_deref(),
        Ok("a\nnew\nb"),
        "the last line has no end"
    );
    let at_end = "--- x\n+++ x\n@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n";
    assert_eq!(applied("a", at_end).as_deref(), Ok("a\nb"));
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_a_line() {
    let patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n a\n--- b\n c\n";
    let hunk = &one(patch).hunks[0];
    assert_eq!(hunk.lines[1], HunkLine::Remove("-- b".to_owned()));
    assert_eq!(hunk.position, Position::Line { line: 1 });
}

#[test]
fn a_patch_that_cannot_be_read_names_the_line() {
    let cases = [
        ("", "changes no file"),
        ("hello", "changes no file"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: a hunk comes before"),
        (
            "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n",
            "line 1: neither side",
        ),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n",
            "line 3: the hunk changes nothing",
        ),
        (
            "diff --git a/l b/l\nnew file mode 120000\n",
            "line 2: the file mode 120000",
        ),
        (
            "diff --git a/l b/l\ncopy from l\n",
            "line 2: copies are not supported",
        ),
        (
            "*** Begin Patch\n*** Add File: a\n+x\n",
            "*** End Patch is missing",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            "line 3: every line of a new file",
        ),
        (
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "line 2: unknown header",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "the update of a changes nothing",
        ),
    ];
    for (patch, message) in cases {
        let error = parse(patch).expect_err(patch);
        assert!(error.message.contains(message), "{patch:?}: {}", error.message);
        assert_eq!(
            (error.kind.as_str(), error.field.as_deref()),
            ("invalid_patch", Some("patch"))
        );
    }
    let many: String = (0..=PATCH_FILES_MAX)
        .map(|n| format!("--- /dev/null\n+++ b/{n}\n@@ -0,0 +1 @@\n+x\n"))
        .collect();
    assert!(parse(&many).expect_err("too many").message.contains("at most 32"));
}

/// Patches that the grammar for free-form tools permits.
fn permitted() -> impl Strategy<Value = String> {
    let lines = "([+ -][ -~]{0,4}\n){1,3}(\\*\\*\\* End of File\n)?";
    let hunks = format!("(@@( [ -~]{{0,4}})?\n)?{lines}(@@( [ -~]{{0,4}})?\n{lines}){{0,2}}");
    let add = "\\*\\*\\* Add File: [!-~]{1,4}\n(\\+[ -~]{0,4}\n){1,3}";
    let delete = "\\*\\*\\* Delete File: [!-~]{1,4}\n";
    let moved = "\\*\\*\\* Move to: [!-~]{1,4}\n";
    let update = format!("\\*\\*\\* Update File: [!-~]{{1,4}}\n({moved}({hunks})?|{hunks})");
    proptest::string::string_regex(&format!(
        "\\*\\*\\* Begin Patch\n({add}|{delete}|{update}){{1,4}}\\*\\*\\* End Patch\n?"
    ))
    .expect("a regular expression")
}

proptest! {
    #[test]
    fn every_text_of_the_free_form_grammar_is_read(patch in permitted()) {
        // A rename of a file to itself is the one patch that the grammar cannot refuse.
        let read = super::parse(&patch);
        let is_known = read.as_ref().err().is_none_or(|error| error.message.contains("changes nothing"));
        prop_assert!(is_known, "{read:?}");
    }

    /// For all texts, the diff between them turns the first into the second.
    #[test]
    fn a_generated_diff_applies(old in "([a-c ]{0,3}\n){0,12}", new in "([a-c ]{0,3}\n){0,12}") {
        prop_assume!(old != new);
        let patch = unified_diff(&old, &new, ["a/x", "b/x"]);
        prop_assert_eq!(applied(&old, &patch), Ok(new));
    }

    /// For all texts, reading a patch ends without a panic.
    #[test]
    fn reading_never_panics(text in "((\\*\\*\\* |@@|---|\\+\\+\\+|diff --git )?[ -~]{0,12}\n){0,10}") {
        let _read = parse(&text);
        let _read = parse(&format!("*** Begin Patch\n{text}*** End Patch"));
    }
}
