//! A fake provider on loopback. The first part of a path selects how it responds:
//!
//! | path | response |
//! |---|---|
//! | `/whole/…` | at once, not as a stream |
//! | `/stream-N/…` | N tokens, each in its own write, without pauses |
//! | `/paced/…` | a few tokens with pauses, each recorded when it is written |
//! | `/held-N/…` | one token; the rest once N streams are open |

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::say::Format;

/// Tokens of a paced response.
pub(super) const PACED_TOKENS: usize = 5;

/// Pause before each token of a paced response, long enough that the reader sleeps.
const PAUSE: Duration = Duration::from_millis(5);

/// Tokens that follow when a held stream is released.
const HELD_TOKENS: usize = 50;

/// Maximum time that a stream is held: one that never arrives must not block the others forever.
const HELD_MAX: Duration = Duration::from_secs(30);

/// Maximum size of a request.
const REQUEST_BYTES_MAX: usize = 1 << 22;

/// The fake provider. It responds until the process ends.
pub(super) struct Fake {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Seen>,
    came: Condvar,
}

/// What the fake provider recorded.
#[derive(Default)]
pub(super) struct Seen {
    /// When each paced token was written.
    pub(super) tokens: Vec<Instant>,
    /// The lengths of the bodies in bytes.
    pub(super) body_bytes: Vec<usize>,
    held: usize,
}

impl Fake {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let all = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&all);
                // A client that closes the connection has finished.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Ok(Self { address, shared })
    }

    /// The base URL for a path prefix. OpenAI's URLs include the version by convention.
    pub(super) fn url(&self, manner: &str, provider: &str) -> String {
        let version = if provider.starts_with("openai") { "/v1" } else { "" };
        format!("http://{}/{manner}{version}", self.address)
    }

    /// What was recorded since the last call.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *seen)
    }
}

/// Serves one connection, request by request.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(path) = asked(&mut reader, shared)? {
        let mut segments = path.trim_start_matches('/').split('/');
        let manner = segments.next().unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let mut answer = Answer {
            stream,
            format: Format::of(path),
            shared,
        };
        match manner.split_once('-') {
            Some(("stream", count)) => answer.tokens(count.parse().unwrap_or(1))?,
            Some(("held", count)) => answer.held(count.parse().unwrap_or(1))?,
            _ if manner == "paced" => answer.paced()?,
            _ => answer.whole()?,
        }
    }
    Ok(())
}

/// Reads one request and returns its path; `None` at the end.
fn asked(reader: &mut BufReader<&TcpStream>, shared: &Shared) -> io::Result<Option<String>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; REQUEST_BYTES_MAX.min(length)];
    reader.read_exact(&mut body)?;
    note(shared, |seen| seen.body_bytes.push(length));
    Ok(first.split(' ').nth(1).map(str::to_owned))
}

fn note(shared: &Shared, change: impl FnOnce(&mut Seen)) {
    change(&mut shared.seen.lock().unwrap_or_else(PoisonError::into_inner));
}

/// A response in progress.
struct Answer<'a> {
    stream: &'a TcpStream,
    format: Format,
    shared: &'a Shared,
}

impl Answer<'_> {
    fn whole(&mut self) -> io::Result<()> {
        let body = self.format.whole();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all((head + &body).as_bytes())
    }

    fn tokens(&mut self, count: usize) -> io::Result<()> {
        self.begin()?;
        // Prepared before the first write, so that only writes separate the tokens.
        let deltas: Vec<String> = (0..count).map(|number| self.delta(number)).collect();
        for delta in deltas {
            self.stream.write_all(delta.as_bytes())?;
        }
        self.end(&"word ".repeat(count))
    }

    fn paced(&mut self) -> io::Result<()> {
        self.begin()?;
        for number in 0..PACED_TOKENS {
            thread::sleep(PAUSE);
            let delta = self.delta(number);
            note(self.shared, |seen| seen.tokens.push(Instant::now()));
            self.stream.write_all(delta.as_bytes())?;
        }
        thread::sleep(PAUSE);
        self.end(&"word ".repeat(PACED_TOKENS))
    }

    fn held(&mut self, count: usize) -> io::Result<()> {
        self.begin()?;
        self.stream.write_all(self.delta(0).as_bytes())?;
        let mut seen = self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.held += 1;
        self.shared.came.notify_all();
        let wait = |seen: &mut Seen| seen.held < count;
        // If the lock is poisoned or the wait times out, the rest is still written.
        drop(self.shared.came.wait_timeout_while(seen, HELD_MAX, wait));
        for number in 1..=HELD_TOKENS {
            self.stream.write_all(self.delta(number).as_bytes())?;
        }
        self.end(&"word ".repeat(HELD_TOKENS + 1))
    }

    /// The event with this number. The client reports a repeated number only once.
    fn delta(&self, number: usize) -> String {
        chunk(&self.format.delta(number, "word "))
    }

    fn begin(&mut self) -> io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_owned();
        let opening = self.format.opening();
        let opening = if opening.is_empty() {
            opening
        } else {
            chunk(&opening)
        };
        self.stream.write_all((head + &opening).as_bytes())
    }

    fn end(&mut self, words: &str) -> io::Result<()> {
        let closing = chunk(&self.format.closing(words)) + "0\r\n\r\n";
        self.stream.write_all(closing.as_bytes())
    }
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_selects_how_a_stream_is_sent() {
        let fake = Fake::start().expect("loopback");
        let mut stream = TcpStream::connect(fake.address).expect("a connection");
        let request = "POST /stream-3/v1/responses HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(request.as_bytes()).expect("sent");
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let until_end = lines.by_ref().take_while(|line| line != "0");
        let deltas = until_end.filter(|line| line == "event: response.output_text.delta");
        assert_eq!(deltas.count(), 3);
        assert_eq!(fake.seen().body_bytes, [2]);
    }
}
