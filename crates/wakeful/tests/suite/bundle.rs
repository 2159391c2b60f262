//! `wakeful export` and `wakeful verify --bundle`: one run in one file, verified on a machine without its
//! home.

use std::fs;

use serde_json::Value;
use wakeful_core::proof::bundle::BundleLine;
use wakeful_core::run::MACHINE_VERSION;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};
use super::proof::{ran, ran_as, verify};

/// Exports a run and returns the path of the file.
fn export(world: &TestHome, run: &str) -> String {
    let path = world.path().join("run.bundle").display().to_string();
    let said = world.wakeful(&["export", run, "--out", &path, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    path
}

fn key(world: &TestHome) -> String {
    let status = world.wakeful(&["status", "--json"]).json();
    status["proof"]["key"].as_str().expect("a key").to_owned()
}

#[test]
fn a_bundle_proves_its_run_on_a_machine_without_a_home() {
    let (here, there) = (TestHome::new(), TestHome::new());
    ran(&here);
    ran_as(&here, "other");
    let run = ran(&here);
    ran(&here);
    // With a daemon as well as without: export only reads.
    let daemon = RunningDaemon::serve(&here, &[]);
    let streamed = here.wakeful(&["export", &run]);
    daemon.terminate();
    let path = export(&here, &run);
    let said = verify(&there, &["--bundle", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!there.home().exists(), "checking made something");
    let answer = said.json();
    assert_eq!(answer["run_key"], run.as_str());
    assert_eq!(
        (&answer["replayed"], &answer["withheld"]),
        (&true.into(), &0.into()),
        "{answer}"
    );
    assert_eq!(answer["keys"][0], key(&here).as_str());
    assert_eq!(
        verify(&there, &["--bundle", &path, "--key", &key(&here)]).code,
        Some(0)
    );
    // The streamed export is the same except for the export time.
    let lines = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        lines(&streamed.stdout),
        lines(&fs::read_to_string(&path).expect("a file"))
    );
    // The content of other runs of the agent is not exported.
    let text = fs::read_to_string(&path).expect("a file");
    let own = text.matches("\"own\":true").count();
    assert_eq!(text.matches("\"payload\":[").count(), own, "{text}");
    // An existing file is not overwritten, and not every run can be exported.
    assert_eq!(
        here.wakeful(&["export", &run, "--out", &path, "--json"])
            .error_code(),
        "output_unwritable"
    );
    assert_eq!(
        here.wakeful(&["export", "beef", "--json"]).error_code(),
        "run_unknown"
    );
    let open = here.orphan("silent.yaml", &["--agent", "other"]);
    assert_eq!(
        here.wakeful(&["export", &open, "--json"]).error_code(),
        "run_open"
    );
}

#[test]
fn a_bundle_that_was_changed_truncated_or_reordered_proves_nothing() {
    let world = TestHome::new();
    let run = ran(&world);
    let path = export(&world, &run);
    let whole = fs::read_to_string(&path).expect("a file");
    let lines: Vec<&str> = whole.lines().collect();
    let refused = |text: &str, what: &str| {
        fs::write(&path, text).expect("changed");
        let said = verify(&world, &["--bundle", &path]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(6), "verification_failed"),
            "{what}: {said:?}"
        );
    };
    let cut = lines.len() - 1;
    refused(&(lines[..cut].join("\n") + "\n"), "its last line is gone");
    refused(&whole[..whole.len() / 2], "its last half is gone");
    refused(whole.trim_end(), "its last line does not end");
    for place in [1, 3, lines.len() - 3] {
        let mut fewer = lines.clone();
        fewer.remove(place);
        refused(&(fewer.join("\n") + "\n"), "a line is gone");
    }
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    refused(&(swapped.join("\n") + "\n"), "two lines changed places");
    refused(&whole.replace("do it", "do that"), "the prompt was changed");
    refused(&whole.replace("all done", "all gone"), "the answer was changed");
    refused(
        &whole.replacen("run_ended", "run_failed", 1),
        "an event was changed",
    );
    let journal = lines
        .iter()
        .find(|line| line.starts_with("{\"journal\""))
        .expect("a transition");
    refused(
        &whole.replace(journal, &journal.replace("\"ordinal\":1", "\"ordinal\":2")),
        "a number was changed",
    );
    fs::write(&path, &whole).expect("as it was");
    assert_eq!(verify(&world, &["--bundle", &path]).code, Some(0));
}

#[test]
fn foreign_newer_and_invalid_bundles_are_distinguished() {
    let (here, there) = (TestHome::new(), TestHome::new());
    let path = export(&there, &ran(&there));
    ran(&here);
    // The bundle is valid, and from another device.
    let said = verify(&here, &["--bundle", &path]);
    assert_eq!(
        (said.code, said.json()["keys"][0].as_str()),
        (Some(0), Some(key(&there).as_str()))
    );
    let said = verify(&here, &["--bundle", &path, "--key", &key(&here)]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(6), "verification_failed"),
        "{said:?}"
    );
    assert!(said.stdout.contains(&key(&there)), "{said:?}");
    let whole = fs::read_to_string(&path).expect("a file");
    let code = |text: &[u8]| {
        fs::write(&path, text).expect("changed");
        let said = verify(&here, &["--bundle", &path]);
        assert_eq!(said.code, Some(1), "{said:?}");
        said.error_code()
    };
    for (version, word) in [(1, "bundle_older"), (3, "bundle_newer")] {
        let other = whole.replacen("\"version\":2", &format!("\"version\":{version}"), 1);
        assert_eq!(code(other.as_bytes()), word);
    }
    let version = "\"machine_version\":";
    let other = whole.replacen(&format!("{version}{MACHINE_VERSION}"), &format!("{version}99"), 1);
    assert_eq!(code(other.as_bytes()), "machine_version_unsupported");
    assert_eq!(code(b""), "not_a_bundle");
    assert_eq!(code(b"rounds: [{text: hello}]\n"), "not_a_bundle");
    assert_eq!(code(&[0xff; 4096]), "not_a_bundle");
    assert_eq!(
        code(&fs::read(here.home().join("agent.sqlite")).expect("a database")),
        "not_a_bundle"
    );
    assert_eq!(
        verify(&here, &["--bundle", "/nowhere"]).error_code(),
        "bundle_unreadable"
    );
}

