//! The migrations, compiled in. Forward only: one that has landed is never edited, its hash is kept beside it.

/// The schema this program writes: how many migrations a database has seen.
pub(crate) const SCHEMA: u32 = 1;

/// What each number brings, in the two dialects.
pub(crate) const SQLITE: [&str; SCHEMA as usize] = [include_str!("../migrations/sqlite/0001_line.sql")];

/// See [`SQLITE`].
pub(crate) const POSTGRES: [&str; SCHEMA as usize] = [include_str!("../migrations/postgres/0001_line.sql")];
