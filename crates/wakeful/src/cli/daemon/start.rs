//! `wakeful daemon start`.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use wakeful_api::{LastFailure, Readiness};

use super::super::GlobalArgs;
use super::super::serve::ServeArgs;
use super::stop::is_gone;
use crate::daemon::files::{DaemonPresence, DaemonRecord, RunDir};
use crate::daemon::lifecycle::{can_listen, note};
use crate::discover::client_without_token;
use crate::failure::Failure;
use crate::home::Home;
use crate::show::Out;

/// How long a daemon may take until it serves. Migrating a large database takes the longest.
const READY_WAIT: Duration = Duration::from_secs(60);

/// Interval between readiness checks.
const READY_POLL: Duration = Duration::from_millis(20);

/// Delay before the wait is reported to the user.
const WAIT_HINT_AFTER: Duration = Duration::from_secs(2);

/// How long a stopping daemon may take to end: the time needed to bring all work to a safe point.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// Error code of a failed start whose cause has no code.
const FAILED: &str = "daemon_start_failed";

/// Hint for a daemon that prevents a new start.
const RESTART: &str = "`wakeful daemon restart` stops it, by force if necessary, and starts a new one";

/// Starts the daemon. A daemon that already serves with the same settings counts as success.
pub(super) async fn start(
    args: &ServeArgs,
    shared: &GlobalArgs,
    folder: &RunDir,
    out: &Out,
) -> Result<(), Failure> {
    let start = args.start(shared)?;
    if let DaemonPresence::Alive(record) = folder.found()
        && let Some(record) = look(record, &start.fingerprint(), folder, out).await?
    {
        tell(&record, "already running", out);
        return Ok(());
    }
    if folder.found() == DaemonPresence::Stale {
        folder.remove_record();
    }
    let home = shared.home()?;
    // The address is checked before a home is created, so that a start that must fail leaves nothing
    // behind.
    if let Err(failure) = can_listen(&start).await {
        note(&home, &failure, out);
        return Err(failure);
    }
    Home::open_or_create(&home)?;
    // Old failures are cleared, so a failure found after the start belongs to this start.
    folder.forget_failure();
    let mut child = spawn(args, shared, folder)?;
    let record = wait(&mut child, folder, out).await?;
    tell(&record, "started", out);
    Ok(())
}

/// Examines a daemon whose process is alive, and waits if it is starting or stopping. Returns `None` when
/// it has ended.
async fn look(
    record: DaemonRecord,
    fingerprint: &str,
    folder: &RunDir,
    out: &Out,
) -> Result<Option<DaemonRecord>, Failure> {
    let began = Instant::now();
    let mut reminder = WaitHint::new("waiting for the running daemon to open its database");
    // The readiness check needs no token and must not use one, because the token may be the problem.
    let client = client_without_token(&record);
    loop {
        let seen = client.readiness().await;
        if folder.found() != DaemonPresence::Alive(record.clone()) {
            return Ok(None);
        }
        match seen {
            Ok(Readiness::Stopping) => {
                out.note(&format!("waiting for process {} to end", record.pid));
                if is_gone(&record, STOP_WAIT).await {
                    return Ok(None);
                }
                let message = format!(
                    "process {} has not ended after {} s",
                    record.pid,
                    STOP_WAIT.as_secs()
                );
                return Err(Failure::new("daemon_stopping", message, RESTART));
            }
            Ok(Readiness::Ready | Readiness::Failing | Readiness::Recovering)
                if record.config_fingerprint != fingerprint =>
            {
                let message = format!("a daemon runs as process {} with other settings", record.pid);
                let hint = "`wakeful daemon restart` applies the new settings";
                return Err(Failure::new("daemon_config_mismatch", message, hint));
            }
            Ok(Readiness::Ready | Readiness::Failing) => return Ok(Some(record)),
            Ok(Readiness::Recovering) if began.elapsed() < READY_WAIT => reminder.remind(out),
            Ok(Readiness::Recovering) => return Err(too_late()),
            Err(error) => {
                let message = format!(
                    "a daemon runs as process {}, but it does not respond: {error}",
                    record.pid
                );
                return Err(Failure::new("daemon_unreachable", message, RESTART));
            }
        }
        tokio::time::sleep(READY_POLL).await;
    }
}

