//! The forms in which a secret may appear: as it is, line by line, and in the usual encodings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;

use crate::secret::SECRET_BYTES_MIN;

/// Shortest line of a secret with several lines that is a pattern of its own. Shorter ones occur in
/// ordinary text.
const LINE_BYTES_MIN: usize = SECRET_BYTES_MIN;

/// Length of encoded text from which programs break it into lines: `xxd -p` after 60 characters, `base64`
/// after 76.
const WRAPPED_BYTES_MIN: usize = 56;

/// One form of one secret.
#[derive(Clone)]
pub(super) struct Pattern {
    /// The secret's name.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// All forms of a secret.
pub(super) fn patterns(name: &str, value: &str) -> Vec<Pattern> {
    let value = value.trim();
    if value.len() < SECRET_BYTES_MIN {
        return Vec::new();
    }
    let mut forms = BTreeSet::from([value.to_owned()]);
    let lines = value
        .lines()
        .map(str::trim)
        .filter(|line| line.len() >= LINE_BYTES_MIN);
    forms.extend(lines.map(str::to_owned));
    forms.insert(json_escaped(value));
    forms.extend(percent_encoded(value));
    forms.extend(encoded(value));
    of_forms(name, forms)
}

/// The forms that programs break into lines.
pub(super) fn wrapped_patterns(name: &str, value: &str) -> Vec<Pattern> {
    let mut forms = encoded(value.trim());
    forms.retain(|form| form.len() >= WRAPPED_BYTES_MIN);
    of_forms(name, forms)
}

fn of_forms(name: &str, forms: BTreeSet<String>) -> Vec<Pattern> {
    let pattern = |form: String| Pattern {
        name: name.to_owned(),
        bytes: form.into_bytes(),
    };
    forms.into_iter().map(pattern).collect()
}

/// Hexadecimal and base64. In base64 a text looks different depending on how many bytes precede it, and its
/// first and last characters also depend on its neighbours, so those are left out.
fn encoded(value: &str) -> BTreeSet<String> {
    let bytes = value.as_bytes();
    let lower = bytes.iter().fold(String::new(), |mut hex, byte| {
        let _infallible = write!(hex, "{byte:02x}");
        hex
    });
    let mut forms = BTreeSet::from([lower.to_uppercase(), lower]);
    for alphabet in [STANDARD, URL_SAFE] {
        let engine = GeneralPurpose::new(&alphabet, NO_PAD);
        for before in 0..3_usize {
            let text = engine.encode([vec![0; before].as_slice(), bytes].concat());
            let own_from = (before * 8).div_ceil(6);
            let own_to = (before + bytes.len()) * 8 / 6;
            forms.extend(text.get(own_from..own_to).map(str::to_owned));
        }
    }
    forms.retain(|form| form.len() >= SECRET_BYTES_MIN);
    forms
}

fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
        .to_owned()
}

/// Percent encoding of reserved characters and of all characters, in both cases.
fn percent_encoded(value: &str) -> Vec<String> {
    let encode = |is_kept: fn(u8) -> bool, is_upper: bool| {
        value.bytes().fold(String::new(), |mut text, byte| {
            let _infallible = match (is_kept(byte), is_upper) {
                (true, _) => write!(text, "{}", char::from(byte)),
                (false, true) => write!(text, "%{byte:02X}"),
                (false, false) => write!(text, "%{byte:02x}"),
            };
            text
        })
    };
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let all = [
        encode(unreserved, true),
        encode(unreserved, false),
        encode(|_| false, true),
        encode(|_| false, false),
    ];
    let forms = all.map(|text| [text.replace("%20", "+"), text]);
    forms.into_iter().flatten().collect()
}
