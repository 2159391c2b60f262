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

/// A round whose two calls have results, the first with an image.
fn images_of_results() -> ModelRequest {
    let calls = vec![call("c1", "Look", json!({})), call("c2", "Look", json!({}))];
    let seen = vec![result("c1", false, "{}"), file("p.png", "image/png", "Zm9v")];
    ModelRequest {
        system: Vec::new(),
        tools: Vec::new(),
        entries: vec![
            entry(Role::User, vec![text("See.")]),
            entry(Role::Assistant, calls),
            entry(Role::Tool, seen),
            entry(Role::Tool, vec![result("c2", false, "{}")]),
            entry(Role::User, vec![text("And?")]),
        ],
        ..opening()
    }
}

#[test]
fn the_image_of_a_tool_result_is_sent_in_each_format() {
    let url = "data:image/png;base64,Zm9v";
    let plain =
        |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "{}", "is_error": false});
    for provider in Provider::ALL {
        let body = sent_json(&lowering(provider), &images_of_results());
        let (pointer, expected) = match provider {
            Provider::Anthropic => (
                "/messages/2/content",
                json!([
                    {"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": [
                        {"type": "text", "text": "{}"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v"}}]},
                    plain("c2"),
                    {"type": "text", "text": "And?"},
                ]),
            ),
            Provider::OpenAi | Provider::OpenAiCodex => (
                "/input/3",
                json!({"type": "function_call_output", "call_id": "c1", "output": [
                    {"type": "input_text", "text": "{}"}, {"type": "input_image", "image_url": url}]}),
            ),
            Provider::OpenAiChat => (
                "/messages/4",
                json!({"role": "user", "content": [
                    {"type": "text", "text": "[attachments of the result of c1]"},
                    {"type": "image_url", "image_url": {"url": url}}]}),
            ),
            Provider::Gemini => (
                "/contents/2/parts",
                json!([
                    {"functionResponse": {"name": "Look", "response": {"output": "{}"}}},
                    {"inlineData": {"mimeType": "image/png", "data": "Zm9v"}},
                    {"functionResponse": {"name": "Look", "response": {"output": "{}"}}},
                    {"text": "And?"},
                ]),
            ),
        };
        assert_eq!(body.pointer(pointer), Some(&expected), "{provider:?}: {body}");
    }
}

#[test]
fn tool_messages_follow_their_calls_before_any_image() {
    let body = sent_json(&lowering(Provider::OpenAiChat), &images_of_results());
    let roles = body["messages"].as_array().expect("messages").iter();
    let roles: Vec<&str> = roles.filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user", "user"]);
}

#[test]
fn a_model_without_images_receives_a_note_in_each_format() {
    for provider in Provider::ALL {
        let lowering = Lowering {
            images: false,
            ..lowering(provider)
        };
        let sent = sent_json(&lowering, &images_of_results()).to_string();
        let note = "[attachment p.png: omitted, this model accepts no images]";
        assert!(
            sent.contains(note) && !sent.contains("Zm9v"),
            "{provider:?}: {sent}"
        );
    }
}
