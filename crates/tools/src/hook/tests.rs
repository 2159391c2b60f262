//! Hooks as processes and requests: what they get, what they may answer, and what happens to bad ones.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use wakeful_core::hook::{HookEvent, HookResult, REPLY_HOOKS_MS_MAX};
use wakeful_core::id::AgentId;
use wakeful_ports::tool::{HookRequest, HookRun};

use super::*;

struct Fixture {
    dir: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    secrets: Arc<dyn SecretSource>,
}

/// Secrets by name.
#[derive(Debug)]
struct Secrets(BTreeMap<String, String>);

impl SecretSource for Secrets {
    fn value(&self, name: &str) -> Result<SecretValue, String> {
        let value = self.0.get(name).cloned();
        value
            .map(SecretValue::new)
            .ok_or_else(|| format!("there is no secret {name}"))
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::new(Redactor::new(&self.0))
    }
}

/// The text that a hook may not leave anywhere.
const SECRET: &str = "s3cret/value+1\nsecond line";

impl Fixture {
    /// A home whose hooks run before calls of every tool.
    fn before_calls(hooks: &Value) -> Self {
        Self::with_file(&json!({"hooks": {"PreToolUse": [{"hooks": hooks}]}}).to_string())
    }

    fn with_file(text: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("hooks.json");
        std::fs::write(&file, text).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
        let environment = [
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("API_KEY".to_owned(), "hidden".to_owned()),
        ];
        Self {
            dir,
            environment: environment.into(),
            secrets: Arc::new(Secrets(
                [
                    ("A_TOKEN".to_owned(), SECRET.to_owned()),
                    ("B_TOKEN".to_owned(), "another-secret-2".to_owned()),
                ]
                .into(),
            )),
        }
    }

    fn request(&self) -> HookRequest {
        let payload = json!({
            "hook_event_name": "PreToolUse",
            "cwd": self.dir.path(),
            "tool_name": "ExecCommand",
            "tool_input": {"cmd": "ls"},
        });
        let Value::Object(payload) = payload else {
            unreachable!("an object")
        };
        HookRequest {
            agent_id: AgentId::parse("main").expect("an id"),
            event: HookEvent::PreToolUse,
            tool: Some("ExecCommand".to_owned()),
            payload,
            time_ms: REPLY_HOOKS_MS_MAX,
        }
    }

    async fn run(&self) -> Vec<HookRun> {
        let files = HookFiles::new(self.dir.path());
        run(&files, self.context(), self.request()).await
    }

    fn context(&self) -> HookContext<'_> {
        HookContext {
            environment: &self.environment,
            secrets: &self.secrets,
        }
    }

    /// The only hook failed, and therefore blocks.
    async fn failed(&self, words: &str) {
        let ran = self.run().await;
        let [only] = ran.as_slice() else { panic!("{ran:?}") };
        assert_eq!(only.verdict.result, HookResult::Failed, "{only:?}");
        assert!(only.verdict.is_blocking, "{only:?}");
        assert!(only.verdict.reason.contains(words), "{only:?}");
    }
}

fn command(text: &str) -> Value {
    json!([{"type": "command", "command": text, "timeout": 5}])
}

#[tokio::test]
async fn a_hook_gets_json_and_a_small_environment() {
    let fixture = Fixture::before_calls(&command("cat >got; env >env; pwd >pwd"));
    let ran = fixture.run().await;
    assert_eq!(ran.len(), 1);
    assert_eq!(ran[0].verdict, HookVerdict::new_passed());
    assert_eq!(
        (ran[0].source.as_str(), ran[0].hook.starts_with("cat")),
        ("hooks.json", true)
    );
    let read = |name: &str| std::fs::read_to_string(fixture.dir.path().join(name)).expect(name);
    let got: Value = serde_json::from_str(&read("got")).expect("JSON");
    assert_eq!(got, Value::Object(fixture.request().payload));
    assert!(!read("env").contains("API_KEY"), "{}", read("env"));
    assert_eq!(read("pwd").trim(), fixture.dir.path().display().to_string());
}

#[tokio::test]
async fn a_hook_sees_the_arguments_that_the_one_before_changed() {
    let answer = json!({"hookSpecificOutput": {"updatedInput": {"cmd": "pwd"}}});
    let first = format!("echo '{answer}'");
    let hooks = json!([
        {"type": "command", "command": first},
        {"type": "command", "command": "cat >got"},
    ]);
    let fixture = Fixture::before_calls(&hooks);
    let ran = fixture.run().await;
    let results: Vec<HookResult> = ran.iter().map(|run| run.verdict.result).collect();
    assert_eq!(results, [HookResult::Changed, HookResult::Passed]);
    let got = std::fs::read_to_string(fixture.dir.path().join("got")).expect("a file");
    let got: Value = serde_json::from_str(&got).expect("JSON");
    assert_eq!(got["tool_input"], json!({"cmd": "pwd"}));
}

