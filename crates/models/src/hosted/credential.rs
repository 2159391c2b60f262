//! A provider's key, which is sent in one header and is redacted everywhere else.

use reqwest::header::HeaderValue;

use crate::provider::KeyHeader;

/// Longest key in bytes. Signed tokens have a few thousand; anything longer is probably another file.
pub const CREDENTIAL_BYTES_MAX: usize = 8_192;

/// The replacement for a redacted key.
const HIDDEN: &str = "[hidden]";

/// Shortest key that is redacted, in bytes. A shorter one is not a secret, and redacting it would damage
/// ordinary text.
const HIDDEN_BYTES_MIN: usize = 8;

/// A provider's key. It has no `Display`, and its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(String);

/// A text that cannot be a key. The error does not contain the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is 1 to 8192 printable ASCII characters without spaces")]
pub struct BadCredential;

impl Credential {
    /// Parses a key. Surrounding white space is removed, because files end with a line break.
    pub fn new(text: &str) -> Result<Self, BadCredential> {
        let key = text.trim();
        let fits = !key.is_empty()
            && key.len() <= CREDENTIAL_BYTES_MAX
            && key.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(key.to_owned())).ok_or(BadCredential)
    }

    /// Returns the header that sends the key, marked as sensitive so that no library prints it.
    pub(super) fn header(&self, auth: KeyHeader) -> Option<(&'static str, HeaderValue)> {
        let (name, value) = match auth {
            KeyHeader::Header(name) => (name, self.0.clone()),
            KeyHeader::Bearer => ("authorization", format!("Bearer {}", self.0)),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }

    /// Whether the text contains the key. Keys that are too short to be redacted are never found.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.len() >= HIDDEN_BYTES_MIN && text.contains(&self.0)
    }

    /// Returns the bytes without the key, or `None` if they do not contain it.
    pub(super) fn cut_from(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let key = self.0.as_bytes();
        let find = |rest: &[u8]| rest.windows(key.len()).position(|window| window == key);
        if key.len() < HIDDEN_BYTES_MIN {
            return None;
        }
        let (mut rest, mut kept) = (bytes, Vec::new());
        while let Some((before, after)) = find(rest).map(|at| rest.split_at(at)) {
            kept.extend_from_slice(before);
            kept.extend_from_slice(HIDDEN.as_bytes());
            rest = after.get(key.len()..).unwrap_or_default();
        }
        if kept.is_empty() {
            return None;
        }
        kept.extend_from_slice(rest);
        Some(kept)
    }

    /// Returns the text without the key, because a server may repeat what it received.
    pub(super) fn hide_in(&self, text: &str) -> String {
        match self.is_in(text) {
            true => text.replace(&self.0, HIDDEN),
            false => text.to_owned(),
        }
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credential({HIDDEN})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_printed() {
        let key = Credential::new(" sk-very-secret\n").expect("a key");
        assert_eq!(format!("{key:?}"), "Credential([hidden])");
        for auth in [KeyHeader::Bearer, KeyHeader::Header("x-api-key")] {
            let header = format!("{:?}", key.header(auth).expect("a header"));
            assert!(!header.contains("very-secret"), "{header}");
        }
        assert_eq!(key.hide_in("bad key sk-very-secret!"), "bad key [hidden]!");
    }

    #[test]
    fn a_key_is_removed_from_bytes_at_any_position() {
        let key = Credential::new("sk-very-secret").expect("a key");
        let cut = |bytes: &[u8]| key.cut_from(bytes);
        assert_eq!(
            cut(b"sk-very-secret\xffsk-very-secret"),
            Some(b"[hidden]\xff[hidden]".to_vec())
        );
        assert_eq!(cut(b"a sk-very-secret"), Some(b"a [hidden]".to_vec()));
        assert_eq!((cut(b"sk-very-secre"), cut(b"")), (None, None));
    }

    /// Redacting a one-letter key would damage all text.
    #[test]
    fn a_short_key_is_not_redacted() {
        let hidden = |key: &str, text: &str| Credential::new(key).expect("a key").hide_in(text);
        assert_eq!(hidden("k", "kick"), "kick");
        assert_eq!(hidden("1234567", "1234567"), "1234567");
        assert_eq!(hidden("12345678", "12345678"), HIDDEN);
    }

    #[test]
    fn text_that_does_not_fit_in_a_header_is_refused() {
        let long = "k".repeat(CREDENTIAL_BYTES_MAX + 1);
        for text in ["", " \n", "two words", "line\r\nx: y", "ключ", long.as_str()] {
            let error = Credential::new(text).expect_err("took it");
            assert!(error.to_string().contains(&CREDENTIAL_BYTES_MAX.to_string()));
        }
    }
}
