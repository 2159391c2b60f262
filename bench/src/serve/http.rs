//! A minimal HTTP/1.1 client on blocking sockets: requests are prepared in advance, and of a response only
//! status and length are parsed. A complete client would use a considerable part of the measured processor
//! time.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

/// Maximum wait for a byte: more than the daemon may take for a response.
const PATIENCE: Duration = Duration::from_secs(40);

/// Buffer size: enough for one of the expected responses.
const PIECE_BYTES: usize = 16 * 1024;

/// Maximum size of a response.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A kept-alive connection.
pub(crate) struct Line {
    stream: TcpStream,
    received: Vec<u8>,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Line {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        // The kernel may connect a socket to itself if no process listens on the port.
        ensure!(stream.local_addr()? != address, "no process listens on this port");
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(request)?)
    }

    /// Sends a request and waits for the response.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        self.send(request)?;
        loop {
            self.receive()?;
            if let Some(answer) = self.answer()? {
                return Ok(answer);
            }
        }
    }

    /// Reads the available bytes, or waits for some.
    pub(crate) fn receive(&mut self) -> Result<()> {
        let mut piece = [0; PIECE_BYTES];
        let length = self.stream.read(&mut piece)?;
        ensure!(length > 0, "the daemon closed the connection");
        self.received.extend(piece.iter().take(length));
        ensure!(
            self.received.len() <= ANSWER_BYTES_MAX,
            "the response is too large"
        );
        Ok(())
    }

    /// The response, if it is complete.
    pub(crate) fn answer(&mut self) -> Result<Option<Answer>> {
        let Some((status, head_bytes, body_bytes)) = head(&self.received)? else {
            return Ok(None);
        };
        if self.received.len() < head_bytes + body_bytes {
            return Ok(None);
        }
        let mut body = self.received.split_off(head_bytes);
        self.received = body.split_off(body_bytes);
        Ok(Some(Answer { status, body }))
    }

    /// Reads an event stream until some text has occurred this many times, and returns the times.
    pub(crate) fn times_of(&mut self, text: &str, count: usize) -> Result<Vec<Instant>> {
        let mut times = Vec::with_capacity(count);
        while times.len() < count {
            let found = find(&self.received, text.as_bytes());
            if let Some(at) = found {
                times.push(Instant::now());
                drop(self.received.drain(..at + text.len()));
                continue;
            }
            // The remaining bytes may be the beginning of the text.
            let keep = self.received.len().min(text.len());
            drop(self.received.drain(..self.received.len() - keep));
            self.receive()?;
        }
        Ok(times)
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The status, the length of the head and the length of the body, once the head is complete.
fn head(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(end) = find(bytes, END) else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).to_lowercase();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("the response is not HTTP")?;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let Some(length) = length else {
        bail!("the response has no content length");
    };
    Ok(Some((status, end + END.len(), length.parse()?)))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_head_is_parsed_once_it_is_complete() {
        let whole = b"HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\nx: y\r\n\r\nabc";
        let (status, head_bytes, body_bytes) = head(whole).expect("HTTP").expect("whole");
        assert_eq!((status, whole.len() - head_bytes, body_bytes), (202, 3, 3));
        assert!(head(&whole[..20]).expect("HTTP so far").is_none());
        assert!(head(b"220 hello\r\n\r\n").is_err());
    }
}
