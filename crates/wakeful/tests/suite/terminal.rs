//! `wakeful run` and `wakeful chat` in a terminal.

use super::home_fixture::{TestHome, commands, lasting, statuses, wait_until};
use super::pty_fixture::{CTRL_C, CTRL_D, Terminal};

/// A round whose words arrive over a minute.
fn slow_words() -> String {
    let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
    format!("rounds:\n  - text: {}\n    delay_ms: 60000\n", words.join(" "))
}

fn asking(home: &TestHome, script: &str) -> Terminal {
    let model = home.script(script);
    let args = ["run", "do it", "--model", &model, "--ask-tools", "ExecCommand"];
    Terminal::start(home, 80, &[], &args)
}

#[test]
fn words_appear_before_the_run_ends() {
    let home = TestHome::new();
    let model = home.script(&slow_words());
    let mut terminal = Terminal::start(&home, 80, &[], &["run", "do it", "--model", &model]);
    terminal.wait_for("word0 word1");
    assert!(terminal.is_running());
}

#[test]
fn the_answer_is_shown_once() {
    let home = TestHome::new();
    let model = home.script("rounds: [{text: It says hello., delay_ms: 50}]\n");
    let terminal = Terminal::start(&home, 80, &[], &["run", "do it", "--model", &model]);
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("It says hello.").count(), 1, "{screen}");
}

#[test]
fn output_of_a_command_appears_while_it_runs() {
    let home = TestHome::new();
    let model = home.script(&commands(&[
        "echo first; until [ -e go ]; do sleep 0.02; done; echo second",
    ]));
    let mut terminal = Terminal::start(&home, 40, &[], &["run", "do it", "--model", &model]);
    terminal.wait_for("│ first\n");
    assert!(terminal.is_running());
    std::fs::write(home.workspace().join("go"), "").expect("written");
    terminal.wait_for("│ second\n");
    assert_eq!(terminal.exit().0, Some(0));
}

#[test]
fn y_approves_once() {
    let home = TestHome::new();
    let mut terminal = asking(&home, &commands(&["echo one >> world.txt"]));
    terminal.wait_for("later > ");
    assert_eq!(home.lines(), Vec::<String>::new());
    terminal.press("y\n");
    let (code, screen) = terminal.exit();
    assert_eq!(
        (code, home.lines()),
        (Some(0), vec!["one".to_owned()]),
        "{screen}"
    );
    assert!(screen.contains("all done"), "{screen}");
}

#[test]
fn n_denies_and_the_model_reads_the_reason() {
    let home = TestHome::new();
    let model = home.script(&commands(&["echo one >> world.txt"]));
    let args = [
        "run",
        "do it",
        "--model",
        &model,
        "--ask-tools",
        "ExecCommand",
        "--agent",
        "a",
        "--create-agent",
    ];
    let mut terminal = Terminal::start(&home, 80, &[], &args);
    terminal.wait_for("later > ");
    terminal.press("n use a branch\n");
    let (code, screen) = terminal.exit();
    assert_eq!((code, home.lines()), (Some(4), vec![]), "{screen}");
    let transcript = home.wakeful(&["transcript", "a", "--json"]).stdout;
    assert!(transcript.contains("use a branch"), "{transcript}");
}

#[test]
fn why_explains_and_later_leaves_the_decision_pending() {
    let home = TestHome::new();
    let mut terminal = asking(&home, &commands(&["echo one >> world.txt"]));
    terminal.wait_for("later > ");
    terminal.press("why\n");
    terminal.wait_for("cause   a person sent it");
    terminal.press("later\n");
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(3), "{screen}");
    assert!(screen.contains("wakeful decision answer"), "{screen}");
    assert_eq!(home.lines(), Vec::<String>::new());
}

#[test]
fn keys_pressed_before_the_question_do_not_answer_it() {
    let home = TestHome::new();
    let script = "rounds:\n  - delay_ms: 1500\n    tools: [{name: ExecCommand, input: {cmd: echo one >> world.txt}}]\n  - text: done\n";
    let mut terminal = asking(&home, script);
    terminal.wait_for("waiting for the model");
    terminal.press("y\ny\n");
    terminal.wait_for("later > ");
    terminal.press("later\n");
    let (code, screen) = terminal.exit();
    assert_eq!((code, home.lines()), (Some(3), vec![]), "{screen}");
}

