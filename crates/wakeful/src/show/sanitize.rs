//! Makes text safe for a terminal. Output of models and tools may contain control characters, which a
//! terminal executes as commands: to hide a line, to change the window title, or to inject input.

use std::borrow::Cow;

/// Replaces control characters except line ends and tabs with a visible placeholder, and characters that change
/// the direction of the text after them.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let order = |c: char| (c.is_control() && c != '\n' && c != '\t') || changes_direction(c);
    if text.contains(order) {
        Cow::Owned(text.replace(order, "\u{FFFD}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a character changes the direction in which a terminal shows the text after it, which can make a
/// command look like another one.
const fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Escapes the control characters that JSON permits unescaped. They occur only in strings, so the value
/// stays the same.
pub(super) fn json(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return Cow::Borrowed(line);
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        if c.is_control() {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced_and_lines_and_tabs_stay() {
        assert_eq!(text("a\tb\nc"), "a\tb\nc");
        assert_eq!(
            text("\u{1b}[2Jx\u{7}\r\u{9b}y\u{7f}"),
            "\u{FFFD}[2Jx\u{FFFD}\u{FFFD}\u{FFFD}y\u{FFFD}"
        );
    }

    #[test]
    fn characters_that_change_the_direction_of_text_are_replaced() {
        let hostile = "a\u{202E}txt.exe\u{202C}b\u{2066}c\u{2069}";
        assert_eq!(text(hostile), "a\u{FFFD}txt.exe\u{FFFD}b\u{FFFD}c\u{FFFD}");
        assert_eq!(text("שלום → café"), "שלום → café");
    }

    #[test]
    fn json_keeps_its_value_without_control_characters() {
        let value = serde_json::json!({"text": "\u{9b}2J\u{7f}\u{1b}é"});
        let line = serde_json::to_string(&value).expect("JSON");
        let cleaned = json(&line).into_owned();
        assert!(!cleaned.contains(char::is_control), "{cleaned:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&cleaned).expect("JSON"),
            value
        );
    }
}
