//! `wakeful daemon`: the same program in the background, and its status.

use serde_json::{Value, json};

use super::home_fixture::{CommandOutput, TestHome, wait_until};

/// Stops the daemon of a test home at the end of the test.
struct StopOnDrop<'a>(&'a TestHome);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.wakeful(&["daemon", "stop"]);
    }
}

fn daemon(world: &TestHome, args: &[&str]) -> CommandOutput {
    world.wakeful(&[&["daemon"], args, &["--json"]].concat())
}

fn started(world: &TestHome) -> Value {
    let said = daemon(world, &["start", "--port", "0"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

// Conformance: H-072
#[test]
fn a_second_start_is_accepted_and_other_settings_require_a_restart() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let first = started(&world);
    let second = daemon(&world, &["start", "--port", "0"]);
    assert_eq!(second.json()["pid"], first["pid"], "{second:?}");
    assert_eq!(second.json()["already_running"], true);
    let other = daemon(&world, &["start", "--port", "0", "--model", "demo"]);
    assert_eq!(
        (other.code, other.error_code().as_str()),
        (Some(1), "daemon_config_mismatch"),
        "{other:?}"
    );
    let restarted = daemon(&world, &["restart", "--port", "0", "--model", "demo"]);
    assert_eq!(restarted.code, Some(0), "{restarted:?}");
    assert_ne!(restarted.json()["pid"], first["pid"]);
}

#[test]
fn a_wrong_option_fails_before_any_process_starts_or_stops() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let said = daemon(&world, &["start", "--host", "nowhere"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "bad_value"),
        "{said:?}"
    );
    let said = daemon(&world, &["start", "--model", "scripted:/no/such/file.yaml"]);
    assert_eq!(said.error_code(), "script_unreadable", "{said:?}");
    assert!(!world.home().join("run").exists());
    let first = started(&world);
    let said = daemon(&world, &["restart", "--model", "scripted:/no/such/file.yaml"]);
    assert_eq!(said.error_code(), "script_unreadable", "{said:?}");
    assert_eq!(
        daemon(&world, &["status"]).json()["pid"],
        first["pid"],
        "the old one still serves"
    );
}

// Conformance: H-077
#[test]
fn the_status_contains_every_documented_field() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    assert_eq!(daemon(&world, &["status"]).json()["running"], false);
    let first = started(&world);
    let status = daemon(&world, &["status"]).json();
    assert_eq!(
        (&status["pid"], &status["http_addr"]),
        (&first["pid"], &first["http_addr"])
    );
    assert_eq!(
        status["home_dir"],
        json!(world.home().canonicalize().expect("a home"))
    );
    assert_eq!(
        (
            &status["control_health"],
            &status["config_fingerprint_match"],
            &status["state"]
        ),
        (&json!("ok"), &json!(true), &json!("idle"))
    );
    for count in [
        "active_agent_count",
        "active_task_count",
        "processing_agent_count",
        "waiting_agent_count",
    ] {
        assert_eq!(status[count], 0, "{count}");
    }
    let socket = world.home().join("run/wakeful.sock");
    assert_eq!(status["socket_path"], json!(socket));
    assert!(socket.exists());
    world.wakeful(&["config", "set", "agent.max_rounds", "7"]);
    let status = daemon(&world, &["status"]).json();
    assert_eq!(status["config_fingerprint_match"], false, "after an edit");
}

#[test]
fn a_paused_agent_with_a_message_leaves_the_daemon_waiting() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    started(&world);
    world.wakeful(&["agent", "create", "main"]);
    world.wakeful(&["agent", "pause", "main"]);
    world.wakeful(&["message", "main", "later"]);
    let status = daemon(&world, &["status"]).json();
    assert_eq!(
        (&status["state"], &status["waiting_agent_count"]),
        (&json!("waiting"), &json!(1)),
        "{status}"
    );
}

// Conformance: H-076, H-082
#[test]
fn a_stop_is_requested_over_the_api_and_stops_no_agent() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    world.wakeful(&["agent", "create", "main"]);
    let first = started(&world);
    let stopped = daemon(&world, &["stop"]);
    assert_eq!(
        (&stopped.json()["stopped"], &stopped.json()["pid"]),
        (&json!(true), &first["pid"]),
        "{stopped:?}"
    );
    assert_eq!(
        daemon(&world, &["stop"]).json()["stopped"],
        false,
        "stopping twice succeeds"
    );
    started(&world);
    let agent = world.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(
        (&agent["control"], &agent["lifecycle"]),
        (&json!("running"), &json!("active"))
    );
}

