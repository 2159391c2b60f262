//! Converts attachments to what the formats support. An unsupported attachment is replaced by a note.

use wakeful_core::conversation::Attachment;
use wakeful_core::failure::truncate_chars;

use super::Lowering;

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

/// Prefixes of the names of models that accept text alone. A setting of the provider names others.
const TEXT_MODELS: [&str; 7] = [
    "gpt-3.5-turbo",
    "o1-mini",
    "o1-preview",
    "o3-mini",
    "deepseek-chat",
    "deepseek-coder",
    "deepseek-reasoner",
];

/// Whether a model accepts images, as far as its name shows.
pub(crate) fn sees_images(model: &str) -> bool {
    !TEXT_MODELS.iter().any(|prefix| model.starts_with(prefix))
}

/// Determines the form of an attachment. A model without images receives a note instead of one.
pub(super) fn carried<'a>(lowering: &Lowering<'_>, attachment: &'a Attachment) -> AttachmentForm<'a> {
    let (name, data) = (shown(&attachment.name), attachment.data.as_str());
    let media_type = attachment.media_type.split(';').next().unwrap_or_default();
    let image = |media_type| match lowering.images {
        true => AttachmentForm::Image { media_type, data },
        false => AttachmentForm::Nothing(format!(
            "[attachment {}: omitted, this model accepts no images]",
            shown(&attachment.name)
        )),
    };
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
    use crate::provider::Provider;
    use crate::wire::tests::lowering;

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
            let AttachmentForm::Nothing(note) = carried(&lowering(Provider::OpenAi), &file) else {
                panic!("{media_type} is carried")
            };
            assert!(
                note.starts_with("[attachment a__b.bin: ") && note.ends_with(']'),
                "{note}"
            );
        }
    }

    #[test]
    fn models_without_images_are_known_by_name() {
        for (model, sees) in [
            ("gpt-5", true),
            ("claude-sonnet-4-5", true),
            ("o3", true),
            ("o3-mini", false),
            ("deepseek-chat", false),
        ] {
            assert_eq!(sees_images(model), sees, "{model}");
        }
    }

    #[test]
    fn a_media_type_is_recognized_in_any_notation() {
        let text = attachment("n.md", "Text/Markdown; charset=utf-8", "Zm9v");
        let words = AttachmentForm::Words {
            name: "n.md".to_owned(),
            text: "foo".to_owned(),
        };
        assert_eq!(carried(&lowering(Provider::OpenAi), &text), words);
        let picture = attachment("p", " IMAGE/JPG ", "Zm9v");
        let image = AttachmentForm::Image {
            media_type: "image/jpeg",
            data: "Zm9v",
        };
        assert_eq!(carried(&lowering(Provider::OpenAi), &picture), image);
    }
}
