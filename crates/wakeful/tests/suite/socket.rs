//! The socket in the home, through which commands reach the daemon independently of the network.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use wakeful_api::client::ClientError;
use wakeful_api::{ListBrakes, ListEvents, SendMessage};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::decision_answers::unconfined;
use super::home_fixture::TestHome;

/// Idle connections of a flood: more than a daemon accepts over TCP.
const FLOOD: usize = 3_500;

/// Maximum time of a command during a flood, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Opens [`FLOOD`] connections and sends nothing on them.
fn flood(address: &str) -> Vec<TcpStream> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).expect("a limit may be raised to the hard one");
    (0..FLOOD)
        .map(|number| TcpStream::connect(address).unwrap_or_else(|error| panic!("{number}: {error}")))
        .collect()
}

#[test]
fn idle_connections_block_neither_the_operator_nor_programs() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let idle = flood(&daemon.address().expect("an address"));
    let began = Instant::now();
    let said = world.wakeful(&["brake", "on", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = world.wakeful(&["status", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    let brakes = block_on(client(&daemon).call(&ListBrakes {})).expect("a program with the token gets in");
    assert_eq!(brakes.brakes.len(), 1, "{brakes:?}");
    drop(idle);
}

/// More followers than the socket has connections.
const FOLLOWERS: usize = 70;

#[test]
fn followers_on_the_socket_leave_room_for_the_brake() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let token = std::fs::read_to_string(world.home().join("token")).expect("a token");
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
        token.trim()
    );
    let follow = || {
        let mut stream = UnixStream::connect(world.home().join("run/wakeful.sock")).expect("connects");
        stream.write_all(request.as_bytes()).expect("asked");
        let mut answer = [0; 1_024];
        let length = stream.read(&mut answer).expect("answered");
        (stream, String::from_utf8_lossy(&answer[..length]).into_owned())
    };
    let followers: Vec<(UnixStream, String)> = (0..FOLLOWERS).map(|_| follow()).collect();
    let (served, refused): (Vec<_>, Vec<_>) = followers
        .iter()
        .partition(|(_, answer)| answer.starts_with("HTTP/1.1 200"));
    assert_eq!(served.len(), 32, "half of its connections");
    assert!(
        refused
            .iter()
            .all(|(_, answer)| answer.starts_with("HTTP/1.1 503") && answer.contains("too_many_streams")),
        "{refused:?}"
    );
    let said = world.wakeful(&["brake", "on", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let client = client(&daemon).by_socket(world.home().join("run/wakeful.sock"));
    let followed = block_on(client.follow(&ListEvents::default(), None)).map(drop);
    assert!(followed.is_ok(), "a command follows over TCP: {followed:?}");
}

#[test]
fn commands_use_the_socket_and_tcp_if_it_is_missing() {
    let world = TestHome::new();
    let _daemon = RunningDaemon::serve(&world, &[]);
    let path = world.home().join("run/daemon.json");
    let record = std::fs::read_to_string(&path).expect("a record");
    let mut elsewhere: Value = serde_json::from_str(&record).expect("JSON");
    elsewhere["http_addr"] = json!("127.0.0.1:1");
    std::fs::write(&path, elsewhere.to_string()).expect("written");
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    std::fs::write(&path, record).expect("written");
    std::fs::remove_file(world.home().join("run/wakeful.sock")).expect("removed");
    assert_eq!(world.wakeful(&["agent", "show", "main"]).code, Some(0));
}

#[test]
fn a_home_with_a_long_path_also_has_a_socket() {
    let world = TestHome::new();
    let home = world.path().join("h".repeat(150));
    let shown = home.display().to_string();
    let said = world.wakeful(&["daemon", "start", "--port", "0", "--home", &shown, "--json"]);
    let socket = home.join("run/wakeful.sock");
    assert_eq!(said.json()["socket_path"], json!(socket), "{said:?}");
    let status = world.wakeful(&["daemon", "status", "--home", &shown, "--json"]);
    assert_eq!(world.wakeful(&["daemon", "stop", "--home", &shown]).code, Some(0));
    assert_eq!(status.json()["control_health"], "ok", "{status:?}");
    assert!(!socket.exists(), "it goes with the daemon");
}

// Conformance: H-075
#[test]
fn a_socket_that_another_process_holds_keeps_the_daemon_from_starting() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    let path = world.home().join("run/wakeful.sock");
    std::fs::create_dir_all(world.home().join("run")).expect("a folder");
    let other = UnixListener::bind(&path).expect("a socket");
    let said = world.wakeful(&["serve", "--port", "0", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "socket_in_use"),
        "{said:?}"
    );
    UnixStream::connect(&path).expect("it is left alone");
    drop(other);
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(
        world.wakeful(&["status", "--json"]).code,
        Some(0),
        "a dead one's is replaced"
    );
}

#[test]
fn a_daemon_that_is_too_busy_reports_it() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let busy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let path = world.home().join("run/daemon.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&path).expect("a record")).expect("JSON");
    record["http_addr"] = json!(busy.local_addr().expect("an address").to_string());
    record["socket_path"] = Value::Null;
    std::fs::write(&path, record.to_string()).expect("written");
    let answering = std::thread::spawn(move || {
        let body = r#"{"error":{"code":"too_many_connections","message":"too many connections are open","hint":"wait"}}"#;
        let (mut client, _) = busy.accept().expect("a client");
        let _ = client.read(&mut [0; 4_096]);
        let answer = format!(
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        client.write_all(answer.as_bytes()).expect("answered");
    });
    let said = world.wakeful(&["status", "--json"]);
    answering.join().expect("asked");
    assert_eq!(said.error_code(), "too_many_connections", "{said:?}");
    assert_eq!(said.json()["error"]["message"], "too many connections are open");
    drop(daemon);
}

/// A request through the socket with the token of the home, sent by a Python program.
const BY_SOCKET: &str = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
    s.sendall(('POST /api/brake/release HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer ' + open(sys.argv[2]).read() + \
    '\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}').encode()); \
    print(s.makefile().read())";

#[test]
fn an_unconfined_command_cannot_release_the_brake_through_the_socket() {
    let world = TestHome::new();
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(world.wakeful(&["brake", "on"]).code, Some(0));
    let (socket, token) = (world.home().join("run/wakeful.sock"), world.home().join("token"));
    let asked = format!(
        "python3 -c \"{BY_SOCKET}\" {} {} > said; grep -o 'HTTP/1.1 [0-9]*\\|caller_is_tool_process' said >> world.txt",
        socket.display(),
        token.display()
    );
    for no_namespaces in [false, true] {
        unconfined(&world, no_namespaces, &asked);
        assert_eq!(world.lines(), ["HTTP/1.1 403", "caller_is_tool_process"]);
        std::fs::remove_file(world.workspace().join("world.txt")).expect("told");
    }
    let said = world.wakeful(&["brake", "off", "--json"]);
    assert_eq!(said.json()["brakes"], json!([]), "a person may: {said:?}");
}

#[test]
fn an_api_caller_cannot_read_a_file_by_naming_it_a_script() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    world.wakeful(&["agent", "create", "main"]);
    let secret = world.path().join("secret.yaml");
    std::fs::write(&secret, "root:$6$S3cretWord:19000:0:99999:7:::\n").expect("a file");
    for file in ["/etc/passwd", &secret.display().to_string()] {
        let message = json!({"agent_id": "main", "text": "x", "model": format!("scripted:{file}")});
        let sent = block_on(client(&daemon).call(&input::<SendMessage>(message)));
        let Err(ClientError::Refused { problem, .. }) = sent else {
            panic!("{file}: {sent:?}")
        };
        assert_eq!(problem.code, "script_invalid", "{problem:?}");
        let said = format!("{problem:?}");
        assert!(!said.contains("S3cret") && !said.contains("root:"), "{said}");
    }
}
