//! Notifications of pending decisions, with a real command and a real server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::decision::{ask, with_open_run};
use super::home_fixture::{CommandOutput, TestHome, wait_until};

const KEY: &str = "tk-notify-5f0c2b7a9d";

/// A received request: its head and its body.
struct Posted {
    head: String,
    body: String,
}

/// A server that responds to every request with a status, and passes on what it received.
fn server(status: &'static str) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
            let (mut head, mut length) = (String::new(), 0_usize);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a number");
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let body = String::from_utf8(body).expect("UTF-8");
            if sender.send(Posted { head, body }).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

fn set(world: &TestHome, key: &str, value: &str) {
    let said = world.wakeful(&["config", "set", key, value]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

/// A program that stores its input, one line per call.
fn program(world: &TestHome, name: &str, script: &str) -> String {
    let path = world.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("permissions");
    path.display().to_string()
}

fn announcements(world: &TestHome, id: &str) -> Vec<Value> {
    let shown = world.wakeful(&["decision", "show", id, "--json"]).json();
    shown["notifications"].as_array().cloned().unwrap_or_default()
}

fn is_done(rows: &[Value], target: &str) -> Option<bool> {
    let row = rows
        .iter()
        .find(|row| row["way"] == target || row["target"] == target)?;
    row["is_delivered"].as_bool()
}

#[test]
fn a_pending_decision_is_sent_by_command_and_webhook_without_tool_arguments() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let (url, posted) = server("200 OK");
    let told = world.path().join("told.txt");
    set(&world, "notify.webhook", &url);
    let key = world.path().join("key");
    std::fs::write(&key, KEY).expect("a key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    set(&world, "notify.webhook_key", &format!("file:{}", key.display()));
    let keep = program(
        &world,
        "keep",
        &format!("cat >> {0}; echo >> {0}; env >> {0}", told.display()),
    );
    set(&world, "notify.command", &keep);
    let id = ask(&world, &run, "a");
    let daemon = RunningDaemon::serve(&world, &[]);
    let seen = posted.recv_timeout(Duration::from_secs(20)).expect("posted");
    assert!(seen.head.starts_with("POST /hook HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains(&format!("Bearer {KEY}")), "{}", seen.head);
    let body: Value = serde_json::from_str(&seen.body).expect("JSON");
    assert_eq!(
        (&body["event"], &body["title"]),
        (&json!("decision_asked"), &json!("May ExecCommand be used?"))
    );
    assert_eq!(
        (&body["severity"], &body["decision"]["decision_id"]),
        (&json!("high"), &json!(id))
    );
    assert_eq!(body["decision"]["options"], json!(["approve", "deny"]));
    assert!(
        body["message"]
            .as_str()
            .is_some_and(|words| words.contains("wakeful decision answer")),
        "{body}"
    );
    wait_until(|| {
        let rows = announcements(&world, &id);
        is_done(&rows, "webhook") == Some(true) && is_done(&rows, "command") == Some(true)
    });
    let kept = std::fs::read_to_string(&told).expect("told");
    let (line, environment) = kept.split_once('\n').expect("a line");
    assert_eq!(serde_json::from_str::<Value>(line).expect("JSON"), body);
    for text in [&seen.body, &kept] {
        assert!(!text.contains("very-secret") && !text.contains(KEY), "{text}");
    }
    assert!(!environment.contains("WAKEFUL_"), "{environment}");
    drop(daemon);
    let second = ask(&world, &run, "b");
    let _daemon = RunningDaemon::serve(&world, &[]);
    wait_until(|| is_done(&announcements(&world, &second), "command") == Some(true));
    let again = std::fs::read_to_string(&told).expect("told");
    assert_eq!(
        again.matches(&id).count(),
        1,
        "once, even after a restart: {again}"
    );
}

#[test]
fn a_failing_target_is_reported_and_does_not_block_the_others() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let (url, _posted) = server("500 Oops");
    set(&world, "notify.webhook", &url);
    set(&world, "notify.command", "true");
    let id = ask(&world, &run, "a");
    let daemon = RunningDaemon::serve(&world, &[]);
    wait_until(|| {
        let rows = announcements(&world, &id);
        is_done(&rows, "webhook") == Some(false) && is_done(&rows, "command") == Some(true)
    });
    let said = world.wakeful(&["decision", "show", &id]);
    assert!(
        said.stdout.contains("not sent  by webhook after 1 attempt "),
        "{said:?}"
    );
    assert!(said.stdout.contains("status 500"), "{said:?}");
    let doctor = world.wakeful(&["doctor", "--json"]).json();
    let checks = doctor["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["name"] == "notify")
        .expect("a check");
    assert!(
        check["message"]
            .as_str()
            .is_some_and(|words| words.contains("status 500")),
        "{check}"
    );
    assert!(
        !check.to_string().contains("/hook"),
        "an address may be a secret: {check}"
    );
    assert_eq!(daemon.terminate().code(), Some(0), "and it stops cleanly");
}

#[test]
fn the_settings_can_be_tested_without_a_decision() {
    let world = TestHome::new();
    let try_it = || world.wakeful(&["decision", "test-notifications", "--json"]);
    assert_eq!(try_it().error_code(), "notify_not_configured");
    let (url, posted) = server("204 No Content");
    set(&world, "notify.webhook", &url);
    set(&world, "notify.webhook_format", "text");
    let said = try_it();
    assert_eq!(
        (said.code, &said.json()["notifications"][0]["is_delivered"]),
        (Some(0), &json!(true)),
        "{said:?}"
    );
    let seen = posted.recv_timeout(Duration::from_secs(20)).expect("posted");
    let head = seen.head.to_ascii_lowercase();
    assert!(
        head.contains("title: wakeful test notification") && head.contains("priority: 2"),
        "{head}"
    );
    assert!(
        head.contains("text/plain") && seen.body.starts_with("This is a test"),
        "{}",
        seen.body
    );
    set(&world, "notify.command", "/nowhere/program");
    let said = try_it();
    let rows = said.json()["notifications"].as_array().cloned().expect("rows");
    assert_eq!(
        (said.code, is_done(&rows, "command")),
        (Some(1), Some(false)),
        "{said:?}"
    );
    let said = world.wakeful(&["config", "set", "notify.webhook", "http://example.org/hook"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let said = try_it();
    assert_eq!(
        said.error_code(),
        "notify_config_invalid",
        "plain http to elsewhere: {said:?}"
    );
    let said = world.wakeful(&["config", "set", "notify.webhook_key", "sk-a-key-itself", "--json"]);
    assert_eq!(said.error_code(), "bad_value");
    assert!(!said.stdout.contains("sk-a-key"), "{said:?}");
}

#[test]
fn a_command_that_never_ends_is_killed_with_its_children() {
    let world = TestHome::new();
    world.wakeful(&["agent", "create", "main"]);
    let mark = format!("86{}", std::process::id());
    let endless = program(&world, "endless", &format!("sleep {mark} & sleep {mark}"));
    set(&world, "notify.command", &endless);
    let said = world.wakeful(&["decision", "test-notifications", "--json"]);
    let rows = said.json()["notifications"].as_array().cloned().expect("rows");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        rows[0]["error"]
            .as_str()
            .is_some_and(|why| why.contains("was killed")),
        "{rows:?}"
    );
    // A killed process may take a moment to disappear.
    wait_until(|| !super::home_fixture::alive(&mark));
}

/// The program in a desktop session with a fake notification program ahead of the real one.
fn at_a_desktop(world: &TestHome, args: &[&str]) -> std::process::Command {
    let mut command = world.command(super::home_fixture::program());
    command
        .args(args)
        .env(
            "PATH",
            format!("{}:/usr/local/bin:/usr/bin:/bin", world.path().display()),
        )
        .env("DISPLAY", ":77")
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    command
}

#[test]
fn a_pending_decision_is_shown_on_the_desktop_without_tool_arguments() {
    let world = TestHome::new();
    let run = with_open_run(&world);
    let notes = world.path().join("notes.txt");
    let shows = format!("printf '%s\\n' \"$@\" \"at $DISPLAY\" >> {}", notes.display());
    program(&world, "notify-send", &shows);
    let tried: CommandOutput = at_a_desktop(&world, &["decision", "test-notifications", "--json"])
        .output()
        .expect("the program starts")
        .into();
    let rows = &tried.json()["notifications"];
    assert_eq!(
        rows,
        &json!([{"target": "desktop", "is_delivered": true, "error": null}]),
        "{tried:?}"
    );
    let shown = std::fs::read_to_string(&notes).expect("shown");
    let words = [
        "--app-name=Wakeful",
        "--urgency=low",
        "--",
        "Wakeful test notification",
    ];
    assert_eq!(shown.lines().take(4).collect::<Vec<_>>(), words);
    assert!(shown.ends_with("at :77\n"), "{shown}");
    std::fs::remove_file(&notes).expect("seen");
    let id = ask(&world, &run, "a");
    let serving = at_a_desktop(&world, &["serve", "--port", "0"])
        .spawn()
        .expect("serves");
    let daemon = RunningDaemon::of(&world, serving);
    wait_until(|| notes.exists() && is_done(&announcements(&world, &id), "desktop") == Some(true));
    let shown = std::fs::read_to_string(&notes).expect("shown");
    for words in [
        "--urgency=critical\n",
        "May ExecCommand be used?\n",
        "Agent main waits for you (high).",
        &id[..12],
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("very-secret"), "{shown}");
    drop(daemon);
    program(&world, "notify-send", "exit 3");
    let failed: CommandOutput = at_a_desktop(&world, &["decision", "test-notifications", "--json"])
        .output()
        .expect("the program starts")
        .into();
    let why = failed.json()["notifications"][0]["error"].clone();
    assert_eq!(
        (failed.code, why),
        (Some(1), json!("the program ended with exit status: 3"))
    );
    set(&world, "notify.desktop", "false");
    let off: CommandOutput = at_a_desktop(&world, &["decision", "test-notifications", "--json"])
        .output()
        .expect("the program starts")
        .into();
    assert_eq!(off.error_code(), "notify_not_configured");
}
