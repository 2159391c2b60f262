//! Converts the JSON Schema of a tool to the form that a provider requires.
//!
//! A tool's own schema is neutral. [`SchemaMode::Relaxed`] is sent by default: objects are closed, and
//! optional properties stay optional. [`SchemaMode::Strict`] is for providers with strict tools: every
//! property is required, and optional properties may be `null` instead.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Deepest nesting that is converted. A schema below it is left unchanged and is not strict.
pub const DEPTH_MAX: usize = 64;

/// Keywords that hold a map of schemas.
const MAPS: [&str; 3] = ["properties", "$defs", "definitions"];

/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords that hold one schema.
const SINGLES: [&str; 2] = ["items", "additionalProperties"];

/// The form of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// Objects are closed; nothing else changes.
    Relaxed,
    /// Every object is closed and requires all its properties.
    Strict,
}

/// Why a schema is not strict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema is not strict at `{path}`: {why}")]
pub struct StrictSchemaError {
    /// The location as a JSON pointer.
    pub path: String,
    pub why: &'static str,
}

/// Converts a schema. The conversion is idempotent.
#[must_use]
pub fn emit(schema: &Value, mode: SchemaMode) -> Value {
    emit_at(schema, mode, 0)
}

/// Converts a schema and copies it only if it changes, because every request converts many schemas.
#[must_use]
pub fn render(schema: &Value, mode: SchemaMode) -> Cow<'_, Value> {
    match mode {
        SchemaMode::Relaxed if is_closed(schema, 0) => Cow::Borrowed(schema),
        SchemaMode::Relaxed | SchemaMode::Strict => Cow::Owned(emit(schema, mode)),
    }
}

/// Returns whether every object down to the maximum depth states whether it is open.
fn is_closed(schema: &Value, depth: usize) -> bool {
    let Value::Object(fields) = schema else {
        return true;
    };
    if depth >= DEPTH_MAX {
        return true;
    }
    let deeper = |schema: &Value| is_closed(schema, depth + 1);
    let says = !is_object(fields) || fields.contains_key("additionalProperties");
    says && fields
        .iter()
        .all(|(keyword, value)| match (keyword.as_str(), value) {
            (word, Value::Object(map)) if MAPS.contains(&word) => map.values().all(deeper),
            (word, Value::Array(list)) if LISTS.contains(&word) || word == "items" => list.iter().all(deeper),
            (word, Value::Object(_)) if SINGLES.contains(&word) => deeper(value),
            (_, _) => true,
        })
}

fn emit_at(schema: &Value, mode: SchemaMode, depth: usize) -> Value {
    let Value::Object(fields) = schema else {
        return schema.clone();
    };
    if depth >= DEPTH_MAX {
        return schema.clone();
    }
    let mut emitted: Map<String, Value> = Map::new();
    for (keyword, value) in fields {
        let deeper = |schema: &Value| emit_at(schema, mode, depth + 1);
        let value = match (keyword.as_str(), value) {
            (word, Value::Object(map)) if MAPS.contains(&word) => map
                .iter()
                .map(|(name, schema)| (name.clone(), deeper(schema)))
                .collect(),
            (word, Value::Array(list)) if LISTS.contains(&word) || word == "items" => {
                list.iter().map(deeper).collect()
            }
            (word, value) if SINGLES.contains(&word) => deeper(value),
            (_, value) => value.clone(),
        };
        emitted.insert(keyword.clone(), value);
    }
    match mode {
        SchemaMode::Relaxed => close(&mut emitted),
        SchemaMode::Strict => make_strict(&mut emitted),
    }
    Value::Object(emitted)
}

