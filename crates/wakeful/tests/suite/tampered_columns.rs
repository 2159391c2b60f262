//! Changes every column of every table, one at a time: `verify` finds the change, unless `docs/proof.md`
//! documents why it need not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use wakeful_core::key::{Digest, RunKey};
use wakeful_runtime::proof::{VerifyOptions, verify};
use wakeful_store::{SqliteOptions, Store};

use super::api::block_on;
use super::decision::write;
use super::home_fixture::{TestHome, commands};
use super::rare_rows::rest;

/// The guide with the table of columns.
const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/proof.md");

/// Plausible other values for columns whose check or type would reject a random one.
const OTHERS: [(&str, &str, &str); 16] = [
    ("budget_limit", "scope", "session"),
    ("budget_limit", "resource", "money"),
    ("budget_limit", "period", "yearly"),
    ("message", "kind", "hint"),
    ("message", "authority", "external_evidence"),
    ("message", "surface", "cli_prompt"),
    ("message", "context", "runtime_owned"),
    ("message", "cause", "{\"priority\":\"interject\"}"),
    ("message", "options", "{\"max_rounds\":9}"),
    ("run", "status", "failed"),
    ("step", "status", "denied"),
    ("step", "class", "internal"),
    ("transcript_entry", "role", "assistant"),
    ("transcript_entry", "sources", "{\"more\":true}"),
    ("brake", "channel", "api"),
    ("wake", "verdict", "called_off"),
];

