//! The migrations, compiled in. Forward only: a released migration is never edited, and its hash is stored
//! next to it.

use crate::{Result, StoreError};

/// The schema that this program writes: the number of migrations applied to a database.
pub const SCHEMA: u32 = AGENT.number();

/// The journal schema that this program writes. It is numbered separately, because the journal outlives the
/// agents' database.
pub const JOURNAL_SCHEMA: u32 = JOURNAL.number();

/// The properties of one kind of database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// The migrations of a SQLite file, in order.
    pub(crate) sqlite: &'static [&'static str],
    /// The migrations of a PostgreSQL database, in order.
    pub(crate) postgres: &'static [&'static str],
    /// The PostgreSQL schema that holds the tables.
    pub(crate) namespace: &'static str,
    /// Identifies a SQLite file of Wakeful and its kind.
    pub(crate) application_id: i64,
}

/// The database of agents and their work: `WKFA` in ASCII.
pub(crate) static AGENT: Schema = Schema {
    sqlite: &[include_str!("../migrations/sqlite/0001_baseline.sql")],
    postgres: &[include_str!("../migrations/postgres/0001_baseline.sql")],
    namespace: "wakeful_agents",
    application_id: 0x574b_4641,
};

/// The person's records: `WKFJ` in ASCII.
pub(crate) static JOURNAL: Schema = Schema {
    sqlite: &[include_str!("../migrations/journal/sqlite/0001_baseline.sql")],
    postgres: &[include_str!("../migrations/journal/postgres/0001_baseline.sql")],
    namespace: "wakeful_records",
    application_id: 0x574b_464a,
};

/// The triggers of the agents' database on SQLite with their statements, as the database stores them.
pub(crate) fn triggers_sqlite() -> Vec<(String, String)> {
    let migrations = AGENT
        .sqlite
        .iter()
        .flat_map(|text| text.split("CREATE TRIGGER ").skip(1));
    let statements = migrations.filter_map(|rest| Some(rest.split_once("\nEND;")?.0));
    let named = statements.map(|body| {
        let name = body.split_whitespace().next().unwrap_or_default();
        (name.to_owned(), format!("CREATE TRIGGER {body}\nEND"))
    });
    named.collect()
}

/// Bits of `pg_trigger.tgtype`.
mod kind {
    pub(super) const ROW: u8 = 1;
    pub(super) const BEFORE: u8 = 2;
    pub(super) const INSERT: u8 = 4;
    pub(super) const DELETE: u8 = 8;
    pub(super) const UPDATE: u8 = 16;
    pub(super) const TRUNCATE: u8 = 32;
}

/// The triggers of the agents' database on PostgreSQL: their names, and their tables, kinds and functions as one
/// text. `A` is a trigger that is always enabled.
pub(crate) fn triggers_postgres() -> Vec<(String, String)> {
    let rows = kind::BEFORE | kind::ROW | kind::UPDATE | kind::DELETE;
    let triggers = [
        ("audit_entry", "rows", rows),
        ("audit_entry", "truncate", kind::BEFORE | kind::TRUNCATE),
        ("consent", "rows", rows | kind::INSERT),
        ("consent", "truncate", kind::BEFORE | kind::TRUNCATE),
    ];
    let named = triggers.map(|(table, suffix, kind)| {
        let body = function_body(&format!("{table}_guard"));
        let text = format!("{table} {kind} A search_path={}{body}", AGENT.namespace);
        (format!("{table}_{suffix}"), text)
    });
    named.into()
}

/// The body of a trigger function, as PostgreSQL stores it.
fn function_body(name: &str) -> &'static str {
    let texts = AGENT.postgres.iter();
    let found = texts.filter_map(|text| text.split_once(&format!("CREATE FUNCTION {name}()")));
    let mut bodies = found.filter_map(|(_, rest)| rest.split("$guard$").nth(1));
    bodies.next().unwrap_or_default()
}

/// Application ids of files written by builds before the baseline: `WAKE` and `WAKJ` in ASCII. Their schema
/// numbers were higher than today's, so they must not be mistaken for those of a newer program.
const DEVELOPMENT_IDS: [i64; 2] = [0x5741_4b45, 0x5741_4b4a];

impl Schema {
    /// The number of the newest schema.
    pub(crate) const fn number(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are a few migrations")]
        {
            self.sqlite.len() as u32
        }
    }

    /// Whether a file with this application id was written by a development build.
    pub(crate) fn is_development(application_id: i64) -> bool {
        DEVELOPMENT_IDS.contains(&application_id)
    }
}

/// Whether a database can be read without migration, which a reader cannot perform.
pub(crate) const fn readable(found: u32, known: u32) -> Result<()> {
    match found {
        // Another process is about to create the tables, or was stopped while doing so.
        0 => Err(StoreError::Absent),
        found if found == known => Ok(()),
        found if found > known => Err(StoreError::NewerSchema { found, known }),
        found => Err(StoreError::OlderSchema { found, known }),
    }
}

#[cfg(test)]
mod tests;
