//! `wakeful verify` and `wakeful replay`: any change of stored data is found and located.

use std::fs;

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands};

/// A test home with a run of one command, one denial and an answer. Returns the key of that run.
pub(super) fn ran(world: &TestHome) -> String {
    ran_as(world, "main")
}

/// The same run for another agent.
pub(super) fn ran_as(world: &TestHome, agent: &str) -> String {
    let script = commands(&["echo one >> world.txt"]);
    let said = world.run(&script, &["--agent", agent, "--create-agent"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()["run_key"].as_str().expect("a key").to_owned()
}

/// Changes the database directly, without the program.
fn tamper(world: &TestHome, sql: &str) {
    let database = rusqlite::Connection::open(world.home().join("agent.sqlite")).expect("opens");
    database.execute_batch(sql).expect(sql);
}

pub(super) fn verify(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["verify", "--json"], args].concat())
}

/// The verify error of the only agent.
fn flaw(said: &CommandOutput) -> Value {
    assert_eq!(said.code, Some(6), "{said:?}");
    assert_eq!(said.error_code(), "verification_failed");
    let answer = said.json();
    assert_eq!(answer["ok"], false);
    let agent = &answer["agents"][0];
    assert_eq!(agent["agent_id"], "main", "{answer}");
    assert!(!agent["flaw"]["hint"].as_str().unwrap_or_default().is_empty());
    agent["flaw"].clone()
}

#[test]
fn an_unchanged_log_is_verified_with_denials_and_device_signature() {
    let world = TestHome::new();
    let denied = world.run(
        &commands(&["echo no"]),
        &["--agent", "main", "--create-agent", "--deny-tools", "ExecCommand"],
    );
    assert_eq!(denied.code, Some(4), "{denied:?}");
    let said = verify(&world, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (answer, status) = (said.json(), world.wakeful(&["status", "--json"]).json());
    let agent = &answer["agents"][0];
    let listed = world.wakeful(&["events", "main", "--json"]).stdout;
    assert!(listed.contains("policy_decided"), "{listed}");
    assert_eq!(agent["events"], listed.lines().count(), "{answer}");
    assert_eq!(agent["last_seq"], agent["signers"][0]["seq"]);
    assert_eq!(agent["signers"][0]["key"], status["proof"]["key"]);
    assert_eq!(answer["heads"], status["proof"]["heads"]);
    // As text output.
    let words = world.wakeful(&["verify", "--agent", "main"]).stdout;
    assert!(words.contains("signed by this device up to event"), "{words}");
    assert_eq!(
        verify(&world, &["--agent", "nobody"]).error_code(),
        "agent_unknown"
    );
}

/// A change of the log, the expected finding, and its event.
const CHANGES: [(&str, &str, Option<u64>); 13] = [
    (
        "UPDATE event SET payload = CAST('{}' AS BLOB) WHERE seq = 3",
        "payload_changed",
        Some(3),
    ),
    (
        "UPDATE event SET salt = zeroblob(32) WHERE seq = 3",
        "payload_changed",
        Some(3),
    ),
    (
        "UPDATE event SET kind = 'run_ended' WHERE seq = 3",
        "event_changed",
        Some(3),
    ),
    (
        "UPDATE event SET at_ms = at_ms + 1 WHERE seq = 3",
        "event_changed",
        Some(3),
    ),
    (
        "UPDATE event SET policy_version = 'x' WHERE seq = 3",
        "event_changed",
        Some(3),
    ),
    ("DELETE FROM event WHERE seq = 3", "event_missing", Some(3)),
    (
        "UPDATE event SET seq = -1 WHERE seq = 3; UPDATE event SET seq = 3 WHERE seq = 4; UPDATE event SET seq = 4 WHERE seq = -1",
        "event_changed",
        Some(3),
    ),
    (
        "UPDATE event SET run_key = zeroblob(32) WHERE kind = 'run_started'",
        "event_run_mismatch",
        Some(4),
    ),
    (
        "DELETE FROM event WHERE seq = (SELECT MAX(seq) FROM event)",
        "log_shorter_than_head",
        None,
    ),
    (
        "UPDATE agent_head SET chain_hash = zeroblob(32)",
        "head_mismatch",
        None,
    ),
    (
        "UPDATE signed_head SET signature = zeroblob(64)",
        "signature_invalid",
        None,
    ),
    (
        "UPDATE event SET payload = NULL, salt = NULL WHERE seq = 3",
        "erasure_unrecorded",
        None,
    ),
    (
        "UPDATE event_incarnation SET incarnation = 'other.1'",
        "event_changed",
        Some(1),
    ),
];

#[test]
fn any_change_in_the_database_is_found_and_located() {
    let world = TestHome::new();
    ran(&world);
    let path = world.home().join("agent.sqlite");
    let whole = fs::read(&path).expect("a database");
    for (sql, code, seq) in CHANGES {
        fs::write(&path, &whole).expect("as it was");
        assert_eq!(verify(&world, &[]).code, Some(0), "before {sql}");
        tamper(&world, sql);
        let flaw = flaw(&verify(&world, &[]));
        assert_eq!(flaw["code"], code, "{sql}: {flaw}");
        if let Some(seq) = seq {
            assert_eq!(flaw["seq"], seq, "{sql}: {flaw}");
        }
    }
}

/// Moves the head of the log back before its last events.
const CUT: &str = "
    DELETE FROM event WHERE seq > 5 AND agent_id = 'main';
    UPDATE agent_head SET next_seq = 6, chain_hash = (SELECT hash FROM event WHERE seq = 5 AND agent_id = 'main')
    WHERE agent_id = 'main';";

#[test]
fn a_log_truncated_with_its_head_is_detected_by_the_signed_head() {
    let world = TestHome::new();
    ran(&world);
    tamper(&world, CUT);
    let flaw = flaw(&verify(&world, &[]));
    assert_eq!(flaw["code"], "log_truncated", "{flaw}");
}

#[test]
fn a_log_truncated_with_all_heads_is_detected_by_an_external_head() {
    let world = TestHome::new();
    ran(&world);
    let status = world.wakeful(&["status", "--json"]);
    let kept = world.path().join("kept.json");
    fs::write(&kept, &status.stdout).expect("kept");
    let kept = kept.display().to_string();
    let status = status.json();
    let hash = status["proof"]["heads"][0]["chain_hash"]
        .as_str()
        .expect("a hash");
    for head in [kept.as_str(), hash] {
        assert_eq!(verify(&world, &["--head", head]).code, Some(0), "{head}");
    }
    tamper(&world, CUT);
    tamper(&world, "DELETE FROM signed_head");
    assert_eq!(verify(&world, &["--fast"]).code, Some(0));
    assert_eq!(verify(&world, &[]).code, Some(6));
    let found = flaw(&verify(&world, &["--head", &kept]));
    assert_eq!(found["code"], "log_truncated", "{found}");
    let said = verify(&world, &["--head", hash]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(6), "verification_failed")
    );
    // The agent is deleted completely.
    tamper(
        &world,
        "DELETE FROM event; DELETE FROM agent_head; DELETE FROM agent",
    );
    let found = flaw(&verify(&world, &["--head", &kept]));
    assert_eq!(found["code"], "log_truncated", "{found}");
}

