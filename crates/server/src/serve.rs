//! Listeners: connections are accepted within bounds, and ended gracefully. Without a connection there is no timer.
//!
//! TCP and the home's socket have slots of their own, so that nothing on the network can keep the operator out.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::{ConnectionClient, connection, raw_response};
use crate::descriptor;
use crate::error::ApiError;
use crate::peer::{LocalPeer, Peer};
use crate::slots::Slots;

/// How long requests in flight have when the server ends.
const DRAIN_MS_MAX: u64 = 5_000;

/// Rest after an accept that failed, which is nearly always for want of file descriptors: trying again at once would
/// only burn the processor until somebody hangs up.
const ACCEPT_RETRY_MS: u64 = 100;

/// Most clients that are turned away at the same time. Those beyond it are answered before they have asked.
const TURNED_AWAY_MAX: usize = 32;

/// Longest wait for the request of a client that is turned away. A client that is answered before it asks may not
/// understand the answer.
const TURNED_AWAY_MS_MAX: u64 = 1_000;

/// What is read from a client that is turned away: the head of an ordinary request.
const TURNED_AWAY_BYTES: usize = 4 * 1024;

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEnd {
    /// Connections that were cut off because they did not end in time.
    pub cut_off: usize,
}

/// Serves until `stop` resolves; then nobody is let in any more, and whoever is inside has a few seconds. Streams end
/// when the stage says so, which must happen by then. Raises the process's limit of open files.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) -> ServerEnd {
    serve_at_most(descriptor::raise().network, listener, app, stop).await
}

/// The same with so many connections at a time.
pub async fn serve_at_most(
    connections_max: usize,
    listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()>,
) -> ServerEnd {
    let listener = Listener::Network(listener);
    serve_within(Slots::new(connections_max), listener, app, stop).await
}

/// The same by the home's socket, for processes of this program's own user and of root.
pub async fn serve_local(listener: UnixListener, app: Router, stop: impl Future<Output = ()>) -> ServerEnd {
    let slots = Slots::new(descriptor::raise().local);
    serve_within(slots, Listener::Local(listener), app, stop).await
}

/// Where connections come from.
enum Listener {
    Network(TcpListener),
    Local(UnixListener),
}

/// The bytes of a connection, whichever way it came.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Duplex for C {}

type ByteStream = Box<dyn Duplex>;

impl Listener {
    /// The next connection; none for one that is not answered.
    async fn accept(&self) -> io::Result<Option<(ByteStream, Peer)>> {
        match self {
            Self::Network(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Events are small and late by as much as the kernel waits for more. One that cannot be set is still a
                // connection.
                let _ = stream.set_nodelay(true);
                Ok(Some((Box::new(stream), Peer::Network(peer))))
            }
            Self::Local(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = LocalPeer::of(&stream).map(Peer::Local);
                Ok(peer.map(|peer| (Box::new(stream) as ByteStream, peer)))
            }
        }
    }
}

/// Serves as many connections at a time as there are slots.
async fn serve_within(
    slots: Arc<Slots>,
    listener: Listener,
    app: Router,
    stop: impl Future<Output = ()>,
) -> ServerEnd {
    let (stopping, asked) = watch::channel(false);
    let (mut connections, mut turned_away) = (JoinSet::new(), JoinSet::new());
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            Some(_) = turned_away.join_next(), if !turned_away.is_empty() => {}
            accepted = listener.accept(), if slots.may_accept() => match accepted {
                Ok(Some((stream, peer))) => match slots.open() {
                    Some(slot) => {
                        let client = ConnectionClient { peer, slot };
                        connections.spawn(connection(stream, client, app.clone(), asked.clone()));
                    }
                    None if turned_away.len() < TURNED_AWAY_MAX => {
                        turned_away.spawn(turn_away(stream, Duration::from_millis(TURNED_AWAY_MS_MAX)));
                    }
                    None => turn_away(stream, Duration::ZERO).await,
                },
                Ok(None) => {}
                Err(error) if is_of_one_client(&error) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await,
            },
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let ending = async { while connections.join_next().await.is_some() {} };
    let drained = tokio::time::timeout(Duration::from_millis(DRAIN_MS_MAX), ending).await;
    let cut_off = if drained.is_ok() { 0 } else { connections.len() };
    turned_away.abort_all();
    connections.abort_all();
    while connections.join_next().await.is_some() {}
    ServerEnd { cut_off }
}

/// Whether only this client is concerned, so that the next can be taken at once.
fn is_of_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// Answers a client for which there is no slot, once it has asked or the time is over. The answer fits into the buffer of
/// a connection that is new.
async fn turn_away(mut stream: ByteStream, patience: Duration) {
    let mut asked = [0; TURNED_AWAY_BYTES];
    // What was asked is read: closing over unread bytes would make some systems drop the answer as well.
    let _ = tokio::time::timeout(patience, stream.read(&mut asked)).await;
    let answer = raw_response(ApiError::too_many_connections());
    let answering = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(patience, answering).await;
}
