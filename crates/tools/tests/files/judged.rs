//! Walks over paths on which policies decide one by one.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wakeful_core::policy::{PathDecisions, Target};
use wakeful_ports::tool::{PathPolicy, ToolRequest};

use super::perform;
use crate::fixture::{ToolFixture, WAYS, act, listed};

/// Excludes what is in a folder `vault`, but not the folder.
fn no_vault() -> PathPolicy {
    PathPolicy::new(|paths| {
        let is_permitted = |target: &Target| match target {
            Target::Path { path, .. } => !path.contains("/vault/"),
            Target::Host { .. } | Target::Agent { .. } | Target::Secret { .. } => false,
        };
        PathDecisions::Each(paths.iter().map(is_permitted).collect())
    })
}

fn walk(fixture: &ToolFixture, paths: &PathPolicy, tool: &str, input: &Value) -> Value {
    let request = ToolRequest {
        tool: tool.to_owned(),
        paths: paths.clone(),
        ..act(input)
    };
    perform(fixture, request)
}

fn tree(fixture: &ToolFixture) {
    fs::create_dir_all(fixture.workspace.join("vault/deep")).expect("a folder");
    for name in ["a.txt", "vault/key", "vault/deep/key"] {
        fs::write(fixture.workspace.join(name), "secret\n").expect("a file");
    }
}

#[test]
fn a_search_leaves_out_the_files_that_a_policy_excludes() {
    for pretend in WAYS {
        let fixture = ToolFixture::at(pretend);
        tree(&fixture);
        let search = |input| walk(&fixture, &no_vault(), "SearchFiles", &input);
        let found = search(json!({"pattern": "secret"}));
        assert_eq!(found["found"], "a.txt\n1:secret\n", "{found}");
        let counts = ["matches", "files_with_matches", "withheld"].map(|name| found[name].as_u64());
        assert_eq!(counts, [Some(1), Some(1), Some(2)], "{found}");
        for path in ["vault", "vault/deep", "vault/key"] {
            let found = search(json!({"pattern": "secret", "path": path, "files_only": true}));
            assert_eq!((&found["found"], &found["matches"]), (&json!(""), &json!(0)));
        }
    }
}

#[test]
fn a_result_does_not_depend_on_the_contents_of_excluded_files() {
    let fixture = ToolFixture::new();
    tree(&fixture);
    fs::write(fixture.workspace.join("vault/large"), "secret\n".repeat(20_000)).expect("a file");
    let search = |pattern: &str| {
        walk(
            &fixture,
            &no_vault(),
            "SearchFiles",
            &json!({"pattern": pattern, "path": "vault"}),
        )
    };
    assert_eq!(search("secret"), search("other"));
}

#[test]
fn a_list_leaves_out_the_names_that_a_policy_excludes() {
    let fixture = ToolFixture::new();
    tree(&fixture);
    let listed = walk(&fixture, &no_vault(), "ListFiles", &json!({"depth": 9}));
    assert_eq!(listed["files"], "a.txt\nvault/\n", "{listed}");
    assert_eq!((&listed["entries"], &listed["withheld"]), (&json!(2), &json!(3)));
}

#[test]
fn a_path_without_a_decision_is_left_out() {
    let fixture = ToolFixture::new();
    tree(&fixture);
    let silent = PathPolicy::new(|_| PathDecisions::Each(Vec::new()));
    let found = walk(&fixture, &silent, "SearchFiles", &json!({"pattern": "secret"}));
    assert_eq!((&found["found"], &found["withheld"]), (&json!(""), &json!(3)));
}

#[test]
fn without_a_policy_on_paths_no_path_is_judged() {
    let fixture = ToolFixture::new();
    tree(&fixture);
    let asked = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&asked);
    let open = PathPolicy::new(move |paths| {
        *counted.lock().expect("a count") += paths.len();
        PathDecisions::Unrestricted
    });
    let found = walk(&fixture, &open, "SearchFiles", &json!({"pattern": "secret"}));
    assert_eq!(found["matches"], 3);
    assert_eq!(*asked.lock().expect("a count"), 0);
}

#[test]
fn a_denied_path_in_the_workspace_is_left_out_of_walks() {
    for pretend in WAYS {
        let mut fixture = ToolFixture::at(pretend);
        tree(&fixture);
        fixture.scope.denied_paths = listed([fixture.workspace.join("vault")]);
        let scope = fixture.scope.clone();
        let walk = |tool: &str, input: Value| {
            let request = ToolRequest {
                tool: tool.to_owned(),
                scope: scope.clone(),
                ..act(&input)
            };
            perform(&fixture, request)
        };
        // Without namespaces a folder with a denied path cannot be listed at all.
        let found = walk("SearchFiles", json!({"pattern": "secret"}));
        let expected = if pretend.no_namespaces {
            ""
        } else {
            "a.txt\n1:secret\n"
        };
        assert_eq!(found["found"], expected, "{found}");
        let listed = walk("ListFiles", json!({"depth": 9}));
        assert!(
            !listed["files"].as_str().expect("text").contains("key"),
            "{listed}"
        );
        for (tool, path) in [
            ("ReadFile", "vault/key"),
            ("ListFiles", "vault"),
            ("WriteFile", "vault/new"),
        ] {
            let input = match tool {
                "WriteFile" => json!({"path": path, "content": "x"}),
                _ => json!({"path": path}),
            };
            assert_eq!(walk(tool, input)["kind"], "denied_path", "{tool}");
        }
        let printed = fixture.run("cat vault/key; ls vault; cat a.txt");
        assert_eq!(printed.stdout(), "secret\n", "{}", printed.json);
    }
}

#[test]
fn file_tools_deny_a_path_below_the_users_folder() {
    let mut fixture = ToolFixture::with(|options| {
        let user = options.workspace.display().to_string();
        options.environment.insert("HOME".to_owned(), user);
    });
    tree(&fixture);
    fixture.scope.denied_paths = ["~/vault".to_owned()].into();
    let request = ToolRequest {
        tool: "ReadFile".to_owned(),
        scope: fixture.scope.clone(),
        ..act(&json!({"path": "vault/key"}))
    };
    assert_eq!(perform(&fixture, request)["kind"], "denied_path");
}
