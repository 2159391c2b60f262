//! Rates: how many requests, turns and calls of a tool begin within a minute.
//!
//! A window begins with the first use and ends a minute later. A fixed window needs one time and one count, which a
//! run keeps in its state; a rolling one would need the time of every use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// The length of a window.
pub const RATE_WINDOW_MS: u64 = 60_000;

/// Requests per minute of the owner's own clients: the page, the command line and programs with the token.
pub const OWNER_REQUESTS_PER_MINUTE: u32 = 6_000;

/// Requests per minute of a caller that is not the owner's client, such as a program that knows a webhook.
pub const OUTSIDE_REQUESTS_PER_MINUTE: u32 = 100;

/// Turns per minute that such callers may cause at one agent.
pub const OUTSIDE_TURNS_PER_MINUTE: u32 = 20;

/// Calls of one tool per minute and agent.
pub const TOOL_CALLS_PER_MINUTE: u32 = 60;

/// The uses within one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateWindow {
    /// When it began, in milliseconds of whichever clock the uses are measured with.
    pub began_ms: u64,
    pub used: u32,
}

impl RateWindow {
    /// A window that begins now, after uses that were counted elsewhere.
    #[must_use]
    pub const fn beginning(now_ms: u64, used: u32) -> Self {
        Self {
            began_ms: now_ms,
            used,
        }
    }

    /// Whether it has ended. A window that begins in the future was measured before the clock was set back.
    #[must_use]
    pub const fn is_over(&self, now_ms: u64) -> bool {
        now_ms < self.began_ms || now_ms - self.began_ms >= RATE_WINDOW_MS
    }

    /// How long one more use must wait; none if it need not.
    #[must_use]
    pub fn wait_ms(&self, per_minute: u32, now_ms: u64) -> Option<u64> {
        let left_ms = RATE_WINDOW_MS.saturating_sub(now_ms.saturating_sub(self.began_ms));
        (self.used >= per_minute && !self.is_over(now_ms)).then(|| left_ms.max(1))
    }

    /// Counts one use.
    pub const fn take(&mut self) {
        self.used = self.used.saturating_add(1);
    }
}

/// What the machine needs to know about the rates of tools. The driver reads it, and the run log stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateReads {
    /// The limit for each tool.
    pub per_minute: u32,
    pub now: Millis,
    /// The calls of other runs of the agent within the last minute, for tools of which this run has no window.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub elsewhere: BTreeMap<String, u32>,
}

impl RateReads {
    /// The current time as windows measure it.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.now.0).unwrap_or(0)
    }
}

/// The windows of the tools that a run calls, by name. Tools are few, so it stays small.
pub type ToolRates = BTreeMap<String, RateWindow>;

/// Takes one call of a tool, or returns how long it must wait.
pub fn take_call(rates: &mut ToolRates, tool: &str, reads: &RateReads) -> Result<(), u64> {
    let now_ms = reads.now_ms();
    let fresh = || RateWindow::beginning(now_ms, reads.elsewhere.get(tool).copied().unwrap_or(0));
    let window = rates.entry(tool.to_owned()).or_insert_with(fresh);
    if window.is_over(now_ms) {
        *window = fresh();
    }
    match window.wait_ms(reads.per_minute, now_ms) {
        Some(wait_ms) => Err(wait_ms),
        None => {
            window.take();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(now: i64) -> RateReads {
        RateReads {
            per_minute: 2,
            now: Millis(now),
            elsewhere: BTreeMap::new(),
        }
    }

    // Conformance: A-211
    #[test]
    fn the_call_after_the_limit_waits_for_the_end_of_the_minute() {
        let mut rates = ToolRates::new();
        let mut take = |tool: &str, now| take_call(&mut rates, tool, &at(now));
        assert_eq!((take("A", 1_000), take("A", 2_000)), (Ok(()), Ok(())));
        assert_eq!(take("A", 2_000), Err(59_000));
        assert_eq!(take("B", 2_000), Ok(()), "each tool has its own window");
        assert_eq!(take("A", 60_999), Err(1));
        assert_eq!(take("A", 61_000), Ok(()));
    }

    #[test]
    fn calls_of_other_runs_count_in_a_new_window() {
        let mut rates = ToolRates::new();
        let reads = RateReads {
            elsewhere: BTreeMap::from([("A".to_owned(), 1)]),
            ..at(0)
        };
        assert_eq!(take_call(&mut rates, "A", &reads), Ok(()));
        assert_eq!(take_call(&mut rates, "A", &reads), Err(60_000));
    }

    #[test]
    fn a_clock_that_is_set_back_ends_the_window() {
        let mut rates = ToolRates::new();
        for _ in 0..2 {
            assert_eq!(take_call(&mut rates, "A", &at(1_000_000)), Ok(()));
        }
        assert_eq!(take_call(&mut rates, "A", &at(5)), Ok(()));
    }

    proptest! {
        /// For all times of calls, a window of a minute never passes more than the limit, and a wait ends within a minute.
        #[test]
        fn no_window_passes_more_than_its_limit(steps in prop::collection::vec(0..40_000_i64, 1..80)) {
            let (mut rates, mut now) = (ToolRates::new(), 0);
            let mut passed: BTreeMap<u64, u32> = BTreeMap::new();
            for step in steps {
                now += step;
                match take_call(&mut rates, "A", &at(now)) {
                    Ok(()) => *passed.entry(rates["A"].began_ms).or_default() += 1,
                    Err(wait_ms) => prop_assert!((1..=RATE_WINDOW_MS).contains(&wait_ms)),
                }
            }
            prop_assert!(passed.values().all(|count| *count <= 2), "{passed:?}");
        }
    }
}
