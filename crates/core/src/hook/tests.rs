use serde_json::{Value, json};

use super::*;
use crate::secret::COMMAND_SECRETS_MAX;

fn file(events: &Value) -> Result<HookFile, String> {
    HookFile::parse(&json!({ "hooks": events }).to_string())
}

fn ended(end: HookEnd, answer: &str) -> HookOutput {
    HookOutput {
        end,
        answer: answer.as_bytes().to_vec(),
        errors: b"not\n this\x1b one ".to_vec(),
    }
}

fn exit(status: i32, answer: &str) -> HookOutput {
    ended(HookEnd::Exited(status), answer)
}

#[test]
fn a_file_in_the_usual_form_is_read() {
    let parsed = file(&json!({
        "PreToolUse": [
            {"matcher": "ExecCommand|Write*", "hooks": [
                {"type": "command", "command": "./check", "timeout": 5},
                {"type": "http", "url": "http://127.0.0.1:8080/check"},
            ]},
            {"hooks": [{"type": "command", "command": "log"}]},
        ],
        "Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "bye"}]}],
    }))
    .expect("a file");
    let texts = |event, tool| -> Vec<String> {
        let found = parsed.matching(event, tool);
        found.map(|spec| spec.action.text().to_owned()).collect()
    };
    let url = "http://127.0.0.1:8080/check";
    assert_eq!(
        texts(HookEvent::PreToolUse, Some("ExecCommand")),
        ["./check", url, "log"]
    );
    assert_eq!(
        texts(HookEvent::PreToolUse, Some("WriteFile")),
        ["./check", url, "log"]
    );
    assert_eq!(texts(HookEvent::PreToolUse, Some("ReadFile")), ["log"]);
    assert_eq!(texts(HookEvent::Stop, None), ["bye"]);
    assert!(texts(HookEvent::PostToolUse, Some("ExecCommand")).is_empty());
    let times: Vec<u64> = parsed.iter().map(|(_, spec)| spec.timeout_ms).collect();
    assert_eq!(times, [5_000, HOOK_MS_DEFAULT, HOOK_MS_DEFAULT, HOOK_MS_DEFAULT]);
}

#[test]
fn a_matcher_with_stars_matches_the_whole_name() {
    let matches = |matcher: &str, tool| {
        let events =
            json!({"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": "x"}]}]});
        let parsed = file(&events).expect("a file");
        parsed.matching(HookEvent::PreToolUse, Some(tool)).count() == 1
    };
    for (matcher, tool, expected) in [
        ("", "ReadFile", true),
        ("*", "ReadFile", true),
        (".*", "ReadFile", true),
        ("Read", "ReadFile", false),
        ("*File", "ReadFile", true),
        ("R*F*e", "ReadFile", true),
        ("Re*File*x", "ReadFile", false),
        ("A | ReadFile", "ReadFile", true),
        ("readfile", "ReadFile", false),
    ] {
        assert_eq!(matches(matcher, tool), expected, "{matcher:?}");
    }
}

#[test]
fn a_bad_hook_file_is_refused_with_its_place() {
    let command = json!({"type": "command", "command": "x"});
    let entry = |hook: Value| json!({"PreToolUse": [{"hooks": [hook]}]});
    for (events, words) in [
        (json!({"BeforeTool": []}), "the event \"BeforeTool\" is unknown"),
        (
            entry(json!({"type": "prompt"})),
            "PreToolUse, entry 1: the type \"prompt\"",
        ),
        (entry(json!({"type": "command"})), "needs `command`"),
        (
            entry(json!({"type": "command", "command": " "})),
            "needs `command`",
        ),
        (
            entry(json!({"type": "command", "command": "x", "url": "y"})),
            "needs `command` alone",
        ),
        (
            entry(json!({"type": "command", "command": "x", "timeout": 0})),
            "timeout",
        ),
        (
            entry(json!({"type": "command", "command": "x", "timeout": -1})),
            "timeout",
        ),
        (
            entry(json!({"type": "command", "command": "x", "timeout": 61})),
            "timeout",
        ),
        (
            entry(json!({"type": "http", "url": "http://example.org/"})),
            "must be http:// on",
        ),
        (
            entry(json!({"type": "http", "url": "http://127.0.0.1@example.org/"})),
            "must be http:// on",
        ),
        (
            entry(json!({"type": "http", "url": "https://localhost/"})),
            "must be http:// on",
        ),
        (
            entry(json!({"type": "http", "url": "http://localhost.example.org/"})),
            "must be http:// on",
        ),
        (
            json!({"PreToolUse": [{"matcher": "(a)", "hooks": [command]}]}),
            "matcher",
        ),
        (
            json!({"Stop": [{"matcher": "ReadFile", "hooks": [command]}]}),
            "has no tool",
        ),
        (json!({"PreToolUse": [{"hook": [command]}]}), "unknown field"),
        (
            json!({"PreToolUse": [{"hooks": vec![command.clone(); HOOKS_MAX + 1]}]}),
            "at most",
        ),
    ] {
        let error = file(&events).expect_err(words);
        assert!(error.contains(words), "{error}");
    }
    assert!(HookFile::parse("{").is_err());
    assert!(HookFile::parse(&" ".repeat(HOOK_FILE_BYTES_MAX + 1)).is_err());
}

