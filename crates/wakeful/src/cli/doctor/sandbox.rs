//! Checks how far this kernel can sandbox commands, and which limits it enforces.

use std::path::Path;

use wakeful_api::Confinement;
use wakeful_ports::tool::ToolOutcome;
use wakeful_tools::UnsandboxedPolicy;
use wakeful_tools::sandbox::controllers_of;

use super::Check;
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::sandbox_probe;

/// Runs a command and reports the sandbox level.
pub(super) async fn look() -> Check {
    match sandbox_probe::run(UnsandboxedPolicy::Refuse).await {
        Ok(done) => judge(&done),
        Err(why) => cannot_check(&why),
    }
}

fn cannot_check(why: &str) -> Check {
    Check::problem(
        "sandbox",
        format!("cannot check the sandbox: {why}"),
        "set TMPDIR to a folder you can write to",
    )
}

/// Which command limits the kernel enforces, for the daemon of a home or, without a daemon, for this
/// process.
pub(super) fn limits(home: Option<&Path>) -> Check {
    let daemon = home.map(|home| RunDir::of(home).found());
    let (pid, whose) = match daemon {
        Some(DaemonPresence::Alive(record)) => (record.pid, "the daemon"),
        Some(DaemonPresence::Absent | DaemonPresence::Stale) | None => (std::process::id(), "this process"),
    };
    let held = controllers_of(pid);
    let means = |controller: &str| match held.contains(&controller) {
        true => "cgroup",
        false => "measured",
    };
    let message = format!(
        "limits on commands of {whose}: processes: {}, memory: {}, written bytes: measured",
        means("pids"),
        means("memory")
    );
    let hint = "for kernel limits, run the daemon with `wakeful service install` on systemd 254 or newer, or in a cgroup that is \
        delegated to it";
    let check = Check::ok("limits", message);
    match held.len() {
        2 => check,
        _ => Check {
            hint: hint.to_owned(),
            ..check
        },
    }
}

fn judge(done: &ToolOutcome) -> Check {
    let hint =
        "use Linux 5.13 or newer with Landlock and seccomp, or accept the risk with --allow-unsandboxed";
    let lines = sandbox_probe::confinement_of(done).map(Confinement::lines);
    let lines = lines.into_iter().flatten();
    let lines: Vec<String> = lines
        .map(|(name, state)| format!("{name}: {}", state.text()))
        .collect();
    let lines = lines.join(", ");
    match (&done.sandbox, &done.code) {
        (Some(level), None) if level.starts_with("partly_enforced") => Check::ok(
            "sandbox",
            format!("commands are partly sandboxed: {level}; {lines}"),
        ),
        (Some(level), None) if level != "not_enforced" => {
            Check::ok("sandbox", format!("commands are sandboxed: {level}; {lines}"))
        }
        (_, Some(code)) => Check::problem(
            "sandbox",
            format!("commands are refused: {code}: {}", done.content),
            hint,
        ),
        (_, None) => Check::problem("sandbox", "commands are not sandboxed", hint),
    }
}
