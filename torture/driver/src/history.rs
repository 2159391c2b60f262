//! What clients did and were told, line by line, for the judge.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// The file in which everything is put down in the order in which it happened.
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

    /// Microseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Puts one line down.
    pub(crate) fn put(&self, line: &Value) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A history that cannot be written is found when it is closed.
        let _ = writeln!(file, "{line}");
    }

    /// Something for people.
    pub(crate) fn note(&self, what: &Value) {
        self.put(&json!({"event": "note", "at": self.now(), "what": what}));
    }

    /// Makes sure that the judge can read all of it.
    pub(crate) fn close(&self) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.flush().context("writing the history")
    }
}

/// A short name for a text: equal texts have equal names, and other texts hardly ever (FNV-1a).
pub(crate) fn digest(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// How a call stands, and of one that failed also why.
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

/// Nanoseconds by the clock on the wall, as the world file has them.
pub(crate) fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// What an answer about a run says, as far as the judge wants to know.
pub(crate) fn told(run: &Value) -> Value {
    let calls = run["tool_calls"].as_array().cloned().unwrap_or_default();
    let calls: Vec<String> = calls.iter().map(|call| status(run, call)).collect();
    let text = run["cause"]["text"].as_str().unwrap_or_default();
    json!({"outcome": run["outcome"], "calls": calls, "text": digest(text)})
}
