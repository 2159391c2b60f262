//! Policies and explanations as text for people.

use wakeful_api::{AgentPolicy, PolicyExplanation, Step};
use wakeful_core::step::StepStatus;

/// Whether the policy denied a call, or asked about it.
pub(super) fn was_stopped(step: &Step) -> bool {
    matches!(step.status, StepStatus::Denied | StepStatus::WaitingForApproval)
}

pub(super) fn policies(policy: &AgentPolicy) -> String {
    let mut lines = vec![
        format!("agent    {}", policy.agent_id),
        format!("mode     {}", policy.mode),
        format!("version  {}", policy.policy_version),
    ];
    lines.extend(policy.folders.iter().map(|folder| format!("folder   {folder}")));
    for problem in &policy.problems {
        let (file, line, message) = (&problem.file, problem.line, &problem.message);
        lines.push(format!("problem  {file}, line {line}: {message}"));
    }
    for one in &policy.policies {
        let place = match one.line {
            Some(line) => format!("{}, line {line}", one.source),
            None => one.source.clone(),
        };
        lines.push(format!("\n// {} ({}, {place})", one.rule, one.kind));
        lines.push(one.text.trim().to_owned());
    }
    lines.join("\n")
}

pub(super) fn explanation(explained: &PolicyExplanation) -> String {
    let mut lines = vec![
        format!("agent    {} ({})", explained.agent_id, explained.mode),
        format!("tool     {}", explained.tool),
        format!("verdict  {}", explained.effect),
        format!("rule     {}: {}", explained.rule, explained.reason),
    ];
    lines.extend(explained.stage.map(|stage| format!("stage    {stage}")));
    lines.extend(explained.category.map(|category| format!("category {category}")));
    lines.push(format!("version  {}", explained.policy_version));
    if let Some(command) = &explained.command {
        let kind = if command.is_simple { "simple" } else { "not simple" };
        lines.push(format!("command  {} ({kind})", command.text.escape_debug()));
    }
    for target in &explained.targets {
        let policies = if target.policies.is_empty() {
            target.rule.clone()
        } else {
            target.policies.join(", ")
        };
        lines.push(format!(
            "target   {}: {} by {policies}",
            target.target, target.effect
        ));
        lines.extend(target.errors.iter().map(|error| format!("error    {error}")));
    }
    for alternative in &explained.alternatives {
        lines.push(format!("with     {}: {}", alternative.change, alternative.effect));
    }
    if let Some(recorded) = &explained.recorded {
        lines.push(format!("recorded {} ({})", recorded.status, recorded.rule));
    }
    lines.extend(explained.note.as_ref().map(|note| format!("note     {note}")));
    lines.join("\n")
}
