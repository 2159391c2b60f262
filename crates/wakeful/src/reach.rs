//! Which daemon a verb talks to, and how long it has patience with one that is starting, ending or silent.

use std::time::{Duration, Instant};

use wakeful_api::Readiness;
use wakeful_api::client::Client;

use crate::daemon::files::{Found, Record, RunFolder};
use crate::daemon::life::database_name;
use crate::daemon::token;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// How long a verb waits for a daemon that takes up what an earlier life left.
const RECOVERY_WAIT: Duration = Duration::from_secs(10);

/// How often it asks.
const RECOVERY_LOOK: Duration = Duration::from_millis(50);

/// How long somebody who watches waits for a daemon that went away. A restart takes about as long as its slowest
/// command takes to come to a safe point.
const AWAY_MAX: Duration = Duration::from_secs(20);

/// How often they look whether it is back.
const AWAY_LOOK: Duration = Duration::from_millis(250);

/// Codes of failures of a daemon that may be back in a moment.
const PASSING: [&str; 4] = [
    "daemon_unreachable",
    "stopping",
    "recovering",
    "too_many_connections",
];

/// Who answers in a home.
pub(crate) enum Who {
    /// No daemon runs.
    Nobody,
    /// One runs, on another database than the one that this call speaks of.
    Other(Record),
    /// One runs on this very database.
    Daemon(Client),
}

impl Who {
    /// What is said beside an answer that no daemon gave.
    pub(crate) fn absence(&self) -> Option<String> {
        match self {
            Self::Nobody => Some("no daemon runs in this home".to_owned()),
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
pub(crate) async fn who(shared: &GlobalArgs) -> Result<Who, Failure> {
    let folder = RunFolder::of(&shared.home()?);
    let deadline = Instant::now() + RECOVERY_WAIT;
    loop {
        let Found::Alive(record) = folder.found() else {
            return Ok(Who::Nobody);
        };
        if record.database != shared.database().map(database_name) {
            return Ok(Who::Other(record));
        }
        let seen = client_of(&record)?.readiness().await;
        // It may have ended between the look and the question.
        if folder.found() != Found::Alive(record.clone()) && Instant::now() < deadline {
            continue;
        }
        match seen? {
            Readiness::Recovering if Instant::now() < deadline => tokio::time::sleep(RECOVERY_LOOK).await,
            // Whatever is asked of it now, it says itself why not.
            Readiness::Ready | Readiness::Failing | Readiness::Stopping | Readiness::Recovering => {
                return Ok(Who::Daemon(client_of(&record)?));
            }
        }
    }
}

/// The daemon of this home, if one runs on the database that this call speaks of.
pub(crate) async fn daemon(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match who(shared).await? {
        Who::Daemon(client) => Ok(Some(client)),
        Who::Nobody | Who::Other(_) => Ok(None),
    }
}

/// The same without asking it how it stands, which a stop request does not wait for.
pub(crate) fn daemon_now(shared: &GlobalArgs) -> Result<Option<Client>, Failure> {
    match RunFolder::of(&shared.home()?).found() {
        Found::Alive(record) if record.database == shared.database().map(database_name) => {
            client_of(&record).map(Some)
        }
        Found::Alive(_) | Found::Nobody | Found::Stale => Ok(None),
    }
}

/// A client of the daemon that left this record, whatever its database.
pub(crate) fn client_of(record: &Record) -> Result<Client, Failure> {
    Ok(client_with(record, token::read(&record.token_file)?))
}

/// The same for calls that need no token.
pub(crate) fn client_without_token(record: &Record) -> Client {
    client_with(record, String::new())
}

/// By the socket in the home, which nothing on the network can keep busy.
fn client_with(record: &Record, token: String) -> Client {
    let client = Client::new(record.http_addr.clone(), token);
    match &record.socket_path {
        Some(socket) => client.by_socket(socket.clone()),
        None => client,
    }
}

/// The patience of somebody who watches, while the daemon is away.
pub(crate) struct Patience<'a> {
    shared: &'a GlobalArgs,
    out: &'a Out,
    away_since: Option<Instant>,
}

impl<'a> Patience<'a> {
    pub(crate) const fn new(shared: &'a GlobalArgs, out: &'a Out) -> Self {
        let away_since = None;
        Self {
            shared,
            out,
            away_since,
        }
    }

    /// The daemon was heard.
    pub(crate) const fn heard(&mut self) {
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
            tokio::time::sleep(AWAY_LOOK).await;
            match daemon(self.shared).await {
                Ok(Some(client)) => return Ok(Some(client)),
                Ok(None) => {}
                Err(other) => failure = Some(other),
            }
        }
    }
}

/// The failure of somebody who watched a daemon that stays away.
pub(crate) fn stays_away(what: &str, hint: String) -> Failure {
    let message = format!("the daemon has been away for {} s; {what}", AWAY_MAX.as_secs());
    Failure::new("watching_ended", message, hint)
}
