//! Parses the bytes that a terminal sends into keys and pasted text.

/// Maximum number of bytes of a paste that are kept: the limit of a message.
const PASTE_BYTES_MAX: usize = wakeful_core::message::PROMPT_BYTES_MAX;

/// Longest escape sequence that is waited for. Longer ones are not from a keyboard.
const SEQUENCE_BYTES_MAX: usize = 32;

const ESCAPE: u8 = 0x1b;
const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What a person pressed or pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Character(char),
    /// Pasted text. It never acts as keys.
    Paste(String),
    /// A paste of this many bytes, which is more than a message may have.
    OversizedPaste(usize),
    Enter,
    /// Alt-Enter or Ctrl-J: a line end within the message.
    LineBreak,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    Home,
    End,
    /// Ctrl-U
    DeleteToStart,
    /// Ctrl-K
    DeleteToEnd,
    /// Ctrl-W
    DeleteWord,
    /// Ctrl-C
    Interrupt,
    /// Ctrl-D
    EndOfInput,
    /// A key without a meaning.
    Other,
}

/// The state between two reads: keys and characters may arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct KeyParser {
    pending: Vec<u8>,
    paste: Option<PasteBuffer>,
}

#[derive(Debug, Default)]
struct PasteBuffer {
    text: Vec<u8>,
    total_bytes: usize,
}

impl KeyParser {
    /// Returns the keys that are complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut read = 0;
        loop {
            let rest = self.pending.get(read..).unwrap_or_default();
            let step = match &mut self.paste {
                Some(paste) => paste.take(rest),
                None => key_at(rest),
            };
            let Step { used, key } = step;
            if used == 0 {
                break;
            }
            read += used;
            match key {
                StepKey::None => {}
                StepKey::PasteBegins => self.paste = Some(PasteBuffer::default()),
                StepKey::PasteEnds => keys.extend(self.paste.take().map(PasteBuffer::key)),
                StepKey::Key(key) => keys.push(key),
            }
        }
        self.pending.drain(..read);
        keys
    }
}

/// How many bytes were used, and what they were. No bytes means that more are needed.
struct Step {
    used: usize,
    key: StepKey,
}

enum StepKey {
    None,
    PasteBegins,
    PasteEnds,
    Key(Key),
}

impl Step {
    const WAIT: Self = Self {
        used: 0,
        key: StepKey::None,
    };

    const fn key(used: usize, key: Key) -> Self {
        Self {
            used,
            key: StepKey::Key(key),
        }
    }
}

impl PasteBuffer {
    fn take(&mut self, bytes: &[u8]) -> Step {
        let end = bytes
            .windows(PASTE_END.len())
            .position(|window| window == PASTE_END);
        // The end may be split between two reads, so the last bytes stay.
        let text = end.unwrap_or_else(|| bytes.len().saturating_sub(PASTE_END.len() - 1));
        let room = PASTE_BYTES_MAX.saturating_sub(self.text.len()).min(text);
        self.text.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.total_bytes += text;
        match end {
            Some(end) => Step {
                used: end + PASTE_END.len(),
                key: StepKey::PasteEnds,
            },
            None => Step {
                used: text,
                key: StepKey::None,
            },
        }
    }

    fn key(self) -> Key {
        if self.total_bytes > PASTE_BYTES_MAX {
            return Key::OversizedPaste(self.total_bytes);
        }
        // Terminals send a carriage return for each line end.
        let text = String::from_utf8_lossy(&self.text).replace("\r\n", "\n");
        Key::Paste(text.replace('\r', "\n"))
    }
}

fn key_at(bytes: &[u8]) -> Step {
    let Some(first) = bytes.first() else {
        return Step::WAIT;
    };
    match first {
        0x01 => Step::key(1, Key::Home),
        0x03 => Step::key(1, Key::Interrupt),
        0x04 => Step::key(1, Key::EndOfInput),
        0x05 => Step::key(1, Key::End),
        0x08 | 0x7f => Step::key(1, Key::Backspace),
        b'\n' => Step::key(1, Key::LineBreak),
        0x0b => Step::key(1, Key::DeleteToEnd),
        b'\r' => Step::key(1, Key::Enter),
        0x15 => Step::key(1, Key::DeleteToStart),
        0x17 => Step::key(1, Key::DeleteWord),
        b'\t' => Step::key(1, Key::Character(' ')),
        &ESCAPE => sequence_at(bytes),
        0..=0x1f => Step::key(1, Key::Other),
        _ => character_at(bytes),
    }
}

