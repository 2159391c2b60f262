//! Policies and explanations in the types of the API.

use wakeful_api::{
    AgentPolicy, ExplainedCommand, ExplainedTarget, PolicyAlternative, PolicyExplanation, PolicyFileProblem,
    PolicyRecord,
};
use wakeful_core::id::AgentId;
use wakeful_core::policy::{
    ActionRules, CallFacts, PolicyEffect, PolicyQuery, RuleName, denial_category,
};
use wakeful_core::problem::Problem;
use wakeful_core::step::EffectClass;
use wakeful_core::sub_run::{START_RUN, SubRunRequest};
use wakeful_policy::{
    EffectivePolicy, Explanation, PolicyEngine, PolicyKind, PolicyProblem, PolicySource, TargetJudgement,
};
use wakeful_ports::policy::Policy as _;
use wakeful_ports::tool::ToolHost;
use wakeful_server::ExplainedCall;

/// The policies in force for an agent.
pub(crate) fn agent_policy(
    engine: &PolicyEngine,
    agent: &AgentId,
    rules: &ActionRules,
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
    })
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

/// Explains the verdict on a call with the facts that the tools extract from its arguments.
pub(crate) fn explain<T: ToolHost>(
    engine: &PolicyEngine,
    tools: &T,
    call: &ExplainedCall,
) -> Result<PolicyExplanation, Problem> {
    let (class, facts) = facts(tools, call)?;
    let explanation = engine.explain(&PolicyQuery {
        agent_id: &call.agent_id,
        tool: &call.tool,
        rules: &call.rules,
        facts: &facts,
        class,
        risk: tools.risk(&call.tool),
        sandbox_level: tools.sandbox_level(),
    });
    Ok(view(call, facts, &explanation))
}

fn facts<T: ToolHost>(tools: &T, call: &ExplainedCall) -> Result<(EffectClass, CallFacts), Problem> {
    let bad = |message: String, hint: String| Problem::new("bad_arguments", message, hint);
    if call.tool == START_RUN {
        let order = SubRunRequest::read(&call.input);
        let order = order.map_err(|fault| bad(fault.message, fault.hint.unwrap_or_default()))?;
        return Ok((EffectClass::Internal, order.facts()));
    }
    let Some(class) = tools.class(&call.tool) else {
        // These tools are made without a journal, which they would not use.
        let is_journal = call.tool.starts_with("journal_");
        let class = if is_journal {
            EffectClass::Saga
        } else {
            EffectClass::Plain
        };
        return Ok((class, CallFacts::default()));
    };
    let checked = tools.check(&call.tool, &call.input);
    checked.map_err(|fault| bad(fault.message, fault.hint.unwrap_or_default()))?;
    Ok((class, tools.facts(&call.tool, &call.input, &call.rules.sandbox)))
}

fn view(call: &ExplainedCall, facts: CallFacts, explanation: &Explanation) -> PolicyExplanation {
    let verdict = &explanation.judgement.verdict;
    let targets = &explanation.judgement.targets;
    let written = targets.iter().flat_map(|target| &target.policies);
    let written = written
        .filter(|policy| policy.rule == verdict.rule)
        .find_map(|policy| policy.ask.clone());
    let built_in = RuleName::parse(&verdict.rule).map(|rule| rule.words().to_owned());
    let denied = verdict.effect == PolicyEffect::Deny;
    PolicyExplanation {
        agent_id: call.agent_id.to_string(),
        tool: call.tool.clone(),
        effect: verdict.effect,
        rule: verdict.rule.clone(),
        reason: built_in
            .or(written)
            .unwrap_or_else(|| "a policy in a file".to_owned()),
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
        recorded: None,
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
