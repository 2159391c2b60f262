//! The JSON Schema that the answer of a run must fit.
//!
//! The schema uses a documented part of JSON Schema 2020-12. A keyword outside of it is refused when the
//! schema is read, because an answer that was not checked would look like one that fits. See decision 0060.

mod enforced;
mod validate;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

pub use enforced::{EnforcedSchema, enforced};

/// Largest schema in bytes of JSON. It is stored with the message and sent with every request.
pub const ANSWER_SCHEMA_BYTES_MAX: usize = 32 * 1024;

/// Deepest nesting of schemas and answers, and the longest chain of references.
pub const DEPTH_MAX: usize = 64;

/// Maximum number of comparisons of one answer. A schema can refer to itself, so its size does not limit the
/// work.
const CHECKS_MAX: usize = 100_000;

/// Maximum number of violations that are reported.
pub const VIOLATIONS_MAX: usize = 10;

/// Maximum length of one reported violation.
const VIOLATION_CHARS_MAX: usize = 300;

/// Keywords without effect on which answers fit.
const ANNOTATIONS: [&str; 11] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];

/// The names of types.
const TYPES: [&str; 7] = [
    "object", "array", "string", "number", "integer", "boolean", "null",
];

/// A schema that can be checked completely.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct AnswerSchema(Value);

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerSchemaError {
    #[error("the schema is not JSON: {0}")]
    NotJson(String),
    #[error("the schema is {bytes} bytes of JSON; at most {ANSWER_SCHEMA_BYTES_MAX} are accepted")]
    TooLarge { bytes: usize },
    #[error("the schema must be a JSON object")]
    NotAnObject,
    #[error("the schema is nested more than {DEPTH_MAX} levels deep at `{path}`")]
    TooDeep { path: String },
    #[error("the keyword `{keyword}` at `{path}` is not supported")]
    Unsupported { path: String, keyword: String },
    #[error("`{path}`: {why}")]
    Invalid { path: String, why: &'static str },
    #[error("`{path}` refers to `{target}`, which is not a schema in this document")]
    UnknownReference { path: String, target: String },
}

impl AnswerSchema {
    /// Reads a schema from the text of a file.
    pub fn parse(text: &str) -> Result<Self, AnswerSchemaError> {
        if text.len() > ANSWER_SCHEMA_BYTES_MAX {
            return Err(AnswerSchemaError::TooLarge { bytes: text.len() });
        }
        let value: Value =
            serde_json::from_str(text).map_err(|error| AnswerSchemaError::NotJson(error.to_string()))?;
        Self::new(value)
    }

    /// Checks that every keyword is supported and well formed.
    pub fn new(schema: Value) -> Result<Self, AnswerSchemaError> {
        let bytes = crate::json::bytes_of(&schema);
        if bytes > ANSWER_SCHEMA_BYTES_MAX {
            return Err(AnswerSchemaError::TooLarge { bytes });
        }
        if !schema.is_object() {
            return Err(AnswerSchemaError::NotAnObject);
        }
        check(&schema, &schema, &mut String::new(), 0)?;
        Ok(Self(schema))
    }

    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.0
    }

    /// Checks the text of an answer. It must be one JSON value; spaces around it are permitted.
    pub fn check(&self, answer: &str) -> Result<Value, Vec<String>> {
        let value: Value = serde_json::from_str(answer.trim()).map_err(|error| {
            vec![bounded(&format!(
                "the answer is not one JSON value: {error}; write it without other text and without a code fence"
            ))]
        })?;
        let violations = validate::violations(&self.0, &value);
        if violations.is_empty() {
            Ok(value)
        } else {
            Err(violations.iter().map(|text| bounded(text)).collect())
        }
    }
}

impl TryFrom<Value> for AnswerSchema {
    type Error = AnswerSchemaError;

    fn try_from(schema: Value) -> Result<Self, AnswerSchemaError> {
        Self::new(schema)
    }
}

impl From<AnswerSchema> for Value {
    fn from(schema: AnswerSchema) -> Self {
        schema.0
    }
}

/// The message to a model whose answer does not fit, so that it can correct the answer.
#[must_use]
pub fn repair_message(violations: &[String]) -> String {
    let lines: Vec<String> = violations.iter().map(|text| format!("- {text}")).collect();
    format!(
        "Your answer does not fit the required JSON Schema:\n{}\nReply with the corrected JSON value only, without \
         other text and without a code fence.",
        lines.join("\n")
    )
}

fn bounded(text: &str) -> String {
    crate::failure::truncate_chars(text, VIOLATION_CHARS_MAX)
}

/// Checks one schema. `path` is its location as a JSON pointer.
fn check(root: &Value, schema: &Value, path: &mut String, depth: usize) -> Result<(), AnswerSchemaError> {
    if depth > DEPTH_MAX {
        return Err(AnswerSchemaError::TooDeep { path: path.clone() });
    }
    let keywords = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(keywords) => keywords,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(invalid(path, "a schema must be an object or a boolean"));
        }
    };
    for (keyword, value) in keywords {
        let length = path.len();
        push(path, keyword);
        let keyword = Keyword {
            name: keyword,
            rule: value,
        };
        check_keyword(root, keyword, path, depth)?;
        path.truncate(length);
    }
    Ok(())
}

