//! Budget: a run that would exceed its daily cap waits durably, and continues when budget is available.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{CommandOutput, TestHome, wait_until};
use super::provider::{FakeProvider, KEY};
use super::route::{chat, provider, write};

/// Each reply costs one cent; a request may cost two and a half at most. Input is free, so that the size of the
/// tools' descriptions has no influence.
const CENTS: &str = r#"
price: { input: 0, output: 10 }
max_output_tokens: 2500
rounds:
  - text: "let me look"
    usage: { input_tokens: 10, output_tokens: 1000 }
    tools: [{ name: ExecCommand, input: { cmd: "echo one >> world.txt" } }]
  - text: "done"
    usage: { input_tokens: 10, output_tokens: 1000 }
"#;

pub(super) fn budget(world: &TestHome) -> Value {
    world.wakeful(&["budget", "show", "--json"]).json()
}

pub(super) fn set(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["budget", "set", "--json"], args].concat())
}

// Conformance: H-017, H-029
#[test]
fn a_day_starts_with_the_default_cap_and_shows_it() {
    let world = TestHome::new();
    let said = world.run(CENTS, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stderr
            .contains("5.00 USD per day applies to all agents together"),
        "{said:?}"
    );
    let run = said.json();
    assert_eq!(run["cost_usd"], "0.02", "{run}");
    let budget = budget(&world);
    assert_eq!(budget["daily_cap_usd"], "5.00");
    assert_eq!(budget["cap_origin"], "default");
    assert_eq!(
        (&budget["spent_usd"], &budget["reserved_usd"]),
        (&json!("0.02"), &json!("0.00"))
    );
    assert_eq!(budget["agents"][0]["requests"], 2);
    let attempts = &run["provider_attempt_timeline"]["attempts"];
    assert_eq!(attempts[0]["cost_usd"], "0.01", "{attempts}");
    assert_eq!(attempts[0]["rule"], "inference_gates");
}

// Conformance: A-43
#[test]
fn a_run_over_its_cap_exits_5_and_continues_after_a_raise() {
    let world = TestHome::new();
    assert_eq!(set(&world, &["0.03"]).code, Some(0));
    let said = world.run(CENTS, &["--agent", "main", "--create-agent"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "budget_exceeded"),
        "{said:?}"
    );
    assert_eq!(world.lines(), ["one"], "what was paid for was done");
    let open = world.open_runs();
    let run = world.wakeful(&["runs", "show", &open[0], "--json"]).json();
    assert_eq!(run["parked"]["code"], "budget_exceeded");
    assert_eq!(run["parked"]["max"], 30_000);
    let listed = world.wakeful(&["runs", "list", "--json"]).stdout;
    assert!(listed.contains("\"parked\":true"), "{listed}");
    for verb in [["runs", "list"].as_slice(), &["status"]] {
        let shown = world.wakeful(verb).stdout;
        assert!(shown.contains("parked"), "{verb:?}: {shown}");
    }
    let again = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(again.code, Some(5), "{again:?}");
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    assert_eq!(
        events.matches("\"kind\":\"run_parked\"").count(),
        1,
        "checking again adds no event: {events}"
    );
    assert_eq!(set(&world, &["1"]).code, Some(0));
    let done = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (done.code, &done.json()["final_text"]),
        (Some(0), &json!("done")),
        "{done:?}"
    );
    assert_eq!(world.lines(), ["one"], "and not done again");
    assert_eq!(budget(&world)["spent_usd"], "0.02");
}

#[test]
fn a_free_model_is_used_when_the_first_exceeds_the_budget() {
    let world = TestHome::new();
    let dear = world.script_named("dear.yaml", CENTS);
    let free = world.script_named("free.yaml", "rounds: [{text: free}]\nrepeat_last: true\n");
    let settings = |more: &str| {
        let settings = format!("[model]\ndefault = \"{dear}\"\nfallbacks = [\"{free}\"]\n{more}");
        write(&world, &settings);
    };
    let run = || world.wakeful(&["run", "do it", "--json"]);
    settings("");
    assert_eq!(set(&world, &["0.001"]).code, Some(0));
    let said = run();
    assert_eq!(said.json()["final_text"], "free", "{said:?}");
    let attempts = said.json()["provider_attempt_timeline"]["attempts"].clone();
    assert_eq!(attempts[0]["failure_kind"], "budget_exceeded", "{attempts}");
    assert_eq!(attempts[0]["advanced_to_fallback"], true, "{attempts}");
    assert_eq!(budget(&world)["spent_usd"], "0.00");
    // A forbidden or unavailable fallback does not help: the run waits for budget.
    settings(&format!("[inference]\nmodels = [\"{dear}\"]\n"));
    assert_eq!(run().code, Some(5));
    let typo = format!("[model]\ndefault = \"{dear}\"\nfallbacks = [\"nobody/x\"]\n");
    write(&world, &typo);
    assert_eq!(run().code, Some(5));
    assert_eq!(set(&world, &["1"]).code, Some(0));
    settings("");
    let said = run();
    assert_eq!(said.json()["final_text"], "done", "{said:?}");
}

