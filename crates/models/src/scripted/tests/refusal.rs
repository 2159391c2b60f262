//! Tests of the scripts that are refused: the reported position and the hint.

use crate::{
    DELAY_MS_MAX, FilePosition, ROUNDS_MAX, SCRIPT_BYTES_MAX, ScriptError, ScriptedModel, TOOLS_PER_ROUND_MAX,
};

fn refused(text: &str) -> ScriptError {
    match ScriptedModel::load(text, "test.yaml") {
        Ok(_) => panic!("took {text:.200}"),
        Err(error) => error,
    }
}

/// Returns the complete message of a refused script.
fn shown(text: &str) -> String {
    refused(text).to_string()
}

#[test]
fn an_error_names_line_column_and_field() {
    let error = refused("rounds:\n  - text: hi\n  - text: b\n    tools:\n      - { input: {} }\n");
    let expected = ScriptError {
        script: "test.yaml".into(),
        place: Some(FilePosition { line: 5, column: 11 }),
        field: "rounds[1].tools[0].name".into(),
        message: "is missing; every entry needs it".into(),
    };
    assert_eq!(error, expected);
    let sentence = "test.yaml, line 5, column 11, rounds[1].tools[0].name: is missing; every entry needs it";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn an_unknown_key_is_refused_with_a_suggestion() {
    let shown = |text| refused(text).to_string();
    assert_eq!(
        shown("rounds:\n  - txet: hi\n"),
        "test.yaml, line 2, column 5, rounds[0].?: is not a known key; did you mean `text`?"
    );
    assert_eq!(
        shown("round: []\n"),
        "test.yaml, line 1, column 1, ?: is not a known key; did you mean `rounds`?"
    );
    assert_eq!(
        shown("rounds: [{fail: {status: 500, because: x}}]"),
        "test.yaml, line 1, column 31, rounds[0].fail.?: is not a known key; use one of: status, kind, retry, retry_after_ms, \
            message, after"
    );
    assert!(shown("rounds: [{tools: [{name: T, inputs: {}}]}]").contains("did you mean `input`?"));
    assert!(shown("rounds: [{text: a, usage: {tokens: 3}}]").contains("input_tokens, output_tokens"));
}

#[test]
fn a_duplicate_key_is_refused_even_inside_arguments() {
    let error = refused("rounds:\n  - text: a\n    text: b\n");
    assert_eq!(
        (error.field.as_str(), error.place),
        ("rounds[0].text", Some(FilePosition { line: 3, column: 5 }))
    );
    assert!(error.message.contains("twice"), "{error}");
    let error = refused("rounds: [{tools: [{name: T, input: {x: 1, x: 2}}]}]");
    assert_eq!(error.field, "rounds[0].tools[0].input.?");
    assert_eq!(refused("rounds: [{text: a}]\nrounds: []\n").field, "rounds");
}

#[test]
fn a_number_must_be_an_integer_within_its_limits() {
    for wrong in [
        "\"x\"",
        "x",
        "-1",
        "1.5",
        "1e3",
        "99999999999999999999999",
        "[1]",
        "{a: 1}",
        "true",
        "600001",
    ] {
        let error = refused(&format!("rounds:\n  - text: a\n    delay_ms: {wrong}\n"));
        assert_eq!(
            (error.field.as_str(), error.place),
            ("rounds[0].delay_ms", Some(FilePosition { line: 3, column: 15 })),
            "{wrong}"
        );
    }
    assert!(shown("rounds: [{text: a, delay_ms: -1}]").ends_with("must be a whole number, not negative"));
    assert!(
        shown("rounds: [{text: a, delay_ms: 600001}]").ends_with(&format!("must be at most {DELAY_MS_MAX}"))
    );
    for wrong in ["200", "399", "600", "70000", "-1", "x"] {
        assert_eq!(
            refused(&format!("rounds: [{{fail: {{status: {wrong}}}}}]")).field,
            "rounds[0].fail.status",
            "{wrong}"
        );
    }
    assert_eq!(
        refused("rounds: [{fail: {status: 429, retry_after_ms: 86400001}}]").field,
        "rounds[0].fail.retry_after_ms"
    );
    let tokens = "rounds: [{text: a, usage: {input_tokens: 1000000001}}]";
    assert_eq!(refused(tokens).field, "rounds[0].usage.input_tokens");
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_the_expected_type() {
    for (text, field, way_out) in [
        ("rounds: {a: b}", "rounds", "must be a list"),
        ("rounds: [hello]", "rounds[0]", "must be a mapping"),
        ("rounds: [{text: {a: b}}]", "rounds[0].text", "in quotes"),
        (
            "rounds: [{tools: {name: T}}]",
            "rounds[0].tools",
            "must be a list",
        ),
        (
            "rounds: [{tools: [T]}]",
            "rounds[0].tools[0]",
            "must be a mapping",
        ),
        (
            "repeat_last: yes\nrounds: [{text: a}]",
            "repeat_last",
            "`true` or `false`",
        ),
        ("- text: a", "", "must be a mapping"),
        ("hello", "", "must be a mapping"),
    ] {
        let error = refused(text);
        assert_eq!(error.field, field, "{text}: {error}");
        assert!(error.message.contains(way_out), "{text}: {error}");
    }
}

#[test]
fn a_round_that_is_empty_or_contradictory_is_refused() {
    let error = refused("rounds:\n  - text: a\n  - delay_ms: 5\n");
    assert_eq!(
        (error.field.as_str(), error.place),
        ("rounds[1]", Some(FilePosition { line: 3, column: 5 }))
    );
    assert!(error.message.contains("`text`, `tools` or `fail`"), "{error}");
    for nothing in [
        "{}",
        "~",
        "{text: ~}",
        "{tools: []}",
        "{usage: {input_tokens: 1}}",
    ] {
        assert_eq!(
            refused(&format!("rounds: [{nothing}]")).field,
            "rounds[0]",
            "{nothing}"
        );
    }
    for beside in ["text: a", "tools: [{name: T}]", "usage: {input_tokens: 1}"] {
        let error = refused(&format!("rounds: [{{fail: {{status: 500}}, {beside}}}]"));
        assert_eq!(error.field, "rounds[0].fail", "{beside}");
    }
}

#[test]
fn a_script_without_rounds_is_refused() {
    for text in [
        "",
        "\n\n",
        "# only words\n",
        "~",
        "rounds:\n",
        "rounds: []\n",
        "repeat_last: true\n",
        "{}",
    ] {
        let error = refused(text);
        assert!(error.to_string().contains("rounds"), "{text:?}: {error}");
    }
}

#[test]
fn a_file_that_is_not_yaml_is_refused_with_its_position() {
    for text in [
        "rounds:\n\t- text: a\n",
        "rounds:\n  - text: \"open\n",
        "rounds:\n  - text: Let me: look\n",
        "rounds: [{text: a}\n",
        "rounds: ]\n",
        "\u{0}\u{1}\u{fffd}PK\u{3}\u{4}\u{7f}",
        "%PDF-1.7\n%\u{e2}\u{e3}",
        "{\"a\": @}",
    ] {
        let error = refused(text);
        assert!(error.place.is_some(), "{text:?}: {error}");
        assert!(
            !error.message.contains(" at line "),
            "the position is shown twice: {error}"
        );
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
    assert!(shown("rounds:\n\t- text: a\n").contains("tabs"));
}

#[test]
fn a_script_is_one_document_without_tags() {
    for text in [
        "rounds: [{text: a}]\n---\nrounds: []\n",
        "rounds: [{text: a}]\n...\nmore: [\n",
    ] {
        assert!(shown(text).contains("one YAML document"), "{}", shown(text));
    }
    assert!(shown("rounds: [{text: !secret a}]").contains("has a tag"));
    assert!(shown("rounds: [{tools: [{name: T, input: {x: .nan}}]}]").contains("rounds[0].tools[0].input.?"));
}

#[test]
fn an_error_is_short_and_printable_for_any_file() {
    let long = "k".repeat(100_000);
    for text in [
        "rounds: [{\"\\e[31mred\\a\": 1}]".to_owned(),
        format!("? {long}\n: 1\n"),
        format!("rounds: [{{tools: [{{name: T, input: {{? {long} : .nan}}}}]}}]"),
        format!("rounds: [{{text: !{long} a}}]"),
        format!("? &{long} a\n: 1\n"),
    ] {
        let shown = shown(&text);
        assert!(shown.len() < 1_500, "{} bytes: {shown:.300}", shown.len());
        assert!(!shown.contains(char::is_control), "{shown:?}");
    }
}

/// Nine lines that expand to a billion words, and similar files.
#[test]
fn aliases_cannot_expand_a_small_file() {
    let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for n in 1..10 {
        let again = format!("*a{}, ", n - 1).repeat(9);
        bomb.push_str(&format!("a{n}: &a{n} [{again}]\n"));
    }
    let within = bomb.replace('\n', "\n          ");
    let inside = format!("rounds:\n  - tools:\n      - name: T\n        input:\n          {within}");
    let long = format!(
        "rounds: [{{text: &a {}}}{}]",
        "x".repeat(1_000_000),
        ", {text: *a}".repeat(5_000)
    );
    let merged = "rounds: [{<<: {text: a}}]";
    let endless = "rounds: &a [{tools: [{name: T, input: *a}]}]";
    for text in [&inside, &long, merged, endless, "rounds: [{text: *nowhere}]"] {
        assert!(
            shown(text).contains("write the value out"),
            "{:.300}",
            shown(text)
        );
    }
}

#[test]
fn nesting_is_refused_before_it_can_exhaust_the_stack() {
    let inside = |value: String| format!("rounds: [{{tools: [{{name: T, input: {value}}}]}}]");
    let dashes = "- ".repeat(100_000);
    for text in [
        inside("[".repeat(1_000_000)),
        inside("{a: ".repeat(100_000)),
        inside(format!("{}0{}", "[".repeat(40), "]".repeat(40))),
        format!("rounds:\n  - tools:\n    - name: T\n      input:\n        {dashes}x"),
        "? ".repeat(100_000),
        "[".repeat(SCRIPT_BYTES_MAX),
    ] {
        let error = refused(&text);
        assert!(error.to_string().len() < 300, "{error:.300}");
    }
    let fine = inside(format!("{}0{}", "[".repeat(20), "]".repeat(20)));
    assert!(ScriptedModel::load(&fine, "test.yaml").is_ok());
}

#[test]
fn a_script_over_its_limits_is_refused_with_the_limit() {
    let short = "rounds: [{text: a}]\n#";
    let padded = |bytes: usize| format!("{short}{}", "x".repeat(bytes - short.len()));
    assert!(ScriptedModel::load(&padded(SCRIPT_BYTES_MAX), "test.yaml").is_ok());
    assert!(shown(&padded(SCRIPT_BYTES_MAX + 1)).contains("at most 8388608 bytes"));
    let tools = "{name: T},".repeat(TOOLS_PER_ROUND_MAX + 1);
    let error = refused(&format!("rounds:\n  - text: a\n  - tools: [{tools}]"));
    assert_eq!(
        (error.field.as_str(), error.place),
        ("rounds[1].tools", Some(FilePosition { line: 3, column: 5 }))
    );
    let error = refused(&format!("rounds:\n{}", "- text: a\n".repeat(ROUNDS_MAX + 1)));
    assert_eq!(
        (error.field.as_str(), error.place),
        (
            "rounds",
            Some(FilePosition {
                line: 100_002,
                column: 3
            })
        )
    );
    assert!(error.message.contains("repeat_last"), "{error}");
}

#[test]
fn a_failure_needs_a_cause_and_a_price_is_checked() {
    assert!(shown("rounds: [{fail: {message: x}}]").contains("rounds[0].fail: has no cause"));
    assert!(
        shown("rounds: [{fail: {kind: \"Not a word\"}}]").contains("rounds[0].fail.kind: must be a word")
    );
    assert!(shown("rounds: [{thinking: x}]").contains("has no response"));
    assert!(shown("rounds: [{thinking: x, fail: {status: 500}}]").contains("fail.after"));
    for wrong in ["-1", "10001", ".nan", "cheap", "{}"] {
        let error = refused(&format!(
            "price: {{input: {wrong}, output: 1}}\nrounds: [{{text: a}}]"
        ));
        assert_eq!(error.field, "price.input", "{wrong}: {error}");
    }
    assert_eq!(
        refused("price: {input: 1}\nrounds: [{text: a}]").field,
        "price.output"
    );
    assert_eq!(refused("boundary: moon\nrounds: [{text: a}]").field, "boundary");
    assert_eq!(
        refused("max_output_tokens: -1\nrounds: [{text: a}]").field,
        "max_output_tokens"
    );
}

/// Files that are not scripts, with a secret at every position that an error could refer to.
#[test]
fn an_error_never_repeats_the_contents_of_the_file() {
    let secret = "S3cretWord";
    for text in [
        "S3cretWord",
        "root:$6$S3cretWord:19000:0:99999:7:::\n",
        "S3cretWord: 1\n",
        "- S3cretWord\n",
        "rounds: S3cretWord\n",
        "rounds: [S3cretWord]\n",
        "rounds: [{S3cretWord: 1}]",
        "rounds: [{text: [S3cretWord]}]",
        "rounds: [{text: !S3cretWord a}]",
        "rounds: [{text: &S3cretWord a}]",
        "rounds: [{text: *S3cretWord}]",
        "rounds: [{text: \"S3cretWord\\q\"}]",
        "rounds: [{tools: [{name: T, input: {S3cretWord: .nan}}]}]",
        "rounds: [{tools: [{name: T, input: {S3cretWord: 1, S3cretWord: 2}}]}]",
        "rounds: [{text: a, delay_ms: S3cretWord}]",
        "rounds: [{fail: {kind: S3cretWord}}]",
        "rounds: [{fail: {status: S3cretWord}}]",
        "rounds: [{fail: {status: 500, retry: S3cretWord}}]",
        "repeat_last: S3cretWord\nrounds: [{text: a}]",
        "boundary: S3cretWord\nrounds: [{text: a}]",
        "price: {input: S3cretWord, output: 1}\nrounds: [{text: a}]",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nS3cretWord\n-----END OPENSSH PRIVATE KEY-----\n",
        "%S3cretWord\n---\na",
        "!<S3cretWord> a",
        "? S3cretWord\n",
        "KEY=S3cretWord\nOTHER=\"S3cretWord\n",
        "{\"S3cretWord\": @}",
    ] {
        let shown = shown(text);
        assert!(!shown.contains(secret), "{text:?}: {shown}");
        assert!(!shown.contains("S3cret"), "{text:?}: {shown}");
    }
}
