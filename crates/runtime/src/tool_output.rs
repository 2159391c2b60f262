//! Streams the output of a running command to observers. Nothing here is stored: the result of the action
//! contains the output, so a piece that is dropped or missed is not lost.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use wakeful_core::key::OperationId;
use wakeful_ports::model::Model;
use wakeful_ports::tool::{OutputSink, OutputStream, ToolHost, ToolOutcome};

use crate::redaction::redacted;
use crate::run::ClaimedRun;
use crate::{Engine, ToolOutputDelta};

/// Time between two pieces of an action: short enough to look continuous.
const PIECE_INTERVAL_MS: u64 = 50;

/// Maximum number of bytes of a piece: two screens of text. The middle of more is left out.
const PIECE_BYTES_MAX: usize = 4 * 1024;

const HALF_BYTES: usize = PIECE_BYTES_MAX / 2;

/// Maximum length of a line. Lines are sent whole, because a key that is split between two pieces could not
/// be redacted; a longer line is left out.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// The output of one action that was not sent yet.
#[derive(Debug, Default)]
pub(crate) struct PendingOutput {
    buffers: Mutex<[LineBuffer; 2]>,
    /// Notified when a line is complete.
    grown: Notify,
    /// The number of pieces sent.
    pieces: AtomicU32,
}

impl PendingOutput {
    /// The sink that an action writes to. Keys and secrets are redacted as in its result.
    pub(crate) fn sink<M: Model, T: ToolHost>(self: &Arc<Self>, model: Arc<M>, tools: Arc<T>) -> OutputSink {
        let pending = Arc::clone(self);
        OutputSink::new(move |stream, bytes| {
            let redact = |line: &[u8]| redacted(&*model, &*tools, line);
            pending.buffer(stream, |buffer| buffer.push(bytes, &redact));
            pending.grown.notify_one();
        })
    }

    fn buffer<T>(&self, stream: OutputStream, act: impl FnOnce(&mut LineBuffer) -> T) -> T {
        let mut buffers: MutexGuard<'_, _> = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let [stdout, stderr] = &mut *buffers;
        act(match stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        })
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Performs an action and sends its output on while it runs, and the rest when it has ended.
    pub(crate) async fn with_output(
        &self,
        claimed: &ClaimedRun,
        operation_id: OperationId,
        pending: &PendingOutput,
        performing: impl Future<Output = ToolOutcome>,
    ) -> ToolOutcome {
        let forwarding = async {
            loop {
                pending.grown.notified().await;
                self.send_output(claimed, operation_id, pending);
                self.clock.sleep(PIECE_INTERVAL_MS).await;
            }
        };
        let done = tokio::select! {
            biased;
            done = performing => done,
            never = typed(forwarding) => match never {},
        };
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            pending.buffer(stream, |buffer| buffer.end_line(&|line| self.redacted(line)));
        }
        self.send_output(claimed, operation_id, pending);
        done
    }

    fn send_output(&self, claimed: &ClaimedRun, operation_id: OperationId, pending: &PendingOutput) {
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let Some(text) = pending.buffer(stream, LineBuffer::take) else {
                continue;
            };
            self.observer.on_tool_output(&ToolOutputDelta {
                agent: &claimed.row.agent_id,
                run: claimed.run_key(),
                operation_id,
                stream,
                chunk: pending.pieces.fetch_add(1, Ordering::Relaxed),
                text: &text,
            });
        }
    }
}

/// Names the type of a future that never ends.
async fn typed(forever: impl Future<Output = Infallible>) -> Infallible {
    forever.await
}

/// The unsent output of one stream, within a bound.
#[derive(Debug, Default)]
struct LineBuffer {
    /// The line that is not complete.
    line: Vec<u8>,
    /// Whether the rest of the line is left out because it is too long.
    is_cut: bool,
    /// Whether the last byte was a carriage return, whose line feed is part of the same line end.
    ends_with_return: bool,
    head: String,
    tail: String,
    left_out_bytes: u64,
}

/// Returns the bytes without keys; none if they contain no key.
type Redact<'a> = dyn Fn(&[u8]) -> Option<Vec<u8>> + 'a;

