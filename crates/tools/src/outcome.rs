//! What a command leaves: its result as the model reads it, or the fault that kept it from running.

use std::time::Duration;

use serde::Serialize;
use wakeful_core::blob::{Blob, BlobHash};
use wakeful_core::step::Fault;
use wakeful_ports::tool::{Done, NOT_BEGUN};

use crate::arguments::TOOL;
use crate::output::{Kept, previews};
use crate::sandbox::wire::End;

/// A command that ran.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) end: End,
    /// The isolation that was really enforced.
    pub(crate) level: String,
    pub(crate) stdout: Kept,
    pub(crate) stderr: Kept,
    pub(crate) duration: Duration,
}

/// Why a command was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ended by itself.
    Completed,
    /// Its time was over.
    TimedOut,
    /// Somebody said stop.
    Stopped,
    /// Somebody outside killed the processes that watched over it, and it with them.
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
    duration_ms: u64,
}

#[derive(Serialize)]
struct Artifact {
    blob: BlobHash,
    bytes: u64,
    total_bytes: u64,
    stream: &'static str,
}

impl Ran {
    /// The result, with previews that share `tokens`, and the whole of what the previews do not show exactly.
    pub(crate) fn done(self, tokens: u32) -> Done {
        let total = [self.stdout.total_bytes(), self.stderr.total_bytes()];
        let kept = [self.stdout.into_bytes(), self.stderr.into_bytes()];
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
            End::Exit(code) => (code, None),
            End::Signal(signal) => (128 + signal, Some(signal)),
        };
        let content = Content {
            disposition: self.ending.disposition(),
            exit_status,
            signal,
            timed_out: (self.ending == Ending::TimedOut).then_some(true),
            stopped: (self.ending == Ending::Stopped).then_some(true),
            stdout_preview: &out_preview.text,
            stderr_preview: &err_preview.text,
            truncated: out_preview.cut || err_preview.cut,
            artifacts,
            stdout_artifact,
            stderr_artifact,
            sandbox: &self.level,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
        };
        match serde_json::to_string(&content) {
            Ok(content) => Done {
                content,
                code: self.ending.code(),
                sandbox: Some(self.level),
                blobs,
                again: None,
            },
            Err(e) => refused(&Fault::new(
                "internal",
                &format!("the result has no JSON: {e}"),
                "",
            )),
        }
    }
}

impl Ending {
    const fn disposition(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::Stopped => "stopped",
            Self::Killed => "killed",
        }
    }

    /// A command that ended by itself did what was asked, whatever its status: the model reads that.
    fn code(self) -> Option<String> {
        match self {
            Self::Completed => None,
            Self::TimedOut => Some("timed_out".to_owned()),
            Self::Stopped => Some("cancelled".to_owned()),
            Self::Killed => Some("killed".to_owned()),
        }
    }

    /// What it was if nobody saw how the shell ended.
    pub(crate) const fn or_killed(self) -> Self {
        match self {
            Self::Completed | Self::Killed => Self::Killed,
            Self::TimedOut => Self::TimedOut,
            Self::Stopped => Self::Stopped,
        }
    }
}

/// The result of a command that did not run.
pub(crate) fn refused(fault: &Fault) -> Done {
    Done {
        content: fault.receipt(TOOL),
        code: Some(fault.kind.clone()),
        sandbox: None,
        blobs: Vec::new(),
        again: None,
    }
}

/// The command could not be started.
pub(crate) fn spawn_failed(message: &str, hint: &str) -> Fault {
    Fault::new("spawn_failed", message, hint)
}

/// The guidance files of the workspace cannot be kept from the command.
pub(crate) fn unprotected(error: &std::io::Error) -> Fault {
    Fault::new(
        "guidance_unprotected",
        &format!("the guidance files of the workspace cannot be protected: {error}"),
        "a person has to make room in the home or make its folder `guidance` writable",
    )
}

/// The same result with what was found out about it afterwards.
pub(crate) fn with_findings(done: Done, findings: Vec<String>) -> Done {
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
    Done {
        content: content.to_string(),
        ..done
    }
}

/// The kernel cannot enforce the sandbox.
pub(crate) fn sandbox_unavailable(lacking: &str) -> Fault {
    Fault::new(
        "sandbox_unavailable",
        &format!("this kernel offers no {lacking}, and a command does not run without its sandbox"),
        "a person can start Wakeful with --allow-unsandboxed to run commands without isolation",
    )
}

/// Somebody said stop before the command began.
pub(crate) fn cancelled() -> Fault {
    Fault::new("cancelled", "the command was stopped before it began", "")
}

/// The command got no place.
pub(crate) fn not_begun() -> Fault {
    Fault::new(
        NOT_BEGUN,
        "the command had no place when nothing might begin any more",
        "",
    )
}
