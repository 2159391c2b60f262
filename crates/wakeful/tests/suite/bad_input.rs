//! Wrong calls: each gets a code and a sentence that names the problem, and changes nothing.

use super::home_fixture::TestHome;

/// Calls the program and expects a usage failure with this code that mentions these words.
fn refused(args: &[&str], code: &str, words: &[&str]) {
    let world = TestHome::new();
    let said = world.wakeful(args);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), code),
        "{said:?}"
    );
    for word in words {
        assert!(said.stderr.contains(word), "{word:?} is not in {said:?}");
    }
    assert!(!world.home().exists(), "a wrong call made a home: {said:?}");
}

#[test]
fn an_unknown_model_is_refused_with_the_known_forms() {
    refused(
        &["run", "x", "--json", "--model", "gpt-99"],
        "model_unknown",
        &["gpt-99", "scripted:FILE"],
    );
    refused(
        &["run", "x", "--json", "--model", "scripted:"],
        "model_unknown",
        &["scripted:FILE"],
    );
}

#[test]
fn an_unknown_flag_is_refused_with_a_suggestion() {
    let said = TestHome::new().wakeful(&["run", "x", "--modle", "demo"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("--model"), "{said:?}");
}

#[test]
fn a_missing_prompt_is_refused() {
    assert_eq!(TestHome::new().wakeful(&["run"]).code, Some(2));
    refused(&["run", "   ", "--json"], "bad_prompt", &["empty"]);
    assert_eq!(TestHome::new().wakeful(&["run", "x", "--resume"]).code, Some(2));
}

#[test]
fn a_prompt_that_is_too_large_is_refused_with_a_hint() {
    let world = TestHome::new();
    let large = world.path().join("large.yaml");
    std::fs::write(&large, "x".repeat(300 * 1024)).expect("a file");
    let mut command = world.command(super::home_fixture::program());
    command
        .args(["run", "-", "--json"])
        .stdin(std::fs::File::open(&large).expect("opens"));
    let said: super::home_fixture::CommandOutput = command.output().expect("starts").into();
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "prompt_too_large")
    );
}

#[test]
fn a_script_that_cannot_be_read_is_named() {
    let world = TestHome::new();
    let said = world.wakeful(&["run", "x", "--json", "--model", "scripted:/nowhere/script.yaml"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "script_unreadable")
    );
    let folder = world.path().join("folder.yaml");
    std::fs::create_dir(&folder).expect("a folder");
    let folder = format!("scripted:{}", folder.display());
    assert_eq!(
        world
            .wakeful(&["run", "x", "--json", "--model", &folder])
            .error_code(),
        "script_unreadable"
    );
}

#[test]
fn a_malformed_script_is_refused_with_line_and_field() {
    let world = TestHome::new();
    let script = "rounds:\n  - text: fine\n  - tools:\n      - { nmae: ExecCommand, input: {} }\n";
    let said = world.run(script, &[]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "script_invalid"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("rounds[1].tools[0]") && said.stderr.contains('4'),
        "{said:?}"
    );
    assert!(!world.home().exists());
    for bad in [
        "",
        "rounds: 7\n",
        "rounds: []\n",
        "rounds:\n  - text: a\n   text: b\n",
        "\u{0}\u{1}",
        "rounds:\n  - delay_ms: -1\n    text: x\n",
    ] {
        let said = world.run(bad, &[]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "script_invalid"),
            "{bad:?} {said:?}"
        );
    }
}

#[test]
fn bad_names_and_numbers_are_refused() {
    refused(
        &["run", "x", "--json", "--agent", "No Good"],
        "bad_id",
        &["No Good"],
    );
    refused(
        &["run", "x", "--json", "--idempotency-key", ""],
        "bad_id",
        &["idempotency key"],
    );
    refused(
        &["run", "x", "--json", "--deny-tools", "ExecComand"],
        "unknown_tool",
        &["ExecCommand"],
    );
    for rounds in ["0", "-1", "many", "100001"] {
        assert_eq!(
            TestHome::new()
                .wakeful(&["run", "x", "--max-rounds", rounds])
                .code,
            Some(2),
            "{rounds}"
        );
    }
}

