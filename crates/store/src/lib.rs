//! SQLite and PostgreSQL. Nothing else opens a database.
//!
//! A caller hands over a closure over domain verbs; what becomes of it is decided here:
//!
//! | module | holds |
//! |---|---|
//! | [`store`](Store) | the handle everybody clones, and which database is behind it |
//! | `sqlite` | a file with one writing thread and a few readers; or one database in memory |
//! | `postgres` | threads with a connection each, and the lease of this process |
//! | `schema` | the migrations, compiled in |
//! | [`View`], [`Tx`] | one transaction as the runtime sees it, in domain verbs |
//! | [`rows`] | the rows that the verbs speak of |
//! | `job` | a closure on its way to a thread |
//! | [`Faults`] | the seam for simulations: what may go wrong around a store |
//! | `sql`, `statements` | the narrow door that every verb is written over, once |
//! | `commit` | the one place where work becomes durable |
//! | `lock` | taking a lock, whatever became of its last holder |
//! | `stops` | brakes and cancellations that the database does not have yet, in memory and in a slot file |
//! | `pack`, `sweep` | compression, and the files of large blobs; those that nobody names any more |
//!
//! The verbs stand with their statements in the file of their noun: `host`, `agent`, `head`, `message`, `wake`,
//! `run`, `journal`, `step`, `entry`, `event`, `blob`, `runner`, `care`, `saga`, `schedule`; `naming` is the list of who names blobs.
//!
//! `record` is the other database, what people wrote: it has its own handle and its own tables, and shares everything
//! that makes a commit durable.
//!
//! What is deliberately absent: randomness (ids arrive from outside), a query builder, and any clock but the
//! database's own, the one that measures the lease, and the one that stamped a file whose age is asked for.
#![forbid(unsafe_code)]

mod agent;
mod audit;
mod blob;
mod blob_files;
mod blob_refs;
mod brake;
mod commit;
mod decision;
mod decision_notification;
mod dispatch;
mod erasure;
mod event;
mod external_trigger;
mod faults;
mod head;
mod host;
mod job;
mod journal;
mod lock;
mod message;
mod pack;
mod postgres;
mod proof;
mod queue;
mod retention;
mod row_binding;
pub mod rows;
mod run;
mod run_log;
mod runner;
mod saga;
mod schedule;
mod schema;
mod spend;
mod sql;
mod sqlite;
mod statements;
mod step;
mod stops;
mod store;
mod subscription;
mod transcript;
mod tx;
mod wake;
mod write_health;

pub use crate::blob_files::{BlobFileReport, FILE_AGE, keep_files};
pub use crate::dispatch::WorkQuery;
pub use crate::faults::{FaultFuture, FaultPoint, Faults};
pub use crate::job::QUEUE_MAX;
pub use crate::journal::{CommitNotifier, JournalStore};
pub use crate::pack::{BLOB_BYTES_MAX, DRAFT_AGE, INLINE_BYTES_MAX};
pub use crate::postgres::{CONNECTIONS_MAX, LEASE_TRUST_MS, PostgresOptions};
pub use crate::runner::{HEARTBEAT_MS, LEASE_MS, SILENCE_MS_MAX};
pub use crate::schema::{JOURNAL_SCHEMA, SCHEMA};
pub use crate::sqlite::copy::{
    COPIES_MAX, CheckDepth, DatabaseIdentity, DatabaseKind, SchemaUpgrade, blob_file, check_sqlite,
    copy_sqlite, identify_sqlite, reborn_sqlite, sqlite_blob_files,
};
pub use crate::sqlite::{BUSY_MS, GROUP_MAX, READERS_MAX, SqliteOptions};
pub use crate::stops::{PendingStop, PendingStopStore, drop_from_slot, keep_in_slot, make_slot, read_slot};
pub use crate::store::Store;
pub use crate::tx::{ROWS_MAX, Tx, View};
pub use wakeful_ports::store_error::{Source, StoreError};

/// What a call on a store gives.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
