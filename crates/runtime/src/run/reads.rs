//! Builds the read set that the machine needs for an input.

use std::collections::BTreeSet;

use wakeful_core::key::ActionBase;
use wakeful_core::policy::{PolicyEffect, PolicyQuery};
use wakeful_core::run::{InputReads, ModelReply, Restriction, RunInput, RunPhase, preview};
use wakeful_core::step::{Action, ActionStatus, PriorActions};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;

use super::ClaimedRun;
use crate::{Engine, EngineError};

/// Maximum number of a run's actions that are held in memory. Beyond it the database is queried for each.
const KNOWN_MAX: usize = 1024;

/// The actions of a run, if this process has driven it from its start: no other process added any, so an
/// action that is missing here is new. None if the history may be incomplete.
#[derive(Debug)]
pub(super) struct ActionHistory(Option<BTreeSet<ActionBase>>);

impl ActionHistory {
    /// The history of a run that starts.
    pub(super) const fn nothing_yet() -> Self {
        Self(Some(BTreeSet::new()))
    }

    /// The history of a run that was claimed.
    pub(super) const fn not_all() -> Self {
        Self(None)
    }

    /// Adds actions and returns whether all of them are new.
    fn are_new(&mut self, bases: &[ActionBase]) -> bool {
        let Some(known) = &mut self.0 else { return false };
        let are_new = bases.iter().all(|base| !known.contains(base));
        known.extend(bases);
        if known.len() > KNOWN_MAX {
            self.0 = None;
        }
        are_new
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Loads the read set for this input: for a reply, the known facts about each call.
    pub(super) async fn reads(
        &self,
        claimed: &mut ClaimedRun,
        input: &RunInput,
    ) -> Result<InputReads, EngineError> {
        // The current time matters only if a permission may expire, and is not recorded elsewhere.
        let may_lapse = claimed.machine.has_permissions() || matches!(input, RunInput::Decided { .. });
        let nothing = InputReads {
            now: may_lapse.then(|| self.clock.now()),
            ..InputReads::default()
        };
        let RunInput::Replied(reply) = input else {
            return Ok(InputReads {
                restricted: self.restrictions(claimed).await?,
                ..nothing
            });
        };
        let seen = self.seen(claimed, reply).await?;
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let calls = reply.calls.iter().zip(&claimed.asked).zip(seen);
        let calls =
            calls.map(|((call, asked), seen)| self.call_reads(&call.parts.tool, &asked.input, seen, &rules));
        Ok(InputReads {
            calls: calls.collect(),
            ..nothing
        })
    }

    /// The planned actions for which the rules became stricter since they were planned.
    async fn restrictions(&self, claimed: &mut ClaimedRun) -> Result<Vec<Restriction>, EngineError> {
        let RunPhase::Acting { actions, .. } = &claimed.machine.phase else {
            return Ok(Vec::new());
        };
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        // Without arguments, so that a run found after a crash loads its calls only if the rules require it.
        let is_restricted = |action: &Action| {
            let (tool, class, starts) = (action.tool.as_str(), action.class, None);
            let query = PolicyQuery {
                tool,
                rules: &rules,
                starts,
                class,
            };
            restricts(self.policy.decide(&query).effect, action)
        };
        let may_begin = |action: &Action| match action.fate {
            ActionStatus::Waiting | ActionStatus::AwaitingApproval => true,
            // It begins again only after a transient failure.
            ActionStatus::Intended => action.retry.is_some(),
            ActionStatus::Started(_) | ActionStatus::Settled(_) => false,
        };
        let open = actions.iter().enumerate();
        let open = open.filter(|(_, action)| may_begin(action) && is_restricted(action));
        let open: Vec<_> = open
            .map(|(position, action)| (position, action.clone()))
            .collect();
        let mut restricted = Vec::new();
        for (position, action) in open {
            let call = self.call_at(claimed, position).await?;
            let read = self.call_reads(&call.name, &call.input, PriorActions::default(), &rules);
            if restricts(read.verdict.effect, &action) {
                restricted.push(Restriction {
                    operation_id: action.operation_id,
                    preview: preview(&call.input.to_string()),
                    verdict: read.verdict,
                });
            }
        }
        Ok(restricted)
    }

    /// The known facts about each call of a reply.
    async fn seen(
        &self,
        claimed: &mut ClaimedRun,
        reply: &ModelReply,
    ) -> Result<Vec<PriorActions>, EngineError> {
        let bases: Vec<_> = reply.calls.iter().map(|call| call.parts.base()).collect();
        if bases.is_empty() || claimed.known.are_new(&bases) {
            return Ok(vec![PriorActions::default(); bases.len()]);
        }
        let run = claimed.run_key();
        let seen = self.store.read(move |view| {
            let seen = bases.iter().map(|base| view.prior_actions(&run, base));
            seen.collect::<Result<Vec<_>, _>>()
        });
        Ok(seen.await?)
    }
}

/// Whether a verdict is stricter than the one with which the action was planned.
const fn restricts(effect: PolicyEffect, action: &Action) -> bool {
    match effect {
        PolicyEffect::Permit => false,
        PolicyEffect::Ask => action.question.is_none(),
        PolicyEffect::Deny => true,
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::key::Digest;

    use super::*;

    fn base(number: u32) -> ActionBase {
        ActionBase(Digest::of(&number.to_be_bytes()))
    }

    #[test]
    fn an_action_is_new_once() {
        let mut known = ActionHistory::nothing_yet();
        assert!(known.are_new(&[base(1), base(2)]));
        assert!(!known.are_new(&[base(3), base(2)]));
        assert!(
            !known.are_new(&[base(3)]),
            "it was asked for together with an old one"
        );
        assert!(known.are_new(&[base(4)]));
    }

    #[test]
    fn nothing_is_new_in_a_claimed_run() {
        assert!(!ActionHistory::not_all().are_new(&[base(1)]));
    }

    #[test]
    fn a_run_with_very_many_actions_queries_the_database() {
        let mut known = ActionHistory::nothing_yet();
        for number in 0..=u32::try_from(KNOWN_MAX).unwrap_or(u32::MAX) {
            assert!(known.are_new(&[base(number)]));
        }
        assert!(!known.are_new(&[base(u32::MAX)]));
    }
}
