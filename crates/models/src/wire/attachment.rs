//! Converts attachments to what the formats support. An unsupported attachment is replaced by a note.

use wakeful_core::conversation::Attachment;
use wakeful_core::failure::truncate_chars;

/// Longest file name that a model receives, in characters.
const NAME_CHARS_MAX: usize = 120;

/// The form in which an attachment is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttachmentForm<'a> {
    /// An image of a type that every provider supports, in base64.
    Image { media_type: &'static str, data: &'a str },
    /// A PDF document, in base64.
    Pdf { name: String, data: &'a str },
    /// Text.
    Words { name: String, text: String },
    /// An unsupported attachment, with the note that replaces it.
    Nothing(String),
}

/// Determines the form of an attachment.
pub(super) fn carried(attachment: &Attachment) -> AttachmentForm<'_> {
    let (name, data) = (shown(&attachment.name), attachment.data.as_str());
    let media_type = attachment.media_type.split(';').next().unwrap_or_default();
    let image = |media_type| AttachmentForm::Image { media_type, data };
    match media_type.trim().to_ascii_lowercase().as_str() {
        "image/png" => image("image/png"),
        "image/jpeg" | "image/jpg" => image("image/jpeg"),
        "image/gif" => image("image/gif"),
        "image/webp" => image("image/webp"),
        "application/pdf" => AttachmentForm::Pdf { name, data },
        kind if kind.starts_with("text/") || kind == "application/json" => {
            let text = attachment.bytes().and_then(|bytes| String::from_utf8(bytes).ok());
            match text.filter(|text| !text.trim().is_empty()) {
                Some(text) => AttachmentForm::Words { name, text },
                None => AttachmentForm::Nothing(format!(
                    "[attachment {name}: omitted, it contains no readable text]"
                )),
            }
        }
        kind => AttachmentForm::Nothing(format!(
            "[attachment {name}: omitted, unsupported type {}]",
            shown(kind)
        )),
    }
}

/// Returns the note that replaces an attachment outside a person's message.
pub(super) fn misplaced(attachment: &Attachment) -> String {
    format!(
        "[attachment {}: omitted, attachments are only allowed in user messages]",
        shown(&attachment.name)
    )
}

/// Returns the text of a file, preceded by its name.
pub(super) fn quoted(name: &str, text: &str) -> String {
    format!("[attachment {name}]\n{text}")
}

/// Encodes bytes as a data URL.
pub(super) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// Returns a file name on one line and within its length limit.
fn shown(name: &str) -> String {
    let plain = name.chars().map(|c| match c {
        '[' | ']' => '_',
        c if c.is_control() => '_',
        c => c,
    });
    truncate_chars(&plain.collect::<String>(), NAME_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(name: &str, media_type: &str, data: &str) -> Attachment {
        Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn an_unsupported_attachment_is_replaced_by_a_note() {
        for (media_type, data) in [
            ("audio/mpeg", "Zm9v"),
            ("image/tiff", "Zm9v"),
            ("text/plain", "/w=="),
            ("text/plain", "?"),
            ("", ""),
        ] {
            let file = attachment("a]\nb.bin", media_type, data);
            let AttachmentForm::Nothing(note) = carried(&file) else {
                panic!("{media_type} is carried")
            };
            assert!(
                note.starts_with("[attachment a__b.bin: ") && note.ends_with(']'),
                "{note}"
            );
        }
    }

    #[test]
    fn a_media_type_is_recognized_in_any_notation() {
        let text = attachment("n.md", "Text/Markdown; charset=utf-8", "Zm9v");
        let words = AttachmentForm::Words {
            name: "n.md".to_owned(),
            text: "foo".to_owned(),
        };
        assert_eq!(carried(&text), words);
        let picture = attachment("p", " IMAGE/JPG ", "Zm9v");
        let image = AttachmentForm::Image {
            media_type: "image/jpeg",
            data: "Zm9v",
        };
        assert_eq!(carried(&picture), image);
    }
}
