use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    let secrets = secrets
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Redactor::new(&secrets.collect())
}

fn clean(redactor: &Redactor, text: &str) -> String {
    redactor.text(text).unwrap_or_else(|| text.to_owned())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn lines_of(text: &str, length: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    let lines = characters
        .chunks(length)
        .map(|line| line.iter().collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn text_without_secrets_is_not_copied() {
    let redactor = redactor(&[("A", "s3cret-value")]);
    assert_eq!(redactor.bytes(b"ordinary s3cret text"), None);
    assert_eq!(Redactor::default().bytes(b"s3cret-value"), None);
    assert!(Redactor::default().is_empty());
}

#[test]
fn a_secret_that_begins_like_another_is_removed_completely() {
    let redactor = redactor(&[("SHORT", "s3cret-value"), ("LONG", "s3cret-value-and-more")]);
    assert_eq!(
        clean(&redactor, "a s3cret-value-and-more b s3cret-value"),
        "a [secret LONG] b [secret SHORT]"
    );
    let mut stream = redactor.stream();
    let mut passed = stream.push(b"x s3cret-value");
    passed.extend(stream.push(b"-and-more y"));
    passed.extend(stream.finish());
    assert_eq!(String::from_utf8(passed).expect("text"), "x [secret LONG] y");
}

#[test]
fn several_values_of_one_name_are_removed() {
    let values = [("A", "former-value-1"), ("A", "current-value-2")];
    let redactor = Redactor::of(&values);
    assert_eq!(
        clean(&redactor, "former-value-1 current-value-2"),
        "[secret A] [secret A]"
    );
}

#[test]
fn texts_and_names_of_json_are_redacted_after_decoding() {
    let redactor = redactor(&[("A", "s3cret/value")]);
    let mut value: serde_json::Value =
        serde_json::from_str(r#"{"s3cret\/value": [1, "a s3cret\/val\u0075e", "b"], "c": null}"#)
            .expect("JSON");
    assert_eq!(json(&mut value, &|text| redactor.text(text)), 2);
    assert_eq!(
        value,
        serde_json::json!({"[secret A]": [1, "a [secret A]", "b"], "c": null})
    );
}

#[test]
fn each_line_of_a_key_is_removed() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQ==\n-----END KEY-----";
    let redactor = redactor(&[("KEY", key)]);
    assert_eq!(clean(&redactor, &format!("a\n{key}\nb")), "a\n[secret KEY]\nb");
    let some = clean(&redactor, "2: MIIEvQIBADANBgkq");
    assert_eq!(some, "2: [secret KEY]");
    let json = serde_json::to_string(key).expect("JSON");
    assert_eq!(clean(&redactor, &json), "\"[secret KEY]\"");
}

#[test]
fn encoded_text_that_is_broken_into_lines_is_removed() {
    let value = "k3y:".repeat(40);
    let redactor = redactor(&[("A", &value)]);
    for wrapped in [
        lines_of(&STANDARD.encode(format!("user:{value}\n")), 76),
        lines_of(&hex(value.as_bytes()), 60),
    ] {
        let cleaned = clean(&redactor, &wrapped);
        let longest = cleaned.split(['\n', '[', ']']).map(str::len).max();
        assert!(cleaned.contains("[secret A]") && longest < Some(12), "{cleaned}");
    }
}

#[test]
fn a_stream_holds_back_only_the_beginning_of_a_secret() {
    let mut stream = redactor(&[("A", "s3cret-value")]).stream();
    assert_eq!(stream.push(b"progress 10 of 20"), b"progress 10 of 20");
    assert_eq!(stream.push(b" s3cret"), b" ");
    assert_eq!(stream.push(b" is no value"), b"s3cret is no value");
    assert_eq!(stream.push(b" s3cret-val"), b" ");
    assert_eq!(stream.finish(), b"s3cret-val");
    assert_eq!(stream.finish(), b"");
}

/// Secrets as people have them: printable, with at least eight bytes.
fn value() -> impl Strategy<Value = String> {
    "[!-~]{8,40}|[!-~]{4,12} [!-~ü]{4,12}\n[!-~]{8,12}"
}

/// The ways in which a program may print a value after some bytes.
fn forms(value: &str, before: &[u8]) -> Vec<String> {
    let bytes = [before, value.as_bytes(), b"\n"].concat();
    let percent = |is_kept: fn(char) -> bool| {
        value
            .bytes()
            .fold(String::new(), |text, byte| match char::from(byte) {
                c if is_kept(c) => text + &c.to_string(),
                _ => format!("{text}%{byte:02X}"),
            })
    };
    let quoted = serde_json::to_string(value).expect("JSON");
    vec![
        value.to_owned(),
        quoted[1..quoted.len() - 1].to_owned(),
        STANDARD.encode(&bytes),
        URL_SAFE_NO_PAD.encode(&bytes),
        hex(&bytes),
        hex(&bytes).to_uppercase(),
        percent(|c| c.is_ascii_alphanumeric() || "-._~".contains(c)),
        percent(|_| false),
        percent(|_| false).to_lowercase(),
    ]
}

proptest! {
    /// For every value, form and context, what remains does not contain the form's own part.
    #[test]
    fn no_form_of_a_secret_remains(value in value(), before in "[ -~]{0,5}", after in "(?s).{0,20}") {
        let redactor = redactor(&[("A", &value)]);
        for form in forms(&value, before.as_bytes()) {
            let cleaned = clean(&redactor, &format!("{before}{form}{after}"));
            prop_assert!(cleaned.contains("[secret A]"), "{:?} remains in {:?}", form, cleaned);
            prop_assert!(!cleaned.contains(value.trim()), "{:?}", cleaned);
        }
    }

    /// For every division into pieces, a stream gives what the whole text gives.
    #[test]
    fn pieces_are_redacted_like_the_whole(
        values in prop::collection::vec("[ab-]{8,10}", 1..4),
        parts in prop::collection::vec((0..4_usize, "[ab-]{0,6}"), 0..6),
        lengths in prop::collection::vec(1..9_usize, 1..20),
    ) {
        let secrets = values.iter().enumerate().map(|(at, value)| (format!("S{at}"), value.clone()));
        let redactor = Redactor::new(&secrets.collect());
        let text: String = parts
            .iter()
            .map(|(at, between)| format!("{}{between}", values.get(*at).map_or("", String::as_str)))
            .collect();
        let mut stream = redactor.stream();
        let (mut rest, mut streamed) = (text.as_bytes(), Vec::new());
        for length in lengths.iter().cycle().take(200) {
            let (piece, left) = rest.split_at((*length).min(rest.len()));
            streamed.extend(stream.push(piece));
            rest = left;
        }
        prop_assert!(rest.is_empty());
        streamed.extend(stream.finish());
        prop_assert_eq!(String::from_utf8_lossy(&streamed).into_owned(), clean(&redactor, &text));
    }
}
