//! Tests the proxy on loopback addresses, without a sandbox.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wakeful_core::id::AgentId;
use wakeful_core::network_scope::{Host, HostRules};
use wakeful_core::policy::HostDecision;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::tool::ConnectionVerdict as Verdict;
use wakeful_ports::tool::HostPolicy;

use super::connection_log::ConnectionLog;
use super::connector::{ConnectError, Connector, Resolver, Route};
use super::proxy::{Proxy, ProxyTarget};
use super::request::{BadRequest, HEAD_BYTES_MAX, ProxyRequest};
use super::upstream::Upstream;

/// Answers each resolution with the next address, and counts them.
#[derive(Debug)]
pub(crate) struct ScriptedResolver {
    answers: Vec<IpAddr>,
    count: AtomicUsize,
}

impl Resolver for ScriptedResolver {
    fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        let at = self.count.fetch_add(1, Ordering::SeqCst);
        let found = self.answers.get(at).or(self.answers.last());
        Ok(found.copied().into_iter().collect())
    }
}

fn resolver(answers: &[&str]) -> Arc<ScriptedResolver> {
    Arc::new(ScriptedResolver {
        answers: answers
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect(),
        count: AtomicUsize::new(0),
    })
}

pub(crate) fn connector(allowed: &[String], answers: &[&str]) -> (Connector, Arc<ScriptedResolver>) {
    let scope = SandboxScope {
        allowed_hosts: allowed.iter().cloned().collect(),
        ..SandboxScope::default()
    };
    let resolver = resolver(answers);
    let connector = Connector {
        rules: HostRules::parse(&scope).expect("rules"),
        policy: HostPolicy::default(),
        agent_id: AgentId::parse("main").expect("an id"),
        resolver: Arc::clone(&resolver) as Arc<dyn Resolver>,
        upstream: None,
        own_addresses: crate::OwnAddresses::default(),
    };
    (connector, resolver)
}

#[test]
fn a_name_is_found_in_the_file_of_hosts_before_the_dns() {
    let text = "127.0.0.1 localhost\n10.77.0.1\tgit.internal  GIT # 10.0.0.1 x.internal\n::1 git.internal\nbad git.internal\n";
    let addresses = |name| super::connector::listed_addresses(text, name);
    let expected: Vec<IpAddr> = vec![
        "10.77.0.1".parse().expect("an address"),
        "::1".parse().expect("an address"),
    ];
    assert_eq!(addresses("Git.Internal"), expected);
    assert_eq!(addresses("x.internal"), Vec::<IpAddr>::new());
    assert_eq!(addresses("internal"), Vec::<IpAddr>::new());
}

fn host(text: &str) -> Host {
    Host::parse(text).expect("a host")
}

/// A server that answers each connection with these bytes after the first read, and returns what it read.
async fn origin(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let port = listener.local_addr().expect("an address").port();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut bytes = vec![0; 4_096];
        let count = stream.read(&mut bytes).await.expect("bytes");
        stream.write_all(answer.as_bytes()).await.expect("sent");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    });
    (port, served)
}

/// Starts a proxy, sends bytes to it, and returns its whole answer and its log.
async fn through_proxy(connector: Connector, bytes: &[u8]) -> (String, Arc<ConnectionLog>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let log = Arc::new(ConnectionLog::default());
    let proxy = Arc::new(Proxy::new(Arc::new(connector), Arc::clone(&log)));
    let serving = tokio::spawn(proxy.serve(listener, ProxyTarget::Requested));
    let mut client = TcpStream::connect(address).await.expect("connected");
    client.write_all(bytes).await.expect("sent");
    client.shutdown().await.expect("half closed");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.expect("an answer");
    serving.abort();
    (String::from_utf8_lossy(&answer).into_owned(), log)
}

