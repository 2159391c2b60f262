//! File descriptors: how many this process may have, and how many of them connections may use.
//!
//! The usual soft limit of 1,024 exists for programs that use `select`, and the limits of this server are
//! above it. A process without free descriptors can neither accept connections nor start commands nor open
//! files, so connections must never use the last ones.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::app::{IN_FLIGHT_MAX, STREAMS_MAX};

/// Most connections: every stream, every concurrent request, and three idle ones for each of those, as
/// browsers keep them.
const CONNECTIONS_MAX: usize = STREAMS_MAX + 4 * IN_FLIGHT_MAX;

/// Fewest connections, regardless of the system's limit: a browser opens six, and the command line needs
/// some.
const CONNECTIONS_MIN: usize = 16;

/// Most connections on the home's socket: a person's commands and scripts.
const LOCAL_CONNECTIONS_MAX: usize = 64;

/// Fewest connections on the home's socket.
const LOCAL_CONNECTIONS_MIN: usize = 8;

/// The divisor for the share of all connections that the home's socket gets when the system grants few.
const LOCAL_PART: usize = 8;

/// The divisor for the share of them that streams may use.
const LOCAL_STREAMS_PART: usize = 2;

/// Descriptors reserved for other uses: the database with its log needs a dozen, a model or a command a
/// handful each.
const RESERVE: usize = 256;

/// Limits on concurrent connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Over TCP.
    pub(crate) network: usize,
    /// On the home's socket, independent of those over TCP.
    pub(crate) local: usize,
}

/// Raises the soft limit to the hard one, and returns how many connections the resulting limit allows.
/// Commands of agents are started with the usual limit.
pub(crate) fn raise() -> Connections {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If the system refuses, the limit stays, and fewer connections are allowed.
    let _ = setrlimit(Resource::Nofile, raised);
    connections_max(getrlimit(Resource::Nofile).current)
}

/// Most streams, after [`raise`] was called. Streams are long-lived, so they must leave connections for
/// short requests.
pub(crate) fn streams_max() -> usize {
    streams_among(connections_max(getrlimit(Resource::Nofile).maximum).network)
}

/// Most streams on the home's socket: half of its connections, so that a brake or a stop always gets
/// through.
pub(crate) fn local_streams_max() -> usize {
    connections_max(getrlimit(Resource::Nofile).maximum).local / LOCAL_STREAMS_PART
}

/// Most connections under a limit; without one, the configured maximum.
fn connections_max(limit: Option<u64>) -> Connections {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let all = limit.saturating_sub(RESERVE);
    let local = (all / LOCAL_PART).clamp(LOCAL_CONNECTIONS_MIN, LOCAL_CONNECTIONS_MAX);
    let network = all.saturating_sub(local).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX);
    Connections { network, local }
}

/// The share of connections that streams have when nothing is scarce.
const fn streams_among(connections: usize) -> usize {
    connections * STREAMS_MAX / CONNECTIONS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_and_never_exceed_their_bound() {
        let wanted = CONNECTIONS_MAX as u64;
        let cases = [
            (None, 3_072, 64),
            (Some(u64::MAX), 3_072, 64),
            (Some(wanted + 320), 3_072, 64),
            (Some(wanted + 319), 3_071, 64),
            (Some(1_024), 704, 64),
            (Some(281), 17, 8),
        ];
        for (limit, network, local) in cases {
            assert_eq!(
                connections_max(limit),
                Connections { network, local },
                "{limit:?}"
            );
        }
    }

    #[test]
    fn under_the_smallest_limit_some_connections_are_still_served() {
        let fewest = Connections {
            network: CONNECTIONS_MIN,
            local: LOCAL_CONNECTIONS_MIN,
        };
        for limit in [0, 1, 256, 280] {
            assert_eq!(connections_max(Some(limit)), fewest, "{limit}");
        }
    }

    #[test]
    fn streams_never_take_the_last_connection() {
        assert_eq!(streams_among(CONNECTIONS_MAX), STREAMS_MAX);
        assert_eq!(streams_among(768), 512);
        for connections in CONNECTIONS_MIN..=CONNECTIONS_MAX {
            assert!(
                (1..connections).contains(&streams_among(connections)),
                "{connections}"
            );
        }
    }

    /// The limit applies to the whole process, so it is lowered only by one, which does not affect
    /// concurrent tests.
    #[test]
    fn a_lowered_soft_limit_is_raised_to_the_hard_one() {
        let limit = getrlimit(Resource::Nofile);
        let lowered = Rlimit {
            current: Some(limit.maximum.map_or(1_048_576, |hard| hard - 1)),
            ..limit
        };
        setrlimit(Resource::Nofile, lowered).expect("a limit may be lowered");
        assert_eq!(raise(), connections_max(limit.maximum));
        assert_eq!(getrlimit(Resource::Nofile).current, limit.maximum);
    }
}
