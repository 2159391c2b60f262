//! Pictures and documents, as far as the formats take them. What a format cannot take is said in its place.

use wakeful_core::conversation::Attachment;
use wakeful_core::failure::truncate_chars;

/// Longest file name that is shown to a model, in characters.
const NAME_CHARS_MAX: usize = 120;

/// What an attachment is to the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttachmentForm<'a> {
    /// A picture of a kind that every provider takes, as base64.
    Image { media_type: &'static str, data: &'a str },
    /// A PDF document, as base64.
    Pdf { name: String, data: &'a str },
    /// Words.
    Words { name: String, text: String },
    /// Nothing that any format takes; this says so.
    Nothing(String),
}

/// Reads an attachment.
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
                None => AttachmentForm::Nothing(format!("[attachment {name}: it holds no readable text]")),
            }
        }
        kind => AttachmentForm::Nothing(format!(
            "[attachment {name}: models are not sent {}]",
            shown(kind)
        )),
    }
}

/// Where an attachment stands that only a person can give.
pub(super) fn misplaced(attachment: &Attachment) -> String {
    format!("[attachment {}: it cannot stand here]", shown(&attachment.name))
}

/// Words from a file, with its name before them.
pub(super) fn quoted(name: &str, text: &str) -> String {
    format!("[attachment {name}]\n{text}")
}

/// Bytes as an address that holds them.
pub(super) fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// A name on one line, and not without end.
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
    fn what_no_format_takes_is_said_and_not_dropped() {
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
    fn a_kind_is_known_however_it_is_spelled() {
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
