//! Writes that touch both databases: after a kill between any two commits, both agree, or the write is
//! undone, or a person decides.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_ports::fail_point::POINTS;

use super::crash::call;
use super::daemon::RunningDaemon;
use super::decision::write;
use super::home_fixture::{CommandOutput, TestHome, statuses, wait_until};

/// Maximum passages tried per point. No point is passed more often in the scenario.
const PASSAGES_MAX: u32 = 40;

/// The task that the scenario changes. It is created with a fixed key, so it has the same id in every test
/// home.
const KEY: &str = "the-task";

/// Three writes: two in one reply, one after it.
fn scenario(task_id: &str) -> String {
    format!(
        r#"
rounds:
  - tools:
      - {{ name: journal_create_task, input: {{ title: one }} }}
      - {{ name: journal_update_task, input: {{ task_id: "{task_id}", status: in_progress }} }}
  - tools:
      - {{ name: journal_create_task, input: {{ title: two }} }}
  - text: done
"#
    )
}

/// A test home whose journal has one task.
struct SagaFixture {
    world: TestHome,
    model: String,
}

impl SagaFixture {
    fn new(world: TestHome) -> Self {
        let made = world.wakeful(&[
            "journal",
            "task",
            "add",
            "before",
            "--idempotency-key",
            KEY,
            "--json",
        ]);
        let id = made.json()["record_id"].as_str().expect("an id").to_owned();
        let model = world.script(&scenario(&id));
        Self { world, model }
    }

    fn start(&self, fail: Option<(&str, u32)>) -> CommandOutput {
        let args = [
            "run",
            "do it",
            "--json",
            "--model",
            &self.model,
            "--idempotency-key",
            "k",
            "--create-agent",
            "--agent",
            "main",
        ];
        call(&self.world, &args, fail)
    }

    fn resume(&self, fail: Option<(&str, u32)>) -> CommandOutput {
        call(
            &self.world,
            &["run", "--resume", "--json", "--agent", "main"],
            fail,
        )
    }

    /// Each task by title, with its state and the number of writes.
    fn tasks(&self) -> BTreeMap<String, (String, u64)> {
        let list = self.world.wakeful(&["journal", "task", "list", "--json"]).json();
        let tasks = list["tasks"].as_array().expect("tasks").iter();
        let told = tasks.map(|task| {
            let text = |field: &str| task[field].as_str().expect("text").to_owned();
            (
                text("title"),
                (text("status"), task["version"].as_u64().expect("a number")),
            )
        });
        told.collect()
    }

    fn sagas(&self) -> Vec<Value> {
        let list = self.world.wakeful(&["saga", "list", "--json"]).json();
        list["sagas"].as_array().expect("sagas").clone()
    }

    /// Lets the program finish, and checks that each write happened once and no saga is left.
    fn finish(&self, story: &str) {
        let mut said = self.resume(None);
        if said.stdout.contains("\"resumed\":0") {
            said = self.start(None);
        }
        let run = said.json();
        assert_eq!(run["outcome"], "completed", "{story}: {said:?}");
        assert_eq!(statuses(&run), ["ok", "ok", "ok"], "{story}: {said:?}");
        let expected = [
            ("before", "in_progress", 2),
            ("one", "open", 1),
            ("two", "open", 1),
        ];
        let expected =
            expected.map(|(title, status, version)| (title.to_owned(), (status.to_owned(), version)));
        assert_eq!(self.tasks(), BTreeMap::from(expected), "{story}");
        assert_eq!(self.sagas(), Vec::<Value>::new(), "{story}");
    }

    fn open_run(&self) -> String {
        let open = self.world.open_runs();
        let [run] = open.as_slice() else {
            panic!("{open:?}")
        };
        run.clone()
    }

    /// Quarantines the open run, like one that fails repeatedly.
    fn set_aside(&self) -> String {
        let run = self.open_run();
        let key = RunKey(Digest::from_hex(&run).expect("a key"));
        write(&self.world, move |tx| {
            tx.set_run_status(&key, RunStatus::Quarantined, Some("it broke off"), Millis(9))
        });
        run
    }

    /// Inserts a saga of a nonexistent run directly into the database.
    fn plant(&self) {
        let saga = "INSERT INTO saga VALUES (randomblob(32), randomblob(32), 'intent', 'open', NULL, 1)";
        let file = self.world.home().join("agent.sqlite");
        let agents = rusqlite::Connection::open(file).expect("opens");
        assert_eq!(agents.execute(saga, []).expect("an insert"), 1);
    }

    /// Whether the journal is as it was before any agent wrote to it.
    fn is_untouched(&self) -> bool {
        let before = ("before".to_owned(), ("open".to_owned(), 1));
        self.sagas().is_empty() && self.tasks() == BTreeMap::from([before])
    }

    /// Marks the runs as ended directly in the database, as if the program was killed right after.
    fn end_runs(&self) {
        let end = "UPDATE run SET status = 'failed', ended_at_ms = 1 WHERE status = 'open'";
        let file = self.world.home().join("agent.sqlite");
        let agents = rusqlite::Connection::open(file).expect("opens");
        assert_eq!(agents.execute(end, []).expect("an update"), 1);
    }
}

