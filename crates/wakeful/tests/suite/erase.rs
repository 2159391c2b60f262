//! `wakeful erase`: contents are deleted permanently, and the log stays complete and records the erasure.

use std::fs;
use std::path::{Path, PathBuf};

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, wait_until};
use super::proof::verify;

const SECRET: &str = "the name to keep secret";

/// A run that contains the secret in every possible place. Returns its key.
fn told(world: &TestHome, prompt: &str) -> String {
    let model = world.script(&format!(
        "rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: \"echo '{SECRET}'\"}}}}]\n  - text: '{SECRET}'\n"
    ));
    let args = [
        "run",
        prompt,
        "--json",
        "--agent",
        "main",
        "--create-agent",
        "--model",
        &model,
    ];
    let said = world.wakeful(&args);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()["run_key"].as_str().expect("a key").to_owned()
}

fn erase(world: &TestHome, args: &[&str]) -> CommandOutput {
    let call = [
        "erase",
        "--agent",
        "main",
        "--reason",
        "it was not ours to keep",
        "--json",
        "--yes",
    ];
    world.wakeful(&[&call, args].concat())
}

/// Whether any file of the home contains this text.
fn holds(world: &TestHome, words: &str) -> bool {
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    // A checkpoint moves the write-ahead log into the database.
    let _: i64 = database
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .expect("a checkpoint");
    drop(database);
    let mut files = Vec::new();
    walk(&world.home(), &mut files);
    files.iter().any(|path| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes
            .windows(words.len())
            .any(|window| window == words.as_bytes())
    })
}

/// Every file below a folder.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}

fn number(world: &TestHome, sql: &str) -> i64 {
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    database.query_row(sql, [], |row| row.get(0)).expect(sql)
}

/// The number of full outputs: contents that do not belong to a transcript entry.
const OUTPUTS: &str =
    "SELECT COUNT(*) FROM blob WHERE hash NOT IN (SELECT content_hash FROM transcript_entry)";