/// A home with rows in every table: most of them written as people do it, the rest by the functions that
/// write them.
fn home_with_all_rows() -> TestHome {
    let world = TestHome::new();
    let script = commands(&["echo one >> world.txt"]);
    let said = world.run(&script, &["--agent", "main", "--create-agent"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = RunKey(Digest::from_hex(said.json()["run_key"].as_str().expect("a key")).expect("hex"));
    with_decisions(&world, &script);
    let costly = "price: { input: 10, output: 10 }\nmax_output_tokens: 2000000\nrounds:\n  - text: done\n";
    let said = world.run(costly, &["--agent", "parked", "--create-agent"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    for args in [
        &["agent", "create", "idle"][..],
        &["agent", "pause", "idle"],
        &["message", "idle", "look at this"],
        &["budget", "set", "5"],
        &["budget", "set", "2", "--agent", "main"],
        &["brake", "on", "--agent", "idle", "--reason", "a reason"],
        &["journal", "category", "add", "gym"],
        &[
            "subscribe",
            "idle",
            "--on",
            "TASK",
            "--category",
            "gym",
            "--message",
            "plan the week",
            "--id",
            "gym",
        ],
        &[
            "subscribe",
            "idle",
            "--on",
            "agentChangedNotification",
            "--message",
            "look",
            "--id",
            "agents",
        ],
        &[
            "schedule",
            "add",
            "idle",
            "--message",
            "Look at the day.",
            "--id",
            "daily",
            "--every",
            "1d",
        ],
    ] {
        called(&world, args);
    }
    write(&world, move |tx| rest(tx, run));
    // A runner unregisters itself when it stops; this one was killed.
    let database = Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let killed = "INSERT INTO runner VALUES ('gone', 'there', 1, 1, 0)";
    database.execute(killed, []).expect(killed);
    // Checking a signature is slow without optimization, and each command has signed.
    let older = "DELETE FROM signed_head WHERE seq < (
        SELECT MAX(newer.seq) FROM signed_head newer WHERE newer.agent_id = signed_head.agent_id)";
    database.execute(older, []).expect(older);
    world
}

/// One answered decision and one pending decision.
fn with_decisions(world: &TestHome, script: &str) {
    for agent in ["asked", "waiting"] {
        let said = world.run(
            script,
            &["--agent", agent, "--create-agent", "--ask-tools", "ExecCommand"],
        );
        assert_eq!(said.code, Some(3), "{said:?}");
        let id = said.json()["decisions"][0]["decision_id"]
            .as_str()
            .expect("a name")
            .to_owned();
        if agent == "asked" {
            called(world, &["decision", "answer", &id, "deny", "--note", "not today"]);
        }
    }
}

pub(super) fn called(world: &TestHome, args: &[&str]) {
    let said = world.wakeful(args);
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
}

/// The guide's statement about each column.
fn guide() -> BTreeMap<(String, String), String> {
    let text = fs::read_to_string(GUIDE).expect("the guide");
    let table = text.split("<!-- columns -->").nth(1).expect("a table of columns");
    let lines = table.lines().filter(|line| line.starts_with("| `"));
    let mut columns = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [table, names, finder] = cells[..] else {
            panic!("three cells: {line}")
        };
        for name in names.split(',') {
            let key = (
                table.trim_matches('`').to_owned(),
                name.trim().trim_matches('`').to_owned(),
            );
            let known = columns.insert(key, finder.to_owned());
            assert_eq!(known, None, "told twice: {line}");
        }
    }
    columns
}

/// Every column of the database.
fn live(database: &Connection) -> Vec<(String, String)> {
    let sql = "
        SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, c.cid";
    let mut statement = database.prepare(sql).expect("a statement");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.expect("rows").map(|row| row.expect("a row")).collect()
}

/// Rows that can be changed, first those in which the column has a value, because a check may forbid one in
/// others.
fn chosen(database: &Connection, table: &str, column: &str) -> Vec<(String, Value)> {
    let sql = format!("SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk");
    // No event records a refusal or a queued message, so the guide lists their wake records as unprotected.
    let from = match table {
        "wake" => "wake WHERE verdict = 'run'",
        table => table,
    };
    let mut statement = database.prepare(&sql).expect("a statement");
    let keys: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .expect("rows")
        .map(|row| row.expect("a row"))
        .collect();
    let spelled: Vec<String> = keys
        .iter()
        .map(|key| format!("'{key} = ' || quote({key})"))
        .collect();
    let sql = format!(
        "SELECT {}, {column} FROM {from} ORDER BY {column} IS NULL, {} LIMIT 10",
        spelled.join(" || ' AND ' || "),
        keys.join(", ")
    );
    let mut statement = database.prepare(&sql).expect("a statement");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let rows: Vec<_> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    assert!(!rows.is_empty(), "no row in {table}");
    rows
}

/// Other values for a column, the least conspicuous first.
fn others(table: &str, column: &str, now: &Value, made_by: &str) -> Vec<Value> {
    let listed = OTHERS.iter().filter(|(t, c, _)| (*t, *c) == (table, column));
    let mut others: Vec<Value> = listed
        .map(|(.., other)| Value::Text((*other).to_owned()))
        .collect();
    let checked = made_by.split(&format!("({column} IN (")).nth(1);
    let checked = checked
        .and_then(|rest| rest.split("))").next())
        .unwrap_or_default();
    let words = checked.split(',').map(|word| word.trim().trim_matches('\''));
    let words = words.filter(|word| !word.is_empty() && word.parse::<i64>().is_err());
    others.extend(words.map(|word| Value::Text(word.to_owned())));
    match now {
        Value::Integer(n) => others.extend([n + 1, 1 - n, n - 1].map(Value::Integer)),
        Value::Text(text) => others.extend([twisted(text), format!("{text}x")].map(Value::Text)),
        Value::Blob(bytes) => {
            let mut other = bytes.clone();
            if let Some(last) = other.last_mut() {
                *last ^= 1;
            }
            others.push(Value::Blob(other));
        }
        Value::Null => others.extend([
            Value::Integer(1),
            Value::Text("x".to_owned()),
            Value::Blob(vec![7; 32]),
        ]),
        Value::Real(_) => {}
    }
    others.retain(|other| other != now);
    others
}

/// The text with its last letter or digit changed, so that JSON stays valid.
fn twisted(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    if let Some(last) = chars.iter_mut().rev().find(|char| char.is_ascii_alphanumeric()) {
        *last = if *last == '7' { '8' } else { '7' };
    }
    chars.into_iter().collect()
}

/// The findings of `verify` in a home's database.
fn found(home: &Path) -> Vec<String> {
    let options = SqliteOptions::new(home.join("agent.sqlite"), home.join("blobs"));
    let wanted = VerifyOptions {
        contents: true,
        ..VerifyOptions::default()
    };
    block_on(async {
        let store = Store::open_sqlite_read_only(&options).expect("opens");
        let mut found = Vec::new();
        let verified = verify(&store, &wanted, |verdict| {
            found.extend(verdict.first_error.map(|flaw| flaw.to_string()));
        });
        match verified.await {
            Ok(verified) => found.extend(verified.audit.alterations.iter().map(ToString::to_string)),
            Err(error) => found.push(format!("error: {error:?}")),
        }
        store.close().await.expect("closes");
        found
    })
}

/// The result of an alteration.
#[derive(Debug, PartialEq)]
enum Fate {
    Found(String),
    Refused,
    Unfound,
}

/// Removes the triggers of a table, which would refuse a change, and returns their statements.
fn without_triggers(database: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1";
    let mut statement = database.prepare(sql).expect("a statement");
    let rows = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)));
    let triggers: Vec<(String, String)> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    drop(statement);
    for (name, _) in &triggers {
        database
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .expect("removed");
    }
    triggers.into_iter().map(|(_, sql)| sql).collect()
}

