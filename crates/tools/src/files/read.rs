//! `ReadFile`: lines of a text file, or an image.

use std::io::{BufRead as _, BufReader, Read as _};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::attachment::media_type;
use wakeful_core::conversation::{ATTACHMENT_BYTES_MAX, Attachment, ToolSpec};
use wakeful_core::step::ToolError;

use super::fault::{fault, named, unopened};
use super::location::Location;
use super::text::{BINARY_CHECK_BYTES, is_binary};
use super::{FileResult, beneath};
use crate::output::json_cost;
use crate::schema;

pub(crate) const READ_FILE: &str = "ReadFile";

/// Lines that one call returns unless it asks for another number.
const LINES_DEFAULT: u64 = 2_000;

/// Most lines of one call.
const LINES_MAX: u64 = 100_000;

/// Bytes of a file that one call reads to find the requested lines. Text files are far smaller, and sparse
/// files have no end.
const SCANNED_BYTES_MAX: u64 = 256 * 1024 * 1024;

const HINT: &str = "the arguments are path, offset, limit and max_output_tokens; only path is required";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    /// File, relative to the workspace.
    pub(super) path: String,
    /// First line, from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines. Default 2000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Default 8000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(super) max_output_tokens: Option<u32>,
}

pub(crate) fn spec() -> ToolSpec {
    schema::spec::<ReadFile>(
        READ_FILE,
        "Read lines of a text file, or see an image (PNG, JPEG, GIF, WebP). Prefer ranges to whole files; next_offset says where to \
         continue.",
    )
}

impl ReadFile {
    pub(super) fn parse(input: &Value) -> Result<Self, ToolError> {
        let arguments: Self = schema::read(input, HINT)?;
        for (field, value) in [("offset", arguments.offset), ("limit", arguments.limit)] {
            if value == Some(0) {
                return Err(schema::invalid(
                    Some(field),
                    &format!("{field} is 0"),
                    "lines are counted from 1",
                ));
            }
        }
        Ok(arguments)
    }

    /// The requested lines as the result of the call, within this size; or the image that the file is.
    pub(super) fn read(&self, location: &Location, chars_max: usize) -> Result<FileResult, ToolError> {
        let failed = |error: &beneath::OpenError| unopened("path", location, error);
        let root = beneath::open_root(&location.root).map_err(|error| failed(&error))?;
        let (file, _) = beneath::open_file(&root, &location.relative).map_err(|error| failed(&error))?;
        let mut reader = BufReader::with_capacity(64 * 1024, file.take(SCANNED_BYTES_MAX));
        let unread = |error| failed(&beneath::OpenError::Io(error));
        let head = reader.fill_buf().map_err(unread)?;
        if let Some(kind) = media_type(head).filter(|kind| kind.starts_with("image/")) {
            return read_image(location, kind, reader).map_err(|error| named("path", error));
        }
        refuse_binary(location, head)?;
        let mut lines = Lines {
            first: self.offset.unwrap_or(1),
            count_max: self.limit.unwrap_or(LINES_DEFAULT).min(LINES_MAX),
            chars_max,
            ..Lines::default()
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line that exceeds what the result may hold is cut, so memory stays bounded.
            let kept_max = (chars_max as u64).saturating_mul(4).saturating_add(4);
            let count = (&mut reader)
                .take(kept_max)
                .read_until(b'\n', &mut line)
                .map_err(unread)?;
            if count == 0 {
                lines.is_end = true;
                break;
            }
            let is_cut = line.last() != Some(&b'\n') && count as u64 == kept_max;
            if is_cut {
                reader.skip_until(b'\n').map_err(unread)?;
            }
            if !lines.push(&line) {
                break;
            }
        }
        lines.into_result(location).map(FileResult::from)
    }
}

/// Reads an image whole, because a part of one cannot be shown.
fn read_image(location: &Location, kind: &str, file: impl std::io::Read) -> Result<FileResult, ToolError> {
    let shown = &location.shown;
    let mut bytes = Vec::new();
    let limit = ATTACHMENT_BYTES_MAX as u64;
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| fault("file_error", &format!("{shown}: {error}"), "try again"))?;
    if bytes.len() > ATTACHMENT_BYTES_MAX {
        let message = format!("{shown} is {kind} with more than {ATTACHMENT_BYTES_MAX} bytes");
        return Err(fault(
            "file_too_large",
            &message,
            "make a smaller copy with ExecCommand",
        ));
    }
    // The name of a path in the workspace may contain what an attachment's name may not.
    let name = location
        .relative
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| if c.is_control() { '_' } else { c })
        .collect();
    let image = Attachment::of_bytes(&name, &bytes)
        .map_err(|error| fault("binary_file", &error.to_string(), "inspect it with ExecCommand"))?;
    let result =
        json!({"ok": true, "path": shown, "image": {"media_type": image.media_type, "bytes": bytes.len()}});
    Ok(FileResult {
        result,
        images: vec![image],
        changed: Vec::new(),
    })
}

