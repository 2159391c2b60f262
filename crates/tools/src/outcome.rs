//! The outcome of a command: its result as the model reads it, or the error that kept it from running.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::redact::Redactor;
use wakeful_core::step::ToolError;
use wakeful_core::tool::Connection;
use wakeful_ports::tool::{NOT_BEGUN, ToolOutcome};

use crate::arguments::TOOL;
use crate::network::call::NetworkReport;
use crate::output::{BoundedOutput, previews};
use crate::sandbox::isolation::Isolation;
use crate::sandbox::limits::{Limit, LimitExceeded, NoRoom};
use crate::sandbox::protocol::ShellEnd;

/// The outcome of a command that ran.
#[derive(Debug)]
pub(crate) struct CommandOutcome {
    pub(crate) ending: EndReason,
    pub(crate) end: ShellEnd,
    /// The isolation that was actually enforced.
    pub(crate) isolation: Isolation,
    /// Permissions that were restored: of the home's files, and of set-id files in the workspace.
    pub(crate) repaired: Vec<String>,
    /// Connections to hosts.
    pub(crate) network: NetworkReport,
    pub(crate) stdout: BoundedOutput,
    pub(crate) stderr: BoundedOutput,
    pub(crate) duration: Duration,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// It exited by itself.
    Completed,
    /// Its time limit passed.
    TimedOut,
    /// A stop was requested.
    Stopped,
    /// It exceeded a resource limit.
    Exceeded(LimitExceeded),
    /// A process outside killed the supervisor, and the command with it.
    Killed,
}

#[derive(Serialize)]
struct Content<'a> {
    disposition: &'static str,
    exit_status: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    stdout_preview: &'a str,
    stderr_preview: &'a str,
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_artifact: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_artifact: Option<usize>,
    sandbox: &'a str,
    confinement: BTreeMap<&'static str, &'static str>,
    /// Omitted when everything is enforced, because the level already shows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<BTreeMap<&'static str, bool>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    permissions_repaired: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections: Vec<Connection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections_omitted: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<String>,
    duration_ms: u64,
}

#[derive(Serialize)]
struct Artifact {
    blob: BlobHash,
    bytes: u64,
    total_bytes: u64,
    stream: &'static str,
}

impl CommandOutcome {
    /// The result, with previews that share `tokens`, and the full output where a preview does not show it
    /// exactly.
    pub(crate) fn done(self, tokens: u32, redactor: &Redactor) -> ToolOutcome {
        let total = [self.stdout.total_bytes(), self.stderr.total_bytes()];
        let kept = [self.stdout, self.stderr].map(|stream| whole_output(stream, redactor));
        let [out, err] = &kept;
        let [out_preview, err_preview] = previews([(out, total[0]), (err, total[1])], tokens);
        let (mut artifacts, mut blobs) = (Vec::new(), Vec::new());
        let mut places = [None, None];
        let streams = [("stdout", &out_preview), ("stderr", &err_preview)];
        for (((bytes, total_bytes), (stream, preview)), place) in
            kept.into_iter().zip(total).zip(streams).zip(&mut places)
        {
            if preview.cut || preview.lossy {
                *place = Some(artifacts.len());
                let size = bytes.len() as u64;
                let blob = Blob::new(bytes);
                artifacts.push(Artifact {
                    blob: blob.hash(),
                    bytes: size,
                    total_bytes,
                    stream,
                });
                blobs.push(blob);
            }
        }
        let [stdout_artifact, stderr_artifact] = places;
        let (exit_status, signal) = match self.end {
            ShellEnd::Exit(code) => (code, None),
            ShellEnd::Signal(signal) => (128 + signal, Some(signal)),
        };
        let level = self.isolation.level();
        let content = Content {
            disposition: self.ending.disposition(),
            exit_status,
            signal,
            timed_out: (self.ending == EndReason::TimedOut).then_some(true),
            stopped: (self.ending == EndReason::Stopped).then_some(true),
            limit: self.ending.limit(),
            stdout_preview: &out_preview.text,
            stderr_preview: &err_preview.text,
            truncated: out_preview.cut || err_preview.cut,
            artifacts,
            stdout_artifact,
            stderr_artifact,
            sandbox: &level,
            confinement: self.isolation.confinement(),
            isolation: (!self.isolation.is_whole()).then(|| self.isolation.lines()),
            permissions_repaired: self.repaired,
            connections: self.network.connections,
            connections_omitted: Some(self.network.omitted).filter(|omitted| *omitted > 0),
            findings: self.network.findings,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        };
        match serde_json::to_string(&content) {
            Ok(content) => ToolOutcome {
                content,
                code: self.ending.code(),
                exit_status: Some(exit_status),
                sandbox: Some(level),
                blobs,
                images: Vec::new(),
                changed: Vec::new(),
                retry_after: None,
            },
            Err(e) => refused(&ToolError::new(
                "internal",
                &format!("the result cannot be written as JSON: {e}"),
                "",
            )),
        }
    }
}

/// The kept output. Encoded secrets that are broken into lines are found only in all of it.
fn whole_output(stream: BoundedOutput, redactor: &Redactor) -> Vec<u8> {
    let bytes = stream.into_bytes();
    redactor.bytes(&bytes).unwrap_or(bytes)
}

