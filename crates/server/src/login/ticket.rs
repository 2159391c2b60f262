//! One-use tickets for event streams. A browser's `EventSource` cannot send headers, so the page fetches a ticket with
//! its cookie and token, and the stream carries the ticket and the cookie. Only hashes are kept, in memory.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq as _;
use wakeful_core::key::Digest;

use super::list::LoginId;

/// How long a ticket is valid: the page uses it immediately.
pub(crate) const TICKET_MS: u64 = 30_000;

/// Most pending tickets: each login of a full list may open four streams at the same time. The oldest is
/// dropped first.
const TICKETS_MAX: usize = 256;

/// The unused tickets.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<VecDeque<PendingTicket>>);

struct PendingTicket {
    hash: Digest,
    login: LoginId,
    expires_ms: u64,
}

impl Tickets {
    /// Adds a new ticket of a login. `now_ms` is on the monotonic clock.
    pub(crate) fn add(&self, ticket: &str, login: LoginId, now_ms: u64) {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|waiting| waiting.expires_ms > now_ms);
        if tickets.len() >= TICKETS_MAX {
            tickets.pop_front();
        }
        tickets.push_back(PendingTicket {
            hash: Digest::of(ticket.as_bytes()),
            login,
            expires_ms: now_ms.saturating_add(TICKET_MS),
        });
    }

    /// Consumes a ticket, even one of another login. Returns whether it was valid for this login.
    pub(crate) fn take(&self, ticket: &str, login: LoginId, now_ms: u64) -> bool {
        let hash = Digest::of(ticket.as_bytes());
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tickets
            .iter()
            .position(|waiting| waiting.hash.as_bytes().ct_eq(hash.as_bytes()).into());
        let taken = found.and_then(|at| tickets.remove(at));
        taken.is_some_and(|taken| taken.login == login && taken.expires_ms > now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_bounded_and_the_newest_stays() {
        let (tickets, login) = (Tickets::default(), LoginId::from_bytes([7; 32]));
        for n in 0..=TICKETS_MAX {
            tickets.add(&n.to_string(), login, 0);
        }
        assert_eq!(tickets.0.lock().expect("lock").len(), TICKETS_MAX);
        assert!(!tickets.take("0", login, 1) && tickets.take(&TICKETS_MAX.to_string(), login, 1));
    }
}
