//! Kills the program at every fail point and each passage, also during recovery. The world file outside the
//! program shows which effects really happened.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use wakeful_ports::fail_point::POINTS;

use super::home_fixture::{CommandOutput, TestHome, alive, statuses, wait_until};
use super::postgres::Database;

/// The line that each tool call of the scenario adds to the world file, in the order of the calls.
const EFFECTS: [&str; 4] = ["one", "two", "three", "four"];

/// Maximum passages tried per point. No point is passed more often in the scenario.
const PASSAGES_MAX: u32 = 40;

/// Four plain effects: two in one reply, one with an output too large for a row, one after a pause. Each of
/// the four replies costs a millionth of a dollar.
const SCENARIO: &str = r#"
price: { input: 0.001, output: 0.001 }
rounds:
  - text: "two at once"
    usage: { input_tokens: 1000, output_tokens: 0 }
    tools:
      - { name: ExecCommand, input: { cmd: "echo one >> world.txt" } }
      - { name: ExecCommand, input: { cmd: "echo two >> world.txt" } }
  - fail: { status: 503, retry_after_ms: 1 }
  - usage: { input_tokens: 1000, output_tokens: 0 }
    tools:
      - { name: ExecCommand, input: { cmd: "echo three >> world.txt; head -c 150000 /dev/urandom | od -An -tx1" } }
  - usage: { input_tokens: 1000, output_tokens: 0 }
    tools:
      - { name: ExecCommand, input: { cmd: "echo four >> world.txt" } }
  - text: "done"
    usage: { input_tokens: 1000, output_tokens: 0 }
"#;

/// The cost of the four replies, in millionths of a dollar.
const COST: f64 = 4.0;

/// The program with its fail points compiled in.
pub(super) fn crash_binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("WAKEFUL_CRASH_BIN") {
            return path.into();
        }
        // Built here when the check script has not built it. A separate profile keeps the other builds
        // cached.
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--locked", "-p", "wakeful", "--profile", "crash"]);
        build
            .env("RUSTFLAGS", "--cfg fail_points")
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(
            build.status().expect("cargo runs").success(),
            "the crash binary does not build"
        );
        let test = std::env::current_exe().expect("a path");
        let target = test.ancestors().nth(3).expect("target folder");
        target.join("crash").join("wakeful")
    })
}

struct Campaign {
    /// One database for all fixtures, because creating one takes longer than a crash. `None` on SQLite.
    database: Option<Rc<Database>>,
    worlds: Cell<u32>,
    crashes: u32,
    /// How often each point actually ended the process.
    hits: BTreeMap<&'static str, u32>,
}

/// A test home with its own agent.
struct CrashFixture {
    world: TestHome,
    agent: String,
}

impl Campaign {
    fn new(database: Option<Rc<Database>>) -> Self {
        Self {
            database,
            worlds: Cell::new(0),
            crashes: 0,
            hits: BTreeMap::new(),
        }
    }

    fn stage(&self) -> CrashFixture {
        self.worlds.set(self.worlds.get() + 1);
        let agent = format!("agent-{}", self.worlds.get());
        let world = self.database.clone().map_or_else(TestHome::new, TestHome::on);
        CrashFixture { world, agent }
    }

    /// Starts the scenario and crashes it at a passage of a point. Returns false if the point is not passed
    /// that often.
    fn crash_start(&mut self, stage: &CrashFixture, point: &'static str, passage: u32) -> bool {
        let said = stage.start(Some((point, passage)));
        self.count(&said, point)
    }

    fn crash_resume(&mut self, stage: &CrashFixture, point: &'static str, passage: u32) {
        let said = stage.resume(Some((point, passage)));
        self.count(&said, point);
    }

    fn count(&mut self, said: &CommandOutput, point: &'static str) -> bool {
        let crashed = said.code.is_none();
        if crashed {
            self.crashes += 1;
            *self.hits.entry(point).or_default() += 1;
        }
        crashed
    }
}

