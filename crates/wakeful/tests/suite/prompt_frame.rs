//! The frame of a model request, across processes and turns.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wakeful_api::GetAgentStatus;

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};

const TOOLS: [&str; 18] = [
    "ApplyPatch",
    "EditFile",
    "ExecCommand",
    "ListFiles",
    "ReadFile",
    "SearchFiles",
    "WebFetch",
    "WriteFile",
    "journal_create_task",
    "journal_get_task",
    "journal_list_categories",
    "journal_list_checklists",
    "journal_list_day_plans",
    "journal_list_links",
    "journal_list_ratings",
    "journal_list_tasks",
    "journal_list_time_entries",
    "journal_update_task",
];

/// Maximum size of the first request of an agent with all tools, in bytes.
const FIRST_REQUEST_BYTES_MAX: usize = 14_000;

/// A provider that responds in Anthropic's format and stores the bytes it received.
struct RecordingProvider {
    url: String,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl RecordingProvider {
    fn new(answers: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a connection");
                let body = body(&mut stream);
                shared.lock().expect("no panic").push(body);
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
                write!(stream, "{head}\r\n\r\n{answer}").expect("a listener");
            }
        });
        Self { url, bodies }
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("no panic").clone()
    }

    fn run(&self, world: &TestHome, folder: &Path, args: &[&str]) -> CommandOutput {
        let mut command = world.command(program());
        command.current_dir(folder);
        command
            .args(["run", "--json", "--model", "anthropic/claude-x"])
            .args(args);
        command.env("ANTHROPIC_API_KEY", "sk-test-77aa31c09e");
        command.env("ANTHROPIC_BASE_URL", &self.url);
        let said: CommandOutput = command.output().expect("the program starts").into();
        assert_eq!(said.code, Some(0), "{said:?}");
        said
    }
}

fn body(stream: &mut TcpStream) -> String {
    let (mut reader, mut length) = (BufReader::new(stream), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    String::from_utf8(body).expect("text")
}

fn says(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})
}

fn calls(cmd: &str) -> Value {
    json!({"content": [{"type": "tool_use", "id": "toolu_1", "name": "ExecCommand", "input": {"cmd": cmd}}],
        "stop_reason": "tool_use"})
}

/// The bytes of a request between two words.
fn between<'a>(body: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = body
        .split_once(from)
        .unwrap_or_else(|| panic!("no {from} in {body}"));
    let (part, _) = rest.split_once(to).unwrap_or_else(|| panic!("no {to} in {body}"));
    part
}

/// The part that a provider caches: the system blocks before the turn's own, and the tools.
fn cached(body: &str) -> (&str, &str) {
    (
        between(body, "\"system\":", "This turn is"),
        between(body, "\"tools\":", "\"messages\":"),
    )
}

