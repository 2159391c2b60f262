//! Finds the daemon that a command talks to, and bounds how long the command waits for one that is
//! starting, stopping or not responding.

use std::time::{Duration, Instant};

use wakeful_api::Readiness;
use wakeful_api::client::Client;

use crate::daemon::files::{DaemonPresence, DaemonRecord, RunDir};
use crate::daemon::lifecycle::database_name;
use crate::daemon::token;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// How long a command waits for a daemon that is recovering.
const RECOVERY_WAIT: Duration = Duration::from_secs(10);

/// How often the command polls a recovering daemon.
const RECOVERY_POLL: Duration = Duration::from_millis(50);

/// How long a watching command waits for a daemon that has gone away. A restart takes about as long as its
/// slowest command needs to reach a safe point.
const AWAY_MAX: Duration = Duration::from_secs(20);

/// How often a watching command checks whether the daemon is back.
const RECONNECT_POLL: Duration = Duration::from_millis(250);

/// Error codes after which a daemon may be back shortly.
const PASSING: [&str; 4] = [
    "daemon_unreachable",
    "stopping",
    "recovering",
    "too_many_connections",
];

/// Which daemon serves a home.
pub(crate) enum HomeHolder {
    None,
    /// A daemon is running on another database than the one of this call.
    Other(DaemonRecord),
    /// A daemon is running on the database of this call.
    Daemon(Client),
}

impl HomeHolder {
    /// The note that is shown with a result that did not come from a daemon.
    pub(crate) fn absence_message(&self) -> Option<String> {
        match self {
            Self::None => Some("no daemon runs in this home".to_owned()),
            Self::Other(record) => Some(format!(
                "the daemon of this home (process {}) uses another database",
                record.pid
            )),
            Self::Daemon(_) => None,
        }
    }
}

/// Finds the daemon of a home. A recovering daemon is waited for. A daemon that does not respond is a
/// failure, because it holds the home and no other process can work in it.
pub(crate) async fn home_holder(shared: &GlobalArgs) -> Result<HomeHolder, Failure> {
    let folder = RunDir::of(&shared.home()?);
    let deadline = Instant::now() + RECOVERY_WAIT;
    loop {
        let DaemonPresence::Alive(record) = folder.found() else {
            return Ok(HomeHolder::None);
        };
        if record.database != shared.database().map(database_name) {
            return Ok(HomeHolder::Other(record));
        }
        let seen = client_of(&record)?.readiness().await;
        // The daemon may have stopped between reading the record and the request.
        if folder.found() != DaemonPresence::Alive(record.clone()) && Instant::now() < deadline {
            continue;
        }
        match seen? {
            Readiness::Recovering if Instant::now() < deadline => tokio::time::sleep(RECOVERY_POLL).await,
            // The daemon itself reports why it cannot serve a request now.
            Readiness::Ready | Readiness::Failing | Readiness::Stopping | Readiness::Recovering => {
                return Ok(HomeHolder::Daemon(client_of(&record)?));
            }
        }
    }
}

/// The daemon of this home, if one is running on the database of this call.
pub(crate) async fn daemon(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match home_holder(shared).await? {
        HomeHolder::Daemon(client) => Ok(Some(client)),
        HomeHolder::None | HomeHolder::Other(_) => Ok(None),
    }
}

/// Like [`daemon`], but without a readiness check, which a stop request must not wait for.
pub(crate) fn daemon_now(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match RunDir::of(&shared.home()?).found() {
        DaemonPresence::Alive(record) if record.database == shared.database().map(database_name) => {
            client_of(&record).map(Some)
        }
        DaemonPresence::Alive(_) | DaemonPresence::Absent | DaemonPresence::Stale => Ok(None),
    }
}

/// A client of the daemon with this record, regardless of its database.
pub(crate) fn client_of(record: &DaemonRecord) -> Result<Client, Failure> {
    Ok(client_with(record, token::read(&record.token_file)?))
}

/// A client for calls that need no token.
pub(crate) fn client_without_token(record: &DaemonRecord) -> Client {
    client_with(record, String::new())
}

/// Uses the socket in the home if there is one, because network traffic cannot block it.
fn client_with(record: &DaemonRecord, token: String) -> Client {
    let client = Client::new(record.http_addr.clone(), token);
    match &record.socket_path {
        Some(socket) => client.by_socket(socket.clone()),
        None => client,
    }
}

/// Reconnects a watching command while the daemon is away.
pub(crate) struct ReconnectTimer<'a> {
    shared: &'a GlobalArgs,
    out: &'a Out,
    away_since: Option<Instant>,
}

impl<'a> ReconnectTimer<'a> {
    pub(crate) const fn new(shared: &'a GlobalArgs, out: &'a Out) -> Self {
        let away_since = None;
        Self {
            shared,
            out,
            away_since,
        }
    }

    /// Resets the timer after the daemon has responded.
    pub(crate) const fn reset(&mut self) {
        self.away_since = None;
    }

    /// Waits until a daemon serves again, after a failure or the end of a stream; its address may have
    /// changed. Returns `None` if it stays away, and the failure if that is not transient.
    pub(crate) async fn wait(&mut self, failure: Option<Failure>) -> Result<Option<Client>, Failure> {
        let mut failure = failure;
        loop {
            if let Some(failure) = failure.take_if(|failure| !PASSING.contains(&failure.code())) {
                return Err(failure);
            }
            let since = *self.away_since.get_or_insert_with(|| {
                self.out
                    .note("the stream was interrupted; reconnecting to the daemon");
                Instant::now()
            });
            if since.elapsed() >= AWAY_MAX {
                return Ok(None);
            }
            tokio::time::sleep(RECONNECT_POLL).await;
            match daemon(self.shared).await {
                Ok(Some(client)) => return Ok(Some(client)),
                Ok(None) => {}
                Err(other) => failure = Some(other),
            }
        }
    }
}

/// The failure of a watching command whose daemon stays away.
pub(crate) fn daemon_gone(what: &str, hint: String) -> Failure {
    let message = format!(
        "the daemon has been unreachable for {} s; {what}",
        AWAY_MAX.as_secs()
    );
    Failure::new("watch_interrupted", message, hint)
}