/// Reports a wait once, after a delay.
struct WaitHint {
    began: Instant,
    told: bool,
    words: &'static str,
}

impl WaitHint {
    fn new(words: &'static str) -> Self {
        let (began, told) = (Instant::now(), false);
        Self { began, told, words }
    }

    fn remind(&mut self, out: &Out) {
        if !self.told && self.began.elapsed() > WAIT_HINT_AFTER {
            self.told = true;
            out.note(self.words);
        }
    }
}

/// Starts the foreground program detached: in its own session, without this terminal.
fn spawn(args: &ServeArgs, shared: &GlobalArgs, folder: &RunDir) -> Result<Child, Failure> {
    let failed = |error: &std::io::Error| {
        Failure::io(
            FAILED,
            "cannot start the daemon",
            error,
            "run `wakeful serve` to see why",
        )
    };
    let log = folder.open_log()?;
    let errors = log.try_clone().map_err(|error| failed(&error))?;
    let (words, token) = args.again();
    let mut command = Command::new(std::env::current_exe().map_err(|error| failed(&error))?);
    command.arg("serve").arg("--home").arg(shared.home()?).args(words);
    if let Some(url) = shared.database() {
        // Passed in the environment and not as an argument, because the URL may contain a password.
        command.env("WAKEFUL_DATABASE", url);
    }
    if let Some(token) = token {
        command.env("WAKEFUL_TOKEN", token);
    }
    command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0);
    command.spawn().map_err(|error| failed(&error))
}

/// Waits until the daemon serves. A daemon that ends before that is a failure.
async fn wait(child: &mut Child, folder: &RunDir, out: &Out) -> Result<DaemonRecord, Failure> {
    let began = Instant::now();
    let mut reminder = WaitHint::new("waiting for the daemon to open its database");
    while began.elapsed() < READY_WAIT {
        if let DaemonPresence::Alive(record) = folder.found()
            && record.pid == child.id()
            && is_ready(&record).await
        {
            return Ok(record);
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(ended(folder, &status.to_string()));
        }
        reminder.remind(out);
        tokio::time::sleep(READY_POLL).await;
    }
    Err(too_late())
}

/// Why a daemon ended before it served.
fn ended(folder: &RunDir, status: &str) -> Failure {
    match (folder.found(), folder.failure()) {
        (DaemonPresence::Alive(record), _) => {
            let message = format!("another start was faster: process {} is serving", record.pid);
            Failure::new("daemon_running", message, "check it with `wakeful daemon status`")
        }
        (DaemonPresence::Absent | DaemonPresence::Stale, Some(failure)) => of_last(&failure),
        (DaemonPresence::Absent | DaemonPresence::Stale, None) => {
            let hint = "`wakeful daemon logs` shows the cause";
            Failure::new(FAILED, format!("the daemon exited with {status}"), hint)
        }
    }
}

/// The failure that the daemon recorded, with its own code.
fn of_last(failure: &LastFailure) -> Failure {
    let is_code = |word: &str| word.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
    match failure.summary.split_once(": ") {
        Some((code, message)) if is_code(code) => {
            Failure::new(code.to_owned(), message, failure.detail_hint.as_str())
        }
        Some(_) | None => Failure::new(FAILED, failure.summary.as_str(), failure.detail_hint.as_str()),
    }
}

fn too_late() -> Failure {
    let message = format!("the daemon is not ready after {} s", READY_WAIT.as_secs());
    Failure::new(FAILED, message, "`wakeful daemon logs` shows its progress")
}

async fn is_ready(record: &DaemonRecord) -> bool {
    let client = client_without_token(record);
    matches!(
        client.readiness().await,
        Ok(Readiness::Ready | Readiness::Failing)
    )
}

fn tell(record: &DaemonRecord, how: &str, out: &Out) {
    let answer = json!({
        "pid": record.pid, "http_addr": record.http_addr, "socket_path": record.socket_path, "already_running": how == "already running",
    });
    let words = format!(
        "{how}: process {} at http://{}\nopen the page with `wakeful open`",
        record.pid, record.http_addr
    );
    out.answer(&answer, &words);
}
