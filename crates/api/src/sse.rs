//! Reading a stream of server-sent events: bytes in, frames out.

/// Longest line that is kept. An event's payload is bounded far below it.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One frame of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// What kind of frame; `message` when the stream does not say.
    pub event: String,
    /// Where to go on after it, if the stream says.
    pub id: Option<String>,
    /// What it carries.
    pub data: String,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineTooLong;

/// Puts frames together from whatever pieces the network brings.
#[derive(Debug, Default)]
pub struct Frames {
    rest: Vec<u8>,
    next: Frame,
    has_data: bool,
}

impl Frames {
    /// Takes the next bytes and returns the frames they complete. Comments and unknown fields are passed over.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, LineTooLong> {
        let mut frames = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(piece);
            if self.rest.len() > LINE_BYTES_MAX {
                return Err(LineTooLong);
            }
            if self.rest.pop_if(|last| *last == b'\n').is_some() {
                let line = std::mem::take(&mut self.rest);
                frames.extend(self.line(&String::from_utf8_lossy(&line)));
            }
        }
        Ok(frames)
    }

    fn line(&mut self, line: &str) -> Option<Frame> {
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            let frame = std::mem::take(&mut self.next);
            let complete = std::mem::take(&mut self.has_data);
            return (complete || frame.id.is_some()).then_some(frame);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.next.event),
            "id" => self.next.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.next.data.push('\n');
                }
                self.next.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": hello\nretry: 1000\n\nid: 7\nevent: event\ndata: {\"a\":1}\n\nevent: delta\r\ndata: x\r\ndata:y\r\n\r\n";

    fn read(pieces: &[&[u8]]) -> Vec<Frame> {
        let mut frames = Frames::default();
        let read = pieces
            .iter()
            .flat_map(|piece| frames.feed(piece).expect("short lines"));
        read.collect()
    }

    #[test]
    fn frames_are_the_same_however_the_bytes_are_cut() {
        let whole = read(&[STREAM.as_bytes()]);
        let frame = |event: &str, id: Option<&str>, data: &str| Frame {
            event: event.into(),
            id: id.map(Into::into),
            data: data.into(),
        };
        let expected = [
            frame("event", Some("7"), "{\"a\":1}"),
            frame("delta", None, "x\ny"),
        ];
        assert_eq!(whole, expected);
        for cut in 1..STREAM.len() {
            let (first, second) = STREAM.as_bytes().split_at(cut);
            assert_eq!(read(&[first, second]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut frames = Frames::default();
        let piece = vec![b'x'; 1024 * 1024];
        let fed = (0..6).map(|_| frames.feed(&piece)).find(Result::is_err);
        assert_eq!(fed, Some(Err(LineTooLong)));
    }
}
