//! The restrictions on commands, tested from outside the program.

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, alive, commands, statuses};

/// The content of the agent's newest tool result.
fn result_of(world: &TestHome, command: &str) -> serde_json::Value {
    let said = world.run(&commands(&[command]), &["--agent", "a", "--create-agent"]);
    assert_eq!(statuses(&said.json()).len(), 1, "{said:?}");
    let transcript = world.wakeful(&["transcript", "a", "--json"]).stdout;
    let entries: Vec<serde_json::Value> = transcript
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let tool = entries
        .iter()
        .rev()
        .find(|entry| entry["role"] == "tool")
        .expect("a tool's result");
    serde_json::from_str(tool["blocks"][0]["content"].as_str().expect("content")).expect("json")
}

#[test]
fn results_and_status_have_the_same_five_confinement_lines() {
    let world = TestHome::new();
    let script = "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: 'true'}}, {name: ListFiles, input: {}}, \
        {name: SearchFiles, input: {pattern: x}}]\n  - text: done\n";
    let said = world.run(script, &["--agent", "a", "--create-agent"]);
    assert_eq!(statuses(&said.json()), ["ok", "ok", "ok"], "{said:?}");
    let status = world.wakeful(&["status", "--json"]).json();
    let lines = status["confinement"].as_object().expect("the lines").clone();
    let mut names: Vec<&String> = lines.keys().collect();
    names.sort();
    assert_eq!(names, ["child_process", "network", "path", "secret", "write"]);
    for state in lines.values() {
        let states = ["enforced", "partly_enforced", "not_enforced"];
        assert!(states.contains(&state.as_str().expect("a state")), "{lines:?}");
    }
    let transcript = world.wakeful(&["transcript", "a", "--json"]).stdout;
    let entries = transcript
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("json"));
    let blocks = entries.filter(|entry| entry["role"] == "tool");
    let blocks: Vec<_> = blocks
        .flat_map(|entry| entry["blocks"].as_array().expect("blocks").clone())
        .collect();
    assert_eq!(blocks.len(), 3, "{blocks:?}");
    for block in blocks {
        let content = block["content"].as_str().expect("content");
        let result: serde_json::Value = serde_json::from_str(content).expect("json");
        assert_eq!(result["confinement"].as_object(), Some(&lines), "{content}");
    }
    let daemon = RunningDaemon::serve(&world, &[]);
    let status = world.wakeful(&["status", "--json"]).json();
    assert_eq!(
        status["daemon"]["confinement"].as_object(),
        Some(&lines),
        "{status}"
    );
    let text = world.wakeful(&["status"]).stdout;
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("sandbox  "))
        .collect();
    let named: Vec<&str> = shown
        .iter()
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect();
    assert_eq!(
        named,
        ["path", "write", "network", "secret", "child process"],
        "{text}"
    );
    daemon.kill();
}

#[test]
fn a_command_writes_in_its_workspace_and_nowhere_else() {
    let world = TestHome::new();
    let outside = world.path().join("outside.txt");
    let result = result_of(
        &world,
        &format!("echo in > inside.txt; echo out > {}", outside.display()),
    );
    assert_ne!(result["exit_status"], 0, "{result}");
    assert!(world.workspace().join("inside.txt").exists());
    assert!(!outside.exists());
}

#[test]
fn a_command_cannot_reach_the_home() {
    let world = TestHome::new();
    let home = world.home().display().to_string();
    let result = result_of(
        &world,
        &format!("cat {home}/agent.sqlite; ls {home}; ln -s {home} h; cat h/agent.sqlite; true"),
    );
    assert_eq!(
        result["stdout_preview"].as_str().unwrap_or_default(),
        "",
        "{result}"
    );
}

#[test]
fn a_command_cannot_connect_to_servers_of_this_machine() {
    let world = TestHome::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a server");
    let port = server.local_addr().expect("an address").port();
    std::net::TcpStream::connect(("127.0.0.1", port)).expect("it can be reached from outside");
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>&1");
    let result = result_of(&world, &connect);
    let output = result["stdout_preview"].as_str().unwrap_or_default();
    let is_refused = ["refused", "not permitted", "denied"].map(|word| output.contains(word));
    assert!(is_refused.contains(&true), "{result}");
}

#[test]
fn a_hundred_megabytes_of_output_are_bounded_and_kept_as_documented() {
    let world = TestHome::new();
    let result = result_of(&world, "head -c 100000000 /dev/zero | tr '\\0' x");
    assert_eq!(
        (result["exit_status"].as_i64(), result["truncated"].as_bool()),
        (Some(0), Some(true)),
        "{result}"
    );
    assert_eq!(result["artifacts"][0]["total_bytes"], 100_000_000);
    let home: u64 = size_of(&world.home());
    assert!(home < 2_000_000, "{home} bytes in the home");
}

#[test]
fn a_command_that_leaves_its_group_and_ignores_signals_leaves_nothing_behind() {
    let world = TestHome::new();
    let word = format!("{}.75", 900_000 + std::process::id() % 100_000);
    let escape = format!(
        "(trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP; sleep {word}; true' & ) ; trap '' TERM; echo started"
    );
    let result = result_of(&world, &escape);
    assert_eq!(
        result["stdout_preview"].as_str().map(str::trim),
        Some("started"),
        "{result}"
    );
    assert!(!alive(&word), "a process was left behind");
}

fn size_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let meta = entry.metadata().expect("metadata");
            if meta.is_dir() {
                size_of(&entry.path())
            } else {
                meta.len()
            }
        })
        .sum()
}

#[test]
fn a_command_never_reaches_the_api_of_its_daemon() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let address = daemon.address().expect("an address");
    let made = world.wakeful(&["agent", "create", "a", "--allow-host", &address]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let command = format!(
        "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => q({address})) or die $!; \
         print $s qq(GET /healthz HTTP/1.0\\r\\n\\r\\n); print <$s>'; true"
    );
    let result = result_of(&world, &command);
    assert_eq!(result["stdout_preview"], "", "{result}");
    let connection = &result["connections"][0];
    assert_eq!(connection["verdict"], "refused", "{result}");
    let reason = connection["reason"].as_str().expect("a reason");
    assert!(reason.contains("Wakeful's own API"), "{reason}");
}
