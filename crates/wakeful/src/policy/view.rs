//! Policies and explanations in the types of the API.

use std::sync::Arc;

use wakeful_api::{
    AgentPolicy, ExplainedCommand, ExplainedTarget, HookRecord, PolicyAlternative, PolicyExplanation,
    PolicyFileProblem, PolicyRecord,
};
use wakeful_core::guardrail::{GuardrailTrip, blocking};
use wakeful_core::hook::{HookAction, HookEvent, HookFile, HookSpec};
use wakeful_core::id::AgentId;
use wakeful_core::policy::{
    ActionRules, CallFacts, DenialCategory, GateStage, PolicyEffect, PolicyQuery, RuleName, denial_category,
    rule_words, unsafe_target,
};
use wakeful_core::problem::Problem;
use wakeful_core::sandbox_policy::SandboxPolicy;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::sub_run::{START_RUN, SubRunRequest};
use wakeful_core::tool::WEB_SEARCH;
use wakeful_core::tool::gate::{self, GateQuery};
use wakeful_policy::{
    EffectivePolicy, Explanation, PolicyEngine, PolicyKind, PolicyProblem, PolicySource, TargetJudgement,
};
use wakeful_ports::policy::Policy as _;
use wakeful_ports::tool::ToolHost;
use wakeful_server::ExplainedCall;
use wakeful_tools::hook::HookFileState;

/// The policies in force for an agent.
pub(crate) fn agent_policy(
    engine: &PolicyEngine,
    agent: &AgentId,
    rules: &ActionRules,
    sandbox: SandboxPolicy,
) -> Result<AgentPolicy, Problem> {
    let policies = engine.effective(agent, rules).map_err(|error| {
        Problem::new(
            "policy_error",
            error,
            "`wakeful policy check` shows every problem",
        )
    })?;
    let folders = engine.folders();
    let problems = folders.map(|folders| folders.current(agent).problems().map(problem).collect());
    let paths = folders.map(|folders| [folders.path(None), folders.path(Some(agent))]);
    Ok(AgentPolicy {
        agent_id: agent.to_string(),
        mode: rules.mode,
        policy_version: engine.version(agent, rules).to_string(),
        policies: policies.iter().map(record).collect(),
        problems: problems.unwrap_or_default(),
        folders: paths
            .into_iter()
            .flatten()
            .map(|path| path.display().to_string())
            .collect(),
        sandbox,
        hooks: Vec::new(),
    })
}

/// The policies of an agent with the hooks of these files.
pub(crate) fn with_hooks(mut policy: AgentPolicy, files: &[Arc<HookFileState>]) -> AgentPolicy {
    policy.hooks = files.iter().flat_map(|file| hook_records(file)).collect();
    policy
        .problems
        .extend(files.iter().filter_map(|file| hook_problem(file)));
    policy
}

/// Why a hook file is refused, if it is.
pub(crate) fn hook_problem(file: &HookFileState) -> Option<PolicyFileProblem> {
    let message = file.hooks.as_ref().err()?.clone();
    Some(PolicyFileProblem {
        file: file.name.clone(),
        line: 1,
        message,
    })
}

/// The hooks of a file; none if it is refused.
fn hook_records(file: &HookFileState) -> Vec<HookRecord> {
    let hooks = file.hooks.iter().flat_map(HookFile::iter);
    let record = |(event, spec): &(HookEvent, HookSpec)| HookRecord {
        event: *event,
        matcher: spec.matcher.clone(),
        kind: match spec.action {
            HookAction::Command(_) => "command",
            HookAction::Http(_) => "http",
        }
        .to_owned(),
        hook: spec.action.text().to_owned(),
        timeout_ms: spec.timeout_ms,
        source: file.name.clone(),
    };
    hooks.map(record).collect()
}

pub(crate) fn problem(problem: &PolicyProblem) -> PolicyFileProblem {
    PolicyFileProblem {
        file: problem.file.clone(),
        line: u32::try_from(problem.line).unwrap_or(u32::MAX),
        message: problem.message.clone(),
    }
}

