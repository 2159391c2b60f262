//! The daemon: who it is, what it leaves for others to find, and how its rooms are joined.
//!
//! | module | does |
//! |---|---|
//! | [`files`] | the folder `run/`: who runs, what failed last, the log |
//! | [`socket`] | the socket in the home by which commands reach it |
//! | [`token`] | the secret that lets callers in |
//! | [`host`] | what the service and the server ask of the binary |
//! | [`saga_recovery`] | keeps journal and agents in step |
//! | [`work`] | agents are driven, calls are answered, the home is looked after |
//! | [`logging`] | the log, as text or JSON |
//! | [`logins`] | where logins of browsers are kept |
//! | [`life`] | from the socket to the last goodbye |

pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod lifecycle;
mod logging;
mod logins;
mod saga_recovery;
mod socket;
pub(crate) mod token;
pub(crate) mod workers;
