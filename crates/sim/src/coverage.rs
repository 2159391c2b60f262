//! Counts what a simulation covered.

use std::collections::BTreeMap;

use crate::evidence::Evidence;

/// Counters by name. They show whether the simulated scenarios are varied enough.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(pub BTreeMap<String, u64>);

impl Coverage {
    /// Adds the counters of another simulation.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name.clone()).or_default() += count;
        }
    }

    /// Counts what one simulation covered.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut tally = Self::default();
        let mut met = |name: String| *tally.0.entry(name).or_default() += 1;
        for (what, _, site) in &evidence.ledger.struck {
            met(format!("{} at {site:?}", what.word()));
        }
        for run in &evidence.runs {
            met(format!("run {}", run.row.status));
            run.calls()
                .for_each(|step| met(format!("call {}", step.status.as_str())));
            run.decisions
                .iter()
                .for_each(|one| met(format!("question {}", one.status.as_str())));
        }
        let ledger = &evidence.ledger;
        let counts = [
            ("answers taken", ledger.answers.len()),
            (
                "answers not taken",
                usize::try_from(ledger.rebuffs).unwrap_or(usize::MAX),
            ),
            ("brakes acknowledged", ledger.brakes.len()),
            ("deeds", ledger.deeds.len()),
            ("actions begun", ledger.begun.len()),
            ("requests sent", ledger.sent.len()),
            ("processes", ledger.stopped.len()),
            ("request given up", ledger.hung_up.len()),
        ];
        for (name, count) in counts {
            *tally.0.entry(name.to_owned()).or_default() += u64::try_from(count).unwrap_or(u64::MAX);
        }
        tally
    }
}
