//! Binds security-relevant rows to the home's own log. Operations that write such a row mark it as touched;
//! before the transaction commits, one event with the hashes of the touched rows is appended, so no writer
//! can omit it.

use std::collections::BTreeMap;

use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::proof::row_binding::{
    RECORDS_PER_EVENT_MAX, RowBinding, row_binding_event, row_binding_salt, row_hash,
};
use wakeful_core::report::SealedEvent;
use wakeful_core::time::Millis;

use crate::rows::{BoundRow, KeyPart};
use crate::sql::{Param, Row, Sql, Value, at_most_one, limit};
use crate::{Result, StoreError, Tx, View, head};

#[derive(Debug)]
pub(crate) struct BoundTable {
    pub(crate) table: &'static str,
    /// How many of the columns form the key.
    keys: usize,
    /// The key and the bound columns.
    columns: &'static [&'static str],
    first: &'static str,
    next: &'static str,
    one: &'static str,
    count: &'static str,
}

/// Defines a bound table with one or two key columns and its bound columns.
macro_rules! bound {
    ($name:ident, $table:literal, [$key:literal], [$($column:literal),+]) => {
        pub(crate) static $name: BoundTable = BoundTable {
            table: $table,
            keys: 1,
            columns: &[$key, $($column),+],
            first: concat!("SELECT ", $key, $(", ", $column,)+ " FROM ", $table, " ORDER BY ", $key, " LIMIT ?1"),
            next: concat!("SELECT ", $key, $(", ", $column,)+ " FROM ", $table, " WHERE ", $key, " > ?2 ORDER BY ",
                $key, " LIMIT ?1"),
            one: concat!("SELECT ", $key, $(", ", $column,)+ " FROM ", $table, " WHERE ", $key, " = ?1"),
            count: concat!("SELECT COUNT(*) FROM ", $table),
        };
    };
    ($name:ident, $table:literal, [$key:literal, $second:literal], [$($column:literal),+]) => {
        pub(crate) static $name: BoundTable = BoundTable {
            table: $table,
            keys: 2,
            columns: &[$key, $second, $($column),+],
            first: concat!("SELECT ", $key, ", ", $second, $(", ", $column,)+ " FROM ", $table, " ORDER BY ", $key,
                ", ", $second, " LIMIT ?1"),
            next: concat!("SELECT ", $key, ", ", $second, $(", ", $column,)+ " FROM ", $table, " WHERE (", $key, ", ",
                $second, ") > (?2, ?3) ORDER BY ", $key, ", ", $second, " LIMIT ?1"),
            one: concat!("SELECT ", $key, ", ", $second, $(", ", $column,)+ " FROM ", $table, " WHERE ", $key,
                " = ?1 AND ", $second, " = ?2"),
            count: concat!("SELECT COUNT(*) FROM ", $table),
        };
    };
}

bound!(
    AGENT,
    "agent",
    ["agent_id"],
    [
        "visibility",
        "lifecycle",
        "control",
        "mode",
        "sleep_until_ms",
        "workspace",
        "model_ref",
        "settings",
        "created_at_ms"
    ]
);
bound!(BRAKE, "brake", ["agent_id"], ["reason", "channel", "at_ms"]);
bound!(
    BUDGET_LIMIT,
    "budget_limit",
    ["limit_id"],
    [
        "scope",
        "subject",
        "resource",
        "period",
        "max",
        "period_index",
        "reserved",
        "settled",
        "counted_at_ms",
        "set_at_ms"
    ]
);
bound!(CAP, "cap", ["agent_id"], ["daily_microusd", "set_at_ms"]);
bound!(
    CONSENT,
    "consent",
    ["consent_id"],
    [
        "agent_id",
        "purpose",
        "run_key",
        "first_seq",
        "last_seq",
        "channel",
        "at_ms",
        "used_seq"
    ]
);
bound!(HOST, "host", ["row_id"], ["host_id", "incarnation"]);
bound!(JOURNAL_HOST, "journal_host", ["row_id"], ["host_id"]);
bound!(
    RECEIPT,
    "privacy_receipt",
    ["provider", "policy_version"],
    ["channel", "at_ms"]
);
bound!(CANCEL, "run_cancel", ["run_key"], ["at_ms"]);
bound!(
    SAGA,
    "saga",
    ["operation_id"],
    ["run_key", "phase", "status", "last_error", "updated_at_ms"]
);
bound!(
    SCHEDULE,
    "schedule",
    ["schedule_id"],
    [
        "agent_id",
        "revision",
        "label",
        "pattern",
        "message",
        "status",
        "concurrency",
        "allows_catch_up",
        "auto_disable_after_run",
        "catch_up_window_seconds",
        "max_catch_up_runs_per_tick",
        "wakes_always",
        "last_execution_at_ms",
        "next_execution_at_ms",
        "evaluated_until_ms",
        "last_run_key",
        "execution_count",
        "version",
        "guard",
        "event_name",
        "created_at_ms"
    ]
);
bound!(
    EXECUTION,
    "scheduled_execution",
    ["schedule_id", "seq"],
    [
        "revision",
        "due_at_ms",
        "firing_count",
        "is_capped",
        "trigger_source",
        "outcome",
        "reason",
        "run_key",
        "is_catch_up",
        "at_ms"
    ]
);
bound!(SECRET, "external_trigger_secret", ["row_id"], ["secret"]);
bound!(
    SPEND,
    "spend",
    ["operation_id"],
    [
        "run_key",
        "agent_id",
        "day",
        "model_ref",
        "rule",
        "policy_version",
        "reserved_microusd",
        "settled_microusd"
    ]
);
bound!(
    SPEND_DAY,
    "spend_day",
    ["agent_id", "day"],
    ["reserved_microusd", "settled_microusd", "requests"]
);
bound!(
    SUBSCRIPTION,
    "subscription",
    ["subscription_id"],
    [
        "agent_id",
        "spec",
        "matches_agent_notices",
        "after_journal_seq",
        "created_at_ms",
        "is_active",
        "after_version"
    ]
);
bound!(
    TRIGGER,
    "external_trigger",
    ["external_trigger_id"],
    ["agent_id", "generation", "is_active", "created_at_ms"]
);

