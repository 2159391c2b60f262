//! Decides on calls: safety constraints first, then the policies, and the strictest verdict over all targets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::key::{Digest, derived_hash};
use wakeful_core::policy::{
    ActionRules, HostDecision, PathDecisions, PolicyEffect, PolicyFiles, PolicyQuery, PolicyVerdict,
    RuleName, Target, unsafe_target,
};
use wakeful_ports::policy::Policy;

use crate::compiled::{Answer, Compiled, EffectivePolicy, PolicySource, Slice};
use crate::document::PolicyProblem;
use crate::folder::{PolicyFolders, WrittenPolicies};
use crate::generated::generate;
use crate::names::EntityNames;
use crate::request::{normalized, requests};

/// Maximum number of agents and rules whose policies are kept compiled.
const COMPILED_MAX: usize = 64;

/// The tools that policies know, with the facts about them that do not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRegistry {
    /// The names of all tools.
    pub registered: BTreeSet<String>,
    /// The lowest sandbox level at which a tool may be used.
    pub sandbox_minimum: BTreeMap<String, u8>,
}

impl ToolRegistry {
    /// Tools without further facts.
    #[must_use]
    pub fn new(registered: BTreeSet<String>) -> Self {
        Self {
            registered,
            ..Self::default()
        }
    }
}

/// The verdict on a call with what led to it.
#[derive(Debug, Clone)]
pub struct Judgement {
    pub verdict: PolicyVerdict,
    /// What was decided about each target, or about the call if it has none.
    pub targets: Vec<TargetJudgement>,
}

/// What was decided about one target.
#[derive(Debug, Clone)]
pub struct TargetJudgement {
    /// None for a call without targets.
    pub target: Option<Target>,
    pub effect: PolicyEffect,
    pub rule: String,
    /// The policies that determine it.
    pub policies: Vec<EffectivePolicy>,
    /// Errors of evaluation.
    pub errors: Vec<String>,
}

impl TargetJudgement {
    fn built_in(target: Option<&Target>, rule: RuleName) -> Self {
        Self {
            target: target.cloned(),
            effect: PolicyEffect::Deny,
            rule: rule.to_string(),
            policies: Vec::new(),
            errors: Vec::new(),
        }
    }
}

/// Evaluates policies.
#[derive(Debug)]
pub struct PolicyEngine {
    pub(crate) names: EntityNames,
    tools: ToolRegistry,
    tools_digest: String,
    folders: Option<PolicyFolders>,
    compiled: Mutex<BTreeMap<(AgentId, String), Arc<Compiled>>>,
}

impl PolicyEngine {
    /// An engine without policy files.
    pub fn new(tools: ToolRegistry) -> Result<Self, PolicyProblem> {
        let names = EntityNames::new().map_err(|error| PolicyProblem {
            file: "the built-in schema".to_owned(),
            line: 1,
            message: error.to_string(),
        })?;
        Ok(Self {
            names,
            tools_digest: Digest::of(format!("{tools:?}").as_bytes()).to_string(),
            tools,
            folders: None,
            compiled: Mutex::new(BTreeMap::new()),
        })
    }

    /// An engine that follows the policy files of a home.
    pub fn following(home: std::path::PathBuf, tools: ToolRegistry) -> Result<Self, PolicyProblem> {
        Ok(Self {
            folders: Some(PolicyFolders::new(home, tools.registered.clone())),
            ..Self::new(tools)?
        })
    }

    /// The policy folders that it follows.
    #[must_use]
    pub const fn folders(&self) -> Option<&PolicyFolders> {
        self.folders.as_ref()
    }

    /// The tools that it knows.
    #[must_use]
    pub const fn tools(&self) -> &ToolRegistry {
        &self.tools
    }

    /// The policies in force for an agent under these rules, in the order in which they name verdicts.
    pub fn effective(&self, agent: &AgentId, rules: &ActionRules) -> Result<Vec<EffectivePolicy>, String> {
        let written = self.written(agent);
        let version = self.version_of(&written, rules);
        Ok(self
            .compiled(agent, rules, (written, version).into())?
            .policies
            .clone())
    }

