//! Whether the verdicts on planned actions are still those of the current policy. It is checked in the
//! transaction that commits an intent, and again right before the action.

use std::sync::Arc;

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::OperationId;
use wakeful_core::policy::{ActionRules, PolicyEffect, Target};
use wakeful_core::report::payload::PolicyChanged;
use wakeful_core::report::{EventDraft, EventKind};
use wakeful_core::run::{RunMachine, RunPhase};
use wakeful_core::step::PriorActions;
use wakeful_ports::model::Model;
use wakeful_ports::policy::Policy;
use wakeful_ports::tool::{CallGrant, ToolHost};

use crate::budget::owner_of;
use crate::hook::HookEffect;
use crate::run::ClaimedRun;
use crate::step::{Interrupts, JudgedCall, pending_stops};
use crate::sub_run::settings_of_run;
use crate::tool_call::Intent;
use crate::{Engine, EngineError};

/// The rules and the version of the policy with which actions were judged.
pub(crate) struct Judgement {
    policy: Arc<dyn Policy>,
    agent_id: AgentId,
    rules: ActionRules,
    version: PolicyVersion,
}

impl Judgement {
    /// Whether the same facts would get the same verdict now.
    pub(crate) fn is_current(&self) -> bool {
        self.policy.version(&self.agent_id, &self.rules) == self.version
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The judgement of the actions that are planned in a state of the run; none if this process has not judged
    /// them.
    pub(crate) fn judgement(&self, claimed: &ClaimedRun, state: &RunMachine) -> Option<Judgement> {
        Some(Judgement {
            policy: Arc::clone(&self.policy),
            agent_id: claimed.row.agent_id.clone(),
            rules: claimed.settings.rules(state, &self.policy.defaults()),
            version: claimed.judged_by.clone()?,
        })
    }

    /// Reads the conditions against the next effect, and the agent's settings, which may have changed since
    /// the intent was committed. One query serves both, because it precedes every effect.
    pub(crate) async fn refresh(&self, claimed: &mut ClaimedRun) -> Result<Interrupts, EngineError> {
        let (run, agent) = (claimed.run_key(), claimed.row.agent_id.clone());
        let (row, known) = (claimed.row.clone(), claimed.budget.clone());
        if let Some(pending) = pending_stops(&self.store, run, &agent) {
            return Ok(pending);
        }
        let read = self.store.read(move |view| {
            let look = Interrupts {
                is_cancelled: view.cancel_requested(&run)?,
                is_braked: view.is_braked(&agent)?,
            };
            let budget = match known {
                Some(known) => Some(known),
                None => owner_of(view, &row)?,
            };
            Ok((look, settings_of_run(view, &agent, &run)?, budget))
        });
        let (look, settings, budget) = read.await?;
        claimed.budget = budget;
        if let Some(settings) = settings {
            claimed.settings = settings;
        }
        Ok(look)
    }

    /// Reads once which policy files the agent's log records.
    pub(crate) async fn read_recorded_files(&self, claimed: &mut ClaimedRun) -> Result<(), EngineError> {
        if claimed.recorded_files.is_none() {
            let agent = claimed.row.agent_id.clone();
            let recorded = self.store.read(move |view| view.policy_files(&agent));
            claimed.recorded_files = Some(recorded.await?);
        }
        Ok(())
    }

    /// The change of the policy files that a transition with these events records before its first decision.
    pub(crate) fn policy_change(
        &self,
        claimed: &ClaimedRun,
        events: &[EventDraft],
    ) -> Option<(PolicyChanged, String)> {
        let recorded = claimed.recorded_files.as_ref()?;
        let is_decision = |event: &EventDraft| event.kind() == EventKind::PolicyDecided;
        if !events.iter().any(is_decision) {
            return None;
        }
        let files = self.policy.files(&claimed.row.agent_id);
        let new_version = files.version();
        let version = new_version.clone().unwrap_or_default();
        let change = PolicyChanged {
            old_version: Some(recorded.clone()).filter(|old| !old.is_empty()),
            new_version,
            files: files.files,
            is_incomplete: files.is_incomplete,
        };
        (version != *recorded).then_some((change, version))
    }

    /// What an action that is about to begin may reach beyond its tool's own scope: the targets that its
    /// arguments have now. None if the policy does not permit them now, and no person approved exactly them.
    pub(crate) fn grant(&self, claimed: &ClaimedRun, intent: &Intent) -> Option<CallGrant> {
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let facts = self
            .tools
            .facts(&intent.call.name, &intent.call.input, &rules.sandbox);
        if facts.targets.is_empty() {
            return Some(CallGrant::judged(Vec::new()));
        }
        let history = Some(claimed.read_history().of_planned());
        let judged = JudgedCall {
            agent_id: &claimed.row.agent_id,
            tool: &intent.call.name,
            input: &intent.call.input,
            rules: &rules,
            hook: &HookEffect::None,
            history: history.as_ref(),
        };
        let verdict = self.decide(&judged, &facts, intent.class);
        let verdict = self.sourced(&judged, &facts, intent.class, verdict).verdict;
        is_allowed(verdict.effect, claimed, intent.operation_id, &facts.targets).then(|| {
            let targets = facts.targets.into_iter();
            CallGrant::judged(targets.filter(|target| !target.is_unsafe()).collect())
        })
    }

    /// Whether an action that an earlier process may have begun is permitted now.
    pub(crate) fn is_permitted(&self, claimed: &ClaimedRun, intent: &Intent) -> bool {
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let history = Some(claimed.read_history().of_planned());
        let judged = JudgedCall {
            agent_id: &claimed.row.agent_id,
            tool: &intent.call.name,
            input: &intent.call.input,
            rules: &rules,
            hook: &HookEffect::None,
            history: history.as_ref(),
        };
        let read = self.call_reads(&judged, PriorActions::default());
        is_allowed(read.verdict.effect, claimed, intent.operation_id, &read.targets)
    }

    /// Whether actions whose intents were just committed may begin: the policy and the settings that
    /// [`Self::refresh`] read are those by which they were judged, and they still reach the targets that were
    /// judged. If not, they are judged again. Each action is judged again only once for changed targets, so that
    /// a link that changes all the time cannot keep the run busy: then its tool refuses the target.
    pub(crate) fn may_begin(&self, claimed: &mut ClaimedRun, intents: &[Intent]) -> bool {
        if !self.is_judged_by_current_policy(claimed) {
            return false;
        }
        let is_changed = |intent: &&Intent| {
            !claimed.judged_again.contains(&intent.operation_id) && self.grant(claimed, intent).is_none()
        };
        let changed: Vec<OperationId> = intents
            .iter()
            .filter(is_changed)
            .map(|intent| intent.operation_id)
            .collect();
        if changed.is_empty() {
            return true;
        }
        claimed.judged_again.extend(changed);
        claimed.judged_by = None;
        false
    }

    /// Whether an action that is about to begin was judged by the current policy and by the settings that
    /// [`Self::refresh`] read.
    fn is_judged_by_current_policy(&self, claimed: &ClaimedRun) -> bool {
        // Without a judgement the run was found after a crash: the intent was judged when it was committed.
        self.judgement(claimed, &claimed.machine)
            .is_none_or(|judgement| judgement.is_current())
    }
}

/// Whether a verdict allows an action to begin with these targets.
fn is_allowed(
    effect: PolicyEffect,
    claimed: &ClaimedRun,
    operation_id: OperationId,
    targets: &[Target],
) -> bool {
    let is_approved = || match &claimed.machine.phase {
        RunPhase::Acting { actions, .. } => actions.iter().any(|action| {
            let question = action.question.as_ref();
            action.operation_id == operation_id && question.is_some_and(|one| one.covers(targets))
        }),
        RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. } => false,
    };
    match effect {
        PolicyEffect::Permit => true,
        PolicyEffect::Ask => is_approved(),
        PolicyEffect::Deny => false,
    }
}
