//! The small interface to a database: statements in a portable SQL subset, with integers, text and bytes.
//!
//! Every operation is written once against [`Sql`]. Parameters are `?1`, `?2` …; where the dialects differ,
//! there are two constants, and [`Dialect::pick`] selects one.

use wakeful_core::blob::BlobHash;
use wakeful_core::id::{AgentId, EventName, Incarnation, RuleId, RunnerId, ThreadId};
use wakeful_core::key::{ActionBase, DecisionId, Digest, OperationId, RunKey};
use wakeful_core::time::Millis;

use crate::row_binding::BoundTable;
use crate::{ROWS_MAX, Result, StoreError};

/// Runs the statements of one transaction.
pub(crate) trait Sql {
    fn dialect(&self) -> Dialect;
    /// Runs a statement without a result and returns how many rows it changed.
    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64>;
    /// Runs a statement and returns all its rows.
    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>>;
    /// Runs a statement whose result is not needed. A remote database may defer it until the next statement
    /// that returns something; then that statement, or the commit, reports its failure.
    fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        self.execute(sql, params).map(drop)
    }
    /// Records that this transaction writes a bound row: before the commit, the row is bound to the home's
    /// log. A statement that wrote nothing needs no binding.
    fn touch(&mut self, _: &'static BoundTable, _: &[Param<'_>], _: Option<Millis>) {}
    /// Like [`Self::run`], for a statement that must write one row; none means that another transaction was
    /// first.
    fn run_once(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        exactly_one(self.execute(sql, params)?)
    }
}

/// The supported databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// One process, one writer.
    Sqlite,
    /// Many processes; rows are locked explicitly.
    Postgres,
}

impl Dialect {
    /// Selects the variant of a statement for this dialect.
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
    /// The connection may write, and creates what is missing.
    Write,
    /// The connection only reads.
    Read,
}

/// A parameter. Borrowed, to avoid another copy of a body on the writer thread.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    /// Null, of any column type.
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Param<'_> {
    /// Counts beyond the signed range saturate: a provider may report any number of tokens.
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

