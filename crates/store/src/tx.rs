//! One transaction as the runtime sees it: [`View`] reads, [`Tx`] reads and writes, in domain operations.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use wakeful_core::id::{AgentId, RunnerId};

use crate::sql::Sql;
use crate::statements::Statements;
use crate::stops::PendingStopStore;
use crate::{Result, row_binding};

/// Maximum number of rows that any listing returns.
pub const ROWS_MAX: u32 = 10_000;

/// Reads from one consistent snapshot of the database.
pub struct View<'a> {
    pub(crate) sql: Statements<'a>,
    /// The folder of large blobs, if there is one.
    pub(crate) blobs: Option<&'a Path>,
    /// Stop requests that are in force in addition to those in the database.
    pub(crate) stops: Option<Arc<PendingStopStore>>,
}

/// Reads and writes of one transaction.
///
/// A transaction is a closure over owned data that may run more than once (after a serialization failure or
/// a failed group), so it must change nothing except through its `Tx`. Encoding, compression and hashing
/// happen before it.
pub struct Tx<'a> {
    view: View<'a>,
    /// The runner that this transaction registered.
    pub(crate) registered: Option<RunnerId>,
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl<'a> DerefMut for Tx<'a> {
    fn deref_mut(&mut self) -> &mut View<'a> {
        &mut self.view
    }
}

impl<'a> View<'a> {
    /// Wraps an open transaction for reading; `blobs` is the folder of large blobs, if there is one.
    pub(crate) fn new(sql: &'a mut dyn Sql, blobs: Option<&'a Path>) -> Self {
        Self {
            sql: Statements::new(sql),
            blobs,
            stops: None,
        }
    }

    /// Sets the pending stop requests that are in force in addition to those in the database.
    pub(crate) fn set_stops(&mut self, stops: Arc<PendingStopStore>) {
        self.stops = Some(stops);
    }

    /// Whether a pending brake applies to an agent.
    pub(crate) fn is_brake_pending(&self, agent: &AgentId) -> bool {
        self.stops.as_ref().is_some_and(|stops| stops.is_braked(agent))
    }
}

impl<'a> Tx<'a> {
    /// Wraps an open transaction for reading and writing; `blobs` is as for [`View::new`].
    pub(crate) fn new(sql: &'a mut dyn Sql, blobs: Option<&'a Path>) -> Self {
        Self {
            view: View::new(sql, blobs),
            registered: None,
        }
    }

    /// Binds the bound rows that this transaction wrote to the home's log. Called last before the commit,
    /// because the lock on that log comes after all others.
    pub(crate) fn bind_records(&mut self) -> Result<()> {
        let touched = self.sql.take_touched();
        row_binding::bind(self, touched)
    }
}
