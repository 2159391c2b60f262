//! The network namespace of a command: a loopback interface and nothing else.
//!
//! The supervisor opens the sockets that lead out of the namespace and passes them to Wakeful. A socket stays
//! in the namespace it was created in, so Wakeful accepts from the command and connects to its servers
//! without a process inside that a command could attack, and the command holds no descriptor that leads
//! outside.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::protocol::{Report, StageLink, send_descriptors};

/// The port of the proxy on the namespace's loopback address. Outside the range of temporary ports, and no
/// usual port of a server.
const PROXY_PORT: u16 = 61_080;

/// Requests for a socket of the namespace, by its address family.
pub(crate) const IPV4_SOCKET: u8 = b'4';
pub(crate) const IPV6_SOCKET: u8 = b'6';

/// Which network a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetworkAccess {
    /// A namespace with a loopback interface, from which only the proxy leads out.
    Loopback,
    /// None: sockets are refused, because the command shares Wakeful's namespace.
    Refused,
}

impl NetworkAccess {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "netns",
            Self::Refused => "no-network",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Loopback, Self::Refused]
            .into_iter()
            .find(|access| access.as_str() == text)
    }
}

/// Sets the loopback interface of a new namespace up. It is always the first interface.
pub(super) fn set_loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_WITH_ACK: u16 = 5;
    const IFF_UP: u32 = 1;
    const LENGTH: u32 = 32;
    let link = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // A netlink header, and an `ifinfomsg` with index 1 that sets one flag.
    let mut request = Vec::new();
    request.extend(LENGTH.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(REQUEST_WITH_ACK.to_ne_bytes());
    request.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    request.extend([0, 1, IFF_UP, IFF_UP].map(u32::to_ne_bytes).concat());
    rustix::io::write(&link, &request)?;
    let mut answer = [0; 256];
    let count = rustix::io::read(&link, &mut answer)?;
    // An acknowledgement is an error message with the number 0, after the header.
    let number = answer.get(16..20).filter(|_| count >= 20);
    match number
        .and_then(|bytes| bytes.try_into().ok())
        .map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("the kernel sent no acknowledgement")),
    }
}

/// Passes the listening sockets of the proxy and of the ports of this machine to Wakeful, and, for published
/// ports, a connection on which it can request sockets. Returns our end of that connection: the supervisor serves it itself, because a
/// process that created a PID namespace cannot start threads.
pub(super) fn hand_over(
    above: &mut StageLink,
    publishes: Publishes,
    loopback_ports: &[u16],
) -> io::Result<Option<UnixStream>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    let addresses = loopback_ports.iter().flat_map(|port| {
        [
            SocketAddr::from((Ipv4Addr::LOCALHOST, *port)),
            SocketAddr::from((Ipv6Addr::LOCALHOST, *port)),
        ]
    });
    // The kernel may lack IPv6.
    let loopback: Vec<TcpListener> = addresses
        .filter_map(|address| TcpListener::bind(address).ok())
        .collect();
    let (requests, source) = match publishes {
        Publishes::Nothing => (None, None),
        Publishes::Ports => {
            let (ours, theirs) = UnixStream::pair()?;
            (Some(ours), Some(theirs))
        }
    };
    let descriptors: Vec<BorrowedFd<'_>> = std::iter::once(&listener)
        .chain(&loopback)
        .map(|listener| listener.as_fd())
        .chain(source.as_ref().map(|source| source.as_fd()))
        .collect();
    let report = Report::Network {
        loopback_listeners: loopback.len(),
    };
    above.report_with(&report, &descriptors)?;
    Ok(requests)
}

/// Whether ports of the namespace are published outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Publishes {
    Nothing,
    Ports,
}

/// Creates a socket for one request. The request must have arrived, because this waits for it.
pub(super) fn serve_socket(requests: &mut UnixStream) -> io::Result<()> {
    let mut request = [0];
    requests.read_exact(&mut request)?;
    let family = match request {
        [IPV6_SOCKET] => AddressFamily::INET6,
        _ => AddressFamily::INET,
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    send_descriptors(requests, &request, &[socket.as_fd()])
}

/// The sockets of a command's namespace, as Wakeful receives them.
#[derive(Debug)]
pub(crate) struct NamespaceSockets {
    pub(crate) listener: TcpListener,
    /// Those that lead to ports of this machine with the same numbers.
    pub(crate) loopback: Vec<TcpListener>,
    /// Where more sockets can be requested, if ports are published.
    pub(crate) source: Option<UnixStream>,
}

impl NamespaceSockets {
    pub(crate) fn of(descriptors: Vec<OwnedFd>, loopback_listeners: usize) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        Some(Self {
            listener: descriptors.next()?.into(),
            loopback: descriptors
                .by_ref()
                .take(loopback_listeners)
                .map(Into::into)
                .collect(),
            source: descriptors.next().map(Into::into),
        })
    }
}

/// The variables that lead programs to the proxy. Programs read either case of them.
pub(super) fn proxy_variables() -> BTreeMap<String, String> {
    let proxy = format!("http://{}", SocketAddr::from((Ipv4Addr::LOCALHOST, PROXY_PORT)));
    let direct = "localhost,127.0.0.1,::1,.localhost";
    let mut variables = BTreeMap::new();
    for (name, value) in [
        ("HTTP_PROXY", proxy.as_str()),
        ("HTTPS_PROXY", &proxy),
        ("ALL_PROXY", &proxy),
        ("NO_PROXY", direct),
    ] {
        variables.insert(name.to_owned(), value.to_owned());
        variables.insert(name.to_lowercase(), value.to_owned());
    }
    // Node reads the variables above only with this one.
    variables.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    variables
}
