use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use wakeful_core::id::AgentId;
use wakeful_core::policy::{
    ActionRules, CallFacts, CommandFact, ForeignTargetPolicy, HostScope, PathAccess, PathScope,
    PermissionMode, PolicyEffect, PolicyQuery, RuleName, Target,
};
use wakeful_core::step::EffectClass;
use wakeful_core::sub_run::START_RUN;
use wakeful_core::tool::RiskLevel;

use crate::{Judgement, PolicyEngine, PolicyParser, ToolRegistry};

mod explain;
mod files;
mod host;
mod path;

pub(crate) const TOOLS: [&str; 6] = [
    "ExecCommand",
    "ReadFile",
    "WriteFile",
    "WebFetch",
    "journal_create_task",
    START_RUN,
];

pub(crate) fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn registry() -> ToolRegistry {
    ToolRegistry {
        registered: names(&TOOLS),
        sandbox_minimum: [("ExecCommand".to_owned(), 1)].into(),
    }
}

/// A call to judge.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) class: EffectClass,
    pub(crate) facts: CallFacts,
    pub(crate) rules: ActionRules,
    pub(crate) sandbox_level: u8,
}

impl Call {
    pub(crate) fn new(tool: &str, class: EffectClass) -> Self {
        Self {
            tool: tool.to_owned(),
            class,
            facts: CallFacts::default(),
            rules: ActionRules::default(),
            sandbox_level: 1,
        }
    }

    pub(crate) fn command(text: &str) -> Self {
        let mut call = Self::new("ExecCommand", EffectClass::Plain);
        call.facts.command = Some(CommandFact::new(text));
        call
    }

    pub(crate) fn read(path: &str, scope: PathScope) -> Self {
        Self::new("ReadFile", EffectClass::Idempotent).with(Target::Path {
            path: path.to_owned(),
            access: PathAccess::Read,
            scope,
        })
    }

    pub(crate) fn write(path: &str, scope: PathScope) -> Self {
        Self::new("WriteFile", EffectClass::Plain).with(Target::Path {
            path: path.to_owned(),
            access: PathAccess::Write,
            scope,
        })
    }

    pub(crate) fn fetch(host: &str, scope: HostScope) -> Self {
        Self::new("WebFetch", EffectClass::Idempotent).with(Target::Host {
            host: host.to_owned(),
            port: 443,
            scope,
        })
    }

    fn with(mut self, target: Target) -> Self {
        self.facts.targets.push(target);
        self
    }

    pub(crate) fn under(mut self, rules: &ActionRules) -> Self {
        self.rules = rules.clone();
        self
    }

    pub(crate) fn mode(mut self, mode: PermissionMode) -> Self {
        self.rules.mode = mode;
        self
    }

    pub(crate) fn judged(&self, engine: &PolicyEngine) -> (PolicyEffect, String) {
        let verdict = self.judgement(engine).verdict;
        (verdict.effect, verdict.rule)
    }

    fn judgement(&self, engine: &PolicyEngine) -> Judgement {
        let agent_id = AgentId::parse("main").expect("an id");
        engine.judge(&PolicyQuery {
            agent_id: &agent_id,
            tool: &self.tool,
            rules: &self.rules,
            facts: &self.facts,
            class: self.class,
            risk: RiskLevel::Medium,
            sandbox_level: self.sandbox_level,
        })
    }
}

pub(crate) fn engine() -> PolicyEngine {
    PolicyEngine::new(registry()).expect("an engine")
}

/// A home with one global policy file.
fn with_policies(text: &str) -> (tempfile::TempDir, PolicyEngine) {
    let home = tempfile::tempdir().expect("a folder");
    write_policies(home.path(), text);
    let engine = PolicyEngine::following(home.path().to_owned(), registry()).expect("an engine");
    (home, engine)
}

pub(crate) fn write_policies(home: &Path, text: &str) {
    std::fs::create_dir_all(home.join("policy")).expect("a folder");
    std::fs::write(home.join("policy/main.cedar"), text).expect("written");
}

fn verdict(effect: PolicyEffect, rule: RuleName) -> (PolicyEffect, String) {
    (effect, rule.to_string())
}

use PolicyEffect::{Ask, Deny, Permit};

