//! The one place where work becomes durable, for both databases.

use wakeful_ports::fail_point;

use crate::Result;

/// An open transaction that is complete.
pub(crate) trait Commit {
    /// Commits or leaves nothing behind. Only after a lost connection is the outcome unknown.
    fn commit(&mut self) -> Result<()>;
}

/// Commits between two fail points, where tests can end the process.
pub(crate) fn commit(transaction: &mut dyn Commit) -> Result<()> {
    fail_point::fail_point("store.before_commit");
    transaction.commit()?;
    fail_point::fail_point("store.after_commit");
    Ok(())
}
