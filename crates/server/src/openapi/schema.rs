//! Converts the schemas of Rust types to those of the document.

use schemars::Schema;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

/// Removes `null` from a schema, for fields that are omitted instead.
pub(super) fn never_null(mut schema: Value) -> Value {
    let Some(members) = schema.as_object_mut() else {
        return schema;
    };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            members.remove("anyOf");
            members.extend(only);
        }
    }
    schema
}

/// The schema of an output: an optional field is never `null`, unless its default is `null`.
pub(super) fn written(schema: Value) -> Value {
    transformed(schema, |schema| {
        let required = schema.get("required").and_then(Value::as_array).cloned();
        let required = required.unwrap_or_default();
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, field) in fields.into_iter().flatten() {
            let is_required = required.iter().any(|required| required == name.as_str());
            if !is_required && field.get("default") != Some(&Value::Null) {
                *field = never_null(field.take());
            }
        }
    })
}

fn transformed(schema: Value, change: impl FnMut(&mut Schema)) -> Value {
    match Schema::try_from(schema.clone()) {
        Ok(mut read) => {
            schemars::transform::Transform::transform(&mut RecursiveTransform(change), &mut read);
            read.to_value()
        }
        Err(_) => schema,
    }
}

/// Adds the bounds of number types, removes line breaks from descriptions, and replaces `true` by an
/// object.
pub(super) fn tidy(schema: &mut Value) {
    let taken = std::mem::take(schema);
    *schema = transformed(taken, |schema| {
        if schema.as_bool() == Some(true) {
            *schema = Schema::default();
            schema.ensure_object();
        }
        let greatest = match schema.get("format").and_then(Value::as_str) {
            Some("uint8") => Some(json!(u8::MAX)),
            Some("uint16") => Some(json!(u16::MAX)),
            Some("uint32") => Some(json!(u32::MAX)),
            Some("uint64" | "uint") => Some(json!(i64::MAX)),
            _ => None,
        };
        if let Some(greatest) = greatest {
            schema.remove("format");
            if schema.get("maximum").is_none() {
                schema.insert("maximum".to_owned(), greatest);
            }
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_outputs_are_never_null_but_other_fields_may_be() {
        let text = json!({ "type": ["string", "null"] });
        let schema = json!({
            "type": "object", "required": ["always"],
            "properties": {
                "always": text, "left_out": text, "written_as_null": { "type": ["string", "null"], "default": null },
            },
        });
        let schema = written(schema);
        let is_text = |name: &str| schema["properties"][name]["type"] == "string";
        assert_eq!(
            ["always", "left_out", "written_as_null"].map(is_text),
            [false, true, false]
        );
    }
}
