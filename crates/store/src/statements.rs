//! The statements of one transaction. Records whether one failed, and which rows must be bound.

use wakeful_core::time::Millis;

use crate::Result;
use crate::row_binding::{BoundTable, TouchedRows};
use crate::sql::{Dialect, Param, Row, Sql};

pub(crate) struct Statements<'a> {
    sql: &'a mut dyn Sql,
    failed: bool,
    touched: TouchedRows,
}

impl<'a> Statements<'a> {
    /// Wraps an open transaction.
    pub(crate) fn new(sql: &'a mut dyn Sql) -> Self {
        Self {
            sql,
            failed: false,
            touched: TouchedRows::default(),
        }
    }

    /// Whether a statement failed. Such a transaction must not commit even if its closure ignored the
    /// error: PostgreSQL has already aborted it and would report success for a commit that does nothing.
    pub(crate) const fn failed(&self) -> bool {
        self.failed
    }

    /// Records a time that the event with the bound rows must not precede.
    pub(crate) fn note_time(&mut self, at: Millis) {
        self.touched.note(Some(at));
    }

    /// Takes the written rows that must be bound.
    pub(crate) fn take_touched(&mut self) -> TouchedRows {
        std::mem::take(&mut self.touched)
    }
}

impl Sql for Statements<'_> {
    fn dialect(&self) -> Dialect {
        self.sql.dialect()
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64> {
        self.sql.execute(sql, params).inspect_err(|_| self.failed = true)
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>> {
        self.sql.query(sql, params).inspect_err(|_| self.failed = true)
    }

    fn touch(&mut self, bound: &'static BoundTable, key: &[Param<'_>], at: Option<Millis>) {
        self.touched.note(at);
        self.touched.keep(bound, key);
    }

    fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        self.sql.run(sql, params).inspect_err(|_| self.failed = true)
    }

    fn run_once(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<()> {
        // PostgreSQL runs the statement later and cannot continue after a failure; SQLite must behave the
        // same.
        self.sql.run_once(sql, params).inspect_err(|_| self.failed = true)
    }
}
