//! The other journal commands as people use them: in process, and through a daemon.

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, statuses};

const DAY: &str = "2026-02-18";

/// Calls a journal command and returns its result.
fn told(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[&["journal"], args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()
}

fn id(world: &TestHome, args: &[&str]) -> String {
    told(world, args)["record_id"].as_str().expect("an id").to_owned()
}

fn refused(world: &TestHome, args: &[&str]) -> String {
    world
        .wakeful(&[&["journal"], args, &["--json"]].concat())
        .error_code()
}

fn tasks_are_sorted_into_categories(world: &TestHome) -> String {
    id(world, &["category", "add", "gym"]);
    id(world, &["category", "add", "home"]);
    id(world, &["category", "rename", "home", "house"]);
    let unknown = world.wakeful(&["journal", "task", "add", "t", "--category", "Gym"]);
    assert!(
        unknown.stderr.contains("category_unknown")
            && unknown.stderr.contains("wakeful journal category add"),
        "{unknown:?}"
    );
    let task = id(world, &["task", "add", "Squats", "--category", "gym"]);
    told(
        world,
        &[
            "task",
            "update",
            &task[..8],
            "--status",
            "in_progress",
            "--details",
            "5 x 5",
        ],
    );
    let shown = told(world, &["task", "show", &task]);
    assert_eq!(
        (&shown["task"]["status"], &shown["task"]["title"]),
        (&json!("in_progress"), &json!("Squats"))
    );
    assert_eq!(refused(world, &["task", "update", &task]), "invalid_record");
    task
}

fn items_are_ticked(world: &TestHome, task: &str) {
    let list = id(world, &["checklist", "add", task, "pack", "shoes", "towel"]);
    id(world, &["checklist", "add-item", &list, "water"]);
    let items = |field: &str| -> Vec<String> {
        let shown = told(world, &["checklist", "show", &list]);
        let items = shown["items"].as_array().expect("items").iter();
        items
            .map(|item| item[field].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(items("text"), ["shoes", "towel", "water"]);
    let ids = items("id");
    told(world, &["checklist", "check", &ids[0]]);
    told(world, &["checklist", "order", &list, &ids[2], &ids[1], &ids[0]]);
    assert_eq!(items("text"), ["water", "towel", "shoes"]);
    let shown = world.wakeful(&["journal", "checklist", "show", &list]).stdout;
    assert!(
        shown.contains("[x]") && shown.matches("[ ]").count() == 2,
        "{shown}"
    );
    told(world, &["checklist", "uncheck", &ids[0]]);
    assert_eq!(
        refused(world, &["checklist", "order", &list, &ids[0]]),
        "bad_order"
    );
    assert_eq!(refused(world, &["checklist", "check", task]), "record_unknown");
    let lists = told(world, &["checklist", "list", "--task", task]);
    assert_eq!(lists["checklists"].as_array().map(Vec::len), Some(1));
}

fn time_is_spent(world: &TestHome, task: &str) {
    assert_eq!(refused(world, &["time", "stop"]), "time_entry_stopped");
    id(world, &["time", "start", task, "--description", "warm up"]);
    assert_eq!(refused(world, &["time", "start", task]), "time_entry_running");
    assert_eq!(
        told(world, &["time", "list", "--running"])["time_entries"][0]["running"],
        true
    );
    told(world, &["time", "stop", task]);
    id(world, &["time", "add", task, "--minutes", "45"]);
    let (start, end) = ("2026-02-18T09:00:00-05:00", "2026-02-18T11:00:00-05:00");
    id(
        world,
        &["time", "add", task, "--started-at", start, "--ended-at", end],
    );
    assert_eq!(
        refused(
            world,
            &["time", "add", task, "--started-at", end, "--ended-at", start]
        ),
        "ends_before_start"
    );
    assert_eq!(
        refused(world, &["time", "add", task, "--started-at", "nine"]),
        "bad_time"
    );
    let entries = told(world, &["time", "list", "--task", task]);
    let entries = entries["time_entries"].as_array().expect("entries");
    let seconds: Vec<u64> = entries
        .iter()
        .filter_map(|entry| entry["seconds"].as_u64())
        .collect();
    assert!(entries.len() == 3 && seconds.contains(&7_200), "{entries:?}");
}

fn days_are_planned_and_rated(world: &TestHome, task: &str) {
    told(world, &["plan", "set", DAY, "legs"]);
    told(
        world,
        &[
            "plan",
            "block",
            "add",
            DAY,
            "09:00-05:00",
            "11:00-05:00",
            "--task",
            task,
            "--category",
            "gym",
        ],
    );
    told(
        world,
        &["plan", "block", "add", DAY, "12:00Z", "13:00Z", "--note", "lunch"],
    );
    let shown = told(world, &["plan", "show", DAY]);
    assert_eq!(shown["plan"]["note"], "legs");
    let notes: Vec<&str> = shown["blocks"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block["note"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(notes, ["lunch", ""], "in order: {shown}");
    assert_eq!(shown["blocks"][1]["category"], "gym");
    let block = shown["blocks"][0]["id"].as_str().expect("an id");
    told(world, &["plan", "block", "delete", DAY, block]);
    assert_eq!(
        refused(world, &["plan", "block", "add", DAY, "09:00", "10:00"]),
        "bad_time"
    );
    assert_eq!(
        refused(world, &["plan", "block", "add", "2026-02-30", "09:00Z", "10:00Z"]),
        "bad_day"
    );
    let effort = |value| {
        let scale = ["--scale", "effort", "--scale-max", "10"];
        let words: Vec<&str> = ["rate", value, "--record", task]
            .into_iter()
            .chain(scale)
            .collect();
        id(world, &words)
    };
    let (first, again) = (effort("3"), effort("7"));
    assert_eq!(first, again, "one rating per target and scale");
    assert_eq!(told(world, &["show", &first])["value"], 7);
    id(world, &["rate", "4", "--day", DAY, "--scale", "energy"]);
    assert_eq!(
        refused(world, &["rate", "6", "--day", DAY, "--scale", "energy"]),
        "bad_rating"
    );
}

fn records_are_linked_deleted_and_restored(world: &TestHome, task: &str) {
    let note = id(world, &["note", "add", "knees", "--task", task]);
    let link = id(world, &["link", "add", &note, "derived_from", task]);
    assert_eq!(
        refused(world, &["link", "add", &note, "derived_from", task]),
        "link_exists"
    );
    assert_eq!(
        refused(world, &["link", "add", &note, "likes", task]),
        "bad_link_kind"
    );
    assert_eq!(
        told(world, &["link", "list", "--record", task])["links"][0]["link_kind"],
        "derived_from"
    );
    told(world, &["link", "delete", &link]);
    assert_eq!(told(world, &["link", "list"])["links"], json!([]));
    assert_eq!(refused(world, &["category", "delete", "gym"]), "category_in_use");
    told(world, &["category", "delete", "gym", "--move-to", "house"]);
    assert_eq!(told(world, &["show", task])["category"], "house");
    told(world, &["task", "delete", task]);
    assert_eq!(refused(world, &["task", "done", task]), "record_removed");
    assert_eq!(told(world, &["show", task])["removed"], true);
    told(world, &["task", "restore", task]);
    assert_eq!(refused(world, &["restore", task]), "record_not_deleted");
    told(world, &["task", "done", task]);
    told(world, &["delete", &note]);
    assert_eq!(told(world, &["note", "list"])["notes"], json!([]));
}

fn what_was_committed_is_told_newest_last(world: &TestHome) {
    let all = told(world, &["changes", "--after", "0", "--limit", "500"]);
    let changes = all["changes"].as_array().expect("changes");
    let seqs: Vec<u64> = changes
        .iter()
        .filter_map(|change| change["seq"].as_u64())
        .collect();
    assert!(
        seqs.is_sorted() && seqs.last() == all["last_seq"].as_u64().as_ref(),
        "{seqs:?}"
    );
    let several = changes
        .iter()
        .filter(|change| change["operation_id"] == changes[changes.len() - 1]["operation_id"]);
    assert_eq!(several.count(), 1);
    let newest = told(world, &["changes", "--limit", "1"]);
    assert_eq!(newest["changes"][0], changes[changes.len() - 1]);
    assert_eq!(newest["changes"][0]["tokens"][0], "semanticKey|-|NOTE");
}

fn everything(world: &TestHome) {
    let task = tasks_are_sorted_into_categories(world);
    items_are_ticked(world, &task);
    time_is_spent(world, &task);
    days_are_planned_and_rated(world, &task);
    records_are_linked_deleted_and_restored(world, &task);
    what_was_committed_is_told_newest_last(world);
}

#[test]
fn every_journal_command_works_without_a_daemon() {
    everything(&TestHome::new());
}

#[test]
fn every_journal_command_works_through_a_daemon() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    everything(&world);
    drop(daemon);
}

/// Every row of every table of a journal.
fn digest(world: &TestHome) -> String {
    let file = rusqlite::Connection::open(world.home().join("db.sqlite")).expect("opens");
    let mut tables = file
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        .expect("a query");
    let tables = tables
        .query_map([], |row| row.get::<_, String>(0))
        .expect("tables");
    let mut all = String::new();
    for table in tables {
        let table = table.expect("a name");
        let mut rows = file.prepare(&format!("SELECT * FROM {table}")).expect("a query");
        let width = rows.column_count();
        let mut rows = rows.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for column in 0..width {
                let value: rusqlite::types::Value = row.get(column).expect("a value");
                all.push_str(&format!("{table} {value:?}\n"));
            }
        }
    }
    all
}

// Conformance: L-002
#[test]
fn a_run_without_journal_tools_leaves_the_journal_unchanged() {
    let world = TestHome::new();
    told(&world, &["task", "add", "Squats"]);
    let before = digest(&world);
    assert!(before.contains("Squats"), "{before}");
    let run = world.run(
        "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"echo state > thoughts.txt\"}}]\n  - text: a report of what I did\n",
        &[],
    );
    assert_eq!(statuses(&run.json()), ["ok"], "{run:?}");
    assert_eq!(digest(&world), before, "nothing of an agent's inside is here");
}