/// A run whose commands each print this many numbered lines. Returns its key.
fn gave_out(world: &TestHome, word: &str, lines: &[u32]) -> String {
    let commands: Vec<String> = lines
        .iter()
        .map(|lines| format!("for i in $(seq 1 {lines}); do echo \"{word}-$i-$((i * 7919 % 100003))\"; done"))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let said = world.run(
        &super::home_fixture::commands(&commands),
        &["--agent", "main", "--create-agent"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()["run_key"].as_str().expect("a key").to_owned()
}

#[test]
fn the_full_output_of_a_command_is_erased_with_its_run() {
    let world = TestHome::new();
    // About 15 kB, which the model reads completely, about 50 kB that are stored in a row, and about 200 kB
    // that are stored in a file.
    let run = gave_out(&world, "gold", &[900, 3_000, 14_000]);
    let files = |world: &TestHome| {
        let mut files = Vec::new();
        walk(&world.home().join("blobs"), &mut files);
        files.retain(|path| path.file_name().is_some_and(|name| name.len() == 64));
        files.len()
    };
    assert!(holds(&world, "gold-") && files(&world) == 1);
    assert_eq!(number(&world, OUTPUTS), 2);
    let said = erase(&world, &["--run", &run]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(number(&world, "SELECT COUNT(*) FROM blob"), 0, "{said:?}");
    assert!(!holds(&world, "gold-") && files(&world) == 0);
    assert_eq!(verify(&world, &[]).code, Some(0));
    assert!(
        number(&world, "SELECT unswept_generation FROM retention_state") > 0,
        "no sweep is scheduled"
    );
}

#[test]
fn an_output_that_another_run_shares_stays() {
    let world = TestHome::new();
    let first = gave_out(&world, "gold", &[3_000, 14_000]);
    let second = gave_out(&world, "gold", &[3_000]);
    assert_eq!(erase(&world, &["--run", &first]).code, Some(0));
    assert_eq!(number(&world, OUTPUTS), 1, "the one that the other run names");
    assert_eq!(erase(&world, &["--run", &second]).code, Some(0));
    assert_eq!(number(&world, "SELECT COUNT(*) FROM blob"), 0);
}

#[test]
fn no_older_page_keeps_erased_content() {
    let world = TestHome::new();
    let run = told(&world, "remember Rumpelstilzchen");
    // Tables grow until their pages are split.
    for _ in 0..12 {
        world.run(
            &super::home_fixture::commands(&["echo more", "echo again"]),
            &["--agent", "main"],
        );
    }
    assert_eq!(erase(&world, &["--run", &run]).code, Some(0));
    assert!(
        !holds(&world, "Rumpelstilzchen") && !holds(&world, SECRET),
        "an older page still has it"
    );
    assert_eq!(verify(&world, &[]).code, Some(0));
}

#[test]
fn the_record_of_an_erasure_cannot_be_erased() {
    let world = TestHome::new();
    told(&world, "hello");
    let record = erase(&world, &["--seq", "1"]).json()["seq"].to_string();
    let said = erase(&world, &["--seq", &record]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "event_not_erasable"),
        "{said:?}"
    );
    // A pruning record cannot be erased either. In a range it is skipped.
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let sql = format!("UPDATE event SET kind = 'data_pruned' WHERE seq = {record}");
    database.execute_batch(&sql).expect("another kind");
    drop(database);
    assert_eq!(
        erase(&world, &["--seq", &record]).error_code(),
        "event_not_erasable"
    );
    let said = erase(&world, &["--seq", &format!("2..{record}")]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let kept = format!("SELECT COUNT(*) FROM event WHERE seq = {record} AND payload IS NOT NULL");
    assert_eq!(number(&world, &kept), 1);
}

#[test]
fn copies_from_before_a_migration_are_named() {
    let world = TestHome::new();
    let run = told(&world, "hello");
    let copy = world.home().join("agent.sqlite.schema-3.bak");
    fs::write(&copy, "an older database").expect("a copy");
    let said = erase(&world, &["--run", &run]);
    assert_eq!(said.json()["copies"][0], copy.display().to_string(), "{said:?}");
    assert!(
        said.stderr.contains(&format!("rm {}", copy.display())),
        "{said:?}"
    );
}

// Conformance: L-173
#[test]
fn an_erased_run_is_deleted_from_disk_and_the_log_stays_complete() {
    let world = TestHome::new();
    let run = told(&world, "remember Rumpelstilzchen");
    assert!(holds(&world, "Rumpelstilzchen") && holds(&world, SECRET));
    let said = erase(&world, &["--run", &run[..12]]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let erased = said.json();
    assert!(
        erased["events"].as_u64() > Some(4) && erased["transitions"].as_u64() > Some(2),
        "{erased}"
    );
    assert!(
        !holds(&world, "Rumpelstilzchen") && !holds(&world, SECRET),
        "it is still on the disk"
    );
    let said = verify(&world, &[]);
    assert_eq!(
        (said.code, &said.json()["erased"]),
        (Some(0), &erased["events"]),
        "{said:?}"
    );
    // The log records who erased what, why and how much, and this record cannot be erased.
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    let record = events
        .lines()
        .find(|line| line.contains("content_erased"))
        .expect("a record");
    assert!(
        record.contains("it was not ours to keep") && record.contains(&run),
        "{record}"
    );
    let last = erased["seq"].as_u64().expect("a number").to_string();
    // The first event is the creation of the agent and belongs to no run.
    let again = erase(&world, &["--seq", &format!("2..{last}")]).json();
    assert_eq!(
        (&again["events"], &again["seq"]),
        (&0.into(), &serde_json::Value::Null),
        "{again}"
    );
    // Commands that need the contents report the erasure.
    for verb in ["replay", "export"] {
        assert_eq!(world.wakeful(&[verb, &run, "--json"]).error_code(), "run_erased");
    }
    let shown = world.wakeful(&["runs", "show", &run, "--json"]);
    assert_eq!(
        (shown.code, shown.json()["outcome"].as_str()),
        (Some(0), Some("completed")),
        "{shown:?}"
    );
    // The agent continues to work.
    let next = told(&world, "and now?");
    assert_eq!(world.wakeful(&["replay", &next]).code, Some(0));
    assert_eq!(verify(&world, &[]).code, Some(0));
}

#[test]
fn content_that_another_run_references_stays() {
    let world = TestHome::new();
    let (first, second) = (told(&world, "the same words"), told(&world, "the same words"));
    let said = erase(&world, &["--run", &first]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.wakeful(&["replay", &second]).code, Some(0));
    let transcript = world.wakeful(&["transcript", "main"]).stdout;
    assert_eq!(transcript.matches("the same words").count(), 1, "{transcript}");
    assert!(!transcript.contains("erased"), "{transcript}");
}

#[test]
fn single_events_lose_their_content_and_nothing_else() {
    let world = TestHome::new();
    let run = told(&world, "hello");
    let said = erase(&world, &["--seq", "1..2"]);
    assert_eq!(
        (said.code, &said.json()["events"]),
        (Some(0), &2.into()),
        "{said:?}"
    );
    let said = verify(&world, &[]);
    assert_eq!(
        (said.code, &said.json()["erased"]),
        (Some(0), &2.into()),
        "{said:?}"
    );
    assert_eq!(
        world.wakeful(&["replay", &run]).code,
        Some(0),
        "its journal is whole"
    );
}

#[test]
fn only_finished_runs_can_be_erased_and_only_with_a_reason() {
    let world = TestHome::new();
    told(&world, "hello");
    let open = world.orphan("silent.yaml", &["--agent", "main"]);
    assert_eq!(erase(&world, &["--run", &open]).error_code(), "run_open");
    assert_eq!(erase(&world, &["--seq", "1..999"]).error_code(), "run_open");
    assert_eq!(erase(&world, &["--seq", "1"]).code, Some(0));
    assert_eq!(erase(&world, &["--run", "beef"]).error_code(), "run_unknown");
    for (args, code) in [
        (vec!["--seq", "0"], "bad_seq"),
        (vec!["--seq", "3..1"], "bad_seq"),
        (vec![], "usage"),
        (vec!["--seq", "1", "--run", &open], "usage"),
    ] {
        let said = erase(&world, &args);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), code),
            "{args:?}"
        );
    }
    for reason in ["", " ", "two\nlines"] {
        let said = world.wakeful(&[
            "erase", "--agent", "main", "--seq", "1", "--json", "--yes", "--reason", reason,
        ]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_reason"),
            "{reason:?}"
        );
    }
    assert_eq!(
        world
            .wakeful(&[
                "erase", "--agent", "nobody", "--seq", "1", "--json", "--yes", "--reason", "x"
            ])
            .error_code(),
        "agent_unknown"
    );
    // A run of another agent.
    let other = world.run(
        "rounds: [{text: hello}]\n",
        &["--agent", "other", "--create-agent"],
    );
    let other = other.json()["run_key"].as_str().expect("a key").to_owned();
    assert_eq!(erase(&world, &["--run", &other]).error_code(), "run_unknown");
}

#[test]
fn a_daemon_erases_on_request() {
    let world = TestHome::new();
    let run = told(&world, "remember Rumpelstilzchen");
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = erase(&world, &["--run", &run]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.json()["blobs"].as_u64() > Some(2), "{said:?}");
    assert_eq!(
        erase(&world, &["--run", &run]).json()["seq"],
        serde_json::Value::Null
    );
    assert_eq!(
        world.wakeful(&["replay", &run, "--json"]).error_code(),
        "run_erased"
    );
    let events = world.wakeful(&["events", "main", "--json"]).stdout;
    assert!(events.contains("\"channel\":\"cli\""), "{events}");
    let beyond = erase(&world, &["--seq", "9999"]);
    assert_eq!(
        (beyond.code, beyond.error_code().as_str()),
        (Some(1), "event_unknown")
    );
    daemon.terminate();
    assert_eq!(verify(&world, &[]).code, Some(0));
    wait_until(|| !holds(&world, "Rumpelstilzchen"));
}

#[test]
fn decisions_about_an_erased_run_are_erased_with_it() {
    let world = TestHome::new();
    let script = world.script(&super::home_fixture::commands(&["echo secret-plan >> world.txt"]));
    let base = [
        "run",
        "do it",
        "--agent",
        "main",
        "--create-agent",
        "--model",
        &script,
        "--json",
    ];
    let said = world.wakeful(&[&base[..], &["--ask-tools", "ExecCommand"]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    let asked = world.wakeful(&["decision", "list", "--json"]).json();
    let (id, run) = (
        &asked["decisions"][0]["decision_id"],
        &asked["decisions"][0]["run_key"],
    );
    let (id, run) = (id.as_str().expect("an id"), run.as_str().expect("a key"));
    let open = world.wakeful(&[
        "erase", "--agent", "main", "--run", run, "--reason", "x", "--json", "--yes",
    ]);
    assert_eq!(open.error_code(), "run_open", "{open:?}");
    world.wakeful(&["decision", "answer", id, "deny", "--note", "secret-reason"]);
    world.wakeful(&["run", "--resume"]);
    let shown = || world.wakeful(&["decision", "show", id, "--json"]).stdout;
    assert!(shown().contains("secret-plan") && shown().contains("secret-reason"));
    let said = world.wakeful(&[
        "erase", "--agent", "main", "--run", run, "--reason", "x", "--json", "--yes",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!shown().contains("secret"), "{}", shown());
}

#[test]
fn an_erasure_asks_for_the_name_and_its_run_says_erased() {
    let world = TestHome::new();
    let said = world.run(
        "rounds: [{text: hello}]\n",
        &["--agent", "main", "--create-agent"],
    );
    let run = said.json()["run_key"].as_str().expect("a key").to_owned();
    let args = ["erase", "--agent", "main", "--run", &run, "--reason", "x"];
    let said = world.wakeful(&[&args[..], &["--json"]].concat());
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "confirmation_missing"),
        "{said:?}"
    );
    let at_terminal = |answer: &str| {
        let mut command = world.command("script".as_ref());
        let call = format!("{} {}", super::home_fixture::program().display(), args.join(" "));
        command.args(["--quiet", "--return", "--command", &call, "/dev/null"]);
        super::init::with_input(command, answer)
    };
    let said = at_terminal("mian\n");
    assert!(
        said.code == Some(2) && said.stdout.contains("Type main to confirm"),
        "{said:?}"
    );
    let show = || world.wakeful(&["runs", "show", &run]).stdout;
    let list = || world.wakeful(&["runs", "list"]).stdout;
    assert!(!show().contains("erased") && !list().contains("erased"));
    assert_eq!(at_terminal("main\n").code, Some(0));
    assert!(
        show().contains("its contents were erased permanently"),
        "{}",
        show()
    );
    assert!(list().contains("erased"), "{}", list());
}

#[test]
fn messages_typed_in_chat_are_erased_with_the_run() {
    let world = TestHome::new();
    let key = told(&world, "a prompt");
    let history = world.home().join("chat_history");
    let line = |agent: &str, text: &str| serde_json::json!({"agent_id": agent, "text": text}).to_string();
    fs::write(
        &history,
        [line("main", SECRET), line("other", "kept"), String::new()].join("\n"),
    )
    .expect("written");
    let said = erase(&world, &["--run", &key]);
    assert_eq!(
        (said.code, &said.json()["chat_messages"]),
        (Some(0), &serde_json::json!(1)),
        "{said:?}"
    );
    assert_eq!(
        fs::read_to_string(&history).expect("text").trim(),
        line("other", "kept")
    );
    let said = erase(&world, &["--run", &key]);
    assert_eq!(said.json()["chat_messages"], 0, "{said:?}");
}
