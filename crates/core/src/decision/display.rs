//! How arguments are shown to whoever decides on them: what a reader cannot see must not be in them unseen.

use std::fmt::Write as _;

/// Spells out the characters of a JSON text that draw nothing, or that change how what follows is drawn, as JSON escapes:
/// its value stays the same. A direction that is turned around, for one, would show a command in another order than it has.
#[must_use]
pub fn escape_invisible(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_unseen(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// Whether a character draws nothing of its own: controls, marks of direction, spaces of no width, other breaks of a line,
/// tags and what chooses between forms.
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
    fn a_direction_that_is_turned_around_is_spelled_out() {
        let json = serde_json::json!({"cmd": "ls \u{202e}fr- mr\u{202c} ü"}).to_string();
        let shown = escape_invisible(&json);
        assert_eq!(shown, r#"{"cmd":"ls \u202efr- mr\u202c ü"}"#);
        assert_eq!(escape_invisible("\"\u{e0041}\""), r#""\udb40\udc41""#);
    }

    proptest! {
        #[test]
        fn what_is_shown_has_the_same_value_and_nothing_unseen(text: String, unseen in "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{9b}]{0,5}") {
            let value = serde_json::json!({"cmd": format!("{text}{unseen}")});
            let shown = escape_invisible(&value.to_string());
            prop_assert!(!shown.chars().any(is_unseen));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
        }
    }
}
