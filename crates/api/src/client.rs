//! A small typed client: one connection per call, and streams that can be followed.
//!
//! On the daemon's own machine it comes by the socket in the daemon's home, which has connections of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::socket::SocketName;
use crate::sse::{Frame, Frames};
use crate::{ErrorBody, Problem, Readiness, Ready};

/// Largest answer that is read. The API's own pages are bounded far below it.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Longest time for one call. The server's own limit is shorter.
const CALL_TIME_MAX: Duration = Duration::from_secs(60);

/// Longest time until somebody takes the connection. On one machine the kernel does so at once.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);

/// How often a socket is tried again on which more clients wait than the kernel keeps.
const BACKLOG_LOOK: Duration = Duration::from_millis(10);

/// Longest time until a stream begins. Nothing has to be computed before its first line.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest time to tell how far it is, which a daemon knows without looking. One that needs longer hangs.
const READINESS_TIME_MAX: Duration = Duration::from_secs(3);

/// The code of a daemon that serves no more streams by this way.
const TOO_MANY_STREAMS: &str = "too_many_streams";

/// The API of one daemon.
#[derive(Debug, Clone)]
pub struct Client {
    address: String,
    token: String,
    socket: Option<PathBuf>,
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
        let socket = None;
        Self {
            address,
            token,
            socket,
        }
    }

    /// The same, by the socket in the daemon's home. Over TCP where nothing listens there.
    #[must_use]
    pub fn by_socket(self, socket: PathBuf) -> Self {
        let socket = Some(socket);
        Self { socket, ..self }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Reads something.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, Vec::new()).await
    }

    /// How far the daemon is. It answers with the same words whether it can be used or not.
    pub async fn readiness(&self) -> Result<Readiness, ClientError> {
        let asked = async {
            let request = self.request(Method::GET, "/readyz", Vec::new())?;
            let response = self.send(request).await?;
            let status = response.status().as_u16();
            let bytes = whole(response).await?;
            match serde_json::from_slice::<Ready>(&bytes) {
                Ok(ready) => Ok(ready.status),
                // It may be too busy to say even that, and then says so.
                Err(_) => Err(said_no(status, &bytes)),
            }
        };
        within(READINESS_TIME_MAX, asked).await
    }

    /// Does something.
    pub async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Malformed(error.to_string()))?;
        self.call(Method::POST, path, body).await
    }

    /// Takes something away.
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, Vec::new()).await
    }

    /// Follows a stream, from a place in it if one is given. Where the socket serves no more streams, over TCP: the daemon
    /// has just answered, so its port is its own.
    pub async fn follow(&self, path: &str, after: Option<&str>) -> Result<Stream, ClientError> {
        let request = self.stream_request(path, after)?;
        let response = within(HEAD_TIME_MAX, self.send(request)).await?;
        match stream_of(response).await {
            Err(ClientError::Refused { problem, .. })
                if self.socket.is_some() && problem.code == TOO_MANY_STREAMS =>
            {
                let request = self.stream_request(path, after)?;
                let response = within(HEAD_TIME_MAX, self.send_over_tcp(request)).await?;
                stream_of(response).await
            }
            followed => followed,
        }
    }

    fn stream_request(&self, path: &str, after: Option<&str>) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = self.request(Method::GET, path, Vec::new())?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(after) = after {
            let after =
                HeaderValue::from_str(after).map_err(|error| ClientError::Malformed(error.to_string()))?;
            headers.insert("last-event-id", after);
        }
        Ok(request)
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<T, ClientError> {
        let called = async {
            let response = self.send(self.request(method, path, body)?).await?;
            if !response.status().is_success() {
                return Err(refused(response).await);
            }
            let bytes = whole(response).await?;
            serde_json::from_slice(&bytes).map_err(|error| ClientError::Malformed(error.to_string()))
        };
        within(CALL_TIME_MAX, called).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let built = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body));
        built.map_err(|error| ClientError::Malformed(error.to_string()))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError> {
        if let Some(socket) = &self.socket {
            let connecting = async { Ok(connect_local(socket).await) };
            match within(CONNECT_TIME_MAX, connecting).await? {
                Ok(stream) => return exchange(stream, request).await,
                // TCP only where the socket does not exist. If the socket refuses the connection, the daemon is ending or
                // dead, and another program may own its port; that program must not receive the token.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ClientError::Unreachable(error.to_string())),
            }
        }
        self.send_over_tcp(request).await
    }

    async fn send_over_tcp(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError> {
        let connecting = async {
            let stream = TcpStream::connect(&self.address).await;
            stream.map_err(|error| unreachable(&error))
        };
        exchange(within(CONNECT_TIME_MAX, connecting).await?, request).await
    }
}

/// The stream that a response begins.
async fn stream_of(response: Response<Incoming>) -> Result<Stream, ClientError> {
    if response.status() != StatusCode::OK {
        return Err(refused(response).await);
    }
    Ok(Stream {
        body: response.into_body(),
        frames: Frames::default(),
        ready: Vec::new(),
    })
}

fn unreachable(error: &dyn std::error::Error) -> ClientError {
    ClientError::Unreachable(error.to_string())
}

/// Connects to a socket, waiting for those who came before.
async fn connect_local(socket: &Path) -> io::Result<UnixStream> {
    let name = SocketName::of(socket)?;
    loop {
        match UnixStream::connect(name.as_path()).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(BACKLOG_LOOK).await,
            connected => return connected,
        }
    }
}

/// Sends a request on a connection of its own.
async fn exchange<C>(stream: C, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ClientError>
where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| unreachable(&error))?;
    // It ends with the answer's body, or when that is dropped.
    tokio::spawn(connection);
    sender
        .send_request(request)
        .await
        .map_err(|error| unreachable(&error))
}

/// A stream of events that is being followed.
#[derive(Debug)]
pub struct Stream {
    body: Incoming,
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
            self.ready = fed.map_err(|_| ClientError::Malformed("a line without end".to_owned()))?;
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

async fn whole(response: Response<Incoming>) -> Result<Bytes, ClientError> {
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
async fn refused(response: Response<Incoming>) -> ClientError {
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
