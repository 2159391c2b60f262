//! The proxy through which Wakeful itself must connect, from its own environment. It resolves names, so it
//! is responsible for the addresses that it connects to.

use std::collections::BTreeMap;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wakeful_core::network_scope::{AddressKind, Host};

/// Most bytes of the response to `CONNECT`.
const RESPONSE_BYTES_MAX: usize = 8 * 1024;

/// The variables that name the proxy, and those that exclude hosts, in the order of their precedence.
const VARIABLES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const EXCLUDED: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// An HTTP proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Upstream {
    url: url::Url,
    /// Hosts that are connected to directly: names with everything below them, and addresses.
    excluded: Vec<String>,
}

impl Upstream {
    /// Reads the environment. A proxy of another kind than HTTP is ignored, because nothing here speaks it.
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Option<Self> {
        let set = |names: &[&str]| {
            let values = names.iter().filter_map(|name| environment.get(*name));
            values.map(String::as_str).find(|value| !value.is_empty())
        };
        let url = url::Url::parse(set(&VARIABLES)?).ok()?;
        let is_usable = url.scheme() == "http" && url.host_str().is_some();
        let excluded = set(&EXCLUDED).unwrap_or_default();
        is_usable.then(|| Self {
            url,
            excluded: excluded
                .split(',')
                .map(|entry| {
                    entry
                        .trim()
                        .trim_start_matches('*')
                        .trim_start_matches('.')
                        .to_lowercase()
                })
                .filter(|entry| !entry.is_empty())
                .collect(),
        })
    }

    /// Whether connections to a host go through this proxy.
    pub(crate) fn serves(&self, host: &Host) -> bool {
        let text = host.to_string();
        let is_below = |entry: &String| {
            text.strip_suffix(entry.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let is_local = match host {
            Host::Address(address) => AddressKind::of(*address) != AddressKind::Public,
            Host::Name(_) => host.is_loopback_name(),
        };
        !is_local && !self.excluded.iter().any(is_below)
    }

    /// The URL, for clients that speak to the proxy themselves.
    pub(crate) const fn url(&self) -> &url::Url {
        &self.url
    }

    /// A tunnel to a host.
    pub(crate) async fn connect(&self, host: &Host, port: u16) -> Result<TcpStream, String> {
        let name = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let place = (name, self.url.port_or_known_default().unwrap_or(80));
        let mut stream = TcpStream::connect(place).await.map_err(|e| e.to_string())?;
        let target = host.with_port(port);
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if !self.url.username().is_empty() {
            use base64::Engine as _;
            let decoded = |text: &str| percent_decoded(text);
            let pair = format!(
                "{}:{}",
                decoded(self.url.username()),
                decoded(self.url.password().unwrap_or_default())
            );
            let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
            request.push_str(&format!("Proxy-Authorization: Basic {encoded}\r\n"));
        }
        request.push_str("\r\n");
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(|e| e.to_string())?;
        let mut response = Vec::new();
        // Byte by byte, because what follows the head belongs to the tunnel.
        while !response.ends_with(b"\r\n\r\n") {
            let byte = stream.read_u8().await.map_err(|e| e.to_string())?;
            response.push(byte);
            if response.len() > RESPONSE_BYTES_MAX {
                return Err("the response is too long".to_owned());
            }
        }
        let text = String::from_utf8_lossy(&response);
        let status = text.split(' ').nth(1).unwrap_or_default();
        if status == "200" {
            return Ok(stream);
        }
        let status = wakeful_core::failure::truncate_chars(status, 20);
        Err(format!("status {status} for {target}"))
    }
}

fn percent_decoded(text: &str) -> String {
    // A URL's user name is encoded like the key of a form, except for the plus sign.
    let escaped = text.replace('+', "%2B");
    let decoded = url::form_urlencoded::parse(escaped.as_bytes()).next();
    decoded.map(|(key, _)| key.into_owned()).unwrap_or_default()
}