pub(crate) static ALL: [&BoundTable; 17] = [
    &AGENT,
    &BRAKE,
    &BUDGET_LIMIT,
    &CAP,
    &CONSENT,
    &HOST,
    &JOURNAL_HOST,
    &SECRET,
    &TRIGGER,
    &RECEIPT,
    &CANCEL,
    &SAGA,
    &SCHEDULE,
    &EXECUTION,
    &SPEND,
    &SPEND_DAY,
    &SUBSCRIPTION,
];

type RowKey = (&'static str, Vec<Value>);

/// The bound rows that a transaction wrote.
#[derive(Debug, Default)]
pub(crate) struct TouchedRows {
    rows: BTreeMap<RowKey, &'static BoundTable>,
    at: Option<Millis>,
}

impl TouchedRows {
    /// Records a time of the transaction; the binding uses the latest one.
    pub(crate) fn note(&mut self, at: Option<Millis>) {
        self.at = self.at.max(at);
    }

    /// Records a row that was written.
    pub(crate) fn keep(&mut self, bound: &'static BoundTable, key: &[Param<'_>]) {
        let key = key.iter().map(|part| Value::from(*part)).collect();
        self.rows.insert((bound.table, key), bound);
    }
}

/// Returns the hash of one row, or `None` if it does not exist.
pub(crate) fn hash_of(
    sql: &mut dyn Sql,
    bound: &'static BoundTable,
    key: &[Param<'_>],
) -> Result<Option<Digest>> {
    let row = at_most_one(sql.query(bound.one, key)?);
    row.map(|row| hash(bound, row.into_values())).transpose()
}

fn hash(bound: &'static BoundTable, values: Vec<Value>) -> Result<Digest> {
    let columns = bound.columns.iter().copied().zip(values.into_iter().map(text));
    row_hash(bound.table, columns.collect()).map_err(|_| StoreError::Malformed(bound.table))
}

/// Converts a value to text, including numbers: JSON numbers cannot represent every 64-bit integer.
fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(number.to_string()),
        Value::Text(text) => Some(text),
        Value::Bytes(bytes) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

pub(crate) fn key_text(key: Vec<Value>) -> String {
    let parts: Vec<String> = key.into_iter().filter_map(text).collect();
    parts.join(" ")
}

/// Binds the rows that a transaction wrote.
///
/// The home's log is locked before the rows are read, and stays locked until the commit. So this
/// transaction reads everything that others have committed, and a row that another transaction has written
/// but not committed is bound by that transaction, later in the log: the newest binding of a row is always
/// that of its newest version. Comparing with the previous row instead would require this lock before the
/// first write.
///
/// Lock order: heads of agents by name, then limits by scope, then the spending lock, then rows, then the home's log. A
/// transaction that holds the home's log takes no further lock, so no deadlock can contain it.
pub(crate) fn bind(tx: &mut Tx<'_>, touched: TouchedRows) -> Result<()> {
    if touched.rows.is_empty() {
        return Ok(());
    }
    let at = touched.at.unwrap_or(Millis(0));
    let mut bindings = match lock_home(tx)? {
        HomeLog::Old => Vec::new(),
        HomeLog::New => all_of(&mut tx.sql, &HOST)?,
    };
    for ((table, key), bound) in touched.rows {
        let params: Vec<Param<'_>> = key.iter().map(Param::from).collect();
        bindings.push(RowBinding {
            table: table.to_owned(),
            row_hash: hash_of(&mut tx.sql, bound, &params)?,
            key: key_text(key),
        });
    }
    append(tx, &bindings, at)
}

/// Whether this transaction created the home's log.
enum HomeLog {
    New,
    Old,
}

/// Locks the home's log until the end of the transaction, and creates it if needed.
fn lock_home(tx: &mut Tx<'_>) -> Result<HomeLog> {
    let home = AgentId::home_log();
    if tx.lock_head_to_announce(&home)?.is_some() {
        return Ok(HomeLog::Old);
    }
    if head::create_home(&mut tx.sql)? {
        return Ok(HomeLog::New);
    }
    // Another process has created it in the meantime.
    tx.lock_head_to_announce(&home)?;
    Ok(HomeLog::Old)
}

fn all_of(sql: &mut dyn Sql, bound: &'static BoundTable) -> Result<Vec<RowBinding>> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = rows(sql, bound, after.as_deref(), u32::MAX)?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.key.clone());
        all.extend(page.into_iter().map(|row| RowBinding {
            table: bound.table.to_owned(),
            key: row.key_text(),
            row_hash: Some(row.hash),
        }));
    }
}

