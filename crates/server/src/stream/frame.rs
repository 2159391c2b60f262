//! Encodes the frames of a stream.

use axum::body::Bytes;
use serde::Serialize;
use serde_json::json;
use wakeful_api::{Delta, ToolOutput, ToolOutputStream};
use wakeful_runtime::{OutputStream, TextDelta, ToolOutputDelta};

/// A keep-alive comment.
pub(super) const ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// The first frame: the retry delay and the start position.
pub(super) fn opening(id: &str, place: &impl Serialize) -> Bytes {
    let mut text = String::from("retry: 1000\n");
    put(&mut text, Some(id), "cursor", place);
    text.into()
}

/// The current position, for a client that received events without one.
pub(super) fn place(id: &str, place: &impl Serialize) -> Bytes {
    named("cursor", id, place)
}

/// The last frame: why the stream ends.
pub(super) fn dropped(id: &str, farewell: &impl Serialize) -> Bytes {
    named("dropped", id, farewell)
}

/// An event as JSON, with the position after it if given.
pub(super) fn event(id: Option<&str>, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + id.map_or(0, str::len) + 32);
    put_lines(&mut text, id, "event", data);
    text.into()
}

/// A text delta of a model's reply.
pub(super) fn delta(spoken: TextDelta<'_>) -> Bytes {
    let delta = Delta {
        agent_id: spoken.agent.to_string(),
        run_key: spoken.run.to_string(),
        attempt: spoken.attempt,
        chunk: spoken.chunk,
        text: spoken.text.to_owned(),
    };
    let mut text = String::new();
    put(&mut text, None, "delta", &delta);
    text.into()
}

/// A piece of the output of a running tool call.
pub(super) fn tool_output(printed: &ToolOutputDelta<'_>) -> Bytes {
    let output = ToolOutput {
        agent_id: printed.agent.to_string(),
        run_key: printed.run.to_string(),
        operation_id: printed.operation_id.to_string(),
        stream: match printed.stream {
            OutputStream::Stdout => ToolOutputStream::Stdout,
            OutputStream::Stderr => ToolOutputStream::Stderr,
        },
        chunk: printed.chunk,
        text: printed.text.to_owned(),
    };
    let mut text = String::new();
    put(&mut text, None, "tool_output", &output);
    text.into()
}

/// Serializes a value on one line. JSON needs no line breaks, and those inside strings are escaped.
pub(super) fn one_line(value: &impl Serialize) -> String {
    // The types of this crate always serialize.
    serde_json::to_string(value).unwrap_or_else(|_| json!({}).to_string())
}

fn named(name: &str, id: &str, data: &impl Serialize) -> Bytes {
    let mut text = String::new();
    put(&mut text, Some(id), name, data);
    text.into()
}

fn put(text: &mut String, id: Option<&str>, name: &str, data: &impl Serialize) {
    put_lines(text, id, name, &one_line(data));
}

fn put_lines(text: &mut String, id: Option<&str>, name: &str, data: &str) {
    if let Some(id) = id {
        text.extend(["id: ", id, "\n"]);
    }
    text.extend(["event: ", name, "\ndata: ", data, "\n\n"]);
}
