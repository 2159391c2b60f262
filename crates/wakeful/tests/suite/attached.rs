//! What a person sees who watches a run of the daemon: from its start, from its middle, and when the run cannot continue.

use std::path::Path;

use super::daemon::RunningDaemon;
use super::home_fixture::{CommandOutput, TestHome, commands, program, wait_until};
use super::pty_fixture::{CTRL_C, Terminal};
use super::terminal::ChatHome;

/// A command that prints a line, waits for a file, and prints another.
const WAITS: &str = "echo first; until [ -e go ]; do sleep 0.02; done; echo second";

const ANSWER: &str = "rounds: [{text: understood}]\n";

/// Calls the program, which must end by itself.
fn ends(home: &TestHome, folder: &Path, args: &[&str]) -> CommandOutput {
    let mut command = home.command(Path::new("timeout"));
    command.current_dir(folder).arg("40").arg(program()).args(args);
    command.output().expect("the program starts").into()
}

#[test]
fn a_run_in_another_home_is_refused_before_it_is_queued() {
    let home = TestHome::new();
    let model = home.script(ANSWER);
    let daemon = RunningDaemon::serve(&home, &["--model", &model]);
    let other = home.path().join("other");
    let made = home.wakeful(&["init", "--yes", "--home", other.to_str().expect("a path")]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let said = ends(&home, &other, &["run", "hi", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "workspace_in_denied_path"),
        "{said:?}"
    );
    let events = home.wakeful(&["daemon", "status", "--json"]).json();
    assert_eq!(events["stuck"], serde_json::json!([]), "{events}");
    drop(daemon);
}

#[test]
fn watching_a_run_of_a_stuck_agent_ends_with_the_cause() {
    let home = TestHome::new();
    let folder = home.path().join("gone");
    std::fs::create_dir(&folder).expect("a folder");
    let made = home.wakeful(&[
        "agent",
        "create",
        "a",
        "--workspace",
        folder.to_str().expect("a path"),
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    std::fs::remove_dir(&folder).expect("removed");
    let model = home.script(ANSWER);
    let daemon = RunningDaemon::serve(&home, &["--model", &model]);
    let said = ends(&home, &home.workspace(), &["run", "hi", "--agent", "a", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "workspace_unusable"),
        "{said:?}"
    );
    assert!(said.stdout.contains("cannot continue"), "{said:?}");
    drop(daemon);
}

#[test]
fn an_interrupted_watcher_says_only_that_the_run_continues() {
    let home = TestHome::new();
    let model = home.script(&commands(&[WAITS]));
    let daemon = RunningDaemon::serve(&home, &["--model", &model]);
    let mut terminal = Terminal::start(&home, 300, &[], &["run", "do it"]);
    terminal.wait_for("│ first");
    terminal.press(CTRL_C);
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(130), "{screen}");
    assert!(screen.contains("continues in the daemon"), "{screen}");
    assert!(
        !screen.contains("stopping") && !screen.contains("safe point"),
        "{screen}"
    );
    drop(daemon);
}

#[test]
fn an_invalid_settings_file_does_not_stop_a_run_of_the_daemon() {
    let home = TestHome::new();
    let model = home.script(ANSWER);
    let daemon = RunningDaemon::serve(&home, &["--model", &model]);
    std::fs::write(home.home().join("config.toml"), "[model\n").expect("written");
    let said = home.wakeful(&["run", "hi"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.stdout.contains("understood") && said.stderr.contains("last valid settings"),
        "{said:?}"
    );
    let status = home.wakeful(&["daemon", "status"]);
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(
        status.stdout.contains("last valid settings") && !status.stdout.contains("daemon restart"),
        "{status:?}"
    );
    std::fs::write(home.home().join("config.toml"), "[agent]\nmax_rounds = 3\n").expect("written");
    let applied = home.wakeful(&["daemon", "status"]);
    assert!(
        !applied.stdout.contains("settings"),
        "it is used already: {applied:?}"
    );
    std::fs::write(home.home().join("config.toml"), "[log]\nlevel = \"warn\"\n").expect("written");
    let waiting = home.wakeful(&["daemon", "status"]);
    assert!(
        waiting
            .stdout
            .contains("`wakeful daemon restart` applies log.level"),
        "{waiting:?}"
    );
    std::fs::write(home.home().join("config.toml"), "[model\n").expect("written");
    drop(daemon);
    assert_eq!(home.wakeful(&["run", "hi"]).code, Some(2), "without a daemon");
}

#[test]
fn a_message_that_joined_a_stopped_run_is_reported_as_unanswered() {
    let home = ChatHome::new(&commands(&[WAITS]));
    let mut chat = home.chat(&["--new"]);
    chat.wait_for("· /help");
    chat.press("do it\r");
    chat.wait_for("│ first");
    chat.press("also do this\r");
    chat.wait_for("> also do this");
    chat.press("/stop\r");
    chat.wait_for("cancelled in");
    chat.wait_for("was not answered; /retry sends it again");
    std::fs::write(home.0.workspace().join("go"), "").expect("written");
    chat.press("/retry\r");
    chat.wait_for("completed in");
}

#[test]
fn the_end_of_a_run_that_a_message_joined_is_shown() {
    let home = ChatHome::new(&commands(&[WAITS]));
    let mut chat = home.chat(&["--new"]);
    chat.wait_for("· /help");
    chat.press("do it\r");
    chat.wait_for("│ first");
    chat.press("also do this\r");
    chat.wait_for("> also do this");
    std::fs::write(home.0.workspace().join("go"), "").expect("written");
    chat.wait_for("the message joined the run");
    chat.wait_for("all done");
    chat.wait_for("completed in");
    assert!(!chat.screen().contains("was not answered"));
}

#[test]
fn a_conversation_opened_during_a_command_shows_its_output() {
    let home = ChatHome::new(&commands(&[WAITS]));
    let mut first = home.chat(&["--new"]);
    first.wait_for("· /help");
    first.press("do it\r");
    first.wait_for("│ first");
    first.kill();
    let second = home.chat(&[]);
    second.wait_for("s · ExecCommand echo first");
    std::fs::write(home.0.workspace().join("go"), "").expect("written");
    second.wait_for("│ second");
    second.wait_for("completed in");
}

#[test]
fn the_history_shows_why_a_run_failed() {
    let script = "rounds: [{fail: {status: 401, message: Incorrect API key provided}}]\n";
    let home = ChatHome::new(script);
    let mut first = home.chat(&["--new"]);
    first.wait_for("· /help");
    first.press("do it\r");
    first.wait_for("failed in");
    first.wait_for("refused the API key");
    assert!(
        !first.screen().contains("fail_fast_aborted"),
        "{}",
        first.screen()
    );
    first.kill();
    let second = home.chat(&[]);
    second.wait_for("! failed: The provider");
    second.wait_for("wakeful runs retry");
}

#[test]
fn an_unknown_model_is_refused_when_it_is_chosen() {
    let home = ChatHome::new(ANSWER);
    let mut chat = home.chat(&["--new"]);
    chat.wait_for("· /help");
    chat.press("/model nope/x\r");
    chat.wait_for("unknown provider nope");
    chat.press("/model demo\r");
    chat.wait_for("the next messages use demo");
    assert_eq!(home.0.wakeful(&["agent", "create", "other"]).code, Some(0));
    chat.press("/agent other\r");
    chat.wait_for("agent other");
    chat.press("/model\r");
    wait_until(|| {
        chat.screen().contains("model scripted:") || chat.screen().contains("model of the settings")
    });
    chat.press("/attach nofile\r");
    chat.wait_for("error[bad_attachment]: nofile:");
    chat.press("read @nofile.txt\r");
    chat.wait_for("there is no file nofile.txt");
    let refused = home.0.wakeful(&["chat", "--model", "nope/x"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn output_for_a_pipe_has_no_control_characters() {
    let home = TestHome::new();
    let hostile = r"printf '\033]0;title\007\033[2Jx\342\200\256y\n'";
    let model = home.script(&commands(&[hostile]));
    let run = home
        .wakeful(&["run", "do it", "--json", "--model", &model])
        .json();
    let shown = home.wakeful(&["runs", "show", run["run_key"].as_str().expect("a key")]);
    assert!(shown.stdout.contains("]0;title"), "{shown:?}");
    assert!(
        !shown.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{shown:?}"
    );
}
