//! The connections of one call, for its result. Connections to the same host with the same verdict share an
//! entry, so that a package manager does not fill the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::tool::{Connection, ConnectionVerdict as Verdict};

/// Most entries. A command that tries more hosts gets the number of the omitted connections.
const ENTRIES_MAX: usize = 64;

/// Longest host in an entry: a refused one has the length that the program chose.
const HOST_CHARS_MAX: usize = 253;

/// Bytes of the connections of one entry.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    host: String,
    port: u16,
    verdict: Verdict,
    reason: String,
    count: u64,
    traffic: Arc<Traffic>,
}

/// The connections of a call, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLog(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    entries: Vec<Entry>,
    omitted: u64,
}

impl ConnectionLog {
    /// Adds a connection. Its bytes are added to the returned traffic.
    pub(crate) fn add(&self, host: &str, port: u16, verdict: Verdict, reason: &str) -> Arc<Traffic> {
        let host = wakeful_core::failure::truncate_chars(host, HOST_CHARS_MAX);
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = log.entries.iter_mut().find(|entry| {
            entry.host == host && entry.port == port && entry.verdict == verdict && entry.reason == reason
        });
        if let Some(entry) = known {
            entry.count += 1;
            return Arc::clone(&entry.traffic);
        }
        let traffic = Arc::new(Traffic::default());
        if log.entries.len() >= ENTRIES_MAX {
            log.omitted += 1;
            return traffic;
        }
        log.entries.push(Entry {
            host,
            port,
            verdict,
            reason: reason.to_owned(),
            count: 1,
            traffic: Arc::clone(&traffic),
        });
        traffic
    }

    /// The entries so far, and the number of omitted connections.
    pub(crate) fn read(&self) -> (Vec<Connection>, u64) {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = log.entries.iter().map(|entry| Connection {
            host: entry.host.clone(),
            port: entry.port,
            verdict: entry.verdict,
            reason: entry.reason.clone(),
            count: entry.count,
            sent_bytes: entry.traffic.sent.load(Ordering::Relaxed),
            received_bytes: entry.traffic.received.load(Ordering::Relaxed),
        });
        (entries.collect(), log.omitted)
    }
}
