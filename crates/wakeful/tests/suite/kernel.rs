//! The pure core as a process: every line gets a response, and no line ends the process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::home_fixture::{TestHome, program};

fn start(world: &TestHome) -> (Child, BufReader<ChildStdout>) {
    let mut command = world.command(program());
    command.args(["debug", "kernel"]).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, stdout)
}

fn answer(stdout: &mut BufReader<ChildStdout>) -> Value {
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line:?}"))
}

#[test]
fn the_kernel_answers_every_line_at_once_and_ends_with_its_input() {
    let world = TestHome::new();
    let (mut child, mut stdout) = start(&world);
    let mut stdin = child.stdin.take().expect("a pipe");
    // The response arrives while the input is still open; otherwise this test hangs.
    stdin
        .write_all(b"{\"id\":1,\"op\":\"hash\",\"label\":\"run.user\",\"fields\":[]}\n")
        .expect("written");
    let key = json!({"key": "e75df90b80bd506092dcc3fd65b0adda77cb78cd5dfaa0ada4321c9fa4b0781d"});
    assert_eq!(answer(&mut stdout), json!({"id": 1, "ok": true, "result": key}));
    // A line also gets its response when the next one is only partly written.
    stdin.write_all(b"[]\n{\"id\":").expect("written");
    assert_eq!(answer(&mut stdout)["error"]["code"], "bad_request");
    stdin
        .write_all(b"2}\n\n\xff\n{\"id\":3,\"op\":\"nope\"}\n")
        .expect("written");
    let code = |answer: Value| {
        (
            answer["id"].clone(),
            answer["error"]["code"].as_str().unwrap_or("none").to_owned(),
        )
    };
    let codes: Vec<_> = (0..4).map(|_| code(answer(&mut stdout))).collect();
    let expected = [
        (json!(2), "bad_request"),
        (json!(null), "bad_json"),
        (json!(null), "bad_json"),
        (json!(3), "unknown_op"),
    ];
    assert_eq!(codes, expected.map(|(id, code)| (id, code.to_owned())));
    let long = vec![b'['; 9 * 1024 * 1024];
    stdin.write_all(&long).expect("written");
    stdin
        .write_all(b"\n{\"id\":4,\"op\":\"token_key\",\"class\":\"entityId\",\"value\":\"x\"}")
        .expect("written");
    drop(stdin);
    assert_eq!(code(answer(&mut stdout)), (json!(null), "too_large".to_owned()));
    assert_eq!(
        answer(&mut stdout)["result"],
        json!({"key": "entityId|-|x"}),
        "the last line needs no end"
    );
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the end");
    let ended = child.wait().expect("it ends");
    assert_eq!((rest.as_str(), ended.code()), ("", Some(0)));
    assert!(!world.home().exists(), "it needs no home");
}

#[test]
fn the_kernel_exits_quietly_when_its_output_is_closed() {
    let world = TestHome::new();
    let (mut child, stdout) = start(&world);
    drop(stdout);
    let mut stdin = child.stdin.take().expect("a pipe");
    // The process may exit before all of this is written.
    for _ in 0..1_000 {
        if stdin.write_all(b"{\"id\":1,\"op\":\"nope\"}\n").is_err() {
            break;
        }
    }
    drop(stdin);
    let said = child.wait_with_output().expect("it ends");
    assert_eq!(
        (said.status.code(), String::from_utf8_lossy(&said.stderr).as_ref()),
        (Some(0), "")
    );
}
