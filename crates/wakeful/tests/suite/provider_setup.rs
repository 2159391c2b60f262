//! Setting up providers: keys, their test, models, and servers on this machine. The provider is a fake server
//! on this machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use wakeful_api::{
    FindLocalProviders, ListModels, ListProviders, RemoveProviderKey, SetProviderKey, TestProvider,
};

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};
use super::init::typed;
use super::provider::{FakeProvider, KEY};

fn models(names: &[&str]) -> (u16, Value) {
    let list: Vec<Value> = names.iter().map(|name| json!({"id": name})).collect();
    (200, json!({"data": list}))
}

fn refusal() -> (u16, Value) {
    (
        401,
        json!({"error": {"type": "authentication_error", "message": format!("invalid key {KEY}")}}),
    )
}

/// Calls the program with a provider at this address.
fn call(world: &TestHome, url: &str, args: &[&str]) -> CommandOutput {
    let mut command = world.command(program());
    command.args(args).env("ANTHROPIC_BASE_URL", url);
    command.output().expect("the program starts").into()
}

/// A file with a key, outside the home.
fn key_file(world: &TestHome, text: &str) -> String {
    let path = world.path().join("given.key");
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// The files of a folder that contain the key.
fn places_of_key(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(places_of_key(&path));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
            found.push(path);
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn init_stores_a_tested_key_only_in_a_private_file() {
    let world = TestHome::new();
    let answer = json!({"content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 2, "output_tokens": 1}});
    let fake = FakeProvider::new(vec![models(&["claude-sonnet-4-6"]), (200, answer)]);
    let file = key_file(&world, &format!(" {KEY}\n"));
    let said = call(
        &world,
        &fake.url,
        &["init", "--json", "--provider", "anthropic", "--key-file", &file],
    );
    assert_eq!(said.code, Some(0), "{said:?}");
    let stored = world
        .home()
        .canonicalize()
        .expect("a home")
        .join("keys/anthropic");
    assert_eq!(said.json()["key"], json!(format!("file:{}", stored.display())));
    assert_eq!(said.json()["model"], "anthropic/claude-sonnet-4-6");
    assert_eq!(
        (mode(&stored), mode(stored.parent().expect("a folder"))),
        (0o600, 0o700)
    );
    assert_eq!(
        places_of_key(&world.home()),
        [world.home().join("keys/anthropic")]
    );
    assert!(!format!("{said:?}").contains(KEY), "{said:?}");
    // The stored key is used without a variable.
    let ran = call(&world, &fake.url, &["run", "hi", "--json"]);
    assert_eq!(ran.json()["final_text"], "hello", "{ran:?}");
    let asked = fake.asked();
    assert!(asked[0].0.starts_with("GET /v1/models?limit=1000 "), "{asked:?}");
    assert!(
        asked
            .iter()
            .all(|(head, _)| head.contains(&format!("x-api-key: {KEY}")))
    );
    assert_eq!(places_of_key(&world.home()).len(), 1);
}

#[test]
fn a_refused_key_is_reported_and_not_stored() {
    let world = TestHome::new();
    let fake = FakeProvider::new(vec![refusal(), refusal()]);
    let file = key_file(&world, KEY);
    let init = ["init", "--json", "--provider", "anthropic", "--key-file", &file];
    let said = call(&world, &fake.url, &init);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "key_refused"),
        "{said:?}"
    );
    assert!(
        !world.home().exists() && !format!("{said:?}").contains(KEY),
        "{said:?}"
    );
    assert_eq!(world.wakeful(&["init", "--yes"]).code, Some(0));
    let set = ["models", "key", "set", "anthropic", "--json", "--key-file", &file];
    let said = call(&world, &fake.url, &set);
    assert_eq!(said.error_code(), "key_refused", "{said:?}");
    assert_eq!(places_of_key(&world.home()), Vec::<PathBuf>::new());
    let said = call(&world, &fake.url, &[&set[..], &["--no-test"]].concat());
    assert_eq!(
        (said.code, places_of_key(&world.home()).len()),
        (Some(0), 1),
        "{said:?}"
    );
    let said = world.wakeful(&["models", "key", "remove", "anthropic", "--json"]);
    assert_eq!(said.json()["has_key"], false, "{said:?}");
    assert_eq!(places_of_key(&world.home()), Vec::<PathBuf>::new());
    let config = fs::read_to_string(world.home().join("config.toml")).expect("settings");
    assert!(!config.contains("anthropic"), "{config}");
}

/// Calls `init` at a terminal. Each line is typed when its prompt is shown. Returns the output.
fn prompted(world: &TestHome, url: &str, lines: &[(&str, &str)]) -> String {
    let mut command = world.command("script".as_ref());
    let call = format!("{} init", program().display());
    command
        .args(["--quiet", "--return", "--command", &call, "/dev/null"])
        .env("ANTHROPIC_BASE_URL", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("script starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let (mut shown, mut seen) = (Vec::new(), 0);
    let mut lines = lines.iter().peekable();
    let mut piece = [0; 4_096];
    while let Ok(count @ 1..) = output.read(&mut piece) {
        shown.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&shown[seen..]).into_owned();
        if let Some((_, line)) = lines.next_if(|(prompt, _)| text.contains(prompt)) {
            seen = shown.len();
            input.write_all(line.as_bytes()).expect("typed");
        }
    }
    assert_eq!(
        child.wait().expect("ends").code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&shown)
    );
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_typed_key_is_not_shown_and_asked_again_if_refused() {
    let world = TestHome::new();
    let refusal = (
        401,
        json!({"error": {"type": "authentication_error", "message": "invalid key"}}),
    );
    let fake = FakeProvider::new(vec![refusal, models(&["claude-sonnet-4-6", "claude-x-9"])]);
    let right = format!("{KEY}\n");
    let shown = prompted(
        &world,
        &fake.url,
        &[
            ("Number or name", "anthropic\n"),
            ("Key of anthropic", "sk-wrong-0123456789\n"),
            ("Key of anthropic", &right),
            ("Number or name", "claude-x-9\n"),
            ("Folder", "\n"),
            ("first agent", "\n"),
            ("spending cap", "\n"),
        ],
    );
    assert!(
        shown.contains("anthropic refuses the key (status 401)"),
        "{shown}"
    );
    assert!(!shown.contains(KEY) && !shown.contains("sk-wrong"), "{shown}");
    let model = world.wakeful(&["config", "get", "model.default"]);
    assert_eq!(model.stdout.trim(), "anthropic/claude-x-9", "{shown}");
    assert_eq!(
        places_of_key(&world.home()),
        [world.home().join("keys/anthropic")]
    );
}

#[test]
fn a_key_with_spaces_or_without_content_is_refused() {
    for text in ["", "two words", "line\nline", "ключ"] {
        let world = TestHome::new();
        let file = key_file(&world, text);
        let said = world.wakeful(&["init", "--json", "--provider", "anthropic", "--key-file", &file]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), "bad_key"),
            "{text:?} {said:?}"
        );
        assert!(!world.home().exists());
    }
}

#[test]
fn an_unknown_provider_or_model_is_refused_with_the_nearest() {
    let world = TestHome::new();
    let fake = FakeProvider::new(vec![models(&["claude-sonnet-4-6", "claude-haiku-4-5"])]);
    for (args, code, word) in [
        (
            &["--provider", "antropic"][..],
            "provider_unknown",
            "did you mean anthropic?",
        ),
        (&["--provider", "acme"], "provider_unknown", "openrouter"),
        (
            &["--model", "antropic/x"],
            "provider_unknown",
            "did you mean anthropic?",
        ),
        (
            &["--provider", "openai", "--model", "gemini/x"],
            "bad_value",
            "--provider",
        ),
        (
            &["--provider", "anthropic", "--model", "anthropic/claude-sonet-4-6"],
            "model_unknown",
            "claude-sonnet-4-6",
        ),
    ] {
        let mut command = world.command(program());
        command.args(["init", "--json"]).args(args);
        command.envs([
            ("ANTHROPIC_BASE_URL", fake.url.as_str()),
            ("ANTHROPIC_API_KEY", KEY),
        ]);
        let said: CommandOutput = command.output().expect("starts").into();
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(2), code),
            "{said:?}"
        );
        assert!(said.stderr.contains(word) && !world.home().exists(), "{said:?}");
    }
    assert_eq!(world.wakeful(&["init", "--yes"]).code, Some(0));
    let said = world.wakeful(&["config", "set", "provider.name", "antropic", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "config_invalid")
    );
    assert!(said.stderr.contains("did you mean anthropic?"), "{said:?}");
}