#[test]
fn a_head_of_another_home_and_a_forged_head_are_distinguished() {
    let (here, there) = (TestHome::new(), TestHome::new());
    ran(&here);
    ran(&there);
    let heads = there.wakeful(&["status", "--json"]).stdout;
    let path = here.path().join("theirs.json");
    fs::write(&path, &heads).expect("kept");
    let found = flaw(&verify(&here, &["--head", &path.display().to_string()]));
    assert!(
        ["signed_head_mismatch", "log_truncated"].contains(&found["code"].as_str().expect("a code")),
        "{found}"
    );
    let mut forged: Value = serde_json::from_str(&heads).expect("JSON");
    forged["proof"]["heads"][0]["seq"] = json!(1);
    fs::write(&path, forged.to_string()).expect("kept");
    let found = flaw(&verify(&here, &["--head", &path.display().to_string()]));
    assert_eq!(found["code"], "signature_invalid", "{found}");
    fs::write(&path, "{}").expect("kept");
    for bad in [
        path.display().to_string(),
        "beef".to_owned(),
        "/nowhere".to_owned(),
    ] {
        let said = verify(&here, &["--head", &bad]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_head"),
            "{bad}"
        );
    }
    for (args, code) in [(["--since", "soon"], "bad_since"), (["--key", "mine"], "bad_key")] {
        let said = verify(&here, &args);
        assert_eq!((said.code, said.error_code().as_str()), (Some(2), code));
    }
    let said = verify(&here, &["--key", &"0".repeat(32)]);
    assert_eq!(flaw(&said)["code"], "unknown_signer");
    let own = here.wakeful(&["status", "--json"]).json()["proof"]["key"].clone();
    assert_eq!(
        verify(&here, &["--key", own.as_str().expect("a key")]).code,
        Some(0)
    );
}

