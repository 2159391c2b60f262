//! The counters of a campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use serde_json::{Value, json};

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) worlds: u64,
    /// Crashes by `kill -9` or at a fail point, on a working disk without power loss.
    pub(crate) kills: u64,
    /// Crashes and power cuts between the intent and the result of an action.
    pub(crate) kills_between: u64,
    pub(crate) power_cuts: u64,
    /// Power cuts that lost or tore data.
    pub(crate) cuts_felt: u64,
    /// Pairs of fail points that were tried, and those at both of which the program crashed, one after the
    /// other.
    pub(crate) pairs: u64,
    pub(crate) pairs_deep: u64,
    /// The pairs at both of which the program crashed.
    pub(crate) met: BTreeSet<(&'static str, &'static str)>,
    /// Processes on a faulty disk.
    pub(crate) fault_lives: u64,
    /// Requests that were answered on a faulty disk, those that sent a message, and those that were
    /// refused.
    pub(crate) under_faults: u64,
    pub(crate) sent_under_faults: u64,
    pub(crate) refused: u64,
    /// Runs that were quarantined because killed programs claimed them too often, and were resumed.
    pub(crate) retried: u64,
    /// How often the program crashed at each fail point.
    pub(crate) points: BTreeMap<&'static str, u64>,
    /// The checker's counts.
    pub(crate) acknowledged: u64,
    pub(crate) effects: u64,
    pub(crate) unknown: u64,
    pub(crate) failed: u64,
    /// Broken promises by name.
    pub(crate) broken: BTreeMap<String, u64>,
}

impl Tally {
    /// Records a crash at a fail point.
    pub(crate) fn reached(&mut self, point: &'static str) {
        *self.points.entry(point).or_default() += 1;
    }

    /// Adds the checker's verdict of one episode.
    pub(crate) fn add_verdict(&mut self, verdict: &Value) {
        let count = |name: &str| verdict[name].as_u64().unwrap_or(0);
        self.worlds += 1;
        self.acknowledged += count("acknowledged");
        self.effects += count("effects");
        self.unknown += count("unknown");
        self.failed += count("failed");
        for (promise, times) in verdict["broken"].as_object().into_iter().flatten() {
            *self.broken.entry(promise.clone()).or_default() += times.as_u64().unwrap_or(0);
        }
    }

    /// Whether every promise was kept.
    pub(crate) fn is_sound(&self) -> bool {
        self.broken.values().all(|times| *times == 0)
    }

    /// How often one promise was broken.
    pub(crate) fn broken(&self, promise: &str) -> u64 {
        self.broken.get(promise).copied().unwrap_or(0)
    }

    /// The counters as one object. The three most important numbers are derived from the promises.
    pub(crate) fn json(&self) -> Value {
        json!({
            "worlds": self.worlds, "kills": self.kills, "kills_between_intent_and_result": self.kills_between,
            "pairs_of_points": self.pairs, "pairs_two_deep": self.pairs_deep,
            "different_pairs_two_deep": self.met.len(),
            "power_cuts": self.power_cuts, "power_cuts_felt": self.cuts_felt, "lives_on_a_bad_disk": self.fault_lives,
            "operations_under_faults": self.under_faults, "messages_under_faults": self.sent_under_faults,
            "refused_under_faults": self.refused, "runs_tried_again": self.retried,
            "acknowledged": self.acknowledged, "effects": self.effects, "outcome_unknown": self.unknown,
            "failed_runs": self.failed, "lost": self.broken("kept") + self.broken("ended") + self.broken("stays_reported"),
            "duplicated": self.broken("at_most_once") + self.broken("one_run"),
            "false_done": self.broken("done_is_done") + self.broken("no_silence"),
            "broken": self.broken,
        })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.kills += other.kills;
        self.kills_between += other.kills_between;
        self.power_cuts += other.power_cuts;
        self.cuts_felt += other.cuts_felt;
        self.pairs += other.pairs;
        self.pairs_deep += other.pairs_deep;
        self.met.extend(other.met);
        self.fault_lives += other.fault_lives;
        self.under_faults += other.under_faults;
        self.sent_under_faults += other.sent_under_faults;
        self.refused += other.refused;
        self.retried += other.retried;
        self.acknowledged += other.acknowledged;
        self.effects += other.effects;
        self.unknown += other.unknown;
        self.failed += other.failed;
        for (point, times) in other.points {
            *self.points.entry(point).or_default() += times;
        }
        for (promise, times) in other.broken {
            *self.broken.entry(promise).or_default() += times;
        }
    }
}
