//! Policies and explanations as text for people.

use wakeful_api::{AgentPolicy, HookRecord, PolicyExplanation, Step};
use wakeful_core::policy::RuleName;
use wakeful_core::sandbox_policy::SandboxPolicy;
use wakeful_core::step::StepStatus;

/// Maximum length of a hook in a line, in characters.
const HOOK_CHARS_MAX: usize = 120;

/// The line of a verdict that a safety constraint decided.
const NOTHING_PERMITS: &str = "note     nothing permits this: it is a credential, Wakeful's own home, on the deny list, \
    or a host in a private network";

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
    lines.extend(sandbox(&policy.sandbox));
    lines.extend(policy.folders.iter().map(|folder| format!("folder   {folder}")));
    for problem in &policy.problems {
        let (file, line, message) = (&problem.file, problem.line, &problem.message);
        lines.push(format!("problem  {file}, line {line}: {message}"));
    }
    lines.extend(
        policy
            .hooks
            .iter()
            .map(|hook| format!("hook     {}", hook_line(hook))),
    );
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

/// A hook in one line.
pub(in crate::cli) fn hook_line(hook: &HookRecord) -> String {
    let tools = match hook.matcher.as_str() {
        "" => String::new(),
        matcher => format!(" {matcher}"),
    };
    let shown: String = hook.hook.escape_debug().take(HOOK_CHARS_MAX).collect();
    format!("{}{tools}: {shown} ({})", hook.event, hook.source)
}

/// What the sandbox allows, and the limits of tools.
fn sandbox(policy: &SandboxPolicy) -> Vec<String> {
    let (files, hosts, limits) = (
        &policy.filesystem_scope,
        &policy.network_scope,
        &policy.resource_limits,
    );
    let allowed = files.allowed_paths.iter();
    let mut lines: Vec<String> = allowed
        .map(|allowed| format!("{:<8} {}", allowed.access, allowed.path))
        .collect();
    lines.extend(files.denied_paths.iter().map(|path| format!("denied   {path}")));
    let network = match hosts.allowed_hosts.as_slice() {
        [] => "none".to_owned(),
        list => list.join(", "),
    };
    lines.push(format!("network  {network}"));
    lines.extend(hosts.denied_hosts.iter().map(|host| format!("denied   {host}")));
    lines.push(format!(
        "limits   {} calls side by side, {} s per call",
        limits.max_concurrent_tools,
        limits.max_tool_execution_ms / 1000
    ));
    lines
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
        lines.push(format!("command  {} ({kind})", one_line(&command.text)));
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
    if let Some(foreign) = &explained.foreign_targets {
        let line = |name: &str, text: &String| format!("{name:<8} {}", one_line(text));
        lines.extend(foreign.targets.iter().map(|target| line("foreign", target)));
        lines.extend(foreign.sources.iter().map(|source| line("read", source)));
        lines.extend(foreign.changes.iter().map(|change| line("unless", change)));
    }
    for alternative in &explained.alternatives {
        lines.push(format!("with     {}: {}", alternative.change, alternative.effect));
    }
    if explained.alternatives.is_empty() && explained.rule == RuleName::UnsafeTarget.as_str() {
        lines.push(NOTHING_PERMITS.to_owned());
    }
    if let Some(recorded) = &explained.recorded {
        lines.push(format!("recorded {} ({})", recorded.status, recorded.rule));
    }
    lines.extend(explained.note.as_ref().map(|note| format!("note     {note}")));
    lines.join("\n")
}

/// A text on one line. Only control characters are escaped, so that a command is shown as it was typed.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_debug()),
            false => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_on_one_line_with_its_quotes() {
        assert_eq!(
            one_line("echo \"it's\"\nls\t'x'\u{1b}"),
            r#"echo "it's"\nls\t'x'\u{1b}"#
        );
    }
}