impl CrashFixture {
    fn start(&self, fail: Option<(&str, u32)>) -> CommandOutput {
        let model = self.world.script(SCENARIO);
        let args = [
            "run",
            "do it",
            "--json",
            "--model",
            &model,
            "--idempotency-key",
            "k",
            "--create-agent",
            "--agent",
        ];
        call(&self.world, &[&args[..], &[&self.agent]].concat(), fail)
    }

    fn resume(&self, fail: Option<(&str, u32)>) -> CommandOutput {
        call(
            &self.world,
            &["run", "--resume", "--json", "--agent", &self.agent],
            fail,
        )
    }

    /// Lets the program finish after any crash, and checks the result.
    fn finish(&self, story: &str) {
        let mut said = self.resume(None);
        if said.stdout.contains("\"resumed\":0") {
            // Either nothing was admitted, or the run ended before its report. Sending the same message
            // again must give one run in both cases.
            said = self.start(None);
        }
        judge(&self.world, &said, story);
        self.audit(story);
        let again = self.resume(None);
        assert_eq!(
            (again.code, again.json()["resumed"].as_u64()),
            (Some(0), Some(0)),
            "{story}: still open {again:?}"
        );
    }
}

impl CrashFixture {
    /// No reservation is left, and a request that was sent twice is charged twice: the sum is never too
    /// small.
    fn audit(&self, story: &str) {
        let budget = self.world.wakeful(&["budget", "show", "--json"]).json();
        let agents = budget["agents"].as_array().expect("agents");
        let agent = agents
            .iter()
            .find(|agent| agent["agent_id"] == self.agent.as_str());
        let agent = agent.unwrap_or_else(|| panic!("{story}: {budget}"));
        assert_eq!(agent["reserved_usd"], "0.00", "{story}: {budget}");
        let spent: f64 = agent["spent_usd"]
            .as_str()
            .and_then(|usd| usd.parse().ok())
            .expect("dollars");
        assert!(spent * 1e6 > COST - 0.5, "{story}: {budget}");
    }
}

/// Calls the program with fail points compiled in.
pub(super) fn call(world: &TestHome, args: &[&str], fail: Option<(&str, u32)>) -> CommandOutput {
    let mut command = world.command(crash_binary());
    if let Some((point, passage)) = fail {
        command.env("WAKEFUL_FAIL_POINT", format!("{point}:{passage}"));
    }
    command.args(args).output().expect("the program starts").into()
}

/// Checks that every effect happened at most once, that every effect reported as done happened exactly
/// once, and that none is unreported.
fn judge(world: &TestHome, said: &CommandOutput, story: &str) {
    let run: Value = said.json();
    assert_eq!(run["outcome"], "completed", "{story}: {said:?}");
    let statuses = statuses(&run);
    assert_eq!(statuses.len(), EFFECTS.len(), "{story}: {said:?}");
    let lines = world.lines();
    for (effect, status) in EFFECTS.iter().zip(&statuses) {
        let times = lines.iter().filter(|line| line == effect).count();
        match status.as_str() {
            "ok" => assert_eq!(times, 1, "{story}: {effect} is reported as done\n{said:?}"),
            "outcome_unknown" => assert!(times <= 1, "{story}: {effect} happened {times} times\n{said:?}"),
            other => panic!("{story}: {effect} ended as {other}\n{said:?}"),
        }
    }
    let unknown = statuses
        .iter()
        .filter(|status| *status == "outcome_unknown")
        .count();
    assert_eq!(run["unknown"].as_array().map(Vec::len), Some(unknown), "{story}");
    assert_eq!(said.code, Some(i32::from(unknown > 0)), "{story}: {said:?}");
}

/// The points that the scenario passes. The others are covered elsewhere: journal writes in `saga`, changes
/// in `subscription`, answers below. On a server large contents are rows, so no blob file is renamed.
fn points(on_server: bool) -> Vec<&'static str> {
    let elsewhere = ["journal.", "saga.", "decision.", "notice.", "timer.", "outside."];
    let is_elsewhere = |point: &str| elsewhere.iter().any(|noun| point.starts_with(noun));
    let here = POINTS.iter().filter(|point| !is_elsewhere(point));
    here.filter(|point| !on_server || !point.starts_with("blob."))
        .copied()
        .collect()
}

