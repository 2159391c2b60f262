//! Input and files that are made to confuse the file tools.

use std::fs;
use std::io::Write as _;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};
use wakeful_core::policy::{PathAccess, PathScope, Target};
use wakeful_ports::tool::{CallGrant, ToolRequest};

use super::{call, perform, refusal, refused};
use crate::fixture::{ToolFixture, act};

/// Larger than every bound of the file tools. The file is sparse, so it takes no space.
const HUGE_BYTES: u64 = 1 << 40;

#[test]
fn device_nodes_are_not_opened() {
    let fixture = ToolFixture::new();
    for path in ["/dev/zero", "/dev/null", "/dev/tty"] {
        for (tool, access, input) in [
            ("ReadFile", PathAccess::Read, json!({"path": path})),
            (
                "WriteFile",
                PathAccess::Write,
                json!({"path": path, "content": "x"}),
            ),
            (
                "EditFile",
                PathAccess::Write,
                json!({"path": path, "old": "a", "new": "b"}),
            ),
        ] {
            // Granted, so that only the kind of the file is in the way.
            let target = Target::Path {
                path: path.to_owned(),
                access,
                scope: PathScope::Outside,
            };
            let request = ToolRequest {
                tool: tool.to_owned(),
                grant: CallGrant::judged(vec![target]),
                ..act(&input)
            };
            let result = perform(&fixture, request);
            assert_eq!(result["kind"], "not_a_file", "{tool} {path}: {result}");
        }
    }
    // Only the superuser can create one in the workspace.
    let node = fixture.workspace.join("zero");
    if mknodat(CWD, &node, FileType::CharacterDevice, Mode::RWXU, makedev(1, 5)).is_err() {
        return;
    }
    let read = json!({"path": "zero"});
    assert_eq!(refusal(&fixture, "ReadFile", read), refused("not_a_file", "path"));
    let write = json!({"path": "zero", "content": "x"});
    assert_eq!(
        refusal(&fixture, "WriteFile", write),
        refused("not_a_file", "path")
    );
    let patch = "*** Begin Patch\n*** Delete File: zero\n*** End Patch";
    assert_eq!(call(&fixture, "ApplyPatch", json!({"patch": patch}))["ok"], false);
    assert_eq!(
        call(&fixture, "SearchFiles", json!({"pattern": "x"}))["matches"],
        0
    );
    assert!(node.exists());
}

#[test]
fn a_file_beyond_every_bound_is_read_in_part_and_never_changed() {
    let fixture = ToolFixture::new();
    let text = "a needle\n".repeat(2_000);
    let mut file = fs::File::create(fixture.workspace.join("huge")).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.set_len(HUGE_BYTES).expect("a size");
    let part = call(&fixture, "ReadFile", json!({"path": "huge", "limit": 2}));
    assert_eq!(
        (&part["content"], &part["next_offset"]),
        (&json!("a needle\na needle\n"), &json!(3))
    );
    let past = call(&fixture, "ReadFile", json!({"path": "huge", "offset": 5_000}));
    assert_eq!(past["ok"], false, "{past}");
    for (tool, input) in [
        ("WriteFile", json!({"path": "huge", "content": "x"})),
        (
            "EditFile",
            json!({"path": "huge", "old": "needle", "new": "x", "replace_all": true}),
        ),
    ] {
        assert_eq!(
            refusal(&fixture, tool, input),
            refused("file_too_large", "path"),
            "{tool}"
        );
    }
    let patch = "*** Begin Patch\n*** Update File: huge\n-a needle\n+x\n*** End Patch";
    let patched = call(&fixture, "ApplyPatch", json!({"patch": patch}));
    assert_eq!(
        (&patched["ok"], &patched["kind"]),
        (&json!(false), &json!("file_too_large")),
        "{patched}"
    );
    let found = call(&fixture, "SearchFiles", json!({"pattern": "needle"}));
    assert_eq!(
        (&found["matches"], &found["skipped"]),
        (&json!(0), &json!(1)),
        "{found}"
    );
    let size = fs::metadata(fixture.workspace.join("huge"))
        .expect("metadata")
        .len();
    assert_eq!(size, HUGE_BYTES);
}

