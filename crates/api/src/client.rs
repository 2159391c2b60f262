//! A typed client for the API, with one connection per call and support for event streams.
//!
//! It connects to a daemon through the socket in the daemon's home or over TCP, or calls a router in its
//! own process.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

use crate::socket::SocketName;
use wakeful_core::problem::Problem;
use wakeful_core::sse::{Frame, Frames};

use crate::endpoint::{self, Endpoint, Operation, REDACTED_HEADER};
use crate::{ErrorBody, GetReadiness, Readiness, ReadinessStatus};

/// Largest response that the client reads, in bytes. The pages of the API are bounded far below it.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest time for one call. The limit of the server is shorter.
const CALL_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest time to connect. The kernel accepts local connections immediately.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);

/// Delay before another attempt to connect to a socket whose backlog is full.
const BACKLOG_RETRY: Duration = Duration::from_millis(10);

/// Longest time until a stream begins. The server computes nothing before the first line.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest time for a readiness request. The daemon answers it from memory, so a slower one is not
/// responding.
const READINESS_TIME_MAX: Duration = Duration::from_secs(3);

/// The error code of a daemon that accepts no more streams on this transport.
const TOO_MANY_STREAMS: &str = "too_many_streams";

/// The body of a response from any transport.
pub type ResponseBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A router in this process, in the form that the client calls.
pub type InProcessRouter = BoxCloneSyncService<Request<Full<Bytes>>, Response<ResponseBody>, Infallible>;

/// A client for one daemon, or for a router in this process.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    /// In how many texts the server replaced a secret since the count was last taken.
    redactions: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
enum Transport {
    Daemon {
        address: String,
        token: String,
        socket: Option<PathBuf>,
    },
    InProcess(InProcessRouter),
}

