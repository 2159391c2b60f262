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

/// What connections leave to others: the database with its log takes a dozen, a model or a command a handful each.
const RESERVE: usize = 256;

/// Raises the soft limit to the hard one, and says how many connections the limit that is now in force allows.
/// Commands of agents get the customary limit from whoever starts them.
pub(crate) fn raise() -> usize {
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
    streams_among(connections_max(getrlimit(Resource::Nofile).maximum))
}

/// Most connections under a limit; without one, as many as are wanted.
fn connections_max(limit: Option<u64>) -> usize {
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    limit
        .saturating_sub(RESERVE)
        .clamp(CONNECTIONS_MIN, CONNECTIONS_MAX)
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
            (None, 3_072),
            (Some(u64::MAX), 3_072),
            (Some(wanted + 256), 3_072),
            (Some(wanted + 255), 3_071),
            (Some(1_024), 768),
            (Some(273), 17),
        ];
        for (limit, connections) in cases {
            assert_eq!(connections_max(limit), connections, "{limit:?}");
        }
    }

    #[test]
    fn under_the_smallest_limit_somebody_is_still_answered() {
        for limit in [0, 1, 256, 272] {
            assert_eq!(connections_max(Some(limit)), CONNECTIONS_MIN, "{limit}");
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
