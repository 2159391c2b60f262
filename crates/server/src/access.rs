//! Decides which tokens, hosts and origins are accepted.
//!
//! The Host check prevents DNS rebinding: a foreign page may point its own name at this machine, and the
//! browser then sends requests to us under that name. The Origin check rejects requests from foreign pages
//! themselves.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use subtle::ConstantTimeEq as _;
use wakeful_core::key::Digest;
use wakeful_ports::clock::Entropy;

/// Shortest token. A shorter one can be guessed.
pub const TOKEN_CHARS_MIN: usize = 32;

/// The accepted token, and the accepted hosts and origins.
#[derive(Clone)]
pub struct Access {
    pub(crate) bound: SocketAddr,
    token: String,
    token_hash: Digest,
    advertised: Option<Advertised>,
}

/// The public address of the server, if it differs from the listening address.
#[derive(Debug, Clone)]
struct Advertised {
    url: String,
    host: String,
}

/// The token is too short to be secure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token must have at least {TOKEN_CHARS_MIN} characters")]
pub struct WeakToken;

impl Access {
    /// Accepts this token at the address that the listener is bound to.
    pub fn new(token: &str, bound: SocketAddr) -> Result<Self, WeakToken> {
        if token.chars().count() < TOKEN_CHARS_MIN {
            return Err(WeakToken);
        }
        Ok(Self {
            bound,
            token: token.to_owned(),
            token_hash: Digest::of(token.as_bytes()),
            advertised: None,
        })
    }

    /// Accepts no caller: for a router that only its own process calls.
    pub(crate) fn closed(entropy: &dyn Entropy) -> Self {
        let token = Digest::of(&entropy.random_bytes()).to_string();
        Self {
            bound: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            token_hash: Digest::of(token.as_bytes()),
            token,
            advertised: None,
        }
    }

    /// Also accepts this public URL: `https://agents.example.org`.
    #[must_use]
    pub fn advertised(mut self, url: &str) -> Self {
        let url = url.trim_end_matches('/').to_ascii_lowercase();
        let host = url.split_once("://").map(|(scheme, rest)| {
            let authority = rest.split('/').next().unwrap_or_default();
            without_default_port(scheme, authority)
        });
        self.advertised = host.map(|host| Advertised { host, url });
        self
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Compares hashes in constant time, so that neither length nor prefix of the token leaks.
    pub(crate) fn token_is(&self, presented: &str) -> bool {
        let presented = Digest::of(presented.as_bytes());
        presented.as_bytes().ct_eq(self.token_hash.as_bytes()).into()
    }

    /// Whether a Host header names this server.
    pub(crate) fn host_is_ours(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let (name, port) = split_port(&host);
        let at_our_port = port.unwrap_or("80") == self.bound.port().to_string();
        (at_our_port && self.is_our_address(name)) || self.is_advertised_host(&host)
    }

    /// Whether an Origin header names the same server as the Host header, or the advertised one. The host
    /// must have been checked.
    pub(crate) fn origin_is_ours(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let Some((scheme @ ("http" | "https"), authority)) = origin.split_once("://") else {
            return false;
        };
        let host = without_default_port(scheme, &host.to_ascii_lowercase());
        without_default_port(scheme, authority) == host || self.is_advertised_host(authority)
    }

    /// The URL that a browser opens.
    pub(crate) fn url(&self) -> String {
        match &self.advertised {
            Some(advertised) => advertised.url.clone(),
            // A server that listens on all addresses also listens on the loopback, and a browser cannot
            // open the unspecified address.
            None if self.bound.ip().is_unspecified() => format!("http://127.0.0.1:{}", self.bound.port()),
            None => format!("http://{}", self.bound),
        }
    }

    /// Whether browsers reach the server through an encrypted connection.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.url().starts_with("https://")
    }