fn altered(home: &Path, whole: &[u8], table: &str, column: &str) -> Fate {
    let path = home.join("agent.sqlite");
    fs::write(&path, whole).expect("as it was");
    let database = Connection::open(&path).expect("opens");
    let made_by: String = database
        .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [table], |row| {
            row.get(0)
        })
        .expect("a table");
    let triggers = without_triggers(&database, table);
    let is_changed = chosen(&database, table, column).into_iter().any(|(row, now)| {
        let sql = format!("UPDATE {table} SET {column} = ?1 WHERE {row}");
        let mut others = others(table, column, &now, &made_by).into_iter();
        others.any(|other| database.execute(&sql, [other]).is_ok_and(|rows| rows > 0))
    });
    for trigger in triggers {
        database.execute_batch(&trigger).expect("a trigger");
    }
    drop(database);
    match is_changed {
        false => Fate::Refused,
        true => found(home).into_iter().next().map_or(Fate::Unfound, Fate::Found),
    }
}

#[test]
fn the_guide_lists_exactly_the_existing_columns() {
    let world = TestHome::new();
    called(&world, &["agent", "create", "main"]);
    let database = Connection::open(world.home().join("agent.sqlite")).expect("opens");
    let (live, guide) = (live(&database), guide());
    let lacking: Vec<_> = live.iter().filter(|column| !guide.contains_key(column)).collect();
    assert!(lacking.is_empty(), "docs/proof.md says nothing of {lacking:?}");
    let gone: Vec<_> = guide.keys().filter(|column| !live.contains(column)).collect();
    assert!(
        gone.is_empty(),
        "docs/proof.md tells of columns that are not there: {gone:?}"
    );
}

#[test]
fn an_altered_column_is_found_unless_the_guide_documents_it() {
    let world = home_with_all_rows();
    let home = world.home();
    let database = Connection::open(home.join("agent.sqlite")).expect("opens");
    database
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("checkpoint");
    let columns = live(&database);
    drop(database);
    assert_eq!(found(&home), Vec::<String>::new(), "before anything is altered");
    let (whole, guide) = (fs::read(home.join("agent.sqlite")).expect("a database"), guide());
    let mut wrong = Vec::new();
    for (table, column) in columns {
        let fate = altered(&home, &whole, &table, &column);
        let told = guide
            .get(&(table.clone(), column.clone()))
            .map_or("", String::as_str);
        let may_pass = told.starts_with("free") || told.starts_with("open");
        let is_told = match &fate {
            Fate::Found(_) => !may_pass,
            Fate::Refused => told.starts_with("constraint"),
            Fate::Unfound => may_pass,
        };
        if !is_told {
            wrong.push(format!("{table}.{column}: {fate:?}, the guide says {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} columns:\n{}", wrong.len(), wrong.join("\n"));
}
