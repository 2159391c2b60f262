//! Logging in a browser from a terminal, and revoking logins there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use wakeful_api::EnterLogin;

use super::api::{block_on, client, input};
use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, program};

/// Stores its arguments, and the file at the path they name.
const OPENER: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$SEEN/arguments\"\nstat -c %a \"${1#file://}\" > \"$SEEN/mode\"\n\
    cp \"${1#file://}\" \"$SEEN/page\"\n";

/// Calls `wakeful open` with this program as the file opener.
fn open_with(world: &TestHome, opener: Option<&str>) -> CommandOutput {
    let bin = world.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    if let Some(opener) = opener {
        std::fs::write(bin.join("xdg-open"), opener).expect("a program");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join("xdg-open"), mode).expect("a mode");
        for tool in ["stat", "cp"] {
            std::os::unix::fs::symlink(format!("/bin/{tool}"), bin.join(tool)).expect("a link");
        }
    }
    let mut command = world.command(program());
    command
        .args(["open", "--json"])
        .env("PATH", &bin)
        .env("SEEN", world.path());
    command.output().expect("the program starts").into()
}

fn enter(daemon: &RunningDaemon<'_>, code: &str) -> bool {
    let body = input::<EnterLogin>(json!({"code": code}));
    block_on(client(daemon).call(&body)).is_ok()
}

/// The login code in a text.
fn code_in(text: &str) -> String {
    let (_, rest) = text.split_once("/login#code=").expect("a link");
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

fn pages(world: &TestHome) -> usize {
    let names = std::fs::read_dir(world.home().join("run")).expect("a folder");
    let is_page = |path: &Path| path.extension().is_some_and(|extension| extension == "html");
    names
        .filter(|entry| entry.as_ref().is_ok_and(|entry| is_page(&entry.path())))
        .count()
}

#[test]
fn a_browser_receives_its_login_through_a_private_file() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = open_with(&world, Some(OPENER));
    assert_eq!(said.code, Some(0), "{said:?}");
    let seen = |name: &str| std::fs::read_to_string(world.path().join(name)).expect("it was seen");
    let (arguments, code) = (seen("arguments"), code_in(&seen("page")));
    assert_eq!(code.len(), 64);
    let path = said.json()["path"].as_str().expect("a path").to_owned();
    assert_eq!(arguments, format!("file://{path}\n"), "the path and nothing else");
    assert!(!arguments.contains(&code) && !said.stdout.contains(&code) && !said.stderr.contains(&code));
    assert_eq!(seen("mode"), "600\n");
    assert_eq!(pages(&world), 1);
    assert!(enter(&daemon, &code));
    assert_eq!(pages(&world), 0, "it is deleted when it was used");
    assert!(!enter(&daemon, &code), "the link works once");
}

#[test]
fn a_login_page_does_not_outlive_its_daemon() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(open_with(&world, Some(OPENER)).code, Some(0));
    assert_eq!(pages(&world), 1);
    daemon.kill();
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(pages(&world), 0);
    drop(daemon);
}

#[test]
fn without_a_browser_a_link_is_printed_on_request() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let said = open_with(&world, None);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "browser_start_failed")
    );
    assert_eq!(pages(&world), 0, "no file stays");
    let printed = world.wakeful(&["open", "--print", "--json"]);
    let url = printed.json()["url"].as_str().expect("a URL").to_owned();
    assert!(
        !printed.stderr.contains(&code_in(&url)),
        "on standard output alone"
    );
    assert!(enter(&daemon, &code_in(&url)));
}

#[test]
fn logins_are_listed_and_revoked_permanently() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let log_in = |daemon: &RunningDaemon<'_>| {
        let printed = world.wakeful(&["open", "--print", "--json"]).json();
        assert!(enter(daemon, &code_in(printed["url"].as_str().expect("a URL"))));
    };
    let ids = || {
        let list = world.wakeful(&["login", "list", "--json"]).json();
        let logins = list["logins"].as_array().expect("a list").clone();
        logins
            .iter()
            .map(|login| login["id"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };
    (0..3).for_each(|_| log_in(&daemon));
    let before = ids();
    let [newest, rest @ ..] = &before[..] else {
        panic!("three logins: {before:?}")
    };
    let said = world.wakeful(&["login", "revoke", newest, "--json"]);
    assert_eq!((said.code, said.json()), (Some(0), json!({"revoked": newest})));
    let again = world.wakeful(&["login", "revoke", newest, "--json"]);
    assert_eq!(
        (again.code, again.error_code().as_str()),
        (Some(1), "login_unknown")
    );
    daemon.kill();
    let daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(ids(), rest, "after a restart");
    assert_eq!(world.wakeful(&["login", "revoke", "--all"]).code, Some(0));
    daemon.kill();
    let _daemon = RunningDaemon::serve(&world, &[]);
    assert_eq!(ids(), Vec::<String>::new());
    let mode = std::fs::metadata(world.home().join("logins.json"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_wrong_login_call_is_refused_before_contacting_a_daemon() {
    let world = TestHome::new();
    let code = |args: &[&str]| -> (Option<i32>, Value) {
        let said = world.wakeful(&[args, &["--json"]].concat());
        (said.code, said.json()["error"]["code"].clone())
    };
    assert_eq!(code(&["login", "revoke", "../x"]), (Some(2), json!("bad_id")));
    assert_eq!(code(&["login", "revoke"]), (Some(2), json!("usage")));
    assert_eq!(code(&["login", "list"]), (Some(1), json!("daemon_not_running")));
}
