//! A small typed client: one connection per call, and streams that can be followed.
//!
//! It reaches a daemon by the socket in the daemon's home or over TCP, or calls a router in its own process.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
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

use crate::endpoint::{self, Endpoint, Operation};
use crate::{ErrorBody, GetReadiness, Readiness, ReadinessStatus};

/// Largest answer that is read. The API's own pages are bounded far below it.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest time for one call. The server's own limit is shorter.
const CALL_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest time until somebody takes the connection. On one machine the kernel does so at once.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);

/// How often a socket is tried again on which more clients wait than the kernel keeps.
const BACKLOG_RETRY: Duration = Duration::from_millis(10);

/// Longest time until a stream begins. Nothing has to be computed before its first line.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest time to tell how far it is, which a daemon knows without looking. One that needs longer hangs.
const READINESS_TIME_MAX: Duration = Duration::from_secs(3);

/// The code of a daemon that serves no more streams by this way.
const TOO_MANY_STREAMS: &str = "too_many_streams";

/// The body of a response, whichever way it came.
pub type ResponseBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A router in this process, as a client calls it.
pub type InProcessRouter = BoxCloneSyncService<Request<Full<Bytes>>, Response<ResponseBody>, Infallible>;

/// The API of one daemon, or of a router in this process.
#[derive(Debug, Clone)]
pub struct Client(Transport);

#[derive(Debug, Clone)]
enum Transport {
    Daemon {
        address: String,
        token: String,
        socket: Option<PathBuf>,
    },
    InProcess(InProcessRouter),
}

/// Why a call did not succeed.
#[derive(Debug)]
pub enum ClientError {
    /// Nobody answers there, or stopped in the middle.
    Unreachable(String),
    /// The server said no, and why.
    Refused {
        /// The HTTP status.
        status: u16,
        /// In words.
        problem: Problem,
    },
    /// What came is not what the contract says.
    Malformed(String),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the daemon does not answer: {why}"),
            Self::Refused { problem, .. } => f.write_str(&problem.message),
            Self::Malformed(why) => write!(f, "the daemon's answer cannot be understood: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl Client {
    /// A client for the daemon at `host:port`.
    #[must_use]
    pub const fn new(address: String, token: String) -> Self {
        Self(Transport::Daemon {
            address,
            token,
            socket: None,
        })
    }

    /// The same, by the socket in the daemon's home. Over TCP where nothing listens there.
    #[must_use]
    pub fn by_socket(mut self, path: PathBuf) -> Self {
        if let Transport::Daemon { socket, .. } = &mut self.0 {
            *socket = Some(path);
        }
        self
    }

    /// A client for a router in this process.
    #[must_use]
    pub const fn in_process(router: InProcessRouter) -> Self {
        Self(Transport::InProcess(router))
    }

    /// Whether it reaches a daemon.
    #[must_use]
    pub const fn is_daemon(&self) -> bool {
        matches!(self.0, Transport::Daemon { .. })
    }

    /// Calls an endpoint.
    pub async fn call<E: Endpoint>(&self, input: &E) -> Result<E::Output, ClientError> {
        let bytes = self.answer(self.request(input)?).await?;
        serde_json::from_slice(&bytes).map_err(|error| malformed(&error))
    }

    /// The body of a success.
    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Bytes, ClientError> {
        let answered = async {
            let response = self.send(request).await?;
            match response.status().is_success() {
                true => whole(response).await,
                false => Err(refused(response).await),
            }
        };
        match self.0 {
            Transport::Daemon { .. } => within(CALL_TIME_MAX, answered).await,
            // Nothing is between the caller and the database that could hang, so it may take its time.
            Transport::InProcess(_) => answered.await,
        }
    }

    /// How far the daemon is. It answers with the same words whether it can be used or not.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let asked = async {
            let request = self.request(&GetReadiness {})?;
            let response = self.send(request).await?;
            let status = response.status().as_u16();
            let bytes = whole(response).await?;
            match serde_json::from_slice::<ReadinessStatus>(&bytes) {
                Ok(ready) => Ok(ready.status),
                // It may be too busy to say even that, and then says so.
                Err(_) => Err(said_no(status, &bytes)),
            }
        };
        within(READINESS_TIME_MAX, asked).await
    }

    /// Follows a stream, from a place in it if one is given. Where the socket serves no more streams, over TCP: the daemon
    /// has just answered, so its port is its own.
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

    /// The same daemon over TCP; none where it is reached so already.
    fn over_tcp(&self) -> Option<Self> {
        match &self.0 {
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
        if let Transport::Daemon { address, token, .. } = &self.0 {
            builder = builder
                .header(HOST, address)
                .header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let built = builder.body(Full::from(body));
        built.map_err(|error| malformed(&error))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<ResponseBody>, ClientError> {
        let (address, socket) = match &self.0 {
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

/// The stream that a response begins.
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

/// The path and query of a call, and its body.
fn target(operation: &Operation, fields: Value) -> Result<(String, Vec<u8>), ClientError> {
    let Value::Object(mut fields) = fields else {
        return Err(ClientError::Malformed(format!("{} is no object", operation.name)));
    };
    fields.retain(|_, value| !value.is_null());
    let mut target = operation.path.to_owned();
    for name in operation.path_parameters() {
        // What may be in a path has no character that must be escaped there.
        let value = fields.remove(name);
        let value = value.as_ref().and_then(Value::as_str).unwrap_or_default();
        target = target.replace(&format!("{{{name}}}"), value);
    }
    if operation.takes_body {
        let body = serde_json::to_vec(&fields).map_err(|error| malformed(&error))?;
        return Ok((target, body));
    }
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

/// Connects to a socket, waiting for those who came before.
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

/// Sends a request on a connection of its own.
async fn exchange<C>(stream: C, request: Request<Full<Bytes>>) -> Result<Response<ResponseBody>, ClientError>
where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unreachable(&error))?;
    // It ends with the answer's body, or when that is dropped.
    tokio::spawn(connection);
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| unreachable(&error))?;
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// A stream of events that is being followed.
#[derive(Debug)]
pub struct Stream {
    body: ResponseBody,
    frames: Frames,
    ready: Vec<Frame>,
}

impl Stream {
    /// The next frame; none when the server has ended the stream.
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
    let late = |_| ClientError::Unreachable(format!("it took longer than {} s", limit.as_secs()));
    tokio::time::timeout(limit, work).await.map_err(late)?
}

async fn whole(response: Response<ResponseBody>) -> Result<Bytes, ClientError> {
    let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
        .collect()
        .await;
    let body = body.map_err(|error| ClientError::Unreachable(error.to_string()))?;
    let bytes = body.to_bytes();
    // No content is the JSON of nothing.
    Ok(if bytes.is_empty() {
        Bytes::from_static(b"null")
    } else {
        bytes
    })
}

/// What a server that said no had to say.
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
        Err(_) => ClientError::Malformed(format!("status {status} without an error in it")),
    }
}