/// Crashes at every passage of every point, and again at points of the recovery: at all of them when the
/// environment requests depth, else at one that varies with the first crash. Every point has to be hit.
fn campaign(database: Option<Rc<Database>>) {
    let deep = std::env::var_os("WAKEFUL_CRASH_DEEP").is_some();
    let points = points(database.is_some());
    let mut campaign = Campaign::new(database);
    let mut turn = 0;
    for &point in &points {
        for passage in 1..=PASSAGES_MAX {
            let stage = campaign.stage();
            if !campaign.crash_start(&stage, point, passage) {
                break;
            }
            stage.finish(&format!("{point}:{passage}"));
            turn += 1;
            for (index, &second) in points.iter().enumerate() {
                // Only a running command leaves something to clear.
                let clears = point == "act.in_process" && second.starts_with("recover.");
                if !deep && !clears && index != turn % points.len() {
                    continue;
                }
                let stage = campaign.stage();
                assert!(
                    campaign.crash_start(&stage, point, passage),
                    "{point}:{passage} did not crash again"
                );
                campaign.crash_resume(&stage, second, 1);
                stage.finish(&format!("{point}:{passage} then {second}"));
            }
        }
    }
    eprintln!("{} crashes: {:?}", campaign.crashes, campaign.hits);
    for point in points {
        assert!(campaign.hits.contains_key(point), "{point} was never reached");
    }
}

