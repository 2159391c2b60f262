//! Tests of accepted and rejected documents.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Result<Value, BadJson> {
    parse(text.as_bytes())
}

#[test]
fn plain_json_is_parsed_like_other_parsers_do() {
    let text = r#" { "a" : [ 1 , -2.5e1 , true , false , null , "x\n\u00e9\ud83d\ude00\/" ] , "" : { } , "b":[ ] } "#;
    let value = json!({"a": [1, -25.0, true, false, null, "x\n\u{e9}\u{1f600}/"], "": {}, "b": []});
    assert_eq!(read(text), Ok(value));
}

#[test]
fn syntax_errors_are_rejected() {
    for bad in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "{'a':1}",
        "1 2",
        "{}{}",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "-Infinity",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "-",
        "1e",
        "1e+",
        "0x1",
        "1_0",
        "\"\t\"",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\",
        "[1 2]",
        "\u{feff}{}",
        "// x\n{}",
        "{\"a\":1 \"b\":2}",
        "\0",
        "[\u{a0}1]",
    ] {
        assert!(
            matches!(read(bad), Err(BadJson::Malformed { .. })),
            "{bad:?}: {:?}",
            read(bad)
        );
    }
    assert_eq!(parse(b"\"\xff\""), Err(BadJson::NotUtf8 { at: 1 }));
    assert_eq!(
        parse(b"\"\xed\xa0\x80\""),
        Err(BadJson::NotUtf8 { at: 1 }),
        "an encoded surrogate"
    );
}

#[test]
fn differently_escaped_keys_are_still_duplicates() {
    assert!(matches!(
        read(r#"{"a":1,"\u0061":1}"#),
        Err(BadJson::DuplicateKey { .. })
    ));
    assert!(matches!(
        read(r#"[{"x":{"a":1,"a":1}}]"#),
        Err(BadJson::DuplicateKey { .. })
    ));
    assert!(read(r#"[{"a":1},{"a":1}]"#).is_ok());
}

#[test]
fn a_lone_surrogate_is_rejected() {
    for bad in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800x""#,
        r#""\ud800\n""#,
        r#""\ud800\ud800""#,
        r#""\udc00\ud800""#,
    ] {
        assert!(matches!(read(bad), Err(BadJson::LoneSurrogate { .. })), "{bad}");
    }
    assert_eq!(read(r#""\uD834\uDD1E""#), Ok(json!("\u{1d11e}")));
    assert_eq!(
        read(r#""\ud7ff\ue000\uffff\u0000""#),
        Ok(json!("\u{d7ff}\u{e000}\u{ffff}\0"))
    );
    assert!(matches!(
        read(r#"{"\ud800":1}"#),
        Err(BadJson::LoneSurrogate { .. })
    ));
}

#[test]
fn nesting_beyond_the_limit_is_rejected() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(NESTING_MAX)).is_ok());
    assert_eq!(
        read(&nested(NESTING_MAX + 1)),
        Err(BadJson::TooDeep { at: NESTING_MAX })
    );
    assert!(matches!(
        read(&"[".repeat(1_000_000)),
        Err(BadJson::TooDeep { .. })
    ));
    let beside = format!("[{}]", vec![nested(NESTING_MAX - 1); 3].join(","));
    assert!(read(&beside).is_ok(), "what is closed does not count");
}

#[test]
fn an_integer_must_be_exact_as_a_double() {
    for good in [
        "9007199254740992",
        "-9007199254740992",
        "9007199254740994",
        "18446744073709551616",
        "9223372036854775808",
    ] {
        let double = good.parse::<f64>().expect("a number");
        assert_eq!(read(good).map(|value| value.as_f64()), Ok(Some(double)), "{good}");
    }
    let large = format!("1{}", "0".repeat(22));
    assert!(read(&large).is_ok(), "10^22 is exact");
    for bad in [
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551615",
        "9223372036854775807",
    ] {
        assert!(matches!(read(bad), Err(BadJson::InexactInteger { .. })), "{bad}");
    }
    assert!(matches!(
        read(&format!("1{}", "0".repeat(23))),
        Err(BadJson::InexactInteger { .. })
    ));
    assert_eq!(read("-0"), Ok(json!(0)));
    assert_eq!(
        read("9007199254740993.0"),
        Ok(json!(9_007_199_254_740_992.0)),
        "no integer literal"
    );
}

#[test]
fn a_number_that_overflows_a_double_is_refused() {
    for bad in [
        "1e309",
        "-1e309",
        "1.7976931348623159e308",
        "1e999999999999999999999",
        &"9".repeat(400),
        &"9".repeat(309),
    ] {
        assert!(matches!(read(bad), Err(BadJson::Overflow { .. })), "{bad}");
    }
    assert_eq!(read("1.7976931348623157e308"), Ok(json!(f64::MAX)));
    assert_eq!(read("1e-400"), Ok(json!(0.0)));
    assert_eq!(read("0e999999999999999999999"), Ok(json!(0.0)));
    assert_eq!(read("5e-324"), Ok(json!(5e-324)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=(1_i64 << 53)).prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |double| double.is_finite())
            .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Whether serde_json parses the same value, compared canonically because serde_json keeps the sign of
/// zero.
fn is_as_theirs(value: &Value, bytes: &[u8]) -> bool {
    let canonical = |value: &Value| crate::json::canonical(value).expect("canonical");
    let theirs = serde_json::from_slice::<Value>(bytes).map(|value| canonical(&value));
    theirs.is_ok_and(|theirs| theirs == canonical(value))
}

proptest! {
    #[test]
    fn canonical_output_is_parsed_back(value in any_json()) {
        prop_assert_eq!(read(&value.to_string()), Ok(value.clone()));
        prop_assert_eq!(read(&format!("{value:#}")), Ok(value));
    }

    /// Any input gives a value or an error; serde_json accepts every accepted document.
    #[test]
    fn arbitrary_bytes_never_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(value) = parse(&bytes) {
            prop_assert!(is_as_theirs(&value, &bytes));
        }
    }

    #[test]
    fn arbitrary_json_fragments_never_cause_a_panic(text in r#"[\[\]{}:,"\\u0d8eE.+\-1 tfn]{0,40}"#) {
        if let Ok(value) = read(&text) {
            prop_assert!(is_as_theirs(&value, text.as_bytes()));
        }
    }
}