#[test]
fn ctrl_c_pauses_and_says_how_to_continue() {
    let home = TestHome::new();
    let model = home.script(&lasting("0.5"));
    let mut terminal = Terminal::start(&home, 80, &[], &["run", "do it", "--model", &model]);
    wait_until(|| home.workspace().join("begun").exists());
    terminal.press(CTRL_C);
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(130), "{screen}");
    assert!(screen.contains("wakeful run --resume"), "{screen}");
    let resumed = home.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(statuses(&resumed.json()), ["ok"]);
    assert_eq!(home.lines(), ["one"]);
}

#[test]
fn hostile_output_does_not_control_the_terminal() {
    let home = TestHome::new();
    let hostile = r"printf '\033]0;title\007\033[2J\033[1;1Hx\n'";
    let model = home.script(&commands(&[hostile]));
    let variables = [("NO_COLOR", "1"), ("LANG", "C")];
    let terminal = Terminal::start(&home, 40, &variables, &["run", "do it", "--model", &model]);
    wait_until(|| terminal.raw().contains("in "));
    let raw = terminal.raw();
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(0), "{screen}");
    assert!(raw.is_ascii(), "{raw:?}");
    // Only the sequences of the screen itself: move up, and erase.
    for sequence in raw.split('\u{1b}').skip(1) {
        let end = sequence.trim_start_matches(|c: char| c == '[' || c.is_ascii_digit());
        assert!(end.starts_with(['A', 'J']), "{sequence:?} in {raw:?}");
    }
    assert!(raw.contains("?]0;title?"), "{raw:?}");
}

/// A home whose daemon listens on a free port and answers slowly, and is stopped at the end.
pub(super) struct ChatHome(pub(super) TestHome);

impl ChatHome {
    pub(super) fn new(script: &str) -> Self {
        let home = TestHome::new();
        let model = home.script(script);
        for (name, value) in [("server.port", "0"), ("model.default", &model)] {
            let set = home.wakeful(&["config", "set", name, value]);
            assert_eq!(set.code, Some(0), "{set:?}");
        }
        Self(home)
    }

    pub(super) fn chat(&self, args: &[&str]) -> Terminal {
        Terminal::start(&self.0, 80, &[], &[&["chat"], args].concat())
    }

    /// A conversation that is started in this folder.
    fn chat_in(&self, folder: &std::path::Path) -> Terminal {
        Terminal::start_in(&self.0, folder, 80, &["chat"])
    }
}

impl Drop for ChatHome {
    fn drop(&mut self) {
        self.0.wakeful(&["daemon", "stop"]);
    }
}

