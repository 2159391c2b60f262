//! Removes secrets from text that leaves the home.
//!
//! Known secrets are matched literally, others by their shape. A pattern that removes too much is better
//! than one that removes too little.

use serde_json::{Map, Value};
use wakeful_core::conversation::Block;

/// The replacement for a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Minimum length of a secret: shorter values are likely to be ordinary words.
const SECRET_BYTES_MIN: usize = 8;

/// Parts of the names of environment variables that hold secrets.
const SECRET_NAMES: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// Prefixes of keys of well-known services, each with the minimum number of characters that follow.
const KEY_BEGINNINGS: [(&str, usize); 15] = [
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("hf_", 20),
    ("xoxb-", 16),
    ("xoxp-", 16),
];

/// Removes and counts secrets.
#[derive(Debug, Default)]
pub(crate) struct Redactor {
    known: Vec<String>,
    count: usize,
}

impl Redactor {
    /// A redactor of all environment variables whose names look like secrets.
    pub(crate) fn of_environment() -> Self {
        let mut redactor = Self::default();
        for (name, value) in std::env::vars_os() {
            let name = name.to_string_lossy().to_uppercase();
            if SECRET_NAMES.iter().any(|part| name.contains(part)) {
                redactor.know(&value.to_string_lossy());
            }
        }
        redactor
    }

    /// Adds a known secret.
    pub(crate) fn know(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= SECRET_BYTES_MIN {
            self.known.push(secret.to_owned());
            // The longest first, because one may be a prefix of another.
            self.known.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    /// The number of secrets removed.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The text without secrets.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.known {
            self.count += text.matches(secret.as_str()).count();
            text = text.replace(secret.as_str(), REDACTED);
        }
        let text = self.without(&text, private_key);
        // All other patterns fit in one line, and matching line by line bounds the time.
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| {
                let clean = |line: String, pattern: &Pattern| self.without(&line, *pattern);
                PATTERNS.iter().fold(line.to_owned(), clean)
            })
            .collect()
    }

    /// The value without secrets, including in member names.
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, value)| (self.text(name), self.value(value)));
                Value::Object(members.collect::<Map<String, Value>>())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The block without secrets. Data that only a provider can read is left out.
    pub(crate) fn block(&mut self, block: Block) -> Block {
        match block {
            Block::Text { text } => Block::Text {
                text: self.text(&text),
            },
            Block::Thinking { provider, text, .. } => Block::Thinking {
                provider,
                text: self.text(&text),
                opaque: Value::Null,
            },
            Block::ToolUse(mut call) => {
                call.name = self.text(&call.name);
                call.input = self.value(&call.input);
                Block::ToolUse(call)
            }
            Block::ToolResult {
                call_id,
                is_error,
                content,
            } => Block::ToolResult {
                call_id,
                is_error,
                content: self.text(&content),
            },
            Block::WebSearch(mut search) => {
                search.query = self.text(&search.query);
                search.sources = search.sources.iter().map(|source| self.text(source)).collect();
                search.opaque = Value::Null;
                Block::WebSearch(search)
            }
            Block::Attachment(attachment) => Block::Attachment(attachment),
        }
    }

    /// Removes all matches of a pattern.
    fn without(&mut self, text: &str, pattern: Pattern) -> String {
        let (mut clean, mut rest) = (String::new(), text);
        while let Some((from, to)) = pattern(rest) {
            let (Some(before), Some(after)) = (rest.get(..from), rest.get(to..)) else {
                break;
            };
            clean.push_str(before);
            clean.push_str(REDACTED);
            self.count += 1;
            rest = after;
        }
        clean.push_str(rest);
        clean
    }
}

/// Finds the first match of one kind: its start and end.
type Pattern = fn(&str) -> Option<(usize, usize)>;

/// The patterns that fit in one line.
const PATTERNS: [Pattern; 4] = [url_password, bearer_token, web_token, service_key];

/// `-----BEGIN … PRIVATE KEY-----` up to its end marker, or to the end of the text if that is missing.
fn private_key(text: &str) -> Option<(usize, usize)> {
    let (begin, mark) = ("-----BEGIN ", "PRIVATE KEY-----");
    for (from, _) in text.match_indices(begin) {
        let head = text.get(from + begin.len()..)?;
        let Some(at) = head.find(mark) else { continue };
        let is_label = head.get(..at).is_some_and(|label| {
            label
                .bytes()
                .all(|letter| letter.is_ascii_uppercase() || letter == b' ')
        });
        if !is_label {
            continue;
        }
        let body = from + begin.len() + at + mark.len();
        let end = text.get(body..).and_then(|rest| rest.find(mark));
        return Some((from, end.map_or(text.len(), |end| body + end + mark.len())));
    }
    None
}

