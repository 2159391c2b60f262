//! Lists and single objects as people read them: tables, times, keys and what a change changed.

use super::home_fixture::{CommandOutput, TestHome, program};

/// A run with a prompt, a command that fails, a refused call and an answer.
const SCRIPT: &str = r#"
rounds:
  - text: Let me look.
    tools:
      - {name: ExecCommand, input: {cmd: "echo out; echo err >&2; exit 3"}}
      - {name: Invented, input: {x: 1}}
  - text: All done.
"#;

fn run(world: &TestHome, prompt: &str) -> String {
    let model = world.script(SCRIPT);
    let run = [
        "run",
        prompt,
        "--json",
        "--model",
        &model,
        "--agent",
        "main",
        "--create-agent",
    ];
    let run = world.wakeful(&run).json();
    run["run_key"].as_str().expect("a key").to_owned()
}

fn at_width(world: &TestHome, columns: &str, args: &[&str]) -> String {
    let mut command = world.command(program());
    command.env("COLUMNS", columns).env("LANG", "C.UTF-8");
    let said: CommandOutput = command.args(args).output().expect("the program starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    said.stdout
}

#[test]
fn runs_are_listed_with_their_prompts_in_the_width_of_the_terminal() {
    let world = TestHome::new();
    run(
        &world,
        "Summarise the report of the last week\nand send it to everyone who asked",
    );
    run(&world, "Write a reply");
    let list = |columns: &str| at_width(&world, columns, &["runs", "list"]);
    for columns in ["40", "80", "120"] {
        let text = list(columns);
        let width: usize = columns.parse().expect("a number");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        assert!(text.contains("PROMPT") && text.contains("Summari"), "{text}");
    }
    let narrow = list("40");
    assert!(!narrow.contains("AGENT") && narrow.contains('…'), "{narrow}");
    let wide = list("120");
    assert!(
        wide.contains("Summarise the report of the last week and send it to everyone who asked"),
        "{wide}"
    );
}

#[test]
fn a_run_is_shown_with_prompt_commands_output_and_answer() {
    let world = TestHome::new();
    let key = run(&world, "Look around");
    let shown = at_width(&world, "80", &["runs", "show", &key[..10]]);
    for part in [
        &format!("run      {key}\n"),
        "status   completed\n",
        "used     2 model rounds, 2 tool calls, ",
        "\nprompt\n  Look around\n",
        "Let me look.",
        "$ echo out; echo err >&2; exit 3\n",
        "| out\n",
        "! err\n",
        "exit 3",
        "Invented  denied (unknown_tool)",
        "\nanswer\n  All done.\n",
    ] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    assert_eq!(shown.matches("All done.").count(), 1, "{shown}");
    let absolute = at_width(&world, "80", &["runs", "show", &key, "--absolute"]);
    assert!(absolute.contains("started  20"), "{absolute}");
}

#[test]
fn every_id_of_a_run_leads_to_it() {
    let world = TestHome::new();
    let key = run(&world, "one");
    let full = world.wakeful(&["runs", "show", &key, "--json"]).json();
    let operation = full["steps"][1]["operation_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for id in [key.as_str(), &key[..12], &operation, &operation[..12]] {
        for verb in [&["runs", "show"][..], &["why"]] {
            let found = world.wakeful(&[verb, &[id, "--json"]].concat()).json();
            assert_eq!(found["run_key"], key.as_str(), "{verb:?} {id}");
        }
    }
    let model = world.script("rounds: [{tools: [{name: ExecCommand, input: {cmd: pwd}}]}]\n");
    let args = [
        "run",
        "two",
        "--model",
        &model,
        "--ask-tools",
        "ExecCommand",
        "--json",
    ];
    assert_eq!(world.wakeful(&args).code, Some(3));
    let pending = world.wakeful(&["decision", "list", "--json"]).json();
    let asked = pending["decisions"][0]["run_key"].clone();
    let decision = pending["decisions"][0]["decision_id"].as_str().expect("an id");
    for id in [decision, &decision[..12]] {
        for verb in [&["runs", "show"][..], &["why"]] {
            let found = world.wakeful(&[verb, &[id, "--json"]].concat()).json();
            assert_eq!(found["run_key"], asked, "{verb:?} {id}");
        }
    }
    let missing = world.wakeful(&["runs", "show", "--json", "0000000000"]);
    assert_eq!(missing.error_code(), "run_unknown");
    assert!(missing.stdout.contains("wakeful runs list"), "{missing:?}");
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let world = TestHome::new();
    let keys: Vec<String> = (0..17).map(|number| run(&world, &number.to_string())).collect();
    let digits: Vec<char> = keys.iter().filter_map(|key| key.chars().next()).collect();
    // Seventeen keys begin with at most sixteen digits.
    let twice = digits
        .iter()
        .find(|digit| digits.iter().filter(|other| other == digit).count() > 1);
    let digit = twice.expect("two keys begin alike").to_string();
    let said = world.wakeful(&["runs", "show", &digit, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "run_ambiguous")
    );
    let message = said.json()["error"]["message"]
        .as_str()
        .expect("a message")
        .to_owned();
    let candidates: Vec<_> = keys.iter().filter(|key| message.contains(&key[..12])).collect();
    assert!(
        candidates.len() > 1 && candidates.iter().all(|key| key.starts_with(&digit)),
        "{message}"
    );
}

#[test]
fn a_schedule_is_found_by_a_prefix_and_a_change_names_what_changed() {
    let world = TestHome::new();
    run(&world, "hello");
    let add = [
        "schedule",
        "add",
        "main",
        "--every",
        "2h",
        "--message",
        "x",
        "--id",
        "nightly-report",
    ];
    assert_eq!(world.wakeful(&add).code, Some(0));
    let paused = world.wakeful(&["schedule", "pause", "night"]);
    assert!(
        paused.stdout.contains("schedule nightly-report\n") && paused.stdout.contains("paused (was active)"),
        "{paused:?}"
    );
    let again = world.wakeful(&["schedule", "pause", "night"]);
    assert!(again.stdout.contains("is unchanged (paused)"), "{again:?}");
    let listed = world.wakeful(&["schedule", "list"]).stdout;
    assert!(
        listed.starts_with("SCHEDULE  ") && listed.contains("every 2 h"),
        "{listed}"
    );
    let missing = world.wakeful(&["schedule", "pause", "x", "--json"]);
    assert_eq!(missing.error_code(), "schedule_unknown");
}

#[test]
fn releasing_a_brake_names_what_was_released() {
    let world = TestHome::new();
    run(&world, "hello");
    assert_eq!(world.wakeful(&["brake", "on", "--agent", "main"]).code, Some(0));
    let off = world.wakeful(&["brake", "off", "--agent", "main"]);
    assert!(off.stdout.contains("released agent main"), "{off:?}");
    assert!(off.stderr.contains("no daemon is running here"), "{off:?}");
    let again = world.wakeful(&["brake", "off"]);
    assert!(again.stdout.contains("nothing changed"), "{again:?}");
}

#[test]
fn questions_about_waking_say_that_no_daemon_runs() {
    let world = TestHome::new();
    run(&world, "hello");
    let not = world.wakeful(&["why-not", "main"]);
    assert!(not.stderr.contains("no daemon runs in this home"), "{not:?}");
    let sent = world.wakeful(&["message", "main", "later", "--json"]).json();
    let key = sent["run_key"].as_str().expect("a key");
    let why = world.wakeful(&["why", &key[..12]]);
    assert!(why.stderr.contains("no daemon runs in this home"), "{why:?}");
    let said = world.wakeful(&["message", "main", "again"]);
    assert!(
        said.stdout.contains("wakeful runs show ") && said.stdout.len() < 80,
        "{said:?}"
    );
}

#[test]
fn destroyed_agents_are_not_listed_as_asleep() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["agent", "create", "coach"]).code, Some(0));
    assert_eq!(
        world.wakeful(&["agent", "destroy", "coach", "--yes"]).code,
        Some(0)
    );
    let listed = world.wakeful(&["agent", "list"]).stdout;
    assert!(
        listed.starts_with("AGENT  STATE") && listed.contains("coach  destroyed"),
        "{listed}"
    );
}

