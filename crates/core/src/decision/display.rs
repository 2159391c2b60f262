//! Display of arguments to the person who approves them: invisible characters must become visible.

use std::fmt::Write as _;

/// Replaces characters that draw nothing, or that change how the following text is drawn, with JSON
/// escapes, so that the JSON value stays the same. A right-to-left override, for example, would show a
/// command in another order.
#[must_use]
pub fn escape_invisible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_unseen(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string never fails.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// The same for a text of several lines: line feeds and tabs stay.
#[must_use]
pub fn escape_invisible_lines(text: &str) -> String {
    let pieces = text.split_inclusive(['\n', '\t']);
    let escaped = pieces.map(|piece| match piece.strip_suffix(['\n', '\t']) {
        Some(inner) => escape_invisible(inner) + piece.get(inner.len()..).unwrap_or_default(),
        None => escape_invisible(piece),
    });
    escaped.collect()
}

/// Whether a character is invisible: control characters, direction marks, zero-width spaces, other line
/// breaks, tags and variation selectors.
const fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_direction_override_is_escaped() {
        let json = serde_json::json!({"cmd": "ls \u{202e}fr- mr\u{202c} ü"}).to_string();
        let shown = escape_invisible(&json);
        assert_eq!(shown, r#"{"cmd":"ls \u202efr- mr\u202c ü"}"#);
        assert_eq!(escape_invisible("\"\u{e0041}\""), r#""\udb40\udc41""#);
    }

    #[test]
    fn lines_stay_lines_and_their_invisible_characters_are_escaped() {
        let shown = escape_invisible_lines("+a\tb\n-c\r\n\u{202e}d");
        assert_eq!(shown, "+a\tb\n-c\\u000d\n\\u202ed");
    }

    proptest! {
        #[test]
        fn escaping_keeps_the_value_and_leaves_no_invisible_characters(text: String, unseen in "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{9b}]{0,5}") {
            let value = serde_json::json!({"cmd": format!("{text}{unseen}")});
            let shown = escape_invisible(&value.to_string());
            prop_assert!(!shown.chars().any(is_unseen));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
        }
    }
}
