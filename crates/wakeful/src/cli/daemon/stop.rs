//! `wakeful daemon stop`.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::daemon::files::{DaemonPresence, DaemonRecord, RunDir};
use crate::discover::client_of;
use crate::failure::Failure;
use crate::show::Out;
use crate::system::is_alive;
use wakeful_api::ShutDown;

/// How long a daemon may take to bring its work to a safe point after a shutdown request.
const ASKED_WAIT: Duration = Duration::from_secs(15);
const TERM_WAIT: Duration = Duration::from_secs(10);
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Interval between checks whether the process has ended.
const STOP_POLL: Duration = Duration::from_millis(20);

/// Stops the daemon and reports the result.
pub(super) async fn stop(folder: &RunDir, out: &Out) -> Result<(), Failure> {
    let was = end(folder, out).await?;
    let words = was.map_or_else(
        || "no daemon was running".to_owned(),
        |pid| format!("stopped: process {pid}"),
    );
    out.answer(&json!({"stopped": was.is_some(), "pid": was}), &words);
    Ok(())
}

/// Stops the daemon if one runs: first by request, then by signals. Files of dead daemons are removed.
pub(super) async fn end(folder: &RunDir, out: &Out) -> Result<Option<u32>, Failure> {
    let DaemonPresence::Alive(record) = folder.found() else {
        folder.remove_record();
        return Ok(None);
    };
    // A daemon that does not respond receives a signal instead; the reason does not matter here.
    let asked = ask(&record).await.is_ok();
    let gone =
        asked && is_gone(&record, ASKED_WAIT).await || signal(&record, Signal::TERM, TERM_WAIT).await || {
            out.note(
                "the daemon does not stop by itself and is killed; its runs are recovered at the next start",
            );
            signal(&record, Signal::KILL, KILL_WAIT).await
        };
    if !gone {
        let message = format!("process {} does not end", record.pid);
        return Err(Failure::new(
            "daemon_stop_failed",
            message,
            "examine it with `ps`, and end it manually",
        ));
    }
    folder.forget_process(record.pid);
    folder.forget_failure();
    Ok(Some(record.pid))
}

/// Requests shutdown after checking that the daemon responds.
async fn ask(record: &DaemonRecord) -> Result<(), Failure> {
    let client = client_of(record)?;
    client.readiness().await?;
    client.call(&ShutDown {}).await?;
    Ok(())
}

async fn signal(record: &DaemonRecord, signal: Signal, wait: Duration) -> bool {
    let pid = i32::try_from(record.pid).ok().and_then(Pid::from_raw);
    // An error means that the process has ended or belongs to another user; the following check
    // distinguishes the two.
    if let Some(pid) = pid {
        let _ = kill_process(pid, signal);
    }
    is_gone(record, wait).await
}

/// Whether the process ends within the given time.
pub(super) async fn is_gone(record: &DaemonRecord, wait: Duration) -> bool {
    let deadline = Instant::now() + wait;
    while is_alive(record.pid, record.pid_started) {
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(STOP_POLL).await;
    }
    true
}