fn record(policy: &EffectivePolicy) -> PolicyRecord {
    let file = policy.rule.split('#').next().unwrap_or_default();
    let (source, line) = match policy.source {
        PolicySource::Generated => ("settings".to_owned(), None),
        PolicySource::Global { line } | PolicySource::Agent { line } => (file.to_owned(), Some(line)),
    };
    let kind = match (policy.kind, &policy.ask) {
        (_, Some(_)) => "ask",
        (PolicyKind::Permit, None) => "permit",
        (PolicyKind::Forbid, None) => "forbid",
    };
    PolicyRecord {
        rule: policy.rule.clone(),
        source,
        line: line.and_then(|line| u32::try_from(line).ok()),
        kind: kind.to_owned(),
        text: policy.text.clone(),
    }
}

/// Explains the verdict on a call in the order in which a run judges it: its arguments, the gates, the policies,
/// and the risk registry.
pub(crate) fn explain<T: ToolHost>(
    engine: &PolicyEngine,
    tools: &T,
    call: &ExplainedCall,
) -> PolicyExplanation {
    let order = (call.tool == START_RUN).then(|| SubRunRequest::read(&call.input));
    if let Some(stop) = stop_before_policies(tools, call, order.as_ref()) {
        let version = engine.version(&call.agent_id, &call.rules).to_string();
        return stopped(call, version, stop);
    }
    let class = match &order {
        Some(_) => EffectClass::Internal,
        None => tools.class(&call.tool).unwrap_or(EffectClass::Plain),
    };
    let facts = match order {
        Some(order) => order.map(|order| order.facts()).unwrap_or_default(),
        None => facts(tools, call),
    };
    let explanation = engine.explain(&PolicyQuery {
        agent_id: &call.agent_id,
        tool: &call.tool,
        rules: &call.rules,
        facts: &facts,
        class,
        risk: tools.risk(&call.tool),
        sandbox_level: tools.sandbox_level(),
    });
    let constraint =
        unsafe_target(&facts).and_then(|_| tools.constraint(&call.tool, &call.input, &call.rules.sandbox));
    let view = view(call, facts, &explanation);
    let is_classified = tools.risk_classification(&call.tool).is_some();
    let tripped = call.rules.guardrails.tool_trips(&call.tool, &call.input);
    let verdict = explanation
        .judgement
        .verdict
        .escalated(is_classified)
        .guarded(&tripped);
    let note = (call.tool == WEB_SEARCH).then(|| search_note(verdict.effect).to_owned());
    let reason = match verdict.rule == view.rule {
        true => constraint.unwrap_or(view.reason),
        false => blocking(&tripped)
            .map(GuardrailTrip::words)
            .filter(|_| verdict.effect == PolicyEffect::Deny)
            .unwrap_or_else(|| rule_words(&verdict.rule).unwrap_or_default().to_owned()),
    };
    let is_denied = verdict.effect == PolicyEffect::Deny;
    PolicyExplanation {
        effect: verdict.effect,
        stage: is_denied.then_some(GateStage::Policy),
        category: is_denied.then(|| denial_category(&verdict.rule)),
        rule: verdict.rule,
        reason,
        note,
        ..view
    }
}

/// What a verdict on the provider's search means: it happens while the provider writes a reply, so it cannot wait
/// for a person.
const fn search_note(effect: PolicyEffect) -> &'static str {
    match effect {
        PolicyEffect::Permit => {
            "it is offered to models whose provider searches the web, at most 5 times for each request"
        }
        PolicyEffect::Ask => {
            "it is not offered: the provider searches while it writes a reply, so no person can approve it first"
        }
        PolicyEffect::Deny => "it is not offered to the model",
    }
}

