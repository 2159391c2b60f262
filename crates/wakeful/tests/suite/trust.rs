//! Trusted folders, and the review of what was written with untrusted data.

use serde_json::{Value, json};

use super::home_fixture::TestHome;
use super::pty_fixture::Terminal;

fn folders(home: &TestHome) -> Vec<Value> {
    let listed = home.wakeful(&["trust", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    listed.as_array().cloned().expect("a list")
}

#[test]
fn a_folder_is_trusted_until_the_trust_is_removed() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("a folder");
    let path = path.to_str().expect("a path");
    for (verb, is_trusted) in [("add", true), ("remove", false)] {
        let done = home.wakeful(&["trust", verb, path]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let listed = folders(&home);
        let found = listed.iter().find(|one| one["folder"] == json!(path));
        assert_eq!(found.map(|one| &one["is_trusted"]), Some(&json!(is_trusted)));
    }
    let missing = home.wakeful(&["trust", "add", "/no/such/folder"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

#[test]
fn a_named_workspace_is_an_answer() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().canonicalize().expect("a folder");
    let path = path.to_str().expect("a path");
    let made = home.wakeful(&["agent", "create", "helper", "--workspace", path]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let listed = folders(&home);
    let found = listed.iter().find(|one| one["folder"] == json!(path));
    let found = found.expect("the workspace");
    assert_eq!(found["agents"], json!(["helper"]));
    assert!(found.get("answered_at").is_some(), "{found}");
}

#[test]
fn a_review_needs_a_terminal_or_yes() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    assert_eq!(home.wakeful(&["trust", "add", path]).code, Some(0));
    let nothing = home.wakeful(&["trust", "review", path]);
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(
        nothing.stdout.contains("no action with untrusted data"),
        "{nothing:?}"
    );
}

#[test]
fn a_new_folder_is_asked_about_once() {
    let home = TestHome::new();
    let model = home.script("rounds:\n  - text: It is done.\n");
    let args = ["run", "do it", "--model", &model];
    let mut terminal = Terminal::start_new(&home, 120, &[], &args);
    terminal.wait_for("Do you trust the files in");
    terminal.press("n\n");
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(0), "{screen}");
    let path = home.workspace().canonicalize().expect("a folder");
    let listed = folders(&home);
    let found = listed.iter().find(|one| one["folder"] == json!(path));
    assert_eq!(found.map(|one| &one["is_trusted"]), Some(&json!(false)));
    let (code, screen) = Terminal::start_new(&home, 120, &[], &args).exit();
    assert_eq!(
        (code, screen.contains("Do you trust")),
        (Some(0), false),
        "{screen}"
    );
}