/// One keyword of a schema with its value.
#[derive(Clone, Copy)]
struct Keyword<'k, 'v> {
    name: &'k str,
    rule: &'v Value,
}

fn check_keyword(
    root: &Value,
    given: Keyword<'_, '_>,
    path: &mut String,
    depth: usize,
) -> Result<(), AnswerSchemaError> {
    let Keyword {
        name: keyword,
        rule: value,
    } = given;
    match keyword {
        word if ANNOTATIONS.contains(&word) => Ok(()),
        "$ref" => check_reference(root, value, path),
        "type" => {
            let is_type = |one: &Value| one.as_str().is_some_and(|word| TYPES.contains(&word));
            let fits = value.as_array().map_or_else(
                || is_type(value),
                |list| !list.is_empty() && list.iter().all(is_type),
            );
            require(fits, path, "must be the name of a type or a list of them")
        }
        "enum" => require(
            value.as_array().is_some_and(|list| !list.is_empty()),
            path,
            "must be a list of values",
        ),
        "const" => Ok(()),
        "required" => {
            let names = value.as_array();
            let fits = names.is_some_and(|names| names.iter().all(Value::is_string));
            require(fits, path, "must be a list of property names")
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            require(value.is_u64(), path, "must be a whole number from 0")
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            require(value.is_number(), path, "must be a number")
        }
        "multipleOf" => {
            let fits = value.as_f64().is_some_and(|number| number > 0.0);
            require(fits, path, "must be a number above 0")
        }
        "uniqueItems" => require(value.is_boolean(), path, "must be a boolean"),
        "properties" | "$defs" | "definitions" => match value {
            Value::Object(schemas) => check_all(root, schemas.iter(), path, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(invalid(path, "must be an object of schemas"))
            }
        },
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => match value.as_array() {
            Some(list) if !list.is_empty() => {
                let numbers: Vec<String> = (0..list.len()).map(|index| index.to_string()).collect();
                check_all(root, numbers.iter().zip(list), path, depth)
            }
            Some(_) | None => Err(invalid(path, "must be a list of schemas")),
        },
        "additionalProperties" | "items" | "not" => check(root, value, path, depth + 1),
        word => {
            let end = path.rfind('/').unwrap_or_default();
            Err(AnswerSchemaError::Unsupported {
                path: format!("#{}", path.get(..end).unwrap_or_default()),
                keyword: bounded(word),
            })
        }
    }
}

fn check_all<'a>(
    root: &Value,
    schemas: impl Iterator<Item = (&'a String, &'a Value)>,
    path: &mut String,
    depth: usize,
) -> Result<(), AnswerSchemaError> {
    for (name, schema) in schemas {
        let length = path.len();
        push(path, name);
        check(root, schema, path, depth + 1)?;
        path.truncate(length);
    }
    Ok(())
}

fn check_reference(root: &Value, value: &Value, path: &str) -> Result<(), AnswerSchemaError> {
    let Some(target) = value.as_str() else {
        return Err(invalid(path, "must be a reference such as `#/$defs/name`"));
    };
    match resolve(root, target) {
        Some(Value::Object(_) | Value::Bool(_)) if is_schema_position(target) => Ok(()),
        Some(_) | None => Err(AnswerSchemaError::UnknownReference {
            path: format!("#{path}"),
            target: bounded(target),
        }),
    }
}

/// Whether a reference leads to the document itself or to a definition. Only these places are certain to hold a
/// checked schema and not, for example, a property of a constant.
fn is_schema_position(target: &str) -> bool {
    let names: Vec<&str> = target.split('/').collect();
    matches!(names.as_slice(), ["#"] | ["#", "$defs" | "definitions", _])
}

/// Finds the schema that a local reference names.
fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    root.pointer(target.strip_prefix('#')?)
}

fn require(fits: bool, path: &str, why: &'static str) -> Result<(), AnswerSchemaError> {
    if fits { Ok(()) } else { Err(invalid(path, why)) }
}

fn invalid(path: &str, why: &'static str) -> AnswerSchemaError {
    AnswerSchemaError::Invalid {
        path: format!("#{path}"),
        why,
    }
}

/// Appends a name to a JSON pointer.
fn push(path: &mut String, name: &str) {
    path.push('/');
    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

/// The type of a value as a person reads it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A number as an exact integer, if it is one.
fn whole(number: &Number) -> Option<i128> {
    let exact = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    exact.or_else(|| {
        // Above this bound, a float has no digits after the point that could be compared.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        let float = number.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "the value is a small integer")]
        let integer = (float.fract() == 0.0 && float.abs() <= EXACT_MAX).then_some(float as i128);
        integer
    })
}

/// Compares values as JSON Schema does: 1 equals 1.0.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (whole(one), whole(other)) {
            (Some(one), Some(other)) => one == other,
            (None, None) => one.as_f64() == other.as_f64(),
            (Some(_), None) | (None, Some(_)) => false,
        },
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => equal_objects(one, other),
        (one, other) => one == other,
    }
}

fn equal_objects(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let mut members = one.iter();
    one.len() == other.len()
        && members.all(|(name, value)| other.get(name).is_some_and(|other| equal(value, other)))
}

#[cfg(test)]
mod tests;
