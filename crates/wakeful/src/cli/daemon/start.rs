//! `wakeful daemon start`.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use wakeful_api::Ready;
use wakeful_api::client::Client;

use super::super::Shared;
use super::super::serve::ServeArgs;
use crate::daemon::files::{Found, Record, RunFolder};
use crate::daemon::token;
use crate::failure::Failure;
use crate::home::Home;
use crate::show::Out;

/// How long a daemon may take to serve. Bringing a large database up to date is the longest thing it does.
const READY_WAIT: Duration = Duration::from_secs(60);

/// How often it is looked at.
const READY_LOOK: Duration = Duration::from_millis(20);

/// After how long a person is told that there is something to wait for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts the daemon; one that serves already with the same settings is as good.
pub(super) async fn start(
    args: &ServeArgs,
    shared: &Shared,
    folder: &RunFolder,
    out: &Out,
) -> Result<(), Failure> {
    let settings = args.settings(shared)?;
    if let Found::Alive(record) = folder.found() {
        if record.config_fingerprint == settings.fingerprint() {
            tell(&record, "already running", out);
            return Ok(());
        }
        let message = format!("a daemon runs as process {} with other settings", record.pid);
        let hint = "`wakeful daemon restart` takes up the new ones";
        return Err(Failure::new("config_differs", message, hint));
    }
    folder.forget();
    Home::open_or_create(&shared.home()?)?;
    let mut child = spawn(args, shared, folder)?;
    let record = wait(&mut child, folder, out).await?;
    tell(&record, "started", out);
    Ok(())
}

/// The foreground program, on its own: not of this terminal, not of this group.
fn spawn(args: &ServeArgs, shared: &Shared, folder: &RunFolder) -> Result<Child, Failure> {
    let failed = |error: &std::io::Error| {
        Failure::io(
            "daemon_start_failed",
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
        // In the environment: it may hold a password.
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

/// Waits until it serves, or has ended, which is a failure.
async fn wait(child: &mut Child, folder: &RunFolder, out: &Out) -> Result<Record, Failure> {
    let began = Instant::now();
    let mut told = false;
    while began.elapsed() < READY_WAIT {
        if let Found::Alive(record) = folder.found()
            && record.pid == child.id()
            && is_ready(&record).await
        {
            return Ok(record);
        }
        if let Ok(Some(status)) = child.try_wait() {
            let why = folder.failure().map(|failure| failure.summary);
            let why = why.unwrap_or_else(|| format!("it ended with {status}"));
            return Err(Failure::new(
                "daemon_start_failed",
                why,
                "`wakeful daemon logs` shows what led to it",
            ));
        }
        if !told && began.elapsed() > PATIENCE {
            told = true;
            out.note("waiting for the daemon to open its database");
        }
        tokio::time::sleep(READY_LOOK).await;
    }
    let message = format!("the daemon does not serve after {} s", READY_WAIT.as_secs());
    Err(Failure::new(
        "daemon_start_failed",
        message,
        "`wakeful daemon logs` shows how far it came",
    ))
}

async fn is_ready(record: &Record) -> bool {
    let Ok(token) = token::read(&record.token_file) else {
        return false;
    };
    let client = Client::new(record.http_addr.clone(), token);
    client.get::<Ready>("/readyz").await.is_ok()
}

fn tell(record: &Record, how: &str, out: &Out) {
    let answer = json!({
        "pid": record.pid, "http_addr": record.http_addr, "already_running": how == "already running",
    });
    let words = format!(
        "{how}: process {} at http://{}\n`wakeful open` opens the page",
        record.pid, record.http_addr
    );
    out.answer(&answer, &words);
}
