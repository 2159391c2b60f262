//! Serves one connection, and ends it with an error that the client can read.
//!
//! hyper responds to unparsable requests with a bare status, and closes silently on a client that is too
//! slow. Both get the ordinary error body here. A connection that ends before the client has sent
//! everything is drained briefly: closing it with unread bytes makes the kernel discard the response.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;
use tower::Service as _;

use crate::error::ApiError;
use crate::peer::Peer;
use crate::slots::{RequestGuard, Slot};
use crate::stream::WriteTimeout;

/// Longest wait for the head of a request, and for the next request on a persistent connection.
const HEAD_READ_MS_MAX: u64 = 10_000;

/// Largest head of a request in bytes, including the request line. Room for the longest cursor and the
/// cookies of a browser.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Longest time for which further input is discarded before the connection is closed.
const LINGER_MS_MAX: u64 = 1_000;

/// Most bytes that are discarded: more than any accepted body.
const LINGER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest time to send a last response. It fits into the send buffer of any connection that is being read.
const LAST_ANSWER_MS_MAX: u64 = 1_000;

/// Every response of the router has this header; responses that hyper creates itself do not.
const OURS: &[u8] = b"\r\nx-content-type-options:";

/// The client of a connection, and its slot.
pub(crate) struct ConnectionClient {
    pub(crate) peer: Peer,
    pub(crate) slot: Slot,
}

/// Why a connection ended.
enum ConnectionEnd {
    /// It ended by itself, by an error, or because the server stops.
    Over(hyper::Result<()>),
    /// Its slot was given to another connection.
    Shed,
}

/// Serves one client until it disconnects, its slot is needed, or the server stops.
pub(crate) async fn connection<C>(
    stream: C,
    client: ConnectionClient,
    app: Router,
    mut stop: watch::Receiver<bool>,
) where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (peer, slot) = (client.peer, Arc::new(client.slot));
    let of_requests = Arc::clone(&slot);
    let service = service_fn(move |request| respond(request, peer, Arc::clone(&of_requests), app.clone()));
    let wire = ConnectionIo::new(stream, Arc::clone(&slot));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_READ_MS_MAX))
        // The buffer size is not a limit: hyper accepts a larger head that arrives in one piece.
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(wire), service);
    let mut is_stopping = false;
    let ended = loop {
        tokio::select! {
            biased;
            () = slot.shed() => break ConnectionEnd::Shed,
            // A dropped sender means that the server stops.
            _ = stop.wait_for(|is_asked| *is_asked), if !is_stopping => {
                is_stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            done = &mut connection => break ConnectionEnd::Over(done),
        }
    };
    let parts = connection.into_parts();
    let (wire, unread) = (parts.io.into_inner(), parts.read_buf);
    wire.end(ended, &unread, is_stopping).await;
}

/// Responds to one request in its slot.
async fn respond(
    request: Request<Incoming>,
    peer: Peer,
    slot: Arc<Slot>,
    mut app: Router,
) -> Result<Response, Infallible> {
    let Some(busy) = slot.begin() else {
        return Ok(ApiError::too_many_connections().into_response());
    };
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    request.extensions_mut().insert(slot);
    let response = app.call(request).await?;
    Ok(response.map(|body| Body::new(TrackedBody { body, _busy: busy })))
}

/// A response body that keeps its request in progress until it is sent completely.
struct TrackedBody {
    body: Body,
    _busy: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The raw response for a client that the router cannot serve.
pub(crate) fn raw_response(error: ApiError) -> Vec<u8> {
    let status = error.status();
    let retry = error
        .retry_after_s()
        .map(|seconds| format!("retry-after: {seconds}\r\n"));
    let body = error.into_json();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{}cache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\r\n{body}",
        body.len(),
        retry.unwrap_or_default(),
    )
    .into_bytes()
}

/// The error for a bare status of hyper.
fn parse_error(status: StatusCode) -> ApiError {
    let (code, message, hint) = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "headers_too_large",
            format!(
                "the request line and headers are too long: at most {HEAD_BYTES_MAX} bytes and 100 headers"
            ),
            "send fewer or shorter headers, and long values in the body",
        ),
        StatusCode::URI_TOO_LONG => (
            "uri_too_long",
            "the URL of the request is too long".to_owned(),
            "send long values in the body",
        ),
        _ => (
            "bad_request",
            "the request is not valid HTTP/1.1: its request line, a header or Content-Length cannot be parsed"
                .to_owned(),
            "check the client; Content-Length must be one decimal number below 2^64",
        ),
    };
    ApiError::new(status, code, message, hint)
}

