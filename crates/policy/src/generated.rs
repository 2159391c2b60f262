//! The policies that this program generates from an agent's settings, the run's own restrictions and the
//! permission mode. They are Cedar text like those that people write.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use cedar_policy::{ParseErrors, Policy};
use wakeful_core::policy::{ActionRules, PermissionMode, RuleName};
use wakeful_core::sub_run::START_RUN;

use crate::document::PolicyKind;
use crate::engine::ToolRegistry;
use crate::names::EntityNames;

/// Maximum number of parsed texts that are kept. Most are the same for all agents.
const PARSED_MAX: usize = 1_024;

/// Parsed texts. Parsing takes far longer than a decision.
static PARSED: Mutex<BTreeMap<String, Policy>> = Mutex::new(BTreeMap::new());

/// One generated policy.
#[derive(Debug, Clone)]
pub(crate) struct GeneratedPolicy {
    pub(crate) rule: RuleName,
    pub(crate) kind: PolicyKind,
    /// Whether it asks instead of permitting or forbidding.
    pub(crate) asks: bool,
    pub(crate) text: String,
}

impl GeneratedPolicy {
    pub(crate) fn parsed(&self) -> Result<Policy, ParseErrors> {
        let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = parsed.get(&self.text) {
            return Ok(policy.clone());
        }
        let policy = Policy::parse(None, &self.text)?;
        if parsed.len() >= PARSED_MAX {
            parsed.clear();
        }
        parsed.insert(self.text.clone(), policy.clone());
        Ok(policy)
    }
}

/// Collects the policies in the order in which one of them gives its name to a verdict.
struct Generator<'a> {
    names: &'a EntityNames,
    policies: Vec<GeneratedPolicy>,
}

/// Generates the policies for these rules.
pub(crate) fn generate(
    names: &EntityNames,
    tools: &ToolRegistry,
    rules: &ActionRules,
) -> Vec<GeneratedPolicy> {
    let mut to = Generator {
        names,
        policies: Vec::new(),
    };
    to.forbid(
        RuleName::UnknownTool,
        "action",
        "unless { context.is_registered }",
    );
    for tool in &rules.denied {
        to.forbid_tool(RuleName::DeniedTool, tool, "");
    }
    to.may_start(&rules.may_start);
    if rules.is_read_only {
        to.forbid(RuleName::ReadOnlyRun, "action", CHANGES_SOMETHING);
    }
    for (tool, level) in &tools.sandbox_minimum {
        let clause = format!("when {{ context.sandbox_level < {level} }}");
        to.forbid_tool(RuleName::SandboxLevel, tool, &clause);
    }
    for tool in &rules.asked {
        to.ask_tool(RuleName::AskTool, tool);
    }
    to.preset(rules.mode);
    to.policies
}

/// A read-only run may read, connect to hosts, start runs that are read-only too, and run commands, because
/// the sandbox makes the workspace read-only for them.
const CHANGES_SOMETHING: &str = "unless {
    (resource is Path && resource.access == \"read\") ||
    resource is Host ||
    context.class == \"internal\" ||
    (resource is Call && context.class == \"idempotent\" && context.risk == \"low\") ||
    (context has command && context.sandbox_level >= 1 && resource is Call)
}";

/// The calls that stay in the sandbox.
const CONFINED: &str = "unless {
    (resource is Path && resource.scope == \"outside\") ||
    (resource is Path && resource.scope == \"protected\" && resource.access == \"write\") ||
    (resource is Host && resource.scope == \"unlisted\")
}";

impl Generator<'_> {
    fn preset(&mut self, mode: PermissionMode) {
        match mode {
            PermissionMode::Permissive => self.permit(RuleName::RegisteredTool, "resource", ""),
            PermissionMode::Standard => {
                self.permit(RuleName::RegisteredTool, "resource", CONFINED);
                for (rule, resource, clause) in [
                    (RuleName::OutsidePath, "resource is Path", OUTSIDE),
                    (RuleName::ProtectedPath, "resource is Path", PROTECTED),
                    (RuleName::UnlistedHost, "resource is Host", UNLISTED),
                ] {
                    let body = format!("(principal, action, {resource})\n{clause}");
                    self.add(PolicyKind::Permit, rule, Some(rule.words()), &body);
                }
            }
            PermissionMode::Restrictive => {
                self.permit(RuleName::RegisteredTool, "resource", "");
                self.ask(RuleName::RestrictiveMode, "action", "");
            }
        }
    }

    fn may_start(&mut self, agents: &BTreeSet<String>) {
        let mut clause = String::new();
        if !agents.is_empty() {
            let listed = agents.iter().map(|agent| self.names.agent(agent).to_string());
            let listed: Vec<String> = listed.collect();
            let _infallible = write!(clause, "unless {{ resource in [{}] }}", listed.join(", "));
        }
        self.forbid_tool(RuleName::DeniedAgent, START_RUN, &clause);
    }

    fn permit(&mut self, rule: RuleName, resource: &str, clause: &str) {
        let body = format!("(principal, action, {resource})\n{clause}");
        self.add(PolicyKind::Permit, rule, None, &body);
    }

    fn forbid(&mut self, rule: RuleName, action: &str, clause: &str) {
        let body = format!("(principal, {action}, resource)\n{clause}");
        self.add(PolicyKind::Forbid, rule, None, &body);
    }

    fn forbid_tool(&mut self, rule: RuleName, tool: &str, clause: &str) {
        let action = format!("action == {}", self.names.action(tool));
        self.forbid(rule, &action, clause);
    }

    fn ask(&mut self, rule: RuleName, action: &str, clause: &str) {
        let body = format!("(principal, {action}, resource)\n{clause}");
        self.add(PolicyKind::Forbid, rule, Some(rule.words()), &body);
    }

    fn ask_tool(&mut self, rule: RuleName, tool: &str) {
        let action = format!("action == {}", self.names.action(tool));
        self.ask(rule, &action, "");
    }

    fn add(&mut self, kind: PolicyKind, rule: RuleName, ask: Option<&str>, body: &str) {
        let mut text = format!("@id(\"{rule}\")\n");
        if let Some(reason) = ask {
            let _infallible = writeln!(text, "@ask({})", self.names.quoted(reason));
        }
        text.push_str(match kind {
            PolicyKind::Permit => "permit ",
            PolicyKind::Forbid => "forbid ",
        });
        text.push_str(body.trim_end());
        text.push(';');
        self.policies.push(GeneratedPolicy {
            rule,
            kind,
            asks: ask.is_some(),
            text,
        });
    }
}

const OUTSIDE: &str = "when { resource.scope == \"outside\" }";
const PROTECTED: &str = "when { resource.scope == \"protected\" && resource.access == \"write\" }";
const UNLISTED: &str = "when { resource.scope == \"unlisted\" }";
