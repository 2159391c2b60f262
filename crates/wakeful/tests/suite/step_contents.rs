//! What the steps of a run received and produced, as the API and `wakeful runs show` present it.

use serde_json::Value;

use super::home_fixture::TestHome;

/// Two rounds of commands: one with both output streams and a status, one with more output than is listed.
const COMMANDS: &str = r#"
rounds:
  - text: Let me look.
    tools:
      - {name: ExecCommand, input: {cmd: "echo out; echo err >&2; exit 3"}}
      - {name: Invented, input: {x: 1}}
  - tools: [{name: ExecCommand, input: {cmd: "seq 1 20000"}}]
  - text: done
"#;

fn shown(world: &TestHome, args: &[&str]) -> Value {
    let run = world.run(COMMANDS, &[]).json();
    let key = run["run_key"].as_str().expect("a key").to_owned();
    world
        .wakeful(&[&["runs", "show", &key, "--json"], args].concat())
        .json()
}

#[test]
fn a_step_has_its_arguments_its_output_and_its_exit_status() {
    let full = shown(&TestHome::new(), &[]);
    let steps = full["steps"].as_array().expect("steps");
    assert_eq!(steps[0]["output"]["text"], "Let me look.", "{full}");
    let command = &steps[1];
    let cmd: Value =
        serde_json::from_str(command["input"]["text"].as_str().expect("arguments")).expect("JSON");
    assert_eq!(cmd["cmd"], "echo out; echo err >&2; exit 3");
    assert_eq!(command["output"]["text"], "out\n", "{command}");
    assert_eq!(command["error_output"]["text"], "err\n", "{command}");
    assert_eq!(command["exit_status"], 3, "{command}");
    let invented = &steps[2];
    let text = invented["output"]["text"].as_str().expect("a result");
    assert!(text.contains("unknown_tool"), "{invented}");
    assert_eq!(steps[5]["output"]["text"], "done", "{full}");
}

#[test]
fn long_output_is_bounded_in_a_run_and_whole_in_its_step() {
    const BOUND: usize = 16 * 1024;
    let whole: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    let world = TestHome::new();
    let listed = &shown(&world, &[])["steps"][4]["output"];
    let text = listed["text"].as_str().expect("text");
    assert!(text.len() <= BOUND + 100 && text.starts_with("1\n2\n") && text.ends_with("20000\n"));
    assert_eq!(
        (&listed["bytes"], &listed["truncated"]),
        (&whole.len().into(), &true.into())
    );
    let full = &shown(&world, &["--full"])["steps"][4]["output"];
    assert_eq!(full["text"].as_str(), Some(whole.as_str()));
    assert_eq!(
        (&full["bytes"], &full["truncated"]),
        (&whole.len().into(), &Value::Null)
    );
}