// Conformance: A-177
#[tokio::test]
async fn a_name_is_resolved_once_and_its_address_is_judged() {
    let (port, served) = origin("hello").await;
    let allowed = [format!("a.example:{port}"), format!("127.0.0.1:{port}")];
    let (connector, resolver) = connector(&allowed, &["127.0.0.1", "169.254.169.254"]);
    let (_, mut stream) = connector
        .connect(&host("a.example"), port)
        .await
        .expect("connected");
    stream.write_all(b"x").await.expect("sent");
    served.await.expect("served");
    assert_eq!(resolver.count.load(Ordering::SeqCst), 1);
    // The second answer of the same name is another address.
    let refused = connector.connect(&host("a.example"), port).await;
    assert!(
        matches!(refused, Err(ConnectError::Refused { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_policy_opens_a_public_host_and_not_its_private_addresses() {
    let permits = HostPolicy::new(|_| HostDecision::Permitted {
        rule: "main.cedar#docs".to_owned(),
    });
    for (address, is_open) in [("93.184.216.34", true), ("10.0.0.1", false)] {
        let (mut connector, _) = connector(&[], &[address]);
        let host = host("docs.example");
        let refused = connector.route(&host, 443).await;
        assert!(
            matches!(refused, Err(ConnectError::Refused { .. })),
            "{refused:?}"
        );
        connector.policy = permits.clone();
        let found = connector.route(&host, 443).await;
        assert_eq!(found.is_ok(), is_open, "{found:?}");
        if let Ok((rule, _)) = found {
            assert_eq!(rule, "main.cedar#docs");
        }
    }
}

#[tokio::test]
async fn an_allowed_name_does_not_open_private_addresses() {
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:127.0.0.1",
        "fd00::1",
        "64:ff9b::7f00:1",
    ] {
        let (connector, _) = connector(&["a.example".to_owned()], &[address]);
        let refused = connector.route(&host("a.example"), 443).await;
        let Err(ConnectError::Refused { reason, hint }) = refused else {
            panic!("{address}: {refused:?}");
        };
        assert!(reason.contains("a.example resolves to"), "{reason}");
        assert!(
            hint.starts_with(
                "a person can allow it: wakeful agent set main --allow-host a.example --allow-host "
            ),
            "{hint}"
        );
    }
}

#[tokio::test]
async fn a_public_address_is_the_one_that_is_connected_to() {
    let (connector, _) = connector(&["a.example".to_owned()], &["1.1.1.1"]);
    let (rule, route) = connector.route(&host("a.example"), 443).await.expect("a route");
    assert_eq!(rule, "a.example");
    assert_eq!(
        route,
        Route::Direct(vec!["1.1.1.1:443".parse().expect("an address")])
    );
}

#[tokio::test]
async fn connect_passes_bytes_in_both_directions_and_counts_them() {
    let (port, served) = origin("from the origin").await;
    let (connector, _) = connector(&[format!("localhost:{port}")], &[]);
    let request = format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: x\r\n\r\nto the origin");
    let (answer, log) = through_proxy(connector, request.as_bytes()).await;
    assert_eq!(
        answer,
        "HTTP/1.1 200 Connection established\r\n\r\nfrom the origin"
    );
    assert_eq!(served.await.expect("served"), "to the origin");
    let (connections, omitted) = log.read();
    assert_eq!((connections.len(), omitted), (1, 0));
    let entry = &connections[0];
    assert_eq!(
        (entry.host.as_str(), entry.port, entry.verdict),
        ("localhost", port, Verdict::Allowed)
    );
    assert_eq!((entry.sent_bytes, entry.received_bytes), (13, 15));
}

#[tokio::test]
async fn a_plain_request_reaches_the_judged_host_under_its_name() {
    let (port, served) = origin("HTTP/1.1 204 No Content\r\n\r\n").await;
    let (connector, _) = connector(&[format!("localhost:{port}")], &[]);
    let request = format!(
        "GET http://LOCALHOST:{port}/a?b HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nAccept: y\r\n\r\n"
    );
    let (answer, _) = through_proxy(connector, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let sent = served.await.expect("served");
    assert_eq!(
        sent,
        format!("GET /a?b HTTP/1.1\r\nHost: localhost:{port}\r\nAccept: y\r\nConnection: close\r\n\r\n")
    );
}

#[tokio::test]
async fn a_refusal_names_the_host_and_the_next_step() {
    for (target, expected) in [
        ("evil.example:443", "--allow-host evil.example\n"),
        ("a.example:25", "--allow-host a.example:25\n"),
        ("127.0.0.1:80", "--allow-host 127.0.0.1:80\n"),
        ("[::ffff:10.0.0.1]:443", "--allow-host 10.0.0.1:443\n"),
        ("localhost.:443", "--allow-host localhost\n"),
        ("0x7f000001:443", "--allow-host 127.0.0.1:443\n"),
    ] {
        let (connector, _) = connector(&["a.example".to_owned()], &[]);
        let request = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
        let (answer, log) = through_proxy(connector, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
        assert!(answer.ends_with(expected), "{target}: {answer}");
        let (connections, _) = log.read();
        assert_eq!(connections[0].verdict, Verdict::Refused);
    }
}

#[test]
fn a_request_that_can_be_read_in_two_ways_is_refused() {
    for (head, expected) in [
        ("CONNECT a.example HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        ("CONNECT a.example:99999 HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        (
            "CONNECT allowed@evil.example:443 HTTP/1.1\r\n\r\n",
            BadRequest::UserInfo,
        ),
        (
            "CONNECT a.example:443\r\nHost: b HTTP/1.1\r\n\r\n",
            BadRequest::Malformed,
        ),
        (
            "CONNECT a.example:443 HTTP/1.1\nX: y\r\n\r\n",
            BadRequest::Malformed,
        ),
        ("CONNECT a.example:443 x HTTP/1.1\r\n\r\n", BadRequest::Malformed),
        ("CONNECT  a.example:443 HTTP/1.1\r\n\r\n", BadRequest::Malformed),
        ("CONNECT a.example:443 HTTP/2\r\n\r\n", BadRequest::Malformed),
        ("CONNECT a.exämple:443 HTTP/1.1\r\n\r\n", BadRequest::Malformed),
        ("GET / HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        ("GET https://a.example/ HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        ("GET ftp://a.example/ HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        ("GET http:///a HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        ("GET http://a@b.example/ HTTP/1.1\r\n\r\n", BadRequest::UserInfo),
        (
            "GET http://a.example#@b.example/ HTTP/1.1\r\n\r\n",
            BadRequest::UserInfo,
        ),
        ("GET http://a.example\\b/ HTTP/1.1\r\n\r\n", BadRequest::BadTarget),
        (
            "GET http://a.example/ HTTP/1.1\r\nA : b\r\n\r\n",
            BadRequest::Malformed,
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            BadRequest::Malformed,
        ),
        (
            "GET http://a.example/ HTTP/1.1\r\nA: b\rX: c\r\n\r\n",
            BadRequest::Malformed,
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            BadRequest::AmbiguousBody,
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            BadRequest::AmbiguousBody,
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
            BadRequest::AmbiguousBody,
        ),
        (
            "POST http://a.example/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
            BadRequest::AmbiguousBody,
        ),
    ] {
        assert_eq!(ProxyRequest::parse(head.as_bytes()), Err(expected), "{head:?}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let (connector, _) = connector(&[], &[]);
    let request = format!(
        "CONNECT a.example:443 HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(HEAD_BYTES_MAX)
    );
    let (answer, _) = through_proxy(connector, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn an_upstream_proxy_gets_the_name_and_its_password() {
    let (port, served) = origin("HTTP/1.1 200 OK\r\n\r\nthrough").await;
    let (mut connector, _) = connector(&["a.example".to_owned()], &["10.0.0.1"]);
    let variables = [(
        "HTTPS_PROXY".to_owned(),
        format!("http://u:p%40@127.0.0.1:{port}"),
    )];
    connector.upstream = Upstream::of(&variables.into());
    let (answer, _) = through_proxy(connector, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.ends_with("through"), "{answer}");
    let sent = served.await.expect("served");
    assert!(sent.starts_with("CONNECT a.example:443 HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains("Proxy-Authorization: Basic dTpwQA==\r\n"), "{sent}");
}

#[test]
fn an_upstream_proxy_does_not_serve_excluded_and_local_hosts() {
    let variables = [
        ("https_proxy", "http://proxy.example:3128"),
        ("no_proxy", "*.corp.example, b.example"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let upstream = Upstream::of(&variables.into()).expect("a proxy");
    for (name, expected) in [
        ("a.example", true),
        ("b.example", false),
        ("x.b.example", false),
        ("xb.example", true),
        ("git.corp.example", false),
        ("localhost", false),
        ("10.0.0.1", false),
        ("1.1.1.1", true),
    ] {
        assert_eq!(upstream.serves(&host(name)), expected, "{name}");
    }
}

#[test]
fn the_connection_log_is_bounded() {
    let log = ConnectionLog::default();
    for _ in 0..3 {
        log.add("same.example", 443, Verdict::Allowed, "same.example");
    }
    for n in 0..100 {
        log.add(&format!("{n}.example"), 443, Verdict::Refused, "x");
    }
    let (connections, omitted) = log.read();
    assert_eq!((connections.len(), omitted, connections[0].count), (64, 37, 3));
}
