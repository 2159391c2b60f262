//! Records what clients did and which responses they received, line by line, for the checker.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// The file of all records in the order of events.
pub(crate) struct History {
    file: Mutex<BufWriter<File>>,
    began: Instant,
}

impl History {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self {
            file: Mutex::new(BufWriter::new(file)),
            began: Instant::now(),
        })
    }

    /// Microseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Writes one line.
    pub(crate) fn put(&self, line: &Value) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A write error is reported when the history is closed.
        let _ = writeln!(file, "{line}");
    }

    /// Writes a note for readers.
    pub(crate) fn note(&self, what: &Value) {
        self.put(&json!({"event": "note", "at": self.now(), "what": what}));
    }

    /// Flushes the file, so that the checker can read all of it.
    pub(crate) fn close(&self) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.flush().context("writing the history")
    }
}

/// A short digest of a text (FNV-1a).
pub(crate) fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The status of a call, with the reason of a failed one.
fn status(run: &Value, call: &Value) -> String {
    let status = call["status"].as_str().unwrap_or_default();
    if status != "failed" {
        return status.to_owned();
    }
    let mut steps = run["steps"].as_array().into_iter().flatten();
    let step = steps.find(|step| step["operation_id"] == call["operation_id"]);
    let reason = step.and_then(|step| step["reason"].as_str()).unwrap_or_default();
    format!("failed:{reason}")
}

/// Nanoseconds of the wall clock, as in the effect file.
pub(crate) fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The parts of a response about a run that the checker needs.
pub(crate) fn told(run: &Value) -> Value {
    let calls = run["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls: Vec<String> = calls.iter().map(|call| status(run, call)).collect();
    let text = run["cause"]["text"].as_str().unwrap_or_default();
    json!({"outcome": run["outcome"], "calls": calls, "text": digest(text)})
}
