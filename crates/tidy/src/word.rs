//! Words that the project does not say.
//!
//! A reader has this repository and nothing else, so text that points at a place or a conversation outside of
//! it tells them nothing. The phrases are put together here from pieces, so that this file passes as well.

use crate::tree::File;

/// Phrases in lower case; each is looked for in any case.
const PHRASES: [&str; 4] = [
    concat!("..", "/shared"),
    concat!("this ", "session"),
    concat!("the issue ", "tracker"),
    concat!("developers", ".md"),
];

/// A folder at the top of some machine; a folder or a route of that name further down is nobody's business.
const FOREIGN_ROOT: &str = concat!("/wo", "rk/");
const NUMBERED: &str = concat!("issue", " #");

/// Lock files are written by programs.
const EXEMPT: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// Phrases in one file that speak of more than the project.
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

/// Whether the line names the foreign folder itself: not one of that name deeper down, nor a route with a parameter.
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
    fn a_folder_or_a_route_of_that_name_is_ours() {
        for before in ["~/.wakeful/agents/a", "{home}", "https://host/api"] {
            assert_eq!(caught(&format!("{before}{FOREIGN_ROOT}x")), 0, "{before}");
        }
        assert_eq!(caught(&format!("\"{FOREIGN_ROOT}{{id}}\"")), 0);
        assert_eq!(caught(&format!("an {NUMBERED}number")), 0);
    }

    #[test]
    fn lock_files_are_not_read() {
        assert!(unsayable(&File::new("web/package-lock.json", PHRASES[0])).is_empty());
    }
}
