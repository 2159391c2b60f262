//! Decisions as people use them: listed, shown, answered once, with and without a daemon.

use serde_json::{Value, json};
use wakeful_core::conversation::Usage;
use wakeful_core::decision::{ApprovalRequest, Decision, ProposedAction};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::run::RunStatus;

use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::tool::CallRecord;
use wakeful_store::rows::StepRow;
use wakeful_store::{SqliteOptions, Store, StoreError, Tx};

use super::api::block_on;
use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands};

/// Writes to a home's database, as one of its runs would.
pub(super) fn write<T: Send + 'static>(
    world: &TestHome,
    change: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> T {
    let home = world.home();
    block_on(async {
        let options = SqliteOptions::new(home.join("agent.sqlite"), home.join("blobs"));
        let store = Store::open_sqlite(&options, "host").expect("the home's database");
        let done = store.write(change).await.expect("written");
        store.close().await.expect("closed");
        done
    })
}

/// A pending decision of a run of `main`.
pub(super) fn question(run: &str, name: &str) -> Decision {
    let inquiry = ApprovalRequest::new(
        ProposedAction {
            operation_id: OperationId(Digest::of(name.as_bytes())),
            tool: "ExecCommand",
            input: "echo sk-very-secret",
            class: EffectClass::Plain,
            risk: None,
        },
        "ask_tool",
        None,
    );
    let run = RunKey(Digest::from_hex(run).expect("a key"));
    let agent = AgentId::parse("main").expect("a name");
    inquiry.asked_by(agent, run, Millis(1_771_344_000_000), None)
}

/// Creates a decision and returns its id.
pub(super) fn ask(world: &TestHome, run: &str, name: &str) -> String {
    let decision = question(run, name);
    let id = decision.inquiry.decision_id.to_string();
    write(world, move |tx| tx.put_decision(&decision, 0));
    id
}

/// A home with an agent and an open run without a driver.
pub(super) fn with_open_run(world: &TestHome) -> String {
    world.wakeful(&["agent", "create", "main"]);
    world.orphan("silent.yaml", &["--agent", "main"])
}

fn answer(world: &TestHome, id: &str, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["decision", "answer", id, "--json"], args].concat())
}

#[test]
fn a_decision_is_listed_and_shown_with_the_command_that_answers_it() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let id = ask(&world, &run, "a");
    let shown = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(shown["activity"], "waiting_on_human", "{shown}");
    let text = world.wakeful(&["status"]).stdout;
    assert!(text.contains("0 running, 1 waiting for you"), "{text}");
    let list = world.wakeful(&["decision", "list", "--json"]).json();
    assert_eq!(
        (&list["pending_count"], &list["decisions"][0]["decision_id"]),
        (&json!(1), &json!(id))
    );
    let said = world.wakeful(&["decision", "list"]);
    assert!(
        said.stdout.contains(&id[..12]) && said.stdout.contains("high"),
        "{said:?}"
    );
    let said = world.wakeful(&["decision", "show", &id[..10]]);
    for words in [
        "May ExecCommand be used?",
        "pending (version 1)",
        "blast radius unknown",
        "option    approve",
    ] {
        assert!(said.stdout.contains(words), "{words}: {said:?}");
    }
    let command = format!("`wakeful decision answer {} approve`", &id[..12]);
    assert!(said.stdout.contains(&command), "{said:?}");
}

