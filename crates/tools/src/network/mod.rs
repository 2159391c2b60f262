//! How commands and tools reach hosts: through the agent's rules for hosts, and no other way.
//!
//! | module | about |
//! |---|---|
//! | `call` | the network of one command: its proxy and its published ports |
//! | `proxy` | the proxy that a command's programs connect to |
//! | `request` | parsing what a program sends to the proxy |
//! | `connector` | from a host to a connection with a checked address |
//! | `upstream` | the proxy through which Wakeful itself must connect |
//! | `published` | ports of the sandbox on the loopback address of this machine |
//! | `connection_log` | what the result of a call says about its connections |

pub(crate) mod call;
pub(crate) mod connection_log;
pub(crate) mod connector;
mod proxy;
mod published;
mod request;
pub(crate) mod upstream;

#[cfg(test)]
pub(crate) mod tests;
