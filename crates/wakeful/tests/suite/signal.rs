//! Ctrl-C and SIGTERM: a stop at a safe point, and how to continue from there.

use std::process::{Child, Command};

use super::home_fixture::{CommandOutput, SILENT, TestHome, lasting, statuses, wait_until};

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

// Conformance: A-34
#[test]
fn a_run_stopped_by_a_signal_stays_open_with_a_hint() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let world = TestHome::new();
        let model = world.script(SILENT);
        let running = world.start(&["run", "do it", "--json", "--model", &model]);
        wait_until(|| !world.open_runs().is_empty());
        let key = world.open_runs().remove(0);
        send(signal, &running);
        let said: CommandOutput = running.wait_with_output().expect("ends").into();
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(code), "interrupted"),
            "{said:?}"
        );
        for word in [
            key.as_str(),
            "wakeful run --resume",
            &format!("wakeful runs cancel {key}"),
        ] {
            assert!(said.stderr.contains(word), "{word}: {said:?}");
        }
        world.script("rounds: [{text: went on}]\n");
        let resumed = world.wakeful(&["run", "--resume", "--json"]);
        assert_eq!(
            (resumed.code, resumed.json()["final_text"].as_str()),
            (Some(0), Some("went on")),
            "{resumed:?}"
        );
    }
}

#[test]
fn a_command_that_finishes_after_a_signal_is_recorded_as_done() {
    let world = TestHome::new();
    let model = world.script(&lasting("0.7"));
    let running = world.start(&["run", "do it", "--json", "--model", &model]);
    wait_until(|| world.workspace().join("begun").exists());
    send("-INT", &running);
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(said.code, Some(130), "{said:?}");
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(
        (resumed.code, statuses(&resumed.json())),
        (Some(0), vec!["ok".to_owned()]),
        "{resumed:?}"
    );
    assert_eq!(world.lines(), ["one"]);
}

#[test]
fn a_second_signal_exits_at_once() {
    let world = TestHome::new();
    let model = world.script(&lasting("60"));
    let mut running = world.start(&["run", "do it", "--json", "--model", &model]);
    wait_until(|| world.workspace().join("begun").exists());
    send("-INT", &running);
    // The first signal is handled once its line is printed; a second one before that would be merged with
    // it.
    let mut heard = String::new();
    let mut stderr = std::io::BufReader::new(running.stderr.take().expect("piped"));
    std::io::BufRead::read_line(&mut stderr, &mut heard).expect("a line");
    assert!(heard.contains("safe point"), "{heard}");
    send("-TERM", &running);
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!((said.code, said.stdout.as_str()), (Some(143), ""), "{said:?}");
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(statuses(&resumed.json()), ["outcome_unknown"], "{resumed:?}");
}

#[test]
fn a_run_stopped_by_a_signal_on_postgres_is_released_at_once() {
    let world = TestHome::on_postgres();
    let model = world.script(SILENT);
    let running = world.start(&["run", "do it", "--json", "--model", &model]);
    wait_until(|| !world.open_runs().is_empty());
    send("-TERM", &running);
    let said: CommandOutput = running.wait_with_output().expect("ends").into();
    assert_eq!(said.code, Some(143), "{said:?}");
    assert_eq!(
        world
            .database()
            .value("SELECT count(*) FROM wakeful_agents.runner"),
        "0"
    );
    world.script("rounds: [{text: went on}]\n");
    let resumed = world.wakeful(&["run", "--resume", "--json"]);
    assert_eq!(resumed.json()["final_text"], "went on", "{resumed:?}");
}
