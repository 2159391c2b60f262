//! `wakeful runs diff` and `wakeful runs undo`, with real commands in the sandbox.

use super::home_fixture::TestHome;

/// Two commands: the first one reads nothing and writes, the second one writes again.
const WRITES: &str = r#"
rounds:
  - tools: [{name: ExecCommand, input: {cmd: "echo changed > kept; mkdir new; echo new > new/file"}}]
  - tools: [{name: ExecCommand, input: {cmd: "rm gone; echo again >> kept"}}]
  - text: done
"#;

#[test]
fn a_run_is_shown_undone_and_redone_from_the_command_line() {
    let home = TestHome::new();
    let file = |name: &str| home.workspace().join(name);
    let read = |name: &str| std::fs::read_to_string(file(name)).ok();
    std::fs::create_dir_all(home.workspace()).expect("a folder");
    std::fs::write(file("kept"), "first\n").expect("a file");
    std::fs::write(file("gone"), "gone\n").expect("a file");
    let run = home.run(WRITES, &[]).json();
    let key = run["run_key"].as_str().expect("a key").to_owned();
    let agent = run["agent_id"].as_str().expect("an agent").to_owned();
    let changes = home.wakeful(&["runs", "diff", &key, "--json"]).json();
    assert_eq!(changes["files_total"], 3, "{changes}");
    let diff = changes["diff"].as_str().expect("a diff");
    assert!(diff.contains("-first\n+changed\n+again\n"), "{diff}");
    let refused = home.wakeful(&["runs", "undo", &key]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let plan = home
        .wakeful(&["runs", "undo", &key, "--dry-run", "--json"])
        .json();
    assert_eq!(
        (&plan["restored_total"], &plan["removed_total"]),
        (&2.into(), &1.into()),
        "{plan}"
    );
    assert_eq!(read("kept").as_deref(), Some("changed\nagain\n"));
    let unmatched = home.wakeful(&["runs", "undo", &key, "nosuchfile", "--yes", "--json"]);
    assert!(
        unmatched.code == Some(1) && unmatched.stdout.contains("no_matching_file"),
        "{unmatched:?}"
    );
    home.wakeful(&["runs", "undo", &key, "--yes"]);
    assert_eq!(
        (read("kept").as_deref(), read("gone").as_deref()),
        (Some("first\n"), Some("gone\n"))
    );
    assert!(!file("new").exists());
    let events = home.wakeful(&["events", &agent, "--json"]).stdout;
    assert!(events.contains("run_undone"), "{events}");
    home.wakeful(&["runs", "undo", &key, "--redo", "--yes"]);
    assert_eq!(
        (read("kept").as_deref(), read("gone")),
        (Some("changed\nagain\n"), None)
    );
    assert_eq!(read("new/file").as_deref(), Some("new\n"));
}

#[test]
fn a_run_that_wrote_nothing_has_no_snapshot() {
    let home = TestHome::new();
    let key = home.run("rounds:\n  - text: hello\n", &[]).json()["run_key"]
        .as_str()
        .expect("a key")
        .to_owned();
    let missing = home.wakeful(&["runs", "diff", &key, "--json"]);
    assert!(missing.stdout.contains("snapshot_missing"), "{}", missing.stdout);
    assert!(!home.home().join("snapshots").exists());
}
