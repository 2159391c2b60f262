//! The form of a schema that providers can enforce while a model writes.
//!
//! Providers enforce only a part of JSON Schema and refuse requests with other keywords. Bounds are left out and
//! objects are closed, so what a provider enforces never permits less than it should in a way that excludes every
//! fitting answer, and the whole schema is checked afterwards anyway.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{AnswerSchema, resolve};

/// A schema for the request of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnforcedSchema {
    pub schema: Value,
    /// Whether every object requires all of its properties.
    pub requires_all: bool,
    /// Whether a definition refers to itself.
    pub is_recursive: bool,
}

/// Converts a schema; none if providers cannot enforce it, for example because an object permits other
/// properties than those that it names.
#[must_use]
pub fn enforced(schema: &AnswerSchema) -> Option<EnforcedSchema> {
    let root = schema.value();
    // Providers require an object at the root.
    if root.get("type") != Some(&json!("object")) {
        return None;
    }
    let mut requires_all = true;
    let schema = emit(root, &mut requires_all)?;
    let mut definitions = BTreeSet::new();
    Some(EnforcedSchema {
        is_recursive: refers_to(root, root, &mut definitions, &mut Vec::new()),
        schema,
        requires_all,
    })
}

fn emit(schema: &Value, requires_all: &mut bool) -> Option<Value> {
    let keywords = schema.as_object()?;
    let mut emitted = Map::new();
    for (keyword, value) in keywords {
        let value = match keyword.as_str() {
            "title" | "description" | "type" | "enum" | "const" | "$ref" | "required" => value.clone(),
            "properties" | "$defs" | "definitions" => {
                let schemas = value.as_object()?.iter();
                let schemas = schemas.map(|(name, one)| Some((name.clone(), emit(one, requires_all)?)));
                Value::Object(schemas.collect::<Option<_>>()?)
            }
            "items" => emit(value, requires_all)?,
            "anyOf" | "oneOf" => {
                let schemas = value.as_array()?.iter();
                Value::Array(
                    schemas
                        .map(|one| emit(one, requires_all))
                        .collect::<Option<_>>()?,
                )
            }
            "additionalProperties" if *value != Value::Bool(false) => return None,
            "allOf" | "prefixItems" | "not" => return None,
            // Bounds and annotations.
            _ => continue,
        };
        let keyword = match keyword.as_str() {
            "oneOf" => "anyOf",
            word => word,
        };
        emitted.insert(keyword.to_owned(), value);
    }
    let says_what = ["type", "enum", "const", "anyOf", "$ref"];
    if !says_what.iter().any(|word| emitted.contains_key(*word)) {
        return None;
    }
    if is_of(&emitted, "array") && !emitted.contains_key("items") {
        return None;
    }
    if is_of(&emitted, "object") {
        close(&mut emitted, requires_all)?;
    }
    Some(Value::Object(emitted))
}

/// Closes an object. None if it requires a property that it does not describe.
fn close(schema: &mut Map<String, Value>, requires_all: &mut bool) -> Option<()> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array);
    let required: BTreeSet<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    if !required.iter().all(|name| properties.contains_key(*name)) {
        return None;
    }
    *requires_all &= required.len() == properties.len();
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    Some(())
}

fn is_of(schema: &Map<String, Value>, word: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == word),
        one => one.is_some_and(|one| one == word),
    }
}

/// Whether following the references below a schema leads back to a schema that is being followed.
fn refers_to<'a>(
    root: &'a Value,
    schema: &'a Value,
    done: &mut BTreeSet<&'a str>,
    open: &mut Vec<&'a str>,
) -> bool {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .any(|(keyword, value)| match (keyword.as_str(), value) {
                ("$defs" | "definitions" | "const" | "enum", _) => false,
                ("$ref", Value::String(target)) => {
                    if target == "#" || open.contains(&target.as_str()) {
                        return true;
                    }
                    let Some(found) = resolve(root, target).filter(|_| !done.contains(target.as_str()))
                    else {
                        return false;
                    };
                    open.push(target);
                    let is_recursive = refers_to(root, found, done, open);
                    open.pop();
                    done.insert(target);
                    is_recursive
                }
                (_, value) => refers_to(root, value, done, open),
            }),
        Value::Array(list) => list.iter().any(|one| refers_to(root, one, done, open)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
