//! Paths that a walk through folders finds.

use wakeful_core::policy::PathDecisions;
use wakeful_ports::policy::Policy as _;

use super::*;

const POLICIES: &str = r#"
@id("no-vault") forbid (principal, action, resource is Path) when { resource.path like "/ws/vault/*" };
@id("drafts") @ask("they are drafts") forbid (principal, action == Action::"ReadFile", resource is Path)
when { resource.path like "/ws/drafts/*" };
"#;

const OF_OTHER_TARGETS: &str = r#"
forbid (principal, action == Action::"WriteFile", resource is Path) when { resource.path like "/ws/*" };
forbid (principal, action, resource is Host) when { resource.host == "a.example" };
permit (principal, action, resource is Path) when { resource.path like "/notes/*" };
"#;

fn decided(engine: &PolicyEngine, call: &Call, paths: &[&str]) -> PathDecisions {
    let agent_id = AgentId::parse("main").expect("an id");
    let query = PolicyQuery {
        agent_id: &agent_id,
        tool: &call.tool,
        rules: &call.rules,
        facts: &call.facts,
        class: call.class,
        risk: RiskLevel::Low,
        sandbox_level: call.sandbox_level,
    };
    let target = |path: &&str| Target::Path {
        path: (*path).to_owned(),
        access: PathAccess::Read,
        scope: PathScope::Workspace,
    };
    let paths: Vec<Target> = paths.iter().map(target).collect();
    engine.decide_paths(&query, &paths)
}

fn each<const N: usize>(decisions: [bool; N]) -> PathDecisions {
    PathDecisions::Each(decisions.to_vec())
}

#[test]
fn a_policy_excludes_paths_below_the_folder_of_a_call() {
    let (_home, engine) = with_policies(POLICIES);
    let walk = Call::read("/ws", PathScope::Workspace);
    for mode in PermissionMode::ALL {
        let found = [
            "/ws/a",
            "/ws/vault",
            "/ws/vault/k",
            "/ws/drafts/d",
            "/ws/../x",
            "/ws/z",
        ];
        assert_eq!(
            decided(&engine, &walk.clone().mode(mode), &found),
            each([true, true, false, false, false, true]),
            "{mode}"
        );
    }
}

#[test]
fn a_question_that_was_answered_for_the_folder_covers_its_paths() {
    let (_home, engine) = with_policies(POLICIES);
    let walk = Call::read("/ws/drafts/x", PathScope::Workspace);
    assert_eq!(decided(&engine, &walk, &["/ws/drafts/x/d"]), each([true]));
    let outside = Call::read("/elsewhere", PathScope::Outside);
    assert_eq!(decided(&engine, &outside, &["/elsewhere/d"]), each([true]));
}

#[test]
fn paths_are_unrestricted_without_a_written_policy_on_them() {
    let walk = Call::read("/ws", PathScope::Workspace);
    let (_home, engine) = with_policies(OF_OTHER_TARGETS);
    assert_eq!(decided(&engine, &walk, &["/ws/a"]), PathDecisions::Unrestricted);
    let (_home, engine) = with_policies("forbid (");
    assert_eq!(decided(&engine, &walk, &["/ws/a"]), each([false]));
}
