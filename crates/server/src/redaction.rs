//! Removes secrets from what people and other programs send, before anything is stored or shown.
//!
//! A key that was pasted into a message would otherwise reach the model, the log and every backup. The texts are
//! redacted here and not in each service, so that a new endpoint cannot forget it.

use axum::http::HeaderValue;
use axum::response::Response;
use serde_json::{Map, Value};
use wakeful_api::Operation;
use wakeful_api::endpoint::REDACTED_HEADER;
use wakeful_core::conversation::Attachment;
use wakeful_core::redact::{self, Redactor};

use crate::error::ApiError;

/// In how many texts of a request a secret was replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Redactions(pub(crate) usize);

impl Redactions {
    /// Tells the caller in the response header.
    pub(crate) fn announce(self, mut response: Response) -> Response {
        if self.0 > 0 {
            response
                .headers_mut()
                .insert(REDACTED_HEADER, HeaderValue::from(self.0));
        }
        response
    }
}

/// The JSON body of a request without secrets. A body that is not JSON is left for the parser to refuse.
pub(crate) fn body(redactor: &Redactor, operation: &Operation, bytes: Vec<u8>) -> (Vec<u8>, Redactions) {
    if redactor.is_empty() {
        return (bytes, Redactions::default());
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(&bytes) else {
        return (bytes, Redactions::default());
    };
    let count = fields_without_secrets(redactor, operation, &mut fields);
    match count {
        0 => (bytes, Redactions::default()),
        _ => (Value::Object(fields).to_string().into_bytes(), Redactions(count)),
    }
}

fn fields_without_secrets(
    redactor: &Redactor,
    operation: &Operation,
    fields: &mut Map<String, Value>,
) -> usize {
    let redacted = fields
        .iter_mut()
        .filter(|(name, _)| !operation.unredacted.contains(&name.as_str()));
    redacted
        .map(|(_, value)| redact::json(value, &|text| redactor.text(text)))
        .sum()
}

/// The body of a delivery without secrets. If it is JSON, its texts are also searched after their escapes were
/// decoded.
pub(crate) fn delivery(redactor: &Redactor, bytes: Vec<u8>) -> (Vec<u8>, Redactions) {
    if redactor.is_empty() {
        return (bytes, Redactions::default());
    }
    let (bytes, in_texts) = match serde_json::from_slice::<Value>(&bytes) {
        Ok(mut value) => match redact::json(&mut value, &|text| redactor.text(text)) {
            0 => (bytes, 0),
            count => (value.to_string().into_bytes(), count),
        },
        Err(_) => (bytes, 0),
    };
    match redactor.bytes(&bytes) {
        Some(cut) => (cut, Redactions(in_texts.saturating_add(1))),
        None => (bytes, Redactions(in_texts)),
    }
}

/// Attachments without secrets. Only text can be redacted, so another file with a secret is refused.
pub(crate) fn attachments(
    redactor: &Redactor,
    attachments: &mut [Attachment],
) -> Result<Redactions, ApiError> {
    let mut count = 0;
    for attachment in attachments {
        if let Some(name) = redactor.text(&attachment.name) {
            attachment.name = name;
            count += 1;
        }
        let cut = attachment.bytes().and_then(|bytes| redactor.bytes(&bytes));
        let Some(cut) = cut else { continue };
        match Attachment::of_bytes(&attachment.name, &cut) {
            Ok(redacted) if redacted.media_type == "text/plain" => *attachment = redacted,
            Ok(_) | Err(_) => return Err(has_secret(&attachment.name)),
        }
        count += 1;
    }
    Ok(Redactions(count))
}

fn has_secret(name: &str) -> ApiError {
    let message =
        format!("the attachment {name:?} contains a secret, which cannot be removed from this kind of file");
    ApiError::conflict(
        "attachment_has_secret",
        message,
        "remove the secret from the file; nothing was stored",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use wakeful_api::{Endpoint as _, SendMessage, SetSecret};

    use super::*;

    const SECRET: &str = "s3cret/value+1";

    fn redactor() -> Redactor {
        Redactor::new(&BTreeMap::from([("TOKEN".to_owned(), SECRET.to_owned())]))
    }

    #[test]
    fn every_text_of_a_body_is_redacted_after_its_escapes_are_decoded() {
        let sent = br#"{"text": "a s3cret\/val\u0075e+1 b", "list": [{"s3cret/value+1": 1}], "n": 1.0}"#;
        let (body, count) = body(&redactor(), &SendMessage::OPERATION, sent.to_vec());
        let read: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            (read, count),
            (
                json!({"text": "a [secret TOKEN] b", "list": [{"[secret TOKEN]": 1}], "n": 1.0}),
                Redactions(2)
            )
        );
    }

    #[test]
    fn a_body_without_secrets_keeps_its_bytes() {
        let sent = br#"{ "text" : "ordinary" }"#.to_vec();
        for redactor in [redactor(), Redactor::default()] {
            let passed = body(&redactor, &SendMessage::OPERATION, sent.clone());
            assert_eq!(passed, (sent.clone(), Redactions(0)));
        }
    }

    #[test]
    fn the_secret_that_is_to_be_stored_is_not_redacted() {
        let sent = json!({"value": SECRET}).to_string().into_bytes();
        let passed = body(&redactor(), &SetSecret::OPERATION, sent.clone());
        assert_eq!(passed, (sent, Redactions(0)));
    }

    #[test]
    fn a_delivery_is_redacted_in_any_content_type() {
        for (sent, left) in [
            ("token=s3cret/value+1&x=1", "token=[secret TOKEN]&x=1"),
            ("token=s3cret%2Fvalue%2B1", "token=[secret TOKEN]"),
            (r#"{"a":"s3cret\/v\u0061lue+1"}"#, r#"{"a":"[secret TOKEN]"}"#),
            ("\u{fffd}s3cret/value+1", "\u{fffd}[secret TOKEN]"),
        ] {
            let (cut, count) = delivery(&redactor(), sent.as_bytes().to_vec());
            assert_eq!(
                (String::from_utf8(cut).expect("text").as_str(), count),
                (left, Redactions(1)),
                "{sent}"
            );
        }
    }

    #[test]
    fn a_picture_with_a_secret_is_refused_and_a_text_is_redacted() {
        let text = Attachment::of_bytes("notes.txt", format!("key: {SECRET}").as_bytes()).expect("text");
        let mut attached = [text];
        assert_eq!(
            attachments(&redactor(), &mut attached).expect("redacted"),
            Redactions(1)
        );
        let [text] = &attached;
        assert_eq!(text.bytes().as_deref(), Some(&b"key: [secret TOKEN]"[..]));
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), SECRET.as_bytes()].concat();
        let mut attached = [Attachment::of_bytes("a.png", &png).expect("a picture")];
        let refused = attachments(&redactor(), &mut attached).expect_err("it passed");
        assert!(
            format!("{refused:?}").contains("attachment_has_secret"),
            "{refused:?}"
        );
    }
}
