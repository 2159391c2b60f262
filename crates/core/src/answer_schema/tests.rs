use serde_json::json;

use super::*;

fn schema(value: Value) -> AnswerSchema {
    AnswerSchema::new(value).expect("a supported schema")
}

fn fits(rule: &Value, value: &Value) -> bool {
    schema(rule.clone()).check(&value.to_string()).is_ok()
}

/// A schema, a value that fits it, and one that does not.
type Case = (Value, Value, Value);

fn check_all(cases: impl IntoIterator<Item = Case>) {
    for (rule, good, bad) in cases {
        assert!(fits(&rule, &good), "{rule} must accept {good}");
        assert!(!fits(&rule, &bad), "{rule} must refuse {bad}");
    }
}

#[test]
fn each_keyword_for_types_and_containers_accepts_and_refuses() {
    check_all([
        (json!({"type": "integer"}), json!(1.0), json!(1.5)),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"type": "number"}), json!(0.5), json!("0.5")),
        (json!({"const": {"a": 1}}), json!({"a": 1.0}), json!({"a": 2})),
        (json!({"enum": ["a", 2]}), json!(2), json!("b")),
        (json!({"required": ["a"]}), json!({"a": null}), json!({})),
        (
            json!({"properties": {"a": {"type": "string"}}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            json!({"a": 1}),
            json!({"b": 1}),
        ),
        (
            json!({"additionalProperties": {"type": "null"}}),
            json!({"a": null}),
            json!({"a": 1}),
        ),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
        ),
        (
            json!({"items": {"type": "string"}}),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}),
            json!(["a", null]),
            json!(["a", "b"]),
        ),
        (json!({"minItems": 1}), json!([1]), json!([])),
        (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
    ]);
}

#[test]
fn each_keyword_for_values_and_combinations_accepts_and_refuses() {
    check_all([
        (json!({"minLength": 2}), json!("éé"), json!("é")),
        (json!({"maxLength": 1}), json!("é"), json!("ab")),
        (json!({"minimum": 3}), json!(3), json!(2.9)),
        (json!({"maximum": 3}), json!(3.0), json!(4)),
        (json!({"exclusiveMinimum": 3}), json!(3.1), json!(3)),
        (json!({"exclusiveMaximum": 3}), json!(2), json!(3.0)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (
            json!({"multipleOf": 3}),
            json!(9_007_199_254_740_993_i64),
            json!(10),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!("a"),
            json!(1),
        ),
        (
            json!({"oneOf": [{"minimum": 2}, {"maximum": 3}]}),
            json!(1),
            json!(2),
        ),
        (
            json!({"allOf": [{"minimum": 2}, {"maximum": 3}]}),
            json!(2),
            json!(4),
        ),
        (json!({"not": {"type": "string"}}), json!(1), json!("a")),
        (
            json!({"$defs": {"n": {"type": "null"}}, "items": {"$ref": "#/$defs/n"}}),
            json!([null]),
            json!([1]),
        ),
        (
            json!({"properties": {"next": {"$ref": "#"}}, "required": ["v"]}),
            json!({"v": 1, "next": {"v": 2}}),
            json!({"v": 1, "next": {}}),
        ),
        (json!({"properties": {"a": false}}), json!({}), json!({"a": 1})),
    ]);
}

#[test]
fn a_keyword_that_is_not_checked_is_refused_by_name() {
    for (rule, keyword, path) in [
        (json!({"pattern": "a"}), "pattern", "#"),
        (json!({"properties": {"a": {"if": {}}}}), "if", "#/properties/a"),
        (
            json!({"items": {"patternProperties": {}}}),
            "patternProperties",
            "#/items",
        ),
    ] {
        let (path, keyword) = (path.to_owned(), keyword.to_owned());
        assert_eq!(
            AnswerSchema::new(rule),
            Err(AnswerSchemaError::Unsupported { path, keyword })
        );
    }
}

#[test]
fn a_malformed_schema_is_refused_with_its_place() {
    for bad in [
        json!({"type": "text"}),
        json!({"type": []}),
        json!({"enum": []}),
        json!({"required": [1]}),
        json!({"minLength": -1}),
        json!({"minimum": "1"}),
        json!({"multipleOf": 0}),
        json!({"properties": []}),
        json!({"anyOf": []}),
        json!({"items": 1}),
        json!({"$ref": "#/$defs/none"}),
        json!({"$ref": "https://example.org"}),
        // A constant is data: it may hold keywords that were never checked.
        json!({"const": {"pattern": "x"}, "$ref": "#/const"}),
        json!([]),
    ] {
        assert!(AnswerSchema::new(bad.clone()).is_err(), "{bad}");
    }
    let error = AnswerSchema::new(json!({"properties": {"a/b": {"minLength": -1}}})).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "`#/properties/a~1b/minLength`: must be a whole number from 0"
    );
}