#[test]
fn a_second_answer_is_refused_and_shows_the_first() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let id = ask(&world, &run, "a");
    let said = answer(&world, &id, &["perhaps"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "option_unknown"),
        "{said:?}"
    );
    let said = answer(&world, &id, &["approve", "--version", "2"]);
    assert_eq!(said.error_code(), "decision_changed", "{said:?}");
    let said = answer(
        &world,
        &id[..12],
        &["approve", "--version", "1", "--note", "continue"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let answered = said.json();
    assert_eq!(
        (&answered["status"], &answered["answer"]["channel"]),
        (&json!("answered"), &json!("cli"))
    );
    assert_eq!(answered["answer"]["note"], "continue");
    assert!(said.stderr.contains("wakeful run --resume"), "{said:?}");
    let said = answer(&world, &id, &["deny"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "decision_closed"),
        "{said:?}"
    );
    let list = world.wakeful(&["decision", "list", "--json"]).json();
    assert_eq!(
        (&list["pending_count"], &list["decisions"]),
        (&json!(0), &json!([]))
    );
    let all = world.wakeful(&["decision", "list", "--all", "--json"]).json();
    assert_eq!(all["decisions"][0]["answer"]["option"], "approve");
    let said = world.wakeful(&["decision", "list"]);
    assert!(said.stdout.contains("no decisions are pending"), "{said:?}");
}

#[test]
fn an_unknown_and_an_ambiguous_decision_id_are_distinguished() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    // Of seventeen ids at least two start with the same digit.
    let names: Vec<String> = (0..17).map(|n| ask(&world, &run, &n.to_string())).collect();
    let twice = names.iter().find_map(|one| {
        let same = names.iter().filter(|other| other[..1] == one[..1]).count();
        (same > 1).then(|| one[..1].to_owned())
    });
    let said = world.wakeful(&["decision", "show", &twice.expect("two"), "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "decision_ambiguous"),
        "{said:?}"
    );
    let candidates = names.iter().filter(|name| said.stdout.contains(&name[..12]));
    assert!(candidates.count() > 1, "{said:?}");
    let said = world.wakeful(&["decision", "show", &"0".repeat(64), "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "decision_unknown"),
        "{said:?}"
    );
    for odd in ["xyz", ""] {
        let said = world.wakeful(&["decision", "show", odd, "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_id"),
            "{said:?}"
        );
    }
}

#[test]
fn a_daemon_shows_the_same_decisions_and_accepts_the_same_answers() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let (first, second) = (ask(&world, &run, "a"), ask(&world, &run, "b"));
    let list = |world: &TestHome| world.wakeful(&["decision", "list", "--all", "--json"]).json();
    let alone = list(&world);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(list(&world), alone);
    let said = answer(&world, &first, &["deny", "--note", "not now"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.json()["answer"]["channel"], "cli");
    assert!(!said.stderr.contains("--resume"), "{said:?}");
    for (id, option, code) in [
        (first.as_str(), "approve", "decision_closed"),
        (second.as_str(), "perhaps", "option_unknown"),
        ("0000000000000000", "deny", "decision_unknown"),
    ] {
        assert_eq!(answer(&world, id, &[option]).error_code(), code);
    }
    drop(daemon);
    let left = list(&world);
    assert_eq!(left["pending_count"], 1, "{left}");
    assert_eq!(
        left["decisions"].as_array().map(Vec::len),
        Some(2),
        "it survives the end of the daemon"
    );
}

#[test]
fn of_two_concurrent_answers_exactly_one_is_accepted() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let id = ask(&world, &run, "a");
    let _daemon = RunningDaemon::serve(&world, &[]);
    let both = ["approve", "deny"].map(|option| world.start(&["decision", "answer", &id, option, "--json"]));
    let said = both.map(|child| CommandOutput::from(child.wait_with_output().expect("ends")));
    let mut codes = said.each_ref().map(|said| said.code);
    codes.sort();
    assert_eq!(codes, [Some(0), Some(1)], "{said:?}");
    let (won, lost) = match said[0].code {
        Some(0) => (&said[0], &said[1]),
        _ => (&said[1], &said[0]),
    };
    assert_eq!(lost.error_code(), "decision_closed");
    let stands = world.wakeful(&["decision", "show", &id, "--json"]).json();
    assert_eq!(stands["answer"], won.json()["answer"]);
}

#[test]
fn every_status_shows_pending_decisions() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    ask(&world, &run, "a");
    let look = |world: &TestHome| {
        let status = world.wakeful(&["status"]);
        assert!(status.stdout.contains("1 decision waits for you"), "{status:?}");
        let json = world.wakeful(&["status", "--json"]).json();
        assert_eq!(json["pending_decision_count"], 1, "{json}");
        let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
        assert_eq!(agent["pending_decisions"], 1, "{agent}");
        let list = world.wakeful(&["agent", "list"]);
        assert!(list.stdout.contains("1 to decide"), "{list:?}");
        let doctor = world.wakeful(&["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().expect("checks");
        let check = checks
            .iter()
            .find(|check| check["name"] == "decisions")
            .expect("a check");
        assert_eq!(check["status"], "warning", "{check}");
    };
    look(&world);
    let _daemon = RunningDaemon::serve(&world, &[]);
    look(&world);
}

/// A quarantined run has not ended, and the error differs from that of an ended run.
fn cannot_be_cancelled(world: &TestHome, run: &str) {
    let said = world.wakeful(&["runs", "cancel", run, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "run_quarantined"),
        "{said:?}"
    );
    for word in ["it broke off five times", "runs resume", "runs abandon"] {
        assert!(said.stderr.contains(word), "{word}: {said:?}");
    }
}

fn is_listed_with_its_reason(world: &TestHome, run: &str) {
    let list = world.wakeful(&["runs", "list", "--status", "quarantined"]);
    let line = list.stdout.lines().find(|line| line.starts_with(&run[..12]));
    assert!(
        line.is_some_and(|line| line.contains("  it broke off five times")),
        "{list:?}"
    );
}

#[test]
fn a_quarantined_run_is_listed_and_retried_or_abandoned() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let said = world.wakeful(&["runs", "resume", &run, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "run_not_quarantined"),
        "{said:?}"
    );
    let aside = |world: &TestHome| {
        let key = RunKey(Digest::from_hex(&run).expect("a key"));
        write(world, move |tx| {
            let fault = r#"{"code":"crash_loop","why":"it broke off five times"}"#;
            tx.set_run_status(&key, RunStatus::Quarantined, Some(fault), Millis(9))
        });
    };
    let listed = |world: &TestHome, state: &str| {
        let list = world
            .wakeful(&["runs", "list", "--status", state, "--json"])
            .json();
        list["runs"]
            .as_array()
            .expect("runs")
            .iter()
            .map(|one| one["fault"].clone())
            .collect::<Vec<Value>>()
    };
    aside(&world);
    let [Value::String(fault)] = &listed(&world, "quarantined")[..] else {
        panic!("one");
    };
    assert!(fault.contains("it broke off five times"), "{fault}");
    is_listed_with_its_reason(&world, &run);
    assert_eq!(listed(&world, "open"), Vec::<Value>::new());
    let said = world.wakeful(&["status"]);
    assert!(said.stdout.contains("1 run is quarantined"), "{said:?}");
    let shown = world.wakeful(&["runs", "show", &run]);
    assert!(
        shown
            .stdout
            .contains("fault    it broke off five times (crash_loop)\n"),
        "{shown:?}"
    );
    cannot_be_cancelled(&world, &run);
    let said = world.wakeful(&["runs", "resume", &run[..12], "--json"]);
    assert_eq!(
        (said.code, &said.json()["outcome"]),
        (Some(0), &json!("open")),
        "{said:?}"
    );
    assert!(said.stderr.contains("wakeful run --resume"), "{said:?}");
    aside(&world);
    let _daemon = RunningDaemon::serve(&world, &[]);
    cannot_be_cancelled(&world, &run);
    let said = world.wakeful(&["runs", "abandon", &run, "--json"]);
    assert_eq!(
        (said.code, &said.json()["outcome"]),
        (Some(0), &json!("abandoned")),
        "{said:?}"
    );
    assert_eq!(
        world.wakeful(&["runs", "abandon", &run, "--json"]).error_code(),
        "run_not_quarantined"
    );
    assert_eq!(listed(&world, "quarantined"), Vec::<Value>::new());
    let said = world.wakeful(&["runs", "list", "--status", "quarantined"]);
    assert_eq!(said.stdout.trim(), "no run matches");
}

/// An abandoned run is never continued, so the outcome of its unfinished action stays unknown.
#[test]
fn a_plain_action_of_an_abandoned_run_ends_unknown() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let run_key = RunKey(Digest::from_hex(&run).expect("a key"));
    let step = |name: &str, class| StepRow {
        operation_id: OperationId(Digest::of(name.as_bytes())),
        run_key,
        ordinal: 0,
        name: name.to_owned(),
        class: Some(class),
        base: None,
        status: StepStatus::Intended,
        reason: String::new(),
        put_at: Millis(1),
        duration_ms: None,
        sandbox: None,
        exit_status: None,
        usage: Usage::default(),
        attempt: None,
        call: Some(CallRecord {
            call_id: name.to_owned(),
            input: Digest::of(b"{}"),
            policy_version: PolicyVersion::new("rules-1"),
            end: None,
        }),
    };
    let under_way = [
        step("Mail", EffectClass::Plain),
        step("Read", EffectClass::Idempotent),
    ];
    write(&world, move |tx| {
        under_way.iter().try_for_each(|step| tx.put_step(step))?;
        tx.set_run_status(&run_key, RunStatus::Quarantined, Some("it broke off"), Millis(9))
    });
    let given_up = world.wakeful(&["runs", "abandon", &run, "--json"]);
    assert_eq!(given_up.code, Some(0), "{given_up:?}");
    let steps = world.wakeful(&["runs", "show", &run, "--json"]).json()["steps"].clone();
    let status = |name: &str| {
        let steps = steps.as_array().expect("steps");
        let found = steps.iter().find(|step| step["name"] == name);
        found.map(|step| step["status"].clone())
    };
    assert_eq!(status("Mail"), Some(json!("outcome_unknown")), "{steps}");
    assert_eq!(status("Read"), Some(json!("intended")), "{steps}");
}

