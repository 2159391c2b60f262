//! The file tools: what they return, and that no path leads out of the workspace.

mod escape;
mod hostile;
mod judged;
mod preview;
mod race;
mod scan;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};
use wakeful_core::policy::{PathAccess, PathScope, Target};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_ports::tool::{ToolHost as _, ToolRequest};

use crate::fixture::{NeverStop, ToolFixture, act, block_on};

/// Calls a file tool and returns its result as the model reads it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "every caller builds the arguments for the call"
)]
pub(crate) fn call(fixture: &ToolFixture, tool: &str, input: Value) -> Value {
    perform(
        fixture,
        ToolRequest {
            tool: tool.to_owned(),
            ..act(&input)
        },
    )
}

pub(crate) fn perform(fixture: &ToolFixture, request: ToolRequest) -> Value {
    let done = block_on(fixture.tools.perform(request, NeverStop));
    let result: Value = serde_json::from_str(&done.content).expect("JSON");
    // A list or a search that reached a bound, or that policies restrict, is partial, which does not make its
    // result an error.
    let is_partial = result["limit"].is_string() || result["withheld"].is_number();
    let is_partial = is_partial.then_some("partial");
    assert_eq!(
        done.code.as_deref(),
        is_partial.or(result["kind"].as_str()),
        "{result}"
    );
    result
}

/// The error code and the field of a call that must fail.
#[track_caller]
pub(crate) fn refusal(fixture: &ToolFixture, tool: &str, input: Value) -> (String, Option<String>) {
    let result = call(fixture, tool, input);
    assert_eq!(result["ok"], false, "{result}");
    assert!(result["message"].is_string(), "{result}");
    let text = |name: &str| result[name].as_str().map(str::to_owned);
    (text("kind").expect("a kind"), text("field"))
}

fn refused(kind: &str, field: &str) -> (String, Option<String>) {
    (kind.to_owned(), Some(field.to_owned()))
}

#[test]
fn a_range_of_lines_is_read_and_says_where_to_continue() {
    let fixture = ToolFixture::new();
    let text: String = (1..=10).map(|n| format!("line {n}\r\n")).collect();
    fs::write(fixture.workspace.join("a.txt"), format!("\u{feff}{text}")).expect("a file");
    let read = |input| call(&fixture, "ReadFile", input);
    let part = read(json!({"path": "a.txt", "offset": 3, "limit": 2}));
    assert_eq!(part["content"], "line 3\nline 4\n");
    assert_eq!((&part["lines"], &part["next_offset"]), (&json!("3-4"), &json!(5)));
    let whole = read(json!({"path": fixture.workspace.join("a.txt")}));
    assert_eq!(
        (whole["path"].as_str(), whole.get("next_offset")),
        (Some("a.txt"), None)
    );
    assert!(
        whole["content"]
            .as_str()
            .expect("text")
            .starts_with("line 1\nline 2\n")
    );
    let past = json!({"path": "a.txt", "offset": 11});
    assert_eq!(
        refusal(&fixture, "ReadFile", past),
        refused("out_of_range", "offset")
    );
    fs::write(fixture.workspace.join("empty"), "").expect("a file");
    assert_eq!(read(json!({"path": "empty"}))["content"], "");
}

// Conformance: H-048
#[test]
fn long_output_is_bounded_and_a_larger_request_is_clamped() {
    let fixture = ToolFixture::new();
    let text = format!("{}\n", "y".repeat(99)).repeat(10_000);
    fs::write(fixture.workspace.join("long"), &text).expect("a file");
    let size = |input| {
        call(&fixture, "ReadFile", input)["content"]
            .as_str()
            .expect("text")
            .len()
    };
    let lines = json!({"path": "long", "limit": 10_000});
    assert!(
        (30_000..=32_000).contains(&size(lines)),
        "the default of 8,000 tokens"
    );
    let clamped = size(json!({"path": "long", "limit": 10_000, "max_output_tokens": 1_000_000}));
    assert!((250_000..=256_000).contains(&clamped), "{clamped}");
    let printed =
        fixture.call(&json!({"cmd": "head -c 1000000 /dev/zero | tr '\\0' x", "max_output_tokens": 900_000}));
    assert!(printed.stdout().len() <= 256_000 && printed.stdout().len() > 200_000);
    fs::write(fixture.workspace.join("one"), "z".repeat(1_000_000)).expect("a file");
    assert!(
        size(json!({"path": "one"})) <= 32_000,
        "a line longer than the bound is cut"
    );
}

