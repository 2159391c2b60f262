//! `wakeful run --schema`: answers that fit a JSON Schema.

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}"#;

/// Asks a model that gives these answers, one after the other.
fn ask(world: &TestHome, answers: &[&str], args: &[&str]) -> CommandOutput {
    let rounds = answers.iter().map(|answer| format!("  - text: '{answer}'\n"));
    let model = world.script(&format!("rounds:\n{}", rounds.collect::<String>()));
    let schema = world.path().join("schema.json");
    std::fs::write(&schema, SCHEMA).expect("a schema");
    let schema = schema.display().to_string();
    world.wakeful(
        &[
            &["run", "how many?", "--model", &model, "--schema", &schema],
            args,
        ]
        .concat(),
    )
}

#[test]
fn standard_output_has_exactly_the_answer() {
    let world = TestHome::new();
    let said = ask(&world, &[r#"{"n": 3}"#], &[]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "{\"n\": 3}\n"),
        "{said:?}"
    );
    let said = ask(&world, &[r#"{"n": 3}"#], &["--json"]).json();
    assert_eq!(said["answer"]["n"], 3, "{said}");
}

#[test]
fn an_answer_that_does_not_fit_is_corrected_once() {
    let world = TestHome::new();
    let said = ask(
        &world,
        &["It is 3.", r#"{"n": 3}"#],
        &["--agent", "main", "--create-agent"],
    );
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "{\"n\": 3}\n"),
        "{said:?}"
    );
    let transcript = world.wakeful(&["transcript", "main"]).stdout;
    assert!(
        transcript.contains("does not fit the required JSON Schema"),
        "{transcript}"
    );
    let runs = world.wakeful(&["runs", "list", "--json"]).json();
    let key = runs["runs"][0]["run_key"].as_str().expect("a key").to_owned();
    for checked in [&["verify"][..], &["replay", &key]] {
        assert_eq!(world.wakeful(checked).code, Some(0), "{checked:?}");
    }
}

#[test]
fn a_run_without_a_fitting_answer_fails_and_prints_nothing() {
    let world = TestHome::new();
    let said = ask(&world, &[r#"{"n": 0}"#, r#"{"n": "3"}"#, r#"{"n": 3}"#], &[]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.stderr.contains("answer_not_valid"), "{said:?}");
    let said = ask(&world, &["[]", "[]"], &["--json"]).json();
    assert_eq!(said["failure_artifact"]["kind"], "answer_not_valid", "{said}");
}

#[test]
fn a_daemon_keeps_the_schema_with_the_message() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = ask(&world, &["no", r#"{"n": 3}"#], &[]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "{\"n\": 3}\n"),
        "{said:?}"
    );
    drop(daemon);
    let said = world.wakeful(&["run", "x", "--schema", "/dev/null", "--json"]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(2), "bad_answer_schema".to_owned())
    );
}
