//! The nearest known word to one that a person mistyped.

/// Most characters of a word that are compared. Names are short; a longer text is not a typing error.
const WORD_CHARS_MAX: usize = 256;

/// Returns the known word that was probably meant, without regard to case.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let distances = known
        .into_iter()
        .map(|one| (distance(&lower, &one.to_lowercase()), one));
    let (distance, meant) = distances.min()?;
    is_near(distance, word).then_some(meant)
}

/// Returns the hint for an unknown word: the nearest known one, else all of them.
#[must_use]
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("use one of: {}", known.join(", ")),
    }
}

/// Returns the edit distance of two words: letters added, removed, changed, or swapped with the next one.
#[must_use]
pub fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().take(WORD_CHARS_MAX).collect();
    let other: Vec<char> = other.chars().take(WORD_CHARS_MAX).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut cells = vec![row + 1];
        for (column, beside) in other.iter().enumerate() {
            let at = |cells: &[usize], column: usize| cells.get(column).copied().unwrap_or(usize::MAX - 1);
            let changed = at(&above, column) + usize::from(letter != beside);
            let mut least = changed
                .min(at(&above, column + 1) + 1)
                .min(at(&cells, column) + 1);
            let is_swap = row > 0
                && column > 0
                && one.get(row - 1) == Some(beside)
                && other.get(column - 1) == Some(letter);
            if is_swap {
                least = least.min(at(&before, column - 1) + 1);
            }
            cells.push(least);
        }
        (before, above) = (above, cells);
    }
    above.last().copied().unwrap_or(0)
}

/// Whether the distance suggests a typing error and not another word.
#[must_use]
pub fn is_near(distance: usize, word: &str) -> bool {
    distance <= (word.chars().count() / 3).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_word_that_was_meant() {
        let known = ["anthropic", "openai", "openai-chat", "gemini"];
        for (typed, meant) in [
            ("antropic", Some("anthropic")),
            ("OpenAI", Some("openai")),
            ("gmeini", Some("gemini")),
            ("acme", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), meant, "{typed}");
        }
        assert_eq!(hint("opnai", known), "did you mean openai?");
        assert_eq!(hint("acme", ["a", "b"]), "use one of: a, b");
    }

    #[test]
    fn swapped_letters_count_once() {
        for (one, other, expected) in [
            ("", "abc", 3),
            ("abc", "acb", 1),
            ("ca", "ac", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
        assert_eq!(distance(&"x".repeat(100_000), ""), WORD_CHARS_MAX);
    }
}
