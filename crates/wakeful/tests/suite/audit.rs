//! `wakeful audit`: each verdict and each stop has an entry, which only an erasure with consent removes.

use std::collections::BTreeSet;

use rusqlite::Connection;
use serde_json::Value;

use super::home_fixture::TestHome;

/// A run whose first call is permitted and whose second call is denied. Returns its key.
fn run_with_denial(world: &TestHome) -> String {
    let script = "
rounds:
  - tools: [{ name: ExecCommand, input: { cmd: \"true\" } }]
  - tools: [{ name: WriteFile, input: { path: \"a\", content: \"b\" } }]
  - text: done
";
    let said = world.run(
        script,
        &["--agent", "main", "--create-agent", "--deny-tools", "WriteFile"],
    );
    said.json()["run_key"].as_str().expect("a key").to_owned()
}

fn list(world: &TestHome, args: &[&str]) -> Vec<Value> {
    let said = world.wakeful(&[&["audit", "list", "--json"], args].concat());
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said.json()["entries"].as_array().expect("entries").clone()
}

fn tools(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["tool"].as_str().expect("a tool"))
        .collect()
}

fn database(world: &TestHome) -> Connection {
    Connection::open(world.home().join("agent.sqlite")).expect("opens")
}

fn verified(world: &TestHome) -> Option<i32> {
    world.wakeful(&["verify", "--json"]).code
}

#[test]
fn audit_entries_are_listed_and_filtered() {
    let world = TestHome::new();
    let run = run_with_denial(&world);
    let all = list(&world, &[]);
    assert_eq!(tools(&all), ["WriteFile", "ExecCommand"], "newest first");
    assert_eq!(
        [
            &all[0]["decision"],
            &all[0]["stage"],
            &all[0]["category"],
            &all[0]["rule"]
        ],
        ["deny", "policy", "out_of_scope", "denied_tool"]
    );
    for args in [
        &["--decision", "deny"][..],
        &["--tool", "WriteFile"],
        &["--run", &run[..12], "--decision", "deny"],
        &["--agent", "main", "--stage", "policy", "--limit", "1"],
    ] {
        assert_eq!(tools(&list(&world, args)), ["WriteFile"], "{args:?}");
    }
    for args in [
        &["--stage", "quota"][..],
        &["--until", "1h"],
        &["--tool", "Other"],
    ] {
        assert!(list(&world, args).is_empty(), "{args:?}");
    }
    let page = world.wakeful(&["audit", "list", "--limit", "1", "--json"]).json();
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    assert_eq!(tools(&list(&world, &["--cursor", cursor])), ["ExecCommand"]);
}

#[test]
fn a_denied_call_is_shown_with_its_links() {
    let world = TestHome::new();
    run_with_denial(&world);
    let all = list(&world, &[]);
    // A denied call has its links as well.
    let seq = all[0]["seq"].to_string();
    let shown = world.wakeful(&["audit", "show", "main", &seq, "--json"]).json();
    let links: BTreeSet<&str> = shown["invocation"]
        .as_object()
        .expect("a record")
        .keys()
        .map(String::as_str)
        .collect();
    for link in [
        "invokesTool",
        "hasInput",
        "hasOutput",
        "inSession",
        "invokedBy",
        "producedToolResult",
        "governedByPolicy",
        "hasComplianceStatus",
    ] {
        assert!(links.contains(link), "{link}: {shown}");
    }
    let text = world.wakeful(&["audit", "show", "main", &seq]).stdout;
    assert!(
        text.contains("decision   deny at stage policy") && text.contains("compliance non_compliant"),
        "{text}"
    );
    let unknown = world.wakeful(&["audit", "show", "main", "1", "--json"]);
    assert_eq!(unknown.error_code(), "audit_entry_unknown", "{unknown:?}");
}

#[test]
fn audit_entries_are_exported_as_json_lines_and_csv() {
    let world = TestHome::new();
    run_with_denial(&world);
    let all = list(&world, &[]);
    let exported = world.wakeful(&["audit", "export"]).stdout;
    let lines: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, all);
    let csv = world
        .wakeful(&["audit", "export", "--format", "csv", "--decision", "deny"])
        .stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].starts_with("at,agent_id,seq,decision,")
            && lines[1].contains(",deny,policy,WriteFile,"),
        "{csv}"
    );
}

#[test]
fn only_an_erasure_removes_audit_entries_and_is_recorded_as_consent() {
    let world = TestHome::new();
    let run = run_with_denial(&world);
    assert!(database(&world).execute("DELETE FROM audit_entry", []).is_err());
    assert_eq!(verified(&world), Some(0));
    let erased = world.wakeful(&[
        "erase", "--agent", "main", "--run", &run, "--reason", "asked to", "--yes", "--json",
    ]);
    assert_eq!(erased.json()["audit_entries"], 2, "{erased:?}");
    assert!(list(&world, &[]).is_empty());
    let consent: (String, String, i64) = database(&world)
        .query_row("SELECT purpose, channel, used_seq FROM consent", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .expect("a consent");
    assert_eq!(
        consent,
        (
            "asked to".to_owned(),
            "cli".to_owned(),
            erased.json()["seq"].as_i64().expect("a number")
        )
    );
    assert_eq!(verified(&world), Some(0));
    let again = world.wakeful(&[
        "erase", "--agent", "main", "--run", &run, "--reason", "again", "--yes", "--json",
    ]);
    assert_eq!(
        (again.code, &again.json()["audit_entries"]),
        (Some(0), &Value::from(0))
    );
}

#[test]
fn altered_audit_entries_and_triggers_are_found() {
    for (tamper, place) in [
        ("DROP TRIGGER audit_entry_delete", "trigger"),
        (
            "INSERT INTO audit_entry SELECT agent_id, seq + 1000, run_key, operation_id, tool, decision, stage, rule, reason,
                category, policy_version, at_ms FROM audit_entry LIMIT 1",
            "audit_entry.seq",
        ),
        // A forged consent removes an entry, and its erasure is never recorded.
        (
            "INSERT INTO consent SELECT chain_hash, agent_id, 'forged', NULL, 1, 99, 'cli', 1, NULL FROM agent_head
                WHERE agent_id = 'main';
             UPDATE consent SET used_seq = (SELECT next_seq FROM agent_head WHERE agent_id = 'main');
             DELETE FROM audit_entry",
            "consent",
        ),
    ] {
        let world = TestHome::new();
        run_with_denial(&world);
        database(&world).execute_batch(tamper).expect(tamper);
        let said = world.wakeful(&["verify", "--json"]);
        assert_eq!(said.code, Some(6), "{tamper}: {said:?}");
        assert!(said.stdout.contains(&format!("\"{place}")), "{tamper}: {said:?}");
    }
}