#[test]
fn tail_shows_as_many_events_as_were_requested() {
    let world = TestHome::new();
    (0..3).for_each(|number| drop(run(&world, &number.to_string())));
    let lines = |args: &[&str]| {
        let said = world.wakeful(&[&["tail", "--no-follow", "--display", "info"], args].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(&["-n", "500"]);
    assert!(all.len() > 6, "{all:?}");
    for agent in [&[][..], &["main"]] {
        let some = lines(&[&["-n", "5"], agent].concat());
        assert_eq!(some, all[all.len() - 5..], "{agent:?}");
    }
}

#[test]
fn guides_are_printed_and_unknown_topics_are_corrected() {
    let world = TestHome::new();
    let listed = world.wakeful(&["help", "--json"]).json();
    let topics = listed["topics"].as_array().expect("topics").clone();
    assert!(topics.len() > 10);
    for topic in topics {
        let name = topic["topic"].as_str().expect("a name");
        let guide = at_width(&world, "72", &["help", name]);
        assert!(guide.len() > 500, "{name}: {guide}");
    }
    let of_command = at_width(&world, "80", &["help", "runs", "show"]);
    let help = at_width(&world, "80", &["runs", "show", "--help"]);
    assert_eq!(of_command.trim(), help.trim());
    let unknown = world.wakeful(&["help", "securty", "--json"]);
    assert_eq!(
        (unknown.code, unknown.error_code().as_str()),
        (Some(2), "topic_unknown")
    );
    assert!(unknown.stdout.contains("wakeful help security"), "{unknown:?}");
    assert!(!world.home().exists());
}
