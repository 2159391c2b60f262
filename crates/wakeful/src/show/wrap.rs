//! Fits prose to a terminal: lines are wrapped between words, and characters that the terminal does not show are
//! replaced.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::table::{Charset, Layout};
use crate::terminal::screen::ascii;

/// Text for a terminal. Lines that fit stay as they are, and a word that is too long, such as a path, stays whole,
/// so that it can be copied.
pub(super) fn fit(text: &str, layout: Layout) -> String {
    let text = displayable(text, layout.charset);
    let lines = text.split('\n').map(|line| wrapped(line, layout.width));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text in characters that the terminal shows.
pub(super) fn displayable(text: &str, charset: Charset) -> String {
    match charset {
        Charset::Unicode => text.to_owned(),
        Charset::Ascii => ascii(text),
    }
}

/// One line as rows. Further rows begin below the text of the first one.
fn wrapped(line: &str, width: usize) -> String {
    let indent = " ".repeat(indent(line, width));
    let mut rows = String::new();
    let (mut rest, mut room) = (line, width);
    while let Some(end) = row_end(rest, room) {
        let (row, next) = rest.split_at(end);
        rows.push_str(row.trim_end_matches(' '));
        rest = next.trim_start_matches(' ');
        if rest.is_empty() {
            return rows;
        }
        rows.push('\n');
        rows.push_str(&indent);
        room = width - indent.len();
    }
    rows.push_str(rest);
    rows
}

/// Where the text of a line begins: behind its first spaces, and behind a name that several spaces separate from its
/// value. At most half of the width.
fn indent(line: &str, width: usize) -> usize {
    let text = line.trim_start_matches(' ');
    let spaces = line.len() - text.len();
    let value = text.split_once("  ").map(|(name, rest)| {
        let gap = rest.len() - rest.trim_start_matches(' ').len();
        spaces + name.width() + 2 + gap
    });
    let max = width / 2;
    value.filter(|column| *column <= max).unwrap_or(spaces.min(max))
}

/// Where the first row of a text ends; none if the text is one row.
fn row_end(text: &str, room: usize) -> Option<usize> {
    let (mut used, mut end, mut has_word) = (0, None, false);
    for (at, c) in text.char_indices() {
        if c != ' ' {
            has_word = true;
        } else if has_word && (used <= room || end.is_none()) {
            end = Some(at);
        }
        used += c.width().unwrap_or(0);
        if used > room && end.is_some() {
            return end;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn layout(width: usize, charset: Charset) -> Layout {
        Layout { width, charset }
    }

    #[test]
    fn prose_is_wrapped_between_words_and_keeps_its_indent() {
        let text = "wakeful: the run waits\n  for a decision of yours\n  key      value\n/a/path/that/is/long and more\n";
        insta::assert_snapshot!(fit(text, layout(16, Charset::Unicode)), @r"
        wakeful: the run
        waits
          for a decision
          of yours
          key      value
        /a/path/that/is/long
        and more
        ");
        assert_eq!(
            fit("日本 日本 日本", layout(9, Charset::Unicode)),
            "日本 日本\n日本"
        );
        assert_eq!(fit("one → two…", layout(8, Charset::Ascii)), "one ->\ntwo...");
    }

    #[test]
    fn a_value_is_wrapped_below_its_first_word() {
        let text = "daemon   not running; start it\nguidance  /a/path/that/is/long and more";
        insta::assert_snapshot!(fit(text, layout(22, Charset::Unicode)), @r"
        daemon   not running;
                 start it
        guidance
                  /a/path/that/is/long
                  and more
        ");
    }

    proptest! {
        #[test]
        fn wrapping_keeps_the_words_and_fits_those_that_can(
            text in "(?s)[ a-z日\n]{0,200}",
            width in 20_usize..60,
        ) {
            let fitted = fit(&text, layout(width, Charset::Unicode));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&fitted), words(&text));
            for row in fitted.lines() {
                prop_assert!(row.width() <= width || words(row).len() == 1, "{:?}", row);
            }
        }
    }
}
