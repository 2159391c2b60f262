//! Bytes as a word that fits into an address: base64 with `-` and `_`, without padding (RFC 4648, section 5).
//!
//! Strict: each sequence of bytes has one spelling, so that two cursors are equal when their texts are.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How many digits a number of bytes takes.
pub(super) const fn digits_of(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

/// Spells bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(digits_of(bytes.len()));
    for group in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = (bits << 8) | u32::from(group.get(at).copied().unwrap_or(0));
        }
        for at in 0..=group.len() {
            let value = (bits >> (18 - 6 * at)) & 63;
            text.extend(DIGITS.get(value as usize).map(|digit| char::from(*digit)));
        }
    }
    text
}

/// Reads what [`encode`] spelled, and nothing else.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let value = match group.get(at) {
                Some(digit) => value_of(*digit)?,
                None => 0,
            };
            bits = (bits << 6) | value;
        }
        let [_, whole @ ..] = bits.to_be_bytes();
        // One digit alone holds no byte; bits that no byte takes must be zero.
        let taken = group.len().checked_sub(1).filter(|taken| *taken > 0)?;
        let (given, rest) = whole.split_at_checked(taken)?;
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(given);
    }
    Some(bytes)
}

const fn value_of(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(value as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_vectors_of_the_standard_are_spelled_without_padding() {
        let vectors = [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(
                (encode(bytes.as_bytes()).as_str(), decode(text)),
                (text, Some(bytes.into()))
            );
            assert_eq!(text.len(), digits_of(bytes.len()));
        }
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in ["Zg==", "Zh", "Zm9", "A", "Zm9vA", "Zm 9", "Zm+/", "Zmä"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_spelled_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_read_as_it_is_spelled_or_not_at_all(text in "[A-Za-z0-9_=-]{0,12}") {
            if let Some(bytes) = decode(&text) {
                prop_assert_eq!(encode(&bytes), text);
            }
        }
    }
}