fn too_slow() -> ApiError {
    let message = format!("the request did not arrive within {} s", HEAD_READ_MS_MAX / 1_000);
    let hint = "send it again without pauses";
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message, hint)
}

/// The bytes of a connection. If hyper responds by itself, the ordinary error body is sent instead.
struct ConnectionIo<C> {
    inner: WriteTimeout<C>,
    slot: Arc<Slot>,
    /// The replacement for hyper's own response, and how much of it was sent.
    instead: Option<(Vec<u8>, usize)>,
    /// Whether hyper has responded by itself.
    has_answered: bool,
}

impl<C: AsyncRead + AsyncWrite + Unpin> ConnectionIo<C> {
    const fn new(stream: C, slot: Arc<Slot>) -> Self {
        Self {
            inner: WriteTimeout::new(stream),
            slot,
            instead: None,
            has_answered: false,
        }
    }

    /// Ends the connection with an error that explains why.
    async fn end(mut self, ended: ConnectionEnd, unread: &[u8], is_stopping: bool) {
        // Nothing can be sent in the middle of a response that the client does not read.
        if self.inner.is_waiting() {
            return;
        }
        let (last, lingers) = match ended {
            ConnectionEnd::Shed => (Some(ApiError::too_many_connections()), false),
            ConnectionEnd::Over(Err(error)) if error.is_timeout() => {
                ((!unread.is_empty()).then(too_slow), true)
            }
            ConnectionEnd::Over(Err(error))
                if error.is_parse() && !self.has_answered && self.slot.is_idle() =>
            {
                (Some(parse_error(StatusCode::BAD_REQUEST)), true)
            }
            ConnectionEnd::Over(_) => (None, true),
        };
        let patience = Duration::from_millis(LAST_ANSWER_MS_MAX);
        // The client may be gone.
        let _ = tokio::time::timeout(patience, async {
            if let Some(error) = last {
                self.inner.write_all(&raw_response(error)).await?;
            }
            self.inner.shutdown().await
        })
        .await;
        if lingers && !is_stopping {
            let patience = Duration::from_millis(LINGER_MS_MAX);
            let _ = tokio::time::timeout(patience, drain(&mut self.inner)).await;
        }
    }

    /// Replaces a response that hyper created itself by an error body.
    fn poll_instead(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && let Some(status) = bare_status(bytes)
            && self.slot.is_idle()
        {
            self.has_answered = true;
            self.instead = Some((raw_response(parse_error(status)), 0));
        }
        let Some((answer, mut at)) = self.instead.take() else {
            return Pin::new(&mut self.inner).poll_write(context, bytes);
        };
        while let Some(rest) = answer.get(at..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut self.inner).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => at = at.saturating_add(written),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    self.instead = Some((answer, at));
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }
}

/// The status of a response that hyper created itself: a complete head without a body and without our
/// headers.
fn bare_status(bytes: &[u8]) -> Option<StatusCode> {
    let rest = bytes
        .strip_prefix(b"HTTP/1.1 ")
        .or(bytes.strip_prefix(b"HTTP/1.0 "))?;
    let status = rest
        .get(..3)
        .and_then(|digits| StatusCode::from_bytes(digits).ok())?;
    let is_whole = bytes.ends_with(b"\r\n\r\n");
    let is_ours = bytes.windows(OURS.len()).any(|part| part == OURS);
    (status.is_client_error() && is_whole && !is_ours).then_some(status)
}

