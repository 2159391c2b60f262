//! Words that only this project's authors understand are counted, and the count may only fall.
//!
//! `docs/STYLE.md` lists the words. They are counted in comments and documents, per 1,000 lines, so that the number does not
//! grow with the code.

use crate::tree::File;

/// The document that lists the words.
pub const STYLE: &str = "docs/STYLE.md";

/// The heading of the list in [`STYLE`].
const HEADING: &str = "## Private words";

/// Words that the list must contain. Words may be added to the list and never removed from it.
const REQUIRED: [&str; 22] = [
    "nobody",
    "somebody",
    "whoever",
    "whatever",
    "aside",
    "is told",
    "are told",
    "told of",
    "thereof",
    "lies on",
    "goes on",
    "gone on",
    "go on",
    "seen to",
    "taken up",
    "take up",
    "put aside",
    "mend",
    "mended",
    "a breath",
    "laid to rest",
    "is no [a-z]+",
];

/// Matches the next word of any spelling.
const ANY_WORD: &str = "[a-z]+";

/// How often private words are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Non-empty comment and document lines.
    pub lines: usize,
    /// Matches in them.
    pub matches: usize,
}

impl Usage {
    /// Matches per 10,000 lines, rounded up.
    #[must_use]
    pub fn per_ten_thousand(self) -> usize {
        (self.matches * 10_000).div_ceil(self.lines.max(1))
    }
}

/// The listed words, or what is wrong with the list.
pub fn listed(files: &[File]) -> Result<Vec<String>, String> {
    let style = files.iter().find(|file| file.path == STYLE);
    let style = style.ok_or_else(|| format!("{STYLE} is missing"))?;
    let section = style.text.lines().skip_while(|line| *line != HEADING).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let words = section.filter_map(|line| line.strip_prefix("- `")?.strip_suffix('`'));
    let words: Vec<String> = words.map(str::to_owned).collect();
    match REQUIRED
        .iter()
        .find(|word| !words.iter().any(|listed| listed == *word))
    {
        Some(word) => Err(format!(
            "{STYLE}: `{word}` was removed from the list \"Private words\"; add it again"
        )),
        None => Ok(words),
    }
}

/// How often the words are used in comments and documents.
#[must_use]
pub fn usage(files: &[File], words: &[String]) -> Usage {
    let patterns: Vec<Vec<&str>> = words.iter().map(|word| word.split(' ').collect()).collect();
    let mut usage = Usage { lines: 0, matches: 0 };
    for line in files.iter().flat_map(prose) {
        usage.lines += 1;
        usage.matches += matches(&line, &patterns);
    }
    usage
}

/// The lines of one file that people read as text. The list itself, the tables of requirements and the changelog quote other texts.
fn prose(file: &File) -> Vec<String> {
    let is_quoting = ["docs/conformance/", "CHANGELOG.md"]
        .iter()
        .any(|path| file.path.starts_with(path));
    if is_quoting || file.path.contains(".gen.") {
        return Vec::new();
    }
    let is_document = file.extension() == "md";
    if !is_document && !["rs", "ts", "tsx"].contains(&file.extension()) {
        return Vec::new();
    }
    let lines = file.text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && (is_document || line.starts_with("//")));
    lines
        .filter(|line| file.path != STYLE || !line.starts_with("- `"))
        .map(str::to_lowercase)
        .collect()
}

fn matches(line: &str, patterns: &[Vec<&str>]) -> usize {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let starts = 0..words.len();
    starts
        .flat_map(|start| patterns.iter().map(move |pattern| (start, pattern)))
        .filter(|(start, pattern)| {
            let found = words.get(*start..*start + pattern.len());
            found.is_some_and(|found| {
                found
                    .iter()
                    .zip(pattern.iter())
                    .all(|(word, wanted)| is_match(word, wanted))
            })
        })
        .count()
}

fn is_match(word: &str, wanted: &str) -> bool {
    if wanted == ANY_WORD {
        return !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    }
    word == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style() -> File {
        let list: String = REQUIRED.iter().map(|word| format!("- `{word}`\n")).collect();
        File::new(
            STYLE,
            &format!("# Style\n\n{HEADING}\n\n{list}- `bell`\n\n## Files\n\n- `file`\n"),
        )
    }

    #[test]
    fn private_words_are_counted_in_comments_and_documents() {
        let words = listed(&[style()]).expect("a list");
        let files = [
            File::new("a.md", "Nobody is told.\n\nIt rings a bell.\n"),
            File::new("a.rs", "/// There is no such thing.\nlet nobody = \"aside\";\n"),
            File::new("docs/conformance/L.md", "somebody\n"),
            style(),
        ];
        let usage = usage(&files, &words);
        assert_eq!(usage, Usage { lines: 6, matches: 4 });
        assert_eq!(usage.per_ten_thousand(), 6_667);
    }

    #[test]
    fn a_word_is_matched_whole() {
        let words = listed(&[style()]).expect("a list");
        let file = File::new("a.md", "amend, consider, goes, one mends; nobody_else\n");
        assert_eq!(usage(&[file], &words).matches, 0);
    }

    #[test]
    fn a_word_cannot_be_removed_from_the_list() {
        let text = style().text.replace("- `thereof`\n", "");
        let error = listed(&[File::new(STYLE, &text)]).expect_err("one is missing");
        assert!(error.contains("`thereof`"), "{error}");
        assert!(listed(&[]).is_err());
    }
}
