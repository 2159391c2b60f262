//! Errors of database calls. They are defined here and not in `store`, because the journal of a host
//! application fails in the same ways.

use wakeful_core::id::AgentId;
use wakeful_core::problem::{Problem, with_causes};

/// Why a store call failed, as far as callers distinguish the cases.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another writer changed the run first. The transaction is rolled back; load the run again and retry.
    /// With a remote database, a later call or the commit may report the conflict.
    #[error("the run changed since it was read")]
    Conflict,
    /// This runner lost its claim on the agent and must stop writing for it.
    #[error("another runner has taken over agent {0}")]
    FenceLost(AgentId),
    /// A brake applies to the agent: nothing may start.
    #[error("agent {0} is braked")]
    Braked(AgentId),
    /// The agent's queue is full. Nothing was written.
    #[error("the queue of agent {0} is full")]
    QueueFull(AgentId),
    /// The disk is full. Nothing was written.
    #[error("the disk is full")]
    Full,
    /// The home or its file system is not writable. Nothing was written.
    #[error("the database cannot be written")]
    ReadOnly,
    /// The file is damaged or not a database.
    #[error("the database is damaged")]
    Corrupt(#[source] Source),
    /// The write-ahead log was removed, and the newest commits with it. Writing stops.
    #[error("the write-ahead log beside the database was removed")]
    LogRemoved,
    /// The file belongs to another program.
    #[error("the database belongs to another program")]
    Foreign,
    /// A development build wrote the database before the first supported schema. Nothing is changed.
    #[error("the database was written by a development build of Wakeful, which this program cannot read")]
    DevelopmentHome,
    /// A newer version of Wakeful wrote the database.
    #[error("the database has schema {found}, this program knows up to {known}")]
    NewerSchema { found: u32, known: u32 },
    /// An older version of Wakeful wrote the database, and a read-only command may not migrate it.
    #[error(
        "the database has schema {found}, reading needs {known}, and a read-only command does not migrate it"
    )]
    OlderSchema {
        found: u32,
        /// The required schema.
        known: u32,
    },
    /// The database does not exist, and a read-only command may not create it.
    #[error("no database exists yet")]
    Absent,
    /// The database address is invalid.
    #[error("the address of the database cannot be understood")]
    BadAddress(#[source] Source),
    /// The database server does not respond.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Source),
    /// A stored value does not have the form that this program writes.
    #[error("unexpected value in {0}")]
    Malformed(&'static str),
    /// The store is shutting down or its thread has ended.
    #[error("the store has been closed")]
    Closed,
    /// The storage below the database failed: a disk, a quota, a server without memory. Nothing was
    /// written, and the error may be transient.
    #[error("storage device error")]
    Device(#[source] Source),
    /// The database returned another error. Nothing was written.
    #[error("storage failed")]
    Backend(#[source] Source),
}

/// The underlying error.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        let (code, hint) = of_store(error);
        Self::new(code, with_causes(error), hint)
    }
}

/// Returns the code and the hint.
const fn of_store(error: &StoreError) -> (&'static str, &'static str) {
    match error {
        StoreError::Conflict => ("conflict", "try again"),
        StoreError::FenceLost(_) => (
            "fence_lost",
            "another process continues this agent; check with `wakeful runs list`",
        ),
        StoreError::Braked(_) => (
            "braked",
            "release the brake with `wakeful brake off` (or `wakeful brake off --agent ID`)",
        ),
        StoreError::QueueFull(_) => (
            "queue_full",
            "wait for the agent to catch up, or cancel some messages with `wakeful runs cancel`",
        ),
        StoreError::Full => (
            "disk_full",
            "free some space, then try again; nothing was lost, and `wakeful run --resume` finishes what is open",
        ),
        StoreError::ReadOnly => (
            "home_unwritable",
            "make the home writable or choose another with --home",
        ),
        StoreError::Corrupt(_) => (
            "database_corrupt",
            "keep the file and `wakeful restore` a backup; or move the file away to begin with nothing",
        ),
        StoreError::LogRemoved => (
            "wal_missing",
            "stop the daemon with `wakeful daemon stop`, which still saves what it holds; else put agent.sqlite-wal back, restore \
                a backup, or continue with what is left: `wakeful doctor --fix`",
        ),
        StoreError::Foreign => ("not_a_wakeful_database", "choose another home with --home"),
        StoreError::DevelopmentHome => (
            "development_home",
            "keep it with the build that wrote it, and use a new home with --home (on PostgreSQL, a new database)",
        ),
        StoreError::NewerSchema { .. } => ("schema_newer", "use the newer wakeful that wrote it"),
        StoreError::OlderSchema { .. } => (
            "schema_older",
            "`wakeful run --resume`, or a daemon when it starts, brings it up to date",
        ),
        StoreError::Absent => (
            "home_missing",
            "`wakeful run \"…\"` makes one, or give another with --home",
        ),
        StoreError::BadAddress(_) => (
            "bad_database_address",
            "give a postgres:// URL or key=value words",
        ),
        StoreError::Unreachable(_) => (
            "database_unreachable",
            "check the --database URL and that the server runs; `wakeful run --resume` then finishes what is open",
        ),
        StoreError::Malformed(_) => (
            "database_malformed",
            "the row was not written by this program; restore a backup",
        ),
        StoreError::Closed => ("store_closed", "try again"),
        StoreError::Device(_) | StoreError::Backend(_) => (
            "storage_failed",
            "see the cause above; `wakeful runs list` shows how far it came, `wakeful run --resume` continues",
        ),
    }
}