/// Reads until the client has closed its side, within a limit.
async fn drain<C: AsyncRead + Unpin>(stream: &mut C) -> io::Result<()> {
    let (mut buffer, mut read) = (vec![0; 16 * 1024], 0_usize);
    while read < LINGER_BYTES_MAX {
        match stream.read(&mut buffer).await? {
            0 => break,
            length => read = read.saturating_add(length),
        }
    }
    Ok(())
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncRead for ConnectionIo<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<C: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ConnectionIo<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_instead(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match slices {
            [only] => self.poll_instead(context, only),
            _ => Pin::new(&mut self.inner).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_flush(context))?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;
    use axum::routing::{get, post};
    use tokio::io::DuplexStream;
    use tokio::time::Instant;

    use super::*;
    use crate::extract::{BODY_READ_MS_MAX, bounded};
    use crate::slots::Slots;

    /// The response to a client that sends these bytes and then nothing, and the elapsed time.
    async fn answer_to(sent: &[u8]) -> (String, u128) {
        let app = Router::new().route("/", get(|| async { "hello" })).route(
            "/body",
            post(|request: Request| async move { bounded(request.into_body(), 64).await.map(|_| "read") }),
        );
        let (mut client, server) = tokio::io::duplex(256 * 1024);
        let (_stop, stopped) = watch::channel(false);
        let served = ConnectionClient {
            peer: Peer::Network("127.0.0.1:1".parse().expect("an address")),
            slot: Slots::new(1).open().expect("a slot"),
        };
        tokio::spawn(connection(server, served, app, stopped));
        let begun = Instant::now();
        client.write_all(sent).await.expect("sent");
        let answer = read(&mut client).await;
        (answer, begun.elapsed().as_millis())
    }

    async fn read(client: &mut DuplexStream) -> String {
        let mut answer = vec![0; 4_096];
        let length = client.read(&mut answer).await.expect("an answer");
        String::from_utf8_lossy(answer.get(..length).unwrap_or_default()).into_owned()
    }

    fn code_of(answer: &str) -> String {
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{answer}"
        );
        let error: wakeful_api::ErrorBody = serde_json::from_str(body).expect("the shape of errors");
        error.error.code.into_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_http_gets_the_ordinary_error_body() {
        let many = "x: y\r\n".repeat(200);
        let long = "y".repeat(HEAD_BYTES_MAX);
        for (sent, status, code) in [
            ("rubbish\r\n\r\n".to_owned(), "400", "bad_request"),
            (
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
                "400",
                "bad_request",
            ),
            (
                "POST /body HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n".to_owned(),
                "400",
                "bad_request",
            ),
            (
                "POST /body HTTP/1.1\r\ncontent-length: -1\r\n\r\n".to_owned(),
                "400",
                "bad_request",
            ),
            (
                format!("GET / HTTP/1.1\r\n{many}\r\n"),
                "431",
                "headers_too_large",
            ),
            (
                format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n"),
                "431",
                "headers_too_large",
            ),
        ] {
            let (answer, waited_ms) = answer_to(sent.as_bytes()).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{sent:.80}: {answer}"
            );
            assert_eq!((code_of(&answer).as_str(), waited_ms), (code, 0), "{sent:.80}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_declared_too_large_is_refused_before_it_is_read() {
        for declared in ["65", "1000000000000000000", "18446744073709551613"] {
            let sent = format!("POST /body HTTP/1.1\r\ncontent-length: {declared}\r\n\r\n");
            let (answer, waited_ms) = answer_to(sent.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
            assert_eq!((code_of(&answer).as_str(), waited_ms), ("body_too_large", 0));
        }
        let chunk = "40\r\n".to_owned() + &"x".repeat(64) + "\r\n";
        let sent = format!("POST /body HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{chunk}{chunk}");
        assert_eq!(code_of(&answer_to(sent.as_bytes()).await.0), "body_too_large");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_request_gets_an_error_at_its_timeout() {
        let (answer, waited_ms) = answer_to(b"GET / HT").await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert_eq!(code_of(&answer), "request_timeout");
        assert_eq!(waited_ms, u128::from(HEAD_READ_MS_MAX));
        let (answer, waited_ms) = answer_to(b"POST /body HTTP/1.1\r\ncontent-length: 5\r\n\r\nx").await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert_eq!(waited_ms, u128::from(BODY_READ_MS_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_without_a_response() {
        let (answer, waited_ms) = answer_to(b"").await;
        assert_eq!((answer.as_str(), waited_ms), ("", u128::from(HEAD_READ_MS_MAX)));
    }

    #[test]
    fn only_responses_that_hyper_created_are_replaced() {
        let bare = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(bare_status(bare).map(|status| status.as_u16()), Some(431));
        let ours = b"HTTP/1.1 404 Not Found\r\nx-content-type-options: nosniff\r\n\r\n";
        assert_eq!(bare_status(ours), None);
        assert_eq!(bare_status(b"HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(bare_status(b"HTTP/1.1 400 Bad Request\r\n\r\nbody"), None);
    }
}
