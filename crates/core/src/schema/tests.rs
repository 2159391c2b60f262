use proptest::prelude::*;

use super::*;

fn tool() -> Value {
    json!({
        "type": "object",
        "required": ["cmd"],
        "properties": {
            "cmd": {"type": "string"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "place": {"$ref": "#/$defs/Place"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "either": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {}}]},
            "any": {},
        },
        "$defs": {"Place": {"type": "object", "properties": {"at": {"type": ["string", "null"]}}}},
    })
}

// Conformance: H-035
#[test]
fn relaxed_closes_objects_and_changes_nothing_else() {
    let expected = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["cmd"],
        "properties": {
            "cmd": {"type": "string"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "place": {"$ref": "#/$defs/Place"},
            "list": {"type": "array", "items": {
                "type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer"}},
            }},
            "either": {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false, "properties": {}}]},
            "any": {},
        },
        "$defs": {"Place": {
            "type": "object", "additionalProperties": false, "properties": {"at": {"type": ["string", "null"]}},
        }},
    });
    assert_eq!(emit(&tool(), SchemaMode::Relaxed), expected);
    let map = json!({"type": "object", "additionalProperties": {"type": "object"}});
    let closed =
        json!({"type": "object", "additionalProperties": {"type": "object", "additionalProperties": false}});
    assert_eq!(emit(&map, SchemaMode::Relaxed), closed);
}

// Conformance: H-035, H-036
#[test]
fn strict_requires_every_property_and_allows_null_for_optional_ones() {
    let expected = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["cmd", "mode", "place", "list", "either", "any"],
        "properties": {
            "cmd": {"type": "string"},
            "mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
            "list": {"type": ["array", "null"], "items": {
                "type": "object", "additionalProperties": false, "required": ["n"],
                "properties": {"n": {"type": ["integer", "null"]}},
            }},
            "either": {"anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": false, "required": [], "properties": {}},
                {"type": "null"},
            ]},
            "any": {},
        },
        "$defs": {"Place": {
            "type": "object", "additionalProperties": false, "required": ["at"],
            "properties": {"at": {"type": ["string", "null"]}},
        }},
    });
    let strict = emit(&tool(), SchemaMode::Strict);
    assert_eq!(strict, expected);
    assert_eq!(check_strict(&strict), Ok(()));
}

#[test]
fn a_schema_that_is_not_strict_is_found_at_any_depth() {
    let closed = json!({"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}});
    assert_eq!(check_strict(&closed), Ok(()));
    let cases = [
        ("", json!({"type": "object", "required": [], "properties": {}})),
        (
            "",
            json!({"type": "object", "additionalProperties": false, "properties": {"a": {}}}),
        ),
        (
            "",
            json!({"type": "object", "additionalProperties": false, "required": ["a", "b"], "properties": {"a": {}}}),
        ),
        (
            "/items",
            json!({"type": "array", "items": {"type": ["object", "null"]}}),
        ),
        (
            "/anyOf/1",
            json!({"anyOf": [{"type": "null"}, {"properties": {}}]}),
        ),
        ("/$defs/X", json!({"$defs": {"X": {"type": "object"}}})),
        (
            "/prefixItems/0",
            json!({"prefixItems": [{"type": ["string", "null"], "enum": ["a"]}]}),
        ),
    ];
    for (path, schema) in cases {
        let error = check_strict(&schema).expect_err("strict");
        assert_eq!(error.path, path, "{schema}");
    }
    let deep = (0..=DEPTH_MAX).fold(json!({}), |schema, _| json!({"items": schema}));
    assert!(check_strict(&emit(&deep, SchemaMode::Strict)).is_err());
}

fn schemas() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["string", "integer", "null", "object", "boolean"]);
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"$ref": "#/$defs/a"})),
        Just(json!({"const": "x"})),
        Just(json!({"enum": ["a", null]})),
        Just(json!({"type": ["string", "null"], "enum": ["a"]})),
        Just(json!({"type": "object", "additionalProperties": true})),
        (kind, any::<bool>()).prop_map(|(kind, listed)| match listed {
            true => json!({"type": [kind]}),
            false => json!({"type": kind, "enum": ["a"]}),
        }),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let members = prop::collection::vec(inner.clone(), 0..4);
        let named = prop::collection::btree_map(
            "[a-d]|type|required|properties",
            (inner.clone(), any::<bool>()),
            0..4,
        );
        prop_oneof![
            named.prop_map(|fields| {
                let required: Vec<_> = fields
                    .iter()
                    .filter(|(_, (_, required))| *required)
                    .map(|(name, _)| name.clone())
                    .collect();
                let properties: Map<String, Value> = fields
                    .into_iter()
                    .map(|(name, (schema, _))| (name, schema))
                    .collect();
                json!({"type": "object", "required": required, "properties": properties})
            }),
            members.clone().prop_map(|members| json!({"anyOf": members})),
            members.prop_map(|members| json!({"type": "array", "prefixItems": members, "oneOf": []})),
            inner
                .clone()
                .prop_map(|item| json!({"type": "array", "items": item})),
            inner
                .clone()
                .prop_map(|item| json!({"type": "object", "additionalProperties": item})),
            inner.prop_map(|item| json!({"$ref": "#/$defs/a", "$defs": {"a": item}})),
        ]
    })
}

proptest! {
    #[test]
    fn converting_a_schema_twice_changes_nothing_more(schema in schemas()) {
        for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
            let once = emit(&schema, mode);
            prop_assert_eq!(&emit(&once, mode), &once);
        }
    }

    #[test]
    fn a_schema_that_needs_no_conversion_is_not_copied(schema in schemas()) {
        for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
            prop_assert_eq!(&*render(&schema, mode), &emit(&schema, mode));
        }
        let once = emit(&schema, SchemaMode::Relaxed);
        prop_assert!(matches!(render(&once, SchemaMode::Relaxed), Cow::Borrowed(_)));
    }

    // Conformance: H-036
    #[test]
    fn a_schema_converted_to_strict_is_strict(schema in schemas()) {
        prop_assert_eq!(check_strict(&emit(&schema, SchemaMode::Strict)), Ok(()));
    }
}