    /// Decides on a call, with everything that led to the verdict.
    #[must_use]
    pub fn judge(&self, query: &PolicyQuery<'_>) -> Judgement {
        self.judge_some(query, &|_| true)
    }

    /// Decides on a call with some of the policies, to find out which of them matter.
    pub(crate) fn judge_some(
        &self,
        query: &PolicyQuery<'_>,
        is_included: &dyn Fn(&EffectivePolicy) -> bool,
    ) -> Judgement {
        let written = self.written(query.agent_id);
        let version = self.version_of(&written, query.rules);
        let snapshot = Snapshot {
            written,
            version: version.clone(),
        };
        let targets = self.judge_targets(query, snapshot, is_included);
        let targets = targets.unwrap_or_else(|error| {
            let mut failed = TargetJudgement::built_in(None, RuleName::PolicyError);
            failed.errors.push(error);
            vec![failed]
        });
        // The first of the strictest, so that equal calls have equal verdicts.
        let strictest = targets.iter().max_by(|a, b| {
            strictness(a.effect)
                .cmp(&strictness(b.effect))
                .then(std::cmp::Ordering::Greater)
        });
        let (effect, rule) = strictest.map_or_else(
            || (PolicyEffect::Deny, RuleName::NotPermitted.to_string()),
            |target| (target.effect, target.rule.clone()),
        );
        Judgement {
            verdict: PolicyVerdict {
                effect,
                rule,
                policy_version: PolicyVersion::new(version),
            },
            targets,
        }
    }

    fn judge_targets(
        &self,
        query: &PolicyQuery<'_>,
        snapshot: Snapshot,
        is_included: &dyn Fn(&EffectivePolicy) -> bool,
    ) -> Result<Vec<TargetJudgement>, String> {
        if let Some(target) = unsafe_target(query.facts) {
            return Ok(vec![TargetJudgement::built_in(Some(target), target.constraint())]);
        }
        let mut targets = Vec::with_capacity(query.facts.targets.len());
        for target in &query.facts.targets {
            match normalized(target) {
                Ok(target) => targets.push(target),
                Err(_) => {
                    return Ok(vec![TargetJudgement::built_in(
                        Some(target),
                        RuleName::InvalidFact,
                    )]);
                }
            }
        }
        let is_registered = self.tools.registered.contains(query.tool);
        if snapshot.written.is_incomplete() {
            return Err(incomplete(&snapshot.written));
        }
        let compiled = self.compiled(query.agent_id, query.rules, snapshot)?;
        let slice = self.slice(&compiled, query, is_included)?;
        let requests = requests(&self.names, query, &targets, is_registered)?;
        let answers = requests.iter().enumerate().map(|(index, request)| {
            let answer = compiled.answer(&slice, request);
            judged(&compiled, answer, targets.get(index))
        });
        Ok(answers.collect())
    }

    fn slice(
        &self,
        compiled: &Compiled,
        query: &PolicyQuery<'_>,
        is_included: &dyn Fn(&EffectivePolicy) -> bool,
    ) -> Result<Arc<Slice>, String> {
        let agent = query.agent_id.as_str();
        if compiled.policies.iter().all(is_included) {
            return compiled.slice(&self.names, agent, query.tool);
        }
        let is_included = |index: usize| compiled.policies.get(index).is_some_and(is_included);
        let slice = compiled.build(&self.names, (agent, query.tool).into(), &is_included)?;
        Ok(Arc::new(slice))
    }

    pub(crate) fn written(&self, agent: &AgentId) -> WrittenPolicies {
        let folders = self.folders.as_ref();
        folders.map(|folders| folders.current(agent)).unwrap_or_default()
    }

    fn version_of(&self, written: &WrittenPolicies, rules: &ActionRules) -> String {
        let digest = rules.digest().to_string();
        let fields = [
            self.tools_digest.as_str(),
            &digest,
            &written.global.digest,
            &written.agent.digest,
            if written.is_incomplete() { "incomplete" } else { "" },
        ];
        let hash = derived_hash("policy.version", &fields).to_string();
        format!("policy-1-{}", hash.split_at(12).0)
    }

