//! A minimal Rust scanner that distinguishes code from strings and comments.
//!
//! A full parser would be a heavy dependency for a crate that must build first and fast. The scanner blanks
//! everything that is not code, keeps every offset and line, and returns tokens: words and single
//! punctuation marks.

/// A string literal with its position and the text between its quotes (escapes as written).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    pub at: usize,
    pub line: usize,
    pub text: String,
}

/// One word or one punctuation mark of blanked code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
    pub at: usize,
}

/// Rust text with comments, strings and characters blanked; the quotes of strings stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    pub code: String,
    pub literals: Vec<Literal>,
}

/// Blanks everything in `source` that is not code.
pub fn scan(source: &str) -> Scanned {
    let mut scanner = Scanner {
        chars: source.chars().collect(),
        next: 0,
        line: 1,
        code: String::new(),
        literals: Vec::new(),
    };
    scanner.run();
    Scanned {
        code: scanner.code,
        literals: scanner.literals,
    }
}

impl Scanned {
    /// Returns the remaining words and punctuation marks.
    pub fn tokens(&self) -> Vec<Token<'_>> {
        tokens(&self.code)
    }

    /// Returns the text with every item under `#[cfg(test)]` blanked as well.
    pub fn without_tests(&self) -> Self {
        let ranges = test_ranges(&self.tokens());
        let hidden = |at: usize| ranges.iter().any(|(start, end)| (*start..*end).contains(&at));
        let code = self
            .code
            .char_indices()
            .map(|(at, c)| if hidden(at) && c != '\n' { ' ' } else { c });
        Self {
            // A wide character is replaced by as many spaces as it has bytes, so that later offsets stay
            // the same.
            code: code
                .zip(self.code.chars())
                .flat_map(|(new, old)| pad(new, old))
                .collect(),
            literals: self
                .literals
                .iter()
                .filter(|literal| !hidden(literal.at))
                .cloned()
                .collect(),
        }
    }
}

fn pad(new: char, old: char) -> impl Iterator<Item = char> {
    std::iter::repeat_n(new, if new == old { 1 } else { old.len_utf8() })
}

/// Returns the index after the bracket that closes the one at `open`, or the end of the text.
pub fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Returns the index after the item that begins at `start`: after the closing brace of its body, or its
/// semicolon.
pub fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let body = item_body(tokens, start);
    if is_text(tokens, body, &["{"]) {
        closing(tokens, body)
    } else {
        tokens.len().min(body + 1)
    }
}

/// Returns the index of the brace that opens the body of the item at `start`, or of its semicolon.
pub fn item_body(tokens: &[Token<'_>], start: usize) -> usize {
    let mut index = start;
    while let Some(token) = tokens.get(index) {
        match token.text {
            ";" | "{" => return index,
            "(" | "[" => index = closing(tokens, index),
            _ => index += 1,
        }
    }
    tokens.len()
}

fn test_ranges(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let after = if is_text(tokens, index, &["#", "["]) {
            closing(tokens, index + 1)
        } else {
            index
        };
        let attribute = tokens.get(index..after).unwrap_or_default();
        let mentions = |word: &str| attribute.iter().any(|token| token.text == word);
        if mentions("cfg") && mentions("test") && !mentions("not") {
            let end = item_end(tokens, after);
            let last = tokens
                .get(end.saturating_sub(1))
                .map_or(usize::MAX, |token| token.at + token.text.len());
            ranges.push((tokens.get(index).map_or(0, |token| token.at), last));
            index = end;
        } else {
            index = after.max(index + 1);
        }
    }
    ranges
}

/// Returns whether the tokens from `start` equal `words`.
pub fn is_text(tokens: &[Token<'_>], start: usize, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(offset, word)| {
        tokens
            .get(start + offset)
            .is_some_and(|token| token.text == *word)
    })
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut word_start: Option<usize> = None;
    for (at, c) in code.char_indices().chain([(code.len(), ' ')]) {
        if is_word(c) {
            word_start.get_or_insert(at);
            continue;
        }
        if let Some(start) = word_start.take() {
            found.push(Token {
                text: code.get(start..at).unwrap_or(""),
                line,
                at: start,
            });
        }
        if c == '\n' {
            line += 1;
        } else if !c.is_whitespace() {
            found.push(Token {
                text: code.get(at..at + c.len_utf8()).unwrap_or(""),
                line,
                at,
            });
        }
    }
    found
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Scanner {
    chars: Vec<char>,
    next: usize,
    line: usize,
    code: String,
    literals: Vec<Literal>,
}

