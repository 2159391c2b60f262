//! A policy that changes at a chosen moment of a call.

use super::*;

/// Permits the tool until a moment, and denies it afterwards. A verdict or a look at the version is one passage.
pub(super) struct ChangingPolicy {
    pub(super) rules: PolicyEngine,
    pub(super) gate: GateCase,
    pub(super) denies: AtomicBool,
    pub(super) moment: Option<DenialMoment>,
    pub(super) versions: AtomicUsize,
    /// The store on which a brake is set while the first intents are committed.
    pub(super) brakes: Option<Store>,
    pub(super) log: Arc<CallLog>,
    pub(super) during_verdict: Mutex<Option<fn(&Store)>>,
    pub(super) store: Store,
}

impl ChangingPolicy {
    fn rules(&self, rules: &ActionRules) -> ActionRules {
        let mut rules = rules.clone();
        if self.denies.load(Ordering::SeqCst) {
            rules.denied.insert(TOOL.into());
        }
        rules
    }
}

impl Policy for ChangingPolicy {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        self.log.note("decide");
        let rules = self.rules(question.rules);
        let verdict = self.rules.decide(&PolicyQuery {
            rules: &rules,
            ..question.clone()
        });
        if let Some(act) = self.during_verdict.lock().expect("a function").take() {
            act(&self.store);
        }
        if self.moment == Some(DenialMoment::BeforeCommit) {
            self.denies.store(true, Ordering::SeqCst);
        }
        verdict
    }

    fn version(&self, agent: &AgentId, rules: &ActionRules) -> PolicyVersion {
        // The first passage is the verdict's, the second the transaction's, the third the one before the action.
        let passage = self.versions.fetch_add(1, Ordering::SeqCst);
        if self.moment == Some(DenialMoment::AfterCommit) && passage == 2 {
            self.denies.store(true, Ordering::SeqCst);
        }
        if let Some(store) = self.brakes.as_ref().filter(|_| passage == 1) {
            judged_again::brake(store);
        }
        self.rules.version(agent, &self.rules(rules))
    }

    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        gate::inference(self.gate, Policy::inference(&self.rules, agent))
    }
}