#[test]
fn a_workspace_that_overlaps_the_home_is_refused_before_any_change() {
    let world = TestHome::new();
    let around = world.path().display().to_string();
    refused_workspace(&world, &around, "workspace_overlaps_home", "give --workspace DIR");
    refused_workspace(&world, "/nowhere", "workspace_unusable", "No such file");
    refused_workspace(&world, "/dev/null", "workspace_unusable", "ot a directory");
    std::os::unix::fs::symlink(world.path(), world.workspace().join("around")).expect("a link");
    refused_workspace(
        &world,
        "around",
        "workspace_overlaps_home",
        "give --workspace DIR",
    );
    // A named agent that does not exist yet would work in the current folder.
    let mut command = world.command(super::home_fixture::program());
    command
        .current_dir(world.path())
        .args(["run", "x", "--json", "--agent", "a", "--create-agent"]);
    let said: super::home_fixture::CommandOutput = command.output().expect("starts").into();
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "workspace_overlaps_home"),
        "{said:?}"
    );
    let said = world.wakeful(&["agent", "create", "a", "--json", "--workspace", &around]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "workspace_overlaps_home"),
        "{said:?}"
    );
    assert!(!world.home().exists(), "a wrong call made a home");
}

#[test]
fn a_workspace_inside_an_existing_home_is_refused() {
    let world = TestHome::new();
    assert_eq!(world.run("rounds: [{text: hello}]\n", &[]).code, Some(0));
    std::os::unix::fs::symlink(world.home(), world.path().join("link")).expect("a link");
    for inside in [
        world.home(),
        world.home().join("blobs"),
        world.path().join("link"),
    ] {
        refused_workspace(
            &world,
            &inside.display().to_string(),
            "workspace_overlaps_home",
            "overlap",
        );
    }
}

fn refused_workspace(world: &TestHome, workspace: &str, code: &str, word: &str) {
    let said = world.wakeful(&["run", "x", "--json", "--workspace", workspace]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), code),
        "{said:?}"
    );
    assert!(said.stderr.contains(word), "{word}: {said:?}");
}

#[test]
fn a_script_must_be_a_regular_file() {
    let world = TestHome::new();
    let pipe = world.path().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let folder = world.path().join("folder.yaml");
    std::fs::create_dir(&folder).expect("a folder");
    for file in [&pipe, &folder] {
        let model = format!("scripted:{}", file.display());
        let said = world.wakeful(&["run", "x", "--json", "--model", &model]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "script_unreadable"),
            "{said:?}"
        );
        assert!(said.stderr.contains("not a regular file"), "{said:?}");
    }
}

#[test]
fn only_a_yaml_file_can_be_named_as_a_script() {
    let world = TestHome::new();
    let link = world.path().join("link.yaml");
    std::os::unix::fs::symlink("/etc/passwd", &link).expect("linked");
    let mut messages = Vec::new();
    for file in ["/etc/passwd", "/etc/no-such-file", &link.display().to_string()] {
        let model = format!("scripted:{file}");
        let said = world.wakeful(&["run", "x", "--json", "--model", &model]);
        assert_eq!(said.error_code(), "script_invalid", "{said:?}");
        let message = said.json()["error"]["message"].to_string();
        messages.push(message.replace(file, "FILE"));
    }
    messages.dedup();
    assert_eq!(
        messages.len(),
        1,
        "none tells whether the file is there: {messages:?}"
    );
}

#[test]
fn input_cut_inside_a_character_is_still_reported_as_too_large() {
    let world = TestHome::new();
    let large = world.path().join("large.yaml");
    // Two bytes each: one byte more than any even limit is inside a character.
    std::fs::write(&large, "é".repeat(5 * 1024 * 1024)).expect("a file");
    let mut command = world.command(super::home_fixture::program());
    command
        .args(["run", "-", "--json"])
        .stdin(std::fs::File::open(&large).expect("opens"));
    let said: super::home_fixture::CommandOutput = command.output().expect("starts").into();
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "prompt_too_large"),
        "{said:?}"
    );
    let model = format!("scripted:{}", large.display());
    let said = world.wakeful(&["run", "x", "--json", "--model", &model]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "script_invalid"),
        "{said:?}"
    );
    assert!(said.stderr.contains("at most"), "{said:?}");
}

#[test]
fn listing_runs_of_an_unknown_agent_is_an_error() {
    let world = TestHome::new();
    assert_eq!(world.run("rounds: [{text: hello}]\n", &[]).code, Some(0));
    let said = world.wakeful(&["runs", "list", "--agent", "nobody", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "agent_unknown"),
        "{said:?}"
    );
}
