//! Connections: accepted within bounds, ended gracefully. Without a connection there is no timer.

use std::io;
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
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::Service as _;

use crate::app::{IN_FLIGHT_MAX, STREAMS_MAX};
use crate::guard::Peer;
use crate::stream::Patient;

/// Most connections: every stream, every request that may be worked on, and three idle ones beside each of those, as
/// browsers keep them. Whoever comes on top is hung up on.
const CONNECTIONS_MAX: usize = STREAMS_MAX + 4 * IN_FLIGHT_MAX;

/// Longest wait for the head of a request, and for the next one on a connection that is kept.
const HEAD_READ_MS_MAX: u64 = 10_000;

/// Largest head of a request in bytes. Room for the longest cursor and the cookies of a browser.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How long requests in flight have when the server ends.
const DRAIN_MS_MAX: u64 = 5_000;

/// Rest after an accept that failed, which is nearly always for want of file descriptors: trying again at once would
/// only burn the processor until somebody hangs up.
const ACCEPT_REST_MS: u64 = 100;

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Connections that were cut off because they did not end in time.
    pub cut_off: usize,
}

/// Serves until `stop` resolves; then nobody is let in any more, and whoever is inside has a few seconds. Streams end
/// when the stage says so, which must happen by then.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) -> Ended {
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) if connections.len() < CONNECTIONS_MAX => {
                    connections.spawn(connection(stream, peer, app.clone(), graceful.watcher()));
                }
                Ok(_) => {}
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

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    app: Router,
    watcher: hyper_util::server::graceful::Watcher,
) {
    // Events are small and late by as much as the kernel waits for more. One that cannot be set is still a connection.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        app.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(HEAD_READ_MS_MAX))
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    // An error is a client that went away or does not speak HTTP. There is nobody to tell.
    let _ = watcher.watch(connection).await;
}
