//! The network of one command: a thread that serves its proxy and its published ports while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use wakeful_core::network_scope::Host;
use wakeful_core::tool::Connection;

use super::connection_log::ConnectionLog;
use super::connector::Connector;
use super::proxy::{Proxy, ProxyTarget};
use super::published;
use crate::sandbox::network_namespace::NamespaceSockets;
use crate::sandbox::protocol::LOOPBACK_PORTS_MAX;

/// Most threads that resolve names for one command.
const RESOLVER_THREADS_MAX: usize = 4;

/// What the network of a command is made of.
#[derive(Debug)]
pub(crate) struct NetworkOptions {
    pub(crate) connector: Connector,
    pub(crate) published_ports: BTreeSet<u16>,
}

impl NetworkOptions {
    /// The services of this machine that the command reaches on its own loopback addresses. A published port is
    /// for a server of the command itself.
    pub(crate) fn loopback_targets(&self) -> BTreeMap<u16, Host> {
        let named = self.connector.rules.loopback_targets().into_iter();
        named
            .filter(|(port, _)| !self.published_ports.contains(port))
            .take(LOOPBACK_PORTS_MAX)
            .map(|(port, host)| (port, host.clone()))
            .collect()
    }
}

/// What happened on the network of a command.
#[derive(Debug, Default)]
pub(crate) struct NetworkReport {
    pub(crate) connections: Vec<Connection>,
    /// Connections beyond the bound of the list.
    pub(crate) omitted: u64,
    pub(crate) findings: Vec<String>,
}

/// The network of a running command. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct CallNetwork {
    log: Arc<ConnectionLog>,
    findings: Vec<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CallNetwork {
    /// Starts to serve the sockets of a namespace.
    pub(crate) fn start(options: &NetworkOptions, sockets: NamespaceSockets) -> io::Result<Self> {
        let log = Arc::new(ConnectionLog::default());
        let connector = Arc::new(options.connector.clone());
        let (stop, stopped) = oneshot::channel();
        let NamespaceSockets {
            listener,
            loopback,
            source,
        } = sockets;
        for listener in loopback.iter().chain([&listener]) {
            listener.set_nonblocking(true)?;
        }
        let targets = options.loopback_targets();
        let source = source.map(published::SocketSource::new).transpose()?;
        let (bound, findings) = match &source {
            Some(_) => published::bind(&options.published_ports),
            None => (Vec::new(), Vec::new()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(RESOLVER_THREADS_MAX)
            .build()?;
        let proxy = Arc::new(Proxy::new(connector, Arc::clone(&log)));
        let work = move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else {
                    return;
                };
                if let Some(source) = source {
                    for (port, listener) in bound {
                        if let Ok(listener) = TcpListener::from_std(listener) {
                            tokio::spawn(published::serve(listener, port, source.clone()));
                        }
                    }
                }
                for listener in loopback {
                    let target = listener
                        .local_addr()
                        .ok()
                        .and_then(|at| targets.get(&at.port()).cloned());
                    if let (Some(host), Ok(listener)) = (target, TcpListener::from_std(listener)) {
                        tokio::spawn(Arc::clone(&proxy).serve(listener, ProxyTarget::Loopback(host)));
                    }
                }
                tokio::select! {
                    () = proxy.serve(listener, ProxyTarget::Requested) => {}
                    // Also when the sender is dropped.
                    _ = stopped => {}
                }
            });
            // A resolver that hangs must not keep the result of the call.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("network".to_owned()).spawn(work)?;
        Ok(Self {
            log,
            findings,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Ends all connections, and returns what happened.
    pub(crate) fn finish(mut self) -> NetworkReport {
        self.end();
        let (connections, omitted) = self.log.read();
        NetworkReport {
            connections,
            omitted,
            findings: std::mem::take(&mut self.findings),
        }
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread ended the connections already.
            let _ended = thread.join();
        }
    }
}

impl Drop for CallNetwork {
    fn drop(&mut self) {
        self.end();
    }
}
