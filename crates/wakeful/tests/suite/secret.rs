//! Secrets of commands, from storing to everything that a run leaves.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::external_trigger::call;
use super::home_fixture::{CommandOutput, TestHome};

/// How many secrets a run uses at once and one after the other.
const CANARIES: usize = 20;

fn name(number: usize) -> String {
    format!("CANARY_{number}")
}

fn value(number: usize) -> String {
    match number % 4 {
        0 => format!("k3y/{number}+with=signs&and spaces"),
        1 => format!("first-line-{number}\nsecond-line-{number}"),
        2 => format!("sk-{number}-{}", "x9".repeat(60)),
        _ => format!("\"quoted\\{number}\" t0ken"),
    }
}

fn store(home: &TestHome, number: usize, agents: &[&str]) -> CommandOutput {
    let (name, file) = (name(number), home.path().join("value"));
    std::fs::write(&file, value(number)).expect("a file");
    let file = file.display().to_string();
    let mut args = vec!["secret", "set", &name, "--file", &file, "--json"];
    args.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
    let stored = home.wakeful(&args);
    assert_eq!(stored.code, Some(0), "{stored:?}");
    std::fs::remove_file(file).expect("removed");
    stored
}

/// A script that prints each secret in several forms, and ends with one in a reply.
fn script() -> String {
    let rounds = (0..CANARIES).step_by(5).map(|first| {
        let names: Vec<String> = (first..first + 5).map(name).collect();
        let print = "for n in $N; do v=$(printenv $n); printf %s \"$v\"; printf %s \"$v\" | base64; \
                     printf 'a%s' \"$v\" | base64 -w0; printf %s \"$v\" | od -An -tx1 | tr -d ' \\n'; \
                     printf %s \"$v\" >&2; echo; done; printf %s \"$v\" > kept";
        let cmd = print.replace("$N", &names.join(" "));
        let input = json!({"cmd": cmd, "secrets": names});
        format!(
            "  - tools: [{{name: ExecCommand, input: {input}}}, {{name: ReadFile, input: {{path: kept}}}}]\n"
        )
    });
    let reply = json!(value(0));
    format!("rounds:\n{}  - text: {reply}\n", rounds.collect::<String>())
}

/// The forms in which a value must not remain.
fn forms(number: usize) -> Vec<Vec<u8>> {
    let value = value(number);
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let quoted = json!(value).to_string();
    let mut forms = vec![value.clone(), quoted[1..quoted.len() - 1].to_owned(), hex];
    // The first line of the encoded text, without the end that depends on what follows.
    forms.extend([0, 1].map(|before| {
        let text = STANDARD.encode(["a".repeat(before), value.clone()].concat());
        text[before * 2..text.len().min(60) - 4].to_owned()
    }));
    forms.into_iter().map(String::into_bytes).collect()
}

/// The files below a folder that contain a form of a secret.
fn traces(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        // The places of the values, and the workspace's own contents.
        if path.ends_with("keys") || path.ends_with("snapshots") {
            continue;
        }
        if path.is_dir() {
            traces(&path, found);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        found.extend(in_bytes(&bytes).map(|number| format!("{number} in {}", path.display())));
    }
}

fn in_bytes(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let has = |form: &Vec<u8>| bytes.windows(form.len()).any(|window| window == form.as_slice());
    (0..CANARIES).filter(move |number| forms(*number).iter().any(has))
}

/// Neither output of a command contains a secret.
fn assert_clean(said: &CommandOutput) {
    let found: Vec<usize> = in_bytes(said.stdout.as_bytes())
        .chain(in_bytes(said.stderr.as_bytes()))
        .collect();
    assert!(found.is_empty(), "{found:?} in {said:?}");
}

