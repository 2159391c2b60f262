//! What the policies say about the hosts that a running action connects to. A command names its hosts only
//! while it runs, so they cannot be judged with the call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::ToolCall;
use wakeful_core::policy::{HostDecision, PolicyQuery, Target};
use wakeful_core::step::EffectClass;
use wakeful_ports::model::Model;
use wakeful_ports::tool::{HostPolicy, ToolHost};

use crate::Engine;
use crate::run::ClaimedRun;

/// Maximum number of hosts of one call whose decision is kept. A call that tries more has them judged at each
/// connection.
const DECISIONS_MAX: usize = 256;

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The policy on the hosts of an action that is about to begin. It judges each host once.
    pub(crate) fn host_policy(
        &self,
        claimed: &ClaimedRun,
        call: &ToolCall,
        class: EffectClass,
    ) -> HostPolicy {
        let (policy, tools) = (Arc::clone(&self.policy), Arc::clone(&self.tools));
        let agent_id = claimed.row.agent_id.clone();
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let call = call.clone();
        let decisions: Mutex<BTreeMap<Target, HostDecision>> = Mutex::new(BTreeMap::new());
        HostPolicy::new(move |host| {
            let mut decisions = decisions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = decisions.get(host) {
                return known.clone();
            }
            let query = PolicyQuery {
                agent_id: &agent_id,
                tool: &call.name,
                rules: &rules,
                facts: &tools.facts(&call.name, &call.input, &rules.sandbox),
                class,
                risk: tools.risk(&call.name),
                sandbox_level: tools.sandbox_level(),
            };
            let decision = policy.decide_host(&query, host);
            if decisions.len() < DECISIONS_MAX {
                decisions.insert(host.clone(), decision.clone());
            }
            decision
        })
    }
}
