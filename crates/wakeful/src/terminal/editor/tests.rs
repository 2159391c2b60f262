use proptest::prelude::*;

use super::*;
use crate::terminal::key::KeyParser;
use crate::terminal::{Charset, Colour, Drawing};

fn style(width: usize) -> Style {
    Style {
        width,
        colour: Colour::Off,
        charset: Charset::Utf8,
        drawing: Drawing::Redraw,
    }
}

/// Types bytes and returns the editor with what the last key did.
fn typed(bytes: &str) -> (Editor, Edit) {
    let mut editor = Editor::new(vec!["first".into(), "second".into()]);
    let mut last = Edit::Changed;
    for key in KeyParser::default().feed(bytes.as_bytes()) {
        last = editor.key(key);
    }
    (editor, last)
}

#[test]
fn enter_submits_and_a_backslash_or_alt_enter_breaks_the_line() {
    let (editor, edit) = typed("one\\\rtwo\u{1b}\rthree\nfour\r");
    assert_eq!(edit, Edit::Submitted("one\ntwo\nthree\nfour".into()));
    assert!(editor.is_empty());
}

#[test]
fn keys_edit_in_the_middle() {
    let left = "\u{1b}[D";
    assert_eq!(
        typed(&format!("höllo{left}{left}{left}{left}\u{7f}H")).0.text,
        "Höllo"
    );
    assert_eq!(typed("one two three\u{17}\u{17}x").0.text, "one x");
    assert_eq!(typed("one\ntwo\u{15}x\u{1}\u{b}").0.text, "one\n");
    assert_eq!(typed("ab\u{1}\u{4}").0.text, "b");
}

#[test]
fn the_history_keeps_the_draft() {
    let (up, down) = ("\u{1b}[A", "\u{1b}[B");
    assert_eq!(typed(&format!("draft{up}")).0.text, "second");
    assert_eq!(typed(&format!("draft{up}{up}{up}")).0.text, "first");
    assert_eq!(typed(&format!("draft{up}{up}{down}{down}")).0.text, "draft");
    // Within a message, the keys move between its lines first.
    let (editor, _) = typed(&format!("one\ntwo{up}X"));
    assert_eq!(editor.text, "oneX\ntwo");
}

#[test]
fn a_message_cannot_grow_beyond_its_limit() {
    let mut editor = Editor::default();
    assert_eq!(
        editor.key(Key::Paste("x".repeat(PROMPT_BYTES_MAX))),
        Edit::Changed
    );
    assert_eq!(
        editor.key(Key::Character('y')),
        Edit::TooLong(PROMPT_BYTES_MAX + 1)
    );
    assert_eq!(editor.text.len(), PROMPT_BYTES_MAX);
}

#[test]
fn long_input_scrolls_with_the_cursor() {
    let (editor, _) = typed("1\n2\n3\n4\n5\n6\n7\n8\n9");
    let drawn = editor.rows(style(40), "> ");
    assert_eq!(drawn.rows, ["  4", "  5", "  6", "  7", "  8", "  9"]);
    assert_eq!(drawn.cursor, (5, 3));
}

proptest! {
    #[test]
    fn rows_fit_the_terminal_and_contain_the_cursor(text in "(?s).{0,300}", width in 8_usize..130, back in 0_usize..400) {
        let mut editor = Editor::default();
        editor.key(Key::Paste(text));
        for _ in 0..back {
            editor.key(Key::Left);
        }
        let drawn = editor.rows(style(width), "> ");
        prop_assert!(drawn.rows.len() <= ROWS_MAX);
        prop_assert!(drawn.cursor.0 < drawn.rows.len());
        for row in &drawn.rows {
            prop_assert!(columns(row) < width, "{row:?}");
            prop_assert!(!row.contains(char::is_control));
        }
    }

    #[test]
    fn no_sequence_of_keys_breaks_the_editor(bytes: Vec<u8>) {
        let mut editor = Editor::new(vec!["ä\nb".into()]);
        for key in KeyParser::default().feed(&bytes) {
            editor.key(key);
            prop_assert!(editor.text.is_char_boundary(editor.cursor));
        }
    }
}
