//! The statements of a transaction, with what has to be known of them: whether one failed, and which rows are bound.

use wakeful_core::time::Millis;
use wakeful_ports::store::StoreError;

use super::Session;
use crate::bound::Bound;
use crate::sql::{Dialect, Param, Row, Sql};

impl Sql for Session<'_> {
    fn dialect(&self) -> Dialect {
        self.sql.dialect()
    }

    fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.sql.execute(sql, params).inspect_err(|_| self.failed = true)
    }

    fn query(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        self.sql.query(sql, params).inspect_err(|_| self.failed = true)
    }

    fn touch(&mut self, bound: &'static Bound, key: &[Param<'_>], at: Option<Millis>) {
        self.touched.note(at);
        self.touched.keep(bound, key);
    }

    fn run(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.sql.run(sql, params).inspect_err(|_| self.failed = true)
    }

    fn run_once(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<(), StoreError> {
        // Where it runs later nobody can go on from it, so nobody can here.
        self.sql.run_once(sql, params).inspect_err(|_| self.failed = true)
    }
}
