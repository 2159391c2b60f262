//! Tests of images and documents on the wire.

use wakeful_core::conversation::Attachment;

use super::*;

fn file(name: &str, media_type: &str, data: &str) -> Block {
    Block::Attachment(Attachment {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        data: data.to_owned(),
    })
}

/// Returns the content of a person's message in the request body.
fn blocks(provider: Provider, files: Vec<Block>) -> Value {
    let request = ModelRequest {
        entries: vec![entry(Role::User, files)],
        system: Vec::new(),
        ..opening()
    };
    let body = sent_json(&lowering(provider), &request);
    let pointer = match provider {
        Provider::Anthropic | Provider::OpenAiChat => "/messages/0/content",
        Provider::OpenAi | Provider::OpenAiCodex => "/input/0/content",
        Provider::Gemini => "/contents/0/parts",
    };
    body.pointer(pointer).cloned().expect("blocks")
}

#[test]
fn an_image_is_sent_in_the_notation_of_each_format() {
    let expected = |provider, media_type: &str| {
        let url = format!("data:{media_type};base64,Zm9v");
        match provider {
            Provider::Anthropic => {
                json!([{"type": "image", "source": {"type": "base64", "media_type": media_type, "data": "Zm9v"}}])
            }
            Provider::OpenAi | Provider::OpenAiCodex => json!([{"type": "input_image", "image_url": url}]),
            Provider::OpenAiChat => json!([{"type": "image_url", "image_url": {"url": url}}]),
            Provider::Gemini => json!([{"inlineData": {"mimeType": media_type, "data": "Zm9v"}}]),
        }
    };
    for provider in Provider::ALL {
        for media_type in ["image/png", "image/jpeg", "image/gif", "image/webp"] {
            let sent = blocks(provider, vec![file("p", media_type, "Zm9v")]);
            assert_eq!(sent, expected(provider, media_type), "{provider:?}");
        }
    }
}

#[test]
fn a_document_is_sent_in_the_notation_of_each_format() {
    for provider in Provider::ALL {
        let url = "data:application/pdf;base64,Zm9v";
        let expected = match provider {
            Provider::Anthropic => json!([{"type": "document", "title": "d.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "Zm9v"}}]),
            Provider::OpenAi | Provider::OpenAiCodex => {
                json!([{"type": "input_file", "filename": "d.pdf", "file_data": url}])
            }
            Provider::OpenAiChat => {
                json!([{"type": "file", "file": {"filename": "d.pdf", "file_data": url}}])
            }
            Provider::Gemini => json!([{"inlineData": {"mimeType": "application/pdf", "data": "Zm9v"}}]),
        };
        assert_eq!(
            blocks(provider, vec![file("d.pdf", "application/pdf", "Zm9v")]),
            expected
        );
        let words = "[attachment n.txt]\nfoo";
        let expected = match provider {
            Provider::Anthropic => json!([{"type": "document", "title": "n.txt",
                "source": {"type": "text", "media_type": "text/plain", "data": "foo"}}]),
            Provider::OpenAi | Provider::OpenAiCodex => json!([{"type": "input_text", "text": words}]),
            Provider::OpenAiChat => json!(words),
            Provider::Gemini => json!([{"inlineData": {"mimeType": "text/plain", "data": "Zm9v"}}]),
        };
        assert_eq!(
            blocks(provider, vec![file("n.txt", "text/plain", "Zm9v")]),
            expected
        );
    }
}

#[test]
fn an_unsupported_attachment_is_replaced_by_a_note() {
    for provider in Provider::ALL {
        let sent = blocks(provider, vec![file("a.mp3", "audio/mpeg", "Zm9v")]).to_string();
        assert!(
            sent.contains("[attachment a.mp3: omitted, unsupported type audio/mpeg]"),
            "{sent}"
        );
        let request = ModelRequest {
            entries: vec![
                entry(Role::User, vec![text("Draw.")]),
                entry(Role::Assistant, vec![file("p.png", "image/png", "Zm9v")]),
            ],
            ..opening()
        };
        let sent = sent_json(&lowering(provider), &request).to_string();
        assert!(
            sent.contains("[attachment p.png: omitted, attachments are only allowed in user messages]"),
            "{sent}"
        );
        assert!(!sent.contains("Zm9v"), "{sent}");
    }
}

#[test]
fn text_and_images_stay_in_their_order() {
    let sent = blocks(
        Provider::OpenAiChat,
        vec![text("This?"), file("p", "image/png", "Zm9v"), text("Or that?")],
    );
    let expected = json!([
        {"type": "text", "text": "This?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,Zm9v"}},
        {"type": "text", "text": "Or that?"},
    ]);
    assert_eq!(sent, expected);
}