// Conformance: H-110, H-141, A-63
#[test]
fn the_cached_prefix_is_byte_identical_across_rounds_turns_and_processes() {
    let (world, other) = (TestHome::new(), TestHome::new());
    let work = other.workspace();
    let made = world.wakeful(&["agent", "create", "coach"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let folder = world.home().join("agents/coach");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("AGENTS.md"), "be kind to knees").expect("written");
    std::fs::write(world.workspace().join("AGENTS.md"), "tabs, not spaces").expect("written");
    std::fs::write(work.join("AGENTS.md"), "of another folder").expect("written");
    // The guidance changes during a run, and is restored before the next one.
    let rewrite = "cp AGENTS.md kept; echo changed > AGENTS.md";
    let keeper = RecordingProvider::new(vec![calls(rewrite), says("one"), says("two")]);
    keeper.run(&world, &world.workspace(), &["--agent", "coach", "first words"]);
    std::fs::rename(
        world.workspace().join("kept"),
        world.workspace().join("AGENTS.md"),
    )
    .expect("put back");
    // Another process, another folder, another turn.
    keeper.run(&world, &work, &["--agent", "coach", "second words"]);
    let bodies = keeper.bodies();
    assert_eq!(bodies.len(), 3);
    let (system, tools) = cached(&bodies[0]);
    assert!(
        system.contains("be kind to knees") && system.contains("tabs, not spaces"),
        "{system}"
    );
    assert!(tools.contains("ExecCommand"));
    for body in &bodies {
        assert_eq!(cached(body), (system, tools));
        assert!(!body.contains("of another folder"));
    }
    assert!(bodies[2].contains("first words") && bodies[2].contains("second words"));
}

// Conformance: H-093
#[test]
fn guidance_comes_from_the_workspace_and_never_from_the_current_folder() {
    let world = TestHome::new();
    let made = world.wakeful(&["agent", "create", "coach"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let tree = world.workspace().join("tree");
    std::fs::create_dir(&tree).expect("a folder");
    let write = |path: std::path::PathBuf, text: &str| std::fs::write(path, text).expect("written");
    write(world.workspace().join("AGENTS.md"), "marker-of-the-workspace");
    write(tree.join(".git"), "gitdir: ../.git/worktrees/tree\n");
    write(tree.join("AGENTS.md"), "marker-of-the-tree");
    let there = json!({"cmd": "test -e AGENTS.md && echo it-is-there", "workdir": "tree"});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "ExecCommand", "input": there});
    let calls = json!({"content": [call], "stop_reason": "tool_use"});
    let keeper = RecordingProvider::new(vec![calls, says("one")]);
    keeper.run(&world, &tree, &["--agent", "coach", "go"]);
    let bodies = keeper.bodies();
    assert_eq!(bodies.len(), 2);
    assert!(
        bodies[1].contains("it-is-there"),
        "the call was made in it: {}",
        bodies[1]
    );
    for body in &bodies {
        assert!(
            body.contains("marker-of-the-workspace") && !body.contains("marker-of-the-tree"),
            "{body}"
        );
    }
}

#[test]
fn the_first_request_of_an_agent_is_small() {
    let (world, keeper) = (TestHome::new(), RecordingProvider::new(vec![says("hi")]));
    keeper.run(&world, &world.workspace(), &["hello"]);
    let bytes = keeper.bodies()[0].len();
    assert!(bytes <= FIRST_REQUEST_BYTES_MAX, "{bytes} bytes");
}

/// An agent with both guidance files, and a marker in each.
fn guided() -> TestHome {
    let world = TestHome::new();
    let made = world.wakeful(&["agent", "create", "coach"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let folder = world.home().join("agents/coach");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("AGENTS.md"), "marker-of-the-agent").expect("written");
    std::fs::write(world.workspace().join("CLAUDE.md"), "marker-of-the-workspace").expect("written");
    world
}

#[test]
fn debug_prompt_shows_every_block_with_its_source_and_size() {
    let world = guided();
    let said = world.wakeful(&["debug", "prompt", "coach", "--json"]);
    let frame = said.json();
    let (home, work) = (world.home(), world.workspace().canonicalize().expect("there"));
    let work = json!(work.display().to_string());
    let agent_home = home.canonicalize().expect("there").join("agents/coach");
    assert_eq!(
        frame["agent_home"],
        json!(agent_home.display().to_string()),
        "{said:?}"
    );
    for place in ["workspace", "execution_root", "cwd"] {
        assert_eq!(frame[place], work);
    }
    assert_eq!(frame["policy"]["permitted_tools"], json!(TOOLS));
    assert_eq!(
        frame["loaded_agents_md"],
        json!([
            {"root": "agent", "path": agent_home.join("AGENTS.md"), "kind": "agents_md"},
            {"root": "workspace", "path": format!("{}/CLAUDE.md", work.as_str().expect("text")), "kind": "claude_md"},
        ])
    );
    let blocks = frame["blocks"].as_array().expect("blocks");
    let sources: Vec<&Value> = blocks.iter().map(|block| &block["source"]).collect();
    let expected = "contract identity agent_guidance workspace_guidance turn_mode";
    assert_eq!(sources, expected.split(' ').collect::<Vec<_>>());
    for block in blocks {
        let (bytes, most) = (block["bytes"].as_u64(), block["bytes_max"].as_u64());
        assert!(bytes.is_some() && bytes <= most, "{block}");
        assert_eq!(
            block["estimated_tokens"].as_u64(),
            bytes.map(|bytes| bytes.div_ceil(2))
        );
    }
    assert_eq!(frame["tools"][0]["name"], "ExecCommand");
    assert_eq!(
        frame["cache"]["prompt_cache_key"].as_str().map(str::len),
        Some(64)
    );
    assert_eq!(frame["request"]["format"], "frame");
    assert!(!said.stdout.contains("marker-of"), "{said:?}");
    let text = world.wakeful(&["debug", "prompt", "coach", "--text"]);
    let places = [
        "~tokens",
        "Who decides",
        "marker-of-the-agent",
        "marker-of-the-workspace",
        "estimates",
    ]
    .map(|word| {
        text.stdout
            .find(word)
            .unwrap_or_else(|| panic!("no {word}: {text:?}"))
    });
    assert!(places.is_sorted(), "{text:?}");
    let unknown = world.wakeful(&["debug", "prompt", "nobody", "--json"]);
    assert_eq!(
        (unknown.code, unknown.error_code().as_str()),
        (Some(1), "agent_unknown")
    );
}

// Conformance: H-099
#[test]
fn debug_prompt_is_the_same_with_and_without_a_daemon() {
    let world = guided();
    let alone = world.wakeful(&["debug", "prompt", "coach", "--json"]);
    let daemon = RunningDaemon::serve(&world, &[]);
    let beside = world.wakeful(&["debug", "prompt", "coach", "--json"]);
    assert_eq!(alone.stdout, beside.stdout);
    let shown = world.wakeful(&["agent", "show", "coach", "--json"]);
    assert_eq!(shown.json()["loaded_agents_md"], alone.json()["loaded_agents_md"]);
    let mut status = shown.json();
    // The settings have the agent's own instructions; the list of guidance files has no contents.
    status["settings"] = Value::Null;
    assert!(!status.to_string().contains("marker-of"), "{shown:?}");
    let status = input::<GetAgentStatus>(json!({"agent_id": "coach"}));
    let status = block_on(async { client(&daemon).call(&status).await }).expect("a status");
    assert_eq!(json!(status.loaded_agents_md), alone.json()["loaded_agents_md"]);
    let mut command = world.command(program());
    command.args([
        "debug",
        "prompt",
        "coach",
        "--json",
        "--model",
        "anthropic/claude-x",
    ]);
    let said: CommandOutput = command
        .env("ANTHROPIC_API_KEY", "k")
        .output()
        .expect("it starts")
        .into();
    assert_eq!(said.json()["request"]["format"], "wire", "{said:?}");
}