/// Crashes at every passage of every point between two commits.
fn campaign() -> BTreeMap<&'static str, u32> {
    let mut hits = BTreeMap::new();
    for &point in POINTS {
        for passage in 1..=PASSAGES_MAX {
            let stage = SagaFixture::new(TestHome::new());
            if stage.start(Some((point, passage))).code.is_some() {
                break;
            }
            *hits.entry(point).or_insert(0) += 1;
            stage.finish(&format!("{point}:{passage}"));
        }
    }
    eprintln!("{} crashes: {hits:?}", hits.values().sum::<u32>());
    hits
}

// Conformance: L-005, L-153, A-201
#[test]
fn killed_at_any_commit_both_databases_agree() {
    let hits = campaign();
    for point in [
        "act.before_perform",
        "journal.before_commit",
        "journal.after_commit",
        "act.after_perform",
    ] {
        assert_eq!(hits.get(point), Some(&3), "{point}: {hits:?}");
    }
}

// Conformance: L-005
#[test]
fn killed_at_the_journal_commit_on_postgres_both_schemas_agree() {
    for point in [
        "journal.before_commit",
        "journal.after_commit",
        "act.after_perform",
        "store.after_commit",
    ] {
        for passage in [1, 3] {
            let stage = SagaFixture::new(TestHome::on_postgres());
            assert_eq!(
                stage.start(Some((point, passage))).code,
                None,
                "{point}:{passage}"
            );
            stage.finish(&format!("{point}:{passage} on PostgreSQL"));
        }
    }
}

/// A run that wrote to the journal, was killed before its own commit, and cannot continue.
fn cut_off() -> SagaFixture {
    let stage = SagaFixture::new(TestHome::new());
    assert_eq!(stage.start(Some(("act.after_perform", 1))).code, None);
    assert_eq!(
        stage.tasks().get("one"),
        Some(&("open".to_owned(), 1)),
        "the journal has it"
    );
    let sagas = stage.sagas();
    let open = |saga: &&Value| saga["status"] == "open";
    assert_eq!(sagas.iter().filter(open).count(), 2, "{sagas:?}");
    let phases: Vec<&str> = sagas.iter().filter_map(|saga| saga["phase"].as_str()).collect();
    assert!(
        phases.contains(&"journal") && phases.contains(&"intent"),
        "{phases:?}"
    );
    stage
}

// Conformance: L-151, L-152
#[test]
fn the_journal_commits_first_and_under_the_same_operation_id() {
    let stage = cut_off();
    let all = |file: &str, query: &str| -> Vec<Vec<u8>> {
        let database = rusqlite::Connection::open(stage.world.home().join(file)).expect("opens");
        let mut statement = database.prepare(query).expect("a query");
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.map(|row| row.expect("bytes")).collect()
    };
    // The journal has the first write; the agents' database has its intent and no result.
    let written = all(
        "db.sqlite",
        "SELECT operation_id FROM change WHERE author = 'agent:main'",
    );
    let intended =
        "SELECT operation_id FROM step WHERE class = 'saga' AND status = 'intended' ORDER BY ordinal";
    let intended = all("agent.sqlite", intended);
    assert_eq!((written.len(), intended.len()), (1, 2));
    assert_eq!(written[0], intended[0]);
    let row =
        "SELECT operation_id FROM saga WHERE phase = 'intent' AND status = 'open' AND last_error IS NULL";
    assert!(all("agent.sqlite", row).contains(&written[0]));
}

// Conformance: L-153
#[test]
fn writes_of_a_run_that_cannot_continue_are_undone() {
    let stage = cut_off();
    stage.end_runs();
    let said = stage.resume(None);
    assert!(
        said.stderr.contains("2 writes to the journal were undone"),
        "{said:?}"
    );
    assert!(stage.is_untouched(), "both are as they were: {:?}", stage.tasks());
}

#[test]
fn unfinished_writes_of_an_abandoned_run_are_undone_at_once() {
    let stage = cut_off();
    let run = stage.set_aside();
    assert_eq!(stage.sagas().len(), 2, "it may still continue");
    let said = stage.world.wakeful(&["runs", "abandon", &run, "--json"]);
    assert_eq!(said.json()["outcome"], "abandoned", "{said:?}");
    assert!(
        said.stderr.contains("2 writes to the journal were undone"),
        "{said:?}"
    );
    assert!(stage.is_untouched(), "{:?}", stage.tasks());
}

#[test]
fn unfinished_writes_of_a_run_abandoned_through_the_daemon_are_undone() {
    let stage = cut_off();
    let run = stage.set_aside();
    stage.plant();
    let _daemon = RunningDaemon::serve(&stage.world, &[]);
    // Startup recovery is finished when the inserted saga is undone, so the next recovery is a later one.
    wait_until(|| stage.sagas().len() == 2);
    let said = stage.world.wakeful(&["runs", "abandon", &run, "--json"]);
    assert_eq!(said.json()["outcome"], "abandoned", "{said:?}");
    wait_until(|| stage.is_untouched());
}

