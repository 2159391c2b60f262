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

/// How long a daemon may take to bring what is under way to a safe point, after each way of asking.
const ASKED_WAIT: Duration = Duration::from_secs(15);
const TERM_WAIT: Duration = Duration::from_secs(10);
const KILL_WAIT: Duration = Duration::from_secs(5);

/// How often it is looked at.
const STOP_POLL: Duration = Duration::from_millis(20);

/// Ends the daemon and says so.
pub(super) async fn stop(folder: &RunDir, out: &Out) -> Result<(), Failure> {
    let was = end(folder, out).await?;
    let words = was.map_or_else(
        || "no daemon was running".to_owned(),
        |pid| format!("stopped: process {pid}"),
    );
    out.answer(&json!({"stopped": was.is_some(), "pid": was}), &words);
    Ok(())
}

/// Ends the daemon, if one runs: by asking, then by signals. Whatever dead ones left is cleaned away.
pub(super) async fn end(folder: &RunDir, out: &Out) -> Result<Option<u32>, Failure> {
    let DaemonPresence::Alive(record) = folder.found() else {
        folder.remove_record();
        return Ok(None);
    };
    // One that does not answer is sent a signal instead; why it does not is then beside the point.
    let asked = ask(&record).await.is_ok();
    let gone =
        asked && is_gone(&record, ASKED_WAIT).await || signal(&record, Signal::TERM, TERM_WAIT).await || {
            out.note("the daemon does not end by itself; it is killed, which every run survives");
            signal(&record, Signal::KILL, KILL_WAIT).await
        };
    if !gone {
        let message = format!("process {} does not end", record.pid);
        return Err(Failure::new(
            "daemon_stop_failed",
            message,
            "look at it with `ps`, and end it by hand",
        ));
    }
    folder.forget_process(record.pid);
    folder.forget_failure();
    Ok(Some(record.pid))
}

/// Asks for the end, once it is known that somebody listens.
async fn ask(record: &DaemonRecord) -> Result<(), Failure> {
    let client = client_of(record)?;
    client.readiness().await?;
    client.call(&ShutDown {}).await?;
    Ok(())
}

async fn signal(record: &DaemonRecord, signal: Signal, wait: Duration) -> bool {
    let pid = i32::try_from(record.pid).ok().and_then(Pid::from_raw);
    // An error means that it is gone or not ours; which of the two, the look tells.
    if let Some(pid) = pid {
        let _ = kill_process(pid, signal);
    }
    is_gone(record, wait).await
}

/// Whether it is gone before so much time has passed.
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
