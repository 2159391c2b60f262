//! A call that was denied stays denied, however the model or a person comes back to it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::home_fixture::{TestHome, statuses};

const NO_COMMANDS: &str = "forbid (principal, action == Action::\"ExecCommand\", resource);\n";

const LOCKED: &str = "forbid (principal, action, resource is Path)\n\
                      when { resource.access == \"write\" && (resource.path like \"*/locked/*\" || resource.scope == \"protected\") };\n";

fn write_policy(world: &TestHome, text: &str) {
    let folder = world.home().join("policy");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("main.cedar"), text).expect("written");
}

/// A script that makes these calls, one in each round.
fn calls(calls: &[(&str, Value)]) -> String {
    let rounds = calls
        .iter()
        .map(|(name, input)| json!({"tools": [{"name": name, "input": input}]}))
        .chain([json!({"text": "done"})]);
    json!({"rounds": rounds.collect::<Vec<_>>()}).to_string()
}

fn ok(world: &TestHome, args: &[&str]) {
    let said = world.wakeful(args);
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
}

/// All runs of an agent, in full.
fn runs(world: &TestHome, agent: &str) -> Vec<Value> {
    let list = world
        .wakeful(&["runs", "list", "--agent", agent, "--json"])
        .json();
    let keys = list["runs"].as_array().expect("runs").iter();
    keys.map(|run| run["run_key"].as_str().expect("a key"))
        .map(|key| world.wakeful(&["runs", "show", key, "--json"]).json())
        .collect()
}

#[test]
fn a_denied_call_stays_denied_when_repeated_retried_or_delegated() {
    let world = TestHome::new();
    let touch = |name: &str| ("ExecCommand", json!({"cmd": format!("touch {name}")}));
    let start = json!({"agent_id": "helper", "initial_message": "touch it"});
    let parent = calls(&[touch("a"), touch("a"), ("StartRun", start)]);
    let parent = world.script_named("parent.yaml", &parent);
    let child = world.script_named("child.yaml", &calls(&[touch("b"), touch("b")]));
    ok(&world, &["agent", "create", "helper", "--model", &child]);
    ok(
        &world,
        &[
            "agent",
            "create",
            "main",
            "--model",
            &parent,
            "--may-start",
            "helper",
        ],
    );
    write_policy(&world, NO_COMMANDS);
    let said = world.wakeful(&["run", "go", "--agent", "main", "--json"]);
    let run = said.json();
    assert_eq!(statuses(&run), ["denied", "denied", "ok"], "{said:?}");
    let key = run["run_key"].as_str().expect("a key");
    let retried = world.wakeful(&["runs", "retry", key, "--from", "1", "--json"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    // Another command performs what is queued.
    world.wakeful(&["run", "go", "--agent", "main", "--json"]);
    let (parents, children) = (runs(&world, "main"), runs(&world, "helper"));
    assert!(
        parents.len() >= 2 && !children.is_empty(),
        "{parents:?} {children:?}"
    );
    for run in parents.iter().chain(&children) {
        let calls = run["tool_calls"].as_array().expect("calls");
        for call in calls.iter().filter(|call| call["tool"] == "ExecCommand") {
            assert_eq!(call["status"], "denied", "{call}");
        }
    }
    let left = std::fs::read_dir(world.workspace()).expect("a folder").count();
    assert_eq!(left, 0, "a command ran");
}

#[test]
fn a_denied_tool_stays_denied_in_every_spelling() {
    let world = TestHome::new();
    let names = [
        "ExecCommand",
        "execcommand",
        "EXECCOMMAND",
        " ExecCommand",
        "ExecCommand\u{200b}",
        "\u{ff25}xecCommand",
        "Ex\u{435}cCommand",
        "ExecCommand\n",
        "a/../ExecCommand",
    ];
    let asked: Vec<_> = names.map(|name| (name, json!({"cmd": "touch a"}))).into();
    let model = world.script(&calls(&asked));
    ok(
        &world,
        &[
            "agent",
            "create",
            "main",
            "--model",
            &model,
            "--deny-tools",
            "ExecCommand",
        ],
    );
    let said = world.wakeful(&["run", "go", "--agent", "main", "--json"]);
    assert_eq!(statuses(&said.json()), ["denied"; 9], "{said:?}");
    assert!(!world.workspace().join("a").exists());
}

#[test]
fn a_denied_path_stays_denied_in_every_spelling() {
    let world = TestHome::new();
    for folder in ["locked/deep", "src", ".git/hooks"] {
        std::fs::create_dir_all(world.workspace().join(folder)).expect("a folder");
    }
    symlink("locked", world.workspace().join("link")).expect("a link");
    std::fs::write(world.workspace().join("locked/old"), "kept").expect("a file");
    symlink("../locked/old", world.workspace().join("src/file")).expect("a link");
    let absolute = world.workspace().join("locked/x").display().to_string();
    let paths = [
        "locked/x",
        "./locked//x",
        "src/../locked/x",
        "locked/deep/../x",
        "link/x",
        "src/file",
        &absolute,
        ".git/hooks/pre-commit",
        ".GIT/Hooks/pre-commit",
        ".g\u{200c}it/hooks/pre-commit",
        ".v\u{17f}code/tasks.json",
    ];
    let asked: Vec<_> = paths
        .iter()
        .map(|path| ("WriteFile", json!({"path": path, "content": "x"})))
        .collect();
    let model = world.script(&calls(&asked));
    ok(&world, &["agent", "create", "main", "--model", &model]);
    write_policy(&world, LOCKED);
    let said = world.wakeful(&["run", "go", "--agent", "main", "--json"]);
    assert_eq!(statuses(&said.json()), ["denied"; 11], "{said:?}");
    for (folder, count) in [("locked", 2), ("locked/deep", 0), (".git/hooks", 0)] {
        let entries = std::fs::read_dir(world.workspace().join(folder)).expect("a folder");
        assert_eq!(entries.count(), count, "{folder}");
    }
    let old = std::fs::read_to_string(world.workspace().join("locked/old"));
    assert_eq!(old.expect("a file"), "kept");
}

// Conformance: A-179
#[test]
fn a_sub_run_reads_only_what_its_parent_may_read() {
    let world = TestHome::new();
    let outside = world.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::write(outside.join("note"), "seventeen").expect("a file");
    let outside = outside.display().to_string();
    let read = ("ExecCommand", json!({"cmd": format!("cat {outside}/note")}));
    let start = json!({"agent_id": "helper", "initial_message": "read it"});
    let parent = world.script_named("parent.yaml", &calls(&[("StartRun", start)]));
    let child = world.script_named("child.yaml", &calls(&[read]));
    let allowed = ["--allow-read", &outside];
    ok(
        &world,
        &[&["agent", "create", "helper", "--model", &child], &allowed[..]].concat(),
    );
    let may_start = ["--may-start", "helper"];
    ok(
        &world,
        &[&["agent", "create", "main", "--model", &parent], &may_start[..]].concat(),
    );
    let newest_exit = || {
        ok(&world, &["run", "go", "--agent", "main", "--json"]);
        let run = runs(&world, "helper").remove(0);
        run["tool_calls"][0]["exit_status"].clone()
    };
    assert_eq!(newest_exit(), json!(1), "the parent may not read it");
    ok(&world, &[&["agent", "set", "main"], &allowed[..]].concat());
    assert_eq!(newest_exit(), json!(0), "both may read it");
}