// Conformance: L-153
#[test]
fn killed_at_any_point_of_undoing_a_write_is_undone_once() {
    for point in POINTS.iter().filter(|point| point.starts_with("saga.")) {
        for passage in [1, 2] {
            let stage = cut_off();
            stage.end_runs();
            assert_eq!(
                stage.resume(Some((point, passage))).code,
                None,
                "{point}:{passage} was not reached"
            );
            stage.resume(None);
            assert_eq!(stage.tasks().len(), 1, "{point}:{passage}");
            assert_eq!(stage.sagas(), Vec::<Value>::new(), "{point}:{passage}");
        }
    }
}

#[test]
fn a_write_with_later_changes_is_not_undone_and_a_person_decides() {
    let stage = cut_off();
    let list = stage.world.wakeful(&["journal", "task", "list", "--json"]).json();
    let tasks = list["tasks"].as_array().expect("tasks");
    let one = tasks.iter().find(|task| task["title"] == "one").expect("a task");
    stage
        .world
        .wakeful(&["journal", "task", "done", one["task_id"].as_str().expect("an id")]);
    stage.end_runs();
    let said = stage.resume(None);
    assert!(
        said.stderr.contains("1 writes to the journal are stuck"),
        "{said:?}"
    );
    let sagas = stage.sagas();
    let [stuck] = sagas.as_slice() else {
        panic!("{sagas:?}")
    };
    assert_eq!(
        (stuck["status"].as_str(), stuck["phase"].as_str()),
        (Some("stuck"), Some("compensation"))
    );
    let text = stage.world.wakeful(&["saga", "list"]).stdout;
    assert!(
        text.contains("stuck") && text.contains("compensation") && text.contains("was changed since"),
        "{text}"
    );
    assert!(
        stuck["last_error"]
            .as_str()
            .is_some_and(|why| why.contains("was changed since")),
        "{stuck}"
    );
    let doctor = stage.world.wakeful(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(
        doctor.stdout.contains("problem  sagas") && doctor.stdout.contains("wakeful saga resolve"),
        "{doctor:?}"
    );
    let operation = stuck["operation_id"].as_str().expect("an id");
    let kept = stage.world.wakeful(&["saga", "resolve", operation, "--json"]);
    assert_eq!(kept.json()["sagas"], serde_json::json!([]), "{kept:?}");
    assert_eq!(
        stage.tasks().get("one"),
        Some(&("done".to_owned(), 2)),
        "the person's word stands"
    );
    let again = stage.world.wakeful(&["saga", "resolve", operation, "--json"]);
    assert_eq!(again.error_code(), "saga_unknown");
}

// Conformance: L-149
#[test]
fn a_stored_plan_is_performed_although_the_model_would_differ_now() {
    let stage = SagaFixture::new(TestHome::new());
    assert_eq!(stage.start(Some(("transition.after_commit", 1))).code, None);
    let planned = operations(&stage.sagas());
    assert_eq!(planned.len(), 2);
    stage.world.script(
        r#"
rounds:
  - tools: [{ name: journal_create_task, input: { title: another mind } }]
  - tools: [{ name: journal_create_task, input: { title: asked after it } }]
  - text: done
"#,
    );
    let args = ["run", "--resume", "--json", "--agent", "main"];
    let run = stage.world.wakeful(&args).json();
    assert_eq!(statuses(&run), ["ok", "ok", "ok"], "{run}");
    let done = operations(run["tool_calls"].as_array().expect("tool_calls"));
    assert!(planned.is_subset(&done), "{planned:?} {run}");
    // Actions that were not planned yet are requested from the model as it is now.
    let tasks: Vec<_> = stage.tasks().into_keys().collect();
    assert_eq!(tasks, ["asked after it", "before", "one"]);
}

fn operations(list: &[Value]) -> BTreeSet<String> {
    let named = list
        .iter()
        .map(|one| one["operation_id"].as_str().expect("an id"));
    named.map(str::to_owned).collect()
}

/// For recovery, a write starts with its intent. It can be undone, so it is not performed first.
#[test]
fn a_run_cancelled_between_intent_and_action_leaves_no_journal_write() {
    let stage = SagaFixture::new(TestHome::new());
    assert_eq!(stage.start(Some(("transition.after_commit", 1))).code, None);
    assert_eq!(stage.sagas().len(), 2, "both writes of the reply are intended");
    is_called_off(&stage);
}

#[test]
fn a_run_cancelled_between_action_and_result_leaves_no_journal_write() {
    is_called_off(&cut_off());
}

/// Cancels the open run, and checks that it left no write.
fn is_called_off(stage: &SagaFixture) {
    let said = stage
        .world
        .wakeful(&["runs", "cancel", &stage.open_run(), "--json"]);
    let run = said.json();
    assert_eq!(run["outcome"], "cancelled", "{said:?}");
    assert_eq!(statuses(&run), ["failed", "failed"], "{said:?}");
    assert!(stage.is_untouched(), "{:?}", stage.tasks());
}