#[test]
fn killed_right_after_an_answer_the_action_happens_once() {
    let world = TestHome::new();
    let model = world.script(&super::home_fixture::commands(&["echo one >> world.txt"]));
    let args = [
        "run",
        "do it",
        "--json",
        "--model",
        &model,
        "--ask-tools",
        "ExecCommand",
    ];
    assert_eq!(call(&world, &args, None).code, Some(3));
    assert_eq!(world.lines(), Vec::<String>::new());
    let asked = call(&world, &["decision", "list", "--json"], None).json();
    let id = asked["decisions"][0]["decision_id"]
        .as_str()
        .expect("a name")
        .to_owned();
    let answer = ["decision", "answer", &id, "approve", "--json"];
    assert_eq!(
        call(&world, &answer, Some(("decision.after_answer", 1))).code,
        None
    );
    let again = call(&world, &answer, None);
    assert_eq!(
        (again.code, again.error_code().as_str()),
        (Some(1), "decision_closed"),
        "{again:?}"
    );
    for _ in 0..2 {
        let said = call(&world, &["run", "--resume", "--json"], None);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    assert_eq!(world.lines(), ["one"]);
}

// Conformance: L-150 (each effect happens at most once),
//     A-03 (the run completes after each crash),
//     A-27 (the message is answered after each crash),
//     A-33 (effects reported before the crash happen once),
//     A-37 (each effect happens at most once),
//     A-201 (each effect happens at most once),
//     A-235 (the run completes, and no effect is repeated),
//     A-241 (a crash at every passage of every fail point, with effects counted)
#[test]
fn a_run_killed_at_any_fail_point_loses_nothing_on_sqlite() {
    campaign(None);
}

// Conformance: L-150 (each effect happens at most once),
//     A-03 (the run completes after each crash),
//     A-27 (the message is answered after each crash),
//     A-33 (effects reported before the crash happen once),
//     A-37 (each effect happens at most once),
//     A-235 (the run completes, and no effect is repeated),
//     A-241 (a crash at every passage of every fail point, with effects counted)
#[test]
fn a_run_killed_at_any_fail_point_loses_nothing_on_postgres() {
    campaign(Some(Rc::new(Database::create())));
}

// Conformance: A-97
#[test]
fn killed_during_a_command_its_processes_die_and_the_outcome_is_unknown() {
    let world = TestHome::new();
    let word = format!("{}.25", 700_000 + std::process::id() % 100_000);
    let escape =
        format!("echo one >> world.txt; (setsid sleep {word} &) ; echo two >> world.txt; sleep {word}");
    let script = super::home_fixture::commands(&[&escape]);
    let model = world.script(&script);
    let mut child = world.command(super::home_fixture::program());
    let mut child = child
        .args(["run", "do it", "--model", &model])
        .spawn()
        .expect("starts");
    wait_until(|| world.lines().contains(&"two".to_owned()) && alive(&word));
    child.kill().expect("kill -9");
    child.wait().expect("gone");
    let said = world.wakeful(&["run", "--resume", "--json"]);
    assert!(!alive(&word), "a process was left behind");
    assert_eq!(statuses(&said.json()), ["outcome_unknown"]);
    assert_eq!(
        (said.code, world.lines()),
        (Some(1), vec!["one".to_owned(), "two".to_owned()])
    );
}

// Conformance: A-97
#[test]
fn an_identical_call_after_an_unknown_outcome_waits_for_a_person() {
    let world = TestHome::new();
    let again = "{name: ExecCommand, input: {cmd: \"echo one >> world.txt\"}}";
    let script = format!("rounds:\n  - tools: [{again}]\n  - tools: [{again}]\n  - text: gave up\n");
    let model = world.script(&script);
    let args = ["run", "do it", "--json", "--model", &model];
    let crashed = call(&world, &args, Some(("act.after_perform", 1)));
    assert_eq!(crashed.code, None);
    let said = call(&world, &["run", "--resume", "--json"], None);
    assert_eq!(
        (said.code, world.lines()),
        (Some(3), vec!["one".to_owned()]),
        "{said:?}"
    );
    let asked = call(&world, &["decision", "list", "--json"], None).json();
    let decision = &asked["decisions"][0];
    assert_eq!(decision["kind"], "outcome_unknown", "{asked}");
    let id = decision["decision_id"].as_str().expect("a name").to_owned();
    let still = call(&world, &["run", "--resume", "--json"], None);
    assert_eq!(
        (still.code, world.lines()),
        (Some(3), vec!["one".to_owned()]),
        "{still:?}"
    );
    let answered = call(&world, &["decision", "answer", &id, "approve", "--json"], None);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    let said = call(&world, &["run", "--resume", "--json"], None);
    assert_eq!(statuses(&said.json()), ["outcome_unknown", "ok"]);
    assert_eq!(world.lines(), ["one", "one"], "because a person said again");
}

#[test]
fn a_resumed_run_keeps_its_limits() {
    let world = TestHome::new();
    let model = world.script(&super::home_fixture::commands(&["echo one >> world.txt"]));
    let args = [
        "run",
        "do it",
        "--json",
        "--model",
        &model,
        "--deny-tools",
        "ExecCommand",
    ];
    assert_eq!(call(&world, &args, Some(("admit.after_commit", 1))).code, None);
    let said = call(&world, &["run", "--resume", "--json"], None);
    assert_eq!(
        (said.code, statuses(&said.json())),
        (Some(4), vec!["denied".to_owned()])
    );
    assert_eq!(world.lines(), Vec::<String>::new());
}

#[test]
fn a_run_killed_at_random_times_loses_and_repeats_nothing() {
    kill_at_moments(&Campaign::new(None), 24);
}

#[test]
fn a_run_killed_at_random_times_on_postgres_loses_and_repeats_nothing() {
    kill_at_moments(&Campaign::new(Some(Rc::new(Database::create()))), 8);
}

fn kill_at_moments(campaign: &Campaign, kills: u64) {
    for moment_ms in (0..kills).map(|n| n * 216 / kills) {
        let stage = campaign.stage();
        let model = stage.world.script(SCENARIO);
        let mut command = stage.world.command(crash_binary());
        command.args([
            "run",
            "do it",
            "--json",
            "--model",
            &model,
            "--idempotency-key",
            "k",
            "--create-agent",
        ]);
        command
            .args(["--agent", &stage.agent])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(moment_ms));
        // It may have finished before; then there is nothing to kill.
        let _ = child.kill();
        child.wait().expect("gone");
        stage.finish(&format!("killed after {moment_ms} ms"));
    }
}
