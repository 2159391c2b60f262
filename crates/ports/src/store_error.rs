//! Why a database call failed. It is here and not in `store` because a journal that a host application brings fails in
//! the same ways.

use wakeful_core::id::AgentId;
use wakeful_core::problem::{Problem, with_causes};

/// Why a store call failed, as callers must tell the cases apart.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Someone else moved the run first. Load again and try again: the transaction is lost with it. Where the database
    /// is far away, a later verb may be the one that says so, or the commit.
    #[error("the run changed since it was read")]
    Conflict,
    /// This runner no longer holds the agent. It must stop writing for it.
    #[error("another runner has taken over agent {0}")]
    FenceLost(AgentId),
    /// A brake holds the agent: nothing of it may begin.
    #[error("agent {0} is braked")]
    Braked(AgentId),
    /// As many messages wait for this agent as are kept. Nothing was written.
    #[error("as many messages wait for agent {0} as are kept")]
    QueueFull(AgentId),
    /// The disk is full. Nothing was written.
    #[error("the disk is full")]
    Full,
    /// The home or its file system does not let us write. Nothing was written.
    #[error("the database cannot be written")]
    ReadOnly,
    /// The file is damaged or is no database.
    #[error("the database is damaged")]
    Corrupt(#[source] Source),
    /// The log beside the database is gone, and what was committed last with it. Nothing more is written.
    #[error("the write-ahead log beside the database was removed")]
    LogRemoved,
    /// The file belongs to another program.
    #[error("the database belongs to another program")]
    Foreign,
    /// A development build wrote it, before the first schema that is kept readable. Nothing is touched.
    #[error("the database was written by a development build of Wakeful, which this program cannot read")]
    DevelopmentHome,
    /// A newer Wakeful wrote it.
    #[error("the database has schema {found}, this program knows up to {known}")]
    NewerSchema {
        /// What it has.
        found: u32,
        /// What we know.
        known: u32,
    },
    /// An older Wakeful wrote it, and a reader may not change it.
    #[error("the database has schema {found}, reading needs {known}, and whoever only reads changes nothing")]
    OlderSchema {
        /// What it has.
        found: u32,
        /// What we need.
        known: u32,
    },
    /// There is no database yet, and a reader may not make one.
    #[error("there is no database yet")]
    Absent,
    /// The address of the database cannot be understood.
    #[error("the address of the database cannot be understood")]
    BadAddress(#[source] Source),
    /// The database server does not answer.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Source),
    /// A stored value is not what this program writes.
    #[error("unexpected value in {0}")]
    Malformed(&'static str),
    /// The store is shutting down or its thread has gone.
    #[error("the store has been closed")]
    Closed,
    /// What the database lies on failed: a disk, a quota, a server without memory. Nothing was written, and it may pass.
    #[error("what the database lies on failed")]
    Device(#[source] Source),
    /// The database said no for another reason. Nothing was written.
    #[error("storage failed")]
    Backend(#[source] Source),
}

/// What an error was caused by.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        let (code, hint) = of_store(error);
        Self::new(code, with_causes(error), hint)
    }
}

/// The word and the way out.
const fn of_store(error: &StoreError) -> (&'static str, &'static str) {
    match error {
        StoreError::Conflict => ("conflict", "try again"),
        StoreError::FenceLost(_) => (
            "fence_lost",
            "another process goes on with this agent; look with `wakeful runs list`",
        ),
        StoreError::Braked(_) => ("braked", "release the brake with `wakeful brake off`"),
        StoreError::QueueFull(_) => (
            "queue_full",
            "wait until the agent has worked off some, or take some back with `wakeful runs cancel`",
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
            "end what runs with `wakeful daemon stop`, which still saves what it holds; else put agent.sqlite-wal \
                 back, restore a backup, or go on with what is left: `wakeful doctor --fix`",
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
            "see the cause above; `wakeful runs list` shows how far it came, `wakeful run --resume` goes on",
        ),
    }
}
