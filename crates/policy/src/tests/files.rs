//! Policy files that change, break and vanish.

use wakeful_core::id::AgentId;
use wakeful_core::policy::{ActionRules, PathScope, PolicyEffect, RuleName};
use wakeful_ports::policy::Policy as _;

use super::{Call, names, registry, write_policies};
use crate::document::{FILE_BYTES_MAX, POLICIES_MAX};
use crate::folder::FILES_MAX;
use crate::{PolicyEngine, PolicyParser};

const NO_COMMANDS: &str = "forbid (principal, action == Action::\"ExecCommand\", resource);\n";

fn home() -> (tempfile::TempDir, PolicyEngine) {
    let home = tempfile::tempdir().expect("a folder");
    let engine = PolicyEngine::following(home.path().to_owned(), registry()).expect("an engine");
    (home, engine)
}

fn effect(engine: &PolicyEngine) -> PolicyEffect {
    Call::command("ls").judged(engine).0
}

fn problems(engine: &PolicyEngine) -> Vec<String> {
    let folder = engine.folders().expect("folders").folder(None);
    folder.problems.iter().map(ToString::to_string).collect()
}

fn refused(text: &str) -> String {
    let parser = PolicyParser::new(&names(&super::TOOLS)).expect("a parser");
    parser
        .parse("x.cedar", text)
        .expect_err("it was accepted")
        .to_string()
}

#[test]
fn a_changed_policy_applies_to_the_next_call() {
    let (home, engine) = home();
    let agent = AgentId::parse("main").expect("an id");
    let version = || engine.version(&agent, &ActionRules::default());
    let before = version();
    assert_eq!(effect(&engine), PolicyEffect::Permit);
    write_policies(home.path(), NO_COMMANDS);
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    assert_ne!(version(), before);
    write_policies(home.path(), "// nothing\n");
    assert_eq!(effect(&engine), PolicyEffect::Permit);
    std::fs::create_dir_all(home.path().join("agents/main/policy")).expect("a folder");
    std::fs::write(home.path().join("agents/main/policy/own.cedar"), NO_COMMANDS).expect("written");
    let judged = Call::command("ls").judged(&engine);
    assert_eq!(judged, (PolicyEffect::Deny, "agent/own.cedar#1".to_owned()));
    std::fs::remove_file(home.path().join("agents/main/policy/own.cedar")).expect("removed");
    assert_eq!(
        effect(&engine),
        PolicyEffect::Permit,
        "a deleted file has no effect"
    );
}

#[test]
fn the_next_process_finds_the_last_valid_version() {
    let (home, engine) = home();
    engine.folders().expect("folders").keep_last_valid();
    write_policies(home.path(), NO_COMMANDS);
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    write_policies(home.path(), "permit(");
    let next = || PolicyEngine::following(home.path().to_owned(), registry()).expect("an engine");
    let judged = Call::command("ls").judged(&next());
    assert_eq!(judged, (PolicyEffect::Deny, "main.cedar#1".to_owned()));
    let judged = Call::read("/ws/a", PathScope::Workspace).judged(&next());
    assert_eq!(
        judged.0,
        PolicyEffect::Permit,
        "only the policy of the file applies"
    );
    assert!(
        problems(&next())
            .first()
            .is_some_and(|problem| problem.starts_with("main.cedar, line 1"))
    );
    // A deleted file has no last version.
    std::fs::remove_file(home.path().join("policy/main.cedar")).expect("removed");
    assert_eq!(effect(&engine), PolicyEffect::Permit);
    write_policies(home.path(), "permit(");
    assert_eq!(effect(&next()), PolicyEffect::Deny, "nothing is known about it");
    assert!(next().folders().expect("folders").folder(None).is_incomplete);
}

#[test]
fn a_bad_file_leaves_its_last_good_version_in_force() {
    let (home, engine) = home();
    write_policies(home.path(), NO_COMMANDS);
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    for bad in [
        "permit (principal, action, resource",
        "",
        "permit (principal, action == Action::\"Nope\", resource);",
    ] {
        write_policies(home.path(), bad);
        assert_eq!(effect(&engine), PolicyEffect::Deny, "{bad:?}");
        let found = problems(&engine);
        assert!(
            found.len() == 1 && found[0].starts_with("main.cedar, line 1: "),
            "{found:?}"
        );
    }
    write_policies(home.path(), "// nothing\n");
    assert_eq!(
        (effect(&engine), problems(&engine).len()),
        (PolicyEffect::Permit, 0)
    );
}

#[test]
fn a_bad_file_without_an_earlier_version_permits_nothing() {
    let (home, engine) = home();
    write_policies(home.path(), "permit (principal, action, resource)");
    let judged = Call::command("ls").judged(&engine);
    assert_eq!(judged, (PolicyEffect::Deny, RuleName::PolicyError.to_string()));
    let errors = &Call::command("ls").judgement(&engine).targets[0].errors;
    assert_eq!(errors, &["the policy file main.cedar is invalid (line 1)"]);
    std::fs::remove_file(home.path().join("policy/main.cedar")).expect("removed");
    assert_eq!(effect(&engine), PolicyEffect::Permit);
}

