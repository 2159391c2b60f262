//! The addresses on which Wakeful itself listens. Commands and web tools never reach them.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// Reads the addresses of the API whenever a connection is made, because a daemon may start later.
#[derive(Clone, Default)]
pub struct OwnAddresses(Option<Arc<dyn Fn() -> Vec<SocketAddr> + Send + Sync>>);

impl OwnAddresses {
    pub fn new(read: impl Fn() -> Vec<SocketAddr> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    /// Whether a connection to this address reaches the API.
    pub(crate) fn contains(&self, address: SocketAddr) -> bool {
        let own = self.0.as_ref().map(|read| read()).unwrap_or_default();
        let ip = address.ip().to_canonical();
        own.iter().any(|own| {
            let own_ip = own.ip().to_canonical();
            own.port() == address.port() && (own_ip == ip || own_ip.is_unspecified() && is_here(address))
        })
    }
}

impl fmt::Debug for OwnAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnAddresses")
    }
}

/// Whether an address belongs to this machine: others cannot be bound.
fn is_here(address: SocketAddr) -> bool {
    address.ip().is_loopback() || UdpSocket::bind((address.ip(), 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_api_is_recognised_in_every_form() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let own = |text: &str| {
            let own = at(text);
            OwnAddresses::new(move || vec![own])
        };
        let exact = own("127.0.0.1:7000");
        assert!(exact.contains(at("127.0.0.1:7000")) && exact.contains(at("[::ffff:127.0.0.1]:7000")));
        assert!(!exact.contains(at("127.0.0.1:7001")) && !exact.contains(at("127.0.0.2:7000")));
        let all = own("0.0.0.0:7000");
        assert!(all.contains(at("127.0.0.2:7000")) && !all.contains(at("192.0.2.1:7000")));
        assert!(!OwnAddresses::default().contains(at("127.0.0.1:7000")));
    }
}