#[test]
fn a_failed_start_is_recorded_until_one_succeeds() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    world.wakeful(&["agent", "create", "main"]);
    let failed = daemon(&world, &["start", "--port", &port]);
    assert_eq!(
        (failed.code, failed.error_code().as_str()),
        (Some(1), "port_in_use"),
        "{failed:?}"
    );
    let logs = daemon(&world, &["logs"]).json();
    let (last, said) = (&logs["last_failure"], &failed.json()["error"]);
    assert_eq!(last["phase"], "startup", "{logs}");
    let message = said["message"].as_str().expect("a message");
    assert_eq!(last["summary"], format!("port_in_use: {message}"));
    assert_eq!(last["detail_hint"], said["hint"]);
    for field in ["log_path", "metadata_path", "last_failure_path", "tail"] {
        assert!(!logs[field].is_null(), "{field}");
    }
    assert!(daemon(&world, &["status"]).json()["last_failure"]["summary"].is_string());
    drop(taken);
    started(&world);
    assert!(daemon(&world, &["logs"]).json()["last_failure"].is_null());
}

#[test]
fn an_unusable_database_is_reported_and_leaves_no_daemon() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    std::fs::write(world.home().join("agent.sqlite"), "no database").expect("written");
    let alone = world.wakeful(&["agent", "list", "--json"]);
    let failed = daemon(&world, &["start", "--port", "0"]);
    assert_eq!(failed.error_code(), alone.error_code(), "{failed:?}");
    let message = failed.json()["error"]["message"].to_string();
    assert!(
        !message.contains("error[") && !message.contains("hint"),
        "{message}"
    );
    assert!(!world.home().join("run/daemon.json").exists());
}

#[test]
fn a_start_on_a_used_port_creates_nothing() {
    let world = TestHome::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let said = daemon(&world, &["start", "--port", &port]);
    assert_eq!(said.error_code(), "port_in_use", "{said:?}");
    assert!(!world.home().exists());
}

#[test]
fn a_refused_second_daemon_leaves_the_first_unchanged() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let token = "t".repeat(32);
    let said = daemon(&world, &["start", "--port", "0", "--token", &token]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let second = world.wakeful(&["serve", "--port", "0", "--json"]);
    assert_eq!(second.error_code(), "daemon_running", "{second:?}");
    assert!(!world.home().join("run/last-failure.json").exists());
    assert!(world.home().join("run/token").exists());
    assert_eq!(world.wakeful(&["open", "--print"]).code, Some(0));
    daemon(&world, &["stop"]);
    assert!(!world.home().join("run/token").exists());
}

#[test]
fn flags_without_a_setting_are_part_of_the_start_fingerprint() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    started(&world);
    let token = "t".repeat(32);
    let others: [&[&str]; 2] = [&["--allow-unsandboxed"], &["--token", &token]];
    for other in others {
        let said = daemon(&world, &[&["start", "--port", "0"], other].concat());
        assert_eq!(said.error_code(), "daemon_config_mismatch", "{said:?}");
    }
}

// Conformance: H-073, H-091
#[test]
fn a_reused_pid_is_stale_and_left_alone() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    world.wakeful(&["agent", "create", "main"]);
    std::fs::create_dir(world.home().join("run")).expect("a folder");
    let record = json!({"pid": 1, "pid_started": 1, "http_addr": "127.0.0.1:1", "token_file": "/nowhere"});
    std::fs::write(world.home().join("run/daemon.json"), record.to_string()).expect("written");
    let restarted = daemon(&world, &["restart", "--port", "0"]);
    assert_eq!(restarted.code, Some(0), "{restarted:?}");
    wait_until(|| daemon(&world, &["status"]).json()["running"] == true);
}

#[test]
fn the_log_of_a_daemon_is_json_on_request() {
    let world = TestHome::new();
    let _ending = StopOnDrop(&world);
    let said = daemon(&world, &["start", "--port", "0", "--log-format", "json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let logs = daemon(&world, &["logs"]).json();
    let tail = logs["tail"].as_array().expect("lines");
    let lines = tail
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line.as_str()?).ok());
    let ready = lines.filter(|line| line["message"] == "the daemon is ready");
    assert_eq!(ready.count(), 1, "{logs}");
    let failed = TestHome::new().wakeful(&["serve", "--log-level", "loud", "--json"]);
    assert_eq!(failed.error_code(), "bad_value", "{failed:?}");
}
