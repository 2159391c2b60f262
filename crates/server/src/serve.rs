//! Listeners: they accept a bounded number of connections and close them gracefully. Without a connection
//! no timer runs.
//!
//! TCP and the home's socket have separate slots, so that network clients cannot lock out the operator.

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

/// How long requests in flight may take when the server stops.
const DRAIN_MS_MAX: u64 = 5_000;

/// Delay after a failed accept. The usual cause is a lack of file descriptors, and retrying at once would
/// only burn CPU until a connection closes.
const ACCEPT_RETRY_MS: u64 = 100;

/// Maximum number of clients that are rejected at the same time. Further clients are answered before their
/// request is read.
const TURNED_AWAY_MAX: usize = 32;

/// How long to wait for the request of a client that is rejected. A client may ignore a response that
/// arrives before its request is sent.
const TURNED_AWAY_MS_MAX: u64 = 1_000;

/// How many bytes are read from a rejected client: the head of an ordinary request.
const TURNED_AWAY_BYTES: usize = 4 * 1024;

/// The result of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerEnd {
    /// Number of connections that were aborted because they did not end in time.
    pub cut_off: usize,
}

/// Serves until `stop` resolves. Then no connection is accepted, and open ones have a few seconds to end.
/// Streams end when the stage changes, which must happen by then. Raises the process's limit of open files.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) -> ServerEnd {
    serve_at_most(descriptor::raise().network, listener, app, stop).await
}

/// Like [`serve`], with the given maximum number of connections.
pub async fn serve_at_most(
    connections_max: usize,
    listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()>,
) -> ServerEnd {
    let listener = Listener::Network(listener);
    serve_within(Slots::new(connections_max), listener, app, stop).await
}

/// Like [`serve`], on the home's socket; accepts only processes of this program's user and of root.
pub async fn serve_local(listener: UnixListener, app: Router, stop: impl Future<Output = ()>) -> ServerEnd {
    let slots = Slots::new(descriptor::raise().local);
    serve_within(slots, Listener::Local(listener), app, stop).await
}

/// The source of connections.
enum Listener {
    Network(TcpListener),
    Local(UnixListener),
}

/// The byte stream of a connection of either kind.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<C: AsyncRead + AsyncWrite + Send + Unpin> Duplex for C {}

type ByteStream = Box<dyn Duplex>;

impl Listener {
    /// Accepts the next connection. Returns `None` if it is to be ignored.
    async fn accept(&self) -> io::Result<Option<(ByteStream, Peer)>> {
        match self {
            Self::Network(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Nagle's algorithm would delay small events. A connection on which the option cannot be
                // set is still used.
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

/// Serves at most as many connections at a time as there are slots.
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

/// Whether the error concerns only this client, so that the next one can be accepted at once.
fn is_of_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// Rejects a client when all slots are in use, after its request has arrived or the time is over. The
/// response fits into the send buffer of a new connection.
async fn turn_away(mut stream: ByteStream, patience: Duration) {
    let mut asked = [0; TURNED_AWAY_BYTES];
    // The request is read first, because closing a connection with unread data makes some systems discard
    // the response.
    let _ = tokio::time::timeout(patience, stream.read(&mut asked)).await;
    let answer = raw_response(ApiError::too_many_connections());
    let answering = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await
    };
    let _ = tokio::time::timeout(patience, answering).await;
}