fn refuse_binary(location: &Location, head: &[u8]) -> Result<(), ToolError> {
    let head = head.get(..BINARY_CHECK_BYTES.min(head.len())).unwrap_or_default();
    let shown = &location.shown;
    let (kind, message, hint) = match media_type(head) {
        Some(kind) if kind != "text/plain" => (
            "binary_file",
            format!("{shown} is {kind}, which is neither text nor an image"),
            "ask the person to attach it to a message, or inspect it with ExecCommand",
        ),
        _ if is_binary(head) => (
            "binary_file",
            format!("{shown} is a binary file"),
            "inspect it with ExecCommand, for example file, xxd or strings",
        ),
        _ => return Ok(()),
    };
    Err(named("path", fault(kind, &message, hint)))
}

/// The lines of a result while they are collected.
#[derive(Debug, Default)]
struct Lines {
    first: u64,
    count_max: u64,
    chars_max: usize,
    /// Lines seen, including those before the first.
    seen: u64,
    taken: u64,
    text: String,
    chars: usize,
    /// Whether a line was cut.
    is_cut: bool,
    is_end: bool,
    is_lossy: bool,
    has_crlf: bool,
}

impl Lines {
    /// Adds the next line; false if there is room for no more.
    fn push(&mut self, line: &[u8]) -> bool {
        if self.seen + 1 < self.first {
            self.seen += 1;
            return true;
        }
        if self.taken == self.count_max {
            return false;
        }
        let text = String::from_utf8_lossy(line);
        self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        let mut text: &str = if self.seen == 0 {
            text.trim_start_matches('\u{feff}')
        } else {
            &text
        };
        let shorter;
        if let Some(start) = text.strip_suffix("\r\n") {
            self.has_crlf = true;
            shorter = format!("{start}\n");
            text = &shorter;
        }
        let cost: usize = text.chars().map(json_cost).sum();
        if self.chars + cost <= self.chars_max {
            self.chars += cost;
            self.text.push_str(text);
            self.seen += 1;
            self.taken += 1;
            return true;
        }
        // At least a part of the first line is shown, so that the next offset advances.
        if self.taken == 0 {
            let mut room = self.chars_max;
            let part = text.chars().take_while(|c| {
                let fits = json_cost(*c) <= room;
                room = room.saturating_sub(json_cost(*c));
                fits
            });
            self.text.extend(part);
            self.is_cut = true;
            self.seen += 1;
            self.taken = 1;
        }
        false
    }

    fn into_result(self, location: &Location) -> Result<Value, ToolError> {
        if self.taken == 0 && self.seen > 0 {
            let message = format!(
                "{} has {} line{}, and offset is {}",
                location.shown,
                self.seen,
                if self.seen == 1 { "" } else { "s" },
                self.first
            );
            return Err(named(
                "offset",
                fault("out_of_range", &message, "use a smaller offset"),
            ));
        }
        let last = self.first + self.taken.saturating_sub(1);
        let mut result = json!({"ok": true, "path": location.shown, "content": self.text});
        let Some(members) = result.as_object_mut() else {
            return Ok(result);
        };
        if !self.is_end || self.first > 1 {
            members.insert("lines".to_owned(), json!(format!("{}-{last}", self.first)));
        }
        if !self.is_end {
            members.insert("next_offset".to_owned(), json!(last + 1));
        }
        let notes = [
            (
                self.is_cut,
                "the line is longer than the result may be and was cut",
            ),
            (self.is_lossy, "bytes that are not UTF-8 were replaced"),
            (self.has_crlf, "lines end with CRLF; edits keep that"),
        ];
        let notes: Vec<&str> = notes
            .into_iter()
            .filter_map(|(is, note)| is.then_some(note))
            .collect();
        if !notes.is_empty() {
            members.insert("notes".to_owned(), json!(notes));
        }
        Ok(result)
    }
}