// Conformance: A-16
#[test]
fn standard_asks_only_where_a_call_leaves_the_sandbox() {
    let engine = engine();
    let registered = verdict(Permit, RuleName::RegisteredTool);
    let cases = [
        (Call::command("cargo test"), registered.clone()),
        (Call::read("/ws/a", PathScope::Workspace), registered.clone()),
        (Call::write("/ws/a", PathScope::Workspace), registered.clone()),
        (Call::write("/tmp/a", PathScope::Temporary), registered.clone()),
        (Call::read("/data/a", PathScope::Granted), registered.clone()),
        (
            Call::read("/ws/.git/config", PathScope::Protected),
            registered.clone(),
        ),
        (Call::fetch("crates.io", HostScope::Allowed), registered.clone()),
        (Call::new("journal_create_task", EffectClass::Saga), registered),
        (
            Call::write("/ws/.git/config", PathScope::Protected),
            verdict(Ask, RuleName::ProtectedPath),
        ),
        (
            Call::read("/etc/a", PathScope::Outside),
            verdict(Ask, RuleName::OutsidePath),
        ),
        (
            Call::fetch("example.com", HostScope::Unlisted),
            verdict(Ask, RuleName::UnlistedHost),
        ),
    ];
    for (call, expected) in cases {
        assert_eq!(call.judged(&engine), expected, "{call:?}");
    }
}

// Conformance: A-16
#[test]
fn permissive_asks_for_nothing_and_restrictive_for_everything() {
    let engine = engine();
    for call in [
        Call::command("ls"),
        Call::read("/etc/a", PathScope::Outside),
        Call::fetch("example.com", HostScope::Unlisted),
        Call::new("journal_create_task", EffectClass::Saga),
    ] {
        let permissive = call.clone().mode(PermissionMode::Permissive);
        assert_eq!(
            permissive.judged(&engine),
            verdict(Permit, RuleName::RegisteredTool),
            "{call:?}"
        );
        let restrictive = call.mode(PermissionMode::Restrictive);
        assert_eq!(
            restrictive.judged(&engine),
            verdict(Ask, RuleName::RestrictiveMode)
        );
    }
}

// Conformance: A-170
#[test]
fn safety_constraints_override_every_grant() {
    let (_home, engine) = with_policies("permit (principal, action, resource);");
    for mode in PermissionMode::ALL {
        for call in [
            Call::read("/home/me/.wakeful/x", PathScope::Denied),
            Call::fetch("evil.example", HostScope::Denied),
            Call::fetch("169.254.169.254", HostScope::Private),
        ] {
            let judged = call.clone().mode(mode).judged(&engine);
            assert_eq!(judged, verdict(Deny, RuleName::UnsafeTarget), "{call:?}");
        }
    }
}

#[test]
fn the_strictest_verdict_over_all_targets_wins() {
    let engine = engine();
    let mut call = Call::read("/ws/a", PathScope::Workspace);
    call.facts
        .targets
        .extend(Call::read("/etc/a", PathScope::Outside).facts.targets);
    call.facts
        .targets
        .extend(Call::read("/ws/b", PathScope::Workspace).facts.targets);
    assert_eq!(call.judged(&engine), verdict(Ask, RuleName::OutsidePath));
    call.facts
        .targets
        .extend(Call::read("/x", PathScope::Denied).facts.targets);
    assert_eq!(call.judged(&engine), verdict(Deny, RuleName::UnsafeTarget));
}

// Conformance: L-180
#[test]
fn lists_of_tools_and_agents_deny_and_ask() {
    let engine = engine();
    let rules = ActionRules {
        denied: names(&["WebFetch"]),
        asked: names(&[
            "ExecCommand",
            "WebFetch",
            "gone \"); permit(principal, action, resource);//",
        ]),
        may_start: names(&["b"]),
        ..ActionRules::default()
    };
    let start = |agent: &str| {
        let agent_id = AgentId::parse(agent).expect("an id");
        let call = Call::new(START_RUN, EffectClass::Internal).with(Target::Agent { agent_id });
        call.under(&rules).judged(&engine)
    };
    let fetch = Call::fetch("crates.io", HostScope::Allowed).under(&rules);
    assert_eq!(fetch.judged(&engine), verdict(Deny, RuleName::DeniedTool));
    let command = Call::command("ls").under(&rules);
    assert_eq!(command.judged(&engine), verdict(Ask, RuleName::AskTool));
    assert_eq!(start("b"), verdict(Permit, RuleName::RegisteredTool));
    assert_eq!(start("c"), verdict(Deny, RuleName::DeniedAgent));
    let untargeted = Call::new(START_RUN, EffectClass::Internal).under(&rules);
    assert_eq!(untargeted.judged(&engine), verdict(Deny, RuleName::DeniedAgent));
    let asked = ActionRules {
        asked: names(&[START_RUN]),
        ..rules.clone()
    };
    let agent_id = AgentId::parse("c").expect("an id");
    let call = Call::new(START_RUN, EffectClass::Internal).with(Target::Agent { agent_id });
    assert_eq!(
        call.under(&asked).judged(&engine).0,
        Deny,
        "a denied action causes no question"
    );
}

