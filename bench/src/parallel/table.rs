//! Tables as they are read back: their columns, and their rows in order.

use std::collections::{BTreeMap, VecDeque};

use anyhow::{Context as _, Result, bail};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::rows::Write;

pub(crate) struct Table {
    pub(crate) name: &'static str,
    columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    pub(crate) fn load(connection: &Connection, name: &'static str, order: &str) -> Result<Self> {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name} ORDER BY {order}"))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let rows = statement.query_map([], |row| (0..width).map(|column| row.get(column)).collect())?;
        Ok(Self {
            name,
            rows: rows.collect::<Result<_, _>>()?,
            columns,
        })
    }

    /// The value of a column in a row of this table.
    pub(crate) fn value<'a>(&self, row: &'a [Value], column: &str) -> Result<&'a Value> {
        let place = self.columns.iter().position(|name| name == column);
        place
            .and_then(|place| row.get(place))
            .with_context(|| format!("unknown column {}.{column}", self.name))
    }

    /// The statement that inserts one row.
    pub(crate) fn insert(&self) -> String {
        let places: Vec<String> = (1..=self.columns.len())
            .map(|place| format!("?{place}"))
            .collect();
        let (columns, places) = (self.columns.join(", "), places.join(", "));
        format!("INSERT INTO {} ({columns}) VALUES ({places})", self.name)
    }
}

/// The rows of a table by the value of one column, each queue in the order of insertion.
pub(crate) struct Queues {
    /// The table; its rows are in the queues.
    pub(crate) table: Table,
    /// Index of its insert statement.
    pub(crate) statement: usize,
    rows: BTreeMap<Vec<u8>, VecDeque<Vec<Value>>>,
}

impl Queues {
    /// Reads a table and registers its insert statement.
    pub(crate) fn load(
        connection: &Connection,
        name: &'static str,
        (key, order): (&str, &str),
        statements: &mut Vec<String>,
    ) -> Result<Self> {
        let mut table = Table::load(connection, name, order)?;
        let mut rows: BTreeMap<Vec<u8>, VecDeque<Vec<Value>>> = BTreeMap::new();
        for row in std::mem::take(&mut table.rows) {
            let key = bytes(table.value(&row, key)?)?.to_vec();
            rows.entry(key).or_default().push_back(row);
        }
        statements.push(table.insert());
        let statement = statements.len() - 1;
        Ok(Self {
            table,
            statement,
            rows,
        })
    }

    /// Takes the next row of a key.
    pub(crate) fn take_one(&mut self, key: &Value) -> Result<Vec<Value>> {
        let row = self.rows.get_mut(bytes(key)?).and_then(VecDeque::pop_front);
        row.with_context(|| format!("a row of {} is missing", self.table.name))
    }

    /// Takes the next rows of a key for insertion.
    pub(crate) fn take(&mut self, key: &Value, count: usize, writes: &mut Vec<Write>) -> Result<()> {
        for _ in 0..count {
            let values = self.take_one(key)?;
            writes.push(Write {
                statement: self.statement,
                values,
            });
        }
        Ok(())
    }

    /// Takes the only row of a key for insertion, unless it was already taken. Returns whether it was left.
    pub(crate) fn take_if_left(&mut self, key: &Value, writes: &mut Vec<Write>) -> Result<bool> {
        let is_left = self.rows.get(bytes(key)?).is_some_and(|rows| !rows.is_empty());
        self.take(key, usize::from(is_left), writes)?;
        Ok(is_left)
    }

    /// Whether all rows were taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.values().all(VecDeque::is_empty)
    }
}

/// The bytes of a text or a blob.
pub(crate) fn bytes(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Text(text) => Ok(text.as_bytes()),
        Value::Blob(bytes) => Ok(bytes),
        Value::Null | Value::Integer(_) | Value::Real(_) => bail!("expected text or bytes"),
    }
}