/// A key that sends several bytes after an escape.
fn sequence_at(bytes: &[u8]) -> Step {
    let is_control = |byte: &u8| matches!(byte, 0x40..=0x7e);
    let sequence = match bytes.get(1) {
        None => return Step::WAIT,
        Some(b'\r' | b'\n') => return Step::key(2, Key::LineBreak),
        Some(b'b') => return Step::key(2, Key::WordLeft),
        Some(b'f') => return Step::key(2, Key::WordRight),
        Some(0x7f) => return Step::key(2, Key::DeleteWord),
        Some(b'[') => bytes.iter().skip(2).position(is_control).map(|end| end + 3),
        Some(b'O') if bytes.len() < 3 => None,
        Some(b'O') => Some(3),
        // Escape alone, before another key.
        Some(_) => return Step::key(1, Key::Other),
    };
    let Some(length) = sequence else {
        return match bytes.len() > SEQUENCE_BYTES_MAX {
            true => Step::key(bytes.len(), Key::Other),
            false => Step::WAIT,
        };
    };
    let sequence = bytes.get(..length).unwrap_or_default();
    if sequence == PASTE_BEGIN {
        return Step {
            used: length,
            key: StepKey::PasteBegins,
        };
    }
    Step::key(
        length,
        match sequence.get(2..).unwrap_or_default() {
            b"A" => Key::Up,
            b"B" => Key::Down,
            b"C" => Key::Right,
            b"D" => Key::Left,
            b"H" | b"1~" | b"7~" => Key::Home,
            b"F" | b"4~" | b"8~" => Key::End,
            b"3~" => Key::Delete,
            b"1;5D" | b"1;3D" => Key::WordLeft,
            b"1;5C" | b"1;3C" => Key::WordRight,
            _ => Key::Other,
        },
    )
}

/// One character of UTF-8. Invalid bytes are one key without a meaning.
fn character_at(bytes: &[u8]) -> Step {
    let text = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let valid = match std::str::from_utf8(text) {
        Ok(valid) => valid,
        Err(error) => {
            let (valid, _) = text.split_at(error.valid_up_to());
            if valid.is_empty() {
                // Without a length the character is incomplete.
                return error
                    .error_len()
                    .map_or(Step::WAIT, |length| Step::key(length, Key::Other));
            }
            std::str::from_utf8(valid).unwrap_or_default()
        }
    };
    match valid.chars().next() {
        Some(c) if c.is_control() => Step::key(c.len_utf8(), Key::Other),
        Some(c) => Step::key(c.len_utf8(), Key::Character(c)),
        None => Step::WAIT,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(pieces: &[&[u8]]) -> Vec<Key> {
        let mut parser = KeyParser::default();
        pieces.iter().flat_map(|piece| parser.feed(piece)).collect()
    }

    #[test]
    fn keys_are_recognized_even_in_pieces() {
        use Key::{Character, Enter, Interrupt, LineBreak, Up, WordLeft};
        assert_eq!(keys(&[b"a\x1b", b"[", b"A\r"]), [Character('a'), Up, Enter]);
        assert_eq!(
            keys(&["é".as_bytes().split_at(1).0, "é".as_bytes().split_at(1).1]),
            [Character('é')]
        );
        assert_eq!(
            keys(&[b"\x1b\r\n\x03\x1b[1;5D"]),
            [LineBreak, LineBreak, Interrupt, WordLeft]
        );
        assert_eq!(keys(&[b"\x1b[999;999;999X\xff"]), [Key::Other, Key::Other]);
    }

    #[test]
    fn pasted_text_never_acts_as_keys() {
        let pasted = keys(&[b"\x1b[200~y\r\n\x03/quit\r", b"\x1b[20", b"1~z"]);
        assert_eq!(
            pasted,
            [Key::Paste("y\n\u{3}/quit\n".into()), Key::Character('z')]
        );
    }

    #[test]
    fn a_paste_of_ten_megabytes_is_refused_and_bounded() {
        let mut parser = KeyParser::default();
        assert_eq!(parser.feed(PASTE_BEGIN), []);
        let chunk = [b'x'; 64 * 1024];
        for _ in 0..160 {
            assert_eq!(parser.feed(&chunk), []);
            assert!(parser.pending.len() < PASTE_END.len());
        }
        let kept = parser.paste.as_ref().map_or(0, |paste| paste.text.len());
        assert_eq!(kept, PASTE_BYTES_MAX);
        assert_eq!(parser.feed(PASTE_END), [Key::OversizedPaste(160 * 64 * 1024)]);
        assert_eq!(parser.feed(b"a"), [Key::Character('a')]);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_keys(bytes: Vec<u8>, at in 0_usize..64) {
            let (one, other) = bytes.split_at(at.min(bytes.len()));
            let whole = keys(&[&bytes]);
            // An over-long sequence is cut where the read ends, so only shorter input is compared.
            prop_assume!(bytes.len() <= SEQUENCE_BYTES_MAX);
            prop_assert_eq!(keys(&[one, other]), whole);
        }
    }
}