#[test]
fn the_cap_of_an_agent_applies_beside_the_cap_of_all() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "poor"]);
    assert_eq!(set(&world, &["0", "--agent", "poor"]).code, Some(0));
    let said = world.run(CENTS, &["--agent", "poor"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    let key = world.open_runs().remove(0);
    let run = world.wakeful(&["runs", "show", &key, "--json"]).json();
    assert_eq!(run["parked"]["scope"], "agent");
    assert_eq!(
        world.run(CENTS, &["--agent", "rich", "--create-agent"]).code,
        Some(0)
    );
    let cancelled = world.wakeful(&["runs", "cancel", &key, "--json"]);
    assert_eq!(cancelled.json()["outcome"], "cancelled", "{cancelled:?}");
    assert_eq!(set(&world, &["--unset", "--agent", "poor"]).code, Some(0));
    assert_eq!(world.run(CENTS, &["--agent", "poor"]).code, Some(0));
}

#[test]
fn invalid_amounts_are_refused() {
    let world = TestHome::new();
    for (args, code) in [
        (["-1"].as_slice(), "bad_amount"),
        (&["1e9"], "bad_amount"),
        (&["1000000.01"], "bad_amount"),
        (&["0.0000001"], "bad_amount"),
        (&["5", "--agent", "No One"], "bad_id"),
        (&["5", "--agent", "nobody"], "agent_unknown"),
    ] {
        let said = set(&world, args);
        assert_eq!(
            (said.error_code().as_str(), said.code != Some(0)),
            (code, true),
            "{args:?}: {said:?}"
        );
    }
}

#[test]
fn a_parked_run_shows_why_and_continues_once_the_cap_is_raised() {
    let world = TestHome::new();
    assert_eq!(set(&world, &["0.03"]).code, Some(0));
    world.wakeful(&["agent", "create", "main"]);
    let model = world.script(CENTS);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    let said = world.wakeful(&["run", "do it", "--agent", "main", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "budget_exceeded"),
        "{said:?}"
    );
    // The run is reported as waiting before its worker has finished.
    wait_until(|| world.wakeful(&["agent", "show", "main", "--json"]).json()["activity"] == "stuck");
    let behind = world.wakeful(&["run", "and this", "--agent", "main", "--json"]);
    assert_eq!(
        behind.code,
        Some(5),
        "a request meanwhile is not delayed: {behind:?}"
    );
    let key = world.open_runs().remove(0);
    assert_eq!(set(&world, &["1"]).code, Some(0));
    wait_until(|| world.wakeful(&["runs", "show", &key, "--json"]).json()["outcome"] == "completed");
    wait_until(|| world.lines().len() == 2);
    drop(daemon);
}

/// Runs a daemon while the work is done, and returns its log.
fn logged(world: &TestHome, work: impl FnOnce()) -> String {
    let mut child = world.start(&["serve", "--port", "0"]);
    let mut log = child.stderr.take().expect("a log");
    let daemon = RunningDaemon::of(world, child);
    wait_until(|| daemon.address().is_some_and(|address| is_ready(&address)));
    work();
    daemon.terminate();
    let mut said = String::new();
    log.read_to_string(&mut said).expect("words");
    said
}

#[test]
fn a_daemon_also_reports_that_no_cap_is_set() {
    const HOLDS: &str = "no spending cap is set: the default of 5.00 USD per day applies";
    let (world, fake) = (
        TestHome::new(),
        FakeProvider::new(["one", "two", "three", "four", "five"].map(chat).to_vec()),
    );
    let keyed = |key: &str, more: &str| {
        let default = "[model]\ndefault = \"mine/m\"\n";
        [default, &provider("mine", &fake, key), more].concat()
    };
    let priced = |price: &str| keyed("", price);
    write(&world, &priced("[prices.\"mine/m\"]\ninput = 1\noutput = 1\n"));
    let tells = |args: &[&str]| {
        let said = world.wakeful(&[&["run", "x", "--agent", "main", "--create-agent"], args].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        said.stderr.contains(HOLDS)
    };
    let log = logged(&world, || {
        assert!(tells(&[]), "it costs money");
        assert!(!tells(&["--model", "demo"]), "it does not");
        assert_eq!(set(&world, &["5"]).code, Some(0));
        assert!(!tells(&[]), "a person set it");
    });
    assert_eq!(log.matches(HOLDS).count(), 1, "{log}");
    let log = logged(&world, || ());
    assert!(!log.contains("spending cap"), "{log}");
    assert_eq!(set(&world, &["--unset"]).code, Some(0));
    write(&world, &priced(""));
    logged(&world, || assert!(!tells(&[]), "on this machine nothing is paid"));
    let file = world.path().join("key");
    fs::write(&file, KEY).expect("a key");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let key = format!("key = \"file:{}\"", file.display());
    write(&world, &keyed(&key, ""));
    logged(&world, || assert!(tells(&[]), "but with a key it is"));
    write(
        &world,
        &keyed(&key, "[prices.\"mine/m\"]\ninput = 0\noutput = 0\n"),
    );
    logged(&world, || assert!(!tells(&[]), "a price of nothing is none"));
    write(&world, &priced("[budget]\ndaily_usd = 5\n"));
    let log = logged(&world, || ());
    assert!(!log.contains("spending cap"), "{log}");
}

/// Kills the program during a request of `main`, for which budget is reserved.
fn cut_off(world: &TestHome, model: &str) {
    let mut child = world.start(&[
        "run",
        "do it",
        "--model",
        model,
        "--agent",
        "main",
        "--create-agent",
    ]);
    wait_until(|| {
        budget(world)["reserved_usd"]
            .as_str()
            .is_some_and(|usd| usd != "0.00")
    });
    child.kill().expect("kill -9");
    child.wait().expect("gone");
}

#[test]
fn an_interrupted_request_counts_as_spent() {
    let world = TestHome::new();
    let model = world.script(
        "price: { input: 10, output: 10 }\nmax_output_tokens: 1000\nrounds:\n  - text: late\n    delay_ms: 60000\n",
    );
    cut_off(&world, &model);
    let reserved = budget(&world)["reserved_usd"].clone();
    let key = world.open_runs().remove(0);
    let run = world.wakeful(&["runs", "cancel", &key, "--json"]).json();
    assert_eq!(run["cost_usd"], reserved, "the run says so as well");
    let after = budget(&world);
    assert_eq!(
        (&after["spent_usd"], &after["reserved_usd"]),
        (&reserved, &json!("0.00"))
    );
}

#[test]
fn a_script_that_poses_as_an_external_model_passes_every_gate() {
    let world = TestHome::new();
    let outside = "boundary: outside\nrounds:\n  - text: hello\n";
    let run = world.run(outside, &[]).json();
    let rule = &run["provider_attempt_timeline"]["attempts"][0]["rule"];
    assert_eq!(rule, "inference_gates_implied_receipt", "the first run confirms");
    let run = world.run(outside, &[]).json();
    let rule = &run["provider_attempt_timeline"]["attempts"][0]["rule"];
    assert_eq!(rule, "inference_gates");
    for (section, code) in [
        (
            "[privacy]\nconfirm = \"explicit\"\n",
            "privacy_confirmation_required",
        ),
        ("[inference]\npurposes = [\"embedding\"]\n", "out_of_scope"),
        (
            "[inference]\nmodels = [\"anthropic/*\"]\n",
            "disallowed_provider_model",
        ),
        (
            "[inference]\nrequest_fields = [\"text\"]\n",
            "overshared_payload_blocked",
        ),
    ] {
        std::fs::write(world.home().join("config.toml"), section).expect("settings");
        let said = world.run(outside, &[]);
        let run = said.json();
        assert_eq!(run["failure_artifact"]["kind"], code, "{section}: {said:?}");
        assert_eq!(said.code, Some(4), "{section}: denied by policy");
        let attempts = &run["provider_attempt_timeline"]["attempts"];
        assert_eq!(attempts[0]["rule"], code, "{attempts}");
        assert_eq!(attempts[0]["transport_diagnostics"]["stage"], "gate");
    }
}

// Conformance: H-150
#[test]
fn a_model_chosen_for_an_agent_is_used_until_it_is_reset() {
    let world = TestHome::new();
    let chosen = world.script_named("chosen.yaml", "rounds: [{text: chosen}]\nrepeat_last: true\n");
    let usual = world.script_named("usual.yaml", "rounds: [{text: usual}]\nrepeat_last: true\n");
    world.wakeful(&["config", "set", "model.default", &usual]);
    world.wakeful(&["agent", "create", "main"]);
    let answer = || {
        world
            .wakeful(&["run", "hello", "--agent", "main", "--json"])
            .json()["final_text"]
            .clone()
    };
    assert_eq!(answer(), "usual");
    let agent = world
        .wakeful(&["agent", "model", "main", &chosen, "--json"])
        .json();
    assert_eq!(agent["model"], json!(chosen), "{agent}");
    assert_eq!(answer(), "chosen");
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(answer(), "chosen", "through a daemon as well");
    let cleared = world
        .wakeful(&["agent", "model", "main", "--clear", "--json"])
        .json();
    assert_eq!(cleared["model"], Value::Null, "{cleared}");
    assert_eq!(answer(), "usual");
    let unknown = world.wakeful(&["agent", "model", "main", "nobody/x", "--json"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    drop(daemon);
}

// Conformance: H-150
/// A new choice applies to runs that start later; a running one keeps its model.
#[test]
fn a_model_chosen_during_a_turn_is_used_for_the_next_one() {
    let world = TestHome::new();
    let waits = "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"touch begun; until [ -e go ]; do sleep 0.01; done\"}}]\n  \
                 - text: usual\n";
    let usual = world.script_named("usual.yaml", waits);
    let chosen = world.script_named("chosen.yaml", "rounds: [{text: chosen}]\nrepeat_last: true\n");
    world.wakeful(&["config", "set", "model.default", &usual]);
    world.wakeful(&["config", "set", "model.fallbacks", "demo"]);
    world.wakeful(&["agent", "create", "main"]);
    let daemon = RunningDaemon::serve(&world, &[]);
    let state = |args: &[&str]| world.wakeful(args).json()["model_state"].clone();
    let default = json!({"source": "runtime_default", "runtime_default_model": usual, "effective_model": usual,
        "effective_fallback_models": ["demo"]});
    assert_eq!(state(&["agent", "show", "main", "--json"]), default);
    let running = world.start(&["run", "hello", "--agent", "main", "--json"]);
    wait_until(|| world.workspace().join("begun").exists());
    let overridden = json!({"source": "agent_override", "runtime_default_model": usual, "effective_model": chosen,
        "effective_fallback_models": [], "override_model": chosen});
    assert_eq!(state(&["agent", "model", "main", &chosen, "--json"]), overridden);
    fs::write(world.workspace().join("go"), "").expect("a file");
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(said.json()["final_text"], "usual", "{said:?}");
    let next = world.wakeful(&["run", "again", "--agent", "main", "--json"]);
    assert_eq!(next.json()["final_text"], "chosen", "{next:?}");
    assert_eq!(state(&["agent", "model", "main", "--clear", "--json"]), default);
    drop(daemon);
    assert_eq!(
        state(&["agent", "show", "main", "--json"]),
        default,
        "without a daemon as well"
    );
}

#[test]
fn an_agent_is_shown_with_its_model() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    for (args, model) in [
        (["agent", "model", "main", "demo"].as_slice(), "demo"),
        (&["agent", "show", "main"], "demo"),
        (&["agent", "model", "main", "--clear"], "the default: demo"),
    ] {
        let said = world.wakeful(args);
        let shown = said.stdout.lines().find_map(|line| line.strip_prefix("model "));
        assert_eq!(shown.map(str::trim), Some(model), "{said:?}");
    }
}

#[test]
fn an_agent_with_its_own_model_needs_no_usable_default() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["agent", "model", "main", "demo"]);
    // No key is available for it.
    world.wakeful(&["config", "set", "model.default", "anthropic/claude-x"]);
    let said = world.wakeful(&["run", "hello", "--agent", "main", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    world.wakeful(&["agent", "model", "main", "--clear"]);
    let said = world.wakeful(&["run", "hello", "--agent", "main", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "secret_unavailable"),
        "{said:?}"
    );
    let elsewhere = TestHome::new();
    let args = [
        "run",
        "hello",
        "--agent",
        "main",
        "--create-agent",
        "--json",
        "--model",
        "anthropic/x",
    ];
    assert_eq!(elsewhere.wakeful(&args).error_code(), "secret_unavailable");
    assert!(
        !elsewhere.home().exists(),
        "nothing is made for a call that is wrong"
    );
}

#[test]
fn a_request_denied_after_a_crash_leaves_no_reservation() {
    let world = TestHome::new();
    let model = world.script(
        "price: { input: 10, output: 10 }\nmax_output_tokens: 1000\nboundary: outside\nrounds:\n  - text: late\n    delay_ms: 60000\n",
    );
    cut_off(&world, &model);
    std::fs::write(
        world.home().join("config.toml"),
        "[inference]\nmodels = [\"anthropic/*\"]\n",
    )
    .expect("settings");
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    let after = budget(&world);
    assert_eq!(after["reserved_usd"], "0.00", "{after}");
    assert_ne!(after["spent_usd"], "0.00", "{after}");
}
