//! Text that scrolls, above a few rows that are drawn again and again: the unfinished row of the text, the
//! input and the status.
//!
//! The screen only computes bytes. Text is wrapped here and never by the terminal, so that the screen knows
//! how many rows it has to move up. Escape sequences come from this file alone: control characters in text
//! are replaced.

use unicode_width::UnicodeWidthChar as _;

use super::{Charset, Colour, Drawing, Style};
use crate::show::sanitize;

/// Maximum number of characters in a row; characters without width could otherwise grow it without end.
const ROW_CHARS_MAX: usize = 2_048;

/// Columns of a tab.
const TAB: &str = "    ";

/// The appearance of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Ink {
    /// The code of the appearance; none for ordinary text.
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Red => Some("31"),
            Self::Green => Some("32"),
            Self::Yellow => Some("33"),
            Self::Cyan => Some("36"),
        }
    }
}

/// The input that is being edited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InputRows {
    pub(crate) rows: Vec<String>,
    /// The row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

#[derive(Debug)]
pub(crate) struct Screen {
    style: Style,
    /// Finished rows that are not written yet.
    finished: String,
    /// The unfinished row.
    row: Vec<(char, Ink)>,
    /// How many characters of the unfinished row are written, on a terminal that only appends.
    written: usize,
    /// The beginning of every row of the current block.
    indent: &'static str,
    status: String,
    input: Option<InputRows>,
    /// The row of the cursor below the first drawn row; none if nothing is drawn.
    drawn: Option<usize>,
}

impl Screen {
    pub(crate) const fn new(style: Style) -> Self {
        Self {
            style,
            finished: String::new(),
            row: Vec::new(),
            written: 0,
            indent: "",
            status: String::new(),
            input: None,
            drawn: None,
        }
    }

    pub(crate) const fn style(&self) -> Style {
        self.style
    }

    pub(crate) const fn charset(&self) -> Charset {
        self.style.charset
    }

    pub(crate) const fn set_width(&mut self, width: usize) {
        self.style.width = width;
    }

    /// Sets what every row begins with from now on. The unfinished row is finished first.
    pub(crate) fn set_indent(&mut self, indent: &'static str) {
        if self.indent != indent {
            self.end_row();
            self.indent = indent;
        }
    }

    /// Sets the status; empty for none.
    pub(crate) fn set_status(&mut self, status: &str) {
        self.status = self.fit(status);
    }

    pub(crate) fn set_input(&mut self, input: Option<InputRows>) {
        self.input = input;
    }

    /// Appends text to the unfinished row, and wraps.
    pub(crate) fn put(&mut self, text: &str, ink: Ink) {
        for c in displayable(self.style, text).chars() {
            match c {
                '\n' => self.finish_row(),
                c => self.put_char(c, ink),
            }
        }
    }

    /// Puts text on rows of its own.
    pub(crate) fn line(&mut self, text: &str, ink: Ink) {
        self.end_row();
        self.put(text, ink);
        self.finish_row();
    }

    /// Finishes the unfinished row, if there is one.
    pub(crate) fn end_row(&mut self) {
        if !self.row.is_empty() {
            self.finish_row();
        }
    }

    /// The bytes that bring the terminal up to date.
    pub(crate) fn draw(&mut self) -> String {
        match self.style.drawing {
            Drawing::Append => self.append(),
            Drawing::Redraw => self.redraw(),
        }
    }

    fn append(&mut self) -> String {
        let mut bytes = std::mem::take(&mut self.finished);
        let news = self.row.get(self.written..).unwrap_or_default();
        bytes.extend(news.iter().map(|(c, _)| *c));
        self.written = self.row.len();
        bytes
    }

    fn redraw(&mut self) -> String {
        let mut bytes = self.erase();
        bytes.push_str(&std::mem::take(&mut self.finished));
        let mut rows = Vec::new();
        if !self.row.is_empty() {
            rows.push(self.styled(&self.row));
        }
        let cursor = self.input.as_ref().map(|input| {
            let first = rows.len();
            rows.extend(input.rows.iter().map(|row| self.fit(row)));
            (first + input.cursor.0, input.cursor.1)
        });
        if !self.status.is_empty() {
            let status: Vec<(char, Ink)> = self.status.chars().map(|c| (c, Ink::Dim)).collect();
            rows.push(self.styled(&status));
        }
        let Some(last) = rows.len().checked_sub(1) else {
            return bytes;
        };
        bytes.push_str(&rows.join("\n"));
        self.drawn = Some(last);
        if let Some((row, column)) = cursor {
            move_up(&mut bytes, last.saturating_sub(row));
            bytes.push('\r');
            if column > 0 {
                bytes.push_str(&format!("\u{1b}[{column}C"));
            }
            self.drawn = Some(row.min(last));
        }
        bytes
    }

