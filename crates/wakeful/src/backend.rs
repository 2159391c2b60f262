//! The API as the commands call it: through the home's daemon, or in this process if no daemon runs.

mod decision;
mod find;
pub(crate) mod in_process;
pub(crate) mod journal;
pub(crate) mod stop;
mod subscription;

use std::sync::atomic::{AtomicUsize, Ordering};

use wakeful_api::Endpoint;
use wakeful_api::client::{Client, ClientError};

pub(crate) use self::decision::{AttentionSummary, decision_id, refuse_tool_process};
pub(crate) use self::find::{IdKind, STEP};
use crate::discover::daemon;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::{OpenHome, with_read_only};
use crate::show::Out;

/// In how many texts of this process's requests a secret was replaced.
static REDACTIONS: AtomicUsize = AtomicUsize::new(0);

/// What a person must know about texts that were changed since this was last asked; `None` if none was.
pub(crate) fn take_redaction_note() -> Option<String> {
    match REDACTIONS.swap(0, Ordering::Relaxed) {
        0 => None,
        1 => Some("a secret in your text was replaced by its name before anything was stored".to_owned()),
        count => Some(format!(
            "secrets in {count} texts were replaced by their names before anything was stored"
        )),
    }
}

pub(crate) struct Backend {
    pub(crate) client: Client,
}

/// For commands that only read. Without a daemon the databases are opened read-only: no lock is taken and
/// nothing is created.
pub(crate) async fn read<T>(
    shared: &GlobalArgs,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    with_read_only(shared, async |store| {
        command(&Backend::of_store(store, shared)?).await
    })
    .await
}

/// For commands that write. Without a daemon the home is locked, and created if it does not exist.
pub(crate) async fn write<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    write_in_process(OpenHome::open_for_writing(shared).await?, out, command).await
}

/// For commands that write to an existing home. Without a daemon the home is locked, but never created.
pub(crate) async fn write_existing<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if shared.database().is_none() {
        Home::open(&shared.home()?)?;
    }
    write(shared, out, command).await
}

/// For commands that must not wait for another process in the home, such as an answer or a brake. Without a
/// daemon they write without taking the lock; the lock holder reads the row before its next effect.
pub(crate) async fn write_unlocked<T>(
    shared: &GlobalArgs,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(client) = daemon(shared).await? {
        return command(&Backend { client }).await;
    }
    write_in_process(OpenHome::open_unlocked(shared).await?, out, command).await
}

async fn write_in_process<T>(
    place: OpenHome,
    out: &Out,
    command: impl AsyncFnOnce(&Backend) -> Result<T, Failure>,
) -> Result<T, Failure> {
    place
        .run_and_close(out, async |place| command(&Backend::of_open_home(place)?).await)
        .await
}

impl Backend {
    /// Whether a daemon serves this backend. Without one, queued work does not start.
    pub(crate) const fn is_daemon(&self) -> bool {
        self.client.is_daemon()
    }

    pub(crate) async fn call<E: Endpoint>(&self, input: E) -> Result<E::Output, Failure> {
        let called = self.client.call(&input).await;
        REDACTIONS.fetch_add(self.client.take_redactions(), Ordering::Relaxed);
        Ok(called?)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused { problem, .. } => {
                let failure: Self = problem.into();
                match failure.code() {
                    "stopping" => {
                        failure.with_hint("try again when it has finished, or run `wakeful daemon restart`")
                    }
                    _ => failure,
                }
            }
            ClientError::Unreachable(_) => Self::new(
                "daemon_unreachable",
                message,
                "check `wakeful daemon status`; `wakeful daemon restart` restarts it",
            ),
            ClientError::Malformed(_) => Self::new(
                "daemon_protocol_error",
                message,
                "the program and the daemon may have different versions; run `wakeful daemon restart`",
            ),
        }
    }
}
