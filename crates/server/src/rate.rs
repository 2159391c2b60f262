//! Rate limits: fixed windows of a minute, counted in a bounded table, without any timer. A window ends at
//! the first access after its minute.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use wakeful_core::key::Digest;
use wakeful_core::rate::RateWindow;

use crate::login::LoginId;

/// Most counters. More than a home has clients and agents; beyond this, new keys share one counter.
const KEYS_MAX: usize = 4_096;

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RateKey {
    /// Requests with the token over TCP.
    Token,
    /// Requests with the token on the home's socket: programs that connect over TCP must not use up the
    /// operator's requests.
    Local,
    /// Requests of a logged-in browser.
    Login(LoginId),
    /// Requests without credentials from an address.
    Address(IpAddr),
    /// Wrong tokens or codes from an address.
    Failed(IpAddr),
    /// Messages to an agent.
    Agent(String),
    /// Deliveries to the valid URL of a trigger, which is a caller that is not the owner's client.
    Trigger(Digest),
    /// Turns that such callers cause at an agent.
    OutsideTurns(String),
    /// All keys without a counter of their own.
    Others,
}

impl RateKey {
    /// The noun of the error message.
    pub(crate) const fn noun(&self) -> &'static str {
        match self {
            Self::Token | Self::Local | Self::Login(_) | Self::Address(_) | Self::Others => "requests",
            Self::Failed(_) => "wrong tokens or codes",
            Self::Agent(_) => "messages to this agent",
            Self::Trigger(_) => "deliveries to this trigger",
            Self::OutsideTurns(_) => "deliveries to this agent",
        }
    }

    /// What the client can do. The limit on guesses is not configurable.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Token | Self::Local | Self::Login(_) | Self::Address(_) | Self::Others => {
                "wait for the time in Retry-After, or raise `server.rate_per_minute` in config.toml"
            }
            Self::Failed(_) => {
                "wait a minute; then use the daemon's token, or open a new link from `wakeful open`"
            }
            // The sender cannot change the settings.
            Self::Trigger(_) | Self::OutsideTurns(_) => "wait for the time in Retry-After",
            Self::Agent(_) => {
                "wait for the time in Retry-After, or raise `server.messages_per_minute` in config.toml"
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<BTreeMap<RateKey, RateWindow>>);

/// The state of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateStatus {
    /// Nothing was counted within the last minute.
    Unknown,
    /// One more would pass.
    Room,
    /// The limit is reached for this many seconds.
    Full(u64),
}

/// For how many seconds the limit is reached; none if one more passes.
fn full_for_s(window: &RateWindow, limit: u32, now_ms: u64) -> Option<u64> {
    let wait_ms = window.wait_ms(limit, now_ms)?;
    Some(wait_ms.div_ceil(1_000))
}

impl Rates {
    /// Counts one. The error is the number of seconds for which the limit is reached.
    pub(crate) fn count(&self, key: RateKey, limit: u32, now_ms: u64) -> Result<(), u64> {
        if limit == 0 {
            return Ok(());
        }
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= KEYS_MAX && !windows.contains_key(&key) {
            windows.retain(|_, window| !window.is_over(now_ms));
        }
        let has_place = windows.len() < KEYS_MAX || windows.contains_key(&key);
        let key = if has_place { key } else { RateKey::Others };
        let fresh = RateWindow::beginning(now_ms, 0);
        let window = windows.entry(key).or_insert(fresh);
        if window.is_over(now_ms) {
            *window = fresh;
        }
        if let Some(wait_s) = full_for_s(window, limit, now_ms) {
            return Err(wait_s);
        }
        window.take();
        Ok(())
    }

    /// Gives a counted use back, because it caused nothing.
    pub(crate) fn give_back(&self, key: &RateKey) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.get_mut(key) {
            window.used = window.used.saturating_sub(1);
        }
    }

    /// Reads a counter without counting.
    pub(crate) fn standing(&self, key: &RateKey, limit: u32, now_ms: u64) -> RateStatus {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(key).filter(|window| !window.is_over(now_ms));
        match window.map(|window| full_for_s(window, limit, now_ms)) {
            None => RateStatus::Unknown,
            Some(Some(wait_s)) if limit > 0 => RateStatus::Full(wait_s),
            Some(_) => RateStatus::Room,
        }
    }

    /// Removes a counter.
    pub(crate) fn forget(&self, key: &RateKey) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::rate::RATE_WINDOW_MS;

    use super::*;

    #[test]
    fn a_window_passes_its_limit_and_restarts_after_a_minute() {
        let rates = Rates::default();
        assert_eq!(rates.count(RateKey::Token, 2, 1_000), Ok(()));
        assert_eq!(rates.count(RateKey::Token, 2, 1_500), Ok(()));
        assert_eq!(rates.count(RateKey::Token, 2, 2_000), Err(59));
        assert_eq!(rates.count(RateKey::Agent("a".into()), 2, 2_000), Ok(()));
        assert_eq!(rates.count(RateKey::Token, 2, 60_999), Err(1));
        assert_eq!(rates.count(RateKey::Token, 2, 61_000), Ok(()));
    }

    #[test]
    fn reading_counts_nothing_and_a_removed_key_is_unknown() {
        let rates = Rates::default();
        let standing = |now_ms| rates.standing(&RateKey::Token, 2, now_ms);
        assert_eq!(standing(1_000), RateStatus::Unknown);
        assert_eq!(rates.count(RateKey::Token, 2, 1_000), Ok(()));
        assert_eq!(
            (standing(1_000), standing(1_000)),
            (RateStatus::Room, RateStatus::Room)
        );
        assert_eq!(rates.count(RateKey::Token, 2, 1_000), Ok(()));
        assert_eq!(standing(2_000), RateStatus::Full(59));
        assert_eq!(standing(61_000), RateStatus::Unknown, "its minute is over");
        assert_eq!(
            rates.standing(&RateKey::Token, 0, 2_000),
            RateStatus::Room,
            "without a limit"
        );
        rates.forget(&RateKey::Token);
        assert_eq!(standing(2_000), RateStatus::Unknown);
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let rates = Rates::default();
        for now_ms in 0..10_000 {
            assert_eq!(rates.count(RateKey::Token, 0, now_ms), Ok(()));
        }
        assert!(rates.0.lock().expect("lock").is_empty());
    }

    #[test]
    fn new_keys_share_a_counter_while_the_table_is_full() {
        let rates = Rates::default();
        let key = |n: usize| RateKey::Agent(n.to_string());
        for n in 0..KEYS_MAX + 10 {
            let _ = rates.count(key(n), 5, 0);
        }
        assert!(rates.0.lock().expect("lock").len() <= KEYS_MAX + 1);
        assert_eq!(
            rates.count(key(KEYS_MAX + 99), 5, 0),
            Err(60),
            "the shared one is used up"
        );
        assert_eq!(
            rates.count(key(0), 5, 0),
            Ok(()),
            "an existing key keeps its counter"
        );
        assert_eq!(rates.count(key(KEYS_MAX + 99), 5, RATE_WINDOW_MS), Ok(()));
        assert_eq!(rates.0.lock().expect("lock").len(), 1);
    }
}
