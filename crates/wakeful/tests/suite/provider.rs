//! Runs with a model at a provider, which is a fake server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, program};

/// A key that must occur in one header and nowhere else.
pub(super) const KEY: &str = "sk-test-77aa31c09e";

/// Environment variables with their values.
type Environment<'a> = &'a [(&'a str, &'a str)];

/// A provider that returns its responses in order, one per connection, and records the requests.
pub(super) struct FakeProvider {
    pub(super) url: String,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl FakeProvider {
    pub(super) fn new(answers: Vec<(u16, Value)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&asked);
        std::thread::spawn(move || {
            for (status, answer) in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let heard = hear(&mut stream);
                shared.lock().expect("no panic").push(heard);
                let head = format!(
                    "HTTP/1.1 {status} Word\r\nconnection: close\r\nretry-after: 0\r\ncontent-type: application/json"
                );
                write!(stream, "{head}\r\n\r\n{answer}").expect("a listener");
            }
        });
        Self { url, asked }
    }

    pub(super) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn hear(stream: &mut TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (head, serde_json::from_slice(&body).unwrap_or_default())
}

fn run(world: &TestHome, model: &str, environment: Environment<'_>) -> CommandOutput {
    let mut command = world.command(program());
    command.args(["run", "do it", "--json", "--model", model]);
    command.envs(environment.iter().copied());
    command.output().expect("the program starts").into()
}

/// Whether any file in a folder contains the key.
pub(super) fn holds_key(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).any(|path| {
        if path.is_dir() {
            return holds_key(&path);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
    })
}

// Conformance: L-158
#[test]
fn a_run_at_a_provider_works_and_its_key_does_not_leak() {
    let world = TestHome::new();
    // The command searches for the key in every place that it could reach.
    let look =
        json!({"cmd": "echo one >> world.txt; env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true"});
    let fake = FakeProvider::new(vec![
        (
            200,
            json!({"content": [{"type": "text", "text": "looking"},
                {"type": "tool_use", "id": "toolu_1", "name": "ExecCommand", "input": look}],
                "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 3}}),
        ),
        (
            200,
            json!({"content": [{"type": "text", "text": "All done."}], "stop_reason": "end_turn",
                "usage": {"input_tokens": 20, "output_tokens": 4}}),
        ),
    ]);
    let environment = [("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &fake.url)];
    let said = run(&world, "anthropic/claude-x", &environment);
    let run = said.json();
    assert_eq!(
        (said.code, &run["final_text"]),
        (Some(0), &json!("All done.")),
        "{said:?}"
    );
    assert_eq!(
        run["token_usage"],
        json!({"input_tokens": 30, "output_tokens": 7, "total_tokens": 37})
    );
    assert_eq!(world.lines(), ["one"]);
    let asked = fake.asked();
    let [(head, first), (_, second)] = &asked[..] else {
        panic!("{asked:?}")
    };
    assert!(head.contains(&format!("x-api-key: {KEY}")), "{head}");
    assert_eq!(
        (&first["model"], &first["stream"]),
        (&json!("claude-x"), &json!(true))
    );
    let result = &second["messages"][2]["content"][0];
    assert_eq!(
        (&result["type"], &result["tool_use_id"]),
        (&json!("tool_result"), &json!("toolu_1"))
    );
    assert!(
        result["content"].to_string().contains("WAKEFUL") || result["content"].to_string().contains("PATH=")
    );
    assert!(!second.to_string().contains(KEY), "{second}");
    assert!(!format!("{said:?}").contains(KEY), "{said:?}");
    assert!(!holds_key(world.path()));
}

#[test]
fn every_provider_works_under_its_usual_names() {
    let chat = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]});
    let responses = json!({"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}]});
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]});
    let cases: [(&str, Environment<'_>, &str, Value); 4] = [
        (
            "openai/m",
            &[("OPENAI_API_KEY", KEY)],
            "OPENAI_BASE_URL",
            responses,
        ),
        ("openai-chat/m", &[], "OPENAI_BASE_URL", chat),
        (
            "gemini/m",
            &[("GEMINI_API_KEY", KEY)],
            "GEMINI_BASE_URL",
            gemini.clone(),
        ),
        ("gemini/m", &[("GOOGLE_API_KEY", KEY)], "GEMINI_BASE_URL", gemini),
    ];
    for (model, keys, variable, answer) in cases {
        let (world, fake) = (TestHome::new(), FakeProvider::new(vec![(200, answer)]));
        let said = run(&world, model, &[keys, &[(variable, &fake.url)]].concat());
        assert_eq!(
            (said.code, &said.json()["final_text"]),
            (Some(0), &json!("Hi.")),
            "{said:?}"
        );
        assert_eq!(fake.asked()[0].0.contains(KEY), !keys.is_empty());
    }
}

// Conformance: H-011
#[test]
fn a_provider_that_rejects_the_key_is_called_once_without_showing_it() {
    let world = TestHome::new();
    let complaint = json!({"error": {"message": format!("wrong key: {KEY}"), "code": "invalid_api_key"}});
    let fake = FakeProvider::new(vec![(401, complaint)]);
    let environment = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &fake.url)];
    let said = run(&world, "openai/m", &environment);
    let artifact = &said.json()["failure_artifact"];
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(
        (
            &artifact["kind"],
            &artifact["status"],
            &artifact["provider"],
            &artifact["model_ref"]
        ),
        (
            &json!("http_401"),
            &json!(401),
            &json!("openai"),
            &json!("openai/m")
        )
    );
    assert!(
        artifact["summary"]
            .as_str()
            .is_some_and(|text| text.contains("OPENAI_API_KEY"))
    );
    assert!(!format!("{said:?}").contains(KEY) && !holds_key(world.path()));
    assert_eq!(fake.asked().len(), 1);
}

