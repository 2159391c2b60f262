//! Which connections are kept and which are closed at the limit, over TCP and the home's socket.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;
use wakeful_server::{ServerEnd, serve_at_most, serve_local};

use super::test_server::{HOST, TOKEN, TestServer};

/// Maximum number of connections of the test server.
const CONNECTIONS: usize = 8;

struct Served {
    address: SocketAddr,
    server: JoinHandle<ServerEnd>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn served(world: &TestServer) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = serve_at_most(CONNECTIONS, listener, world.app.clone(), std::future::pending());
    let server = tokio::spawn(serving);
    Served { address, server }
}

async fn connect(served: &Served) -> TcpStream {
    TcpStream::connect(served.address).await.expect("a connection")
}

/// The first bytes of the response to a request.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), head: &str) -> String {
    let request = format!("{head}\r\nhost: {HOST}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = vec![0; 16_384];
    let length = stream.read(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

fn with_token(line: &str) -> String {
    format!("{line} HTTP/1.1\r\nauthorization: Bearer {TOKEN}")
}

fn error_code(answer: &str) -> String {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    let error: wakeful_api::ErrorBody = serde_json::from_str(body).expect("the shape of errors");
    error.error.code.into_owned()
}

#[tokio::test]
async fn idle_connections_are_closed_with_a_reason() {
    let world = TestServer::new();
    let served = served(&world).await;
    let mut idle = Vec::new();
    for _ in 0..3 * CONNECTIONS {
        idle.push(connect(&served).await);
    }
    let mut client = connect(&served).await;
    let answer = ask(&mut client, &with_token("GET /api/brake")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let mut told = String::new();
    idle[0].read_to_string(&mut told).await.expect("an end");
    assert!(
        told.starts_with("HTTP/1.1 503 ") && told.contains("retry-after: 1"),
        "{told}"
    );
    assert_eq!(error_code(&told), "too_many_connections");
}

#[tokio::test]
async fn an_authenticated_connection_survives_a_flood() {
    let world = TestServer::new();
    let served = served(&world).await;
    let mut client = connect(&served).await;
    let first = ask(&mut client, &with_token("GET /api/brake")).await;
    assert!(first.starts_with("HTTP/1.1 200 "), "{first}");
    let mut flood = Vec::new();
    for _ in 0..10 * CONNECTIONS {
        let mut one = connect(&served).await;
        let answer = ask(&mut one, "GET /healthz HTTP/1.1").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        flood.push(one);
    }
    let again = ask(&mut client, &with_token("GET /api/brake")).await;
    assert!(again.starts_with("HTTP/1.1 200 "), "{again}");
}

#[tokio::test]
async fn requests_without_a_token_leave_slots_to_those_with_one() {
    let world = TestServer::new();
    let served = served(&world).await;
    let shown = world.post("/api/agents/main/external-trigger", "").await;
    let shown: wakeful_api::ExternalTrigger = serde_json::from_str(&shown.body).expect("a trigger");
    let path = shown.trigger_path.expect("an address");
    // Deliveries whose bodies never arrive count as requests in progress.
    let mut slow = Vec::new();
    for _ in 0..CONNECTIONS - 1 {
        let mut one = connect(&served).await;
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {HOST}\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n"
        );
        one.write_all(request.as_bytes()).await.expect("sent");
        let mut heard = [0; 64];
        let length = one.read(&mut heard).await.expect("it is waited for");
        assert!(heard[..length].starts_with(b"HTTP/1.1 100 "));
        slow.push(one);
    }
    let mut fresh = connect(&served).await;
    let answer = ask(&mut fresh, "GET / HTTP/1.1").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(error_code(&answer), "too_many_connections");
    let mut client = connect(&served).await;
    let answer = ask(&mut client, &with_token("GET /api/brake")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_connection_is_refused_when_all_others_are_busy() {
    let world = TestServer::new();
    let served = served(&world).await;
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut one = connect(&served).await;
        let head = with_token("GET /api/events") + "\r\naccept: text/event-stream";
        let answer = ask(&mut one, &head).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        streams.push(one);
    }
    let mut client = connect(&served).await;
    let answer = ask(&mut client, &with_token("GET /api/brake")).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert_eq!(error_code(&answer), "too_many_connections");
}

#[tokio::test]
async fn a_client_that_keeps_sending_after_a_refusal_can_read_it() {
    let world = TestServer::new();
    let served = served(&world).await;
    let mut client = connect(&served).await;
    let head = with_token("POST /api/brake");
    let request = format!(
        "{head}\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: 1000000000000000000\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.expect("sent");
    // More than the kernel buffers, so the server must have read some of it.
    client
        .write_all(&vec![b'x'; 8 * 1024 * 1024])
        .await
        .expect("sent on");
    let mut answer = String::new();
    client
        .read_to_string(&mut answer)
        .await
        .expect("an answer and an end");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(error_code(&answer), "body_too_large");
}

#[tokio::test]
async fn the_socket_needs_the_token_but_no_host_and_detects_tools() {
    let world = TestServer::new();
    let folder = std::env::temp_dir().join(format!("wakeful-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    let server = tokio::spawn(serve_local(listener, world.app.clone(), std::future::pending()));
    let answer_to = async |request: String| {
        let mut client = UnixStream::connect(&path).await.expect("a connection");
        client.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        answer
    };
    let close = "connection: close\r\n\r\n";
    let answer = answer_to(format!(
        "{}\r\nhost: anything\r\n{close}",
        with_token("GET /api/brake")
    ))
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let answer = answer_to(format!("GET /api/brake HTTP/1.1\r\nhost: {HOST}\r\n{close}")).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    let page = format!(
        "{}\r\nhost: {HOST}\r\norigin: http://evil\r\n{close}",
        with_token("GET /api/brake")
    );
    assert!(answer_to(page).await.starts_with("HTTP/1.1 403 "));
    world.told.is_tool.store(true, Ordering::Relaxed);
    let head = with_token("POST /api/brake/release");
    let release = format!(
        "{head}\r\nhost: {HOST}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n{close}{{}}"
    );
    let answer = answer_to(release).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(error_code(&answer), "caller_is_tool_process");
    server.abort();
    std::fs::remove_dir_all(folder).expect("removed");
}
