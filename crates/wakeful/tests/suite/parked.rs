//! Runs that wait for budget, and what lets them continue.

use std::fs;
use std::process::Child;

use super::budget::{budget, set};
use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, wait_until};

#[test]
fn the_maximum_cost_of_a_parked_request_is_computed_anew() {
    let world = TestHome::new();
    let long = |tokens: u32| {
        format!("price: {{ input: 10, output: 10 }}\nmax_output_tokens: {tokens}\nrounds:\n  - text: done\n")
    };
    let said = world.run(&long(2_000_000), &["--agent", "main", "--create-agent"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    world.script(&long(100));
    let done = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(done.code, Some(0), "a shorter reply fits: {done:?}");
}

/// A daemon in which a request of one run reserves the budget that a run of another agent waits for.
/// Returns the key of the waiting run. The first run ends when the workspace has a file `go`, or after 20
/// seconds.
fn parked_behind_another(world: &TestHome) -> (RunningDaemon<'_>, Child, String) {
    set(world, &["0.05"]);
    for agent in ["slow", "next"] {
        world.wakeful(&["agent", "create", agent]);
    }
    let priced = "price: { input: 0.001, output: 10 }\nmax_output_tokens: 3000\nrounds:\n";
    let counted = "    usage: { input_tokens: 10, output_tokens: 1 }\n";
    let waits = r#"    tools: [{ name: ExecCommand, input: { cmd: "for i in $(seq 400); do [ -e go ] && break; sleep 0.05; done" } }]"#;
    let slow = format!("{priced}  - text: one\n    delay_ms: 1500\n{counted}{waits}\n  - text: done\n");
    let slow = world.script_named("slow.yaml", &slow);
    let quick = world.script_named("quick.yaml", &format!("{priced}  - text: quick\n{counted}"));
    let daemon = RunningDaemon::serve(world, &[]);
    let first = world.start(&["run", "do it", "--agent", "slow", "--model", &slow]);
    wait_until(|| {
        budget(world)["reserved_usd"]
            .as_str()
            .is_some_and(|usd| usd != "0.00")
    });
    let said = world.wakeful(&["run", "do it", "--agent", "next", "--model", &quick, "--json"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    let runs = world
        .wakeful(&["runs", "list", "--agent", "next", "--json"])
        .json();
    let key = runs["runs"][0]["run_key"].as_str().expect("a key").to_owned();
    (daemon, first, key)
}

fn end_first(world: &TestHome, mut first: Child) {
    fs::write(world.workspace().join("go"), "").expect("a file");
    first.wait().expect("answered");
}

#[test]
fn a_parked_run_continues_when_the_request_of_another_agent_is_settled() {
    let world = TestHome::new();
    let (daemon, first, key) = parked_behind_another(&world);
    wait_until(|| world.wakeful(&["runs", "show", &key, "--json"]).json()["outcome"] == "completed");
    assert_eq!(world.open_runs().len(), 1, "the other run is under way");
    end_first(&world, first);
    drop(daemon);
}

#[test]
fn a_run_parked_by_others_continues_when_resumed_through_the_daemon() {
    let world = TestHome::new();
    let (daemon, first, key) = parked_behind_another(&world);
    let status = world.wakeful(&["status"]).stdout;
    let reasons = status
        .lines()
        .filter(|line| line.starts_with("parked ") || line.starts_with("stuck "));
    assert_eq!(reasons.count(), 1, "{status}");
    end_first(&world, first);
    assert_eq!(world.wakeful(&["run", "--resume"]).code, Some(0));
    wait_until(|| world.wakeful(&["runs", "show", &key, "--json"]).json()["outcome"] == "completed");
    drop(daemon);
}

#[test]
fn runs_are_filtered_by_every_status_that_the_list_prints() {
    let world = TestHome::new();
    let expensive = "price: { input: 10, output: 10 }\nmax_output_tokens: 2000000\nrounds:\n  - text: done\n";
    let said = world.run(expensive, &["--agent", "main", "--create-agent"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(world.wakeful(&["message", "main", "later"]).code, Some(0));
    let listed = |status: &str| {
        let list = world.wakeful(&["runs", "list", "--agent", "main", "--status", status]);
        assert_eq!(list.code, Some(0), "{list:?}");
        (list.stdout.contains(" parked "), list.stdout.contains(" queued "))
    };
    assert_eq!(listed("parked"), (true, false));
    assert_eq!(listed("queued"), (false, true));
    assert_eq!(listed("queued,open"), (true, true));
    assert_eq!(listed("completed"), (false, false));
}
