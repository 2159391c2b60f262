//! Tests the tool's input and output.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::step::EffectClass;
use wakeful_ports::tool::{ToolHost, ToolRequest};

use crate::fixture::{CommandResult, NeverStop, ToolFixture, act, block_on};

// Conformance: H-034
#[test]
fn tools_that_change_something_are_plain() {
    let bed = ToolFixture::new();
    let names: Vec<String> = bed.tools.specs().into_iter().map(|spec| spec.name).collect();
    let expected = [
        "ExecCommand",
        "ReadFile",
        "WriteFile",
        "EditFile",
        "ApplyPatch",
        "ListFiles",
        "SearchFiles",
        "WebFetch",
        "WebSearch",
    ];
    assert_eq!(names, expected, "without a journal");
    for plain in ["ExecCommand", "WriteFile", "EditFile", "ApplyPatch"] {
        assert_eq!(bed.tools.class(plain), Some(EffectClass::Plain));
    }
    for repeatable in ["ReadFile", "ListFiles", "SearchFiles", "WebFetch", "WebSearch"] {
        assert_eq!(bed.tools.class(repeatable), Some(EffectClass::Idempotent));
    }
    assert_eq!(bed.tools.class("exec_command"), None);
    assert_eq!(
        bed.tools.check("Rm", &json!({})).expect_err("fault").kind,
        "unknown_tool"
    );
    let act = ToolRequest {
        tool: "Rm".into(),
        ..act(&json!({"cmd": "true"}))
    };
    assert_eq!(
        block_on(bed.tools.perform(act, NeverStop)).code.as_deref(),
        Some("unknown_tool")
    );
}

#[test]
fn invalid_arguments_are_an_error_and_nothing_runs() {
    let bed = ToolFixture::new();
    let cases = [
        (json!({"cmd": ["touch", "file"]}), "cmd"),
        (json!({"cmd": "touch file", "shell": "zsh"}), "shell"),
        (json!({"cmd": "touch file", "timeout_ms": 0}), "timeout_ms"),
        (json!({"workdir": "."}), "cmd"),
    ];
    for (input, field) in cases {
        let fault = bed.tools.check("ExecCommand", &input).expect_err("a fault");
        assert_eq!(
            (fault.kind.as_str(), fault.field.as_deref()),
            ("invalid_arguments", Some(field))
        );
        let seen = bed.call(&input);
        assert_eq!(seen.done.code.as_deref(), Some("invalid_arguments"));
        assert_eq!(
            (&seen.json["ok"], &seen.json["field"]),
            (&json!(false), &json!(field))
        );
    }
    assert!(!bed.workspace.join("file").exists());
}

// Conformance: H-053
#[test]
fn a_working_folder_must_be_in_the_workspace() {
    let bed = ToolFixture::new();
    fs::create_dir_all(bed.workspace.join("a/b")).expect("folder");
    symlink("/", bed.workspace.join("root")).expect("link");
    symlink("/nowhere/at/all", bed.workspace.join("dangling")).expect("link");
    symlink("a/b", bed.workspace.join("inner")).expect("link");
    let inside = bed.workspace.join("a").display().to_string();
    for (workdir, found) in [
        ("a/b", "a/b"),
        ("./a/../a", "a"),
        ("inner", "a/b"),
        (inside.as_str(), "a"),
        (".", ""),
    ] {
        let seen = bed.call(&json!({"cmd": "pwd -P", "workdir": workdir})).ok();
        assert_eq!(
            std::path::Path::new(seen.stdout().trim_end()),
            bed.workspace.join(found),
            "{workdir}"
        );
    }
    let home = bed.home.display().to_string();
    let outside = [
        "..",
        "/",
        "root/etc",
        "a/../../home",
        home.as_str(),
        "dangling/x",
        "/nowhere/x",
        "x/../../y",
    ];
    for workdir in outside {
        let input = json!({"cmd": "true", "workdir": workdir});
        let fault = bed.tools.check("ExecCommand", &input).expect_err("a fault");
        assert_eq!(
            (fault.kind.as_str(), fault.field.as_deref()),
            ("outside_workspace", Some("workdir"))
        );
        assert!(fault.hint.is_some());
        assert_eq!(
            bed.call(&input).done.code.as_deref(),
            Some("outside_workspace"),
            "{workdir}"
        );
    }
}

// Conformance: H-053
#[test]
fn a_working_folder_that_an_earlier_action_creates_passes_the_check() {
    let bed = ToolFixture::new();
    let input = json!({"cmd": "pwd", "workdir": "later/x"});
    bed.tools
        .check("ExecCommand", &input)
        .expect("it may be there then");
    let seen = bed.call(&input);
    assert_eq!(
        (seen.done.code.as_deref(), &seen.json["field"]),
        (Some("spawn_failed"), &json!("workdir"))
    );
    bed.run("mkdir -p later/x").ok();
    bed.call(&input).ok();
}