impl Scanner {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.character_or_lifetime(),
                _ if is_word(c) => self.word(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.next + ahead).copied()
    }

    fn keep(&mut self) {
        if let Some(c) = self.peek(0) {
            self.line += usize::from(c == '\n');
            self.code.push(c);
            self.next += 1;
        }
    }

    fn blank(&mut self) {
        match self.peek(0) {
            Some('\n') => self.keep(),
            Some(_) => {
                self.code.push(' ');
                self.next += 1;
            }
            None => {}
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.blank();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.blank();
                    continue;
                }
            }
            self.blank();
            self.blank();
            if depth == 0 {
                return;
            }
        }
    }

    /// Scans a word, or the prefix of a literal such as `r#"…"#`, in which a backslash is ordinary text.
    fn word(&mut self) {
        let mut word = String::new();
        while let Some(c) = self.peek(word.chars().count()).filter(|c| is_word(*c)) {
            word.push(c);
        }
        let length = word.chars().count();
        let hashes = (0..)
            .take_while(|ahead| self.peek(length + ahead) == Some('#'))
            .count();
        let raw = matches!(word.as_str(), "r" | "br" | "cr") && self.peek(length + hashes) == Some('"');
        for _ in 0..length {
            if raw { self.blank() } else { self.keep() }
        }
        if raw {
            self.raw_string(hashes);
        }
    }

    fn raw_string(&mut self, hashes: usize) {
        for _ in 0..hashes {
            self.blank();
        }
        self.literal(|scanner| {
            let closes = (1..=hashes).all(|ahead| scanner.peek(ahead) == Some('#'));
            if scanner.peek(0) == Some('"') && closes {
                End::Here
            } else {
                End::NotYet(1)
            }
        });
        for _ in 0..hashes {
            self.blank();
        }
    }

    fn string(&mut self) {
        self.literal(|scanner| match scanner.peek(0) {
            Some('"') => End::Here,
            Some('\\') => End::NotYet(2),
            _ => End::NotYet(1),
        });
    }

    fn literal(&mut self, end: impl Fn(&Self) -> End) {
        let (at, line) = (self.code.len(), self.line);
        self.keep();
        let mut text = String::new();
        while self.peek(0).is_some() {
            let End::NotYet(length) = end(self) else { break };
            for _ in 0..length {
                text.extend(self.peek(0));
                self.blank();
            }
        }
        self.keep();
        self.literals.push(Literal { at, line, text });
    }

    /// `'a'` and `'\n'` are characters and are blanked; `'a` is a lifetime and stays.
    fn character_or_lifetime(&mut self) {
        if self.peek(1) == Some('\\') {
            self.blank();
            while self.peek(0).is_some_and(|c| c != '\'') {
                let length = if self.peek(0) == Some('\\') { 2 } else { 1 };
                (0..length).for_each(|_| self.blank());
            }
            self.blank();
        } else if self.peek(2) == Some('\'') {
            (0..3).for_each(|_| self.blank());
        } else {
            self.keep();
        }
    }
}

enum End {
    Here,
    NotYet(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        scan(source)
            .tokens()
            .iter()
            .map(|token| token.text.to_owned())
            .collect()
    }

    #[test]
    fn comments_strings_and_characters_are_not_code() {
        let source = "a // b\n/* c /* d */ e */ f \"g \\\" h\" r#\"i \" j\"# 'k' '\\'' b\"l\" 'm: n";
        assert_eq!(
            words(source),
            [
                "a", "f", "\"", "\"", "\"", "\"", "b", "\"", "\"", "'", "m", ":", "n"
            ]
        );
    }

    #[test]
    fn literals_keep_their_text_and_line() {
        let scanned = scan("x(\"one\");\ny(r##\"two \"# still\"##);");
        let found: Vec<_> = scanned
            .literals
            .iter()
            .map(|l| (l.line, l.text.as_str()))
            .collect();
        assert_eq!(found, [(1, "one"), (2, "two \"# still")]);
    }

    #[test]
    fn blanking_keeps_every_line() {
        let source = "a\n\"b\nc\"\n/* d\n */ e";
        let lines: Vec<_> = scan(source)
            .tokens()
            .iter()
            .map(|t| (t.text.to_owned(), t.line))
            .collect();
        let expected = [("a", 1), ("\"", 2), ("\"", 3), ("e", 5)];
        assert_eq!(lines, expected.map(|(text, line)| (text.to_owned(), line)));
    }

    #[test]
    fn a_raw_identifier_is_not_a_string() {
        assert_eq!(words("r#type = 1"), ["r", "#", "type", "=", "1"]);
    }

    #[test]
    fn test_items_can_be_excluded() {
        let source =
            "fn a() { \"x\" }\n#[cfg(test)]\nmod tests { fn b() { \"y\" } }\n#[cfg(not(test))] fn c() {}";
        let left = scan(source).without_tests();
        let names: Vec<_> = left
            .tokens()
            .iter()
            .map(|token| token.text)
            .filter(|text| text.len() == 1)
            .collect();
        assert!(names.contains(&"a") && names.contains(&"c") && !names.contains(&"b"));
        assert_eq!(left.literals.len(), 1);
        assert_eq!(left.code.lines().count(), 4);
    }

    #[test]
    fn an_attribute_list_on_a_test_module_does_not_end_it_early() {
        let source = "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests { use std::fs; }\nfn after() {}";
        let left = scan(source).without_tests();
        assert!(!left.code.contains("std"), "{}", left.code);
        assert!(left.code.contains("after"));
    }
}