/// A home whose Ollama is at this address.
fn world_with_ollama(url: &str) -> TestHome {
    let world = TestHome::new();
    fs::create_dir(world.home()).expect("a home");
    let text = format!("[providers.ollama]\nbase_url = \"{url}/v1\"\n");
    fs::write(world.home().join("config.toml"), text).expect("settings");
    world
}

#[test]
fn a_local_server_is_found_and_its_model_chosen() {
    let fake = FakeProvider::new(vec![
        models(&["llama3:8b", "qwen3:4b"]),
        models(&["llama3:8b", "qwen3:4b"]),
    ]);
    let world = world_with_ollama(&fake.url);
    let said = typed(&world, "", "ollama\n2\n\n\n\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("found, 2 models"), "{said:?}");
    assert!(
        said.stdout
            .contains("next       wakeful daemon start && wakeful open"),
        "{said:?}"
    );
    let model = world.wakeful(&["config", "get", "model.default"]);
    assert_eq!(model.stdout.trim(), "ollama/qwen3:4b", "{model:?}");
    let fake = FakeProvider::new(vec![models(&["llama3:8b"])]);
    let world = world_with_ollama(&fake.url);
    let said = world.wakeful(&["init", "--json", "--provider", "ollama"]);
    assert_eq!(said.json()["model"], "ollama/llama3:8b", "{said:?}");
}

#[test]
fn a_server_that_answers_nonsense_is_not_found() {
    let fake = FakeProvider::new(vec![(200, json!("hello")), (200, json!({"object": "list"}))]);
    let world = world_with_ollama(&fake.url);
    let said = world.wakeful(&["init", "--json", "--provider", "ollama"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_missing"),
        "{said:?}"
    );
    let daemon = RunningDaemon::serve(&world, &[]);
    let found = block_on(client(&daemon).call(&FindLocalProviders {})).expect("a list");
    assert!(found.iter().all(|one| one.provider != "ollama"), "{found:?}");
}

#[test]
fn the_api_stores_tests_and_removes_a_key_for_running_work() {
    let fake = FakeProvider::new(vec![
        refusal(),
        models(&["m-1"]),
        models(&["m-1"]),
        models(&["m-1"]),
    ]);
    let world = TestHome::new();
    fs::create_dir(world.home()).expect("a home");
    let text = format!(
        "[providers.mine]\nkind = \"anthropic\"\nbase_url = \"{}\"\n",
        fake.url
    );
    fs::write(world.home().join("config.toml"), text).expect("settings");
    let daemon = RunningDaemon::serve(&world, &[]);
    let client = client(&daemon);
    let set = || input::<SetProviderKey>(json!({"provider": "mine", "key": KEY}));
    let test = |model: &str| input::<TestProvider>(json!({"provider": "mine", "model": model}));
    block_on(async {
        let listed = client.call(&ListProviders {}).await.expect("a list");
        let mine = listed.iter().find(|one| one.name == "mine").expect("mine");
        assert_eq!(
            (mine.has_key, mine.needs_key, mine.is_built_in),
            (false, true, false)
        );
        let missing = client.call(&test("m-1")).await.expect("a test");
        assert_eq!(missing.code.as_deref(), Some("key_missing"), "{missing:?}");
        let refused = client.call(&set()).await.expect_err("401");
        assert!(!format!("{refused:?}").contains(KEY), "{refused:?}");
        assert_eq!(places_of_key(&world.home()), Vec::<PathBuf>::new());
        let stored = client.call(&set()).await.expect("stored");
        assert!(stored.provider.has_key && stored.test.is_some_and(|test| test.is_ok));
        let fine = client.call(&test("m-1")).await.expect("a test");
        assert_eq!((fine.is_ok, fine.models), (true, vec!["mine/m-1".to_owned()]));
        let unknown = client.call(&test("m-2")).await.expect("a test");
        assert_eq!(
            unknown.hint.as_deref(),
            Some("did you mean mine/m-1?"),
            "{unknown:?}"
        );
        let models = client.call(&ListModels {}).await.expect("models");
        assert!(
            models
                .iter()
                .any(|model| model.model_ref == "demo" && model.is_default)
        );
        let left = client
            .call(&input::<RemoveProviderKey>(json!({"provider": "mine"})))
            .await;
        assert!(!left.expect("removed").has_key);
        let nobody = client
            .call(&input::<RemoveProviderKey>(json!({"provider": "mien"})))
            .await;
        assert!(format!("{nobody:?}").contains("provider_unknown"), "{nobody:?}");
    });
    assert_eq!(
        places_of_key(&world.home()),
        Vec::<PathBuf>::new(),
        "also not in the log"
    );
}

#[test]
fn a_missing_key_is_named_by_why_not_and_message() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init", "--yes"]).code, Some(0));
    let set = world.wakeful(&["config", "set", "model.default", "openai/gpt-5.4"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let why = world.wakeful(&["why-not", "main", "--json"]).json();
    let hold = &why["holds"][0];
    assert_eq!(hold["code"], "key_missing", "{why}");
    assert!(
        hold["hint"].to_string().contains("wakeful models key set openai"),
        "{why}"
    );
    let said = world.wakeful(&["message", "main", "hello"]);
    assert!(
        said.stderr
            .contains("the message waits: its model cannot be used"),
        "{said:?}"
    );
}

#[test]
fn a_message_to_a_braked_agent_names_the_brake() {
    let world = TestHome::new();
    assert_eq!(world.wakeful(&["init", "--yes"]).code, Some(0));
    let on = world.wakeful(&["brake", "on", "--reason", "too loud"]);
    assert_eq!(on.code, Some(0), "{on:?}");
    let said = world.wakeful(&["message", "main", "hello"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stderr
            .contains("the message waits: the brake on all agents is set since 20")
            && said.stderr.contains("too loud"),
        "{said:?}"
    );
}

#[test]
fn a_run_in_a_folder_that_contains_the_home_offers_another() {
    let world = TestHome::new();
    let model = world.script("rounds: [{text: hello}]\n");
    let mut command = world.command(program());
    command
        .current_dir(world.path())
        .args(["run", "x", "--model", &model]);
    let said: CommandOutput = command.output().expect("starts").into();
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr
            .contains("mkdir -p ~/wakeful-work && cd ~/wakeful-work"),
        "{said:?}"
    );
    assert!(!world.home().exists() && !world.path().join("wakeful-work").exists());
    let mut command = world.command("script".as_ref());
    let call = format!("{} run x --model {model}", program().display());
    command
        .current_dir(world.path())
        .args(["--quiet", "--return", "--command", &call, "/dev/null"]);
    let said = super::init::with_input(command, "y\n");
    assert!(said.code == Some(0) && said.stdout.contains("hello"), "{said:?}");
    assert!(world.path().join("wakeful-work").is_dir());
}
