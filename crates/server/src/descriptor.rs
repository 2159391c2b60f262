//! File descriptors: how many this process may have, and how many of them connections may take.
//!
//! The customary soft limit of 1,024 is there for programs that use `select`, and the bounds of this server lie above
//! it. Whoever runs out of descriptors can neither accept nor start a command nor open a file, so connections must
//! never take the last ones.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::app::{IN_FLIGHT_MAX, STREAMS_MAX};

/// Most connections: every stream, every request that may be worked on, and three idle ones beside each of those, as
/// browsers keep them.
const CONNECTIONS_MAX: usize = STREAMS_MAX + 4 * IN_FLIGHT_MAX;

/// Fewest connections, however little the system grants: a browser opens six, and the command line wants its turn.
const CONNECTIONS_MIN: usize = 16;

/// Most connections by the home's socket: a person's commands, and scripts around them.
const LOCAL_CONNECTIONS_MAX: usize = 64;

/// Fewest of them.
const LOCAL_CONNECTIONS_MIN: usize = 8;

/// The part of all connections that they have where the system grants few.
const LOCAL_PART: usize = 8;

/// Streams may use one in so many of them.
const LOCAL_STREAMS_PART: usize = 2;

/// What connections leave to others: the database with its log takes a dozen, a model or a command a handful each.
const RESERVE: usize = 256;

/// How many connections there may be at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connections {
    /// Over TCP.
    pub(crate) network: usize,
    /// By the home's socket, whatever is open over TCP.
    pub(crate) local: usize,
}

/// Raises the soft limit to the hard one, and says how many connections the limit that is now in force allows.
/// Commands of agents get the customary limit from whoever starts them.
pub(crate) fn raise() -> Connections {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // A system that refuses leaves the limit as it is, and then there are fewer connections.
    let _ = setrlimit(Resource::Nofile, raised);
    connections_max(getrlimit(Resource::Nofile).current)
}

/// Most streams, once [`raise`] was called. They stay, so they must leave connections to those who only ask something.
pub(crate) fn streams_max() -> usize {
    streams_among(connections_max(getrlimit(Resource::Nofile).maximum).network)
}

/// Most streams by the home's socket: half of its connections, so that a brake or a stop always gets in.
pub(crate) fn local_streams_max() -> usize {
    connections_max(getrlimit(Resource::Nofile).maximum).local / LOCAL_STREAMS_PART
}

/// Most connections under a limit; without one, as many as are wanted.
fn connections_max(limit: Option<u64>) -> Connections {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let all = limit.saturating_sub(RESERVE);
    let local = (all / LOCAL_PART).clamp(LOCAL_CONNECTIONS_MIN, LOCAL_CONNECTIONS_MAX);
    let network = all.saturating_sub(local).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX);
    Connections { network, local }
}

/// As large a part of the connections as streams have when nothing is scarce.
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
    fn under_the_smallest_limit_somebody_is_still_answered() {
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

    /// The limit is the whole process's, so it is lowered by one alone: whoever tests beside this does not notice.
    #[test]
    fn a_soft_limit_that_was_lowered_is_raised_to_the_hard_one() {
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
