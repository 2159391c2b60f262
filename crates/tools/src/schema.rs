//! Parses the arguments of tools, and describes them to a model as JSON schemas.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::step::ToolError;

/// Parses arguments of any shape. An error names the field; the hint lists the fields.
pub(crate) fn read<T: DeserializeOwned>(input: &Value, hint: &str) -> Result<T, ToolError> {
    // Serde would also read the fields from a list, in the order of their declaration.
    if !input.is_object() {
        return Err(invalid(None, "the arguments are not a JSON object", hint));
    }
    serde_path_to_error::deserialize(input).map_err(|e| {
        // An unknown field is reported at the object that holds it, and the message names the field.
        let path = e.path().to_string();
        let field = if path == "." {
            named_in(&e.inner().to_string())
        } else {
            Some(path)
        };
        invalid(field.as_deref(), &e.into_inner().to_string(), hint)
    })
}

/// The description and schema of a tool whose arguments are a `T`.
pub(crate) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    for noise in ["$schema", "title", "description"] {
        schema.remove(noise);
    }
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields
            .values_mut()
            .filter_map(Value::as_object_mut)
            .for_each(simplify);
    }
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.to_value(),
        freeform: None,
    }
}

/// Removes parts that cost tokens without adding information: an optional field need not allow `null`, and
/// models do not need integer formats.
fn simplify(field: &mut serde_json::Map<String, Value>) {
    field.remove("format");
    field.remove("default");
    if let Some(first) = field
        .get("type")
        .and_then(Value::as_array)
        .and_then(|types| types.first())
        .cloned()
    {
        field.insert("type".to_owned(), first);
    }
}

/// The error for invalid arguments.
pub(crate) fn invalid(field: Option<&str>, message: &str, hint: &str) -> ToolError {
    ToolError {
        field: field.map(str::to_owned),
        ..ToolError::new("invalid_arguments", message, hint)
    }
}

/// The first name between backquotes.
fn named_in(message: &str) -> Option<String> {
    message.split('`').nth(1).map(str::to_owned)
}