/// Checks the arguments and the gates of a call.
fn stop_before_policies<T: ToolHost>(
    tools: &T,
    call: &ExplainedCall,
    order: Option<&Result<SubRunRequest, ToolError>>,
) -> Option<Stop> {
    let fault = match order {
        // A run that may start no runs was not offered this tool, so its arguments do not matter.
        Some(order) => order
            .as_ref()
            .err()
            .filter(|_| !call.rules.may_start.is_empty())
            .cloned(),
        None => tools
            .class(&call.tool)
            .and_then(|_| tools.check(&call.tool, &call.input).err()),
    };
    if let Some(fault) = fault {
        return Some(Stop {
            stage: GateStage::Validate,
            category: None,
            rule: fault.kind,
            reason: fault.message,
        });
    }
    let contract = tools.contract(&call.tool);
    let gate = gate::check(GateQuery {
        contract: contract.as_ref(),
        access: &call.rules.access,
        wake_reason: call.rules.wake_reason,
    });
    gate.err().map(|stop| Stop {
        stage: stop.stage,
        category: Some(stop.category),
        rule: stop.code,
        reason: stop.message,
    })
}

/// What stops a call before the policies.
struct Stop {
    stage: GateStage,
    category: Option<DenialCategory>,
    rule: String,
    reason: String,
}

fn stopped(call: &ExplainedCall, policy_version: String, stop: Stop) -> PolicyExplanation {
    PolicyExplanation {
        agent_id: call.agent_id.to_string(),
        tool: call.tool.clone(),
        effect: PolicyEffect::Deny,
        rule: stop.rule,
        reason: stop.reason,
        stage: Some(stop.stage),
        category: stop.category,
        mode: call.rules.mode,
        policy_version,
        command: None,
        targets: Vec::new(),
        alternatives: Vec::new(),
        note: (call.tool == WEB_SEARCH).then(|| search_note(PolicyEffect::Deny).to_owned()),
        recorded: None,
        foreign_targets: None,
    }
}

/// What a recorded call acted on when it was judged, or what the call would act on now.
fn facts<T: ToolHost>(tools: &T, call: &ExplainedCall) -> CallFacts {
    let now = tools.facts(&call.tool, &call.input, &call.rules.sandbox);
    match &call.targets {
        Some(targets) => CallFacts {
            targets: targets.clone(),
            ..now
        },
        None => now,
    }
}

fn view(call: &ExplainedCall, facts: CallFacts, explanation: &Explanation) -> PolicyExplanation {
    let verdict = &explanation.judgement.verdict;
    let targets = &explanation.judgement.targets;
    let written = targets.iter().flat_map(|target| &target.policies);
    let written = written
        .filter(|policy| policy.rule == verdict.rule)
        .find_map(|policy| policy.ask.clone());
    let built_in = RuleName::parse(&verdict.rule).map(|rule| rule.words().to_owned());
    // Which policy could not be evaluated, or which file is invalid.
    let error = targets.iter().flat_map(|target| &target.errors).next().cloned();
    let denied = verdict.effect == PolicyEffect::Deny;
    PolicyExplanation {
        agent_id: call.agent_id.to_string(),
        tool: call.tool.clone(),
        effect: verdict.effect,
        rule: verdict.rule.clone(),
        reason: error
            .or(built_in)
            .or(written)
            .unwrap_or_else(|| "a policy in a file".to_owned()),
        stage: denied.then_some(GateStage::Policy),
        category: denied.then(|| denial_category(&verdict.rule)),
        mode: call.rules.mode,
        policy_version: verdict.policy_version.to_string(),
        command: facts.command.map(|command| ExplainedCommand {
            text: command.text,
            program: command.program,
            is_simple: command.is_simple,
        }),
        targets: targets.iter().map(target).collect(),
        alternatives: explanation
            .alternatives
            .iter()
            .map(|alternative| PolicyAlternative {
                change: alternative.change.clone(),
                effect: alternative.effect,
            })
            .collect(),
        note: None,
        recorded: None,
        foreign_targets: None,
    }
}

fn target(judged: &TargetJudgement) -> ExplainedTarget {
    ExplainedTarget {
        target: judged
            .target
            .as_ref()
            .map_or_else(|| "call".to_owned(), ToString::to_string),
        effect: judged.effect,
        rule: judged.rule.clone(),
        policies: judged.policies.iter().map(|policy| policy.rule.clone()).collect(),
        errors: judged.errors.clone(),
    }
}
