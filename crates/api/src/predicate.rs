//! The JSON schemas of predicates. The core crate parses and evaluates them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use wakeful_core::schedule::GUARD_FIELDS;

macro_rules! predicate {
    ($name:ident, $text:literal, $field:expr) => {
        #[doc = $text]
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let mut schema = schema(&generator.subschema_for::<Self>(), &$field);
                schema.insert("description".to_owned(), $text.into());
                schema
            }
        }
    };
}

predicate!(
    Predicate,
    "A predicate over a changed record.",
    json!({ "type": "string" })
);
predicate!(
    ScheduleGuard,
    "A predicate over an agent's situation when a schedule fires.",
    json!({ "enum": GUARD_FIELDS })
);

fn schema(part: &Schema, field: &Value) -> Schema {
    let test = |op: Value, value: Value, required: &[&str]| {
        json!({
            "type": "object", "additionalProperties": false, "required": required,
            "properties": { "field": field, "op": op, "value": value },
        })
    };
    let of = |word: &str, parts: Value| {
        json!({
            "type": "object", "additionalProperties": false, "required": [word], "properties": { word: parts },
        })
    };
    let parts = json!({ "type": "array", "items": part });
    json_schema!({
        "oneOf": [
            test(json!({ "enum": ["eq", "ne", "lt", "lte", "gt", "gte"] }), json!({}), &["field", "op"]),
            test(json!({ "const": "in" }), json!({ "type": "array" }), &["field", "op", "value"]),
            test(json!({ "const": "exists" }), json!({ "type": ["boolean", "null"] }), &["field", "op"]),
            of("all", parts.clone()),
            of("any", parts),
            of("not", json!(part)),
        ]
    })
}
