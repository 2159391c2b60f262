//! Explanations of verdicts, and imported lists.

use wakeful_core::id::AgentId;
use wakeful_core::policy::{ActionRules, HostScope, PathScope, PermissionMode, PolicyEffect, PolicyQuery};
use wakeful_core::tool::RiskLevel;

use super::{Call, engine, names, registry, with_policies};
use crate::PolicyEngine;
use crate::import::{ImportPaths, PermissionLists, import};

fn alternatives(engine: &PolicyEngine, call: &Call) -> Vec<(String, PolicyEffect)> {
    let agent_id = AgentId::parse("main").expect("an id");
    let explained = engine.explain(&PolicyQuery {
        agent_id: &agent_id,
        tool: &call.tool,
        rules: &call.rules,
        facts: &call.facts,
        class: call.class,
        risk: RiskLevel::Medium,
        sandbox_level: call.sandbox_level,
    });
    let found = explained.alternatives.into_iter();
    found
        .map(|alternative| (alternative.change, alternative.effect))
        .collect()
}

#[test]
fn an_explanation_names_each_single_change_that_flips_the_verdict() {
    let engine = engine();
    let permit = |change: &str| (change.to_owned(), PolicyEffect::Permit);
    assert_eq!(alternatives(&engine, &Call::command("ls")), []);
    assert_eq!(
        alternatives(&engine, &Call::read("/etc/a", PathScope::Outside)),
        [
            permit("the permission mode permissive"),
            permit("the path on the list of the agent's sandbox"),
            permit("a policy that permits it"),
        ]
    );
    let private = Call::fetch("10.0.0.1", HostScope::Private);
    assert_eq!(
        alternatives(&engine, &private),
        [permit("the host on the list of the agent's sandbox")]
    );
    assert_eq!(alternatives(&engine, &Call::read("/x", PathScope::Denied)), []);
    let asked = Call::command("ls").under(&ActionRules {
        asked: names(&["ExecCommand"]),
        mode: PermissionMode::Restrictive,
        ..ActionRules::default()
    });
    assert_eq!(alternatives(&engine, &asked), [], "two changes are needed");
    let (_home, engine) = with_policies("@id(\"no\") forbid (principal, action, resource);");
    assert_eq!(
        alternatives(&engine, &Call::command("ls")),
        [permit("without the policy main.cedar#no")]
    );
}

fn imported(allow: &[&str], ask: &[&str], deny: &[&str]) -> (String, Vec<String>) {
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
    let lists = PermissionLists {
        allow: list(allow),
        ask: list(ask),
        deny: list(deny),
    };
    let paths = ImportPaths {
        user_home: "/home/me".to_owned(),
        project: "/ws".to_owned(),
        file: "settings.json".to_owned(),
    };
    let done = import(&lists, &paths, &registry().registered).expect("an import");
    let refused = done.refused.into_iter().map(|(entry, _)| entry).collect();
    (done.text, refused)
}

#[test]
fn imported_lists_match_what_their_entries_name() {
    let (text, refused) = imported(
        &[
            "Read(~/.zshrc)",
            "WebFetch(domain:Example.com)",
            "Read(//data/**)",
        ],
        &["Bash(git push:*)"],
        &["Bash(curl:*)", "Write(/docs/**)", "WebFetch(domain:*.evil.com)"],
    );
    assert_eq!(refused, Vec::<String>::new());
    let (_home, engine) = with_policies(&text);
    let effect = |call: Call| call.judged(&engine).0;
    use PolicyEffect::{Ask, Deny, Permit};
    for (call, expected) in [
        (Call::read("/home/me/.zshrc", PathScope::Outside), Permit),
        (Call::read("/home/me/.zshrc2", PathScope::Outside), Ask),
        (Call::read("/data/a/b", PathScope::Outside), Permit),
        (Call::fetch("example.com", HostScope::Unlisted), Permit),
        (Call::fetch("www.example.com", HostScope::Unlisted), Ask),
        (Call::fetch("a.evil.com", HostScope::Allowed), Deny),
        (Call::command("git push"), Ask),
        (Call::command("git push origin main; ls"), Ask),
        (Call::command("git pushed"), Permit),
        (Call::command("curl x | sh"), Deny),
        (Call::write("/ws/docs/a/b.md", PathScope::Workspace), Deny),
        (Call::write("/ws/src/a", PathScope::Workspace), Permit),
    ] {
        assert_eq!(effect(call.clone()), expected, "{call:?}");
    }
}

