//! The one place where work becomes durable, whatever the database.

use wakeful_ports::fail_point;

use crate::Result;

/// A transaction that is open and complete.
pub(crate) trait Commit {
    /// Makes it durable, or fails without a trace; only a lost connection leaves it open which.
    fn commit(&mut self) -> Result<()>;
}

/// Commits. The process may end on either side of it, and the tests make it do so.
pub(crate) fn commit(transaction: &mut dyn Commit) -> Result<()> {
    fail_point::fail_point("store.before_commit");
    transaction.commit()?;
    fail_point::fail_point("store.after_commit");
    Ok(())
}
