//! Databases in memory that somebody has let go of, for the next who needs one.
//!
//! A simulation plays hundreds of thousands of worlds. Making the tables anew for each would be half of its work, and
//! compiling every statement anew the other half. So a database is emptied, and its statements stay compiled.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Result;
use crate::schema::Schema;
use crate::sqlite::connection::{Connection, DatabaseImage};
use crate::sqlite::open::make_in_memory;

/// Databases of one kind and host that are kept. A thread that plays has one or two at a time.
const SPARES_MAX: usize = 4;

/// Kinds and hosts that are known at a time; beyond that all are forgotten.
const KINDS_MAX: usize = 8;

/// Which database: its kind and its host.
pub(crate) type PoolKey = (i64, String);

/// What is known of one kind.
struct PoolSlot {
    /// What a fresh one holds.
    fresh: DatabaseImage,
    /// One that nobody ever wrote to.
    first: Connection,
    spares: Vec<Connection>,
}

thread_local! {
    static KINDS: RefCell<BTreeMap<PoolKey, PoolSlot>> = const { RefCell::new(BTreeMap::new()) };
}

/// A database in memory with all its tables, as if it had just been made.
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

/// Keeps a database that nobody needs any more.
pub(crate) fn give_back(name: &PoolKey, connection: Connection) {
    // A thread that is ending has none to keep it for.
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
    fn one_that_was_written_to_is_fresh_again() {
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
    fn each_kind_and_each_host_has_its_own() {
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
