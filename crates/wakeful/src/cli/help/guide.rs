//! Renders a guide for the terminal: paragraphs in lines of readable length, links as their text, tables as
//! lists of terms.

use unicode_width::UnicodeWidthStr as _;

/// Longest line of a paragraph; longer ones are hard to read.
const LINE_MAX: usize = 100;

/// Renders Markdown as plain text within a width. Code is never wrapped.
pub(super) fn render(markdown: &str, width: usize) -> String {
    let width = width.clamp(20, LINE_MAX);
    let mut page = Page {
        lines: Vec::new(),
        paragraph: Paragraph::default(),
        width,
    };
    let (mut is_code, mut headers): (bool, Option<Vec<String>>) = (false, None);
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            page.flush();
            is_code = !is_code;
            continue;
        }
        if is_code {
            page.lines.push(format!("    {line}"));
            continue;
        }
        if let Some(cells) = cells(line) {
            page.flush();
            headers = Some(page.row(headers.take(), cells));
            continue;
        }
        headers = None;
        page.line(line);
    }
    page.flush();
    page.lines.join("\n").trim().to_owned()
}

/// The output so far, and the paragraph that is being read.
struct Page {
    lines: Vec<String>,
    paragraph: Paragraph,
    width: usize,
}

/// Words of a paragraph or a list item with their indentation.
#[derive(Default)]
struct Paragraph {
    words: String,
    /// The mark of a list item, or spaces.
    first: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(title) = text.strip_prefix('#') {
            self.flush();
            let title = plain(title.trim_start_matches('#').trim());
            let title = if text.starts_with("# ") {
                title.to_uppercase()
            } else {
                title
            };
            self.blank();
            self.lines.push(title);
            self.blank();
        } else if text.is_empty() {
            self.flush();
            self.blank();
        } else if let Some((mark, item)) = list_item(text) {
            self.flush();
            self.paragraph = Paragraph {
                words: item.to_owned(),
                first: format!("{}{mark} ", " ".repeat(indent + 2)),
            };
        } else {
            self.paragraph.words.push(' ');
            self.paragraph.words.push_str(text);
        }
    }

    /// Adds a blank line unless there is one.
    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn flush(&mut self) {
        let Paragraph { words, first } = std::mem::take(&mut self.paragraph);
        self.wrap(&plain(&words), &first, first.width());
    }

    /// Adds a row of a table as a term with its explanation. Returns the headers of the table.
    fn row(&mut self, headers: Option<Vec<String>>, cells: Vec<String>) -> Vec<String> {
        let Some(headers) = headers else { return cells };
        if cells
            .iter()
            .all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')))
        {
            return headers;
        }
        let mut cells = cells.into_iter().zip(&headers);
        if let Some((term, _)) = cells.next() {
            self.wrap(&term, "  ", 4);
        }
        let is_pair = headers.len() == 2;
        for (cell, header) in cells.filter(|(cell, _)| !cell.is_empty()) {
            let words = if is_pair {
                cell
            } else {
                format!("{header}: {cell}")
            };
            self.wrap(&words, "      ", 6);
        }
        headers
    }

    fn wrap(&mut self, words: &str, first: &str, indent: usize) {
        let mut line = first.to_owned();
        let mut is_empty = true;
        for word in words.split_whitespace() {
            if !is_empty && line.width() + 1 + word.width() > self.width {
                self.lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        if !is_empty {
            self.lines.push(line);
        }
    }
}

/// The mark and the text of a list item.
fn list_item(text: &str) -> Option<(&str, &str)> {
    let (mark, item) = text.split_once(' ')?;
    let number = mark.strip_suffix('.');
    let is_number =
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    (is_number || matches!(mark, "-" | "*")).then_some((mark, item))
}

/// The cells of a table row.
fn cells(line: &str) -> Option<Vec<String>> {
    let row = line.trim().strip_prefix('|')?;
    let row = row.strip_suffix('|').unwrap_or(row).replace("\\|", "\u{1}");
    let cells = row
        .split('|')
        .map(|cell| plain(cell.trim()).replace('\u{1}', "|"));
    Some(cells.collect())
}

/// Text without marks: links become their text, emphasis is removed.
fn plain(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        let parts = link.split_once("](").and_then(|(name, after)| {
            let (_, after) = after.split_once(')')?;
            (!name.contains(['[', ']'])).then_some((name, after))
        });
        rest = match parts {
            Some((name, after)) => {
                plain.push_str(name);
                after
            }
            None => {
                plain.push('[');
                link
            }
        };
    }
    plain.push_str(rest);
    plain.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_is_wrapped_and_its_marks_are_removed() {
        let text = "# Title\n\nSee [the **other** guide](x.md#a)\nand more words.\n\n- first item that is long\n- second\n\n\
            ```\n$ code stays [as](it) is and is never wrapped\n```\n\n\
            | name | meaning | unit |\n|---|---|---|\n| `a\\|b` | one | ms |\n";
        insta::assert_snapshot!(render(text, 30), @r"
        TITLE

        See the other guide and more
        words.

          - first item that is long
          - second

            $ code stays [as](it) is and is never wrapped

          `a|b`
              meaning: one
              unit: ms
        ");
    }
}