    fn compiled(
        &self,
        agent: &AgentId,
        rules: &ActionRules,
        snapshot: Snapshot,
    ) -> Result<Arc<Compiled>, String> {
        let key = (agent.clone(), snapshot.version);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled.get(&key) {
            return Ok(Arc::clone(found));
        }
        let mut policies = Vec::new();
        for generated in generate(&self.names, &self.tools, rules) {
            policies.push(EffectivePolicy {
                policy: generated.parsed().map_err(|error| error.to_string())?,
                rule: generated.rule.to_string(),
                source: PolicySource::Generated,
                kind: generated.kind,
                ask: generated.asks.then(|| generated.rule.words().to_owned()),
                text: generated.text,
            });
        }
        let written = &snapshot.written;
        let global = written.global.policies.iter().map(|policy| (policy, true));
        let own = written.agent.policies.iter().map(|policy| (policy, false));
        for (policy, is_global) in global.chain(own) {
            let line = policy.line;
            policies.push(EffectivePolicy {
                policy: policy.policy.clone(),
                rule: policy.name.clone(),
                source: if is_global {
                    PolicySource::Global { line }
                } else {
                    PolicySource::Agent { line }
                },
                kind: policy.kind,
                ask: policy.ask.clone(),
                text: policy.text.clone(),
            });
        }
        let built = Arc::new(Compiled::new(policies));
        if compiled.len() >= COMPILED_MAX {
            compiled.clear();
        }
        compiled.insert(key, Arc::clone(&built));
        Ok(built)
    }
}

/// Which file is refused and has no earlier version.
fn incomplete(written: &WrittenPolicies) -> String {
    let mut problems = written.global.problems.iter().chain(&written.agent.problems);
    problems.next().map_or_else(
        || "a policy file is invalid".to_owned(),
        |problem| {
            format!(
                "the policy file {} is invalid (line {})",
                problem.file, problem.line
            )
        },
    )
}

/// The written policies at one moment, with the version of everything that a verdict depends on.
struct Snapshot {
    written: WrittenPolicies,
    version: String,
}

impl From<(WrittenPolicies, String)> for Snapshot {
    fn from((written, version): (WrittenPolicies, String)) -> Self {
        Self { written, version }
    }
}

impl Policy for PolicyEngine {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        self.judge(question).verdict
    }

    fn decide_host(&self, call: &PolicyQuery<'_>, host: &Target) -> HostDecision {
        self.judge_host(call, host)
    }

    fn decide_paths(&self, call: &PolicyQuery<'_>, paths: &[Target]) -> PathDecisions {
        self.judge_paths(call, paths)
    }

    fn version(&self, agent: &AgentId, rules: &ActionRules) -> PolicyVersion {
        PolicyVersion::new(self.version_of(&self.written(agent), rules))
    }

    fn files(&self, agent: &AgentId) -> PolicyFiles {
        self.written(agent).files()
    }

    fn inference(&self, _agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        (InferencePermissions::default(), PolicyVersion::new("inference-1"))
    }
}

/// A stricter effect has a higher number.
pub(crate) const fn strictness(effect: PolicyEffect) -> u8 {
    match effect {
        PolicyEffect::Permit => 0,
        PolicyEffect::Ask => 1,
        PolicyEffect::Deny => 2,
    }
}

fn judged(compiled: &Compiled, answer: Answer, target: Option<&Target>) -> TargetJudgement {
    let policies: Vec<EffectivePolicy> = answer
        .policies
        .iter()
        .filter_map(|index| compiled.policies.get(*index).cloned())
        .collect();
    let rule = if answer.errors.is_empty() {
        let first = policies.first().map(|policy| policy.rule.clone());
        first.unwrap_or_else(|| RuleName::NotPermitted.to_string())
    } else {
        RuleName::PolicyError.to_string()
    };
    TargetJudgement {
        target: target.cloned(),
        effect: answer.effect,
        rule,
        policies,
        errors: answer.errors,
    }
}