#[test]
fn verify_since_checks_only_newer_events() {
    let world = TestHome::new();
    ran(&world);
    let all = verify(&world, &["--since", "2000-01-01"]).json();
    assert_eq!(all["events"], verify(&world, &[]).json()["events"]);
    tamper(
        &world,
        "UPDATE event SET at_ms = 5 WHERE seq <= 3 AND agent_id = 'main'",
    );
    assert_eq!(verify(&world, &[]).code, Some(6));
    let said = verify(&world, &["--since", "2000-01-01T00:00:00Z"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (events, last) = (said.json()["events"].as_u64(), all["events"].as_u64());
    assert_eq!(events, last.map(|last| last - 3));
    assert_eq!(verify(&world, &["--since", "2999-01-01"]).json()["events"], 0);
}

/// A change of a run, and the expected finding.
const DIFFERENCES: [(&str, &str); 11] = [
    (
        "UPDATE run_log SET state_hash = zeroblob(32) WHERE ordinal = 2",
        "transition 2: the stored state",
    ),
    (
        "UPDATE run_log SET effects_hash = zeroblob(32) WHERE ordinal = 2",
        "transition 2: the stored list of effects",
    ),
    (
        "UPDATE run_log SET reads_hash = zeroblob(32) WHERE ordinal = 2",
        "transition 2: the stored read set",
    ),
    (
        "UPDATE run_log SET input = CAST(replace(CAST(input AS TEXT), 'duration_ms\":', 'duration_ms\":1') AS BLOB) WHERE ordinal = 3",
        "",
    ),
    (
        "DELETE FROM run_log WHERE ordinal = 2",
        "transition 3 is in the place of transition 2",
    ),
    (
        "DELETE FROM run_log WHERE ordinal = (SELECT MAX(ordinal) FROM run_log)",
        "its run log has",
    ),
    (
        "UPDATE run SET state = replace(state, 'completed', 'cancelled')",
        "the stored state of the run",
    ),
    (
        "DELETE FROM event WHERE kind = 'tool_executed'",
        "the log lacks the tool_executed event",
    ),
    (
        "UPDATE run SET state = 'rot'",
        "the stored state of the run cannot be read",
    ),
    (
        "INSERT INTO run_log SELECT run_key, ordinal + 1, input, reads_hash, state_hash, effects_hash, at_ms FROM run_log \
         ORDER BY ordinal DESC LIMIT 1",
        "its run log has",
    ),
    (
        "UPDATE run_log SET at_ms = at_ms + 1 WHERE ordinal = 2",
        "the log lacks the",
    ),
];

// Conformance: L-163, L-166, A-235
#[test]
fn a_run_is_replayed_without_model_or_tools_and_differences_are_named() {
    let world = TestHome::new();
    let run = ran(&world);
    fs::remove_file(world.path().join("script.yaml")).expect("the model is gone");
    let said = world.wakeful(&["replay", &run[..12], "--json"]);
    assert_eq!(
        (said.code, said.json()["ok"].as_bool()),
        (Some(0), Some(true)),
        "{said:?}"
    );
    assert_eq!(world.lines(), ["one"], "nothing was done again");
    let path = world.home().join("agent.sqlite");
    let whole = fs::read(&path).expect("a database");
    for (sql, words) in DIFFERENCES {
        fs::write(&path, &whole).expect("as it was");
        tamper(&world, sql);
        let said = world.wakeful(&["replay", &run, "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(6), "replay_differs"),
            "{sql}: {said:?}"
        );
        assert!(said.stdout.contains(words), "{sql}: {said:?}");
    }
    fs::write(&path, &whole).expect("as it was");
    tamper(&world, "UPDATE run SET machine_version = 999");
    let said = world.wakeful(&["replay", &run, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "machine_version_unsupported")
    );
    assert_eq!(
        world.wakeful(&["replay", "beef", "--json"]).error_code(),
        "run_unknown"
    );
}

#[test]
fn a_run_log_with_erased_events_is_reported_as_unbound() {
    let world = TestHome::new();
    let run = ran(&world);
    let said = world.wakeful(&["replay", &run, "--json"]).json();
    assert_eq!(
        (&said["bound"], &said["erased"]),
        (&true.into(), &0.into()),
        "{said}"
    );
    let args = [
        "erase", "--agent", "main", "--seq", "4", "--reason", "x", "--json", "--yes",
    ];
    assert_eq!(world.wakeful(&args).code, Some(0));
    let said = world.wakeful(&["replay", &run, "--json"]);
    let answer = said.json();
    assert_eq!(
        (said.code, &answer["bound"], &answer["erased"]),
        (Some(0), &false.into(), &1.into()),
        "{said:?}"
    );
    let words = world.wakeful(&["replay", &run]).stdout;
    assert!(words.contains("could not be checked against"), "{words}");
    // Its bundle is only the log.
    let bundle = world.path().join("run.bundle").display().to_string();
    let said = world.wakeful(&["export", &run, "--out", &bundle, "--json"]);
    assert_eq!(
        (said.code, &said.json()["replayed"]),
        (Some(0), &false.into()),
        "{said:?}"
    );
    let text = fs::read_to_string(&bundle).expect("a file");
    assert!(
        !text.contains("{\"journal\"") && !text.contains("{\"blob\""),
        "{text}"
    );
}

#[test]
fn a_run_too_old_for_replay_is_reported_and_not_a_forgery() {
    let world = TestHome::new();
    let run = ran(&world);
    tamper(&world, "UPDATE run SET prune_level = 1; DELETE FROM run_log");
    for verb in ["replay", "export"] {
        let said = world.wakeful(&[verb, &run, "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "run_pruned"),
            "{verb}: {said:?}"
        );
    }
}

#[test]
fn a_daemon_signs_when_it_stops_and_verify_works_beside_it() {
    let world = TestHome::new();
    let run = ran(&world);
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["agent", "create", "second"]).code, Some(0));
    assert_eq!(verify(&world, &[]).code, Some(0));
    assert_eq!(world.wakeful(&["replay", &run]).code, Some(0));
    let heads = |world: &TestHome| world.wakeful(&["status", "--json"]).json()["proof"]["heads"].clone();
    assert_eq!(heads(&world).as_array().map(Vec::len), Some(2));
    assert!(daemon.terminate().success());
    assert_eq!(
        heads(&world).as_array().map(Vec::len),
        Some(3),
        "signed at its end"
    );
    assert_eq!(verify(&world, &[]).code, Some(0));
}

#[test]
fn the_device_key_is_denied_to_commands_and_checked_by_doctor() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = TestHome::new();
    ran(&world);
    let key = world.home().join("device.key");
    let secret = fs::read_to_string(&key).expect("a key");
    let said = world.run(
        &commands(&[&format!("cat {} >> world.txt; true", key.display())]),
        &["--agent", "main"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(world.lines(), ["one"], "a command has read the key");
    assert_eq!(
        fs::metadata(&key).expect("a key").permissions().mode() & 0o777,
        0o600
    );
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("opened");
    let said = world.wakeful(&["doctor", "--json"]);
    let check = |said: &CommandOutput| {
        let checks = said.json()["checks"].as_array().cloned().expect("checks");
        checks
            .into_iter()
            .find(|check| check["name"] == "key")
            .expect("a check")
    };
    assert_eq!(check(&said)["status"], "problem", "{said:?}");
    // An exposed key is not used for signing; the run itself is not affected.
    let said = world.run("rounds: [{text: hello}]\n", &["--agent", "main"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stderr.contains("device_key_exposed"), "{said:?}");
    let fixed = world.wakeful(&["doctor", "--fix", "--json"]);
    assert_eq!(check(&fixed)["status"], "fixed", "{fixed:?}");
    for shown in [said.stderr, said.stdout, fixed.stdout] {
        assert!(!shown.contains(&secret), "the key was printed");
    }
    assert_eq!(
        world.run("rounds: [{text: hello}]\n", &["--agent", "main"]).code,
        Some(0)
    );
    assert_eq!(verify(&world, &[]).code, Some(0));
}

#[test]
fn verify_replay_export_and_erase_work_on_postgres() {
    let world = TestHome::on_postgres();
    let run = ran(&world);
    let said = verify(&world, &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(
        said.json()["agents"][0]["signers"].as_array().map(Vec::len),
        Some(1)
    );
    let said = world.wakeful(&["replay", &run, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let bundle = world.path().join("run.bundle").display().to_string();
    let said = world.wakeful(&["export", &run, "--out", &bundle, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let elsewhere = TestHome::new();
    assert_eq!(verify(&elsewhere, &["--bundle", &bundle]).code, Some(0));
    let said = world.wakeful(&[
        "erase", "--agent", "main", "--run", &run, "--reason", "because", "--json", "--yes",
    ]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.json()["blobs"].as_u64() >= Some(3), "{said:?}");
    let blobs = "SELECT COUNT(*) FROM wakeful_agents.blob";
    assert_eq!(world.database().value(blobs), "0");
    let said = verify(&world, &[]);
    let is_whole = said.code == Some(0) && said.json()["erased"].as_u64() > Some(3);
    assert!(is_whole, "{said:?}");
    let values = "UPDATE wakeful_agents.event SET kind = 'run_ended' WHERE seq = 3 RETURNING 1";
    assert_eq!(world.database().value(values), "1");
    assert_eq!(flaw(&verify(&world, &[]))["seq"], 3);
}
