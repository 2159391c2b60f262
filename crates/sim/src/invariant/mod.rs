//! The invariants of every simulation, independent of the injected faults.
//!
//! Each invariant has a name and inspects only ledger and store. It is checked after every fault as well as
//! at the end, because an observer may look at any time.

mod effect;
mod equal;
mod person;
mod record;
mod replay;
mod stop;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::evidence::{Evidence, Moment};

pub(crate) use equal::Summary;
pub(crate) use record::{chain, open_calls};

/// A condition that must always hold.
pub(crate) struct Invariant<E = Evidence> {
    pub(crate) name: &'static str,
    pub(crate) holds: fn(&E) -> Verdict,
    /// Whether it reads the whole log, and so is checked before the end only in closely watched scenarios.
    is_dear: bool,
}

/// Success, or what was found instead.
pub(crate) type Verdict = Result<(), String>;

pub(crate) const ALL: [Invariant; 26] = [
    named("NoPlainEffectTwice", effect::no_plain_effect_twice),
    named("ReportedOkMeansDone", effect::reported_ok_means_done),
    named("DoneIsReported", effect::done_is_reported),
    named("NothingRefusedActs", effect::nothing_refused_acts),
    named("NoUnknownWithoutAMishap", effect::no_unknown_without_a_mishap),
    named("NoSilentRepeat", effect::no_silent_repeat),
    named("TheWorldStandsStill", effect::the_world_stands_still),
    named("NoActionWithoutLease", effect::no_action_without_lease),
    named("CancelIsHeard", stop::cancel_is_heard),
    named("HaltIsHeard", stop::halt_is_heard),
    named("NamesKeepTheirMeaning", effect::names_keep_their_meaning),
    named("NoAcknowledgedInputLost", record::no_acknowledged_input_lost),
    named("NothingIsLeftOpen", record::nothing_is_left_open),
    dear("ChainIsWhole", record::chain_is_whole),
    named("TranscriptIsWhole", record::transcript_is_whole),
    named("ShownIsCommitted", record::shown_is_committed),
    dear("CountersAddUp", record::counters_add_up),
    named("MoneyAddsUp", record::money_adds_up),
    dear("ReplayGivesTheSameStates", replay::replay_gives_the_same_states),
    named("NothingActsAfterABrake", person::nothing_acts_after_a_brake),
    named("NothingActsUnasked", person::nothing_acts_unasked),
    named("NoQuestionOutlivesItsRun", person::no_question_outlives_its_run),
    named("AnswersAreGivenOnce", person::answers_are_given_once),
    named(
        "EveryRunEndsOrIsResumable",
        person::every_run_ends_or_is_resumable,
    ),
    named("ReservationsAreZeroAtRest", person::reservations_are_zero_at_rest),
    named("NoUnexpectedError", effect::no_unexpected_error),
];

/// An invariant that is always checked.
pub(crate) const fn named<E>(name: &'static str, holds: fn(&E) -> Verdict) -> Invariant<E> {
    let is_dear = false;
    Invariant { name, holds, is_dear }
}

const fn dear(name: &'static str, holds: fn(&Evidence) -> Verdict) -> Invariant {
    let is_dear = true;
    Invariant { name, holds, is_dear }
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    /// What was found instead.
    pub what: String,
    /// The faults injected so far, and where.
    pub story: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)?;
        self.story.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for Violation {}

/// Checks every invariant.
pub(crate) fn judge(evidence: &Evidence) -> Result<(), Violation> {
    let asks_all = evidence.moment == Moment::End || evidence.script.is_watched();
    for Invariant { name, holds, .. } in ALL.into_iter().filter(|one| asks_all || !one.is_dear) {
        holds(evidence).map_err(|what| Violation {
            invariant: name,
            what,
            story: Vec::new(),
        })?;
    }
    Ok(())
}

/// Fails with a description unless the condition holds.
pub(crate) fn unless(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}
