//! The bounds on the text of policies, checked before Cedar parses it: its parser and its evaluator recurse,
//! and an overflow of the stack would end the process.

/// Maximum length of one policy. A chain of operators in it nests as deep as it is long.
pub(crate) const POLICY_BYTES_MAX: usize = 8 * 1024;

/// Maximum depth of brackets, and number of conditionals, in one policy. People write fewer than ten.
const NESTING_MAX: usize = 32;

/// Where a text exceeds a bound, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// Checks a text of policies.
pub(crate) fn check(text: &str) -> Result<(), Excess> {
    let excess = |offset: usize, message: String| Err(Excess { offset, message });
    let (mut start, mut depth, mut conditionals) = (0_usize, 0_usize, 0_usize);
    let mut tokens = Tokens {
        rest: text,
        offset: 0,
    };
    while let Some((offset, token)) = tokens.next_token() {
        match token {
            ";" if depth == 0 => (start, conditionals) = (offset, 0),
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "if" => conditionals += 1,
            _ => {}
        }
        if depth > NESTING_MAX || conditionals > NESTING_MAX {
            let message = format!("is nested deeper than {NESTING_MAX} levels; divide the policy");
            return excess(offset, message);
        }
        if offset.saturating_sub(start) > POLICY_BYTES_MAX {
            let message = format!("a policy has more than {POLICY_BYTES_MAX} bytes; divide it");
            return excess(start, message);
        }
    }
    Ok(())
}

/// The words and characters of a text outside comments. A string is one token.
struct Tokens<'a> {
    rest: &'a str,
    offset: usize,
}

impl<'a> Tokens<'a> {
    fn next_token(&mut self) -> Option<(usize, &'a str)> {
        loop {
            self.skip(self.rest.len() - self.rest.trim_start().len());
            if !self.rest.starts_with("//") {
                break;
            }
            self.skip(self.rest.find(['\n', '\r']).unwrap_or(self.rest.len()));
        }
        let first = self.rest.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if first == '"' {
            string_length(self.rest)
        } else if is_word(first) {
            self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len())
        } else {
            first.len_utf8()
        };
        let (offset, token) = (self.offset, self.rest.get(..length)?);
        self.skip(length);
        Some((offset, token))
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.offset += bytes;
    }
}

/// The length of the string literal at the beginning of a text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_outside_strings_and_comments() {
        let deep = "(".repeat(NESTING_MAX + 1);
        for text in [
            format!("\"{deep}\\\"{deep}\""),
            format!("// {deep}\n"),
            "();".repeat(99),
        ] {
            assert_eq!(check(&text), Ok(()), "{text}");
        }
        for text in [
            deep.clone(),
            format!("\"\"{deep}"),
            format!("// x\r{deep}"),
            "if ".repeat(NESTING_MAX + 1),
        ] {
            assert!(check(&text).is_err(), "{text}");
        }
        assert!(check(&"a ".repeat(POLICY_BYTES_MAX)).is_err());
    }
}
