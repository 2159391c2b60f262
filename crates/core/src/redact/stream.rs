//! Redaction of a stream: a secret may be split between two pieces.

use super::{Found, Redactor, replaced};

/// Redacts a stream piece by piece. It holds back only what may be the beginning of a secret.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Redactor,
    held: Vec<u8>,
}

impl StreamRedactor {
    pub(super) const fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            held: Vec::new(),
        }
    }

    /// Adds a piece and returns what can be passed on.
    #[must_use]
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(search) = &self.redactor.whole else {
            return piece.to_vec();
        };
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(piece);
        let safe = bytes.len() - search.open_end(&bytes);
        // A secret that begins in the open end may become a longer one.
        let found: Vec<Found> = search
            .find(&bytes)
            .take_while(|found| found.from < safe)
            .collect();
        let passed = found.last().map_or(safe, |last| last.to.max(safe));
        self.held = bytes.split_off(passed);
        replaced(&bytes, &found).unwrap_or(bytes)
    }

    /// Ends the stream and returns the rest.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        self.redactor.bytes(&rest).unwrap_or(rest)
    }
}
