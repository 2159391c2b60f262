//! Which daemon a verb talks to, and how long it has patience with one that is starting, ending or silent.

use std::time::{Duration, Instant};

use wakeful_api::Readiness;
use wakeful_api::client::Client;

use crate::daemon::files::{DaemonPresence, DaemonRecord, RunDir};
use crate::daemon::lifecycle::database_name;
use crate::daemon::token;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// How long a verb waits for a daemon that takes up what an earlier life left.
const RECOVERY_WAIT: Duration = Duration::from_secs(10);

/// How often it asks.
const RECOVERY_POLL: Duration = Duration::from_millis(50);

/// How long somebody who watches waits for a daemon that went away. A restart takes about as long as its slowest
/// command takes to come to a safe point.
const AWAY_MAX: Duration = Duration::from_secs(20);

/// How often they look whether it is back.
const RECONNECT_POLL: Duration = Duration::from_millis(250);

/// Codes of failures of a daemon that may be back in a moment.
const PASSING: [&str; 4] = [
    "daemon_unreachable",
    "stopping",
    "recovering",
    "too_many_connections",
];

/// Who answers in a home.
pub(crate) enum HomeHolder {
    /// No daemon runs.
    None,
    /// One runs, on another database than the one that this call speaks of.
    Other(DaemonRecord),
    /// One runs on this very database.
    Daemon(Client),
}

impl HomeHolder {
    /// What is said beside an answer that no daemon gave.
    pub(crate) fn absence_message(&self) -> Option<String> {
        match self {
            Self::None => Some("no daemon runs in this home".to_owned()),
            Self::Other(record) => Some(format!(
                "the daemon of this home (process {}) works on another database",
                record.pid
            )),
            Self::Daemon(_) => None,
        }
    }
}

/// Looks who answers. One that is recovering is waited for; one that does not answer is a failure, because it holds
/// the home and nobody else can work in it.
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
        // It may have ended between the look and the question.
        if folder.found() != DaemonPresence::Alive(record.clone()) && Instant::now() < deadline {
            continue;
        }
        match seen? {
            Readiness::Recovering if Instant::now() < deadline => tokio::time::sleep(RECOVERY_POLL).await,
            // Whatever is asked of it now, it says itself why not.
            Readiness::Ready | Readiness::Failing | Readiness::Stopping | Readiness::Recovering => {
                return Ok(HomeHolder::Daemon(client_of(&record)?));
            }
        }
    }
}

/// The daemon of this home, if one runs on the database that this call speaks of.
pub(crate) async fn daemon(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match home_holder(shared).await? {
        HomeHolder::Daemon(client) => Ok(Some(client)),
        HomeHolder::None | HomeHolder::Other(_) => Ok(None),
    }
}

/// The same without asking it how it stands, which a stop request does not wait for.
pub(crate) fn daemon_now(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match RunDir::of(&shared.home()?).found() {
        DaemonPresence::Alive(record) if record.database == shared.database().map(database_name) => {
            client_of(&record).map(Some)
        }
        DaemonPresence::Alive(_) | DaemonPresence::Absent | DaemonPresence::Stale => Ok(None),
    }
}

/// A client of the daemon that left this record, whatever its database.
pub(crate) fn client_of(record: &DaemonRecord) -> Result<Client, Failure> {
    Ok(client_with(record, token::read(&record.token_file)?))
}

/// The same for calls that need no token.
pub(crate) fn client_without_token(record: &DaemonRecord) -> Client {
    client_with(record, String::new())
}

/// By the socket in the home, which nothing on the network can keep busy.
fn client_with(record: &DaemonRecord, token: String) -> Client {
    let client = Client::new(record.http_addr.clone(), token);
    match &record.socket_path {
        Some(socket) => client.by_socket(socket.clone()),
        None => client,
    }
}

/// The patience of somebody who watches, while the daemon is away.
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

    /// The daemon was heard.
    pub(crate) const fn reset(&mut self) {
        self.away_since = None;
    }

    /// Waits until a daemon serves again, after a failure or a stream that has ended. It may have another address by
    /// then. None when it stays away, and the failure when that is not of a kind that passes.
    pub(crate) async fn wait(&mut self, failure: Option<Failure>) -> Result<Option<Client>, Failure> {
        let mut failure = failure;
        loop {
            if let Some(failure) = failure.take_if(|failure| !PASSING.contains(&failure.code())) {
                return Err(failure);
            }
            let since = *self.away_since.get_or_insert_with(|| {
                self.out.note("the stream broke off; asking the daemon again");
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

/// The failure of somebody who watched a daemon that stays away.
pub(crate) fn daemon_gone(what: &str, hint: String) -> Failure {
    let message = format!("the daemon has been away for {} s; {what}", AWAY_MAX.as_secs());
    Failure::new("watch_interrupted", message, hint)
}
