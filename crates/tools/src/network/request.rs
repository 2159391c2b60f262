//! Parses what a program sends to the proxy: `CONNECT HOST:PORT`, or a request with an absolute `http://`
//! URL. The parser accepts only what can be read in one way. A connection carries one request, so nothing
//! after it can be read as a request to another host.

use wakeful_core::network_scope::Host;

/// Most bytes of a request's head. Usual servers accept 8 to 16 KiB.
pub(super) const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Most header lines.
const HEADERS_MAX: usize = 100;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Headers that concern the connection to the proxy, or that the proxy writes itself.
const DROPPED: [&str; 7] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// A request that the proxy does not understand: the response explains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadRequest {
    #[error("the head of the request is not valid HTTP/1")]
    Malformed,
    #[error("the head of the request is too large")]
    TooLarge,
    #[error("the target is not HOST:PORT or an http:// URL; connect to other ports by CONNECT")]
    BadTarget,
    #[error("the target contains a user name, which is not passed on; send an authorization header")]
    UserInfo,
    #[error("the length of the body is ambiguous")]
    AmbiguousBody,
}

/// What the program wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) host: Host,
    pub(super) port: u16,
    /// What to send to the host first: the rewritten head of a plain request; none for `CONNECT`.
    pub(super) head: Option<Vec<u8>>,
}

/// The position after the head, once it is complete.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(END.len())
        .position(|window| window == END)
        .map(|at| at + END.len())
}

impl ProxyRequest {
    /// Parses a complete head, with its empty line.
    pub(super) fn parse(head: &[u8]) -> Result<Self, BadRequest> {
        let text = std::str::from_utf8(head).map_err(|_| BadRequest::Malformed)?;
        let text = text.strip_suffix("\r\n\r\n").ok_or(BadRequest::Malformed)?;
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let [method, target, version] = *first.split(' ').collect::<Vec<_>>() else {
            return Err(BadRequest::Malformed);
        };
        let is_version = version == "HTTP/1.1" || version == "HTTP/1.0";
        if !is_version || !is_token(method) || !target.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(BadRequest::Malformed);
        }
        let headers: Vec<(&str, &str)> = lines
            .map(header)
            .collect::<Option<_>>()
            .ok_or(BadRequest::Malformed)?;
        if headers.len() > HEADERS_MAX {
            return Err(BadRequest::TooLarge);
        }
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            return Ok(Self {
                host,
                port: port.ok_or(BadRequest::BadTarget)?,
                head: None,
            });
        }
        check_body(&headers)?;
        let rest = target
            .get(..7)
            .filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
            .and_then(|_| target.get(7..))
            .ok_or(BadRequest::BadTarget)?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (place, path) = rest.split_at(at);
        let (host, port) = authority(place)?;
        let port = port.unwrap_or(80);
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut rewritten = format!("{method} {slash}{path} HTTP/1.1\r\n");
        let named = if port == 80 {
            // An IPv6 address has brackets here too.
            host.with_port(80).trim_end_matches(":80").to_owned()
        } else {
            host.with_port(port)
        };
        rewritten.push_str(&format!("Host: {named}\r\n"));
        for (name, value) in headers {
            if !DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped)) {
                rewritten.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        rewritten.push_str("Connection: close\r\n\r\n");
        Ok(Self {
            host,
            port,
            head: Some(rewritten.into_bytes()),
        })
    }
}

fn authority(text: &str) -> Result<(Host, Option<u16>), BadRequest> {
    if text.contains('@') {
        return Err(BadRequest::UserInfo);
    }
    Host::parse_with_port(text).map_err(|_| BadRequest::BadTarget)
}

/// A header line. A folded line, a name with a space, and control characters are refused.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim_matches([' ', '\t']);
    let is_plain = value.chars().all(|c| !c.is_control() || c == '\t');
    (is_token(name) && is_plain).then_some((name, value))
}

fn is_token(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_allowed)
}

/// A body has one length, or is chunked and has none.
fn check_body(headers: &[(&str, &str)]) -> Result<(), BadRequest> {
    let values = |wanted: &str| -> Vec<&str> {
        let found = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| *value).collect()
    };
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"));
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_chunked = |text: &&str| text.eq_ignore_ascii_case("chunked");
    let is_clear =
        lengths.len() + codings.len() <= 1 && lengths.iter().all(is_number) && codings.iter().all(is_chunked);
    is_clear.then_some(()).ok_or(BadRequest::AmbiguousBody)
}