// Conformance: H-053
#[test]
fn a_missing_workspace_is_reported_and_nothing_starts() {
    let bed = ToolFixture::new();
    fs::remove_dir(&bed.workspace).expect("removed");
    let seen = bed.run("true");
    assert_eq!(seen.done.code.as_deref(), Some("spawn_failed"));
    assert!(
        seen.json["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
        "{}",
        seen.json
    );
    assert!(bed.leftovers().is_empty());
}

#[test]
fn a_program_without_the_sandbox_verb_is_detected() {
    for program in ["/bin/true", "/bin/cat", "/nowhere/at/all"] {
        let bed = ToolFixture::with(|options| options.program = program.into());
        let seen = bed.run("true");
        assert_eq!(
            seen.done.code.as_deref(),
            Some("spawn_failed"),
            "{program}: {}",
            seen.json
        );
        assert!(bed.leftovers().is_empty());
    }
}

// Conformance: H-240
#[test]
fn both_streams_are_separate() {
    let bed = ToolFixture::new();
    let mut seen = bed.run("echo out; echo err >&2; exit 3");
    let duration = seen.json["duration_ms"].take();
    let level = seen.json["sandbox"].take();
    let lines = seen.json["confinement"].take();
    assert!(duration.is_u64() && level.is_string());
    assert_eq!(lines.as_object().map(serde_json::Map::len), Some(5));
    let expected = json!({
        "disposition": "completed", "exit_status": 3, "stdout_preview": "out\n", "stderr_preview": "err\n",
        "truncated": false, "sandbox": null, "confinement": null, "duration_ms": null,
    });
    assert_eq!(seen.json, expected);
    assert_eq!((seen.done.code, seen.done.blobs), (None, vec![]));
    assert_eq!(seen.done.sandbox.map(Value::from), Some(level));
}

#[test]
fn standard_input_is_empty() {
    let bed = ToolFixture::new();
    assert_eq!(bed.run("cat; read x; echo $?").ok().stdout(), "1\n");
}

// Conformance: H-240
#[test]
fn output_beyond_the_preview_is_kept_beside_it() {
    let bed = ToolFixture::new();
    let seen = bed
        .call(&json!({"cmd": "seq 1 10000; echo done >&2", "max_output_tokens": 200}))
        .ok();
    assert_eq!(seen.json["truncated"], json!(true));
    assert!(
        seen.stdout().starts_with("1\n2\n") && seen.stdout().ends_with("9999\n10000\n"),
        "{}",
        seen.stdout()
    );
    assert!(seen.stdout().len() <= 800);
    assert_eq!(seen.stderr(), "done\n");
    let whole: String = (1..=10_000).map(|n| format!("{n}\n")).collect();
    let blob = Blob::new(whole.clone().into_bytes());
    let artifact = json!({
        "blob": blob.hash().to_string(), "bytes": whole.len(), "total_bytes": whole.len(), "stream": "stdout",
    });
    assert_eq!(
        (&seen.json["artifacts"], &seen.json["stdout_artifact"]),
        (&json!([artifact]), &json!(0))
    );
    assert_eq!(seen.json.get("stderr_artifact"), None);
    assert_eq!(seen.done.blobs, [blob]);
}

// Conformance: H-240
#[test]
fn output_that_is_not_text_is_kept_exactly() {
    let bed = ToolFixture::new();
    let seen = bed.run(r"printf 'a\377b' >&2; echo x").ok();
    assert_eq!((seen.stdout(), seen.stderr()), ("x\n", "a\u{fffd}b"));
    assert_eq!(
        (&seen.json["stderr_artifact"], &seen.json["truncated"]),
        (&json!(0), &json!(false))
    );
    assert_eq!(seen.done.blobs, [Blob::new(b"a\xffb".to_vec())]);
}

#[test]
fn a_hundred_megabytes_of_output_use_two_of_memory() {
    let bed = ToolFixture::new();
    let before = peak_kib();
    let seen = bed
        .run("head -c 100000000 /dev/zero | tr '\\0' x; echo the end")
        .ok();
    let grown_kib = peak_kib() - before;
    assert_eq!(seen.json["artifacts"][0]["total_bytes"], json!(100_000_008));
    let kept = seen.done.blobs[0].bytes();
    assert!(kept.len() <= 1024 * 1024 + 100 && kept.ends_with(b"xxthe end\n"));
    assert!(seen.stdout().len() < 40_000 && seen.stdout().contains("100000008 bytes"));
    assert!(grown_kib < 24 * 1024, "the memory grew by {grown_kib} KiB");
}

/// Peak memory of this process.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a peak");
    line.split_whitespace()
        .nth(1)
        .expect("a number")
        .parse()
        .expect("a number")
}

#[test]
fn the_longest_command_runs_and_a_longer_one_is_refused() {
    let bed = ToolFixture::new();
    let padded = |bytes: usize| format!("echo ok #{}", "x".repeat(bytes - 9));
    assert_eq!(bed.run(&padded(131_071)).ok().stdout(), "ok\n");
    let seen = bed.run(&padded(131_072));
    assert_eq!(seen.done.code.as_deref(), Some("invalid_arguments"));
}

#[test]
fn characters_that_json_escapes_arrive_unchanged() {
    let bed = ToolFixture::new();
    let seen = bed.run("printf '%s' '\u{1}\u{7f}\"\\é🦀\n\t'").ok();
    assert_eq!(seen.stdout(), "\u{1}\u{7f}\"\\é🦀\n\t");
    bed.run(&format!("true '{}'", "\u{1}".repeat(130_000))).ok();
}

#[test]
fn many_concurrent_commands_all_run() {
    let bed = ToolFixture::new();
    let cmd = |n: usize| json!({"cmd": format!("echo {n}")});
    let all = (0..80).map(|n| {
        let tools = bed.tools.clone();
        std::thread::spawn(move || {
            CommandResult::of(block_on(tools.perform(act(&cmd(n)), NeverStop)))
                .ok()
                .stdout()
                .to_owned()
        })
    });
    let all: Vec<_> = all.collect();
    for (n, thread) in all.into_iter().enumerate() {
        assert_eq!(thread.join().expect("a command"), format!("{n}\n"));
    }
    assert!(bed.leftovers().is_empty());
}
