//! Hosts and patterns of hosts, in one normal form: lower case, ASCII, no trailing dot, and every spelling
//! of an address as that address.

use core::net::{IpAddr, Ipv6Addr};
use core::slice;
use std::fmt;

/// Maximum length of a name, and of each of its labels, as in the DNS.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Longest text that is parsed as a host. Names in other scripts get shorter or longer by their encoding.
const TEXT_BYTES_MAX: usize = 1_024;

/// The ports of a pattern that names none.
const DEFAULT_PORTS: [u16; 2] = [443, 80];

/// Top-level names that the public DNS never delegates.
const LOCAL_SUFFIXES: [&str; 4] = ["internal", "local", "lan", "home.arpa"];

/// A text that is not a host or a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("{0:?} is not a host: use a name such as example.com or an address such as 192.0.2.1")]
    NotAHost(String),
    #[error("{0:?} has no valid port: use a number between 1 and 65535 after the host")]
    BadPort(String),
    #[error("{0:?} is too wide: name a domain of at least two labels, such as *.example.com")]
    TooWide(String),
    #[error("{0:?} is a URL: use only its host, such as example.com or example.com:8443")]
    Url(String),
}

/// Shortens a text for a message.
fn shown(text: &str) -> String {
    crate::failure::truncate_chars(text, 100)
}

/// A name or an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Parses a host without a port. Every spelling of an address that a resolver would accept is that
    /// address: decimal, octal, hexadecimal, shortened, IPv4-mapped.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let bad = || HostError::NotAHost(shown(text));
        // A zone id selects an interface of this machine, and an escape only hides what a name is.
        let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"%/\\?#@".contains(c);
        if text.is_empty() || text.len() > TEXT_BYTES_MAX || !text.chars().all(is_plain) {
            return Err(bad());
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self::of(address.into()));
        }
        // One trailing dot marks the name as absolute; more are no name.
        let absolute = text.strip_suffix('.').unwrap_or(text);
        match url::Host::parse(absolute).map_err(|_| bad())? {
            url::Host::Ipv4(address) => Ok(Self::of(address.into())),
            url::Host::Ipv6(address) => Ok(Self::of(address.into())),
            url::Host::Domain(name) => {
                let is_label = |label: &str| {
                    !label.is_empty()
                        && label.len() <= LABEL_BYTES_MAX
                        && label
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
                };
                // Another dot, such as the ideographic one, may have become a trailing one.
                let is_name = name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label);
                is_name.then_some(Self::Name(name)).ok_or_else(bad)
            }
        }
    }

    /// An address, with an IPv4-mapped one as IPv4.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }

    /// Splits and parses `HOST:PORT`. An IPv6 address with a port is in brackets.
    pub fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => {
                if address.parse::<Ipv6Addr>().is_err() {
                    return Err(HostError::NotAHost(shown(text)));
                }
                let port = rest.strip_prefix(':');
                if port.is_none() && !rest.is_empty() {
                    return Err(HostError::BadPort(shown(text)));
                }
                (address, port)
            }
            None if text.matches(':').count() == 1 => {
                let (host, port) = text.split_once(':').unwrap_or((text, ""));
                (host, Some(port))
            }
            None => (text, None),
        };
        let port = port.map(|port| parse_port(port).ok_or_else(|| HostError::BadPort(shown(text))));
        Ok((Self::parse(host)?, port.transpose()?))
    }

    /// Whether the name means this machine, regardless of the DNS.
    #[must_use]
    pub fn is_loopback_name(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost" || name.ends_with(".localhost"),
            Self::Address(_) => false,
        }
    }

    /// Whether only a local network can define the name: one label, or a reserved suffix.
    #[must_use]
    pub fn is_local_name(&self) -> bool {
        match self {
            Self::Name(name) => {
                let is_below = |suffix: &&'static str| {
                    name.strip_suffix(*suffix)
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                };
                let is_defined_locally = !name.contains('.') || LOCAL_SUFFIXES.iter().any(is_below);
                is_defined_locally && !self.is_loopback_name()
            }
            Self::Address(_) => false,
        }
    }

    /// `HOST:PORT`, with brackets around an IPv6 address.
    #[must_use]
    pub fn with_port(&self, port: u16) -> String {
        match self {
            Self::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
            Self::Address(IpAddr::V4(_)) | Self::Name(_) => format!("{self}:{port}"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

/// A decimal port from 1 to 65535, without a sign.
fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

/// An entry of a list of hosts, except `packages`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPattern {
    hosts: PatternHosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PatternHosts {
    Exact(Host),
    /// Every name below a domain, at any depth, without the domain itself.
    Below(String),
}

/// The ports of a pattern that names no port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenPorts {
    /// Those of HTTPS and HTTP, for what is allowed.
    Web,
    /// All, for what is denied.
    All,
}

impl HostPattern {
    /// Parses `HOST`, `HOST:PORT` or `*.DOMAIN`, the last with an optional port too.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.contains("://") {
            return Err(HostError::Url(shown(text)));
        }
        if let Some(domain) = text.strip_prefix("*.") {
            return match Host::parse_with_port(domain)? {
                (Host::Name(name), port) if name.contains('.') => Ok(Self {
                    hosts: PatternHosts::Below(name),
                    port,
                }),
                (Host::Name(_), _) => Err(HostError::TooWide(shown(text))),
                (Host::Address(_), _) => Err(HostError::NotAHost(shown(text))),
            };
        }
        if text.starts_with('*') {
            return Err(HostError::TooWide(shown(text)));
        }
        let (host, port) = Host::parse_with_port(text)?;
        Ok(Self::exact(host, port))
    }

    /// A pattern for one host.
    #[must_use]
    pub const fn exact(host: Host, port: Option<u16>) -> Self {
        Self {
            hosts: PatternHosts::Exact(host),
            port,
        }
    }

    pub(super) fn matches(&self, host: &Host, port: u16, open: OpenPorts) -> bool {
        self.has_port(port, open)
            && match (&self.hosts, host) {
                (PatternHosts::Exact(named), host) => named == host,
                // A domain does not name this machine.
                (PatternHosts::Below(_), host) if host.is_loopback_name() => false,
                (PatternHosts::Below(domain), Host::Name(name)) => name
                    .strip_suffix(domain.as_str())
                    .is_some_and(|rest| rest.ends_with('.')),
                (PatternHosts::Below(_), Host::Address(_)) => false,
            }
    }

    /// Whether it names exactly this host, not only a domain above it.
    pub(super) fn names(&self, host: &Host, port: u16) -> bool {
        matches!(self.hosts, PatternHosts::Exact(_)) && self.matches(host, port, OpenPorts::Web)
    }

    /// The host that it names exactly, with its ports.
    pub(super) fn named(&self) -> Option<(&Host, &[u16])> {
        let ports = self
            .port
            .as_ref()
            .map_or(DEFAULT_PORTS.as_slice(), slice::from_ref);
        match &self.hosts {
            PatternHosts::Exact(host) => Some((host, ports)),
            PatternHosts::Below(_) => None,
        }
    }

    fn has_port(&self, port: u16, open: OpenPorts) -> bool {
        match (self.port, open) {
            (Some(own), _) => own == port,
            (None, OpenPorts::Web) => DEFAULT_PORTS.contains(&port),
            (None, OpenPorts::All) => true,
        }
    }
}