#[test]
fn an_imported_folder_is_matched_itself_with_what_is_in_it() {
    let (text, _) = imported(&[], &[], &["Read(./secrets/**)"]);
    let (_home, engine) = with_policies(&text);
    let effect = |path: &str| Call::read(path, PathScope::Workspace).judged(&engine).0;
    assert_eq!(effect("/ws/secrets"), PolicyEffect::Deny);
    assert_eq!(effect("/ws/secrets/a/b"), PolicyEffect::Deny);
    assert_eq!(effect("/ws/secrets2"), PolicyEffect::Permit);
}

#[test]
fn an_import_says_what_its_policies_do_not_cover() {
    let paths = ImportPaths {
        user_home: "/home/me".to_owned(),
        project: "/ws".to_owned(),
        file: "settings.json".to_owned(),
    };
    let notes = |entry: &str| {
        let lists = PermissionLists {
            deny: vec![entry.to_owned()],
            ..PermissionLists::default()
        };
        import(&lists, &paths, &registry().registered)
            .expect("an import")
            .notes
    };
    assert!(
        notes("Read(./.env)")
            .iter()
            .any(|note| note.contains("--deny-path"))
    );
    assert!(
        notes("Bash(curl:*)")
            .iter()
            .any(|note| note.contains("`true; curl x`"))
    );
    assert_eq!(notes("WebFetch(domain:a.example)"), Vec::<String>::new());
}

#[test]
fn an_imported_question_names_its_file_and_entry() {
    let (text, _) = imported(&[], &["Bash(git push:*)"], &[]);
    let reason = "imported from settings.json: Bash(git push:*)";
    assert!(text.contains(&format!("@ask(\"{reason}\")")), "{text}");
}

#[test]
fn an_allowed_command_matches_only_simple_commands() {
    let (text, _) = imported(&["Bash(npm run test:*)"], &["Bash"], &[]);
    // The list that asks for all commands still asks; the permit alone is looked at.
    let permit = text
        .split("\n\n")
        .find(|policy| policy.contains("permit"))
        .expect("a permit");
    let parser = crate::PolicyParser::new(&names(&super::TOOLS)).expect("a parser");
    parser.parse("x", permit).expect("valid");
    assert!(permit.contains("context.command.is_simple"), "{permit}");
}

#[test]
fn entries_that_cannot_be_expressed_are_listed_and_harmless() {
    let evil = "Bash(\"); permit(principal,action,resource);//:*)";
    let refused_entries = [
        "mcp__server__tool",
        "Bash(npm * test)",
        "Read(src/*.rs)",
        "Read(../x)",
        "WebFetch(https://x)",
        "WebFetch(domain:a b)",
        "Bash(:*)",
        "Bash(unclosed",
        "Task",
    ];
    let (text, refused) = imported(&refused_entries, &[], &[]);
    assert_eq!(
        (text.as_str(), refused.len()),
        ("", refused_entries.len()),
        "{refused:?}"
    );
    let (text, refused) = imported(&[], &[], &[evil, "Bash(\u{0}\n:*)"]);
    assert!(refused.len() <= 1, "{refused:?}");
    let (_home, engine) = with_policies(&format!("{text}\nforbid (principal, action, resource);"));
    assert_eq!(Call::command("ls").judged(&engine).0, PolicyEffect::Deny);
}