#[test]
fn a_command_with_hosts_is_also_judged_as_a_call() {
    let (_home, engine) = with_policies("forbid (principal, action, resource is Call);");
    let host = Target::Host {
        host: "a.example".to_owned(),
        port: 443,
        scope: HostScope::Allowed,
    };
    let mut call = Call::command("ls").with(host);
    call.facts.has_requests = true;
    assert_eq!(call.judged(&engine).0, Deny);
}

#[test]
fn a_read_only_run_may_read_and_run_sandboxed_commands_only() {
    let engine = engine();
    let rules = ActionRules {
        is_read_only: true,
        mode: PermissionMode::Permissive,
        ..ActionRules::default()
    };
    let denied = verdict(Deny, RuleName::ReadOnlyRun);
    for call in [
        Call::write("/ws/a", PathScope::Workspace),
        Call::write("/tmp/a", PathScope::Temporary),
        Call::new("journal_create_task", EffectClass::Saga),
        Call::new("WebFetch", EffectClass::Plain),
    ] {
        assert_eq!(call.clone().under(&rules).judged(&engine), denied, "{call:?}");
    }
    for call in [
        Call::read("/ws/a", PathScope::Workspace),
        Call::command("ls"),
        Call::fetch("crates.io", HostScope::Allowed),
    ] {
        assert_eq!(call.clone().under(&rules).judged(&engine).0, Permit, "{call:?}");
    }
    let mut unconfined = Call::command("ls").under(&rules);
    unconfined.sandbox_level = 0;
    assert_eq!(unconfined.judged(&engine), denied);
}

#[test]
fn a_command_below_its_minimum_sandbox_level_is_denied() {
    let mut call = Call::command("ls");
    call.sandbox_level = 0;
    assert_eq!(call.judged(&engine()), verdict(Deny, RuleName::SandboxLevel));
    let without_minimum = PolicyEngine::new(ToolRegistry::new(names(&TOOLS))).expect("an engine");
    assert_eq!(call.judged(&without_minimum).0, Permit);
}

#[test]
fn an_unregistered_tool_is_denied_whatever_its_name_contains() {
    let (_home, engine) = with_policies("permit (principal, action, resource);");
    for tool in [
        "Other",
        "",
        "x\"); permit(principal,action,resource);//",
        "ExecCommand\u{200b}",
        "execcommand",
    ] {
        let judged = Call::new(tool, EffectClass::Plain).judged(&engine);
        assert_eq!(judged, verdict(Deny, RuleName::UnknownTool), "{tool:?}");
    }
}

#[test]
fn a_written_permit_replaces_a_question_of_the_preset_only() {
    let (_home, engine) = with_policies(
        "permit (principal == Agent::\"main\", action == Action::\"ReadFile\", resource is Path)\n\
         when { resource.path like \"/home/me/notes/*\" };",
    );
    let call = Call::read("/home/me/notes/a", PathScope::Outside);
    assert_eq!(call.judged(&engine), (Permit, "main.cedar#1".to_owned()));
    let asked = ActionRules {
        asked: names(&["ReadFile"]),
        ..ActionRules::default()
    };
    assert_eq!(
        call.clone().under(&asked).judged(&engine),
        verdict(Ask, RuleName::AskTool)
    );
    let restrictive = call.mode(PermissionMode::Restrictive);
    assert_eq!(
        restrictive.judged(&engine),
        verdict(Ask, RuleName::RestrictiveMode)
    );
    for path in ["/home/me/Notes/a", "/home/me/notesX", "/home/me"] {
        assert_eq!(
            Call::read(path, PathScope::Outside).judged(&engine).0,
            Ask,
            "{path}"
        );
    }
    let escaping = Call::read("/home/me/notes/../.ssh/id", PathScope::Outside).judged(&engine);
    assert_eq!(escaping, verdict(Deny, RuleName::InvalidFact));
}