#[test]
fn a_run_that_was_tampered_with_cannot_be_exported() {
    let world = TestHome::new();
    let run = ran(&world);
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let sql = "UPDATE event SET at_ms = at_ms + 1 WHERE seq = 4";
    database.execute_batch(sql).expect("changed");
    drop(database);
    let path = world.path().join("run.bundle");
    let said = world.wakeful(&["export", &run, "--out", &path.display().to_string(), "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(6), "verification_failed"),
        "{said:?}"
    );
    assert!(!path.exists(), "half a bundle was left");
}

#[test]
fn secrets_are_not_exported_with_a_bundle() {
    const KEY: &str = "a-secret-of-no-known-shape";
    let world = TestHome::new();
    let script = format!(
        "rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: \"echo {KEY}\"}}}}]\n  - text: 'it is {KEY}'\n"
    );
    let said = world.run(&script, &["--agent", "main", "--create-agent"]);
    let run = said.json()["run_key"].as_str().expect("a key").to_owned();
    let path = world.path().join("run.bundle").display().to_string();
    let mut command = world.command(program());
    command
        .args(["export", &run, "--out", &path, "--json"])
        .env("MY_API_KEY", KEY);
    let said: CommandOutput = command.output().expect("the program starts").into();
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = fs::read_to_string(&path).expect("a file");
    let device = fs::read_to_string(world.home().join("device.key")).expect("a key");
    assert!(!text.contains(KEY) && !text.contains(&device), "{text}");
    assert!(said.json()["withheld"].as_u64() > Some(2), "{said:?}");
    // The remaining content still proves that the log is complete, and reports that content was withheld.
    let said = verify(&TestHome::new(), &["--bundle", &path]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer: Value = said.json();
    assert_eq!(answer["replayed"], false);
    assert!(answer["withheld"].as_u64() > Some(2), "{answer}");
    // The run key and the outcome are reported from the signed log. The run itself is not proved, so
    // verification with the key of the log fails.
    assert_eq!(
        (answer["run_key"].as_str(), &answer["outcome"]),
        (Some(run.as_str()), &"completed".into())
    );
    let said = verify(&TestHome::new(), &["--bundle", &path, "--key", &key(&world)]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(6), "verification_failed"),
        "{said:?}"
    );
}

fn lines(world: &TestHome, run: &str) -> Vec<BundleLine> {
    let said = world.wakeful(&["export", run]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let lines = said.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect()
}

/// A run of the same name in each of two homes, with different content.
fn twins() -> [(TestHome, String); 2] {
    ["it was paid", "nothing was paid"].map(|words| {
        let world = TestHome::new();
        let script = format!(
            "rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: \"echo '{words}'\"}}}}]\n  - text: '{words}'\n"
        );
        let args = ["--agent", "main", "--create-agent", "--idempotency-key", "one"];
        let said = world.run(&script, &args);
        let run = said.json()["run_key"].as_str().expect("a key").to_owned();
        (world, run)
    })
}

/// Writes a forged bundle and verifies it, with the key of the log and without.
fn judged(world: &TestHome, lines: &[BundleLine]) -> [CommandOutput; 2] {
    let path = world.path().join("forged.bundle");
    let spelled = lines
        .iter()
        .map(|line| serde_json::to_string(line).expect("JSON") + "\n");
    fs::write(&path, spelled.collect::<String>()).expect("forged");
    let path = path.display().to_string();
    [
        verify(&TestHome::new(), &["--bundle", &path, "--key", &key(world)]),
        verify(&TestHome::new(), &["--bundle", &path]),
    ]
}

/// The log of a bundle, with or without the contents of its events.
fn log(lines: &[BundleLine], says: bool) -> Vec<BundleLine> {
    let log = lines
        .iter()
        .filter(|line| matches!(line, BundleLine::Event(_) | BundleLine::Head(_)));
    let mut log: Vec<BundleLine> = log.cloned().collect();
    for line in &mut log {
        if let BundleLine::Event(event) = line
            && !says
        {
            event.payload = None;
        }
    }
    log
}

#[test]
fn the_signed_log_of_one_home_proves_no_other_run_log() {
    let [(here, run), (there, other)] = twins();
    assert_eq!(run, other, "the same name");
    let (mine, theirs) = (lines(&here, &run), lines(&there, &run));
    assert_eq!(judged(&here, &mine)[0].code, Some(0), "it is its own");
    let (BundleLine::Opening(mut opening), BundleLine::Opening(own)) = (theirs[0].clone(), mine[0].clone())
    else {
        panic!("no opening")
    };
    (opening.after, opening.lives) = (own.after, own.lives.clone());
    let rest = theirs.iter().skip(1);
    let rest = rest.filter(|line| !matches!(line, BundleLine::Event(_) | BundleLine::Head(_)));
    let rest: Vec<BundleLine> = rest.cloned().collect();
    for (says, words) in [
        (true, "the log lacks the"),
        (false, "nothing ties the run log to the signed log"),
    ] {
        let opening = vec![BundleLine::Opening(opening.clone())];
        let forged = [opening, log(&mine, says), rest.clone()].concat();
        for said in judged(&here, &forged) {
            assert_eq!(
                (said.code, said.error_code().as_str()),
                (Some(6), "verification_failed"),
                "{said:?}"
            );
            assert!(said.stdout.contains(words), "{said:?}");
        }
    }
}

#[test]
fn a_log_without_contents_is_reported_as_such() {
    let [(here, run), _] = twins();
    let mine = lines(&here, &run);
    let (BundleLine::Opening(mut opening), Some(BundleLine::Closing(mut closing))) =
        (mine[0].clone(), mine.last().cloned())
    else {
        panic!("no bundle")
    };
    opening.again = None;
    opening.run_key = serde_json::from_str(&format!("\"{}\"", "1".repeat(64))).expect("a key");
    (closing.journal, closing.blobs) = (0, 0);
    let log = log(&mine, false);
    let [pinned, said] = judged(
        &here,
        &[
            vec![BundleLine::Opening(opening)],
            log,
            vec![BundleLine::Closing(closing)],
        ]
        .concat(),
    );
    assert_eq!(
        (pinned.code, pinned.error_code().as_str()),
        (Some(6), "verification_failed"),
        "{pinned:?}"
    );
    let answer = said.json();
    assert_eq!(
        (said.code, &answer["run_key"], &answer["outcome"]),
        (Some(0), &"unknown".into(), &"unknown".into()),
        "{answer}"
    );
}

#[test]
fn the_output_of_a_command_is_exported_with_its_bundle() {
    let world = TestHome::new();
    let said = world.run(
        &super::home_fixture::commands(&["seq 1 9000"]),
        &["--agent", "main", "--create-agent"],
    );
    let run = said.json()["run_key"].as_str().expect("a key").to_owned();
    let path = export(&world, &run);
    let whole = fs::read_to_string(&path).expect("a file");
    let output = whole.lines().find(|line| line.contains("8998\\n8999\\n9000"));
    let output = output.expect("the whole output");
    assert_eq!(verify(&world, &["--bundle", &path]).code, Some(0));
    // A blob cannot be left out, regardless of the last line.
    let count = |text: &str| text.matches("{\"blob\"").count();
    let fewer = whole.replace(&format!("{output}\n"), "");
    let fewer = fewer.replace(
        &format!("\"blobs\":{}", count(&whole)),
        &format!("\"blobs\":{}", count(&fewer)),
    );
    fs::write(&path, fewer).expect("changed");
    let said = verify(&world, &["--bundle", &path]);
    assert_eq!(said.code, Some(6), "{said:?}");
    assert!(
        said.stdout
            .contains("which the bundle neither includes nor reports as withheld"),
        "{said:?}"
    );
}
