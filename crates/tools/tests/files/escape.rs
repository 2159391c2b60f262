//! Attempts to leave the workspace by the file tools. None may read or change anything outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use wakeful_core::policy::{PathAccess, PathScope, Target};
use wakeful_ports::tool::{CallGrant, ToolRequest};

use super::{call, perform, refusal, refused};
use crate::fixture::{ToolFixture, act};

const SECRET: &str = "the secret outside";

fn fixture() -> ToolFixture {
    let fixture = ToolFixture::new();
    fs::create_dir_all(fixture.root.join("outside/d")).expect("a folder");
    fs::write(fixture.root.join("outside/file"), SECRET).expect("a file");
    fs::write(fixture.root.join("outside/d/file"), SECRET).expect("a file");
    symlink(fixture.root.join("outside"), fixture.workspace.join("link")).expect("a link");
    symlink("../outside/file", fixture.workspace.join("link-file")).expect("a link");
    symlink("nowhere", fixture.workspace.join("dangling")).expect("a link");
    symlink("loop", fixture.workspace.join("loop")).expect("a link");
    fixture
}

/// Paths that lead out of the workspace, or nowhere.
fn spellings(fixture: &ToolFixture) -> Vec<String> {
    let outside = fixture.root.join("outside/file");
    let (outside, root) = (outside.display(), fixture.root.display());
    let workspace = fixture.workspace.display();
    vec![
        "../outside/file".to_owned(),
        "./../outside/file".to_owned(),
        "..//outside/./file".to_owned(),
        format!("{outside}"),
        format!("//{outside}"),
        format!("{workspace}/../outside/file"),
        format!("{workspace}/../workspace/../outside/file"),
        format!("{root}/workspace/link/file"),
        "link/file".to_owned(),
        "link/../outside/file".to_owned(),
        "link/d/../file".to_owned(),
        "link-file".to_owned(),
        "link/new".to_owned(),
        "link/d/new/new".to_owned(),
        format!("/proc/self/root{outside}"),
        format!("/proc/self/cwd/../../../../../../../../../../{outside}"),
        "/proc/self/environ".to_owned(),
        "/proc/self/mem".to_owned(),
        "/etc/passwd".to_owned(),
        "~/.ssh/id_rsa/../../../outside/file".to_owned(),
        "missing/../../outside/file".to_owned(),
        "dangling".to_owned(),
        "dangling/x".to_owned(),
        "loop".to_owned(),
        "loop/x".to_owned(),
        "a\0b".to_owned(),
        String::new(),
        "x/".repeat(3_000),
        "y".repeat(5_000),
    ]
}

// Conformance: A-177
#[test]
fn no_spelling_of_a_path_leaves_the_workspace() {
    let fixture = fixture();
    for path in spellings(&fixture) {
        let calls = [
            ("ReadFile", json!({"path": path})),
            ("WriteFile", json!({"path": path, "content": "changed"})),
            (
                "EditFile",
                json!({"path": path, "old": "secret", "new": "changed"}),
            ),
            ("ListFiles", json!({"path": path})),
            ("SearchFiles", json!({"path": path, "pattern": "secret"})),
        ];
        for (tool, input) in calls {
            let result = call(&fixture, tool, input);
            assert_eq!(result["ok"], false, "{tool} {path:?}: {result}");
            // An empty path is the workspace itself only where a folder is meant.
            assert_eq!(result["field"], "path", "{tool} {path:?}: {result}");
        }
        if path.contains('\0') || path.is_empty() {
            continue;
        }
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+changed\n*** End Patch");
        assert_eq!(
            call(&fixture, "ApplyPatch", json!({"patch": patch}))["ok"],
            false,
            "{path:?}"
        );
        let patch = format!("diff --git a/link-file b/x\nrename from {path}\nrename to x\n");
        assert_eq!(
            call(&fixture, "ApplyPatch", json!({"patch": patch}))["ok"],
            false,
            "{path:?}"
        );
    }
    for file in ["outside/file", "outside/d/file"] {
        assert_eq!(fs::read_to_string(fixture.root.join(file)).expect("text"), SECRET);
    }
    assert_eq!(
        fs::read_dir(fixture.root.join("outside"))
            .expect("a folder")
            .count(),
        2
    );
}

#[test]
fn the_home_is_denied_even_if_it_was_granted() {
    let fixture = fixture();
    let path = fixture.home.join("secret").display().to_string();
    let target = Target::Path {
        path: path.clone(),
        access: PathAccess::Read,
        scope: PathScope::Denied,
    };
    let request = ToolRequest {
        tool: "ReadFile".into(),
        grant: CallGrant::judged(vec![target]),
        ..act(&json!({"path": path}))
    };
    assert_eq!(perform(&fixture, request)["kind"], "denied_path");
}

#[test]
fn a_granted_path_outside_can_be_used_and_a_protected_one() {
    let fixture = fixture();
    let outside = fixture.root.join("outside/file").display().to_string();
    let request = |tool: &str, input: serde_json::Value, path: &str, access, scope| ToolRequest {
        tool: tool.into(),
        grant: CallGrant::judged(vec![Target::Path {
            path: path.to_owned(),
            access,
            scope,
        }]),
        ..act(&input)
    };
    let read = request(
        "ReadFile",
        json!({"path": outside}),
        &outside,
        PathAccess::Read,
        PathScope::Outside,
    );
    assert_eq!(perform(&fixture, read)["content"], SECRET);
    let write = json!({"path": outside, "content": "x"});
    let write = request("WriteFile", write, &outside, PathAccess::Read, PathScope::Outside);
    assert_eq!(
        perform(&fixture, write)["kind"],
        "outside_workspace",
        "it was granted for reading"
    );
    let hook = fixture
        .workspace
        .join(".git/hooks/pre-commit")
        .display()
        .to_string();
    let write = json!({"path": ".git/hooks/pre-commit", "content": "x"});
    assert_eq!(
        refusal(&fixture, "WriteFile", write.clone()),
        refused("protected_path", "path")
    );
    let write = request("WriteFile", write, &hook, PathAccess::Write, PathScope::Protected);
    assert_eq!(perform(&fixture, write)["ok"], true);
}

#[test]
fn only_ordinary_files_are_opened() {
    let fixture = fixture();
    let at = |name: &str| fixture.workspace.join(name);
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    fs::write(at("binary"), [1, 0, 2]).expect("a file");
    fs::write(at("document.txt"), b"%PDF-1.7").expect("a file");
    let sparse = fs::File::create(at("sparse")).expect("a file");
    sparse.set_len(1 << 40).expect("a size");
    for (name, kind) in [
        ("fifo", "not_a_file"),
        ("socket", "not_a_file"),
        ("binary", "binary_file"),
        ("document.txt", "binary_file"),
        ("sparse", "binary_file"),
        (".", "is_folder"),
        ("missing", "not_found"),
        ("binary/x", "path_unresolvable"),
    ] {
        assert_eq!(
            refusal(&fixture, "ReadFile", json!({"path": name})),
            refused(kind, "path"),
            "{name}"
        );
    }
    for (name, kind) in [
        ("fifo", "not_a_file"),
        ("socket", "not_a_file"),
        ("sparse", "file_too_large"),
    ] {
        let write = json!({"path": name, "content": "x"});
        assert_eq!(
            refusal(&fixture, "WriteFile", write),
            refused(kind, "path"),
            "{name}"
        );
    }
    let search = call(&fixture, "SearchFiles", json!({"pattern": "x"}));
    assert_eq!(
        (&search["matches"], &search["skipped"]),
        (&json!(0), &json!(1)),
        "{search}"
    );
}
