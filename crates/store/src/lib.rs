//! Storage in SQLite and PostgreSQL. No other crate opens a database.
//!
//! A caller passes a closure over domain operations; this crate decides where and how it is executed:
//!
//! | module | holds |
//! |---|---|
//! | [`store`](Store) | the cloneable handle, and the database behind it |
//! | `sqlite` | a file with one writer thread and a few readers; or one database in memory |
//! | `postgres` | threads with a connection each, and the lease of this process |
//! | `schema` | the migrations, compiled in |
//! | [`View`], [`Tx`] | one transaction as the runtime sees it, in domain operations |
//! | [`rows`] | the row types of these operations |
//! | `job` | a closure on its way to a database thread |
//! | [`Faults`] | fault injection for simulations |
//! | `sql`, `statements` | the small SQL interface that every operation is written against, once |
//! | `commit` | the one place where work becomes durable |
//! | `lock` | locking a mutex even if its last holder panicked |
//! | `stops` | brakes and cancellations that are not in the database yet, in memory and in a slot file |
//! | `pack`, `blob_files` | compression and the files of large blobs; removal of files without a row |
//!
//! The operations are defined with their statements in the module of their noun: `host`, `agent`, `head`,
//! `message`, `wake`, `run`, `run_log`, `step`, `transcript`, `event`, `blob`, `runner`, `retention`,
//! `saga`, `schedule`; `blob_refs` lists the rows that refer to blobs.
//!
//! `journal` is the other database, the person's records: it has its own handle and its own tables, and
//! shares all code that makes a commit durable.
//!
//! Deliberately absent: randomness (callers pass ids in), a query builder, and any clock other than the
//! database's own, the one that measures the lease, and the file system's for the age of a file.
#![forbid(unsafe_code)]

mod agent;
mod attention;
mod audit;
mod audit_entry;
mod blob;
mod blob_files;
mod blob_refs;
mod brake;
mod budget;
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
mod policy_files;
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

pub use crate::attention::RUNS_COUNTED_MAX;
pub use crate::audit_entry::AuditScope;
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
pub use crate::step::{ToolUseElsewhere, ToolUseQuery};
pub use crate::stops::{PendingStop, PendingStopStore, drop_from_slot, keep_in_slot, make_slot, read_slot};
pub use crate::store::Store;
pub use crate::tx::{ROWS_MAX, Tx, View};
pub use wakeful_ports::store_error::{Source, StoreError};

/// The result of a call on a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;