#[test]
fn a_killed_conversation_is_continued_with_its_run() {
    let home =
        ChatHome::new("rounds: [{text: one two three four five six seven eight nine ten, delay_ms: 4000}]\n");
    let mut first = home.chat(&["--new"]);
    first.wait_for("· /help");
    first.press("count for me\r");
    first.wait_for("one two");
    first.kill();
    let mut second = home.chat(&[]);
    second.wait_for("> count for me");
    second.wait_for("a run of this conversation is in progress");
    second.wait_for("nine ten");
    second.wait_for("completed in");
    second.press(CTRL_D);
    let (code, screen) = second.exit();
    assert_eq!(code, Some(0), "{screen}");
    let runs = home.0.wakeful(&["runs", "list", "--json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
}

#[test]
fn conversations_of_an_agent_are_separate_and_listed() {
    let home = ChatHome::new("rounds: [{text: understood}]\n");
    let mut terminal = home.chat(&["--thread", "trip"]);
    terminal.wait_for("conversation trip");
    terminal.press("about the trip\r");
    terminal.wait_for("completed in");
    terminal.press("/thread work\r");
    terminal.wait_for("conversation work");
    terminal.press("about\u{1b}\rthe work\r");
    terminal.wait_for("> about\nthe work\n");
    terminal.press("/thread\r/modle\r");
    terminal.wait_for("did you mean /model?");
    terminal.press("/quit\r");
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(0), "{screen}");
    let told = |thread: &str| {
        home.0
            .wakeful(&["transcript", "main", "--json", "--thread", thread])
            .stdout
    };
    assert!(told("trip").contains("about the trip") && !told("trip").contains("the work"));
    assert!(told("work").contains("the work") && !told("work").contains("about the trip"));
}

#[test]
fn commands_of_a_conversation_attach_stop_and_show_the_cost() {
    let home =
        ChatHome::new("rounds: [{text: one two three four five six seven eight nine ten, delay_ms: 4000}]\n");
    let note = home.0.workspace().join("my note.txt");
    std::fs::write(&note, "the door is blue").expect("written");
    let mut terminal = home.chat(&["--thread", "trip"]);
    terminal.wait_for("· /help");
    terminal.press("/stop\r");
    terminal.wait_for("no run is in progress");
    terminal.press("count\r");
    terminal.wait_for("one two");
    terminal.press("/stop\r");
    terminal.wait_for("cancelled in");
    terminal.press("/attach nowhere.txt\r");
    terminal.wait_for("error[bad_attachment]");
    terminal.press(&format!("/attach {}\r", note.display()));
    terminal.wait_for("is attached to the next message");
    terminal.press("read it\r");
    terminal.wait_for("completed in");
    terminal.press("/cost\r");
    terminal.wait_for("last run");
    terminal.wait_for("for all agents");
    terminal.press(CTRL_D);
    let (code, screen) = terminal.exit();
    assert_eq!(code, Some(0), "{screen}");
    let transcript = home
        .0
        .wakeful(&["transcript", "main", "--json", "--thread", "trip"]);
    assert!(transcript.stdout.contains("my note.txt"), "{transcript:?}");
    let runs = home.0.wakeful(&["runs", "list", "--json"]).json();
    let statuses: Vec<_> = (0..2).map(|at| runs["runs"][at]["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "cancelled"], "{runs}");
}

#[test]
fn chat_in_a_folder_that_contains_the_home_offers_another() {
    let home = ChatHome::new("rounds: [{text: understood}]\n");
    let mut terminal = home.chat_in(home.0.path());
    terminal.wait_for("wakeful-work instead?");
    terminal.press("y\n");
    terminal.wait_for("· /help");
    terminal.press(CTRL_D);
    assert_eq!(terminal.exit().0, Some(0));
    let made = home.0.path().join("wakeful-work").canonicalize().expect("made");
    let agent = home.0.wakeful(&["agent", "show", "main", "--json"]).json();
    assert_eq!(agent["workspace"], serde_json::json!(made), "{agent}");
}

#[test]
fn output_fits_forty_columns_without_utf_8() {
    let home = TestHome::new();
    assert_eq!(home.wakeful(&["init", "--yes"]).code, Some(0));
    home.wakeful(&["run", "Schöne Grüße → überall", "--agent", "main"]);
    for args in [
        &["status"][..],
        &["runs", "list"],
        &["agent", "show", "main"],
        &["agent", "show", "nowhere"],
        &["transcript", "main"],
    ] {
        let variables = [("LANG", "C"), ("LC_ALL", "C"), ("PAGER", "cat")];
        let terminal = Terminal::start(&home, 40, &variables, args);
        let (_, screen) = terminal.exit();
        assert!(screen.is_ascii(), "{args:?}: {screen}");
        for row in screen.lines() {
            let is_one_word = !row.trim().contains(' ');
            assert!(row.len() <= 40 || is_one_word, "{args:?}: {row:?} in\n{screen}");
        }
    }
}

#[test]
fn a_decision_in_a_conversation_is_answered_there() {
    let home = ChatHome::new(&commands(&["echo one >> world.txt"]));
    let set = home
        .0
        .wakeful(&["config", "set", "agent.ask_tools", "ExecCommand"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let mut terminal = home.chat(&[]);
    terminal.wait_for("· /help");
    terminal.press("do it\r");
    terminal.wait_for("later > ");
    terminal.press("y\r");
    terminal.wait_for("all done");
    assert_eq!(home.0.lines(), ["one"]);
}

#[test]
fn chat_without_a_terminal_is_refused() {
    let home = TestHome::new();
    let said = home.wakeful(&["chat", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "not_a_terminal"),
        "{said:?}"
    );
    let terminal = Terminal::start(&home, 80, &[("TERM", "dumb")], &["chat"]);
    assert_eq!(terminal.exit().0, Some(2));
}
