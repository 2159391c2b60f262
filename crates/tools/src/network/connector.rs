//! From a host to a connection: the agent's rules and policies judge the host, the name is resolved once, the
//! rules judge its addresses, and the connection goes to an address that was judged.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use wakeful_core::id::AgentId;
use wakeful_core::network_scope::{Host, HostRules};
use wakeful_core::policy::{FOREIGN_TARGET, HostDecision, HostScope, Target};
use wakeful_ports::tool::HostPolicy;

use super::upstream::Upstream;
use crate::own_addresses::OwnAddresses;

/// The names that an administrator gave to addresses.
const HOSTS_FILE: &str = "/etc/hosts";

/// How long the resolution of a name, and the connection to one address, may take.
const RESOLVE_MAX: Duration = Duration::from_secs(10);
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Most addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;

/// Most entries of a list that a hint repeats.
const HINT_ENTRIES_MAX: usize = 8;

/// Resolves names. It blocks, so it runs on a thread for blocking work.
pub(crate) trait Resolver: Send + Sync {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system.
#[derive(Debug)]
pub(crate) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if !name.contains('.') {
            return looked_up(name);
        }
        // The system does not find a name with a trailing dot in this file.
        let listed = std::fs::read_to_string(HOSTS_FILE).map(|text| listed_addresses(&text, name));
        match listed {
            Ok(found) if !found.is_empty() => Ok(found),
            // The dot keeps the search list of the machine out of it.
            Ok(_) | Err(_) => looked_up(&format!("{name}.")),
        }
    }
}

fn looked_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = (name, 0).to_socket_addrs()?;
    Ok(found.map(|address| address.ip()).collect())
}

/// The addresses of a name in a file of hosts.
pub(super) fn listed_addresses(text: &str, name: &str) -> Vec<IpAddr> {
    let lines = text
        .lines()
        .map(|line| line.split_once('#').map_or(line, |(line, _)| line));
    let named = lines.filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next()?.parse().ok()?;
        words
            .any(|alias| alias.eq_ignore_ascii_case(name))
            .then_some(address)
    });
    named.collect()
}

/// Why a connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ConnectError {
    /// The rules refuse it. The text names the rule and the next step.
    Refused { reason: String, hint: String },
    /// It was allowed and could not be made.
    Failed(String),
}

/// How to reach a host that the rules allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// One of these addresses, which were judged.
    Direct(Vec<SocketAddr>),
    /// The upstream proxy, which resolves the name.
    Upstream,
}

/// Makes connections for one agent.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) rules: HostRules,
    pub(crate) policy: HostPolicy,
    pub(crate) agent_id: AgentId,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) own_addresses: OwnAddresses,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

impl Connector {
    /// Judges a host, resolves it and judges its addresses. Returns the rule that allows it, and the route.
    pub(crate) async fn route(&self, host: &Host, port: u16) -> Result<(String, Route), ConnectError> {
        let rule = self.permitting_rule(host, port)?;
        if let Host::Name(name) = host
            && self
                .upstream
                .as_ref()
                .is_some_and(|upstream| upstream.serves(host))
            && !host.is_loopback_name()
        {
            let _resolved_there = name;
            return Ok((rule, Route::Upstream));
        }
        let found = self.resolve(host).await?;
        let mut refusal = None;
        let mut addresses = Vec::new();
        for address in found {
            match self.rules.judge_address(host, port, address) {
                Ok(()) => addresses.push(SocketAddr::new(address, port)),
                Err(error) => refusal = Some((address, error)),
            }
        }
        addresses.truncate(ADDRESSES_MAX);
        self.refuse_own(&addresses)?;
        match (addresses.is_empty(), refusal) {
            (false, _) => Ok((rule, Route::Direct(addresses))),
            (true, Some((address, error))) => Err(ConnectError::Refused {
                reason: error.to_string(),
                hint: self.hint(&Host::of(address), port),
            }),
            (true, None) => Err(ConnectError::Failed(format!("{host} has no address"))),
        }
    }

