//! Hosts that a running call connects to.

use wakeful_core::policy::HostDecision;
use wakeful_ports::policy::Policy as _;

use super::*;

const POLICIES: &str = r#"
@id("no-paste") forbid (principal, action, resource is Host) when { resource.host == "paste.example" };
@id("docs") permit (principal, action == Action::"ExecCommand", resource is Host)
when { resource.host == "docs.example" && resource.port == 443 };
@id("curl") permit (principal, action == Action::"ExecCommand", resource)
when { context has command && context.command.program == "curl" };
@id("slow") @ask("it is slow") forbid (principal, action, resource is Host)
when { resource.host == "slow.example" };
@id("maybe") @ask("it is new") permit (principal, action, resource is Host)
when { resource.host == "new.example" };
@id("push") @ask("it publishes") forbid (principal, action == Action::"ExecCommand", resource)
when { context has command && context.command.text like "git push*" };
"#;

fn decided(engine: &PolicyEngine, call: &Call, host: &str, scope: HostScope) -> HostDecision {
    let agent_id = AgentId::parse("main").expect("an id");
    let query = PolicyQuery {
        agent_id: &agent_id,
        tool: &call.tool,
        rules: &call.rules,
        facts: &call.facts,
        class: call.class,
        risk: RiskLevel::Medium,
        sandbox_level: call.sandbox_level,
    };
    let (host, port) = host.split_once(':').expect("a port");
    let target = Target::Host {
        host: host.to_owned(),
        port: port.parse().expect("a number"),
        scope,
    };
    engine.decide_host(&query, &target)
}

#[test]
fn written_policies_decide_on_the_hosts_of_a_command() {
    let (_home, engine) = with_policies(POLICIES);
    let rule = |id: &str| format!("main.cedar#{id}");
    let refused = |id| HostDecision::Refused { rule: rule(id) };
    let asks = |id| HostDecision::Asks { rule: rule(id) };
    let permitted = HostDecision::Permitted { rule: rule("docs") };
    let (allowed, unlisted) = (HostScope::Allowed, HostScope::Unlisted);
    let curl = Call::command("curl x");
    for (host, scope, expected) in [
        ("paste.example:443", allowed, refused("no-paste")),
        ("paste.example:80", unlisted, refused("no-paste")),
        ("docs.example:443", unlisted, permitted),
        ("docs.example:22", unlisted, HostDecision::AsListed),
        ("docs.example:443", allowed, HostDecision::AsListed),
        ("other.example:443", allowed, HostDecision::AsListed),
        // A permit for the command is none for its hosts.
        ("other.example:443", unlisted, HostDecision::AsListed),
        ("slow.example:443", allowed, asks("slow")),
    ] {
        for mode in PermissionMode::ALL {
            let call = curl.clone().mode(mode);
            assert_eq!(decided(&engine, &call, host, scope), expected, "{mode} {host:?}");
        }
    }
    // A permit that asks opens nothing, and names itself where nothing else permits the host.
    let cargo = Call::command("cargo fetch");
    assert_eq!(
        decided(&engine, &cargo, "new.example:443", unlisted),
        asks("maybe")
    );
    let permissive = cargo.mode(PermissionMode::Permissive);
    let decision = decided(&engine, &permissive, "new.example:443", unlisted);
    assert_eq!(decision, HostDecision::AsListed);
}

#[test]
fn what_was_approved_with_the_call_does_not_ask_again() {
    let (_home, engine) = with_policies(POLICIES);
    let mut push = Call::command("git push origin");
    push.rules.asked = names(&["ExecCommand"]);
    push.rules.foreign_targets = Some(ForeignTargetPolicy::Ask);
    push.rules.mode = PermissionMode::Restrictive;
    let listed = |host: &str| decided(&engine, &push, &format!("{host}:443"), HostScope::Allowed);
    assert_eq!(listed("git.example"), HostDecision::AsListed);
    assert!(matches!(listed("paste.example"), HostDecision::Refused { .. }));
    assert!(matches!(listed("slow.example"), HostDecision::Asks { .. }));
    // The host of a fetch was judged with the call; the host of a redirect was not.
    let fetch = Call::fetch("slow.example", HostScope::Allowed);
    let redirected = |host: &str| decided(&engine, &fetch, &format!("{host}:443"), HostScope::Allowed);
    assert_eq!(redirected("slow.example"), HostDecision::AsListed);
    assert!(matches!(
        redirected("paste.example"),
        HostDecision::Refused { .. }
    ));
}

#[test]
fn a_policy_file_without_a_valid_version_refuses_every_host() {
    let (_home, engine) = with_policies("permit (");
    let decision = decided(
        &engine,
        &Call::command("curl x"),
        "a.example:443",
        HostScope::Allowed,
    );
    assert_eq!(
        decision,
        HostDecision::Refused {
            rule: RuleName::PolicyError.to_string()
        }
    );
}