#[test]
fn a_folder_that_vanishes_leaves_its_policies_in_force() {
    let (home, engine) = home();
    write_policies(home.path(), NO_COMMANDS);
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    std::fs::remove_dir_all(home.path().join("policy")).expect("removed");
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    assert!(
        problems(&engine)[0].contains("the folder is missing"),
        "{:?}",
        problems(&engine)
    );
    write_policies(home.path(), "// nothing\n");
    assert_eq!(effect(&engine), PolicyEffect::Permit);
}

#[test]
fn errors_name_the_line_and_the_reason() {
    let ok = "permit (principal, action, resource);\n";
    for (text, line, reason) in [
        ("permit (principal, action, resource)\nwhen { tru };", 2, "tru"),
        (
            "permit (principal, action == Action::\"Nope\", resource);",
            1,
            "Nope",
        ),
        (
            "permit (principal, action, resource is Path)\n  when { resource.pth == \"/\" };",
            2,
            "pth",
        ),
        (
            "@asks(\"x\")\npermit (principal, action, resource);",
            1,
            "unknown annotation @asks",
        ),
        ("@id(\"a#b\")\npermit (principal, action, resource);", 1, "@id"),
        (
            "permit (principal == ?principal, action, resource);",
            1,
            "templates",
        ),
        (
            "forbid (principal, action, resource) when { context.command.program == \"x\" };",
            1,
            "command",
        ),
        ("permit (principal == User::\"me\", action, resource);", 1, "User"),
    ] {
        let problem = refused(&format!("{ok}\n{text}"));
        let expected = format!("x.cedar, line {}: ", line + 2);
        assert!(
            problem.starts_with(&expected) && problem.contains(reason),
            "{problem}"
        );
    }
    let twice = "@id(\"a\") permit (principal, action, resource);\n".repeat(2);
    assert!(
        refused(&twice).starts_with("x.cedar, line 2: there is another"),
        "{}",
        refused(&twice)
    );
}

#[test]
fn files_beyond_the_bounds_are_refused() {
    let many = "permit (principal, action, resource);\n".repeat(POLICIES_MAX + 1);
    assert!(refused(&many).contains("more than 1000 policies"));
    let ten_thousand = "permit(principal,action,resource);".repeat(10_000);
    assert!(refused(&ten_thousand).contains("at most 262144 are allowed"));
    assert!(refused(&"/".repeat(FILE_BYTES_MAX + 1)).contains("bytes"));
    let nested = |open: &str, close: &str, times: usize| {
        let (open, close) = (open.repeat(times), close.repeat(times));
        refused(&format!(
            "permit (principal, action, resource) when {{ {open}true{close} }};"
        ))
    };
    assert!(nested("(", ")", 50_000).contains("nested deeper"));
    assert!(nested("if true then true else ", "", 10_000).contains("nested deeper"));
    assert!(nested("true && ", "", 20_000).contains("more than 8192 bytes"));
    assert!(!nested("!", "", 8_000).is_empty());
    let (home, engine) = home();
    write_policies(home.path(), "");
    for index in 0..=FILES_MAX {
        std::fs::write(home.path().join(format!("policy/{index}.cedar")), "").expect("written");
    }
    assert_eq!(effect(&engine), PolicyEffect::Deny);
    assert!(
        problems(&engine)[0].contains("at most 32 are allowed"),
        "{:?}",
        problems(&engine)
    );
}

#[test]
fn the_longest_policy_is_read_and_evaluated_without_overflow() {
    let (home, engine) = home();
    for part in ["true && ", "false || ", "context.", "1 + "] {
        let chain = part.repeat(8_000 / part.len());
        let tail = if part.contains("+") {
            "1 == 1"
        } else {
            "is_read_only"
        };
        write_policies(
            home.path(),
            &format!("forbid (principal, action, resource) when {{ {chain}{tail} }};"),
        );
        assert_eq!(effect(&engine), PolicyEffect::Deny, "{part}");
    }
}

#[test]
fn names_and_kinds_of_files_that_cannot_be_policies_are_refused() {
    let (home, engine) = home();
    write_policies(home.path(), "");
    let folder = home.path().join("policy");
    std::fs::create_dir(folder.join("folder.cedar")).expect("a folder");
    assert!(
        problems(&engine)[0].contains("not a regular file"),
        "{:?}",
        problems(&engine)
    );
    std::fs::remove_dir(folder.join("folder.cedar")).expect("removed");
    std::fs::write(folder.join("a b\n.cedar"), "").expect("written");
    assert!(
        problems(&engine)[0].contains("rename the file"),
        "{:?}",
        problems(&engine)
    );
    std::fs::remove_file(folder.join("a b\n.cedar")).expect("removed");
    for ignored in [".main.cedar.swp", ".x.cedar", "main.cedar~", "notes.txt"] {
        std::fs::write(folder.join(ignored), "not a policy").expect("written");
    }
    std::fs::write(folder.join("bytes.cedar"), [0xff, 0xfe]).expect("written");
    assert_eq!(problems(&engine), ["bytes.cedar, line 1: is not UTF-8"]);
}
