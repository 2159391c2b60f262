//! Every public host of a scenario, played by an HTTP proxy on loopback. It serves pages and records what each
//! host received, so that a transfer is observed where it arrives and not where it was decided.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// How long a connection may be silent: far longer than a local program needs.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Most bytes of one request that are read.
const REQUEST_BYTES_MAX: usize = 1024 * 1024;

/// What a host answers for a path.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) content_type: &'static str,
    pub(super) body: String,
    /// The URL that the page redirects to, if it does.
    pub(super) location: Option<String>,
}

impl Page {
    pub(super) fn text(body: impl Into<String>) -> Self {
        Self::of("text/plain; charset=utf-8", body)
    }

    pub(super) fn html(title: &str, body: &str) -> Self {
        let body = format!(
            "<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{body}</p></body></html>"
        );
        Self::of("text/html; charset=utf-8", body)
    }

    pub(super) fn of(content_type: &'static str, body: impl Into<String>) -> Self {
        Self {
            content_type,
            body: body.into(),
            location: None,
        }
    }
}

/// A request that arrived at a host.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) host: String,
    /// The request line, the headers and the body.
    pub(super) text: String,
}

#[derive(Debug, Default)]
struct State {
    /// By host and path, such as `docs.example/guide`.
    pages: BTreeMap<String, Page>,
    received: Vec<Received>,
}

/// The proxy. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Internet {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Internet {
    pub(super) fn start(pages: BTreeMap<String, Page>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("listening on loopback")?;
        let address = listener.local_addr()?;
        let received = Vec::new();
        let state = Arc::new(Mutex::new(State { pages, received }));
        let is_over = Arc::new(AtomicBool::new(false));
        let (serving, ending) = (Arc::clone(&state), Arc::clone(&is_over));
        let work = move || {
            for stream in listener.incoming().flatten() {
                if ending.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&serving);
                // A client that breaks off is as good as one that asked for nothing.
                std::thread::spawn(move || drop(serve(stream, &state)));
            }
        };
        let thread = std::thread::Builder::new()
            .name("internet".to_owned())
            .spawn(work)?;
        Ok(Self {
            address,
            state,
            is_over,
            thread: Some(thread),
        })
    }

    /// The URL for the variables that name a proxy.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the hosts received until now.
    pub(super) fn received(&self) -> Vec<Received> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.received.clone()
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // The connection lets the thread notice the end.
        let _woken = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// Serves one connection: a request in the form for proxies, or a tunnel with one request in it.
fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Result<()> {
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    let mut head = read_head(&mut stream)?;
    let mut host = None;
    if let Some(target) = head.strip_prefix("CONNECT ") {
        let target = target.split(' ').next().unwrap_or_default();
        let name = target
            .rsplit_once(':')
            .map_or(target, |(name, _)| name)
            .to_owned();
        record(state, &name, "CONNECT");
        host = Some(name);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        head = read_head(&mut stream)?;
    }
    let (named, path) = address_of(&head);
    let host = host.or(named).unwrap_or_default();
    let body = read_body(&mut stream, &head)?;
    let page = {
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pages.get(&format!("{host}{path}")).cloned()
    };
    record(state, &host, &format!("{head}{body}"));
    let answer = match page {
        None => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned(),
        Some(Page {
            location: Some(url), ..
        }) => {
            format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Some(page) => format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
            page.content_type,
            page.body.len(),
            page.body
        ),
    };
    stream.write_all(answer.as_bytes())?;
    Ok(())
}

fn record(state: &Mutex<State>, host: &str, text: &str) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.received.push(Received {
        host: host.to_owned(),
        text: text.to_owned(),
    });
}

/// The host and the path of a request.
fn address_of(head: &str) -> (Option<String>, String) {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (host, path) = match target.strip_prefix("http://") {
        Some(rest) => {
            let at = rest.find('/').unwrap_or(rest.len());
            (
                Some(rest.get(..at).unwrap_or_default()),
                rest.get(at..).unwrap_or_default(),
            )
        }
        None => (None, target),
    };
    let header = || {
        let mut lines = head.lines();
        lines.find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("host:")
                .map(|host| host.trim().to_owned())
        })
    };
    let host = host.map(str::to_owned).or_else(header);
    let host = host.map(|host| host.split(':').next().unwrap_or_default().to_owned());
    let path = path.split(['?', '#']).next().unwrap_or_default();
    (
        host,
        if path.is_empty() {
            "/".to_owned()
        } else {
            path.to_owned()
        },
    )
}

fn read_head(stream: &mut TcpStream) -> Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    // Byte by byte, because what follows belongs to the body or to the tunnel.
    while !head.ends_with(b"\r\n\r\n") && head.len() < REQUEST_BYTES_MAX {
        if stream.read(&mut byte)? == 0 {
            break;
        }
        head.extend_from_slice(&byte);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn read_body(stream: &mut TcpStream, head: &str) -> Result<String> {
    let length = head.lines().find_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("content-length:")?.trim().parse::<usize>().ok()
    });
    let mut body = vec![0; length.unwrap_or(0).min(REQUEST_BYTES_MAX)];
    stream.read_exact(&mut body)?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}
