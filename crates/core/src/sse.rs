//! A bounded parser of server-sent events, which providers and the API use for streaming.
//!
//! Lines end with `\n` or `\r\n`; a bare `\r`, which the standard allows and no known server sends, is part
//! of its line.

/// Longest line, and most data of one frame, in bytes.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// The event type; empty if the stream gives none.
    pub event: String,
    /// The position from which to resume after it, if the stream gives one.
    pub id: Option<String>,
    /// The payload; none for a frame that only advances the position.
    pub data: Option<String>,
}

impl Frame {
    /// Returns the payload, or an empty string.
    #[must_use]
    pub fn text(&self) -> &str {
        self.data.as_deref().unwrap_or_default()
    }
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadStream {
    /// A line exceeds the limit.
    #[error("a line of the stream has more than {FRAME_BYTES_MAX} bytes")]
    LineTooLong,
    /// A frame exceeds the limit.
    #[error("an event has more than {FRAME_BYTES_MAX} bytes")]
    FrameTooLong,
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Assembles frames from chunks of any size.
#[derive(Debug, Default)]
pub struct Frames {
    line: Vec<u8>,
    next: Frame,
}

impl Frames {
    /// Takes the next chunk and returns the frames that it completes. Comments and unknown fields are skipped.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<Vec<Frame>, BadStream> {
        let mut frames = Vec::new();
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (text, is_end) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                Some(_) | None => (piece, false),
            };
            if self.line.len() + text.len() > FRAME_BYTES_MAX {
                return Err(BadStream::LineTooLong);
            }
            self.line.extend_from_slice(text);
            if is_end {
                let line = std::mem::take(&mut self.line);
                frames.extend(self.end_line(&line)?);
            }
        }
        Ok(frames)
    }

    /// Processes a complete line; an empty line ends a frame.
    fn end_line(&mut self, line: &[u8]) -> Result<Option<Frame>, BadStream> {
        let line = std::str::from_utf8(line).map_err(|_| BadStream::NotUtf8)?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            let frame = std::mem::take(&mut self.next);
            return Ok((frame.data.is_some() || frame.id.is_some()).then_some(frame));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.next.data) {
            ("event", _) => value.clone_into(&mut self.next.event),
            ("id", _) => self.next.id = Some(value.to_owned()),
            ("data", data @ None) => *data = Some(value.to_owned()),
            ("data", Some(data)) if data.len() + value.len() < FRAME_BYTES_MAX => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", Some(_)) => return Err(BadStream::FrameTooLong),
            (_, _) => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "\u{feff}event: a\r\ndata: {\"x\":\"é\"}\r\n\r\n: a comment\nretry: 10\n\nid: 7\n\nevent: b\nid: 8\ndata:one\n\
                          data: two\n\n\n\ndata: cut";

    fn read(chunks: &[&[u8]]) -> Result<Vec<Frame>, BadStream> {
        let (mut frames, mut all) = (Frames::default(), Vec::new());
        for chunk in chunks {
            all.extend(frames.feed(chunk)?);
        }
        Ok(all)
    }

    #[test]
    fn frames_do_not_depend_on_how_the_bytes_are_split() {
        let frame = |event: &str, id: Option<&str>, data: Option<&str>| Frame {
            event: event.into(),
            id: id.map(Into::into),
            data: data.map(Into::into),
        };
        let expected = Ok(vec![
            frame("a", None, Some("{\"x\":\"é\"}")),
            frame("", Some("7"), None),
            frame("b", Some("8"), Some("one\ntwo")),
        ]);
        assert_eq!(read(&[STREAM.as_bytes()]), expected);
        for cut in 1..STREAM.len() {
            let (first, second) = STREAM.as_bytes().split_at(cut);
            assert_eq!(read(&[first, second]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_endless_line_or_frame_is_refused_at_its_limit() {
        let chunk = [b'x'; 64 * 1024];
        let mut frames = Frames::default();
        let fed = (0..1_000).find_map(|n| frames.feed(&chunk).err().map(|error| (n, error)));
        let fits = FRAME_BYTES_MAX / chunk.len();
        assert_eq!(fed, Some((fits, BadStream::LineTooLong)));
        let line = format!("data: {}\n", "x".repeat(chunk.len()));
        let mut frames = Frames::default();
        let fed = (0..1_000).find_map(|n| frames.feed(line.as_bytes()).err().map(|error| (n, error)));
        // One less than would fit without the line breaks between the lines.
        assert_eq!(fed, Some((fits - 1, BadStream::FrameTooLong)));
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(BadStream::NotUtf8));
    }
}
