//! `ListFiles` and `SearchFiles` in the sandbox.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{call, refusal, refused};
use crate::fixture::{ToolFixture, WAYS};

fn tree(fixture: &ToolFixture) {
    let at = |name: &str| fixture.workspace.join(name);
    for folder in ["src/deep/er", "target", ".git", ".hidden"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    for (name, text) in [
        (".gitignore", "target\n*.log\n"),
        (".git/config", "needle\n"),
        (".hidden/x", "needle\n"),
        ("target/out", "needle\n"),
        ("a.log", "needle\n"),
        ("src/main.rs", "fn main() {\n    needle();\n}\n"),
        ("src/deep/er/x.txt", "Needle\nneedle needle\n"),
        ("binary", "needle\0\n"),
    ] {
        fs::write(at(name), text).expect("a file");
    }
    symlink("..", at("src/up")).expect("a link");
}

#[test]
fn files_are_listed_by_depth_without_ignored_ones() {
    for pretend in WAYS {
        let fixture = ToolFixture::at(pretend);
        tree(&fixture);
        let list = |input| {
            call(&fixture, "ListFiles", input)["files"]
                .as_str()
                .expect("text")
                .to_owned()
        };
        assert_eq!(list(json!({})), "binary\nsrc/\nsrc/deep/\nsrc/main.rs\nsrc/up@\n");
        assert_eq!(list(json!({"depth": 1})), "binary\nsrc/\n");
        assert_eq!(
            list(json!({"path": "src", "depth": 9, "glob": "*.txt"})),
            "src/deep/er/x.txt\n"
        );
        let all = list(json!({"all": true, "depth": 1}));
        assert_eq!(all, ".gitignore\n.hidden/\na.log\nbinary\nsrc/\ntarget/\n");
    }
}

#[test]
fn contents_are_searched_with_line_numbers() {
    for pretend in WAYS {
        let fixture = ToolFixture::at(pretend);
        tree(&fixture);
        let search = |input| call(&fixture, "SearchFiles", input);
        let found = search(json!({"pattern": "needle"}));
        let expected = "src/deep/er/x.txt\n2:needle needle\n\nsrc/main.rs\n2:    needle();\n";
        assert_eq!(found["found"], expected, "{found}");
        assert_eq!(
            (&found["matches"], &found["files_with_matches"]),
            (&json!(2), &json!(2))
        );
        let names =
            search(json!({"pattern": "NEEDLE", "ignore_case": true, "files_only": true, "glob": "*.rs"}));
        assert_eq!(names["found"], "src/main.rs\n");
        let context = search(json!({"pattern": "needle", "path": "src/main.rs", "context": 1}));
        assert_eq!(
            context["found"],
            "src/main.rs\n1-fn main() {\n2:    needle();\n3-}\n"
        );
        let all = search(json!({"pattern": "needle", "all": true, "files_only": true}));
        let expected = ".hidden/x\na.log\nsrc/deep/er/x.txt\nsrc/main.rs\ntarget/out\n";
        assert_eq!(all["found"], expected, "never the repository's own data");
    }
}

#[test]
fn files_of_every_size_are_searched_to_their_end() {
    let fixture = ToolFixture::new();
    // Around the size up to which a file is searched in memory.
    let sizes = [6_usize, 65_535, 65_536, 65_537, 200_000];
    for size in sizes {
        let text = "a".repeat(size - "needle".len()) + "needle";
        fs::write(fixture.workspace.join(format!("{size}.txt")), text).expect("a file");
    }
    fs::write(fixture.workspace.join("binary"), "a".repeat(70_000) + "\0needle").expect("a file");
    let found = call(
        &fixture,
        "SearchFiles",
        json!({"pattern": "needle$", "files_only": true}),
    );
    let mut names: Vec<String> = sizes.iter().map(|size| format!("{size}.txt")).collect();
    names.sort_unstable();
    assert_eq!(found["found"], names.join("\n") + "\n", "{found}");
}

#[test]
fn a_result_is_cut_at_a_line_and_says_so() {
    let fixture = ToolFixture::new();
    let long = format!("{}needle{}\n", "a".repeat(1_000), "b".repeat(1_000));
    fs::write(fixture.workspace.join("x"), long + &"needle\n".repeat(20_000)).expect("a file");
    let found = call(
        &fixture,
        "SearchFiles",
        json!({"pattern": "needle", "max_output_tokens": 100}),
    );
    assert_eq!(
        (&found["truncated"], &found["matches"]),
        (&json!(true), &json!(10_000)),
        "{found}"
    );
    let text = found["found"].as_str().expect("text");
    assert!(
        text.len() <= 400 && text.ends_with('\n') && text.contains("aneedleb"),
        "{text}"
    );
    for n in 0..200 {
        fs::write(fixture.workspace.join(format!("file-{n:03}")), "").expect("a file");
    }
    let listed = call(&fixture, "ListFiles", json!({"max_output_tokens": 100}));
    assert_eq!(
        (&listed["truncated"], &listed["entries"]),
        (&json!(true), &json!(201))
    );
}

#[test]
fn arguments_of_a_search_are_checked() {
    let fixture = ToolFixture::new();
    let search = |input| refusal(&fixture, "SearchFiles", input);
    assert_eq!(
        search(json!({"pattern": "("})),
        refused("invalid_arguments", "pattern")
    );
    assert_eq!(
        search(json!({"pattern": "a\nb"})),
        refused("invalid_arguments", "pattern")
    );
    assert_eq!(
        search(json!({"pattern": ""})),
        refused("invalid_arguments", "pattern")
    );
    assert_eq!(
        search(json!({"pattern": "x", "glob": "["})),
        refused("invalid_arguments", "glob")
    );
    assert_eq!(
        search(json!({"pattern": "x", "context": 21})),
        refused("invalid_arguments", "context")
    );
    assert_eq!(
        search(json!({"pattern": "x", "path": "missing"})),
        refused("not_found", "path")
    );
    let depth = refusal(&fixture, "ListFiles", json!({"depth": 0}));
    assert_eq!(depth, refused("invalid_arguments", "depth"));
}

#[test]
fn credentials_beside_the_workspace_are_not_found() {
    let user = tempfile::tempdir().expect("a folder");
    let user = user.path().canonicalize().expect("a path");
    fs::create_dir_all(user.join("work/project")).expect("a folder");
    fs::write(user.join("work/project/x"), "needle\n").expect("a file");
    let fixture = ToolFixture::with(|options| {
        options.closed.user_folders = vec![options.workspace.clone()];
        fs::create_dir(options.workspace.join(".ssh")).expect("a folder");
        fs::write(options.workspace.join(".ssh/id"), "needle\n").expect("a file");
    });
    let found = call(&fixture, "SearchFiles", json!({"pattern": "needle", "all": true}));
    assert_eq!(found["matches"], 0, "{found}");
    let read = json!({"path": ".ssh/id"});
    assert_eq!(
        refusal(&fixture, "ReadFile", read),
        refused("denied_path", "path")
    );
}

#[test]
fn a_file_that_is_too_large_to_search_is_named() {
    let fixture = ToolFixture::new();
    fs::write(fixture.workspace.join("small"), "needle\n").expect("a file");
    let large = fs::File::create(fixture.workspace.join("large")).expect("a file");
    large.set_len(256 * 1024 * 1024 + 1).expect("a size");
    let found = call(&fixture, "SearchFiles", json!({"pattern": "needle"}));
    assert_eq!(
        (&found["matches"], &found["truncated"]),
        (&json!(1), &json!(true)),
        "{found}"
    );
    assert_eq!(
        (&found["limit"], &found["too_large"]),
        (&json!("256 MiB of a file"), &json!(["large"]))
    );
}
