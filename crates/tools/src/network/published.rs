//! Publishes ports of a command's network namespace on the loopback address of this machine, while the
//! command runs.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as StdListener};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;

use super::connection_log::Traffic;
use super::proxy::tunnel;
use crate::sandbox::network_namespace::{IPV4_SOCKET, IPV6_SOCKET};
use crate::sandbox::protocol::receive_descriptors;

/// Most connections to one published port at the same time. More wait.
const CONNECTIONS_MAX: usize = 32;

/// How long the supervisor may take to create a socket.
const SOCKET_MAX: Duration = Duration::from_secs(1);

/// Where sockets of the namespace come from.
#[derive(Debug, Clone)]
pub(super) struct SocketSource(Arc<Mutex<UnixStream>>);

impl SocketSource {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(SOCKET_MAX))?;
        stream.set_write_timeout(Some(SOCKET_MAX))?;
        Ok(Self(Arc::new(Mutex::new(stream))))
    }

    /// A new TCP socket of the namespace.
    fn socket(&self, family: u8) -> io::Result<TcpSocket> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&[family])?;
        let (mut bytes, mut received) = ([0], Vec::new());
        receive_descriptors(&stream, &mut bytes, &mut received)?;
        drop(stream);
        let socket = received.pop().ok_or(io::ErrorKind::UnexpectedEof)?;
        let socket = std::net::TcpStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(TcpSocket::from_std_stream(socket))
    }

    /// Connects to a server in the namespace. Some listen on only one of both loopback addresses.
    async fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        match self.socket(IPV4_SOCKET)?.connect(v4).await {
            Ok(stream) => Ok(stream),
            Err(_) => self.socket(IPV6_SOCKET)?.connect(v6).await,
        }
    }
}

/// Occupies the ports. Those that another program uses are returned as findings.
pub(super) fn bind(ports: &BTreeSet<u16>) -> (Vec<(u16, StdListener)>, Vec<String>) {
    let (mut bound, mut findings) = (Vec::new(), Vec::new());
    for port in ports {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, *port));
        match listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => bound.push((*port, listener)),
            Err(error) => findings.push(format!(
                "port {port} was not published on this machine: {error}; another program uses it, or it is reserved"
            )),
        }
    }
    (bound, findings)
}

/// Accepts connections to a published port until it is dropped.
pub(super) async fn serve(listener: TcpListener, port: u16, source: SocketSource) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let source = source.clone();
        tokio::spawn(async move {
            // Without a server in the sandbox, the client sees a closed connection.
            if let Ok(server) = source.connect(port).await {
                tunnel(client, server, &Traffic::default()).await;
            }
            drop(place);
        });
    }
}
