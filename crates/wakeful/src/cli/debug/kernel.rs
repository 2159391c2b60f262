//! `wakeful debug kernel`: serves the pure core over standard input, one response line per request line.
//! The core parses the lines.
//!
//! It opens no home and no database, and no input line ends it.

use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};

use wakeful_core::kernel::{self, LINE_BYTES_MAX};

use crate::failure::Failure;

/// Size of the read buffer.
const READ_BYTES: usize = 64 * 1024;

/// Runs until the input ends.
pub(crate) fn kernel() -> Result<u8, Failure> {
    let input = BufReader::with_capacity(READ_BYTES, io::stdin().lock());
    let output = BufWriter::with_capacity(READ_BYTES, io::stdout().lock());
    match pump(input, output) {
        Ok(()) => Ok(0),
        // A closed pipe means that the reader has finished.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(0),
        Err(error) => Err(Failure::io(
            "kernel_io",
            "cannot read requests or write responses",
            &error,
            "provide requests on standard input, and keep standard output open",
        )),
    }
}

/// Answers every line of the input.
fn pump<R: io::Read>(mut input: BufReader<R>, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let answer = match read_line(&mut input, &mut line, &mut output)? {
            LineRead::Line => kernel::answer(&line),
            LineRead::TooLarge => kernel::too_large(),
            LineRead::End => return output.flush(),
        };
        output.write_all(answer.as_bytes())?;
        output.write_all(b"\n")?;
    }
}

/// The result of reading one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineRead {
    /// A line without its terminator.
    Line,
    /// A line over the limit, which was skipped.
    TooLarge,
    /// End of input.
    End,
}

/// Reads the next line. The output is flushed only before a read that would block: a client that waits for
/// each response gets it at once, and piped files do not pay for a flush per line.
fn read_line<R: io::Read>(
    input: &mut BufReader<R>,
    line: &mut Vec<u8>,
    output: &mut impl Write,
) -> io::Result<LineRead> {
    line.clear();
    let mut is_too_large = false;
    let mut is_empty = true;
    loop {
        if input.buffer().is_empty() {
            output.flush()?;
        }
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let is_last = bytes.is_empty();
        is_empty &= is_last;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        is_too_large |= line.len() + part.len() > LINE_BYTES_MAX;
        if is_too_large {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() || is_last {
            return Ok(match (is_last && is_empty, is_too_large) {
                (true, _) => LineRead::End,
                (false, true) => LineRead::TooLarge,
                (false, false) => LineRead::Line,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns its bytes in pieces of the given size.
    struct Pieces<'a>(&'a [u8], usize);

    impl io::Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(into.len());
            let (piece, rest) = self.0.split_at(length);
            into[..length].copy_from_slice(piece);
            self.0 = rest;
            Ok(length)
        }
    }

    fn answers(text: &[u8], piece: usize) -> Vec<String> {
        let mut out = Vec::new();
        pump(BufReader::with_capacity(16, Pieces(text, piece)), &mut out).expect("no error");
        let out = String::from_utf8(out).expect("text");
        out.lines().map(str::to_owned).collect()
    }

    #[test]
    fn every_line_is_answered_however_it_arrives() {
        let line = r#"{"id":1,"op":"hash","label":"x","fields":[]}"#;
        let text = format!("{line}\n\n{line}\r\nnonsense\n{line}");
        for piece in [1, 7, 16, 1000] {
            let answers = answers(text.as_bytes(), piece);
            assert_eq!(answers.len(), 5);
            assert_eq!(answers[0], kernel::answer(line.as_bytes()));
            assert_eq!(answers[1], kernel::answer(b""), "an empty line is a line");
            assert_eq!((&answers[2], &answers[4]), (&answers[0], &answers[0]));
        }
        assert!(answers(b"", 1).is_empty(), "no line, no answer");
        assert_eq!(answers(b"\n", 1).len(), 1);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut text = vec![b' '; LINE_BYTES_MAX + 1];
        text.extend_from_slice(b"\nnonsense\n");
        let mut out = Vec::new();
        let mut input = BufReader::with_capacity(READ_BYTES, Pieces(&text, READ_BYTES));
        let mut line = Vec::new();
        assert_eq!(
            read_line(&mut input, &mut line, &mut out).expect("read"),
            LineRead::TooLarge
        );
        assert!(line.is_empty() && line.capacity() <= LINE_BYTES_MAX + READ_BYTES);
        assert_eq!(
            read_line(&mut input, &mut line, &mut out).expect("read"),
            LineRead::Line
        );
        assert_eq!(line, b"nonsense");
        assert_eq!(
            read_line(&mut input, &mut line, &mut out).expect("read"),
            LineRead::End
        );
        let fits = vec![b' '; LINE_BYTES_MAX];
        let mut input = BufReader::with_capacity(READ_BYTES, Pieces(&fits, READ_BYTES));
        assert_eq!(
            read_line(&mut input, &mut line, &mut out).expect("read"),
            LineRead::Line
        );
    }
}