#[test]
fn arguments_that_look_like_options_are_plain_values() {
    let fixture = ToolFixture::new();
    let names = [
        "-rf",
        "--help",
        "--",
        "-e",
        "--output=made",
        "-c core.pager=touch made",
    ];
    for name in names {
        let folder = fixture.workspace.join(name);
        fs::create_dir(&folder).expect("a folder");
        let path = format!("{name}/-x");
        let listed = format!("{path}\n");
        let done = call(
            &fixture,
            "WriteFile",
            json!({"path": path, "content": "--pre=touch made\n"}),
        );
        assert_eq!(done["ok"], true, "{done}");
        assert_eq!(
            call(&fixture, "ReadFile", json!({"path": path}))["content"],
            "--pre=touch made\n"
        );
        assert_eq!(
            call(&fixture, "ListFiles", json!({"path": name}))["files"],
            listed
        );
        let found = call(&fixture, "ListFiles", json!({"path": name, "glob": "-*"}));
        assert_eq!(found["files"], listed, "{found}");
        let found = call(
            &fixture,
            "SearchFiles",
            json!({"path": name, "pattern": "--pre=touch made"}),
        );
        assert_eq!(found["matches"], 1, "{found}");
        let seen = fixture
            .call(&json!({"cmd": "pwd; cat ./-x", "workdir": name}))
            .ok();
        assert!(
            seen.stdout().ends_with(&format!("{name}\n--pre=touch made\n")),
            "{}",
            seen.json
        );
    }
    for pattern in ["-v", "--files", "-f/etc/passwd"] {
        assert_eq!(
            call(&fixture, "SearchFiles", json!({"pattern": pattern}))["matches"],
            0,
            "{pattern}"
        );
    }
    for cmd in ["-c id", "--version", "-"] {
        // The shell looks for a program of this name instead of reading an option.
        fixture.run(cmd).not_ok();
    }
    assert!(!fixture.workspace.join("made").exists());
}

#[test]
fn a_command_with_closed_streams_has_an_ordinary_result() {
    let fixture = ToolFixture::new();
    let done = fixture.run("exec >&- 2>&-; echo x; echo y >&2; touch ran").json;
    assert_eq!(
        (&done["disposition"], &done["stdout_preview"]),
        (&json!("completed"), &json!("")),
        "{done}"
    );
    assert!(fixture.workspace.join("ran").exists());
    // The reader closes its end while the writer still writes.
    let done = fixture.run("yes | head -n 1; exec 0<&-; cat").json;
    assert_eq!(
        (&done["disposition"], &done["stdout_preview"]),
        (&json!("completed"), &json!("y\n")),
        "{done}"
    );
    // A process that outlives the shell keeps the streams open.
    let done = fixture
        .run("(trap '' TERM HUP PIPE; yes > /dev/null) & echo started")
        .json;
    assert_eq!(
        (&done["exit_status"], &done["stdout_preview"]),
        (&json!(0), &json!("started\n")),
        "{done}"
    );
}

#[test]
fn one_line_of_a_hundred_megabytes_is_bounded() {
    let fixture = ToolFixture::new();
    let cmd = "head -c 100000000 /dev/zero | tr '\\0' x | tee line; echo; printf end";
    let done = fixture.run(cmd).ok();
    assert_eq!(done.json["truncated"], true);
    let shown = done.stdout();
    assert!(
        shown.len() < 64_000 && shown.ends_with("x\nend"),
        "{} bytes",
        shown.len()
    );
    let read = call(&fixture, "ReadFile", json!({"path": "line"}));
    assert!(read["content"].as_str().expect("text").len() <= 32_000);
    let found = call(&fixture, "SearchFiles", json!({"pattern": "x{9}"}));
    assert!(
        found.to_string().len() < 10_000,
        "{} bytes",
        found.to_string().len()
    );
}

#[test]
fn a_read_returns_2000_lines_and_at_most_100000() {
    let fixture = ToolFixture::new();
    fs::write(fixture.workspace.join("long"), "\n".repeat(100_002)).expect("a file");
    let next = |input: Value| call(&fixture, "ReadFile", input)["next_offset"].clone();
    assert_eq!(next(json!({"path": "long"})), 2_001);
    let all = json!({"path": "long", "limit": 200_000, "max_output_tokens": 64_000});
    assert_eq!(next(all), 100_001);
}
