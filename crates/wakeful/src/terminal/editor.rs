//! The line editor of `chat`: the text, the cursor and the history. It is pure; keys come in, and rows to
//! draw come out.

use unicode_width::UnicodeWidthChar as _;

use super::Style;
use super::key::Key;
use super::screen::{InputRows, displayable};
use wakeful_core::message::PROMPT_BYTES_MAX;

/// Rows of the input that are drawn; longer input scrolls.
const ROWS_MAX: usize = 6;

/// Messages in the history.
pub(crate) const HISTORY_MAX: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// The position of the cursor in bytes, on a character boundary.
    cursor: usize,
    history: Vec<String>,
    /// The entry of the history that is shown.
    browsed: Option<usize>,
    /// What was typed before the history was browsed.
    draft: String,
}

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// The text or the cursor may have changed.
    Changed,
    /// Enter: the message is complete.
    Submitted(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D without text.
    Ended,
    /// Text of this many bytes was refused, because a message cannot be that long.
    TooLong(usize),
}

impl Editor {
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self {
            history,
            ..Self::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and puts the cursor behind it.
    pub(crate) fn set_text(&mut self, text: String) -> String {
        self.cursor = text.len();
        self.browsed = None;
        std::mem::replace(&mut self.text, text)
    }

    pub(crate) fn remember(&mut self, text: &str) {
        if self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
        }
        let surplus = self.history.len().saturating_sub(HISTORY_MAX);
        self.history.drain(..surplus);
    }

    pub(crate) fn key(&mut self, key: Key) -> Edit {
        match key {
            Key::Character(c) => return self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => return self.insert(&text),
            Key::OversizedPaste(bytes) => return Edit::TooLong(bytes),
            Key::LineBreak => return self.insert("\n"),
            Key::Enter => return self.enter(),
            Key::Interrupt => return Edit::Interrupted,
            Key::EndOfInput if self.text.is_empty() => return Edit::Ended,
            Key::Backspace => self.delete_from(self.before(1)),
            Key::Delete | Key::EndOfInput => {
                let end = self.after(1);
                self.text.replace_range(self.cursor..end, "");
            }
            Key::Left => self.cursor = self.before(1),
            Key::Right => self.cursor = self.after(1),
            Key::WordLeft => self.cursor = self.word_start(),
            Key::WordRight => self.cursor = self.word_end(),
            Key::Up => self.vertical(Vertical::Up),
            Key::Down => self.vertical(Vertical::Down),
            Key::Home => self.cursor = self.line_start(),
            Key::End => self.cursor = self.line_end(),
            Key::DeleteToStart => self.delete_from(self.line_start()),
            Key::DeleteToEnd => {
                let end = self.line_end();
                self.text.replace_range(self.cursor..end, "");
            }
            Key::DeleteWord => self.delete_from(self.word_start()),
            Key::Other => {}
        }
        Edit::Changed
    }

    fn insert(&mut self, text: &str) -> Edit {
        let bytes = self.text.len() + text.len();
        if bytes > PROMPT_BYTES_MAX {
            return Edit::TooLong(bytes);
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        Edit::Changed
    }

    /// A backslash before Enter continues the message on the next line.
    fn enter(&mut self) -> Edit {
        if self.cursor == self.text.len() && self.text.ends_with('\\') {
            self.text.pop();
            self.cursor = self.text.len();
            return self.insert("\n");
        }
        Edit::Submitted(self.set_text(String::new()))
    }

    fn delete_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    fn before(&self, count: usize) -> usize {
        let head = self.head().char_indices().rev();
        head.take(count).last().map_or(self.cursor, |(at, _)| at)
    }

    fn after(&self, count: usize) -> usize {
        self.tail()
            .char_indices()
            .nth(count)
            .map_or(self.text.len(), |(at, _)| self.cursor + at)
    }

    fn head(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn tail(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn line_start(&self) -> usize {
        self.head().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.tail()
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let trimmed = self.head().trim_end();
        let space = trimmed.rfind(char::is_whitespace);
        space.map_or(0, |at| {
            at + trimmed
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8)
        })
    }

    fn word_end(&self) -> usize {
        let word = self.tail().trim_start();
        let skipped = self.tail().len() - word.len();
        self.cursor + skipped + word.find(char::is_whitespace).unwrap_or(word.len())
    }

    /// Moves between the lines of the message, and beyond them through the history.
    fn vertical(&mut self, to: Vertical) {
        let column = self.head().chars().rev().take_while(|c| *c != '\n').count();
        let line = match to {
            Vertical::Up => self.line_start().checked_sub(1).map(|end| {
                let start = self.text.get(..end).and_then(|head| head.rfind('\n'));
                start.map_or(0, |at| at + 1)
            }),
            Vertical::Down => Some(self.line_end() + 1).filter(|start| *start <= self.text.len()),
        };
        match line {
            Some(start) => {
                let line = self.text.get(start..).unwrap_or_default();
                let mut columns = line.char_indices().take_while(|(_, c)| *c != '\n');
                let end = line.find('\n').unwrap_or(line.len());
                self.cursor = start + columns.nth(column).map_or(end, |(at, _)| at);
            }
            None => self.browse(to),
        }
    }

    fn browse(&mut self, to: Vertical) {
        let last = self.history.len().checked_sub(1);
        let next = match (to, self.browsed) {
            (Vertical::Up, None) => last,
            (Vertical::Up, Some(at)) => Some(at.saturating_sub(1)),
            (Vertical::Down, Some(at)) => Some(at + 1).filter(|at| *at < self.history.len()),
            (Vertical::Down, None) => return,
        };
        let text = match next {
            Some(at) => self.history.get(at).cloned().unwrap_or_default(),
            None => std::mem::take(&mut self.draft),
        };
        let was = self.set_text(text);
        if self.draft.is_empty() && next == last {
            self.draft = was;
        }
        self.browsed = next;
    }

    /// The rows to draw, with the cursor. `prompt` precedes the first row.
    pub(crate) fn rows(&self, style: Style, prompt: &str) -> InputRows {
        let width = style.width.saturating_sub(1).max(4);
        let indent: String = prompt.chars().map(|_| ' ').collect();
        let mut drawn = DrawnRows {
            rows: vec![prompt.to_owned()],
            column: columns(prompt),
            indent: if columns(&indent) * 2 > width {
                String::new()
            } else {
                indent
            },
            width,
        };
        drawn.put(&displayable(style, self.head()));
        let cursor = (drawn.rows.len() - 1, drawn.column);
        drawn.put(&displayable(style, self.tail()));
        let surplus = drawn.rows.len().saturating_sub(ROWS_MAX);
        let first = cursor.0.saturating_sub(ROWS_MAX / 2).min(surplus);
        InputRows {
            rows: drawn.rows.into_iter().skip(first).take(ROWS_MAX).collect(),
            cursor: (cursor.0 - first, cursor.1),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Vertical {
    Up,
    Down,
}

struct DrawnRows {
    rows: Vec<String>,
    column: usize,
    indent: String,
    width: usize,
}

impl DrawnRows {
    fn put(&mut self, text: &str) {
        for c in text.chars() {
            let width = c.width().unwrap_or(0);
            if c == '\n' || self.column + width > self.width {
                self.rows.push(self.indent.clone());
                self.column = columns(&self.indent);
            }
            if c != '\n' {
                self.rows.last_mut().into_iter().for_each(|row| row.push(c));
                self.column += width;
            }
        }
    }
}

fn columns(text: &str) -> usize {
    text.chars().filter_map(char::width).sum()
}

#[cfg(test)]
mod tests;