    /// The bytes that remove the drawn rows and leave the cursor where they began.
    fn erase(&mut self) -> String {
        let Some(row) = self.drawn.take() else {
            return String::new();
        };
        let mut bytes = String::from("\r");
        move_up(&mut bytes, row);
        bytes.push_str("\u{1b}[J");
        bytes
    }

    fn put_char(&mut self, c: char, ink: Ink) {
        if self.row.is_empty() {
            self.row.extend(self.indent.chars().map(|c| (c, Ink::Dim)));
        }
        let is_full = self.style.drawing == Drawing::Redraw
            && (columns(&self.row) + c.width().unwrap_or(0) > self.columns_max()
                || self.row.len() >= ROW_CHARS_MAX);
        if is_full {
            // The space at the end of a row separates the words; it is not shown.
            if c == ' ' {
                self.finish_row();
                return;
            }
            self.wrap();
        }
        self.row.push((c, ink));
    }

    /// The last column stays free, because terminals differ in what they do there.
    const fn columns_max(&self) -> usize {
        self.style.width.saturating_sub(1)
    }

    /// Finishes the row at its last space and carries the last word over.
    fn wrap(&mut self) {
        let indent = self.indent.chars().count();
        let space = self.row.iter().rposition(|(c, _)| *c == ' ');
        let rest = match space.filter(|at| *at > indent) {
            Some(at) => {
                let rest = self.row.split_off(at);
                rest.into_iter().skip(1).collect()
            }
            None => Vec::new(),
        };
        self.finish_row();
        self.row.extend(self.indent.chars().map(|c| (c, Ink::Dim)));
        self.row.extend(rest);
    }

    fn finish_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let news = match self.style.drawing {
            Drawing::Append => row.get(self.written..).unwrap_or_default(),
            Drawing::Redraw => &row,
        };
        let text = self.styled(news);
        self.finished.push_str(&text);
        self.finished.push('\n');
        self.written = 0;
    }

    /// Joins characters, with an escape sequence where the appearance changes.
    fn styled(&self, row: &[(char, Ink)]) -> String {
        let mut text = String::with_capacity(row.len());
        for part in row.chunk_by(|one, other| one.1 == other.1) {
            let code = part.first().and_then(|(_, ink)| ink.code());
            let code = code.filter(|_| self.style.colour == Colour::On);
            text.extend(code.map(|code| format!("\u{1b}[{code}m")));
            text.extend(part.iter().map(|(c, _)| *c));
            text.extend(code.map(|_| "\u{1b}[0m"));
        }
        text
    }

    /// One row of text that fits the terminal.
    fn fit(&self, text: &str) -> String {
        let text = displayable(self.style, &text.replace('\n', " "));
        if text.chars().filter_map(char::width).sum::<usize>() <= self.columns_max() {
            return text;
        }
        let mark = match self.style.charset {
            Charset::Utf8 => "…",
            Charset::Ascii => "...",
        };
        let mut left = self.columns_max().saturating_sub(mark.chars().count());
        let fitting = text.chars().take_while(|c| {
            let width = c.width().unwrap_or(0);
            let fits = width <= left;
            left = left.saturating_sub(width);
            fits
        });
        fitting.chain(mark.chars()).collect()
    }
}

/// The text in characters that the terminal displays, without control characters except line ends.
pub(crate) fn displayable(style: Style, text: &str) -> String {
    let safe = sanitize::text(text).replace('\t', TAB);
    match style.charset {
        Charset::Utf8 => safe,
        Charset::Ascii => ascii(&safe),
    }
}

fn columns(row: &[(char, Ink)]) -> usize {
    row.iter().map(|(c, _)| c.width().unwrap_or(0)).sum()
}

fn move_up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\u{1b}[{rows}A"));
    }
}

/// The nearest ASCII text.
pub(crate) fn ascii(text: &str) -> String {
    let mut nearest = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => nearest.push(c),
            '…' => nearest.push_str("..."),
            '→' | '⇢' => nearest.push_str("->"),
            '←' => nearest.push_str("<-"),
            '»' => nearest.push_str(">>"),
            '✗' => nearest.push('x'),
            '·' | '•' | '●' => nearest.push('*'),
            '–' | '—' | '─' => nearest.push('-'),
            '│' => nearest.push('|'),
            '×' => nearest.push('x'),
            '≤' => nearest.push_str("<="),
            '≥' => nearest.push_str(">="),
            '\u{a0}' => nearest.push(' '),
            '‘' | '’' => nearest.push('\''),
            '“' | '”' => nearest.push('"'),
            _ => nearest.push('?'),
        }
    }
    nearest
}