/// The password of `scheme://user:password@host`.
fn url_password(text: &str) -> Option<(usize, usize)> {
    for (at, mark) in text.match_indices("://") {
        let begin = at + mark.len();
        let rest = text.get(begin..)?;
        let length = rest
            .find(|letter: char| {
                letter.is_whitespace() || matches!(letter, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`')
            })
            .unwrap_or(rest.len());
        let authority = rest.get(..length)?;
        let Some((login, _)) = authority.rsplit_once('@') else {
            continue;
        };
        let Some((user, password)) = login.split_once(':') else {
            continue;
        };
        if !password.is_empty() && password != REDACTED {
            let from = begin + user.len() + 1;
            return Some((from, from + password.len()));
        }
    }
    None
}

/// The token after `Bearer `.
fn bearer_token(text: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    for (at, mark) in lower.match_indices("bearer ") {
        let from = at + mark.len();
        let length = run_of(text.get(from..)?, |letter| {
            is_key_letter(letter) || matches!(letter, b'.' | b'~' | b'+' | b'/' | b'=')
        });
        if length >= SECRET_BYTES_MIN {
            return Some((from, from + length));
        }
    }
    None
}

/// A JSON web token: three base64 parts, the first of which decodes to text that starts with `{"`.
fn web_token(text: &str) -> Option<(usize, usize)> {
    for (from, _) in text.match_indices("eyJ") {
        let length = run_of(text.get(from..)?, |letter| {
            is_key_letter(letter) || letter == b'.'
        });
        let token = text.get(from..from + length)?;
        if begins_word(text, from) && token.split('.').filter(|part| part.len() >= 4).count() >= 3 {
            return Some((from, from + length));
        }
    }
    None
}

/// A key of a well-known service, found by its prefix.
fn service_key(text: &str) -> Option<(usize, usize)> {
    let found = KEY_BEGINNINGS.iter().filter_map(|(beginning, least)| {
        text.match_indices(beginning).find_map(|(from, _)| {
            let length = run_of(text.get(from + beginning.len()..)?, is_key_letter);
            (length >= *least && begins_word(text, from)).then_some((from, from + beginning.len() + length))
        })
    });
    found.min()
}

const fn is_key_letter(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-')
}

/// Whether the position is at the start of a word.
fn begins_word(text: &str, from: usize) -> bool {
    let before = text.get(..from).and_then(|before| before.chars().next_back());
    before.is_none_or(|letter| !letter.is_alphanumeric())
}

/// The number of leading bytes that satisfy a predicate.
fn run_of(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|letter| is(*letter)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn clean(text: &str) -> (String, usize) {
        let mut redactor = Redactor::default();
        (redactor.text(text), redactor.count())
    }

    #[test]
    fn keys_of_well_known_services_are_found_by_their_prefix() {
        for (beginning, least) in KEY_BEGINNINGS {
            let key = format!("{beginning}{}", "aB3".repeat(least));
            let (text, count) = clean(&format!("key={key}, and `{key}`"));
            assert_eq!(
                (text.as_str(), count),
                ("key=[redacted], and `[redacted]`", 2),
                "{key}"
            );
            let short = format!("{beginning}abc");
            assert_eq!(clean(&short), (short, 0));
        }
        assert_eq!(
            clean("task-force-of-many-words").1,
            0,
            "no key begins inside a word"
        );
        assert_eq!(clean("sk-ant-api03-abcdefghijkl_mnop-qrst").0, "[redacted]");
    }

    #[test]
    fn bearer_tokens_are_found_regardless_of_case() {
        let (text, count) = clean("Authorization: bearer abc.DEF-123~x/y+z==\r\nX: Bearer of news");
        assert_eq!(
            (text.as_str(), count),
            ("Authorization: bearer [redacted]\r\nX: Bearer of news", 1)
        );
    }

    #[test]
    fn private_keys_are_removed_completely_even_if_truncated() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
        assert_eq!(
            clean(&format!("a {key} b {key} c")),
            ("a [redacted] b [redacted] c".into(), 2)
        );
        assert_eq!(
            clean("x -----BEGIN PRIVATE KEY-----\nMIIE"),
            ("x [redacted]".into(), 1)
        );
        let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
        assert_eq!(clean(public), (public.into(), 0));
    }

    #[test]
    fn passwords_in_urls_are_removed_and_the_url_stays() {
        assert_eq!(
            clean("psql postgres://me:p@ss:w0rd@db.example/x?y then https://host:8080/a@b and http://me@h/"),
            (
                "psql postgres://me:[redacted]@db.example/x?y then https://host:8080/a@b and http://me@h/"
                    .into(),
                1
            )
        );
    }

    #[test]
    fn web_tokens_are_found_by_their_three_parts() {
        assert_eq!(
            clean("t=eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl;"),
            ("t=[redacted];".into(), 1)
        );
        assert_eq!(clean("eyJhbGciOi alone").1, 0);
    }

    #[test]
    fn known_secrets_are_removed_from_texts_names_and_values() {
        let mut redactor = Redactor::default();
        redactor.know(" hunter2-hunter2\n");
        redactor.know("hunter2-hunter2-longer");
        redactor.know("short");
        let value = redactor.value(&json!({"hunter2-hunter2": ["hunter2-hunter2-longer", 1, "short"]}));
        assert_eq!(value, json!({"[redacted]": ["[redacted]", 1, "short"]}));
        assert_eq!(redactor.count(), 2);
    }

    proptest! {
        /// A secret is removed in any context, and a second pass finds nothing more.
        #[test]
        fn a_secret_is_removed_in_any_context(before in "(?s).{0,20}", after in "(?s).{0,20}") {
            for secret in ["https://u:s3cret-pass@h", "Bearer s3cret-pass", "-----BEGIN PRIVATE KEY-----s3cret-pass"] {
                let (once, count) = clean(&format!("{before} {secret} {after}"));
                prop_assert!(!once.contains("s3cret-pass") && count > 0, "{}", once);
                prop_assert_eq!(clean(&once), (once, 0));
            }
        }
    }
}
