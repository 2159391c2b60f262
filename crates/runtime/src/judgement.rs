//! Whether the verdicts on planned actions are still those of the current policy. It is checked in the
//! transaction that commits an intent, and again right before the action.

use std::sync::Arc;

use wakeful_core::conversation::ToolCall;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::OperationId;
use wakeful_core::policy::{ActionRules, PolicyEffect, PolicyQuery};
use wakeful_core::run::RunPhase;
use wakeful_core::step::EffectClass;
use wakeful_ports::model::Model;
use wakeful_ports::policy::Policy;
use wakeful_ports::tool::{CallGrant, ToolHost};

use crate::run::ClaimedRun;
use crate::step::{Interrupts, pending_stops};
use crate::sub_run::settings_of_run;
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
    /// The judgement of the planned actions; none if this process has not judged them.
    pub(crate) fn judgement(&self, claimed: &ClaimedRun) -> Option<Judgement> {
        Some(Judgement {
            policy: Arc::clone(&self.policy),
            agent_id: claimed.row.agent_id.clone(),
            rules: claimed.settings.rules(&claimed.machine, &self.policy.defaults()),
            version: claimed.judged_by.clone()?,
        })
    }

    /// Reads the conditions against the next effect, and the agent's settings, which may have changed since
    /// the intent was committed. One query serves both, because it precedes every effect.
    pub(crate) async fn refresh(&self, claimed: &mut ClaimedRun) -> Result<Interrupts, EngineError> {
        let (run, agent) = (claimed.run_key(), claimed.row.agent_id.clone());
        if let Some(pending) = pending_stops(&self.store, run, &agent) {
            return Ok(pending);
        }
        let read = self.store.read(move |view| {
            let look = Interrupts {
                is_cancelled: view.cancel_requested(&run)?,
                is_braked: view.is_braked(&agent)?,
            };
            Ok((look, settings_of_run(view, &agent, &run)?))
        });
        let (look, settings) = read.await?;
        if let Some(settings) = settings {
            claimed.settings = settings;
        }
        Ok(look)
    }

    /// What an action that is about to begin may reach beyond its tool's own scope: the targets that its
    /// arguments have now, if the policy permits them now, or asks and a person approved the action.
    pub(crate) fn grant(
        &self,
        claimed: &ClaimedRun,
        operation_id: OperationId,
        call: &ToolCall,
        class: EffectClass,
    ) -> CallGrant {
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let facts = self.tools.facts(&call.name, &call.input, &rules.sandbox);
        if facts.targets.is_empty() {
            return CallGrant::default();
        }
        let verdict = self.policy.decide(&PolicyQuery {
            agent_id: &claimed.row.agent_id,
            tool: &call.name,
            rules: &rules,
            facts: &facts,
            class,
            risk: self.tools.risk(&call.name),
            sandbox_level: self.tools.sandbox_level(),
        });
        // An action with an approval request begins only after a person approved it.
        let is_approved = || match &claimed.machine.phase {
            RunPhase::Acting { actions, .. } => actions
                .iter()
                .any(|action| action.operation_id == operation_id && action.question.is_some()),
            RunPhase::Modelling { .. } | RunPhase::Parked { .. } | RunPhase::Ended { .. } => false,
        };
        let is_permitted = match verdict.effect {
            PolicyEffect::Permit => true,
            PolicyEffect::Ask => is_approved(),
            PolicyEffect::Deny => false,
        };
        let targets = facts.targets.into_iter().filter(|target| !target.is_unsafe());
        CallGrant {
            targets: if is_permitted {
                targets.collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Whether an action that is about to begin was judged by the current policy and by the settings that
    /// [`Self::refresh`] read.
    pub(crate) fn is_judged_by_current_policy(&self, claimed: &ClaimedRun) -> bool {
        // Without a judgement the run was found after a crash: the intent was judged when it was committed.
        self.judgement(claimed)
            .is_none_or(|judgement| judgement.is_current())
    }
}
