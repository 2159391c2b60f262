//! Connections: accepted within bounds, ended gracefully. Without a connection there is no timer.

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::Service as _;

use crate::descriptor;
use crate::error::ApiError;
use crate::guard::Peer;
use crate::stream::Patient;

/// Longest wait for the head of a request, and for the next one on a connection that is kept.
const HEAD_READ_MS_MAX: u64 = 10_000;

/// Largest head of a request in bytes, its first line included. Room for the longest cursor and the cookies of a browser.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How long requests in flight have when the server ends.
const DRAIN_MS_MAX: u64 = 5_000;

/// Rest after an accept that failed, which is nearly always for want of file descriptors: trying again at once would
/// only burn the processor until somebody hangs up.
const ACCEPT_REST_MS: u64 = 100;

/// What is read from somebody who is turned away: the head of an ordinary request.
const TURNED_AWAY_BYTES: usize = 4 * 1024;

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Connections that were cut off because they did not end in time.
    pub cut_off: usize,
}

/// Serves until `stop` resolves; then nobody is let in any more, and whoever is inside has a few seconds. Streams end
/// when the stage says so, which must happen by then. Raises the process's limit of open files.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) -> Ended {
    serve_within(descriptor::raise(), listener, app, stop).await
}

/// Serves so many connections at a time. Whoever comes on top is told to come again, and hung up on.
async fn serve_within(
    connections_max: usize,
    listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()>,
) -> Ended {
    let farewell = farewell();
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < connections_max => {
                    // Events are small and late by as much as the kernel waits for more. One that cannot be set is
                    // still a connection.
                    let _ = stream.set_nodelay(true);
                    connections.spawn(connection(stream, peer, app.clone(), graceful.watcher()));
                }
                Ok((stream, _)) => turn_away(stream, &farewell),
                Err(error) if is_of_one_client(&error) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(ACCEPT_REST_MS)).await,
            },
        }
    }
    drop(listener);
    let drained = tokio::time::timeout(Duration::from_millis(DRAIN_MS_MAX), graceful.shutdown()).await;
    let cut_off = if drained.is_ok() { 0 } else { connections.len() };
    connections.abort_all();
    while connections.join_next().await.is_some() {}
    Ended { cut_off }
}

/// Whether only this client is concerned, so that the next can be taken at once.
fn is_of_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// What those hear for whom there is no place: an answer like any other, ready to be sent.
fn farewell() -> Vec<u8> {
    let message = "as many connections are open as this daemon takes";
    let hint = "ask again in a moment, and close streams that nobody reads";
    let body = ApiError::unavailable("overloaded", message, hint).into_json();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         retry-after: 1\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Says farewell without waiting for anything. It fits into the buffer of a connection that is new; a client that does
/// not get it notices that nobody is there, and nothing else can be done for it here.
fn turn_away(stream: TcpStream, farewell: &[u8]) {
    // Not tokio's own way, which would wait to be told that the connection can be written to.
    let Ok(mut stream) = stream.into_std() else { return };
    let _ = stream.write(farewell);
    // What was asked is taken along: to hang up over unread bytes would make some systems drop the answer as well.
    let _ = stream.read(&mut [0; TURNED_AWAY_BYTES]);
}

/// Serves one client until it goes.
pub(crate) async fn connection<C>(
    stream: C,
    peer: SocketAddr,
    app: Router,
    watcher: hyper_util::server::graceful::Watcher,
) where
    C: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        app.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_READ_MS_MAX))
        // The size of a buffer is no bound: a head that came in one piece is taken beyond it.
        .max_header_size(HEAD_BYTES_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    // An error is a client that went away or does not speak HTTP. There is nobody to tell.
    let _ = watcher.watch(connection).await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::ToSocketAddrs;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    async fn ask(address: impl ToSocketAddrs) -> (TcpStream, String) {
        let mut client = TcpStream::connect(address).await.expect("a connection");
        client.write_all(REQUEST).await.expect("sent");
        let mut answer = vec![0; 4_096];
        let length = client.read(&mut answer).await.expect("an answer");
        let answer = answer.get(..length).unwrap_or_default();
        (client, String::from_utf8_lossy(answer).into_owned())
    }

    #[tokio::test]
    async fn whoever_comes_beyond_the_last_connection_is_told_so_and_hung_up_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let app = Router::new().route("/", get(|| async { "hello" }));
        let server = tokio::spawn(serve_within(2, listener, app, std::future::pending()));
        let (first, answer) = ask(address).await;
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
        let (_second, answer) = ask(address).await;
        assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
        let (mut third, answer) = ask(address).await;
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(
            head.starts_with("HTTP/1.1 503 ") && head.contains("retry-after: 1"),
            "{head}"
        );
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{head}"
        );
        let error: wakeful_api::ErrorBody = serde_json::from_str(body).expect("the shape of errors");
        assert_eq!(error.error.code, "overloaded");
        assert_eq!(
            third.read(&mut [0; 16]).await.unwrap_or(0),
            0,
            "it was hung up on"
        );
        drop(first);
        while !ask(address).await.1.ends_with("hello") {
            tokio::task::yield_now().await;
        }
        server.abort();
    }
}