    /// Only names can be rebound, addresses cannot. So the loopback and the bound address are accepted, and
    /// when bound to all addresses, every address.
    fn is_our_address(&self, name: &str) -> bool {
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || ip == self.bound.ip() || self.bound.ip().is_unspecified(),
            Err(_) => name == "localhost",
        }
    }

    /// Whether the configuration names this host.
    fn is_advertised_host(&self, host: &str) -> bool {
        let advertised = self.advertised.as_ref();
        advertised.is_some_and(|advertised| advertised.host == host)
    }
}

/// Splits a host and its optional port.
fn split_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        // A bare IPv6 address contains colons but no port; one in brackets may have a port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(port)),
        Some(_) | None => (host, None),
    }
}

fn without_default_port(scheme: &str, authority: &str) -> String {
    let default = match scheme {
        "https" => ":443",
        _ => ":80",
    };
    authority.strip_suffix(default).unwrap_or(authority).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(bound: &str) -> Access {
        let bound = bound.parse().expect("an address");
        Access::new(&"t".repeat(TOKEN_CHARS_MIN), bound).expect("a token")
    }

    #[test]
    fn a_short_token_is_refused() {
        let bound = "127.0.0.1:7717".parse().expect("an address");
        assert!(Access::new("", bound).is_err());
        assert!(Access::new(&"t".repeat(TOKEN_CHARS_MIN - 1), bound).is_err());
    }

    #[test]
    fn the_loopback_names_are_accepted_at_our_port() {
        let access = access("127.0.0.1:7717");
        for ours in [
            "127.0.0.1:7717",
            "localhost:7717",
            "LOCALHOST:7717",
            "[::1]:7717",
            "127.0.0.2:7717",
        ] {
            assert!(access.host_is_ours(ours), "{ours}");
        }
        for foreign in [
            "",
            "localhost",
            "localhost:80",
            "evil.example:7717",
            "localhost.evil.example:7717",
            "localhost.:7717",
            "127.0.0.1.evil.example:7717",
            "192.168.0.9:7717",
            "[::1]",
            "::1",
            "127.0.0.1:7717:7717",
            "@:7717",
        ] {
            assert!(!access.host_is_ours(foreign), "{foreign}");
        }
    }

    #[test]
    fn bound_to_all_addresses_every_address_is_accepted_but_no_name() {
        let access = access("0.0.0.0:7717");
        assert!(access.host_is_ours("192.168.0.9:7717") && access.host_is_ours("[fe80::1]:7717"));
        assert!(!access.host_is_ours("evil.example:7717") && !access.host_is_ours("192.168.0.9:80"));
        assert_eq!(access.url(), "http://127.0.0.1:7717");
    }

    #[test]
    fn the_advertised_name_is_accepted_only_at_its_own_port() {
        let access = access("127.0.0.1:7717").advertised("https://Agents.example.org/");
        assert!(access.host_is_ours("agents.example.org") && access.host_is_ours("AGENTS.example.org"));
        assert!(!access.host_is_ours("agents.example.org:7717") && !access.host_is_ours("example.org"));
        assert_eq!(access.url(), "https://agents.example.org");
        assert!(access.is_encrypted());
    }

    #[test]
    fn an_origin_is_accepted_if_it_is_the_requested_host() {
        let access = access("127.0.0.1:7717");
        assert!(access.origin_is_ours("http://127.0.0.1:7717", "127.0.0.1:7717"));
        assert!(access.origin_is_ours("https://agents.example.org", "agents.example.org:443"));
        for foreign in [
            "null",
            "",
            "http://127.0.0.1",
            "http://127.0.0.1:8080",
            "http://localhost:7717",
            "http://evil.example",
            "file://127.0.0.1:7717",
            "http://127.0.0.1:7717/",
            "http://127.0.0.1:7717.evil.example",
        ] {
            assert!(!access.origin_is_ours(foreign, "127.0.0.1:7717"), "{foreign}");
        }
    }
}
