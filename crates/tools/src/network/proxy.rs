//! The proxy that the programs of one command connect to. It passes bytes on and reads none of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use wakeful_core::network_scope::Host;
use wakeful_core::tool::ConnectionVerdict as Verdict;

use super::connection_log::{ConnectionLog, Traffic};
use super::connector::{ConnectError, Connector};
use super::request::{BadRequest, HEAD_BYTES_MAX, ProxyRequest, end_of_head};

/// Most connections of one call, and of all calls of this process, at the same time. Each has two sockets of
/// the process. More wait.
const CONNECTIONS_MAX: usize = 48;
static PLACES: Semaphore = Semaphore::const_new(192);

/// How long a program may take to send its request, and the proxy to send a refusal.
const HEAD_MAX: Duration = Duration::from_secs(10);

/// How long nothing may pass in either direction.
const IDLE_MAX: Duration = Duration::from_secs(120);

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 32 * 1024;

/// Where the connections of a listener lead.
#[derive(Debug, Clone)]
pub(super) enum ProxyTarget {
    /// To the host that the program requests.
    Requested,
    /// To the same port of this machine, by the name that the agent's list has for it.
    Loopback(Host),
}

/// The proxy of one call.
pub(super) struct Proxy {
    connector: Arc<Connector>,
    log: Arc<ConnectionLog>,
    places: Arc<Semaphore>,
}

impl Proxy {
    pub(super) fn new(connector: Arc<Connector>, log: Arc<ConnectionLog>) -> Self {
        Self {
            connector,
            log,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }

    /// Accepts connections until it is dropped.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener, target: ProxyTarget) {
        let Ok(port) = listener.local_addr().map(|address| address.port()) else {
            return;
        };
        loop {
            let (Ok(place), Ok(turn)) = (
                PLACES.acquire().await,
                Arc::clone(&self.places).acquire_owned().await,
            ) else {
                return;
            };
            let Ok((client, _)) = listener.accept().await else {
                // The process has no free descriptor, or the client is gone.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let (proxy, target) = (Arc::clone(&self), target.clone());
            tokio::spawn(async move {
                // A broken connection ends only itself.
                let _broken = match target {
                    ProxyTarget::Requested => serve_one(client, &proxy.connector, &proxy.log).await,
                    ProxyTarget::Loopback(host) => {
                        proxy.forward(client, &host, port).await;
                        Ok(())
                    }
                };
                drop((place, turn));
            });
        }
    }

    /// Connects a program to a service of this machine. If that is refused, the program sees a closed connection,
    /// and the result of the call has the reason.
    async fn forward(&self, client: TcpStream, host: &Host, port: u16) {
        let name = host.to_string();
        match self.connector.connect(host, port).await {
            Ok((rule, origin)) => {
                let traffic = self.log.add(&name, port, Verdict::Allowed, &rule);
                tunnel(client, origin, &traffic).await;
            }
            Err(ConnectError::Refused { reason, hint }) => {
                self.log
                    .add(&name, port, Verdict::Refused, &format!("{reason}; {hint}"));
            }
            Err(ConnectError::Failed(reason)) => {
                self.log.add(&name, port, Verdict::Failed, &reason);
            }
        }
    }
}

async fn serve_one(mut client: TcpStream, connector: &Connector, log: &ConnectionLog) -> io::Result<()> {
    let mut bytes = Vec::new();
    let request = match timeout(HEAD_MAX, read_head(&mut client, &mut bytes)).await {
        Ok(Ok(Some(end))) => {
            let rest = bytes.split_off(end);
            let request = ProxyRequest::parse(&bytes);
            bytes = rest;
            request
        }
        Ok(Ok(None)) => Err(BadRequest::TooLarge),
        Ok(Err(error)) => return Err(error),
        Err(_) => return Ok(()),
    };
    let request = match request {
        Ok(request) => request,
        Err(bad) => {
            log.add("", 0, Verdict::Refused, &bad.to_string());
            return respond(&mut client, "400 Bad Request", &bad.to_string()).await;
        }
    };
    let ProxyRequest { host, port, head } = request;
    let name = host.to_string();
    match connector.connect(&host, port).await {
        Ok((rule, mut origin)) => {
            let traffic = log.add(&name, port, Verdict::Allowed, &rule);
            match head {
                Some(head) => origin.write_all(&head).await?,
                None => {
                    client
                        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        .await?
                }
            }
            origin.write_all(&bytes).await?;
            traffic.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            tunnel(client, origin, &traffic).await;
            Ok(())
        }
        Err(ConnectError::Refused { reason, hint }) => {
            log.add(&name, port, Verdict::Refused, &format!("{reason}; {hint}"));
            let text = format!("Wakeful refused this connection: {reason}.\n{hint}\n");
            respond(&mut client, "403 Not allowed by Wakeful", &text).await
        }
        Err(ConnectError::Failed(reason)) => {
            log.add(&name, port, Verdict::Failed, &reason);
            respond(&mut client, "502 Bad Gateway", &format!("{reason}\n")).await
        }
    }
}

/// Reads until the head is complete. None if it is too long.
async fn read_head(client: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let mut chunk = vec![0; 2_048];
    loop {
        if let Some(end) = end_of_head(bytes) {
            return Ok((end <= HEAD_BYTES_MAX).then_some(end));
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
        match client.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend(chunk.iter().take(count)),
        }
    }
}

async fn respond(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let send = async {
        client.write_all(response.as_bytes()).await?;
        client.shutdown().await?;
        // A close with unread bytes resets the connection, and the client would lose the response.
        let mut rest = vec![0; CHUNK_BYTES];
        let mut left = HEAD_BYTES_MAX * 4;
        while left > 0 {
            match client.read(&mut rest).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    };
    timeout(HEAD_MAX, send).await.unwrap_or(Ok(()))
}

/// Passes bytes in both directions until both have ended, or nothing passes for too long.
pub(super) async fn tunnel(client: TcpStream, origin: TcpStream, traffic: &Traffic) {
    let moved = AtomicU64::new(0);
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_origin, mut to_origin) = origin.into_split();
    let both = async {
        tokio::join!(
            copy(&mut from_client, &mut to_origin, [&traffic.sent, &moved]),
            copy(&mut from_origin, &mut to_client, [&traffic.received, &moved]),
        );
    };
    let idle = async {
        let mut before = 0;
        loop {
            tokio::time::sleep(IDLE_MAX).await;
            let now = moved.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    };
    tokio::select! {
        () = both => {}
        () = idle => {}
    }
}

/// Copies until the end of the source, and passes the end on.
async fn copy(
    source: &mut (impl AsyncRead + Unpin),
    sink: &mut (impl AsyncWrite + Unpin),
    counters: [&AtomicU64; 2],
) {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match source.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        if sink
            .write_all(chunk.get(..count).unwrap_or_default())
            .await
            .is_err()
        {
            break;
        }
        for counter in counters {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        }
    }
    // The other side may be gone.
    let _gone = sink.shutdown().await;
}
