//! What the policies say about the hosts that a running action connects to, and the paths that it finds in a
//! folder. They become known only while it runs, so they cannot be judged with the call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::conversation::ToolCall;
use wakeful_core::id::AgentId;
use wakeful_core::policy::{ActionRules, HostDecision, PolicyQuery, Target};
use wakeful_core::step::EffectClass;
use wakeful_ports::model::Model;
use wakeful_ports::policy::Policy;
use wakeful_ports::tool::{HostPolicy, PathPolicy, ToolHost};

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
        let judge = self.judge(claimed, call, class);
        let decisions: Mutex<BTreeMap<Target, HostDecision>> = Mutex::new(BTreeMap::new());
        HostPolicy::new(move |host| {
            let mut decisions = decisions.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = decisions.get(host) {
                return known.clone();
            }
            let decision = judge.with_query(|policy, query| policy.decide_host(query, host));
            if decisions.len() < DECISIONS_MAX {
                decisions.insert(host.clone(), decision.clone());
            }
            decision
        })
    }

    /// The policy on the paths that an action finds in a folder.
    pub(crate) fn path_policy(
        &self,
        claimed: &ClaimedRun,
        call: &ToolCall,
        class: EffectClass,
    ) -> PathPolicy {
        let judge = self.judge(claimed, call, class);
        PathPolicy::new(move |paths| judge.with_query(|policy, query| policy.decide_paths(query, paths)))
    }

    fn judge(&self, claimed: &ClaimedRun, call: &ToolCall, class: EffectClass) -> RunningCall<T> {
        RunningCall {
            policy: Arc::clone(&self.policy),
            tools: Arc::clone(&self.tools),
            agent_id: claimed.row.agent_id.clone(),
            rules: claimed.settings.rules(&claimed.machine, &self.policy.defaults()),
            call: call.clone(),
            class,
        }
    }
}

/// A call that runs, with what policies need to know about it.
struct RunningCall<T> {
    policy: Arc<dyn Policy>,
    tools: Arc<T>,
    agent_id: AgentId,
    rules: ActionRules,
    call: ToolCall,
    class: EffectClass,
}

impl<T: ToolHost> RunningCall<T> {
    fn with_query<D>(&self, decide: impl FnOnce(&dyn Policy, &PolicyQuery<'_>) -> D) -> D {
        let ToolCall { name, input, .. } = &self.call;
        let query = PolicyQuery {
            agent_id: &self.agent_id,
            tool: name,
            rules: &self.rules,
            facts: &self.tools.facts(name, input, &self.rules.sandbox),
            class: self.class,
            risk: self.tools.risk(name),
            sandbox_level: self.tools.sandbox_level(),
        };
        decide(&*self.policy, &query)
    }
}
