//! Validation of the images and documents attached to a message.
//!
//! The media type is detected from the first bytes and not from the file name, because a provider rejects
//! the whole request when an attachment is declared as the wrong type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::conversation::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, Attachment};
use crate::failure::truncate_chars;

/// Maximum total size of a message's attachments in bytes, before base64. It fits into a request of 32 MB.
pub const ATTACHMENTS_BYTES_MAX: usize = 20 * 1024 * 1024;

/// Maximum length of an attachment's file name, which is the Linux limit.
pub const NAME_BYTES_MAX: usize = 255;

/// The supported media types.
pub const MEDIA_TYPES: [&str; 6] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/pdf",
    "text/plain",
];

/// Maximum number of characters of a name that an error message quotes.
const QUOTE_CHARS_MAX: usize = 80;

/// Why an attachment is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAttachment {
    #[error("there are more than {ATTACHMENTS_MAX} attachments")]
    TooMany,
    #[error("the attachments have more than {ATTACHMENTS_BYTES_MAX} bytes in total")]
    TooLargeTogether,
    /// The name is empty, too long, or contains a slash or control characters.
    #[error("the attachment {0:?} does not have a plain file name")]
    Name(String),
    #[error("the attachment {0:?} has more than {ATTACHMENT_BYTES_MAX} bytes")]
    TooLarge(String),
    /// The content has none of the supported media types.
    #[error("the attachment {0:?} is not PNG, JPEG, GIF, WebP, PDF or plain UTF-8 text")]
    Kind(String),
    /// The declared media type differs from the detected one.
    #[error("the attachment {name:?} is {is}, not {said:?}")]
    Misnamed {
        name: String,
        /// The detected media type.
        is: &'static str,
        /// The declared media type.
        said: String,
    },
    #[error("the data of the attachment {0:?} is not base64 with padding")]
    Data(String),
}

impl Attachment {
    /// Builds an attachment from a file's bytes; `name` is the file name without folders.
    pub fn of_bytes(name: &str, bytes: &[u8]) -> Result<Self, BadAttachment> {
        let media_type = look(name, bytes)?;
        Ok(Self {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            data: base64(bytes),
        })
    }

    /// Decodes the data; `None` if it is not valid base64.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        from_base64(&self.data)
    }

    /// Checks an attachment from an untrusted sender.
    fn check(&self) -> Result<(), BadAttachment> {
        let quoted = || truncate_chars(&self.name, QUOTE_CHARS_MAX);
        if self.data.len() > ATTACHMENT_BYTES_MAX.div_ceil(3).saturating_mul(4) {
            return Err(BadAttachment::TooLarge(quoted()));
        }
        let bytes = self.bytes().ok_or_else(|| BadAttachment::Data(quoted()))?;
        let is = look(&self.name, &bytes)?;
        if is != self.media_type {
            let (name, said) = (quoted(), truncate_chars(&self.media_type, QUOTE_CHARS_MAX));
            return Err(BadAttachment::Misnamed { name, is, said });
        }
        Ok(())
    }
}

/// Returns the media type of a file if its name, size and content are acceptable.
fn look(name: &str, bytes: &[u8]) -> Result<&'static str, BadAttachment> {
    let quoted = || truncate_chars(name, QUOTE_CHARS_MAX);
    let is_plain = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.contains('/')
        && !name.chars().any(char::is_control);
    if !is_plain {
        return Err(BadAttachment::Name(quoted()));
    }
    if bytes.len() > ATTACHMENT_BYTES_MAX {
        return Err(BadAttachment::TooLarge(quoted()));
    }
    media_type(bytes).ok_or_else(|| BadAttachment::Kind(quoted()))
}

/// Checks the attachments of a message from an untrusted sender.
pub fn check(attachments: &[Attachment]) -> Result<(), BadAttachment> {
    // Check the count and total size before decoding anything.
    check_together(attachments)?;
    attachments.iter().try_for_each(Attachment::check)
}

/// Checks only the number and the total size of attachments that were each validated before.
pub fn check_together(attachments: &[Attachment]) -> Result<(), BadAttachment> {
    if attachments.len() > ATTACHMENTS_MAX {
        return Err(BadAttachment::TooMany);
    }
    let encoded = attachments.iter().map(|attachment| attachment.data.len());
    let encoded = encoded.fold(0, usize::saturating_add);
    if encoded > ATTACHMENTS_BYTES_MAX.div_ceil(3).saturating_mul(4) {
        return Err(BadAttachment::TooLargeTogether);
    }
    Ok(())
}

/// Detects the media type from the first bytes. UTF-8 without any other signature is plain text.
#[must_use]
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        [] => None,
        _ => std::str::from_utf8(bytes)
            .is_ok_and(|text| !text.chars().any(is_no_text))
            .then_some("text/plain"),
    }
}

/// Control characters that do not occur in text files: all except tab, line and page breaks, and the escape
/// of colour codes.
fn is_no_text(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}')
}

#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64 with padding and accepts only the canonical encoding.
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n rest";

    #[test]
    fn the_media_type_is_detected_from_the_first_bytes() {
        let cases: [(&[u8], Option<&str>); 11] = [
            (PNG, Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"%PDF-1.7", Some("application/pdf")),
            ("größer\r\n".as_bytes(), Some("text/plain")),
            (b"\xff\xfe bytes", None),
            (b"nul \0 byte", None),
            (b"\x7fELF", None),
            (b"PK\x03\x04", None),
            (b"", None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(media_type(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn each_rejected_attachment_names_its_reason() {
        let good = Attachment::of_bytes("a.png", PNG).expect("a picture");
        assert_eq!(check(std::slice::from_ref(&good)), Ok(()));
        assert_eq!(
            check(&vec![good.clone(); ATTACHMENTS_MAX + 1]),
            Err(BadAttachment::TooMany)
        );
        for name in ["", "a/b", "a\nb", &"x".repeat(NAME_BYTES_MAX + 1)] {
            assert!(matches!(
                Attachment::of_bytes(name, PNG),
                Err(BadAttachment::Name(_))
            ));
        }
        let large = vec![b'x'; ATTACHMENT_BYTES_MAX + 1];
        assert!(matches!(
            Attachment::of_bytes("a", &large),
            Err(BadAttachment::TooLarge(_))
        ));
        let said = Attachment {
            media_type: "image/jpeg".into(),
            ..good.clone()
        };
        assert!(matches!(
            check(&[said]),
            Err(BadAttachment::Misnamed { is: "image/png", .. })
        ));
        for data in ["AAA", "A*AA", "AB==CC==", "AB==\n", "AB=="] {
            let broken = Attachment {
                data: data.into(),
                ..good.clone()
            };
            assert!(matches!(check(&[broken]), Err(BadAttachment::Data(_))), "{data}");
        }
    }

    #[test]
    fn attachments_have_a_total_size_limit() {
        let one = Attachment {
            name: "a.txt".into(),
            media_type: "text/plain".into(),
            data: "A".repeat(ATTACHMENT_BYTES_MAX / 3 * 4),
        };
        assert_eq!(check_together(&vec![one.clone(); 4]), Ok(()));
        assert_eq!(check(&vec![one; 5]), Err(BadAttachment::TooLargeTogether));
    }

    proptest! {
        #[test]
        fn base64_round_trips(bytes in proptest::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(from_base64(&base64(&bytes)), Some(bytes));
        }

        #[test]
        fn only_canonical_base64_is_accepted(text in "[A-D+/=]{0,8}") {
            if let Some(bytes) = from_base64(&text) {
                prop_assert_eq!(base64(&bytes), text);
            }
        }
    }
}