#[test]
fn a_forbid_denies_and_a_forbid_with_ask_asks() {
    let (_home, engine) = with_policies(
        "@id(\"no-curl\")\nforbid (principal, action == Action::\"ExecCommand\", resource)\n\
         when { context has command && context.command.program == \"curl\" };\n\
         @id(\"ask-push\") @ask(\"it publishes\")\nforbid (principal, action, resource)\n\
         when { context has command && context.command.text like \"git push*\" };\n\
         @id(\"evil\")\nforbid (principal, action, resource is Host) when { resource.host == \"evil.com\" };",
    );
    for mode in [PermissionMode::Permissive, PermissionMode::Standard] {
        let judged = |text: &str| Call::command(text).mode(mode).judged(&engine);
        assert_eq!(judged("curl x"), (Deny, "main.cedar#no-curl".to_owned()));
        assert_eq!(judged("git push origin"), (Ask, "main.cedar#ask-push".to_owned()));
        assert_eq!(judged("git pull").0, Permit);
    }
    for host in ["evil.com", "EVIL.com", "evil.com."] {
        let judged = Call::fetch(host, HostScope::Allowed).judged(&engine);
        assert_eq!(judged, (Deny, "main.cedar#evil".to_owned()), "{host}");
    }
}

#[test]
fn an_error_of_evaluation_denies_with_policy_error() {
    let (_home, engine) = with_policies(
        "forbid (principal, action == Action::\"WebFetch\", resource is Host)\n\
         when { resource.port * 9223372036854775807 > 5 };",
    );
    let judged = Call::fetch("crates.io", HostScope::Allowed).judged(&engine);
    assert_eq!(judged, verdict(Deny, RuleName::PolicyError));
    assert_eq!(
        Call::command("ls").judged(&engine).0,
        Permit,
        "other calls are not affected"
    );
}

#[test]
fn the_generated_policies_are_valid_and_few() {
    let parser = PolicyParser::new(&names(&TOOLS)).expect("a parser");
    let agent = AgentId::parse("main").expect("an id");
    for mode in PermissionMode::ALL {
        let rules = ActionRules {
            mode,
            is_read_only: true,
            denied: names(&["WebFetch"]),
            asked: names(&["ReadFile"]),
            may_start: names(&["b", "c"]),
            ..ActionRules::default()
        };
        let effective = engine().effective(&agent, &rules).expect("policies");
        assert!(effective.len() < 15);
        for policy in effective {
            let checked = parser.parse("generated", &policy.text);
            assert!(checked.is_ok(), "{checked:?}\n{}", policy.text);
        }
    }
}

/// Texts that would be harmful if they were parsed, and any others.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"); permit(principal,action,resource);//".to_owned()),
        Just("\\\" } ; permit(principal, action, resource) when { \"".to_owned()),
        Just("*".to_owned()),
        "\\PC{0,30}",
    ]
}

proptest! {
    /// For all texts in tool names, paths, hosts and commands, a call that a policy forbids is denied.
    #[test]
    fn no_text_in_a_call_overrides_a_forbid(text in any_text(), other in any_text()) {
        let engine = forbidding();
        let mut command = Call::command(&text).mode(PermissionMode::Permissive);
        command.tool = other.clone();
        let calls = [
            command,
            Call::command(&text).mode(PermissionMode::Permissive),
            Call::read(&format!("/{text}"), PathScope::Workspace),
            Call::fetch(&text, HostScope::Allowed),
            Call::command(&text).under(&ActionRules { asked: [other].into(), ..ActionRules::default() }),
        ];
        for call in calls {
            prop_assert_eq!(call.judged(engine).0, Deny, "{:?}", call);
        }
    }
}

/// An engine whose policy forbids everything.
fn forbidding() -> &'static PolicyEngine {
    static ENGINE: std::sync::LazyLock<(tempfile::TempDir, PolicyEngine)> =
        std::sync::LazyLock::new(|| with_policies("forbid (principal, action, resource);"));
    &ENGINE.1
}
