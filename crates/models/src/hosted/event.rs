//! Server-sent events, taken apart within bounds.
//!
//! Only the data is kept: every provider repeats an event's name inside it. Lines end with `\n` or `\r\n`; a bare
//! `\r`, which the standard allows and nobody sends, is part of its line.

use crate::wire::Fault;

/// Longest line, and most data of one event, in bytes: what a whole reply may have.
pub(super) const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A stream on its way.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<String>,
}

impl Events {
    /// Takes the next bytes; gives each event that they complete to `each`.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            self.extend(head)?;
            let line = std::mem::take(&mut self.line);
            if let Some(data) = self.end_line(&line)? {
                each(&data)?;
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        self.extend(rest)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.line.len() + bytes.len() > LINE_BYTES_MAX {
            return Err(Fault::invalid(format!(
                "a line of the stream has more than {LINE_BYTES_MAX} bytes"
            )));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes a whole line; an empty one ends an event.
    fn end_line(&mut self, line: &[u8]) -> Result<Option<String>, Fault> {
        let line = std::str::from_utf8(line).map_err(|_| Fault::invalid("the stream is not UTF-8"))?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let Some(value) = line.strip_prefix("data:") else {
            return Ok(None);
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match &mut self.data {
            None => self.data = Some(value.to_owned()),
            Some(data) if data.len() + value.len() < LINE_BYTES_MAX => {
                data.push('\n');
                data.push_str(value);
            }
            Some(_) => {
                return Err(Fault::invalid(format!(
                    "an event has more than {LINE_BYTES_MAX} bytes"
                )));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<String>, Fault> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            events.push(piece, |data| {
                found.push(data.to_owned());
                Ok(())
            })?;
        }
        Ok(found)
    }

    #[test]
    fn events_are_the_same_however_their_bytes_arrive() {
        let stream = "\u{feff}event: a\r\ndata: {\"x\":\"é\"}\r\n\r\n: a comment\nid: 1\ndata:one\ndata: two\n\n\n\ndata: cut";
        let whole = all(&[stream.as_bytes()]).expect("whole");
        assert_eq!(whole, ["{\"x\":\"é\"}", "one\ntwo"]);
        for cut in 0..stream.len() {
            let (head, tail) = stream.as_bytes().split_at(cut);
            assert_eq!(all(&[head, tail]).expect("cut"), whole, "cut at {cut}");
        }
    }

    #[test]
    fn a_line_or_an_event_without_end_is_refused_at_its_bound() {
        let piece = [b'x'; 64 * 1024];
        let mut events = Events::default();
        let refused = (0..).find_map(|n| {
            events
                .push(&piece, |_| Ok(()))
                .err()
                .map(|_| n * piece.len() / LINE_BYTES_MAX)
        });
        assert_eq!(refused, Some(1));
        let line = format!("data: {}\n", "x".repeat(64 * 1024));
        let mut events = Events::default();
        let refused = (0..1_000).find(|_| events.push(line.as_bytes(), |_| Ok(())).is_err());
        // One fewer than would fit without the line breaks between them.
        assert_eq!(refused, Some(LINE_BYTES_MAX / (64 * 1024) - 1));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert!(matches!(all(&[b"data: \xff\n\n"]), Err(Fault::Invalid(_))));
    }
}