impl EndReason {
    const fn disposition(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::Exceeded(exceeded) => exceeded.code(),
            Self::Killed => "killed",
        }
    }

    /// A command that exited by itself has no error code, even with a non-zero status: the model reads the
    /// status.
    pub(crate) fn code(self) -> Option<String> {
        match self {
            Self::Completed => None,
            Self::TimedOut => Some("timed_out".to_owned()),
            Self::Stopped => Some("cancelled".to_owned()),
            Self::Exceeded(exceeded) => Some(exceeded.code().to_owned()),
            Self::Killed => Some("killed".to_owned()),
        }
    }

    /// The limit that ended the command, as a message.
    pub(crate) fn limit(self) -> Option<String> {
        match self {
            Self::Exceeded(exceeded) => Some(exceeded.message()),
            Self::Completed | Self::TimedOut | Self::Stopped | Self::Killed => None,
        }
    }

    /// The reason when the shell's exit was not observed.
    pub(crate) const fn or_killed(self) -> Self {
        match self {
            Self::Completed | Self::Killed => Self::Killed,
            Self::TimedOut | Self::Stopped | Self::Exceeded(_) => self,
        }
    }
}

impl LimitExceeded {
    /// The stable error code.
    pub(crate) const fn code(self) -> &'static str {
        match self.limit {
            Limit::Memory | Limit::MachineMemory => "memory_exceeded",
            Limit::Processes | Limit::Threads => "too_many_processes",
            Limit::Written | Limit::FreeSpace | Limit::FreeFiles => "disk_write_exceeded",
        }
    }

    /// The message for the model and for people.
    pub(crate) fn message(self) -> String {
        let mib = |bytes: u64| bytes >> 20;
        let (found, allowed) = (self.found, self.allowed);
        let what = match self.limit {
            Limit::Memory => format!(
                "the command used {} MiB of memory; the limit is {} MiB (tools.memory_mib_max)",
                mib(found),
                mib(allowed)
            ),
            Limit::MachineMemory => format!(
                "the machine had only {} MiB of memory left while the command ran; {} MiB must stay free",
                mib(found),
                mib(allowed)
            ),
            Limit::Processes => {
                format!("the command had more than {allowed} processes (tools.processes_max)")
            }
            Limit::Threads => format!("the command had more than {allowed} threads"),
            Limit::Written => format!(
                "the command wrote {} MiB; the limit is {} MiB (tools.disk_write_mib_max, tools.disk_write_mib_per_day)",
                mib(found),
                mib(allowed)
            ),
            Limit::FreeFiles => format!(
                "only {found} more files could be created on the disk of Wakeful's home while the command ran; {allowed} must stay \
                    available"
            ),
            Limit::FreeSpace => format!(
                "the disk of Wakeful's home had only {} MiB left while the command ran; {} MiB must stay free",
                mib(found),
                mib(allowed)
            ),
        };
        format!("command stopped: {what}")
    }

    /// The error for a command that had not started.
    pub(crate) fn fault(self) -> ToolError {
        ToolError::new(
            self.code(),
            &self.message(),
            "use less of this resource, or ask a person to raise the limit",
        )
    }
}

/// The outcome of a command that did not run.
pub(crate) fn refused(fault: &ToolError) -> ToolOutcome {
    failed(TOOL, fault)
}

/// The outcome of a call that failed.
pub(crate) fn failed(tool: &str, fault: &ToolError) -> ToolOutcome {
    ToolOutcome {
        code: Some(fault.kind.clone()),
        ..succeeded(fault.receipt(tool))
    }
}

/// The outcome of a call that succeeded, with its result as JSON.
pub(crate) const fn succeeded(content: String) -> ToolOutcome {
    ToolOutcome {
        content,
        code: None,
        sandbox: None,
        exit_status: None,
        blobs: Vec::new(),
        images: Vec::new(),
        changed: Vec::new(),
        retry_after: None,
    }
}

/// The error when the disk of the home is too full to start a command.
pub(crate) fn no_room(lack: NoRoom) -> ToolError {
    let message = format!(
        "command refused: the disk of Wakeful's home has {} MiB left; a command starts only with {} MiB free",
        lack.left >> 20,
        lack.needed >> 20
    );
    let hint = "a person must free space on that disk, or move the home to a larger one";
    ToolError::new("disk_write_exceeded", &message, hint)
}

pub(crate) fn spawn_failed(message: &str, hint: &str) -> ToolError {
    ToolError::new("spawn_failed", message, hint)
}

/// The error when the guidance files of the workspace cannot be protected from the command.
pub(crate) fn unprotected(error: &std::io::Error) -> ToolError {
    ToolError::new(
        "guidance_unprotected",
        &format!("the guidance files of the workspace cannot be protected: {error}"),
        "a person must free space in the home or make its folder `guidance` writable",
    )
}

/// Adds findings that were made after the command to its result.
pub(crate) fn with_findings(done: ToolOutcome, findings: Vec<String>) -> ToolOutcome {
    if findings.is_empty() {
        return done;
    }
    let mut content: serde_json::Value = match serde_json::from_str(&done.content) {
        Ok(content) => content,
        Err(_) => return done,
    };
    if let Some(members) = content.as_object_mut() {
        let known = members.remove("findings");
        let known = known
            .and_then(|known| known.as_array().cloned())
            .unwrap_or_default();
        let found = findings.into_iter().map(serde_json::Value::from);
        members.insert("findings".to_owned(), known.into_iter().chain(found).collect());
    }
    ToolOutcome {
        content: content.to_string(),
        ..done
    }
}

pub(crate) fn sandbox_unavailable(lacking: &str) -> ToolError {
    ToolError::new(
        "sandbox_unavailable",
        &format!("this kernel does not support {lacking}, and commands do not run without the sandbox"),
        "a person can start Wakeful with --allow-unsandboxed to run commands without isolation",
    )
}

/// The error when a stop was requested before the command started.
pub(crate) fn cancelled() -> ToolError {
    ToolError::new("cancelled", "the command was stopped before it started", "")
}

/// The error when the command got no permit to start.
pub(crate) fn not_begun() -> ToolError {
    ToolError::new(
        NOT_BEGUN,
        "the command was still waiting to start when new commands were no longer allowed",
        "",
    )
}
