//! The one narrow door to a database: statements in a portable subset, with integers, text and bytes.
//!
//! Every verb is written once over [`Sql`]. Parameters are `?1`, `?2` …; what a dialect spells differently is
//! two constants and [`Dialect::pick`] between them.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, EventName, Incarnation, RuleId, RunnerId, ThreadId};
use wakeful_core::key::{ActionBase, DecisionId, Digest, OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::row_binding::BoundTable;
use crate::{ROWS_MAX, Result, StoreError};

/// Runs statements of one transaction.
pub(crate) trait Sql {
    /// Which database it is.
    fn dialect(&self) -> Dialect;
    /// Runs a statement without rows and says how many rows it touched.
    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64>;
    /// Runs a statement and returns all its rows.
    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>>;
    /// Runs a statement of which nothing has to be known but that it does not fail. A database that is far away may
    /// run it a little later, with the next one of the other kinds: then that one fails in its stead, or the commit.
    fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        self.execute(sql, params).map(drop)
    }
    /// Notes that this transaction writes a row that governs: before it commits, the row is bound to the home's log. A
    /// statement that wrote nothing needs no binding.
    fn touch(&mut self, _: &'static BoundTable, _: &[Param<'_>], _: Option<Millis>) {}
    /// The same for a statement that must write one row; none means that somebody was there first.
    fn run_once(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        exactly_one(self.execute(sql, params)?)
    }
}

/// The databases we speak to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// One process, one writer.
    Sqlite,
    /// Many processes; rows are locked explicitly.
    Postgres,
}

impl Dialect {
    /// Chooses between two spellings of one statement.
    pub(crate) const fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

/// Whether a connection may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may, and makes what is missing.
    Write,
    /// It only reads what is there.
    Read,
}

/// A parameter. Borrowed, so that a body is not copied once more on the writing thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    /// No value, of whatever type the place has.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Param<'_> {
    /// Counts beyond the signed range are kept as its end: a provider may report any number of tokens.
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Param<'_> {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<Millis> for Param<'_> {
    fn from(value: Millis) -> Self {
        Self::Int(value.0)
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl<'a> From<&'a Digest> for Param<'a> {
    fn from(value: &'a Digest) -> Self {
        Self::Bytes(value.as_bytes())
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! param_of {
    (text: $($text:ty),*; digest: $($digest:ty),*) => {
        $(impl<'a> From<&'a $text> for Param<'a> {
            fn from(value: &'a $text) -> Self {
                Self::Text(value.as_str())
            }
        })*
        $(impl<'a> From<&'a $digest> for Param<'a> {
            fn from(value: &'a $digest) -> Self {
                (&value.0).into()
            }
        })*
    };
}
param_of!(text: AgentId, EventName, Incarnation, RuleId, RunnerId, ThreadId; digest: ActionBase, BlobHash, DecisionId, OperationId, RunKey);

impl<'a> From<&'a Value> for Param<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(value) => Self::Int(*value),
            Value::Text(value) => Self::Text(value),
            Value::Bytes(value) => Self::Bytes(value),
        }
    }
}

impl From<Param<'_>> for Value {
    fn from(param: Param<'_>) -> Self {
        match param {
            Param::Null => Self::Null,
            Param::Int(value) => Self::Int(value),
            Param::Text(value) => Self::Text(value.to_owned()),
            Param::Bytes(value) => Self::Bytes(value.to_vec()),
        }
    }
}