fn append(tx: &mut Tx<'_>, bindings: &[RowBinding], at: Millis) -> Result<()> {
    let home = AgentId::home_log();
    for some in bindings.chunks(RECORDS_PER_EVENT_MAX) {
        let head = tx.lock_head_to_announce(&home)?;
        let mut head = head.ok_or(StoreError::Malformed("agent_head.agent_id"))?;
        let sealed = SealedEvent::new(
            row_binding_event(some),
            at,
            None,
            row_binding_salt(&head.chain_hash),
        );
        let sealed = sealed.map_err(|_| StoreError::Malformed("event.payload"))?;
        let event = head.chain(&home, sealed);
        tx.append_event(&home, &event)?;
        tx.put_head(&home, &head)?;
    }
    Ok(())
}

/// Returns rows of a bound table after a key, ordered by key.
pub(crate) fn rows(
    sql: &mut dyn Sql,
    bound: &'static BoundTable,
    after: Option<&[KeyPart]>,
    at_most: u32,
) -> Result<Vec<BoundRow>> {
    let rows = match after {
        None => sql.query(bound.first, &[limit(at_most)])?,
        Some(after) => {
            let parts = after.iter().map(param);
            let params: Vec<Param<'_>> = [limit(at_most)].into_iter().chain(parts).collect();
            sql.query(bound.next, &params)?
        }
    };
    rows.into_iter().map(|row| read(bound, row)).collect()
}

impl View<'_> {
    /// Returns how many rows are bound to the home's log.
    pub fn bound_row_count(&mut self) -> Result<u64> {
        let mut all = 0_u64;
        for bound in ALL {
            let mut row =
                at_most_one(self.sql.query(bound.count, &[])?).ok_or(StoreError::Malformed(bound.table))?;
            all = all.saturating_add(row.count(bound.table)?);
        }
        Ok(all)
    }
}

fn param(part: &KeyPart) -> Param<'_> {
    match part {
        KeyPart::Int(value) => Param::Int(*value),
        KeyPart::Text(value) => Param::Text(value),
        KeyPart::Bytes(value) => Param::Bytes(value),
    }
}

fn read(bound: &'static BoundTable, row: Row) -> Result<BoundRow> {
    let values = row.into_values();
    let key = values.iter().take(bound.keys).map(|value| match value {
        Value::Int(value) => Ok(KeyPart::Int(*value)),
        Value::Text(value) => Ok(KeyPart::Text(value.clone())),
        Value::Bytes(value) => Ok(KeyPart::Bytes(value.clone())),
        Value::Null => Err(StoreError::Malformed(bound.table)),
    });
    Ok(BoundRow {
        key: key.collect::<Result<_>>()?,
        hash: hash(bound, values)?,
    })
}

/// Returns the bound table with this name.
pub(crate) fn named(table: &str) -> Option<&'static BoundTable> {
    ALL.into_iter().find(|bound| bound.table == table)
}

impl View<'_> {
    /// Returns the tables whose rows are bound to the home's log.
    pub fn bound_tables(&mut self) -> Vec<&'static str> {
        ALL.iter().map(|bound| bound.table).collect()
    }

    /// Returns rows of a bound table after a key, ordered by key.
    pub fn bound_rows(
        &mut self,
        table: &str,
        after: Option<&[KeyPart]>,
        limit: u32,
    ) -> Result<Vec<BoundRow>> {
        let bound = named(table).ok_or(StoreError::Malformed("rows_bound.table"))?;
        rows(&mut self.sql, bound, after, limit)
    }
}
