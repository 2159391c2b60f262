//! A pool of released in-memory databases for reuse.
//!
//! A simulation runs hundreds of thousands of scenarios. Creating the tables for each would be half of the
//! work, and compiling every statement the other half. So a database is reset to its initial contents, and
//! its statements stay compiled.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Result;
use crate::schema::Schema;
use crate::sqlite::connection::{Connection, DatabaseImage};
use crate::sqlite::open::make_in_memory;

/// Databases kept per kind and host. A simulation thread uses one or two at a time.
const SPARES_MAX: usize = 4;

/// Maximum number of kinds and hosts; beyond that, all are dropped.
const KINDS_MAX: usize = 8;

/// The kind of a database and its host.
pub(crate) type PoolKey = (i64, String);

/// The pool of one kind and host.
struct PoolSlot {
    /// The contents of a new database.
    fresh: DatabaseImage,
    /// A database that is never written.
    first: Connection,
    spares: Vec<Connection>,
}

thread_local! {
    static KINDS: RefCell<BTreeMap<PoolKey, PoolSlot>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns an in-memory database with all tables, equal to a newly created one.
pub(crate) fn take(schema: &Schema, host_id: &str) -> Result<Connection> {
    let name = (schema.application_id, host_id.to_owned());
    KINDS.with_borrow_mut(|kinds| {
        if let Some(kind) = kinds.get_mut(&name) {
            return kind.take();
        }
        let mut first = make_in_memory(schema, host_id)?;
        let fresh = first.contents()?;
        let twin = first.twin()?;
        if kinds.len() >= KINDS_MAX {
            kinds.clear();
        }
        let spares = Vec::new();
        kinds.insert(name, PoolSlot { fresh, first, spares });
        Ok(twin)
    })
}

impl PoolSlot {
    fn take(&mut self) -> Result<Connection> {
        match self.spares.pop() {
            Some(mut spare) => spare.restore(&self.fresh).map(|()| spare),
            None => self.first.twin(),
        }
    }
}

/// Returns a database to the pool.
pub(crate) fn give_back(name: &PoolKey, connection: Connection) {
    // A thread that is ending has no pool.
    let _ = KINDS.try_with(|kinds| {
        if let Ok(mut kinds) = kinds.try_borrow_mut()
            && let Some(kind) = kinds.get_mut(name)
            && kind.spares.len() < SPARES_MAX
        {
            kind.spares.push(connection);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{AGENT, JOURNAL};
    use crate::sql::Sql as _;

    const COUNT: &str = "SELECT (SELECT COUNT(*) FROM cap) + (SELECT COUNT(*) FROM agent)";

    #[test]
    fn a_reused_database_is_equal_to_a_new_one() {
        let mut used = take(&AGENT, "host").expect("a database");
        let before = used.contents().expect("its contents");
        used.batch(
            "INSERT INTO cap VALUES ('main', 7, 1); UPDATE host SET host_id = 'other'; DELETE FROM retention_state;",
        )
        .expect("written");
        let rows = used.query(COUNT, &[]).expect("rows");
        assert_eq!(
            rows.into_iter()
                .next()
                .expect("a row")
                .int("count")
                .expect("a count"),
            1
        );
        used.begin_writing().expect("begun");
        give_back(&(AGENT.application_id, "host".to_owned()), used);
        let mut again = take(&AGENT, "host").expect("a database");
        assert_eq!(again.contents().expect("its contents"), before);
        let mut second = take(&AGENT, "host").expect("a database");
        assert_eq!(
            second.contents().expect("its contents"),
            before,
            "and so is one beside it"
        );
    }

    #[test]
    fn each_kind_and_host_has_its_own_pool() {
        let contents = |schema, host| {
            take(schema, host)
                .expect("a database")
                .contents()
                .expect("its contents")
        };
        let one = contents(&AGENT, "one");
        assert_ne!(one, contents(&AGENT, "two"));
        assert_ne!(one, contents(&JOURNAL, "one"));
        assert_eq!(one, contents(&AGENT, "one"));
    }
}