// Conformance: H-010
#[test]
fn a_provider_that_is_briefly_unavailable_is_retried() {
    let answer = json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]});
    let away = |status| (status, json!({"error": {"message": "later"}}));
    let (world, fake) = (
        TestHome::new(),
        FakeProvider::new(vec![away(503), away(429), (200, answer)]),
    );
    let said = run(&world, "openai-chat/m", &[("OPENAI_BASE_URL", &fake.url)]);
    assert_eq!(
        (said.code, &said.json()["final_text"]),
        (Some(0), &json!("Hi.")),
        "{said:?}"
    );
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|(_, body)| *body == asked[0].1), "{asked:?}");
}

#[test]
fn missing_or_unsafe_settings_are_reported_before_a_home_is_created() {
    let odd = format!("{KEY} and more");
    let cases: [(&str, Environment<'_>, &str, &str); 7] = [
        ("anthropic/m", &[], "secret_unavailable", "ANTHROPIC_API_KEY"),
        (
            "anthropic/m",
            &[("ANTHROPIC_API_KEY", "")],
            "secret_unavailable",
            "ANTHROPIC_API_KEY",
        ),
        ("openai-chat/m", &[], "secret_unavailable", "OPENAI_API_KEY"),
        (
            "gemini/m",
            &[],
            "secret_unavailable",
            "GEMINI_API_KEY or GOOGLE_API_KEY",
        ),
        (
            "openai/m",
            &[("OPENAI_API_KEY", &odd)],
            "secret_invalid",
            "OPENAI_API_KEY",
        ),
        (
            "openai/m",
            &[
                ("OPENAI_API_KEY", KEY),
                ("OPENAI_BASE_URL", "http://models.example.org/v1"),
            ],
            "insecure_url",
            "models.example.org",
        ),
        (
            "openai/m",
            &[
                ("OPENAI_API_KEY", KEY),
                ("OPENAI_BASE_URL", "https://me:sk-test-77aa31c09e@h/"),
            ],
            "bad_url",
            "OPENAI_BASE_URL",
        ),
    ];
    for (model, environment, code, word) in cases {
        let world = TestHome::new();
        let said = run(&world, model, environment);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), code),
            "{said:?}"
        );
        assert!(said.stdout.contains(word), "{said:?}");
        assert!(
            !format!("{said:?}").contains(KEY) && !world.home().exists(),
            "{said:?}"
        );
    }
}

#[test]
fn a_model_at_a_provider_can_be_the_default() {
    let (world, fake) = (
        TestHome::new(),
        FakeProvider::new(vec![(
            200,
            json!({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]}),
        )]),
    );
    let set = world.wakeful(&["config", "set", "model.default", "openai-chat/llama3.2:1b"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let mut command = world.command(program());
    command.args(["run", "do it"]).env("OPENAI_BASE_URL", &fake.url);
    let said: CommandOutput = command.output().expect("the program starts").into();
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "Hi.\n"), "{said:?}");
    assert_eq!(fake.asked()[0].1["model"], "llama3.2:1b");
    let refused = world.wakeful(&["config", "set", "model.default", "openai-chat/"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