/// The tools for which a run needs approval, according to its state.
fn asks(world: &TestHome, agent: &str) -> Vec<String> {
    let agent = AgentId::parse(agent).expect("a name");
    let filter = wakeful_store::rows::RunFilter {
        agent_id: Some(agent),
        limit: 1,
        ..wakeful_store::rows::RunFilter::default()
    };
    let rows = write(world, move |tx| tx.runs(&filter));
    let state: Value = serde_json::from_str(&rows[0].state).expect("a state");
    let tools = state["ask_tools"].as_array().cloned().unwrap_or_default();
    tools
        .iter()
        .map(|tool| tool.as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn tools_that_need_approval_come_from_settings_and_flags_together() {
    let world = TestHome::new();
    let script = world.script(&commands(&[]));
    let run = |agent: &str, args: &[&str]| {
        let all = [
            &[
                "run",
                "do it",
                "--model",
                &script,
                "--agent",
                agent,
                "--create-agent",
            ],
            args,
        ]
        .concat();
        world.wakeful(&all);
        asks(&world, agent)
    };
    assert_eq!(run("free", &[]), Vec::<String>::new());
    assert_eq!(run("flagged", &["--ask-tools", "ExecCommand"]), ["ExecCommand"]);
    let said = world.wakeful(&["agent", "create", "asked", "--ask-tools", "ExecCommand"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(run("other", &[]), Vec::<String>::new());
    let said = world.wakeful(&["config", "set", "agent.ask_tools", "ExecCommand"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(run("third", &["--ask-tools", "ExecCommand"]), ["ExecCommand"]);
    for (args, code, error) in [
        (
            ["config", "set", "agent.ask_tools", "Nonsense"].as_slice(),
            2,
            "bad_value",
        ),
        (
            &["agent", "set", "asked", "--ask-tools", "Nonsense"],
            2,
            "unknown_tool",
        ),
        (
            &["config", "set", "agents.asked.ask_tools", "ExecCommand"],
            2,
            "setting_moved",
        ),
        (
            &["run", "do it", "--model", &script, "--ask-tools", "Nonsense"],
            2,
            "unknown_tool",
        ),
    ] {
        let said = world.wakeful(&[args, &["--json"]].concat());
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(code), error),
            "{said:?}"
        );
    }
    let moved = world.wakeful(&["config", "set", "agents.asked.ask_tools", "ExecCommand"]);
    assert!(
        moved.stderr.contains("wakeful agent set asked --ask-tools"),
        "{moved:?}"
    );
}
