//! Images and documents that are attached to a prompt.

use serde_json::{Value, json};
use wakeful_api::client::ClientError;
use wakeful_api::{AttachmentInput, SendMessage};
use wakeful_core::id::AgentId;

use super::api::{block_on, client};
use super::daemon::RunningDaemon;
use super::home_fixture::TestHome;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";
const SCRIPT: &str = "repeat_last: true\nrounds:\n  - text: seen\n";

/// Calls `wakeful run` for the agent `main`, creating it if necessary.
fn run(world: &TestHome, args: &[&str]) -> super::home_fixture::CommandOutput {
    let model = world.script(SCRIPT);
    let fixed = [
        "run",
        "look",
        "--json",
        "--agent",
        "main",
        "--create-agent",
        "--model",
        &model,
    ];
    world.wakeful(&[&fixed, args].concat())
}

/// The content of the agent's newest message.
fn newest_message(world: &TestHome) -> Value {
    let said = world.wakeful(&["transcript", "main", "--json"]);
    let lines: Vec<Value> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let newest = lines.iter().rfind(|line| line["role"] == "user");
    newest.unwrap_or_else(|| panic!("no message: {said:?}"))["blocks"].clone()
}

fn expected() -> Value {
    json!([
        {"type": "attachment", "name": "a picture", "media_type": "image/png", "base64_bytes": 24},
        {"type": "attachment", "name": "notes.pdf", "media_type": "text/plain", "base64_bytes": 8},
        {"type": "text", "text": "look"},
    ])
}

#[test]
fn attachments_precede_the_text_and_are_typed_by_their_bytes() {
    let world = TestHome::new();
    std::fs::write(world.workspace().join("a picture"), PNG).expect("written");
    std::fs::write(world.workspace().join("notes.pdf"), "héllo").expect("written");
    let files = ["--attach", "a picture", "--attach", "notes.pdf"];
    let said = run(&world, &files);
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("seen")),
        "{said:?}"
    );
    assert_eq!(newest_message(&world), expected());
    let _daemon = RunningDaemon::serve(&world, &[]);
    let said = run(&world, &files);
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("seen")),
        "{said:?}"
    );
    assert_eq!(newest_message(&world), expected());
}

#[test]
fn a_message_with_another_attachment_is_another_message() {
    let world = TestHome::new();
    std::fs::write(world.workspace().join("a"), "one").expect("written");
    let args = ["--attach", "a", "--idempotency-key", "k"];
    assert_eq!(run(&world, &args).code, Some(0));
    let again = run(&world, &args);
    assert!(
        again.code == Some(0) && again.stderr.contains("this message was sent before"),
        "{again:?}"
    );
    std::fs::write(world.workspace().join("a"), "two").expect("written");
    let other = run(&world, &args);
    assert_eq!(other.error_code(), "idempotency_conflict", "{other:?}");
}

#[test]
fn an_invalid_attachment_is_a_usage_error_that_names_the_file() {
    let world = TestHome::new();
    let folder = world.workspace();
    std::fs::write(folder.join("program"), b"\x7fELF\0\0").expect("written");
    std::fs::write(folder.join("empty"), b"").expect("written");
    std::fs::write(folder.join("large"), vec![b'x'; 5 * 1024 * 1024 + 1]).expect("written");
    std::fs::write(folder.join("fine"), b"fine").expect("written");
    for name in ["program", "empty", "large", "missing", ".", "/dev/zero"] {
        let said = run(&world, &["--attach", name]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_attachment"),
            "{said:?}"
        );
        assert!(said.stderr.contains(&format!("--attach {name}: ")), "{said:?}");
    }
    let many: Vec<&str> = ["--attach", "fine"].repeat(9);
    let said = run(&world, &many);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "bad_attachment"),
        "{said:?}"
    );
    assert!(!world.home().exists());
}

#[test]
fn the_api_accepts_and_checks_large_attachments() {
    let world = TestHome::new();
    let model = world.script(SCRIPT);
    let daemon = RunningDaemon::serve(&world, &["--model", &model]);
    world.wakeful(&["agent", "create", "main"]);
    let client = client(&daemon);
    let send = |media_type: &str, data: String| {
        let attached = AttachmentInput {
            name: "a.txt".into(),
            media_type: media_type.into(),
            data,
        };
        let message = SendMessage {
            attachments: vec![attached; 3],
            ..SendMessage::new(AgentId::parse("main").expect("a name"), "look".into())
        };
        let client = &client;
        block_on(async move { client.call(&message).await })
    };
    // Three attachments of a megabyte each, far above the limit of other request bodies.
    send("text/plain", "YWFh".repeat(1024 * 1024 / 3)).expect("accepted");
    for (media_type, data, word) in [
        ("image/png", "YWFh", "is text/plain"),
        ("text/plain", "YWF", "base64"),
        ("text/plain", "", "plain UTF-8"),
    ] {
        let refused = send(media_type, data.to_owned());
        let Err(ClientError::Refused { problem, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(problem.code, "bad_attachment");
        assert!(problem.message.contains(word), "{problem:?}");
    }
}
