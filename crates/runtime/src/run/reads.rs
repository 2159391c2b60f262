//! Builds the read set that the machine needs for an input.

use std::collections::BTreeSet;

use wakeful_core::key::ActionBase;
use wakeful_core::policy::{ActionRules, PolicyEffect, Target};
use wakeful_core::run::{InputReads, ModelReply, Restriction, RunInput, RunMachine, RunPhase, preview};
use wakeful_core::step::{Action, ActionStatus, PendingApproval, PriorActions};
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;

use super::ClaimedRun;
use crate::hook::HookEffect;
use crate::step::JudgedCall;
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
        // Nothing begins with this input; the actions whose intents it reverts are judged with the next one.
        if matches!(input, RunInput::Postponed) {
            return Ok(nothing);
        }
        let nothing = InputReads {
            quotas: self.quotas(claimed, input).await?,
            rates: self.rates(claimed, input).await?,
            ..nothing
        };
        let RunInput::Replied(reply) = input else {
            return Ok(InputReads {
                restricted: self.restrictions(claimed, input).await?,
                ..nothing
            });
        };
        let seen = self.seen(claimed, reply).await?;
        let rules = self.rules_after(claimed, input);
        claimed.judged_by = Some(self.policy.version(&claimed.row.agent_id, &rules));
        self.read_recorded_files(claimed).await?;
        let claimed = &*claimed;
        let mut history = Some(claimed.read_history());
        let mut calls = Vec::with_capacity(reply.calls.len());
        let asked = reply.calls.iter().zip(&claimed.asked).zip(seen);
        for (position, ((call, asked), seen)) in asked.enumerate() {
            let judged = JudgedCall {
                agent_id: &claimed.row.agent_id,
                tool: &call.parts.tool,
                input: &asked.input,
                rules: &rules,
                hook: claimed.hooks.effect(position),
                history: history.as_ref(),
            };
            let read = self.call_reads(&judged, seen);
            if let Some(history) = &mut history {
                history.count(read.linked_site.as_ref());
            }
            calls.push(read);
        }
        Ok(InputReads {
            calls,
            sources: claimed.transcript_sources(),
            ..nothing
        })
    }

    /// The rules for the actions that follow an input, which may bring the first untrusted data of the run.
    fn rules_after(&self, claimed: &ClaimedRun, input: &RunInput) -> ActionRules {
        let after = RunMachine {
            sources: claimed.sources_after(input),
            ..claimed.machine.clone()
        };
        claimed.settings.rules(&after, &self.policy.defaults())
    }

    /// Loads the read set again after the rules changed.
    pub(super) async fn read_again(
        &self,
        claimed: &mut ClaimedRun,
        input: &RunInput,
        before: InputReads,
    ) -> Result<InputReads, EngineError> {
        Ok(InputReads {
            hold: before.hold,
            interjected: before.interjected,
            guardrails: before.guardrails,
            hooks: before.hooks,
            ..self.reads(claimed, input).await?
        })
    }

    /// The planned actions for which the rules became stricter since they were planned.
    async fn restrictions(
        &self,
        claimed: &mut ClaimedRun,
        input: &RunInput,
    ) -> Result<Vec<Restriction>, EngineError> {
        let RunPhase::Acting { actions, .. } = &claimed.machine.phase else {
            return Ok(Vec::new());
        };
        let rules = self.rules_after(claimed, input);
        // Equal versions give equal verdicts, so the calls are loaded only if a rule changed, or after a
        // crash.
        let version = self.policy.version(&claimed.row.agent_id, &rules);
        if claimed.judged_by.as_ref() == Some(&version) {
            return Ok(Vec::new());
        }
        let may_begin = |action: &Action| match action.fate {
            ActionStatus::Waiting | ActionStatus::AwaitingApproval => true,
            // It begins again only after a transient failure.
            ActionStatus::Intended => action.retry.is_some(),
            ActionStatus::Started(_) | ActionStatus::Settled(_) => false,
        };
        let open = actions.iter().enumerate();
        let open = open.filter(|(_, action)| may_begin(action));
        let open: Vec<_> = open
            .map(|(position, action)| (position, action.clone()))
            .collect();
        let (mut restricted, mut calls) = (Vec::new(), Vec::with_capacity(open.len()));
        for (position, action) in open {
            calls.push((action, self.call_at(claimed, position).await?));
        }
        let history = claimed.read_history().of_planned();
        let history = Some(history.after_action(claimed.reports_action(input)));
        for (action, call) in calls {
            let judged = JudgedCall {
                agent_id: &claimed.row.agent_id,
                tool: &call.name,
                input: &call.input,
                rules: &rules,
                hook: &HookEffect::None,
                history: history.as_ref(),
            };
            let read = self.call_reads(&judged, PriorActions::default());
            if restricts(read.verdict.effect, &action, &read.targets) {
                restricted.push(Restriction {
                    operation_id: action.operation_id,
                    preview: preview(&call.input.to_string()),
                    verdict: read.verdict,
                    stop: read.stop,
                    risk: read.risk,
                    diff: read.diff,
                    targets: read.targets,
                    constraint: read.constraint,
                    guardrails: read.guardrails,
                    evidence: read.evidence,
                });
            }
        }
        claimed.judged_by = Some(version);
        self.read_recorded_files(claimed).await?;
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

/// Whether a verdict is stricter than the one with which the action was planned, or needs another approval
/// because the action would reach other targets than the approved ones.
fn restricts(effect: PolicyEffect, action: &Action, targets: &[Target]) -> bool {
    let is_covered = |question: &PendingApproval| question.until.is_none() || question.covers(targets);
    match effect {
        PolicyEffect::Permit => false,
        PolicyEffect::Ask => !action.question.as_ref().is_some_and(is_covered),
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
