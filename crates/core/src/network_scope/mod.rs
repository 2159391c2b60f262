//! Which hosts an agent may reach, from the lists of its sandbox scope.
//!
//! A connection is judged twice: [`HostRules::judge`] decides on the host as it was requested, and
//! [`HostRules::judge_address`] on each address that its name resolves to. The caller connects to the address
//! that was judged, so a name that resolves differently a moment later changes nothing.

mod address;
mod host;
mod packages;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

pub use self::address::AddressKind;
use self::host::OpenPorts;
pub use self::host::{Host, HostError, HostPattern};
pub use self::packages::PACKAGE_HOSTS;
use self::packages::PACKAGES_PORT;
use crate::policy::{HostScope, Target};
use crate::problem::Problem;
use crate::sandbox_scope::{PACKAGES, SandboxScope};

/// An entry of a list, with its text for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    text: String,
    kind: EntryKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EntryKind {
    Pattern(HostPattern),
    Packages,
}

impl Entry {
    fn parse(text: &str) -> Result<Self, HostError> {
        let kind = if text == PACKAGES {
            EntryKind::Packages
        } else {
            EntryKind::Pattern(HostPattern::parse(text)?)
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }

    fn matches(&self, host: &Host, port: u16, open: OpenPorts) -> bool {
        match (&self.kind, host) {
            (EntryKind::Pattern(pattern), host) => pattern.matches(host, port, open),
            (EntryKind::Packages, Host::Name(name)) => {
                port == PACKAGES_PORT && PACKAGE_HOSTS.contains(&name.as_str())
            }
            (EntryKind::Packages, Host::Address(_)) => false,
        }
    }

    fn names(&self, host: &Host, port: u16) -> bool {
        match &self.kind {
            EntryKind::Pattern(pattern) => pattern.names(host, port),
            EntryKind::Packages => false,
        }
    }
}

/// The lists of hosts of one agent, and the hosts that one call may reach in addition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    allowed: Vec<Entry>,
    denied: Vec<Entry>,
    /// Permitted for one call.
    granted: Vec<Entry>,
}

/// The judgement of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostVerdict<'a> {
    pub scope: HostScope,
    /// The entry of the list that decided; none if no entry matches.
    pub rule: Option<&'a str>,
}

/// Why an address of an allowed host is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressRefusal {
    #[error("{host} resolves to {address}, which the entry {rule:?} of the denied hosts excludes")]
    Denied {
        host: Host,
        address: IpAddr,
        rule: String,
    },
    #[error("{host} resolves to the {} address {address}, which is not on the list of allowed hosts", kind.words())]
    NotPublic {
        host: Host,
        address: IpAddr,
        kind: AddressKind,
    },
}

impl HostRules {
    /// Reads the lists of a scope.
    pub fn parse(scope: &SandboxScope) -> Result<Self, Problem> {
        let list = |field: &str, texts: &BTreeSet<String>| -> Result<Vec<Entry>, Problem> {
            let entry = |text: &String| {
                Entry::parse(text).map_err(|error| {
                    Problem::new(
                        "bad_setting",
                        format!("sandbox.{field}: {error}"),
                        "use HOST, HOST:PORT, *.DOMAIN or packages",
                    )
                })
            };
            texts.iter().map(entry).collect()
        };
        Ok(Self {
            allowed: list("allowed_hosts", &scope.allowed_hosts)?,
            denied: list("denied_hosts", &scope.denied_hosts)?,
            granted: Vec::new(),
        })
    }

    /// Adds the hosts that a policy or a person permitted for one call. A denied host stays denied.
    #[must_use]
    pub fn with_granted(mut self, targets: &[Target]) -> Self {
        let granted = targets.iter().filter_map(|target| match target {
            Target::Host { host, port, .. } => {
                let named = Host::parse(host).ok()?;
                Some(Entry {
                    text: named.with_port(*port),
                    kind: EntryKind::Pattern(HostPattern::exact(named, Some(*port))),
                })
            }
            Target::Path { .. } | Target::Agent { .. } | Target::Secret { .. } => None,
        });
        self.granted.extend(granted);
        self
    }

    /// The entries of the agent's list of allowed hosts.
    pub fn allowed_entries(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().map(|entry| entry.text.as_str())
    }

    fn open(&self) -> impl Iterator<Item = &Entry> {
        self.allowed.iter().chain(&self.granted)
    }

    /// The ports of this machine that entries name exactly, each with the name or loopback address of its entry.
    #[must_use]
    pub fn loopback_targets(&self) -> BTreeMap<u16, &Host> {
        let patterns = self.open().filter_map(|entry| match &entry.kind {
            EntryKind::Pattern(pattern) => pattern.named(),
            EntryKind::Packages => None,
        });
        let is_here = |host: &Host| match host {
            Host::Name(_) => host.is_loopback_name(),
            Host::Address(address) => AddressKind::of(*address) == AddressKind::Loopback,
        };
        let here = patterns.filter(|(host, _)| is_here(host));
        here.flat_map(|(host, ports)| ports.iter().map(move |port| (*port, host)))
            .filter(|(port, host)| self.judge(host, *port).scope == HostScope::Allowed)
            .collect()
    }

    /// Judges a host and a port as they were requested. Nothing is resolved.
    #[must_use]
    pub fn judge(&self, host: &Host, port: u16) -> HostVerdict<'_> {
        let is_denied = |entry: &&Entry| entry.matches(host, port, OpenPorts::All);
        if let Some(entry) = self.denied.iter().find(is_denied) {
            return verdict(HostScope::Denied, Some(entry));
        }
        let is_allowed = |entry: &&Entry| entry.matches(host, port, OpenPorts::Web);
        if let Some(entry) = self.open().find(is_allowed) {
            return verdict(HostScope::Allowed, Some(entry));
        }
        let is_private = match host {
            Host::Name(_) => host.is_loopback_name(),
            Host::Address(address) => AddressKind::of(*address) != AddressKind::Public,
        };
        let scope = if is_private {
            HostScope::Private
        } else {
            HostScope::Unlisted
        };
        verdict(scope, None)
    }

    /// Judges an address that an allowed host resolved to. An address that is not public must be named
    /// itself; a name counts only if nothing but the local network can define it.
    pub fn judge_address(&self, host: &Host, port: u16, address: IpAddr) -> Result<(), AddressRefusal> {
        let resolved = Host::of(address);
        if let Some(entry) = self
            .denied
            .iter()
            .find(|entry| entry.matches(&resolved, port, OpenPorts::All))
        {
            return Err(AddressRefusal::Denied {
                host: host.clone(),
                address,
                rule: entry.text.clone(),
            });
        }
        let is_named = |host: &Host| self.open().any(|entry| entry.names(host, port));
        let kind = AddressKind::of(address);
        let is_allowed = match kind {
            AddressKind::Public => true,
            AddressKind::Loopback => host.is_loopback_name() && is_named(host),
            AddressKind::Private => host.is_local_name() && is_named(host),
            AddressKind::LinkLocal | AddressKind::Special => false,
        };
        if is_allowed || is_named(&resolved) {
            return Ok(());
        }
        Err(AddressRefusal::NotPublic {
            host: host.clone(),
            address,
            kind,
        })
    }
}

fn verdict(scope: HostScope, entry: Option<&Entry>) -> HostVerdict<'_> {
    HostVerdict {
        scope,
        rule: entry.map(|entry| entry.text.as_str()),
    }
}

#[cfg(test)]
mod tests;