#[test]
fn a_hook_blocks_with_exit_two_or_a_decision() {
    let event = HookEvent::PreToolUse;
    let blocked = judge(event, &exit(2, ""));
    assert_eq!((blocked.result, blocked.is_blocking), (HookResult::Blocked, true));
    assert_eq!(blocked.reason, "not this one");
    for answer in [
        json!({"decision": "block", "reason": "no"}),
        json!({"continue": false, "stopReason": "no"}),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
            "permissionDecisionReason": "no"}}),
    ] {
        let blocked = judge(event, &exit(0, &answer.to_string()));
        assert_eq!((blocked.result, blocked.is_blocking), (HookResult::Blocked, true));
        assert_eq!(blocked.reason, "no", "{answer}");
    }
}

#[test]
fn an_allowing_answer_changes_nothing() {
    for answer in ["", " \n", "{}", r#"{"decision": "approve"}"#] {
        let passed = judge(HookEvent::PreToolUse, &exit(0, answer));
        assert_eq!(passed, HookVerdict::new_passed(), "{answer:?}");
    }
    let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
    let passed = judge(HookEvent::PreToolUse, &exit(0, &allow.to_string()));
    assert_eq!(passed, HookVerdict::new_passed());
}

#[test]
fn a_hook_may_ask_and_change_arguments() {
    let answer = json!({"hookSpecificOutput": {"permissionDecision": "ask", "updatedInput": {"cmd": "ls"}}});
    let changed = judge(HookEvent::PreToolUse, &exit(0, &answer.to_string()));
    assert_eq!((changed.result, changed.asks), (HookResult::Changed, true));
    assert_eq!(changed.changed_input, Some(json!({"cmd": "ls"})));
    assert!(!changed.is_blocking);
}

#[test]
fn a_hook_that_fails_or_lies_blocks_if_it_could_have_blocked() {
    let event = HookEvent::PreToolUse;
    let lies = [
        "yes".to_owned(),
        "{".to_owned(),
        "[]".to_owned(),
        "\"block\"".to_owned(),
        json!({"decision": "maybe"}).to_string(),
        json!({"decision": 1}).to_string(),
        json!({"continue": "no"}).to_string(),
        json!({"hookSpecificOutput": {"updatedInput": "ls"}}).to_string(),
        json!({"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}}).to_string(),
    ];
    let mut ends: Vec<HookOutput> = lies.iter().map(|answer| exit(0, answer)).collect();
    ends.extend([
        exit(1, ""),
        exit(127, "{}"),
        ended(HookEnd::Killed, "{}"),
        ended(HookEnd::TimedOut, "{}"),
        ended(HookEnd::TooMuchOutput, ""),
        ended(HookEnd::NotRun("no shell".to_owned()), ""),
        ended(HookEnd::Answered(302), "{}"),
        ended(HookEnd::Answered(500), "{}"),
    ]);
    for output in ends {
        let failed = judge(event, &output);
        assert_eq!(
            (failed.result, failed.is_blocking),
            (HookResult::Failed, true),
            "{output:?}"
        );
        assert!(!failed.reason.is_empty() && failed.changed_input.is_none());
    }
    for event in [HookEvent::Stop, HookEvent::PermissionDenied] {
        assert!(!judge(event, &exit(1, "")).is_blocking);
        assert!(!judge(event, &exit(2, "")).is_blocking);
        assert_eq!(judge(event, &exit(0, "text")).result, HookResult::Passed);
    }
    let change = json!({"hookSpecificOutput": {"updatedInput": {}}}).to_string();
    assert!(judge(HookEvent::PostToolUse, &exit(0, &change)).is_blocking);
}

#[test]
fn hooks_of_another_program_get_the_names_of_tools_here() {
    let settings = json!({
        "model": "x",
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "c"}]},
                {"matcher": "^B", "hooks": [{"type": "command", "command": "c"}]},
            ],
            "Notification": [{"hooks": [{"type": "command", "command": "c"}]}],
        },
    });
    let done = import(&settings.to_string()).expect("an import");
    assert_eq!((done.count, done.refused.len()), (1, 2), "{done:?}");
    assert_eq!(
        done.file,
        json!({"hooks": {"PreToolUse": [
            {"matcher": "ExecCommand|EditFile", "hooks": [{"type": "command", "command": "c"}]}
        ]}})
    );
    assert!(import("{}").is_err());
}

#[test]
fn only_commands_have_secrets_and_their_names_are_checked() {
    let with = |secrets: Vec<&str>| {
        let hook = json!({"type": "command", "command": "x", "secrets": secrets});
        HookFile::parse(&json!({"hooks": {"Stop": [{"hooks": [hook]}]}}).to_string())
    };
    let parsed = with(vec!["B_TOKEN", "A_TOKEN"]).expect("valid");
    let names: Vec<&str> = parsed
        .iter()
        .flat_map(|(_, spec)| &spec.secrets)
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["A_TOKEN", "B_TOKEN"]);
    let refused = [
        (with(vec!["PATH"]), "secrets: PATH is a variable"),
        (with(vec!["A_TOKEN"; COMMAND_SECRETS_MAX + 1]), "secrets: at most"),
        (
            HookFile::parse(
                r#"{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "http://127.0.0.1:1/", "secrets": ["A"]}]}]}}"#,
            ),
            "secrets: only a hook of type `command`",
        ),
    ];
    for (parsed, words) in refused {
        assert!(parsed.expect_err(words).contains(words), "{words}");
    }
}
