//! Images that an agent reads with `ReadFile`: the model sees them, and they are kept with the run.

use std::fs;

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome};
use super::provider::FakeProvider;
use super::route::{chat, provider, write};

/// An image that is stored as a file of the home, because it is larger than 64 KiB. Its bytes cannot be compressed.
fn picture() -> Vec<u8> {
    let noise = std::iter::successors(Some(1_u32), |n| {
        let n = n ^ (n << 13);
        let n = n ^ (n >> 17);
        Some(n ^ (n << 5))
    });
    let noise = noise.take(200_000).map(|n| n.to_be_bytes()[1]);
    b"\x89PNG\r\n\x1a\n".iter().copied().chain(noise).collect()
}

fn asks_for(path: &str) -> (u16, Value) {
    let arguments = json!({ "path": path }).to_string();
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "ReadFile", "arguments": arguments}});
    let choice = json!({"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"});
    (
        200,
        json!({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
    )
}

/// A run whose model reads the picture; with more settings of its provider.
fn looked(world: &TestHome, settings: &str) -> (CommandOutput, Vec<Value>) {
    let fake = FakeProvider::new(vec![asks_for("plan.png"), chat("A plan.")]);
    write(world, &provider("own", &fake, settings));
    fs::create_dir_all(world.workspace()).expect("a folder");
    fs::write(world.workspace().join("plan.png"), picture()).expect("a picture");
    let args = ["run", "look", "--json", "--agent", "main", "--create-agent"];
    let said = world.wakeful(&[&args[..], &["--model", "own/m"]].concat());
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("A plan.")),
        "{said:?}"
    );
    (said, fake.asked().into_iter().map(|(_, body)| body).collect())
}

#[test]
fn an_image_that_was_read_is_seen_kept_proven_and_exported() {
    let world = TestHome::new();
    let (said, asked) = looked(&world, "");
    let run = said.json()["run_key"].as_str().expect("a key").to_owned();
    let messages = asked[1]["messages"].as_array().expect("messages");
    let [.., result, images] = &messages[..] else {
        panic!("{messages:?}")
    };
    let content: Value = serde_json::from_str(result["content"].as_str().expect("text")).expect("JSON");
    assert_eq!(
        content,
        json!({"ok": true, "path": "plan.png", "image": {"media_type": "image/png", "bytes": 200_008}})
    );
    let data = wakeful_core::attachment::base64(&picture());
    let url = format!("data:image/png;base64,{data}");
    assert_eq!(images["content"][1]["image_url"]["url"], json!(url));
    let shown = world.wakeful(&["transcript", "main", "--json"]).stdout;
    let attached = json!({"type": "attachment", "name": "plan.png", "media_type": "image/png", "base64_bytes": data.len()});
    assert!(
        shown.lines().any(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["role"] == "tool" && line["blocks"][1] == attached
        }),
        "{shown}"
    );
    // Garbage collection keeps the blob: the transcript, the proof and the bundle still have it.
    assert_eq!(world.wakeful(&["retention", "run"]).code, Some(0));
    for args in [&["verify"][..], &["replay", &run], &["doctor", "--deep"]] {
        let said = world.wakeful(args);
        assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    }
    let bundle = world.path().join("run.bundle").display().to_string();
    assert_eq!(world.wakeful(&["export", &run, "--out", &bundle]).code, Some(0));
    assert!(fs::read_to_string(&bundle).expect("a bundle").contains(&data));
    assert_eq!(world.wakeful(&["verify", "--bundle", &bundle]).code, Some(0));
}

#[test]
fn an_erased_run_leaves_no_image() {
    let world = TestHome::new();
    let (said, _) = looked(&world, "");
    let run = said.json()["run_key"].as_str().expect("a key").to_owned();
    assert!(blob_bytes(&world) > picture().len() as u64 * 9 / 10);
    let args = [
        "erase", "--agent", "main", "--run", &run, "--reason", "private", "--yes",
    ];
    let erased = world.wakeful(&args);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    assert!(blob_bytes(&world) < picture().len() as u64 / 2);
}

#[test]
fn a_model_without_images_is_sent_a_note_instead() {
    let (_, asked) = looked(&TestHome::new(), "images = false");
    let second = asked[1].to_string();
    assert!(
        second.contains("[attachment plan.png: omitted, this model accepts no images]"),
        "{second}"
    );
    assert!(!second.contains("image_url"), "{second}");
}

/// The size of the contents in the home's folder `blobs`.
fn blob_bytes(world: &TestHome) -> u64 {
    let mut folders = vec![world.home().join("blobs")];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("a size");
            if about.is_dir() {
                folders.push(entry.path());
            } else {
                bytes += about.len();
            }
        }
    }
    bytes
}