impl LineBuffer {
    /// Adds output. A carriage return ends a line, so that progress displays are readable.
    fn push(&mut self, bytes: &[u8], redact: &Redact<'_>) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                Some(_) | None => (piece, None),
            };
            let closes_earlier_line = self.ends_with_return && text.is_empty() && end == Some(b'\n');
            self.ends_with_return = end == Some(b'\r');
            if closes_earlier_line {
                continue;
            }
            self.extend_line(text);
            if end.is_some() {
                self.line.push(b'\n');
                self.end_line(redact);
            }
        }
    }

    fn extend_line(&mut self, text: &[u8]) {
        if self.is_cut || self.line.len() + text.len() > LINE_BYTES_MAX {
            self.leave_out(self.line.len() + text.len());
            self.line.clear();
            self.is_cut = true;
        } else {
            self.line.extend_from_slice(text);
        }
    }

    /// Completes the line, whether or not it has ended.
    fn end_line(&mut self, redact: &Redact<'_>) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_cut) {
            return;
        }
        let line = redact(&line).unwrap_or(line);
        let text = String::from_utf8_lossy(&line);
        if self.tail.is_empty() && self.head.len() + text.len() <= HALF_BYTES {
            self.head.push_str(&text);
            return;
        }
        self.tail.push_str(&text);
        let surplus = self.tail.len().saturating_sub(HALF_BYTES);
        let cut = (surplus..=self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
        let cut = cut.unwrap_or_default();
        self.tail.drain(..cut);
        self.leave_out(cut);
    }

    fn leave_out(&mut self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.left_out_bytes = self.left_out_bytes.saturating_add(bytes);
    }

    /// Takes the complete lines, with a mark where something was left out; none if there is nothing.
    fn take(&mut self) -> Option<String> {
        let mut text = std::mem::take(&mut self.head);
        let left_out = std::mem::take(&mut self.left_out_bytes);
        if left_out > 0 {
            text.push_str(&format!("[{left_out} bytes are not shown here]\n"));
        }
        text.push_str(&std::mem::take(&mut self.tail));
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn after(pieces: &[&str]) -> LineBuffer {
        let mut buffer = LineBuffer::default();
        for piece in pieces {
            buffer.push(piece.as_bytes(), &none);
        }
        buffer
    }

    #[test]
    fn only_complete_lines_are_sent_until_the_end() {
        let mut buffer = after(&["one\ntw", "o\r", "\nthr"]);
        assert_eq!(buffer.take().as_deref(), Some("one\ntwo\n"));
        assert_eq!(buffer.take(), None);
        buffer.end_line(&none);
        assert_eq!(buffer.take().as_deref(), Some("thr"));
    }

    #[test]
    fn a_key_that_arrives_in_two_pieces_is_redacted() {
        let redact = |line: &[u8]| {
            let text = String::from_utf8_lossy(line);
            text.contains("sk-secret")
                .then(|| text.replace("sk-secret", "[key]").into_bytes())
        };
        let mut buffer = LineBuffer::default();
        buffer.push(b"a sk-se", &redact);
        assert_eq!(buffer.take(), None);
        buffer.push(b"cret b\n", &redact);
        assert_eq!(buffer.take().as_deref(), Some("a [key] b\n"));
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end() {
        let lines: Vec<String> = (0..100_000).map(|number| format!("line {number}\n")).collect();
        let all = lines.concat();
        let mut buffer = after(&[&all]);
        let piece = buffer.take().expect("a piece");
        assert!(piece.len() <= PIECE_BYTES_MAX + 64, "{}", piece.len());
        assert!(piece.starts_with("line 0\n") && piece.ends_with("line 99999\n"));
        let kept = piece.lines().filter(|line| !line.starts_with('[')).count();
        assert!(
            piece.contains(" bytes are not shown here]\n") && kept > 100,
            "{kept}"
        );
    }

    #[test]
    fn a_line_without_end_is_bounded_and_left_out() {
        let long = "x".repeat(LINE_BYTES_MAX);
        let mut buffer = after(&[&long, &long, "\nnext\n"]);
        let mark = format!("[{} bytes are not shown here]\n", 2 * LINE_BYTES_MAX);
        assert_eq!(buffer.take(), Some(format!("next\n{mark}")));
        assert!(buffer.line.len() <= LINE_BYTES_MAX);
    }
}
