//! The host program that this crate's tests start; it is not shipped. It is a binary and not an example,
//! because Cargo rebuilds binaries for every run of the integration tests.
//!
//! - `sandbox …` does what the `wakeful` binary does for its hidden verb.
//! - `host HOME WORKSPACE LEVEL CMD` runs one command as Wakeful would, so that a test can kill it
//!   meanwhile or run it as another user, and prints the result.
//! - `try WHAT [TARGET]` tries, inside the sandbox, an operation that must be refused, and prints the
//!   result.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the tests read its output")]

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::ExitCode;

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, netlink};
use rustix::thread::UnshareFlags;
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::time::Millis;
use wakeful_ports::tool::{OutputSink, StopSignal, ToolHost, ToolRequest};
use wakeful_tools::{CommandLimits, DeniedPaths, DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let verb = args.next();
    if verb.as_ref().is_some_and(|verb| verb == "sandbox") {
        return wakeful_tools::sandbox::enter(args);
    }
    let words: Vec<String> = args.filter_map(|arg| arg.into_string().ok()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (verb.as_ref().and_then(|verb| verb.to_str()), words.as_slice()) {
        (Some("host"), [home, workspace, level, cmd]) => host([home, workspace], level, cmd),
        (Some("try"), [what, target @ ..]) => attempt(what, target.first().unwrap_or(&"")),
        _ => ExitCode::from(2),
    }
}

fn host([home, workspace]: [&str; 2], level: &str, cmd: &str) -> ExitCode {
    let options = ToolsOptions {
        program: PathBuf::from("/proc/self/exe"),
        program_args_prefix: vec!["sandbox".to_owned()],
        home: home.into(),
        workspace: workspace.into(),
        scratch: PathBuf::from(home).join("scratch"),
        environment: std::env::vars().collect(),
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Refuse,
        pretend: DisabledFeatures {
            no_namespaces: level == "subreaper",
            ..DisabledFeatures::default()
        },
    };
    let Ok(tools) = Tools::new(options) else {
        return ExitCode::FAILURE;
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return ExitCode::FAILURE;
    };
    let Ok(agent_id) = AgentId::parse("main") else {
        return ExitCode::FAILURE;
    };
    let operation_id = OperationId(Digest::of(cmd.as_bytes()));
    let act = ToolRequest {
        operation_id,
        tool: "ExecCommand".to_owned(),
        input: json!({"cmd": cmd}),
        agent_id,
        at: Millis(0),
        grant: wakeful_ports::tool::CallGrant::default(),
        access: wakeful_core::tool::AgentAccessScope::everything(),
        scope: scope(),
        hosts: wakeful_ports::tool::HostPolicy::default(),
        paths: wakeful_ports::tool::PathPolicy::default(),
        is_read_only: false,
        is_untrusted: false,
        run_key: None,
        output: OutputSink::default(),
        written: wakeful_ports::tool::WriteMeter::default(),
    };
    let done = runtime.block_on(tools.perform(act, Never));
    println!("{}", done.content);
    if done.code.is_none() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Commands may run this program.
fn scope() -> SandboxScope {
    let own = std::env::current_exe().ok();
    let own = own.and_then(|path| path.to_str().map(str::to_owned));
    SandboxScope {
        readable_paths: own.into_iter().collect(),
        ..SandboxScope::default()
    }
}

struct Never;

impl StopSignal for Never {
    fn stopped(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

fn socket(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> io::Result<()> {
    rustix::net::socket(family, kind, protocol)
        .map(|_| ())
        .map_err(io::Error::from)
}

/// Serves itself on both loopback addresses.
fn loopback() -> io::Result<()> {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address)?;
        TcpStream::connect(listener.local_addr()?)?;
        listener.accept()?;
    }
    Ok(())
}

/// Sends a request to the proxy of the environment, then the bytes for the origin, and prints what comes back.
fn through_proxy(request: &str, bytes: &str) -> io::Result<()> {
    let mut variables = std::env::vars();
    let proxy = variables.find(|(name, _)| name == "http_proxy");
    let (_, proxy) = proxy.ok_or_else(|| io::Error::other("there is no http_proxy"))?;
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://"))?;
    stream.write_all(request.as_bytes())?;
    stream.write_all(bytes.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    println!("{answer}");
    Ok(())
}

/// Sends a request to a port of both loopback addresses, and prints what comes back.
fn direct_get(port: &str) -> io::Result<()> {
    for host in ["127.0.0.1", "[::1]"] {
        let mut stream = TcpStream::connect(format!("{host}:{port}"))?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        println!("{answer}");
    }
    Ok(())
}

/// Sends a text to the first client.
fn serve_once(port: &str) -> io::Result<()> {
    let listener = TcpListener::bind(format!("127.0.0.1:{port}"))?;
    let (mut client, _) = listener.accept()?;
    client.write_all(b"inside")?;
    client.shutdown(Shutdown::Write)?;
    // The command ends with this process, so wait until the client has everything.
    client.read_to_end(&mut Vec::new()).map(|_| ())
}

fn attempt(what: &str, target: &str) -> ExitCode {
    let result = match what {
        "tcp" => TcpStream::connect(target).map(|_| ()),
        "listen" => TcpListener::bind("127.0.0.1:0").map(|_| ()),
        "udp" => UdpSocket::bind("127.0.0.1:0").map(|_| ()),
        "unix" => UnixStream::connect(target).map(|_| ()),
        "unix-listen" => UnixListener::bind(target).map(|_| ()),
        "abstract" => SocketAddr::from_abstract_name(target)
            .and_then(|name| UnixStream::connect_addr(&name))
            .map(|_| ()),
        "loopback" => loopback(),
        "proxy-get" => through_proxy(&format!("GET http://{target}/ HTTP/1.1\r\n\r\n"), ""),
        "proxy-connect" => through_proxy(
            &format!("CONNECT {target} HTTP/1.1\r\n\r\n"),
            "GET / HTTP/1.1\r\n\r\n",
        ),
        "direct-get" => direct_get(target),
        "serve-once" => serve_once(target),
        "raw" => socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)),
        "icmp" => socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP)),
        "packet" => socket(AddressFamily::PACKET, SocketType::RAW, None),
        "generic-netlink" => socket(AddressFamily::NETLINK, SocketType::RAW, Some(netlink::GENERIC)),
        "vsock" => socket(AddressFamily::VSOCK, SocketType::STREAM, None),
        "unix-datagram" => socket(AddressFamily::UNIX, SocketType::DGRAM, None),
        "unix-stream" => socket(AddressFamily::UNIX, SocketType::STREAM, None),
        "dns" => UdpSocket::bind("0.0.0.0:0")
            .and_then(|own| own.send_to(b"x", "192.0.2.1:53"))
            .map(|_| ()),
        "pair" => UnixStream::pair().map(|_| ()),
        "userns" => unshare(UnshareFlags::NEWUSER),
        "mountns" => unshare(UnshareFlags::NEWNS),
        "bind" => mount_bind(target, "/mnt").map_err(io::Error::from),
        "remount" => mount_change("/", MountPropagationFlags::PRIVATE).map_err(io::Error::from),
        "thread" => std::thread::spawn(|| ())
            .join()
            .map_err(|_| io::Error::other("panic")),
        _ => Err(io::Error::other("unknown attempt")),
    };
    match result {
        Ok(()) => {
            println!("{what}: ok");
            ExitCode::SUCCESS
        }
        Err(e) => {
            println!("{what}: {:?}", e.kind());
            ExitCode::FAILURE
        }
    }
}

#[expect(deprecated, reason = "only namespaces, and before any thread")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    rustix::thread::unshare(flags).map_err(io::Error::from)
}
