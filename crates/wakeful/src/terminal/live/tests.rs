use proptest::prelude::*;
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;
use wakeful_core::key::Digest;

use super::*;
use crate::terminal::{Colour, Drawing};

/// A terminal that understands exactly the sequences that the screen may use.
struct Emulator {
    width: usize,
    rows: Vec<String>,
    cursor: (usize, usize),
}

impl Emulator {
    fn new(width: usize) -> Self {
        Self {
            width,
            rows: vec![String::new()],
            cursor: (0, 0),
        }
    }

    /// Applies bytes. Panics at any control character or sequence that is not expected.
    fn write(&mut self, bytes: &str) {
        let mut rest = bytes;
        while let Some(c) = rest.chars().next() {
            rest = rest.strip_prefix(c).expect("the first character");
            match c {
                '\n' => {
                    self.cursor = (self.cursor.0 + 1, 0);
                    if self.cursor.0 == self.rows.len() {
                        self.rows.push(String::new());
                    }
                }
                '\r' => self.cursor.1 = 0,
                '\u{1b}' => {
                    let (sequence, after) = rest
                        .strip_prefix('[')
                        .and_then(|rest| {
                            rest.split_at_checked(rest.find(|c: char| c.is_ascii_alphabetic())? + 1)
                        })
                        .expect("a sequence");
                    rest = after;
                    let (number, command) = sequence.split_at(sequence.len() - 1);
                    let number: usize = number.parse().unwrap_or(0);
                    match command {
                        "A" => self.cursor.0 -= number,
                        "C" => self.cursor.1 += number,
                        "J" => {
                            assert_eq!(self.cursor.1, 0, "erases whole rows only");
                            self.rows.truncate(self.cursor.0);
                            self.rows.push(String::new());
                        }
                        "m" => {}
                        other => panic!("unexpected sequence {other:?}"),
                    }
                }
                c => {
                    assert!(!c.is_control(), "{c:?} reached the terminal");
                    let row = &mut self.rows[self.cursor.0];
                    assert_eq!(row.width(), self.cursor.1, "overwrites {row:?}");
                    row.push(c);
                    self.cursor.1 = row.width();
                    assert!(row.width() <= self.width, "{row:?} is wider than {}", self.width);
                }
            }
        }
    }

    fn text(&self) -> String {
        self.rows.join("\n")
    }
}

fn style(width: usize, charset: Charset) -> Style {
    Style {
        width,
        colour: Colour::On,
        charset,
        drawing: Drawing::Redraw,
    }
}

fn run() -> RunKey {
    RunKey(Digest::of(b"run"))
}

fn operation(name: &str) -> OperationId {
    OperationId(Digest::of(name.as_bytes()))
}

fn payload(kind: &str, payload: &serde_json::Value) -> Payload {
    Payload::read(kind, payload).unwrap_or_else(|| panic!("{kind} {payload}"))
}

fn permitted(name: &str, cmd: &str) -> Payload {
    let input = json!({"cmd": cmd}).to_string();
    let id = operation(name);
    payload(
        "policy_decided",
        &json!({"operation_id": id, "tool": "ExecCommand", "input": input, "effect": "permit", "rule": "r"}),
    )
}

fn executed(name: &str) -> Payload {
    let id = operation(name);
    payload(
        "tool_executed",
        &json!({"operation_id": id, "tool": "ExecCommand", "status": "ok", "duration_ms": 120}),
    )
}

fn replied(text: &str, tools: &[&str]) -> Payload {
    payload(
        "assistant_round_recorded",
        &json!({"round": 0, "text": text, "tools": tools}),
    )
}

fn words(attempt: u32, text: &str) -> Words<'_> {
    let run = run();
    Words { run, attempt, text }
}

/// A run up to the middle of its answer.
fn story(live: &mut Live) {
    live.follow(run());
    live.words(&words(0, "I look at the folder, "));
    live.words(&words(
        0,
        "and then I count what is in it; after that I write a short report about the largest files.",
    ));
    live.event(Some(run()), &replied("I look", &["ExecCommand"]));
    live.event(
        Some(run()),
        &permitted("one", "ls -la | wc -l && echo a command that is rather long"),
    );
    live.printed(&Printed {
        operation_id: operation("one"),
        text: "12\na command that is rather long, and has\ta tab\n",
    });
    live.event(Some(run()), &executed("one"));
    live.words(&words(1, "There are **12** entries → 日本語 too"));
    live.tick(Duration::from_millis(75_300));
}