#[test]
fn a_schema_has_a_largest_size_and_depth() {
    let long = format!("{{\"description\": \"{}\"}}", "x".repeat(ANSWER_SCHEMA_BYTES_MAX));
    assert!(matches!(
        AnswerSchema::parse(&long),
        Err(AnswerSchemaError::TooLarge { .. })
    ));
    assert!(matches!(
        AnswerSchema::parse("{"),
        Err(AnswerSchemaError::NotJson(_))
    ));
    let nested = (0..=DEPTH_MAX).fold(json!({}), |inner, _| json!({"items": inner}));
    assert!(matches!(
        AnswerSchema::new(nested),
        Err(AnswerSchemaError::TooDeep { .. })
    ));
}

#[test]
fn a_schema_that_refers_to_itself_forever_is_not_fitted() {
    let endless =
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
    assert!(schema(endless).check("1").is_err());
    let branch = json!({"$ref": "#/$defs/a"});
    let wide = json!({"$defs": {"a": {"anyOf": [branch, branch, branch]}}, "not": branch});
    assert!(schema(wide).check("1").is_err());
}

#[test]
fn violations_name_their_place_and_are_bounded() {
    let rule = json!({
        "type": "object",
        "properties": {"dogs": {"items": {"type": "object", "required": ["name"]}}},
        "required": ["dogs", "at"]
    });
    let found = schema(rule)
        .check(r#"{"dogs": [{"name": "x"}, {}]}"#)
        .expect_err("does not fit");
    assert_eq!(
        found,
        [
            "/dogs/1 lacks the property `name`",
            "the answer lacks the property `at`"
        ]
    );
    let many = schema(json!({"items": {"type": "null"}})).check(&json!(vec![1; 500]).to_string());
    assert_eq!(many.map_err(|found| found.len()), Err(VIOLATIONS_MAX));
    let long = "x".repeat(10_000);
    let found = schema(json!({"enum": [long]}))
        .check("1")
        .expect_err("does not fit");
    assert!(
        found
            .iter()
            .all(|text| text.chars().count() <= VIOLATION_CHARS_MAX)
    );
}

#[test]
fn an_answer_is_exactly_one_json_value() {
    let any = schema(json!({}));
    assert_eq!(any.check(" {\"a\": 1}\n"), Ok(json!({"a": 1})));
    for bad in ["", "Here it is: {}", "```json\n{}\n```", "{} {}"] {
        assert!(any.check(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_stored_schema_is_checked_when_it_is_read_back() {
    let stored = serde_json::to_value(schema(json!({"type": "object"}))).expect("JSON");
    assert_eq!(stored, json!({"type": "object"}));
    assert!(serde_json::from_value::<AnswerSchema>(stored).is_ok());
    assert!(serde_json::from_value::<AnswerSchema>(json!({"if": {}})).is_err());
}

#[test]
fn providers_receive_closed_objects_without_bounds() {
    let rule = schema(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "k": {"oneOf": [{"type": "null"}, {"const": 1}]}},
        "required": ["n"]
    }));
    assert_eq!(
        enforced(&rule),
        Some(EnforcedSchema {
            schema: json!({
                "type": "object",
                "properties": {"n": {"type": "integer"}, "k": {"anyOf": [{"type": "null"}, {"const": 1}]}},
                "required": ["n"],
                "additionalProperties": false
            }),
            requires_all: false,
            is_recursive: false,
        })
    );
    for open in [
        json!({"type": "array", "items": {"type": "null"}}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}}}),
        json!({"type": "object", "properties": {"a": {"type": "array"}}}),
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        json!({"type": "object", "properties": {}, "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"allOf": [{"type": "null"}]}}}),
    ] {
        assert_eq!(enforced(&schema(open.clone())), None, "{open}");
    }
    let tree = json!({
        "$defs": {"t": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}},
        "type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "required": ["t"]
    });
    let tree = enforced(&schema(tree)).expect("closed objects");
    assert!(tree.is_recursive && !tree.requires_all);
}