/// Closes an object. An intentionally open object, such as a map, stays open.
fn close(schema: &mut Map<String, Value>) {
    if is_object(schema) {
        schema.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

fn make_strict(schema: &mut Map<String, Value>) {
    if is_object(schema) {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        let required = names(schema.get("required"));
        let properties = schema
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            let optional = properties
                .iter_mut()
                .filter(|(name, _)| !required.contains(*name));
            optional.for_each(|(_, property)| make_nullable(property));
            let all = properties.keys().cloned().map(Value::String).collect();
            schema.insert("required".to_owned(), all);
        }
    }
    if has_type(schema, "null") {
        add_null_to_enum(schema);
    }
}

/// Allows a property to be `null`, which stands for omitting it.
fn make_nullable(property: &mut Value) {
    let nothing = json!({"type": "null"});
    let Value::Object(schema) = property else {
        return;
    };
    let has = |word: &str| schema.contains_key(word);
    // Next to these keywords, the type alone does not determine the permitted values.
    let composed = ["const", "$ref", "oneOf", "allOf", "anyOf"].into_iter().any(has);
    if schema.is_empty() {
        // The property already accepts every value.
    } else if !composed && has("type") {
        let mut kinds = match schema.remove("type") {
            Some(Value::Array(several)) => several,
            one => one.into_iter().collect(),
        };
        if !kinds.contains(&json!("null")) {
            kinds.push(json!("null"));
        }
        schema.insert("type".to_owned(), Value::Array(kinds));
        add_null_to_enum(schema);
    } else if !composed && has("enum") {
        add_null_to_enum(schema);
    } else if let (1, Some(Value::Array(members))) = (schema.len(), schema.get_mut("anyOf")) {
        if !members.contains(&nothing) {
            members.push(nothing);
        }
    } else {
        *property = json!({"anyOf": [property.take(), nothing]});
    }
}

/// An enum without `null` would forbid the `null` that the type allows.
fn add_null_to_enum(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}

/// Checks a schema recursively against the rules of [`SchemaMode::Strict`].
pub fn check_strict(schema: &Value) -> Result<(), StrictSchemaError> {
    check_at(schema, "", 0)
}

fn check_at(schema: &Value, path: &str, depth: usize) -> Result<(), StrictSchemaError> {
    let wrong = |why| {
        Err(StrictSchemaError {
            path: path.to_owned(),
            why,
        })
    };
    let Value::Object(fields) = schema else {
        return Ok(());
    };
    if depth >= DEPTH_MAX {
        return wrong("it is nested too deep");
    }
    if is_object(fields) {
        if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            return wrong("an object has no `additionalProperties: false`");
        }
        let properties = fields.get("properties").and_then(Value::as_object);
        let named: BTreeSet<String> = properties.into_iter().flat_map(Map::keys).cloned().collect();
        if names(fields.get("required")) != named {
            return wrong("`required` does not list exactly the properties");
        }
    }
    let values = fields.get("enum").and_then(Value::as_array);
    if has_type(fields, "null") && values.is_some_and(|values| !values.contains(&Value::Null)) {
        return wrong("an enum that may be null does not list null");
    }
    for (keyword, value) in fields {
        let below = |name: &str| format!("{path}/{keyword}/{name}");
        match (keyword.as_str(), value) {
            (word, Value::Object(map)) if MAPS.contains(&word) => {
                map.iter()
                    .try_for_each(|(name, schema)| check_at(schema, &below(name), depth + 1))?;
            }
            (word, Value::Array(list)) if LISTS.contains(&word) || word == "items" => {
                let mut indexed = list.iter().enumerate();
                indexed.try_for_each(|(index, schema)| {
                    check_at(schema, &below(&index.to_string()), depth + 1)
                })?;
            }
            (word, value) if SINGLES.contains(&word) => {
                check_at(value, &format!("{path}/{keyword}"), depth + 1)?;
            }
            (_, _) => {}
        }
    }
    Ok(())
}

fn is_object(schema: &Map<String, Value>) -> bool {
    has_type(schema, "object") || schema.contains_key("properties")
}

fn has_type(schema: &Map<String, Value>, word: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(several)) => several.iter().any(|one| one == word),
        one => one.is_some_and(|one| one == word),
    }
}

/// Returns the strings of a list.
fn names(list: Option<&Value>) -> BTreeSet<String> {
    let values = list.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