fn shown(width: usize, charset: Charset) -> String {
    let mut live = Live::new(style(width, charset));
    let mut terminal = Emulator::new(width);
    story(&mut live);
    terminal.write(&live.draw());
    terminal.text()
}

#[test]
fn a_run_fits_forty_columns() {
    insta::assert_snapshot!(shown(40, Charset::Utf8), @r"
    I look at the folder, and then I count
    what is in it; after that I write a
    short report about the largest files.
    → ExecCommand ls -la | wc -l && echo a
    command that is rather long
      │ 12
      │ a command that is rather long, and
      │ has    a tab
    ← ExecCommand ok in 120 ms
    There are **12** entries → 日本語 too
    ⠙ 1 min 15 s · writing
    ");
}

#[test]
fn a_run_fits_eighty_columns() {
    insta::assert_snapshot!(shown(80, Charset::Utf8), @r"
    I look at the folder, and then I count what is in it; after that I write a
    short report about the largest files.
    → ExecCommand ls -la | wc -l && echo a command that is rather long
      │ 12
      │ a command that is rather long, and has    a tab
    ← ExecCommand ok in 120 ms
    There are **12** entries → 日本語 too
    ⠙ 1 min 15 s · writing
    ");
}

#[test]
fn a_run_fits_a_hundred_and_twenty_columns() {
    insta::assert_snapshot!(shown(120, Charset::Utf8), @r"
    I look at the folder, and then I count what is in it; after that I write a short report about the largest files.
    → ExecCommand ls -la | wc -l && echo a command that is rather long
      │ 12
      │ a command that is rather long, and has    a tab
    ← ExecCommand ok in 120 ms
    There are **12** entries → 日本語 too
    ⠙ 1 min 15 s · writing
    ");
}

#[test]
fn without_utf_8_only_ascii_is_written() {
    let text = shown(40, Charset::Ascii);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text, @r"
    I look at the folder, and then I count
    what is in it; after that I write a
    short report about the largest files.
    -> ExecCommand ls -la | wc -l && echo a
    command that is rather long
      | 12
      | a command that is rather long, and
      | has    a tab
    <- ExecCommand ok in 120 ms
    There are **12** entries -> ??? too
    / 1 min 15 s * writing
    ");
}

#[test]
fn drawing_after_every_piece_gives_the_same_text() {
    let mut live = Live::new(style(40, Charset::Utf8));
    let mut terminal = Emulator::new(40);
    live.follow(run());
    let text = "one two three four five six seven eight nine ten eleven twelve";
    for word in text.split_inclusive(' ') {
        live.words(&words(0, word));
        terminal.write(&live.draw());
        live.tick(Duration::from_secs(1));
        terminal.write(&live.draw());
    }
    live.close();
    terminal.write(&live.draw());
    assert_eq!(
        terminal.text(),
        "one two three four five six seven eight\nnine ten eleven twelve\n"
    );
}

#[test]
fn without_colour_no_colour_is_written() {
    let mut live = Live::new(Style {
        colour: Colour::Off,
        ..style(80, Charset::Utf8)
    });
    story(&mut live);
    let bytes = live.draw();
    assert!(!bytes.contains('\u{1b}'), "{bytes:?}");
}

#[test]
fn a_terminal_that_only_appends_gets_words_and_no_status() {
    let mut live = Live::new(Style {
        colour: Colour::Off,
        drawing: Drawing::Append,
        ..style(80, Charset::Ascii)
    });
    live.follow(run());
    live.words(&words(0, "one "));
    live.tick(Duration::from_secs(1));
    assert_eq!(live.draw(), "one ");
    live.words(&words(0, "two"));
    assert_eq!(live.draw(), "two");
    live.close();
    assert_eq!(live.draw(), "\n");
}

#[test]
fn the_answer_counts_as_shown_only_if_every_piece_came() {
    let told = |pieces: &[(u32, &str)]| {
        let mut live = Live::new(style(80, Charset::Utf8));
        live.follow(run());
        pieces
            .iter()
            .for_each(|(attempt, text)| live.words(&words(*attempt, text)));
        live.event(Some(run()), &replied("all done", &[]));
        live.has_shown("all done")
    };
    assert!(told(&[(0, "all "), (0, "done")]));
    assert!(told(&[(0, "al"), (1, "all done")]), "the second attempt");
    assert!(!told(&[(0, "done")]), "a piece is missing");
    assert!(!told(&[(0, "all don")]), "the end is missing");
    assert!(!told(&[]));
}

#[test]
fn much_output_is_cut_and_counted() {
    let mut live = Live::new(style(80, Charset::Utf8));
    let mut terminal = Emulator::new(80);
    live.follow(run());
    live.event(Some(run()), &permitted("one", "seq 1000"));
    let lines: String = (0..1_000).map(|n| format!("{n}\n")).collect();
    live.printed(&Printed {
        operation_id: operation("one"),
        text: &lines,
    });
    live.event(Some(run()), &executed("one"));
    terminal.write(&live.draw());
    let text = terminal.text();
    assert!(text.contains("  │ 19\n  … 980 more lines\n"), "{text}");
}

#[test]
fn a_command_that_ended_with_an_error_is_not_ok() {
    let ended = |fields: &serde_json::Value| {
        let mut live = Live::new(style(80, Charset::Utf8));
        let mut said = json!({"operation_id": operation("one"), "tool": "ExecCommand", "duration_ms": 120});
        let known = said.as_object_mut().expect("an object");
        known.extend(fields.as_object().expect("an object").clone());
        live.event(Some(run()), &payload("tool_executed", &said));
        live.draw()
    };
    let [green, yellow, red] = ["32", "33", "31"]
        .map(|code| move |words: &str| format!("\u{1b}[{code}m← ExecCommand {words} in 120 ms\u{1b}[0m\n"));
    for (fields, line) in [
        (json!({"status": "ok", "exit_status": 0}), green("ok")),
        (json!({"status": "ok", "exit_status": 3}), yellow("exit 3")),
        (json!({"status": "failed", "exit_status": 3}), red("failed")),
    ] {
        let drawn = ended(&fields);
        assert!(drawn.starts_with(&line), "{drawn:?}");
    }
}

#[test]
fn text_of_a_sub_run_is_not_streamed() {
    let mut live = Live::new(style(80, Charset::Utf8));
    live.follow(run());
    live.words(&Words {
        run: RunKey(Digest::of(b"child")),
        ..words(0, "of a child")
    });
    assert_eq!(live.draw(), "");
}

proptest! {
    // The emulator panics at control characters and at rows that are too wide.
    #[test]
    fn hostile_text_neither_controls_nor_overflows_the_terminal(
        pieces in proptest::collection::vec("(?s).{0,60}|[\u{1b}\u{9b}\\[\\]0-9;mHJKA\r\n\t\u{7f}]{0,20}", 0..20),
        width in 20_usize..130,
    ) {
        let mut live = Live::new(style(width, Charset::Utf8));
        let mut terminal = Emulator::new(width);
        live.follow(run());
        live.event(Some(run()), &permitted("one", "x"));
        for (at, piece) in pieces.iter().enumerate() {
            match at % 4 {
                0 => live.words(&words(0, piece)),
                1 => live.printed(&Printed { operation_id: operation("one"), text: piece }),
                2 => live.note(piece, Ink::Red),
                _ => live.event(Some(run()), &permitted("two", piece)),
            }
            live.tick(Duration::from_secs(1));
            terminal.write(&live.draw());
        }
    }
}

#[test]
fn an_action_that_ran_before_shows_its_further_output() {
    let mut live = Live::new(style(60, Charset::Utf8));
    let mut terminal = Emulator::new(60);
    live.follow(run());
    live.resume_action(operation("one"), "ExecCommand", r#"{"cmd":"make"}"#);
    live.printed(&Printed {
        operation_id: operation("one"),
        text: "line 7\n",
    });
    live.tick(Duration::from_secs(2));
    terminal.write(&live.draw());
    let text = terminal.text();
    assert!(
        text.contains("│ line 7\n") && text.trim_end().ends_with("2 s · ExecCommand make"),
        "{text}"
    );
    live.event(Some(run()), &permitted("one", "make"));
    live.event(Some(run()), &executed("one"));
    live.tick(Duration::from_secs(3));
    terminal.write(&live.draw());
    let text = terminal.text();
    assert!(
        text.trim_end().ends_with("waiting for the model"),
        "one action:\n{text}"
    );
}

#[test]
fn no_spinner_moves_while_a_person_decides() {
    let mut live = Live::new(style(60, Charset::Ascii));
    let mut terminal = Emulator::new(60);
    live.follow(run());
    live.await_decision();
    live.tick(Duration::from_secs(2));
    terminal.write(&live.draw());
    assert_eq!(terminal.text().trim_end(), "2 s * waiting for a decision");
}