/// Exports a run and makes a backup, and checks them and every file of the home.
fn assert_no_traces(home: &TestHome, run_key: &str) {
    let (bundle, copy) = (home.path().join("bundle"), home.path().join("copy"));
    for args in [
        ["export", run_key, "--out", &bundle.display().to_string()].as_slice(),
        &["backup", &copy.display().to_string()],
    ] {
        let done = home.wakeful(args);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let mut found = Vec::new();
    traces(&home.home(), &mut found);
    for file in [bundle, copy] {
        found.extend(in_bytes(&std::fs::read(file).expect("written")).map(|number| number.to_string()));
    }
    assert!(found.is_empty(), "{found:?}");
}

/// The first step of a run with its output.
fn first_step(home: &TestHome, run: &CommandOutput) -> Value {
    let key = run.json()["run_key"].as_str().expect("a key").to_owned();
    let shown = home.wakeful(&["runs", "show", &key, "--json"]).json();
    let mut steps = shown["steps"].as_array().expect("steps").iter();
    steps
        .find(|step| step["tool"] == "ExecCommand" || step["name"] == "ExecCommand")
        .unwrap_or_else(|| panic!("{shown}"))
        .clone()
}

#[test]
fn twenty_secrets_reach_their_commands_and_leave_no_trace() {
    let home = TestHome::new();
    let made = home.wakeful(&["agent", "create", "main"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for number in 0..CANARIES {
        store(&home, number, &["main"]);
    }
    let model = home.script(&script());
    // The script is the only file outside the home that contains one.
    let run = home.wakeful(&["run", "--agent", "main", "go", "--model", &model, "--json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let run_key = run.json()["run_key"].as_str().expect("a key").to_owned();
    let kept = std::fs::read_to_string(home.workspace().join("kept")).expect("the command received it");
    assert_eq!(kept, value(CANARIES - 1));
    let (bundle, copy) = (home.path().join("bundle"), home.path().join("copy"));
    let said = [
        home.wakeful(&["runs", "show", &run_key, "--full"]),
        home.wakeful(&["transcript", "main", "--json"]),
        home.wakeful(&["events", "main", "--json"]),
        home.wakeful(&["export", &run_key, "--out", &bundle.display().to_string()]),
        home.wakeful(&["backup", &copy.display().to_string()]),
        home.wakeful(&["secret", "list", "--json"]),
        home.wakeful(&["config", "get"]),
        run,
    ];
    for said in &said {
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_clean(said);
    }
    assert!(said[0].stdout.contains("[secret CANARY_0]"), "{said:?}");
    let mut found = Vec::new();
    traces(&home.home(), &mut found);
    for file in [bundle, copy] {
        found.extend(in_bytes(&std::fs::read(file).expect("written")).map(|number| number.to_string()));
    }
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(home.wakeful(&["verify"]).code, Some(0));
}

/// A hook that prints secrets in several forms to both outputs, and asks for an approval of nothing.
fn printing_hook(numbers: std::ops::Range<usize>) -> Value {
    let names: Vec<String> = numbers.map(name).collect();
    let print = "cat >/dev/null; for n in $N; do v=$(printenv $n) || exit 3; printf %s \"$v\" >>got; \
                 printf %s \"$v\" | base64 >&2; printf %s \"$v\" >&2; done; exit 2";
    json!({"type": "command", "command": print.replace("$N", &names.join(" ")), "secrets": names})
}

#[test]
fn twenty_secrets_in_messages_hooks_and_deliveries_leave_no_trace() {
    let home = TestHome::new();
    let made = home.wakeful(&["agent", "create", "main"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    for number in 0..CANARIES {
        store(&home, number, &[]);
    }
    let model = home.script(
        "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"true\"}}]\n  - text: done\nrepeat_last: true\n",
    );
    let hooks = json!({"hooks": {"PreToolUse": [
        {"hooks": [printing_hook(0..10)]}, {"hooks": [printing_hook(10..CANARIES)]},
    ]}});
    std::fs::write(home.home().join("hooks.json"), hooks.to_string()).expect("written");
    let encoded = |number: usize| STANDARD.encode(format!("user:{}", value(number)));
    let typed: Vec<String> = (0..CANARIES)
        .map(|n| format!("key {n}: {} or {}", value(n), encoded(n)))
        .collect();
    let typed = typed.join("\n");
    let run = home.wakeful(&["run", "--agent", "main", &typed, "--model", &model, "--json"]);
    assert_eq!(run.code, Some(4), "the hook denies the call: {run:?}");
    assert!(
        run.stderr.contains("replaced"),
        "the person learns of it: {run:?}"
    );
    let got = std::fs::read_to_string(home.workspace().join("got")).expect("the hook ran");
    assert!(
        got.contains(&value(0)) && !got.contains(&value(10)),
        "the first hook blocked"
    );
    let run_key = run.json()["run_key"].as_str().expect("a key").to_owned();
    let daemon = RunningDaemon::serve(&home, &["--model", &model]);
    let address = daemon.address().expect("an address");
    let shown = home
        .wakeful(&["agent", "external-trigger", "show", "main", "--json"])
        .json();
    let path = shown["trigger_path"].as_str().expect("a path");
    for body in [typed.clone(), json!({"keys": [typed]}).to_string()] {
        let (status, answer) = call(&address, path, None, body.as_bytes());
        assert_eq!(status, 202, "{answer}");
    }
    let noted = home.wakeful(&["message", "main", &format!("remember {}", value(3))]);
    assert_eq!(noted.code, Some(0), "{noted:?}");
    assert!(noted.stderr.contains("replaced"), "{noted:?}");
    let braked = home.wakeful(&["brake", "on", "--reason", &value(2)]);
    let said = [
        home.wakeful(&["runs", "show", &run_key, "--full"]),
        home.wakeful(&["transcript", "main", "--json"]),
        home.wakeful(&["events", "main", "--json"]),
        home.wakeful(&["runs", "list", "--json"]),
        noted,
        braked,
        run,
    ];
    daemon.kill();
    said.iter().for_each(assert_clean);
    assert!(said[0].stdout.contains("[secret CANARY_19]"), "{said:?}");
    assert_no_traces(&home, &run_key);
}

#[test]
fn a_command_receives_only_secrets_that_its_agent_may_use() {
    let home = TestHome::new();
    home.wakeful(&["agent", "create", "main"]);
    store(&home, 0, &["main"]);
    store(&home, 2, &[]);
    let ask = |names: &str| {
        let cmd = "env | grep -c CANARY; true";
        let yaml = format!(
            "rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: \"{cmd}\", secrets: [{names}]}}}}]\n  - text: done\n"
        );
        let run = home.run(&yaml, &["--agent", "main"]);
        first_step(&home, &run)
    };
    let without = home.run(
        "rounds:\n  - tools: [{name: ExecCommand, input: {cmd: \"env | grep -c CANARY; true\"}}]\n  - text: done\n",
        &["--agent", "main"],
    );
    let step = first_step(&home, &without);
    assert_eq!(
        step["output"]["text"].as_str().map(str::trim),
        Some("0"),
        "{step}"
    );
    let one = ask("CANARY_0");
    assert_eq!(
        (&one["status"], one["output"]["text"].as_str().map(str::trim)),
        (&json!("ok"), Some("1")),
        "{one}"
    );
    for names in ["CANARY_2", "CANARY_0, CANARY_2", "CANARY_9"] {
        let denied = ask(names);
        assert_eq!(denied["status"], "denied", "{denied}");
        assert!(denied.to_string().contains("secret_"), "{denied}");
    }
    let removed = home.wakeful(&["secret", "remove", &name(0)]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let gone = ask("CANARY_0");
    assert!(gone.to_string().contains("secret_unavailable"), "{gone}");
    assert!(!home.home().join("keys").join("secret-CANARY_0").exists());
}