/// Why a call failed.
#[derive(Debug)]
pub enum ClientError {
    /// The daemon cannot be reached, or the connection broke.
    Unreachable(String),
    /// The server returned an error.
    Refused { status: u16, problem: Problem },
    /// The response does not match the contract.
    Malformed(String),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the daemon does not respond: {why}"),
            Self::Refused { problem, .. } => f.write_str(&problem.message),
            Self::Malformed(why) => write!(f, "the daemon sent an invalid response: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl Client {
    /// Creates a client for the daemon at `host:port`.
    #[must_use]
    pub fn new(address: String, token: String) -> Self {
        Self::over(Transport::Daemon {
            address,
            token,
            socket: None,
        })
    }

    /// Connects through the socket in the daemon's home. Falls back to TCP if the socket does not exist.
    #[must_use]
    pub fn by_socket(mut self, path: PathBuf) -> Self {
        if let Transport::Daemon { socket, .. } = &mut self.transport {
            *socket = Some(path);
        }
        self
    }

    /// Creates a client for a router in this process.
    #[must_use]
    pub fn in_process(router: InProcessRouter) -> Self {
        Self::over(Transport::InProcess(router))
    }

    fn over(transport: Transport) -> Self {
        let redactions = Arc::default();
        Self {
            transport,
            redactions,
        }
    }

    /// In how many texts the server replaced a secret since this was last called.
    #[must_use]
    pub fn take_redactions(&self) -> usize {
        self.redactions.swap(0, Ordering::Relaxed)
    }

    /// Whether the client connects to a daemon.
    #[must_use]
    pub const fn is_daemon(&self) -> bool {
        matches!(self.transport, Transport::Daemon { .. })
    }

    /// Whether the client connects to a daemon over the network, and not through the socket of the home.
    #[must_use]
    pub const fn is_network(&self) -> bool {
        matches!(self.transport, Transport::Daemon { socket: None, .. })
    }

    /// Calls an endpoint.
    pub async fn call<E: Endpoint>(&self, input: &E) -> Result<E::Output, ClientError> {
        let bytes = self.answer(self.request(input)?).await?;
        serde_json::from_slice(&bytes).map_err(|error| malformed(&error))
    }

    /// Returns the body of a successful response.
    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Bytes, ClientError> {
        let answered = async {
            let response = self.send(request).await?;
            let redactions = response.headers().get(REDACTED_HEADER);
            let redactions = redactions.and_then(|count| count.to_str().ok()?.parse().ok());
            self.redactions
                .fetch_add(redactions.unwrap_or(0), Ordering::Relaxed);
            match response.status().is_success() {
                true => whole(response).await,
                false => Err(refused(response).await),
            }
        };
        match self.transport {
            Transport::Daemon { .. } => within(CALL_TIME_MAX, answered).await,
            // An in-process call has no connection that could hang, so it has no time limit.
            Transport::InProcess(_) => answered.await,
        }
    }

    /// Returns the readiness of the daemon, whether or not the response has a success status.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let asked = async {
            let request = self.request(&GetReadiness {})?;
            let response = self.send(request).await?;
            let status = response.status().as_u16();
            let bytes = whole(response).await?;
            match serde_json::from_slice::<ReadinessStatus>(&bytes) {
                Ok(ready) => Ok(ready.status),
                // An overloaded daemon answers with an error body instead.
                Err(_) => Err(said_no(status, &bytes)),
            }
        };
        within(READINESS_TIME_MAX, asked).await
    }

    /// Follows a stream, optionally after a given event id. If the socket accepts no more streams, the
    /// client retries over TCP; the daemon has just responded, so it owns the port.
    pub async fn follow<E: Endpoint>(&self, input: &E, after: Option<&str>) -> Result<Stream, ClientError> {
        let request = self.stream_request(input, after)?;
        let response = within(HEAD_TIME_MAX, self.send(request)).await?;
        let followed = stream_of(response).await;
        match (&followed, self.over_tcp()) {
            (Err(ClientError::Refused { problem, .. }), Some(over_tcp))
                if problem.code == TOO_MANY_STREAMS =>
            {
                let request = over_tcp.stream_request(input, after)?;
                stream_of(within(HEAD_TIME_MAX, over_tcp.send(request)).await?).await
            }
            _ => followed,
        }
    }

    /// Returns the same client over TCP, or `None` if it does not use a socket.
    fn over_tcp(&self) -> Option<Self> {
        match &self.transport {
            Transport::Daemon {
                address,
                token,
                socket: Some(_),
            } => Some(Self::new(address.clone(), token.clone())),
            Transport::Daemon { socket: None, .. } | Transport::InProcess(_) => None,
        }
    }

    fn stream_request<E: Endpoint>(
        &self,
        input: &E,
        after: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = self.request(input)?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after {
            let after = HeaderValue::from_str(after).map_err(|error| malformed(&error))?;
            headers.insert("last-event-id", after);
        }
        Ok(request)
    }

    fn request<E: Endpoint>(&self, input: &E) -> Result<Request<Full<Bytes>>, ClientError> {
        let fields = serde_json::to_value(input).map_err(|error| malformed(&error))?;
        self.request_of(&E::OPERATION, fields)
    }

    fn request_of(&self, operation: &Operation, fields: Value) -> Result<Request<Full<Bytes>>, ClientError> {
        let (target, body) = target(operation, fields)?;
        let method = match operation.method {
            endpoint::Method::Get => Method::GET,
            endpoint::Method::Post => Method::POST,
            endpoint::Method::Delete => Method::DELETE,
        };
        let mut builder = Request::builder()
            .method(method)
            .uri(target)
            .header(CONTENT_TYPE, "application/json");
        if let Transport::Daemon { address, token, .. } = &self.transport {
            builder = builder
                .header(HOST, address)
                .header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let built = builder.body(Full::from(body));
        built.map_err(|error| malformed(&error))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<ResponseBody>, ClientError> {
        let (address, socket) = match &self.transport {
            Transport::Daemon { address, socket, .. } => (address, socket),
            Transport::InProcess(router) => {
                return match router.clone().oneshot(request).await {
                    Ok(response) => Ok(response),
                    Err(impossible) => match impossible {},
                };
            }
        };
        if let Some(socket) = socket {
            let connecting = async { Ok(connect_local(socket).await) };
            match within(CONNECT_TIME_MAX, connecting).await? {
                Ok(stream) => return exchange(stream, request).await,
                // TCP only where the socket does not exist. If the socket refuses the connection, the daemon is ending or
                // dead, and another program may own its port; that program must not receive the token.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ClientError::Unreachable(error.to_string())),
            }
        }
        let connecting = async {
            let stream = TcpStream::connect(address).await;
            stream.map_err(|error| unreachable(&error))
        };
        exchange(within(CONNECT_TIME_MAX, connecting).await?, request).await
    }
}

/// Turns a response into a stream.
async fn stream_of(response: Response<ResponseBody>) -> Result<Stream, ClientError> {
    if response.status() != StatusCode::OK {
        return Err(refused(response).await);
    }
    Ok(Stream {
        body: response.into_body(),
        frames: Frames::default(),
        ready: Vec::new(),
    })
}

/// Returns the path with query and the body of a call.
fn target(operation: &Operation, fields: Value) -> Result<(String, Vec<u8>), ClientError> {
    let Value::Object(mut fields) = fields else {
        return Err(ClientError::Malformed(format!(
            "{} is not an object",
            operation.name
        )));
    };
    let mut target = operation.path.to_owned();
    for name in operation.path_parameters() {
        // Path parameters contain only characters that need no escaping.
        let value = match fields.remove(name) {
            Some(Value::String(text)) => text,
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => String::new(),
        };
        target = target.replace(&format!("{{{name}}}"), &value);
    }
    if operation.takes_body {
        let body = serde_json::to_vec(&fields).map_err(|error| malformed(&error))?;
        return Ok((target, body));
    }
    // In a body null may have a meaning, such as "restore the default"; a query has no null.
    fields.retain(|_, value| !value.is_null());
    if !fields.is_empty() {
        let query = serde_urlencoded::to_string(&fields).map_err(|error| malformed(&error))?;
        target = format!("{target}?{query}");
    }
    Ok((target, Vec::new()))
}

fn malformed(error: &dyn std::error::Error) -> ClientError {
    ClientError::Malformed(error.to_string())
}

fn unreachable(error: &dyn std::error::Error) -> ClientError {
    ClientError::Unreachable(error.to_string())
}

/// Connects to a socket and retries while its backlog is full.
async fn connect_local(socket: &Path) -> io::Result<UnixStream> {
    let name = SocketName::of(socket)?;
    loop {
        match UnixStream::connect(name.as_path()).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(BACKLOG_RETRY).await
            }
            connected => return connected,
        }
    }
}