    /// Judges a host as it was requested. Returns the entry of the list or the policy that permits it.
    fn permitting_rule(&self, host: &Host, port: u16) -> Result<String, ConnectError> {
        let verdict = self.rules.judge(host, port);
        let entry = match verdict.scope {
            HostScope::Allowed => Some(verdict.rule.unwrap_or_default()),
            HostScope::Unlisted => None,
            // Safety constraints: no policy overrides them.
            HostScope::Private | HostScope::Denied => return Err(self.refusal(host, port, verdict.rule)),
        };
        let decision = self.policy.decide(&Target::Host {
            host: host.to_string(),
            port,
            scope: verdict.scope,
        });
        match (decision, entry) {
            (HostDecision::AsListed | HostDecision::Permitted { .. }, Some(entry)) => Ok(entry.to_owned()),
            (HostDecision::Permitted { rule }, None) => Ok(rule),
            (HostDecision::AsListed, None) => Err(self.refusal(host, port, None)),
            (HostDecision::Refused { rule }, _) if rule == FOREIGN_TARGET => Err(ConnectError::Refused {
                reason: format!(
                    "this run has read untrusted data, so its commands reach only hosts that are asked for: {}",
                    host.with_port(port)
                ),
                hint: "name the hosts in `hosts`, and a person decides; or read pages with WebFetch"
                    .to_owned(),
            }),
            (HostDecision::Refused { rule }, _) => Err(ConnectError::Refused {
                reason: format!("{} is excluded by the policy {rule:?}", host.with_port(port)),
                hint: "use another host; a person can change the policy".to_owned(),
            }),
            (HostDecision::Asks { rule }, _) => Err(ConnectError::Refused {
                reason: format!(
                    "the policy {rule:?} asks before connections to {}, and a connection of a running call \
                     cannot wait for a person",
                    host.with_port(port)
                ),
                hint: "use WebFetch, which can ask; a person can write a policy that permits the host"
                    .to_owned(),
            }),
        }
    }

    /// No list and no policy opens the API: its clients decide in a person's place.
    fn refuse_own(&self, addresses: &[SocketAddr]) -> Result<(), ConnectError> {
        match addresses
            .iter()
            .find(|address| self.own_addresses.contains(**address))
        {
            None => Ok(()),
            Some(address) => Err(ConnectError::Refused {
                reason: format!("{address} is Wakeful's own API, which no tool can reach"),
                hint: "use the tools that Wakeful gives you".to_owned(),
            }),
        }
    }

    /// Connects to a host.
    pub(crate) async fn connect(&self, host: &Host, port: u16) -> Result<(String, TcpStream), ConnectError> {
        let (rule, route) = self.route(host, port).await?;
        let addresses = match (route, &self.upstream) {
            (Route::Direct(addresses), _) => addresses,
            (Route::Upstream, Some(upstream)) => {
                let made = timeout(CONNECT_MAX, upstream.connect(host, port)).await;
                let made = made.unwrap_or_else(|_| Err("no response in time".to_owned()));
                let stream =
                    made.map_err(|error| ConnectError::Failed(format!("the upstream proxy: {error}")))?;
                return Ok((rule, stream));
            }
            (Route::Upstream, None) => Vec::new(),
        };
        let mut failure = format!("{host} has no address");
        for address in addresses {
            match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok((rule, stream)),
                Ok(Err(error)) => failure = format!("{}: {error}", host.with_port(port)),
                Err(_) => failure = format!("{}: no answer in time", host.with_port(port)),
            }
        }
        Err(ConnectError::Failed(failure))
    }

    async fn resolve(&self, host: &Host) -> Result<Vec<IpAddr>, ConnectError> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            // These mean this machine, regardless of the DNS.
            Host::Name(_) if host.is_loopback_name() => {
                return Ok([IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()].into());
            }
            Host::Name(name) => name.clone(),
        };
        let resolver = Arc::clone(&self.resolver);
        let text = name.clone();
        let work = tokio::task::spawn_blocking(move || resolver.resolve(&text));
        let failed = |why: &str| ConnectError::Failed(format!("{name} cannot be resolved: {why}"));
        match timeout(RESOLVE_MAX, work).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(Ok(Err(error))) => Err(failed(&error.to_string())),
            Ok(Err(_)) => Err(failed("the resolver stopped")),
            Err(_) => Err(failed("no answer in time")),
        }
    }

    fn refusal(&self, host: &Host, port: u16, rule: Option<&str>) -> ConnectError {
        let target = host.with_port(port);
        match rule {
            Some(rule) => ConnectError::Refused {
                reason: format!("{target} is excluded by the entry {rule:?} of the agent's denied hosts"),
                hint: "use another host; a person can change the agent's denied hosts".to_owned(),
            },
            None => ConnectError::Refused {
                reason: format!("{target} is not on the agent's list of allowed hosts"),
                hint: self.hint(host, port),
            },
        }
    }

    fn hint(&self, host: &Host, port: u16) -> String {
        let entry = match (host, port) {
            (Host::Name(_), 443 | 80) => host.to_string(),
            (Host::Name(_) | Host::Address(_), _) => host.with_port(port),
        };
        // The flag replaces the list, so the command repeats it.
        let listed: Vec<String> = self.rules.allowed_entries().map(quoted).collect();
        if listed.len() > HINT_ENTRIES_MAX {
            return format!("a person can add {entry} to the agent's allowed hosts");
        }
        let flags: Vec<String> = listed
            .into_iter()
            .chain([entry])
            .map(|entry| format!("--allow-host {entry}"))
            .collect();
        format!(
            "a person can allow it: wakeful agent set {} {}",
            self.agent_id,
            flags.join(" ")
        )
    }
}

/// An entry as a shell reads it.
fn quoted(entry: &str) -> String {
    if entry.starts_with('*') {
        format!("'{entry}'")
    } else {
        entry.to_owned()
    }
}
