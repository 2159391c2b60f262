//! The lease of this process, and the thread that renews it.
//!
//! The database decides by its own clock which runner is dead. This process must stop acting earlier, so it
//! counts from *before* a heartbeat was sent, and uses a shorter time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio_postgres::Config;
use wakeful_core::id::RunnerId;

use crate::lock::locked;
use crate::postgres::boot_time::BootTime;
use crate::postgres::connection::Connection;
use crate::runner::{self, HEARTBEAT_MS, LEASE_MS};
use crate::schema::AGENT;
use crate::sql::Access;
use crate::{Result, StoreError};

/// How long after a heartbeat this process trusts its own lease: a third less than other processes grant,
/// as a margin for an effect that started at the last moment.
pub const LEASE_TRUST_MS: u64 = 10_000;
const _: () = assert!(
    HEARTBEAT_MS < LEASE_TRUST_MS && LEASE_TRUST_MS < LEASE_MS,
    "stop acting before others take over"
);

/// Delay between attempts while heartbeats fail.
const RETRY_MS: u64 = 1_000;

/// The lease as this process sees it.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    sent: Mutex<Option<BootTime>>,
}

impl Lease {
    /// Records a successful heartbeat that was sent at this time.
    pub(crate) fn renew(&self, sent: BootTime) {
        *locked(&self.sent) = Some(sent);
    }

    /// Marks the lease as lost: another process has declared this one dead.
    pub(crate) fn lose(&self) {
        *locked(&self.sent) = None;
    }

    /// Whether no other process can have taken over by this time. False before the first heartbeat.
    pub(crate) fn holds_at(&self, now: BootTime) -> bool {
        let sent = *locked(&self.sent);
        sent.is_some_and(|sent| now.since(sent) <= Duration::from_millis(LEASE_TRUST_MS))
    }
}

/// The thread that sends the heartbeats of one runner, on its own connection because the others may be
/// waiting for a lock.
pub(crate) struct Heartbeat {
    stop: Arc<(Mutex<bool>, Condvar)>,
    pub(crate) thread: JoinHandle<()>,
}

impl Heartbeat {
    /// Starts the heartbeats. The registration counts as the first one.
    pub(crate) fn start(config: Config, runner: RunnerId, lease: Arc<Lease>) -> Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let pulse = HeartbeatTask::new(config, runner, lease);
        let seen = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("store-heartbeat".into())
            .spawn(move || pulse.go_on(&seen))
            .map_err(|error| StoreError::Backend(error.into()))?;
        Ok(Self { stop, thread })
    }

    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        let (stopped, changed) = &*self.stop;
        *locked(stopped) = true;
        changed.notify_all();
    }
}

/// The state of the heartbeat thread.
pub(crate) struct HeartbeatTask {
    config: Config,
    runner: RunnerId,
    lease: Arc<Lease>,
    connection: Option<Connection>,
}

impl HeartbeatTask {
    /// Creates the task without connecting.
    pub(crate) const fn new(config: Config, runner: RunnerId, lease: Arc<Lease>) -> Self {
        Self {
            config,
            runner,
            lease,
            connection: None,
        }
    }

    fn go_on(mut self, stop: &(Mutex<bool>, Condvar)) {
        let (stopped, changed) = stop;
        let mut pause = HEARTBEAT_MS;
        loop {
            let guard = locked(stopped);
            let waited = changed.wait_timeout_while(guard, Duration::from_millis(pause), |stopped| !*stopped);
            if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                return;
            }
            pause = if self.beat().is_ok() {
                HEARTBEAT_MS
            } else {
                RETRY_MS
            };
        }
    }

    /// Sends one heartbeat.
    pub(crate) fn beat(&mut self) -> Result<()> {
        let sent = BootTime::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.config, &AGENT, Access::Write)?,
        };
        // A connection that failed is not used again.
        let alive = runner::heartbeat(&mut connection, &self.runner)?;
        self.connection = Some(connection);
        if alive {
            self.lease.renew(sent)
        } else {
            self.lease.lose()
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_trusted_for_ten_seconds_after_its_heartbeat() {
        let lease = Lease::default();
        let sent = BootTime::now();
        assert!(!lease.holds_at(sent), "no beat, no lease");
        lease.renew(sent);
        assert!(lease.holds_at(sent.plus_ms(10_000)));
        assert!(!lease.holds_at(sent.plus_ms(10_001)));
        lease.renew(sent.plus_ms(5_000));
        assert!(lease.holds_at(sent.plus_ms(10_001)));
        lease.lose();
        assert!(!lease.holds_at(sent));
    }
}
