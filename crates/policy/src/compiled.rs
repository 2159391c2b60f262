//! The policies that apply to an agent under certain rules, sliced by tool and kind of target, so that a
//! decision evaluates only policies that may match.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cedar_policy::{
    ActionConstraint, Authorizer, Decision, EntityUid, Policy, PolicyId, PolicySet, PrincipalConstraint,
    ResourceConstraint, Response,
};
use wakeful_core::policy::PolicyEffect;

use crate::document::PolicyKind;
use crate::names::{EntityNames, ResourceKind};
use crate::request::CallRequest;

/// Maximum number of tools whose slices are kept. A model may invent names.
const SLICES_MAX: usize = 256;

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySource {
    /// Settings, the run's own restrictions, or the permission mode.
    Generated,
    /// A file for all agents, with the line.
    Global { line: usize },
    /// A file of the agent, with the line.
    Agent { line: usize },
}

/// One policy in force.
#[derive(Debug, Clone)]
pub struct EffectivePolicy {
    /// Its name in verdicts.
    pub rule: String,
    pub source: PolicySource,
    pub kind: PolicyKind,
    /// The reason for asking, if it asks instead of permitting or forbidding.
    pub ask: Option<String>,
    pub text: String,
    pub(crate) policy: Policy,
}

impl EffectivePolicy {
    /// Whether a person wrote it.
    pub(crate) const fn is_written(&self) -> bool {
        match self.source {
            PolicySource::Generated => false,
            PolicySource::Global { .. } | PolicySource::Agent { .. } => true,
        }
    }

    /// Whether its head admits a call with this kind of target.
    pub(crate) fn may_match(&self, names: &EntityNames, call: CallNames<'_>, kind: ResourceKind) -> bool {
        let (principal, action) = (names.agent(call.agent), names.action(call.tool));
        may_match_scope(&self.policy, &principal, &action) && may_match_resource(&self.policy, names, kind)
    }

    /// Whether its head names hosts, such as `resource is Host`.
    pub(crate) fn names_hosts(&self, names: &EntityNames) -> bool {
        self.policy.resource_constraint() != ResourceConstraint::Any
            && may_match_resource(&self.policy, names, ResourceKind::Host)
    }
}

/// What the policies say about one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) effect: PolicyEffect,
    /// The policies that determine it, in their order. None if nothing permits the call.
    pub(crate) policies: Vec<usize>,
    /// Errors of evaluation. With one, nothing is permitted.
    pub(crate) errors: Vec<String>,
}

/// All policies in force for one agent and one set of rules.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) policies: Vec<EffectivePolicy>,
    slices: Mutex<BTreeMap<String, Arc<Slice>>>,
}

/// The policies that may match calls of one agent with one tool.
#[derive(Debug, Default)]
pub(crate) struct Slice {
    parts: BTreeMap<ResourceKind, Part>,
}

/// Policies that ask instead of forbidding are apart, because a forbidding policy hides which permits are
/// satisfied.
#[derive(Debug, Default)]
struct Part {
    main: PolicySet,
    asking: PolicySet,
}

impl Compiled {
    pub(crate) const fn new(policies: Vec<EffectivePolicy>) -> Self {
        Self {
            policies,
            slices: Mutex::new(BTreeMap::new()),
        }
    }