// Conformance: L-131
#[test]
fn a_result_names_the_files_that_the_call_changed() {
    let fixture = ToolFixture::new();
    let changed = |tool: &str, input: Value| {
        let request = ToolRequest {
            tool: tool.to_owned(),
            ..act(&input)
        };
        let done = block_on(fixture.tools.perform(request, NeverStop));
        let changed = done.changed.into_iter();
        changed
            .map(|one| format!("{} {}", one.entity_type, one.entity_id))
            .collect::<Vec<_>>()
    };
    let file = |name: &str| format!("file {}", fixture.workspace.join(name).display());
    assert_eq!(
        changed("WriteFile", json!({"path": "a", "content": "one\n"})),
        [file("a")]
    );
    assert_eq!(
        changed("EditFile", json!({"path": "a", "old": "one", "new": "two"})),
        [file("a")]
    );
    let patch = "*** Begin Patch\n*** Add File: b\n+new\n*** Delete File: a\n*** End Patch";
    let dry = json!({"patch": patch, "dry_run": true});
    assert_eq!(
        changed("ApplyPatch", dry),
        Vec::<String>::new(),
        "nothing is written"
    );
    assert_eq!(
        changed("ApplyPatch", json!({"patch": patch})),
        [file("b"), file("a")]
    );
    assert_eq!(changed("ReadFile", json!({"path": "b"})), Vec::<String>::new());
    let failed = changed("EditFile", json!({"path": "a", "old": "one", "new": "two"}));
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn a_file_is_written_with_its_folders_and_keeps_its_mode() {
    let fixture = ToolFixture::new();
    let write =
        |path: &str, content: &str| call(&fixture, "WriteFile", json!({"path": path, "content": content}));
    let done = write("a/b/run.sh", "one\n");
    assert_eq!(
        (&done["ok"], &done["created"], &done["lines_added"]),
        (&json!(true), &json!(true), &json!(1))
    );
    let file = fixture.workspace.join("a/b/run.sh");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o751)).expect("a mode");
    let done = write("a/b/run.sh", "two\nthree\n");
    assert_eq!(
        (&done["created"], &done["lines_removed"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(fs::read_to_string(&file).expect("text"), "two\nthree\n");
    assert_eq!(
        file.metadata().expect("a file").permissions().mode() & 0o7777,
        0o751
    );
    assert_eq!(
        fs::read_dir(file.parent().expect("a folder"))
            .expect("a folder")
            .count(),
        1,
        "no temporary file"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).expect("a mode");
    let again = json!({"path": "a/b/run.sh", "content": "x"});
    assert_eq!(
        refusal(&fixture, "WriteFile", again),
        refused("set_id_file", "path")
    );
    assert_eq!(
        refusal(&fixture, "WriteFile", json!({"path": "a", "content": "x"})),
        refused("is_folder", "path")
    );
}

#[test]
fn an_edit_needs_exactly_one_match_and_keeps_line_endings() {
    let fixture = ToolFixture::new();
    let file = fixture.workspace.join("x");
    fs::write(&file, "a\r\nb\r\na\r\n").expect("a file");
    let edit = |old: &str, new: &str| json!({"path": "x", "old": old, "new": new});
    assert_eq!(
        refusal(&fixture, "EditFile", edit("c", "d")),
        refused("no_match", "old")
    );
    assert_eq!(
        refusal(&fixture, "EditFile", edit("a", "d")),
        refused("several_matches", "old")
    );
    assert_eq!(
        refusal(&fixture, "EditFile", edit("", "d")),
        refused("invalid_arguments", "old")
    );
    assert_eq!(
        refusal(&fixture, "EditFile", edit("a", "a")),
        refused("invalid_arguments", "new")
    );
    assert_eq!(call(&fixture, "EditFile", edit("a\nb", "1\n2\n3"))["ok"], true);
    assert_eq!(fs::read_to_string(&file).expect("text"), "1\r\n2\r\n3\r\na\r\n");
    let all = json!({"path": "x", "old": "\n", "new": "!\n", "replace_all": true});
    assert_eq!(call(&fixture, "EditFile", all)["ok"], true);
    fs::write(&file, [0xff, 0, 1]).expect("a file");
    assert_eq!(
        refusal(&fixture, "EditFile", edit("c", "d")),
        refused("binary_file", "path")
    );
    let missing = json!({"path": "y", "old": "a", "new": "b"});
    assert_eq!(
        refusal(&fixture, "EditFile", missing),
        refused("not_found", "path")
    );
}

#[test]
fn an_image_is_read_by_its_first_bytes_and_within_its_limit() {
    let fixture = ToolFixture::new();
    let read = |name: &str| {
        let request = ToolRequest {
            tool: "ReadFile".to_owned(),
            ..act(&json!({ "path": name }))
        };
        block_on(fixture.tools.perform(request, NeverStop)).images
    };
    for (name, head, media_type) in [
        ("a.txt", &b"\x89PNG\r\n\x1a\n"[..], "image/png"),
        ("b", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("c\n.gif", b"GIF89a", "image/gif"),
        ("d.webp", b"RIFF\x01\x02\x03\x04WEBP", "image/webp"),
    ] {
        let bytes = [head, &[0; 100_000]].concat();
        fs::write(fixture.workspace.join(name), &bytes).expect("a file");
        let result = call(&fixture, "ReadFile", json!({ "path": name }));
        assert_eq!(
            result["image"],
            json!({"media_type": media_type, "bytes": bytes.len()})
        );
        let images = read(name);
        assert_eq!(images.len(), 1, "{name}");
        assert_eq!(
            (images[0].media_type.as_str(), images[0].bytes()),
            (media_type, Some(bytes))
        );
        assert_eq!(images[0].name, name.replace('\n', "_"));
    }
    let large = fs::File::create(fixture.workspace.join("large.png")).expect("a file");
    std::io::Write::write_all(&mut &large, b"\x89PNG\r\n\x1a\n").expect("a head");
    large.set_len(5 * 1024 * 1024).expect("a size");
    assert_eq!(read("large.png").len(), 1);
    large.set_len(5 * 1024 * 1024 + 1).expect("a size");
    let too_large = refusal(&fixture, "ReadFile", json!({"path": "large.png"}));
    assert_eq!(too_large, refused("file_too_large", "path"));
}

#[test]
fn a_patch_changes_all_files_or_none() {
    let fixture = ToolFixture::new();
    let at = |name: &str| fixture.workspace.join(name);
    fs::write(at("a"), "1\n2\n").expect("a file");
    fs::write(at("b"), "x\n").expect("a file");
    fs::set_permissions(at("b"), fs::Permissions::from_mode(0o700)).expect("a mode");
    let patch = |c: &str| {
        format!(
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n--- /dev/null\n+++ b/new/c\n@@ -0,0 +1 @@\n+c\n\
             diff --git a/b b/moved/b\nrename from b\nrename to moved/b\n--- a/{c}\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
        )
    };
    let input = json!({"patch": patch("missing")});
    assert_eq!(
        refusal(&fixture, "ApplyPatch", input),
        refused("not_found", "patch")
    );
    assert_eq!(fs::read_to_string(at("a")).expect("text"), "1\n2\n");
    assert!(!at("new").exists() && at("b").exists());
    fs::write(at("d"), "gone\n").expect("a file");
    let dry = call(
        &fixture,
        "ApplyPatch",
        json!({"patch": patch("d"), "dry_run": true}),
    );
    assert_eq!((&dry["dry_run"], at("d").exists()), (&json!(true), true), "{dry}");
    let done = call(&fixture, "ApplyPatch", json!({"patch": patch("d")}));
    let files = json!([
        {"path": "a", "change": "update", "lines": "+1 -1"}, {"path": "new/c", "change": "add", "lines": "+1 -0"},
        {"path": "b", "change": "rename", "to": "moved/b"}, {"path": "d", "change": "delete", "lines": "+0 -1"},
    ]);
    assert_eq!(done["files"], files, "{done}");
    assert_eq!(fs::read_to_string(at("a")).expect("text"), "1\ntwo\n");
    assert_eq!(
        fs::metadata(at("moved/b")).expect("a file").permissions().mode() & 0o777,
        0o700
    );
    assert!(!at("b").exists() && !at("d").exists() && at("new/c").exists());
}

#[test]
fn a_patch_that_fails_while_it_is_written_leaves_nothing_behind() {
    let fixture = ToolFixture::new();
    let at = |name: &str| fixture.workspace.join(name);
    fs::write(at("a"), "1\n").expect("a file");
    // The first file becomes a folder in the second, which only shows when the folders are created.
    let patch = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/n/m\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/n/m/o\n@@ -0,0 +1 @@\n+x\n";
    let (kind, _) = refusal(&fixture, "ApplyPatch", json!({"patch": patch}));
    assert!(
        ["file_changed", "not_a_folder", "file_error"].contains(&kind.as_str()),
        "{kind}"
    );
    assert_eq!(fs::read_to_string(at("a")).expect("text"), "1\n");
    let left: Vec<_> = fs::read_dir(&fixture.workspace)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["a"]);
}

#[test]
fn a_read_only_run_writes_nothing() {
    let fixture = ToolFixture::new();
    let input = json!({"path": "x", "content": "x"});
    let request = ToolRequest {
        tool: "WriteFile".into(),
        is_read_only: true,
        ..act(&input)
    };
    assert_eq!(perform(&fixture, request)["kind"], "read_only_run");
    assert!(!fixture.workspace.join("x").exists());
}

/// Creates a folder outside, a granted one, and links and files in the workspace.
fn outside_and_granted(fixture: &ToolFixture) -> [std::path::PathBuf; 2] {
    let (outside, granted) = (fixture.root.join("outside"), fixture.root.join("granted"));
    for folder in [&outside, &granted] {
        fs::create_dir(folder).expect("a folder");
    }
    symlink(&outside, fixture.workspace.join("link")).expect("a link");
    symlink("x", fixture.workspace.join("inner")).expect("a link");
    fs::write(fixture.workspace.join("x"), "").expect("a file");
    fs::create_dir(fixture.workspace.join("denied")).expect("a folder");
    [outside, granted]
}

#[test]
fn facts_name_the_resolved_path_and_its_scope() {
    let fixture = ToolFixture::new();
    let [outside, granted] = outside_and_granted(&fixture);
    let scope = SandboxScope {
        readable_paths: [granted.display().to_string()].into(),
        denied_paths: [fixture.workspace.join("denied").display().to_string()].into(),
        unprotected_paths: [".envrc".to_owned()].into(),
        ..SandboxScope::default()
    };
    let targets = |tool: &str, input| fixture.tools.facts(tool, &input, &scope).targets;
    let target = |path: &std::path::Path, access, scope| Target::Path {
        path: path.display().to_string(),
        access,
        scope,
    };
    let cases = [
        (
            "inner".to_owned(),
            fixture.workspace.join("x"),
            PathScope::Workspace,
            PathScope::Workspace,
        ),
        (
            "link/y".to_owned(),
            outside.join("y"),
            PathScope::Outside,
            PathScope::Outside,
        ),
        (
            ".git/hooks/x".to_owned(),
            fixture.workspace.join(".git/hooks/x"),
            PathScope::Workspace,
            PathScope::Protected,
        ),
        (
            ".envrc".to_owned(),
            fixture.workspace.join(".envrc"),
            PathScope::Workspace,
            PathScope::Workspace,
        ),
        (
            "denied/z".to_owned(),
            fixture.workspace.join("denied/z"),
            PathScope::Denied,
            PathScope::Denied,
        ),
        (
            granted.join("f").display().to_string(),
            granted.join("f"),
            PathScope::Granted,
            PathScope::Outside,
        ),
    ];
    for (path, absolute, for_read, for_write) in cases {
        assert_eq!(
            targets("ReadFile", json!({"path": path})),
            [target(&absolute, PathAccess::Read, for_read)],
            "{path}"
        );
        let input = json!({"path": path, "content": ""});
        assert_eq!(
            targets("WriteFile", input),
            [target(&absolute, PathAccess::Write, for_write)],
            "{path}"
        );
    }
}

#[test]
fn facts_of_a_patch_are_all_its_paths() {
    let fixture = ToolFixture::new();
    fs::write(fixture.workspace.join("x"), "").expect("a file");
    let facts = |tool: &str, input: Value| fixture.tools.facts(tool, &input, &SandboxScope::default());
    let patch = "diff --git a/x b/z\nrename from x\nrename to z\n";
    let both = ["x", "z"].map(|name| Target::Path {
        path: fixture.workspace.join(name).display().to_string(),
        access: PathAccess::Write,
        scope: PathScope::Workspace,
    });
    assert_eq!(facts("ApplyPatch", json!({"patch": patch})).targets, both);
    let command = facts("ExecCommand", json!({"cmd": "npm test"})).command;
    assert_eq!(command.expect("a command").program, "npm");
}

#[test]
fn a_preview_shows_the_diff_and_changes_nothing() {
    let fixture = ToolFixture::new();
    fs::write(fixture.workspace.join("x"), "a\nb\n").expect("a file");
    let scope = SandboxScope::default();
    let preview = |tool: &str, input: Value| fixture.tools.preview(tool, &input, &scope);
    let edit = preview("EditFile", json!({"path": "x", "old": "b", "new": "c"}));
    assert_eq!(
        edit.as_deref(),
        Some("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n")
    );
    let write = preview("WriteFile", json!({"path": "y", "content": "z\n"}));
    assert_eq!(
        write.as_deref(),
        Some("--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+z\n")
    );
    let long = preview("WriteFile", json!({"path": "y", "content": "z\n".repeat(50_000)}));
    assert!(long.expect("a preview").chars().count() <= 12_000);
    assert_eq!(preview("ReadFile", json!({"path": "x"})), None);
    let secret = fixture.home.join("secret");
    assert_eq!(
        preview("WriteFile", json!({"path": secret, "content": ""})),
        None,
        "a denied file is not shown"
    );
    assert!(!fixture.workspace.join("y").exists());
}
