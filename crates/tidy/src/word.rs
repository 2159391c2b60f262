//! Words that do not belong in the repository.
//!
//! Readers have only this repository, so text that refers to places or conversations outside it is useless
//! to them. The phrases are assembled from parts, so that this file passes its own check.

use crate::scan::scan;
use crate::tree::File;

/// Phrases in lower case, matched without regard to case.
const PHRASES: [&str; 4] = [
    concat!("..", "/shared"),
    concat!("this ", "session"),
    concat!("the issue ", "tracker"),
    concat!("developers", ".md"),
];

/// A folder at the root of a particular machine. A folder or a route of that name at a deeper level is
/// permitted.
const FOREIGN_ROOT: &str = concat!("/wo", "rk/");
const NUMBERED: &str = concat!("issue", " #");

/// Lock files are written by programs.
const EXEMPT: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Returns phrases in one file that refer to something outside the project.
pub fn unsayable(file: &File) -> Vec<String> {
    if EXEMPT.iter().any(|name| file.path.ends_with(name)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let phrase = PHRASES.iter().find(|phrase| lower.contains(*phrase)).copied();
        let numbered = lower.match_indices(NUMBERED).any(|(at, phrase)| {
            let next = lower
                .get(at + phrase.len()..)
                .and_then(|rest| rest.chars().next());
            next.is_some_and(|c| c.is_ascii_digit())
        });
        let said = phrase
            .or(numbered.then_some(NUMBERED))
            .or(names_foreign_root(&lower).then_some(FOREIGN_ROOT));
        found.extend(said.map(|said| format!("{}:{}: says `{said}`", file.path, index + 1)));
    }
    found
}

/// The former word for a trigger or a webhook. Stored values keep it (`http_callback_wake`).
const HISTORICAL: &str = concat!("call", "back");

/// Returns text for people that contains the former word: documents, pages, messages and help.
pub fn historical(file: &File) -> Vec<String> {
    let is_page =
        file.path.starts_with("web/src/") && !file.path.contains(".gen.") && !file.path.contains(".test.");
    let is_program = file.path.starts_with("crates/") && !file.is_test() && file.source_of().is_some();
    let lines: Vec<(usize, String)> = match file.extension() {
        "md" => numbered(&file.text, |_| true),
        "ts" | "tsx" | "html" if is_page => numbered(&file.text, |_| true),
        "rs" if is_program => {
            let literals = scan(&file.text).without_tests().literals;
            let help = numbered(&file.text, |line| line.trim_start().starts_with("///"));
            literals
                .into_iter()
                .map(|literal| (literal.line, literal.text))
                .chain(help)
                .collect()
        }
        _ => Vec::new(),
    };
    let said = lines.iter().filter(|(_, text)| says_historical(text));
    said.map(|(line, _)| format!("{}:{line}: says `{HISTORICAL}` to people", file.path))
        .collect()
}

fn numbered(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().filter(|(_, line)| wanted(line));
    lines.map(|(index, line)| (index + 1, line.to_owned())).collect()
}

/// Returns whether the text contains the word in the singular or plural; as part of an identifier it is a
/// stored value or code.
fn says_historical(text: &str) -> bool {
    let lower = text.to_lowercase();
    lower.match_indices(HISTORICAL).any(|(at, word)| {
        let before = lower.get(..at).and_then(|text| text.chars().last());
        let after = lower.get(at + word.len()..).unwrap_or("");
        let after = after.strip_prefix('s').unwrap_or(after).chars().next();
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_part(before) && !is_part(after)
    })
}

/// Returns whether the line names the foreign folder itself, and not a deeper folder of that name or a
/// route with a parameter.
fn names_foreign_root(line: &str) -> bool {
    line.match_indices(FOREIGN_ROOT).any(|(at, root)| {
        let before = line.get(..at).and_then(|text| text.chars().last());
        let after = line.get(at + root.len()..).and_then(|text| text.chars().next());
        let deeper =
            before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '>' | ')'));
        !deeper && !after.is_some_and(|c| matches!(c, '{' | ':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(text: &str) -> usize {
        unsayable(&File::new("docs/a.md", text)).len()
    }

    #[test]
    fn text_that_points_outside_the_project_is_caught() {
        let outside = format!("see {}main/x", FOREIGN_ROOT);
        let numbered = format!("closes {}", NUMBERED.to_uppercase()) + "12";
        for text in PHRASES
            .iter()
            .map(|phrase| format!("x {}y", phrase.to_uppercase()))
            .chain([outside, numbered])
        {
            assert_eq!(caught(&text), 1, "{text}");
        }
    }

    #[test]
    fn a_folder_or_a_route_of_that_name_is_permitted() {
        for before in ["~/.wakeful/agents/a", "{home}", "https://host/api"] {
            assert_eq!(caught(&format!("{before}{FOREIGN_ROOT}x")), 0, "{before}");
        }
        assert_eq!(caught(&format!("\"{FOREIGN_ROOT}{{id}}\"")), 0);
        assert_eq!(caught(&format!("an {NUMBERED}number")), 0);
    }

    #[test]
    fn text_for_people_with_the_former_word_is_caught() {
        let caught = |path: &str, text: &str| historical(&File::new(path, text)).len();
        let sentence = format!("Sends a {}.", HISTORICAL.to_uppercase());
        for path in ["docs/a.md", "web/src/a.tsx"] {
            assert_eq!(caught(path, &sentence), 1, "{path}");
        }
        assert_eq!(caught("docs/a.md", &format!("two {HISTORICAL}s")), 1);
        let (message, help) = (
            format!("fn a() {{ b(\"{sentence}\") }}"),
            format!("/// {sentence}\nfn a() {{}}"),
        );
        for text in [&message, &help] {
            assert_eq!(caught("crates/a/src/a.rs", text), 1, "{text}");
            assert_eq!(caught("crates/a/tests/a.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn the_former_word_is_permitted_in_stored_values_and_code() {
        let stored = format!("`http_{HISTORICAL}_wake`, use{HISTORICAL}(f)");
        for path in ["docs/a.md", "web/src/a.tsx", "crates/a/src/a.rs"] {
            let file = File::new(path, &stored);
            assert!(historical(&file).is_empty(), "{path}");
        }
        let code = format!("fn a() {{ let {HISTORICAL} = 1; }} // {HISTORICAL}");
        assert!(historical(&File::new("crates/a/src/a.rs", &code)).is_empty());
    }

    #[test]
    fn lock_files_are_not_read() {
        assert!(unsayable(&File::new("web/package-lock.json", PHRASES[0])).is_empty());
    }
}
