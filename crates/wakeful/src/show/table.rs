//! Tables for people: aligned columns with headers that fit the width of the terminal.
//!
//! If a table is too wide, text columns are cut, and if that is not enough, columns are left out: those with the
//! highest rank first. Keys are never cut, because a person copies them into the next command.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::wrap;
use crate::terminal::{self, Style};

/// Columns between two cells.
const GAP: usize = 2;

/// A text column is not cut below this width.
const TEXT_WIDTH_MIN: usize = 8;

/// The space and the characters that the reader's terminal offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) width: usize,
    pub(crate) charset: Charset,
}

impl From<Style> for Layout {
    fn from(style: Style) -> Self {
        Self {
            width: style.width,
            charset: match style.charset {
                terminal::Charset::Utf8 => Charset::Unicode,
                terminal::Charset::Ascii => Charset::Ascii,
            },
        }
    }
}

/// Which characters the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    Unicode,
    Ascii,
}

impl Charset {
    /// The mark of cut text.
    pub(crate) const fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "...",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    header: &'static str,
    fit: Fit,
}

/// What may happen to a column in a narrow terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Always shown in full.
    Key,
    /// Shown in full or not at all.
    Whole { rank: u8 },
    /// Cut, and left out at last.
    Text { rank: u8 },
}

impl Column {
    /// A column that is never cut, such as an id.
    pub(crate) const fn key(header: &'static str) -> Self {
        let fit = Fit::Key;
        Self { header, fit }
    }

    /// A column that is left out if the table is too wide; the highest rank first.
    pub(crate) const fn whole(header: &'static str, rank: u8) -> Self {
        let fit = Fit::Whole { rank };
        Self { header, fit }
    }

    /// A column that is cut if the table is too wide.
    pub(crate) const fn text(header: &'static str, rank: u8) -> Self {
        let fit = Fit::Text { rank };
        Self { header, fit }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [Column; N], rows: impl IntoIterator<Item = [String; N]>) -> Self {
        let rows = rows.into_iter().map(|row| row.map(|cell| in_one_line(&cell)));
        Self {
            columns,
            rows: rows.collect(),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in characters of this set.
    pub(crate) fn in_charset(&self, charset: Charset) -> Self {
        let cells = |row: &[String; N]| row.each_ref().map(|cell| wrap::displayable(cell, charset));
        Self {
            columns: self.columns,
            rows: self.rows.iter().map(cells).collect(),
        }
    }

    /// Formats the table, with a header and without a line end.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let shown = self.widths(layout.width);
        let header = self.columns.map(|column| column.header.to_owned());
        let lines = std::iter::once(&header).chain(&self.rows);
        let lines: Vec<String> = lines.map(|cells| line(cells, &shown, layout.charset)).collect();
        lines.join("\n")
    }

    /// The positions and widths of the columns that are shown.
    fn widths(&self, width: usize) -> Vec<(usize, usize)> {
        let cells = |place: usize| self.rows.iter().filter_map(move |row| row.get(place));
        let natural = self.columns.iter().enumerate().map(|(place, column)| {
            let widest = cells(place).map(|cell| cell.width()).max().unwrap_or(0);
            (place, column, widest.max(column.header.width()))
        });
        let mut shown: Vec<(usize, &Column, usize)> = natural.collect();
        // A column without any content says nothing.
        if !self.rows.is_empty() {
            shown.retain(|(place, column, _)| {
                column.fit == Fit::Key || cells(*place).any(|cell| !cell.is_empty())
            });
        }
        while total(shown.iter().map(|(_, column, natural)| least(column, *natural))) > width {
            let last = shown
                .iter()
                .enumerate()
                .max_by_key(|(_, (_, column, _))| rank(column));
            let Some((last, (_, column, _))) = last else { break };
            if column.fit == Fit::Key {
                break;
            }
            shown.remove(last);
        }
        loop {
            let excess = total(shown.iter().map(|(_, _, width)| *width)).saturating_sub(width);
            let may_shrink =
                |(_, column, width): &&mut (usize, &Column, usize)| least(column, *width) < *width;
            let last = shown
                .iter_mut()
                .filter(may_shrink)
                .max_by_key(|(_, column, _)| rank(column));
            let (Some((_, column, width)), true) = (last, excess > 0) else {
                break;
            };
            *width = least(column, *width).max(width.saturating_sub(excess));
        }
        shown
            .into_iter()
            .map(|(place, _, width)| (place, width))
            .collect()
    }
}

/// The order in which columns are left out.
const fn rank(column: &Column) -> u16 {
    match column.fit {
        Fit::Key => 0,
        Fit::Whole { rank } | Fit::Text { rank } => rank as u16 + 1,
    }
}

/// The least width of a column.
fn least(column: &Column, natural: usize) -> usize {
    match column.fit {
        Fit::Key | Fit::Whole { .. } => natural,
        Fit::Text { .. } => natural.min(TEXT_WIDTH_MIN.max(column.header.width())),
    }
}

fn total(widths: impl Iterator<Item = usize>) -> usize {
    let (sum, count) = widths.fold((0, 0), |(sum, count), width| (sum + width, count + 1));
    sum + GAP * usize::saturating_sub(count, 1)
}

fn line(cells: &[String], shown: &[(usize, usize)], charset: Charset) -> String {
    let mut line = String::new();
    for (place, width) in shown {
        if !line.is_empty() {
            line.push_str(&" ".repeat(GAP));
        }
        let cell = cut(cells.get(*place).map_or("", String::as_str), *width, charset);
        let padding = width.saturating_sub(cell.width());
        line.push_str(&cell);
        line.push_str(&" ".repeat(padding));
    }
    line.trim_end().to_owned()
}

/// Cuts a text to a width and marks the cut. The cut is between words if that keeps at least half of the text.
pub(crate) fn cut(text: &str, width: usize, charset: Charset) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = charset.ellipsis();
    let room = width.saturating_sub(mark.width());
    let mut used = 0;
    let kept = text.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= room
    });
    let kept: String = kept.collect();
    let is_inside_word = !text.get(kept.len()..).is_some_and(|rest| rest.starts_with(' '));
    let words = kept.rsplit_once(' ').map(|(words, _)| words);
    let words = words.filter(|words| is_inside_word && words.width() * 2 >= room);
    let kept = words.unwrap_or(&kept);
    let mark: String = mark.chars().take(width).collect();
    format!("{}{mark}", kept.trim_end())
}