/// How many rows a listing may return: what was asked for, within the bound of the port.
pub(crate) fn limit(asked: u32) -> Param<'static> {
    asked.min(ROWS_MAX).into()
}

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// No value.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// One row. Its columns are taken in the order of the statement, each by its name, so that a value we did not
/// write is reported with the place it stands in.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    /// A row of these values.
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The next column, an integer.
    pub(crate) fn int(&mut self, column: &'static str) -> Result<i64> {
        self.optional_int(column)?.ok_or(StoreError::Malformed(column))
    }

    /// A moment, or none.
    pub(crate) fn optional_millis(&mut self, place: &'static str) -> Result<Option<Millis>> {
        Ok(self.optional_int(place)?.map(Millis))
    }

    /// The next column, an integer or nothing.
    pub(crate) fn optional_int(&mut self, column: &'static str) -> Result<Option<i64>> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Text(_) | Value::Bytes(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// The next column, a count.
    pub(crate) fn count(&mut self, column: &'static str) -> Result<u64> {
        u64::try_from(self.int(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// The next column, a count or nothing.
    pub(crate) fn optional_count(&mut self, column: &'static str) -> Result<Option<u64>> {
        let count = self.optional_int(column)?.map(u64::try_from);
        count.transpose().map_err(|_| StoreError::Malformed(column))
    }

    /// The next column, a small count.
    pub(crate) fn small_count(&mut self, column: &'static str) -> Result<u32> {
        u32::try_from(self.int(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// The next column, a time.
    pub(crate) fn millis(&mut self, column: &'static str) -> Result<Millis> {
        self.int(column).map(Millis)
    }

    /// The next column, text.
    pub(crate) fn text(&mut self, column: &'static str) -> Result<String> {
        self.optional_text(column)?.ok_or(StoreError::Malformed(column))
    }

    /// The next column, text or nothing.
    pub(crate) fn optional_text(&mut self, column: &'static str) -> Result<Option<String>> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Int(_) | Value::Bytes(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// The next column, bytes.
    pub(crate) fn bytes(&mut self, column: &'static str) -> Result<Vec<u8>> {
        self.optional_bytes(column)?.ok_or(StoreError::Malformed(column))
    }

    /// The next column, bytes or nothing.
    pub(crate) fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>> {
        match self.0.next() {
            Some(Value::Bytes(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Int(_) | Value::Text(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// The next column, a hash.
    pub(crate) fn digest(&mut self, column: &'static str) -> Result<Digest> {
        self.optional_digest(column)?.ok_or(StoreError::Malformed(column))
    }

    /// The next column, a hash or nothing.
    pub(crate) fn optional_digest(&mut self, column: &'static str) -> Result<Option<Digest>> {
        let Some(bytes) = self.optional_bytes(column)? else {
            return Ok(None);
        };
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| StoreError::Malformed(column))?;
        Ok(Some(Digest::from_bytes(bytes)))
    }

    /// The next column, an agent's name.
    pub(crate) fn agent_id(&mut self, column: &'static str) -> Result<AgentId> {
        AgentId::parse(&self.text(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// The next column, whose log it is: an agent's name, or that of the home's own log.
    pub(crate) fn log_id(&mut self, column: &'static str) -> Result<AgentId> {
        let text = self.text(column)?;
        if text == AgentId::home_log().as_str() {
            return Ok(AgentId::home_log());
        }
        AgentId::parse(&text).map_err(|_| StoreError::Malformed(column))
    }

    /// All columns that are left.
    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.collect()
    }

    /// The next column, yes or no.
    pub(crate) fn flag(&mut self, column: &'static str) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    /// The next column, the name of a standing order.
    pub(crate) fn rule_id(&mut self, column: &'static str) -> Result<RuleId> {
        RuleId::parse(&self.text(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// What stands in a column as far as it is text, for telling of a row that cannot be read.
    pub(crate) fn told_at(&self, place: usize) -> String {
        match self.0.as_slice().get(place) {
            Some(Value::Text(text)) => text.clone(),
            Some(Value::Null | Value::Int(_) | Value::Bytes(_)) | None => String::new(),
        }
    }

    /// The next column, one of our own words or nothing.
    pub(crate) fn optional_word<T>(
        &mut self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let text = self.optional_text(column)?;
        let word = text.map(|text| parse(&text).ok_or(StoreError::Malformed(column)));
        word.transpose()
    }

    /// The next column, one of our own words.
    pub(crate) fn word<T>(
        &mut self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        parse(&self.text(column)?).ok_or(StoreError::Malformed(column))
    }
}

/// The first row of an answer, where there can be at most one.
pub(crate) fn at_most_one(rows: Vec<Row>) -> Option<Row> {
    debug_assert!(rows.len() <= 1, "a query by key returned {} rows", rows.len());
    rows.into_iter().next()
}

/// Turns rows into records, stopping at the first that cannot be read.
pub(crate) fn records<T>(rows: Vec<Row>, read: impl FnMut(Row) -> Result<T>) -> Result<Vec<T>> {
    rows.into_iter().map(read).collect()
}

/// One row must have been written; none means that somebody was there first.
pub(crate) const fn exactly_one(rows: u64) -> Result<()> {
    if rows == 1 {
        Ok(())
    } else {
        Err(StoreError::Conflict)
    }
}