    /// The slice of a tool.
    pub(crate) fn slice(&self, names: &EntityNames, agent: &str, tool: &str) -> Result<Arc<Slice>, String> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slice) = slices.get(tool) {
            return Ok(Arc::clone(slice));
        }
        let slice = Arc::new(self.build(names, (agent, tool).into(), &|_| true)?);
        if slices.len() < SLICES_MAX {
            slices.insert(tool.to_owned(), Arc::clone(&slice));
        }
        Ok(slice)
    }

    /// The slice of a tool with some of the policies.
    pub(crate) fn build(
        &self,
        names: &EntityNames,
        call: CallNames<'_>,
        is_included: &dyn Fn(usize) -> bool,
    ) -> Result<Slice, String> {
        let (principal, action) = (names.agent(call.agent), names.action(call.tool));
        let mut slice = Slice::default();
        for (index, effective) in self.policies.iter().enumerate() {
            let policy = &effective.policy;
            if !is_included(index) || !may_match_scope(policy, &principal, &action) {
                continue;
            }
            for kind in ResourceKind::ALL {
                if !may_match_resource(policy, names, kind) {
                    continue;
                }
                let part = slice.parts.entry(kind).or_default();
                let asks_instead = effective.kind == PolicyKind::Forbid && effective.ask.is_some();
                let set = if asks_instead {
                    &mut part.asking
                } else {
                    &mut part.main
                };
                let policy = policy.new_id(PolicyId::new(index.to_string()));
                set.add(policy).map_err(|error| error.to_string())?;
            }
        }
        Ok(slice)
    }

    /// What the policies of a slice say about a request.
    ///
    /// A policy that forbids without `@ask` denies. Otherwise a call without any permit is denied, one that
    /// a policy forbids with `@ask` asks, and one asks if every permit has `@ask`.
    pub(crate) fn answer(&self, slice: &Slice, call: &CallRequest) -> Answer {
        let Some(part) = slice.parts.get(&call.kind) else {
            return Answer {
                effect: PolicyEffect::Deny,
                policies: Vec::new(),
                errors: Vec::new(),
            };
        };
        let authorizer = Authorizer::new();
        let main = authorizer.is_authorized(&call.request, &part.main, &call.entities);
        let mut errors = errors(&main);
        let determining = reasons(&main);
        if main.decision() == Decision::Deny {
            return Answer {
                effect: PolicyEffect::Deny,
                policies: determining,
                errors,
            };
        }
        let asking = authorizer.is_authorized(&call.request, &part.asking, &call.entities);
        errors.extend(self::errors(&asking));
        let asked = reasons(&asking);
        if !errors.is_empty() {
            return Answer {
                effect: PolicyEffect::Deny,
                policies: Vec::new(),
                errors,
            };
        }
        if !asked.is_empty() {
            return Answer {
                effect: PolicyEffect::Ask,
                policies: asked,
                errors,
            };
        }
        let asks = |index: &usize| {
            self.policies
                .get(*index)
                .is_some_and(|policy| policy.ask.is_some())
        };
        let free: Vec<usize> = determining.iter().copied().filter(|index| !asks(index)).collect();
        if free.is_empty() {
            return Answer {
                effect: PolicyEffect::Ask,
                policies: determining,
                errors,
            };
        }
        Answer {
            effect: PolicyEffect::Permit,
            policies: free,
            errors,
        }
    }
}

/// The agent and the tool of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallNames<'a> {
    pub(crate) agent: &'a str,
    pub(crate) tool: &'a str,
}

impl<'a> From<(&'a str, &'a str)> for CallNames<'a> {
    fn from((agent, tool): (&'a str, &'a str)) -> Self {
        Self { agent, tool }
    }
}

/// The determining policies, by their index.
fn reasons(response: &Response) -> Vec<usize> {
    let ids = response.diagnostics().reason();
    let mut found: Vec<usize> = ids
        .filter_map(|id| AsRef::<str>::as_ref(id).parse().ok())
        .collect();
    found.sort_unstable();
    found
}

fn errors(response: &Response) -> Vec<String> {
    let errors = response.diagnostics().errors();
    errors.map(ToString::to_string).collect()
}

fn may_match_scope(policy: &Policy, agent: &EntityUid, tool: &EntityUid) -> bool {
    let is_agent = match policy.principal_constraint() {
        PrincipalConstraint::Any => true,
        // Agents have no parents.
        PrincipalConstraint::Eq(uid) | PrincipalConstraint::In(uid) => uid == *agent,
        PrincipalConstraint::Is(name) => name == *agent.type_name(),
        PrincipalConstraint::IsIn(name, uid) => name == *agent.type_name() && uid == *agent,
    };
    is_agent
        && match policy.action_constraint() {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(uid) => uid == *tool,
            ActionConstraint::In(uids) => uids.contains(tool),
        }
}

fn may_match_resource(policy: &Policy, names: &EntityNames, kind: ResourceKind) -> bool {
    let name = names.type_of(kind);
    match policy.resource_constraint() {
        ResourceConstraint::Any => true,
        ResourceConstraint::Eq(uid) | ResourceConstraint::In(uid) => uid.type_name() == name,
        ResourceConstraint::Is(found) => found == *name,
        ResourceConstraint::IsIn(found, uid) => found == *name && uid.type_name() == name,
    }
}