/// Replaces line ends, tabs and other control characters, which would break the lines of the table.
fn in_one_line(text: &str) -> String {
    let spaced = text.replace(|c: char| c.is_control(), " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::key("RUN"),
        Column::whole("STATUS", 1),
        Column::text("AGENT", 3),
        Column::text("PROMPT", 2),
    ];

    fn row(cells: [&str; 4]) -> [String; 4] {
        cells.map(str::to_owned)
    }

    fn rendered(width: usize, charset: Charset) -> String {
        let rows = [
            row([
                "0123456789ab",
                "completed",
                "main",
                "Summarise\nthe   report of today",
            ]),
            row(["ba9876543210", "open", "日本", "short"]),
        ];
        Table::new(COLUMNS, rows).render(Layout { width, charset })
    }

    #[test]
    fn a_table_is_aligned_and_cut_to_the_width() {
        insta::assert_snapshot!(rendered(80, Charset::Unicode), @r"
        RUN           STATUS     AGENT  PROMPT
        0123456789ab  completed  main   Summarise the report of today
        ba9876543210  open       日本   short
        ");
        insta::assert_snapshot!(rendered(44, Charset::Unicode), @r"
        RUN           STATUS     AGENT  PROMPT
        0123456789ab  completed  main   Summarise…
        ba9876543210  open       日本   short
        ");
        insta::assert_snapshot!(rendered(36, Charset::Ascii), @r"
        RUN           STATUS     PROMPT
        0123456789ab  completed  Summaris...
        ba9876543210  open       short
        ");
        insta::assert_snapshot!(rendered(20, Charset::Ascii), @r"
        RUN
        0123456789ab
        ba9876543210
        ");
    }

    #[test]
    fn a_column_without_content_is_left_out() {
        let rows = [row(["0123456789ab", "open", "", "hello"])];
        let layout = Layout {
            width: 80,
            charset: Charset::Ascii,
        };
        let text = Table::new(COLUMNS, rows).render(layout);
        assert!(!text.contains("AGENT"), "{text}");
    }

    proptest! {
        #[test]
        fn no_line_exceeds_the_width_unless_a_key_does(
            cells in prop::collection::vec(prop::array::uniform4(".{0,60}"), 0..5),
            width in 0_usize..200,
            is_ascii in any::<bool>(),
        ) {
            let charset = if is_ascii { Charset::Ascii } else { Charset::Unicode };
            let table = Table::new(COLUMNS, cells);
            let keys = table.rows.iter().map(|row| row[0].width()).max().unwrap_or(0).max(3);
            let text = table.render(Layout { width, charset });
            for line in text.lines() {
                prop_assert!(line.width() <= width.max(keys), "{line:?} in {width}");
            }
            for row in &table.rows {
                prop_assert!(text.contains(&row[0]), "{:?} was cut in {text}", row[0]);
            }
        }
    }
}