/// Sends a request on a new connection.
async fn exchange<C>(stream: C, request: Request<Full<Bytes>>) -> Result<Response<ResponseBody>, ClientError>
where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unreachable(&error))?;
    // The task ends when the response body is complete or dropped.
    tokio::spawn(connection);
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| unreachable(&error))?;
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// An event stream.
#[derive(Debug)]
pub struct Stream {
    body: ResponseBody,
    frames: Frames,
    ready: Vec<Frame>,
}

impl Stream {
    /// Returns the next frame, or `None` when the server has ended the stream.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        while self.ready.is_empty() {
            let Some(piece) = self.body.frame().await else {
                return Ok(None);
            };
            let piece = piece.map_err(|error| ClientError::Unreachable(error.to_string()))?;
            let Ok(bytes) = piece.into_data() else { continue };
            let fed = self.frames.feed(&bytes);
            self.ready = fed.map_err(|error| ClientError::Malformed(error.to_string()))?;
            self.ready.reverse();
        }
        Ok(self.ready.pop())
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let late = |_| ClientError::Unreachable(format!("no response within {} s", limit.as_secs()));
    tokio::time::timeout(limit, work).await.map_err(late)?
}

async fn whole(response: Response<ResponseBody>) -> Result<Bytes, ClientError> {
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
        .collect()
        .await;
    let body = body.map_err(|error| ClientError::Unreachable(error.to_string()))?;
    let bytes = body.to_bytes();
    // An empty body is parsed as JSON `null`.
    Ok(if bytes.is_empty() {
        Bytes::from_static(b"null")
    } else {
        bytes
    })
}

/// Reads the error from a response without success status.
async fn refused(response: Response<ResponseBody>) -> ClientError {
    let status = response.status().as_u16();
    let body = match whole(response).await {
        Ok(body) => body,
        Err(error) => return error,
    };
    said_no(status, &body)
}

fn said_no(status: u16, body: &[u8]) -> ClientError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(ErrorBody { error: problem }) => ClientError::Refused { status, problem },
        Err(_) => ClientError::Malformed(format!("status {status} without an error body")),
    }
}