/// The row limit of a query: the requested number, within the bound of the port.
pub(crate) fn limit(asked: u32) -> Param<'static> {
    asked.min(ROWS_MAX).into()
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// One row. Its columns are read in the order of the statement, each with its name, so that an unexpected
/// value is reported with its column.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// Reads the next column as an integer.
    pub(crate) fn int(&mut self, column: &'static str) -> Result<i64> {
        self.optional_int(column)?.ok_or(StoreError::Malformed(column))
    }

    /// Reads the next column as a time or null.
    pub(crate) fn optional_millis(&mut self, place: &'static str) -> Result<Option<Millis>> {
        Ok(self.optional_int(place)?.map(Millis))
    }

    /// Reads the next column as an integer or null.
    pub(crate) fn optional_int(&mut self, column: &'static str) -> Result<Option<i64>> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Text(_) | Value::Bytes(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// Reads the next column as a count.
    pub(crate) fn count(&mut self, column: &'static str) -> Result<u64> {
        u64::try_from(self.int(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// Reads the next column as a count or null.
    pub(crate) fn optional_count(&mut self, column: &'static str) -> Result<Option<u64>> {
        let count = self.optional_int(column)?.map(u64::try_from);
        count.transpose().map_err(|_| StoreError::Malformed(column))
    }

    /// Reads the next column as a 32-bit count.
    pub(crate) fn small_count(&mut self, column: &'static str) -> Result<u32> {
        u32::try_from(self.int(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// Reads the next column as a time.
    pub(crate) fn millis(&mut self, column: &'static str) -> Result<Millis> {
        self.int(column).map(Millis)
    }

    /// Reads the next column as text.
    pub(crate) fn text(&mut self, column: &'static str) -> Result<String> {
        self.optional_text(column)?.ok_or(StoreError::Malformed(column))
    }

    /// Reads the next column as text or null.
    pub(crate) fn optional_text(&mut self, column: &'static str) -> Result<Option<String>> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Int(_) | Value::Bytes(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// Reads the next column as bytes.
    pub(crate) fn bytes(&mut self, column: &'static str) -> Result<Vec<u8>> {
        self.optional_bytes(column)?.ok_or(StoreError::Malformed(column))
    }

    /// Reads the next column as bytes or null.
    pub(crate) fn optional_bytes(&mut self, column: &'static str) -> Result<Option<Vec<u8>>> {
        match self.0.next() {
            Some(Value::Bytes(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            Some(Value::Int(_) | Value::Text(_)) | None => Err(StoreError::Malformed(column)),
        }
    }

    /// Reads the next column as a hash.
    pub(crate) fn digest(&mut self, column: &'static str) -> Result<Digest> {
        self.optional_digest(column)?.ok_or(StoreError::Malformed(column))
    }

    /// Reads the next column as a hash or null.
    pub(crate) fn optional_digest(&mut self, column: &'static str) -> Result<Option<Digest>> {
        let Some(bytes) = self.optional_bytes(column)? else {
            return Ok(None);
        };
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| StoreError::Malformed(column))?;
        Ok(Some(Digest::from_bytes(bytes)))
    }

    /// Reads the next column as an agent id.
    pub(crate) fn agent_id(&mut self, column: &'static str) -> Result<AgentId> {
        AgentId::parse(&self.text(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// Reads the next column as the id of a log: an agent's, or that of the home's own log.
    pub(crate) fn log_id(&mut self, column: &'static str) -> Result<AgentId> {
        let text = self.text(column)?;
        if text == AgentId::home_log().as_str() {
            return Ok(AgentId::home_log());
        }
        AgentId::parse(&text).map_err(|_| StoreError::Malformed(column))
    }

    /// Returns all remaining columns.
    pub(crate) fn into_values(self) -> Vec<Value> {
        self.0.collect()
    }

    /// Reads the next column as a boolean.
    pub(crate) fn flag(&mut self, column: &'static str) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    /// Reads the next column as the id of a schedule, subscription or trigger.
    pub(crate) fn rule_id(&mut self, column: &'static str) -> Result<RuleId> {
        RuleId::parse(&self.text(column)?).map_err(|_| StoreError::Malformed(column))
    }

    /// Returns the text of a column, if it is text, to report a row that cannot be read.
    pub(crate) fn text_or_empty(&self, place: usize) -> String {
        match self.0.as_slice().get(place) {
            Some(Value::Text(text)) => text.clone(),
            Some(Value::Null | Value::Int(_) | Value::Bytes(_)) | None => String::new(),
        }
    }

    /// Reads the next column as a stored enum value or null.
    pub(crate) fn optional_word<T>(
        &mut self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let text = self.optional_text(column)?;
        let word = text.map(|text| parse(&text).ok_or(StoreError::Malformed(column)));
        word.transpose()
    }

    /// Reads the next column as a stored enum value.
    pub(crate) fn word<T>(
        &mut self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        parse(&self.text(column)?).ok_or(StoreError::Malformed(column))
    }
}

/// Returns the only row of a result with at most one.
pub(crate) fn at_most_one(rows: Vec<Row>) -> Option<Row> {
    debug_assert!(rows.len() <= 1, "a query by key returned {} rows", rows.len());
    rows.into_iter().next()
}

/// Converts rows to records and stops at the first unreadable one.
pub(crate) fn records<T>(rows: Vec<Row>, read: impl FnMut(Row) -> Result<T>) -> Result<Vec<T>> {
    rows.into_iter().map(read).collect()
}

/// Checks that one row was written; none means that another transaction was first.
pub(crate) const fn exactly_one(rows: u64) -> Result<()> {
    if rows == 1 {
        Ok(())
    } else {
        Err(StoreError::Conflict)
    }
}