#[tokio::test]
async fn a_blocking_hook_is_the_last_one() {
    let hooks = json!([
        {"type": "command", "command": "echo not here >&2; exit 2"},
        {"type": "command", "command": "touch second"},
    ]);
    let fixture = Fixture::before_calls(&hooks);
    let ran = fixture.run().await;
    assert_eq!(ran.len(), 1);
    assert_eq!(
        (ran[0].verdict.result, ran[0].verdict.reason.as_str()),
        (HookResult::Blocked, "not here")
    );
    assert!(!fixture.dir.path().join("second").exists());
}

#[tokio::test]
async fn a_hook_that_hangs_is_killed_with_its_children_and_blocks() {
    let hooks = json!([{
        "type": "command",
        "command": "setsid sh -c 'echo $$ >child; exec sleep 60' & sleep 0.2; sleep 60",
        "timeout": 1,
    }]);
    let fixture = Fixture::before_calls(&hooks);
    let begun = Instant::now();
    fixture.failed("did not end in time").await;
    assert!(begun.elapsed() < Duration::from_secs(10));
    let child = std::fs::read_to_string(fixture.dir.path().join("child")).expect("the child");
    let stat = format!("/proc/{}/stat", child.trim());
    // The kernel ends a killed process soon, and its parent reaps it later.
    let is_running = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    while is_running() {
        assert!(begun.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn no_hook_runs_after_the_time_of_the_reply() {
    let fixture = Fixture::before_calls(&command("touch ran"));
    let files = HookFiles::new(fixture.dir.path());
    let mut request = fixture.request();
    request.time_ms = 0;
    let ran = run(&files, fixture.context(), request).await;
    assert!(ran[0].verdict.is_blocking && ran[0].verdict.result == HookResult::Failed);
    assert!(!fixture.dir.path().join("ran").exists());
}

#[tokio::test]
async fn a_hook_that_floods_is_stopped_and_blocks() {
    for stream in ["", ">&2"] {
        let fixture = Fixture::before_calls(&command(&format!(
            "while :; do echo xxxxxxxxxxxxxxxx; done {stream}"
        )));
        let begun = Instant::now();
        fixture.failed("wrote more than allowed").await;
        assert!(begun.elapsed() < Duration::from_secs(4));
    }
}

#[tokio::test]
async fn a_hook_that_lies_or_cannot_run_blocks() {
    for (text, words) in [
        ("echo yes", "not the JSON"),
        ("printf '{\"decision\": \"block\"'", "not the JSON"),
        ("exit 1", "exit 1"),
        ("/does/not/exist", "exit 127"),
        ("kill -9 $$", "a signal"),
    ] {
        Fixture::before_calls(&command(text)).failed(words).await;
    }
}

#[tokio::test]
async fn a_hook_that_does_not_read_its_input_passes() {
    let fixture = Fixture::before_calls(&command("exec <&-; true"));
    let mut request = fixture.request();
    request
        .payload
        .insert("large".to_owned(), Value::String("x".repeat(1024 * 1024)));
    let ran = run(&HookFiles::new(fixture.dir.path()), fixture.context(), request).await;
    assert_eq!(ran[0].verdict, HookVerdict::new_passed());
}

#[tokio::test]
async fn a_dropped_hook_leaves_no_process() {
    let fixture = Fixture::before_calls(&command("echo $$ >pid; sleep 60"));
    let pid = fixture.dir.path().join("pid");
    tokio::select! {
        _ = fixture.run() => panic!("it ended"),
        () = async { while !std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        } } => {}
    }
    let pid = std::fs::read_to_string(&pid).expect("a pid");
    assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[tokio::test]
async fn a_broken_hook_file_blocks_every_call() {
    for text in ["{", "[]", r#"{"hooks": {"Before": []}}"#, "\u{0}"] {
        Fixture::with_file(text).failed("hooks.json").await;
    }
    let writable = Fixture::before_calls(&command("true"));
    let file = writable.dir.path().join("hooks.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).expect("set");
    writable.failed("written by other users").await;
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/etc/hostname", &file).expect("a link");
    writable.failed("not a regular file").await;
    std::fs::remove_file(&file).expect("removed");
    assert!(writable.run().await.is_empty());
}

#[tokio::test]
async fn a_change_of_a_hook_file_applies_to_the_next_call() {
    let fixture = Fixture::before_calls(&command("exit 2"));
    let files = HookFiles::new(fixture.dir.path());
    let agent = fixture.request().agent_id;
    assert!(files.has(&agent, HookEvent::PreToolUse) && !files.has(&agent, HookEvent::Stop));
    let text = json!({"hooks": {"Stop": [{"hooks": command("true")}]}}).to_string();
    std::fs::write(fixture.dir.path().join("hooks.json"), text).expect("written");
    assert!(!files.has(&agent, HookEvent::PreToolUse) && files.has(&agent, HookEvent::Stop));
}

/// A service that answers once, and the request that it got.
async fn service(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut got = Vec::new();
        while !String::from_utf8_lossy(&got).contains("}}") {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).await.expect("read");
            assert!(read > 0);
            got.extend_from_slice(&chunk[..read]);
        }
        stream.write_all(answer.as_bytes()).await.expect("sent");
        String::from_utf8_lossy(&got).into_owned()
    });
    (port, served)
}

async fn asked_service(answer: &'static str) -> (HookRun, String) {
    let (port, served) = service(answer).await;
    let hooks = json!([{"type": "http", "url": format!("http://localhost:{port}/check")}]);
    let ran = Fixture::before_calls(&hooks).run().await;
    (ran[0].clone(), served.await.expect("served"))
}

#[tokio::test]
async fn a_service_of_this_machine_may_block() {
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-length: 37\r\n\r\n{\"decision\": \"block\", \"reason\": \"no\"}\n";
    let (run, request) = asked_service(answer).await;
    assert_eq!(
        (run.verdict.result, run.verdict.reason.as_str()),
        (HookResult::Blocked, "no")
    );
    assert!(request.starts_with("POST /check HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\"tool_name\":\"ExecCommand\""), "{request}");
}

#[tokio::test]
async fn a_service_that_fails_or_redirects_blocks() {
    for (answer, words) in [
        ("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "status 500"),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "status 302",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n",
            "could not be run",
        ),
        ("nonsense", "could not be run"),
    ] {
        let (run, _) = asked_service(answer).await;
        assert_eq!(run.verdict.result, HookResult::Failed, "{answer:?}");
        assert!(
            run.verdict.is_blocking && run.verdict.reason.contains(words),
            "{run:?}"
        );
    }
    let closed = json!([{"type": "http", "url": "http://127.0.0.1:1/"}]);
    Fixture::before_calls(&closed).failed("could not be run").await;
}

fn command_with_secrets(text: &str, secrets: &[&str]) -> Value {
    json!([{"type": "command", "command": text, "timeout": 5, "secrets": secrets}])
}

#[tokio::test]
async fn a_hook_gets_only_the_secrets_that_it_names() {
    let hooks = command_with_secrets("env >env; printf %s \"$A_TOKEN\" >value", &["A_TOKEN"]);
    let fixture = Fixture::before_calls(&hooks);
    let ran = fixture.run().await;
    assert_eq!(ran.len(), 1, "{ran:?}");
    let read = |name: &str| std::fs::read_to_string(fixture.dir.path().join(name)).expect("written");
    assert_eq!(read("value"), SECRET);
    assert!(!read("env").contains("B_TOKEN"));
    let without = Fixture::before_calls(&command("env >env"));
    without.run().await;
    let env = std::fs::read_to_string(without.dir.path().join("env")).expect("written");
    assert!(!env.contains("TOKEN"), "{env}");
}

#[tokio::test]
async fn a_hook_whose_secret_is_missing_blocks() {
    let fixture = Fixture::before_calls(&command_with_secrets("touch ran", &["MISSING_TOKEN"]));
    fixture.failed("there is no secret MISSING_TOKEN").await;
    assert!(!fixture.dir.path().join("ran").exists());
}

#[tokio::test]
async fn what_a_hook_says_contains_no_secret() {
    // A reason is cut, so a secret across the cut would remain in part.
    let long = "x".repeat(wakeful_core::hook::REASON_CHARS_MAX - 8);
    let reason = format!("printf '%s %s' {long} \"$A_TOKEN\" >&2; exit 2");
    let escaped = r#"printf '{"decision": "block", "reason": "s3cret\/v\u0061lue+1\nsecond line"}'"#;
    let input = r#"printf '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"cmd": "%s"}}}' \
        "$(printf %s "$B_TOKEN" | base64)""#;
    for text in [reason.as_str(), escaped, input] {
        let fixture = Fixture::before_calls(&command_with_secrets(text, &["A_TOKEN", "B_TOKEN"]));
        let ran = fixture.run().await;
        let said = format!("{ran:?}");
        for part in ["s3cret", "second line", "YW5vdGhlci1zZWNyZXQ"] {
            // The command itself is the operator's text.
            let verdict = format!("{:?}", ran.iter().map(|run| &run.verdict).collect::<Vec<_>>());
            assert!(!verdict.contains(part), "{said}");
        }
        assert!(
            ran.iter()
                .any(|run| run.verdict.is_blocking || run.verdict.changed_input.is_some()),
            "{said}"
        );
    }
}
