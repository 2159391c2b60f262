//! The daemon: its lifecycle, the files it publishes, and how its components are connected.
//!
//! | module | does |
//! |---|---|
//! | [`files`] | the folder `run/`: the daemon record, the last failure, the log file |
//! | [`socket`] | the socket in the home through which commands reach the daemon |
//! | [`token`] | the secret that authenticates callers |
//! | [`host`] | the operations that the service and the server delegate to the binary |
//! | [`backup`] | daily backups |
//! | [`saga_recovery`] | keeps the journal consistent with the agents' runs |
//! | [`workers`] | drives agents, serves requests, maintains the home |
//! | [`logging`] | the log, as text or JSON |
//! | [`logins`] | the files of browser logins |
//! | [`lifecycle`] | from binding the socket to shutdown |

pub(crate) mod backup;
pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod lifecycle;
mod logging;
mod logins;
mod saga_recovery;
mod socket;
pub(crate) mod token;
pub(crate) mod workers;
