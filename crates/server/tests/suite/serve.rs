//! The server on a real socket.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use wakeful_server::{DaemonStage, ServerEnd, serve};

use super::test_server::{HOST, TOKEN, TestServer};

#[tokio::test]
async fn a_server_responds_and_stops_on_request() {
    let world = TestServer::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, world.app, async {
        let _ = stopped.await;
    }));
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let request = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:7717\r\n\r\n";
    client.write_all(request).await.expect("sent");
    let mut answer = vec![0; 1_024];
    let length = client.read(&mut answer).await.expect("an answer");
    assert!(answer[..length].starts_with(b"HTTP/1.1 200 OK\r\n"));
    stop.send(()).expect("it runs");
    // An idle connection is closed at once when the server stops.
    assert_eq!(client.read(&mut answer).await.expect("an end"), 0);
    assert_eq!(server.await.expect("it ended"), ServerEnd { cut_off: 0 });
}

#[tokio::test]
async fn a_stream_ends_with_the_daemon_without_delaying_it() {
    let world = TestServer::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, world.app, async {
        let _ = stopped.await;
    }));
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "GET /api/events HTTP/1.1\r\nhost: {HOST}\r\nauthorization: Bearer {TOKEN}\r\naccept: text/event-stream\r\n\r\n"
    );
    client.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = vec![0; 4_096];
    let length = client.read(&mut answer).await.expect("an answer");
    assert!(answer[..length].starts_with(b"HTTP/1.1 200 OK\r\n"));
    world.stage.send_replace(DaemonStage::Stopping);
    stop.send(()).expect("it runs");
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.expect("an end");
    assert!(
        rest.ends_with(b"0\r\n\r\n"),
        "the stream is whole: {}",
        String::from_utf8_lossy(&rest)
    );
    assert_eq!(server.await.expect("it ended"), ServerEnd { cut_off: 0 });
}

#[tokio::test]
async fn a_tool_process_may_brake_but_not_answer_release_or_set() {
    let world = TestServer::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(serve(listener, world.app, std::future::pending()));
    let answer = format!(
        "/api/decisions/{}/answer",
        world.services.ask().inquiry.decision_id
    );
    let deny = r#"{"option":"deny"}"#;
    let key = r#"{"key":"sk-1"}"#;
    let secret = r#"{"value":"s3cret-value"}"#;
    for (is_tool, path, body, status) in [
        (true, "/api/providers/mine/key", key, "HTTP/1.1 403"),
        (true, "/api/providers/mine/test", "{}", "HTTP/1.1 403"),
        (false, "/api/providers/mine/key", key, "HTTP/1.1 200"),
        (false, "/api/providers/other/key", key, "HTTP/1.1 404"),
        (true, answer.as_str(), deny, "HTTP/1.1 403"),
        (true, "/api/brake/release", "{}", "HTTP/1.1 403"),
        (
            true,
            "/api/settings",
            r#"{"name":"server.port","value":1}"#,
            "HTTP/1.1 403",
        ),
        (
            true,
            "/api/agents/main/settings",
            r#"{"ask_tools":[]}"#,
            "HTTP/1.1 403",
        ),
        (true, "/api/secrets/A_TOKEN", secret, "HTTP/1.1 403"),
        (false, "/api/secrets/A_TOKEN", secret, "HTTP/1.1 200"),
        (true, "/api/brake", "{}", "HTTP/1.1 200"),
        (false, &answer, deny, "HTTP/1.1 200"),
        (false, "/api/brake/release", "{}", "HTTP/1.1 200"),
    ] {
        world.told.is_tool.store(is_tool, Ordering::Relaxed);
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {HOST}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        client.write_all(request.as_bytes()).await.expect("sent");
        let mut said = String::new();
        client.read_to_string(&mut said).await.expect("an answer");
        assert!(said.starts_with(status), "{path}: {said}");
        assert_eq!(
            said.contains("caller_is_tool_process"),
            status.ends_with("403"),
            "{said}"
        );
    }
    server.abort();
}

/// The status line of the response to a request whose head has exactly this many bytes.
async fn status_of_head(address: std::net::SocketAddr, bytes: usize) -> String {
    let mut client = TcpStream::connect(address).await.expect("a connection");
    let begin = format!("GET /healthz HTTP/1.1\r\nhost: {HOST}\r\nx-filler: ");
    let filler = "x".repeat(bytes - begin.len() - "\r\n\r\n".len());
    let request = format!("{begin}{filler}\r\n\r\n");
    client.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = vec![0; 1_024];
    let length = client.read(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_head_of_more_than_64_kib_is_refused() {
    let world = TestServer::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = tokio::spawn(serve(listener, world.app, std::future::pending()));
    assert_eq!(status_of_head(address, 65_536).await, "HTTP/1.1 200 OK");
    for bytes in [65_537, 70_000, 100_000] {
        let status = status_of_head(address, bytes).await;
        assert_eq!(status, "HTTP/1.1 431 Request Header Fields Too Large", "{bytes}");
    }
    server.abort();
}
