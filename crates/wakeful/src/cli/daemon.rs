//! `wakeful daemon`: runs `wakeful serve` in the background.

mod start;
mod stop;

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{GetRuntimeStatus, LastFailure, RuntimeStatus};

use super::GlobalArgs;
use super::serve::ServeArgs;
use super::status::{needs, settings_lines};
use crate::backend::AttentionSummary;
use crate::daemon::files::{DaemonPresence, DaemonRecord, RunDir};
use crate::discover::client_of;
use crate::failure::Failure;
use crate::show::Out;
use crate::show::phrase::count;

/// Log lines shown by default.
const LINES_DEFAULT: usize = 50;

/// Maximum number of log lines shown.
const LINES_MAX: u64 = 1_000;

#[derive(Debug, Subcommand)]
pub(crate) enum DaemonVerb {
    /// Start the daemon, unless it already runs with the same settings
    Start(ServeArgs),
    /// Stop the daemon after current work has reached a safe point
    Stop,
    /// Show the status of the daemon
    Status,
    /// Stop the daemon if it runs, and start it with these options
    Restart(ServeArgs),
    /// Show the end of the daemon's log and the last failure
    Logs {
        /// Maximum number of lines to show
        #[arg(long, value_name = "N", default_value_t = LINES_DEFAULT, value_parser = lines)]
        lines: usize,
    },
}

fn lines(text: &str) -> Result<usize, String> {
    match text.parse::<u64>() {
        Ok(count @ 1..=LINES_MAX) => usize::try_from(count).map_err(|error| error.to_string()),
        Ok(_) | Err(_) => Err(format!("expected a number from 1 to {LINES_MAX}")),
    }
}

pub(crate) async fn daemon(verb: &DaemonVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let folder = RunDir::of(&shared.home()?);
    match verb {
        DaemonVerb::Start(args) => start::start(args, shared, &folder, out).await?,
        DaemonVerb::Stop => stop::stop(&folder, out).await?,
        DaemonVerb::Restart(args) => {
            // Errors in the new options are reported while the old daemon still serves.
            args.settings(shared)?;
            stop::end(&folder, out).await?;
            start::start(args, shared, &folder, out).await?;
        }
        DaemonVerb::Status => status(shared, &folder, out).await?,
        DaemonVerb::Logs { lines } => logs(&folder, *lines, out),
    }
    Ok(0)
}

/// Reports the status of the daemon as far as this process can determine it.
async fn status(shared: &GlobalArgs, folder: &RunDir, out: &Out) -> Result<(), Failure> {
    let record = match folder.found() {
        DaemonPresence::Alive(record) => record,
        found @ (DaemonPresence::Absent | DaemonPresence::Stale) => {
            let stale = found == DaemonPresence::Stale;
            let answer = json!({"running": false, "stale_files": stale, "last_failure": folder.failure()});
            out.answer(&answer, &not_running(stale, folder.failure().as_ref()));
            return Ok(());
        }
    };
    let written = crate::config::load(&shared.home()?, &crate::config::Overrides::default());
    let seen = ask(&record).await;
    // The daemon works with its last valid settings if the file is invalid. It says so itself if it responds.
    if let (Err(failure), Err(_)) = (&written, &seen) {
        out.note(&format!(
            "{}; the daemon uses its last valid settings",
            failure.message()
        ));
    }
    let matches = written.is_ok_and(|written| written.fingerprint() == record.written_fingerprint);
    let (health, words) = (health_of(&seen), running(&record, &seen, out));
    let mut answer = json!({
        "running": true, "pid": record.pid, "home_dir": shared.home()?, "http_addr": record.http_addr,
        "socket_path": record.socket_path, "control_health": health, "config_fingerprint": record.config_fingerprint,
        "config_fingerprint_match": matches, "last_failure": folder.failure(),
    });
    if let (Ok(status), Some(members)) = (seen, answer.as_object_mut()) {
        let status = serde_json::to_value(&status).unwrap_or_default();
        members.extend(status.as_object().cloned().unwrap_or_default());
    }
    out.answer(&answer, &words);
    Ok(())
}

/// Queries the daemon itself, regardless of its database. The readiness request comes first: it needs no
/// work, so it detects a daemon that hangs.
async fn ask(record: &DaemonRecord) -> Result<RuntimeStatus, Failure> {
    let client = client_of(record)?;
    client.readiness().await?;
    Ok(client.call(&GetRuntimeStatus {}).await?)
}

fn not_running(stale: bool, failure: Option<&LastFailure>) -> String {
    let mut lines = vec!["no daemon runs in this home".to_owned()];
    if stale {
        lines.push("the last daemon ended unexpectedly; the next start cleans up after it".to_owned());
    }
    lines.extend(failure.map(failed));
    lines.push("start one with `wakeful daemon start`".to_owned());
    lines.join("\n")
}

fn health_of(seen: &Result<RuntimeStatus, Failure>) -> String {
    match seen {
        Ok(RuntimeStatus {
            storage: Some(problem),
            ..
        }) => format!("{}: {} ({})", problem.code, problem.message, problem.hint),
        Ok(_) => "ok".to_owned(),
        Err(failure) => format!("{}: {}", failure.code(), failure.message()),
    }
}

fn running(record: &DaemonRecord, seen: &Result<RuntimeStatus, Failure>, out: &Out) -> String {
    let mut lines = vec![
        format!(
            "daemon   process {}, started {}",
            record.pid,
            out.at(&record.started_at)
        ),
        format!("address  http://{}", record.http_addr),
        format!("health   {}", health_of(seen)),
    ];
    if let Some(socket) = &record.socket_path {
        lines.insert(2, format!("socket   {}", socket.display()));
    }
    if let Ok(status) = seen {
        lines.push(format!(
            "activity {} running, {} waiting, {}",
            count(status.processing_agent_count, "agent"),
            status.waiting_agent_count,
            count(status.stream_count, "stream client")
        ));
        lines.extend(needs(&AttentionSummary::from(status), out));
        lines.extend(status.last_failure.as_ref().map(failed));
        lines.extend(settings_lines(
            status.settings_problem.as_ref(),
            &status.needs_restart,
        ));
    }
    lines.join("\n")
}

fn failed(failure: &LastFailure) -> String {
    format!(
        "failure  at {}: {} ({})",
        failure.occurred_at, failure.summary, failure.detail_hint
    )
}

fn logs(folder: &RunDir, lines: usize, out: &Out) {
    let (tail, failure) = (folder.log_tail(lines), folder.failure());
    let answer = json!({
        "log_path": folder.log_path(), "metadata_path": folder.record_path(),
        "last_failure_path": folder.failure_path(), "last_failure": failure, "tail": tail,
    });
    let mut words = vec![format!("log       {}", folder.log_path().display())];
    words.extend(failure.as_ref().map(failed));
    words.extend(tail);
    out.answer(&answer, &words.join("\n"));
}
