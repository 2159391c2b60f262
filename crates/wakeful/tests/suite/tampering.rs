//! `wakeful verify`, `replay` and `doctor --deep` find and name changes outside the logs.

use std::fs;

use rusqlite::Connection;

use super::home_fixture::{TestHome, commands};
use super::tampered_columns::called;

/// A direct change of the database, and the location that must be reported.
const CHANGES: [(&str, &str); 7] = [
    (
        "UPDATE blob SET bytes = CAST('other' AS BLOB), encoding = 'raw', size = 5",
        "blob.bytes",
    ),
    ("UPDATE message SET authority = 'external_evidence'", "message"),
    ("UPDATE cap SET daily_microusd = 1000000000", "cap"),
    ("DELETE FROM brake", "brake"),
    (
        "INSERT INTO brake VALUES ('', 'nobody said so', 'cli', 1)",
        "brake",
    ),
    ("UPDATE agent SET mode = 'autonomous'", "agent"),
    ("UPDATE step SET sandbox = 'enforced_by_nobody'", "step.sandbox"),
];

fn tamper(world: &TestHome, sql: &str) {
    let database = Connection::open(world.home().join("agent.sqlite")).expect("opens");
    database.execute_batch(sql).expect(sql);
}

fn home_with_settings() -> (TestHome, String) {
    let world = TestHome::new();
    let said = world.run(
        &commands(&["echo one >> world.txt"]),
        &["--agent", "main", "--create-agent"],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    called(&world, &["budget", "set", "5"]);
    called(
        &world,
        &["brake", "on", "--agent", "main", "--reason", "a reason"],
    );
    (world, said.json()["run_key"].as_str().expect("a key").to_owned())
}

#[test]
fn altered_contents_and_settings_are_named_except_with_fast() {
    let (world, _) = home_with_settings();
    let path = world.home().join("agent.sqlite");
    let whole = fs::read(&path).expect("a database");
    assert_eq!(world.wakeful(&["verify"]).code, Some(0));
    for (sql, place) in CHANGES {
        fs::write(&path, &whole).expect("as it was");
        tamper(&world, sql);
        let said = world.wakeful(&["verify", "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(6), "verification_failed"),
            "{sql}: {said:?}"
        );
        let altered = said.json()["contents"]["altered"][0].clone();
        assert_eq!(altered["place"], place, "{sql}: {said:?}");
        assert!(
            !altered["hint"].as_str().unwrap_or_default().is_empty(),
            "{sql}: {said:?}"
        );
        assert_eq!(world.wakeful(&["verify", "--fast"]).code, Some(0), "{sql}");
    }
}

/// Forged or moved rows, and the location that must be reported.
const FORGERIES: [(&str, &str); 4] = [
    (
        "CREATE TEMP TABLE forged AS SELECT * FROM message LIMIT 1;
        UPDATE forged SET run_key = zeroblob(32);
        INSERT INTO message SELECT * FROM forged",
        "message.run_key",
    ),
    (
        "CREATE TEMP TABLE forged AS SELECT * FROM run LIMIT 1;
        UPDATE forged SET run_key = zeroblob(32);
        INSERT INTO run SELECT * FROM forged",
        "run.run_key",
    ),
    (
        "UPDATE wake SET at_ms = at_ms + 1 WHERE verdict = 'queued'",
        "wake.at_ms",
    ),
    (
        "UPDATE wake SET verdict = 'run' WHERE verdict = 'queued'",
        "wake.verdict",
    ),
];

#[test]
fn rows_without_their_own_event_are_found() {
    let (world, _) = home_with_settings();
    called(&world, &["agent", "create", "idle"]);
    called(&world, &["agent", "pause", "idle"]);
    called(&world, &["message", "idle", "look at this"]);
    let path = world.home().join("agent.sqlite");
    tamper(&world, "PRAGMA wal_checkpoint(TRUNCATE)");
    let whole = fs::read(&path).expect("a database");
    assert_eq!(world.wakeful(&["verify"]).code, Some(0));
    for (sql, place) in FORGERIES {
        fs::write(&path, &whole).expect("as it was");
        tamper(&world, sql);
        let said = world.wakeful(&["verify", "--json"]);
        let altered = said.json()["contents"]["altered"].clone();
        let altered = altered.as_array().cloned().unwrap_or_default();
        let is_named = altered.iter().any(|one| one["place"] == place);
        assert!(said.code == Some(6) && is_named, "{sql}: {said:?}");
    }
}

#[test]
fn replay_and_a_deep_check_find_altered_contents() {
    let (world, run) = home_with_settings();
    called(&world, &["replay", &run]);
    called(&world, &["doctor", "--deep"]);
    let (first, _) = CHANGES[0];
    tamper(&world, first);
    let said = world.wakeful(&["replay", &run, "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(6), "replay_differs"),
        "{said:?}"
    );
    let said = world.wakeful(&["doctor", "--deep", "--json"]);
    let checks = said.json()["checks"].as_array().cloned().unwrap_or_default();
    let contents = checks.iter().find(|check| check["name"] == "contents").cloned();
    let status = contents.unwrap_or_default()["status"].clone();
    assert_eq!((said.code, status), (Some(1), "problem".into()), "{said:?}");
}
