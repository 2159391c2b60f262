//! The OpenAPI document, generated from the declared endpoints. The responses of the guards are added here
//! for all of them, because the declarations do not contain them.

mod schema;

use std::sync::OnceLock;

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};
use wakeful_api::endpoint::{Access, Answer, Method};
use wakeful_api::{Delta, ErrorBody, GetOpenApi, Operation, ToolOutput, operations};

use self::schema::{never_null, tidy, written};
use crate::error::ApiError;
use crate::login::{COOKIE, TOKEN_HEADER};
use crate::route::{Call, Routes};

const SCHEMAS: &str = "/components/schemas";

/// An error response that many operations share: its status, its name and its description.
type Refusal = (&'static str, &'static str, &'static str);

/// Responses that any request may get before or instead of its handler's.
const ALWAYS: [Refusal; 6] = [
    (
        "400",
        "BadRequest",
        "The input does not match its schema; the message names the invalid part",
    ),
    (
        "403",
        "Forbidden",
        "The request comes from a foreign page, or its login is not sufficient",
    ),
    ("421", "Misdirected", "The Host header names another server"),
    (
        "429",
        "TooManyRequests",
        "Too many requests within a minute; wait for the time in Retry-After",
    ),
    (
        "431",
        "HeadTooLarge",
        "The head of the request is too large; the response has no body",
    ),
    (
        "503",
        "Unavailable",
        "Temporarily unavailable: starting, stopping, overloaded, or the database does not respond",
    ),
];

/// Responses to requests that need a login.
const PRIVATE: [Refusal; 2] = [
    ("401", "Unauthorized", "The request has no valid token"),
    ("500", "Broken", "Internal error; the log contains the details"),
];

/// Responses to requests with a body.
const WITH_BODY: [Refusal; 3] = [
    ("408", "RequestTimeout", "The body did not arrive in time"),
    ("413", "BodyTooLarge", "The body is too large"),
    ("415", "NotJson", "The Content-Type of the body is not JSON"),
];

/// Responses to requests that name an object.
const NAMED: [Refusal; 1] = [("404", "NotFound", "The object does not exist")];

/// Responses to writes.
const WRITE: [Refusal; 1] = [(
    "409",
    "Conflict",
    "The request conflicts with the current state; the code gives the reason",
)];

const TAGS: [(&str, &str); 13] = [
    ("agents", "Agents and their transcripts"),
    ("messages", "Messages in an agent's queue"),
    ("runs", "Runs and their results"),
    ("decisions", "Questions for people, and their answers"),
    ("subscriptions", "The changes that wake an agent"),
    ("sources", "Watched folders and Git repositories"),
    ("brake", "Brakes, which stop everything or one agent"),
    ("budget", "Model costs, spending limits and privacy confirmations"),
    ("events", "The event log, as pages and as streams"),
    ("daemon", "The daemon itself"),
    ("login", "Browser logins"),
    ("schedules", "Schedules that wake agents, and their executions"),
    (
        "journal",
        "The person's records: tasks, notes, categories, plans, ratings",
    ),
];

pub(crate) fn routes() -> Routes {
    Routes::default().respond(show)
}

async fn show(_: Call, _: GetOpenApi) -> Result<Response, ApiError> {
    Ok(([(header::CONTENT_TYPE, "application/json")], openapi_json()).into_response())
}

/// The document as JSON with sorted keys, so that the same API always yields the same text.
#[must_use]
pub fn openapi_json() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        // All keys are strings, so serialization cannot fail.
        let text = serde_json::to_string_pretty(&sorted(document())).unwrap_or_default();
        format!("{text}\n")
    })
}

fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for operation in operations() {
        let described = schemas.operation(operation);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(method(operation.method).to_owned(), described);
        }
    }
    schemas.output.subschema_for::<Delta>();
    schemas.output.subschema_for::<ToolOutput>();
    let tags = TAGS.map(|(name, description)| json!({ "name": name, "description": description }));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Wakeful",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The API of a Wakeful daemon. Times are RFC 3339 in UTC. Every error response is an `ErrorBody` with a \
                stable code.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas.named(),
            "responses": responses(),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": COOKIE },
                "login_token": { "type": "apiKey", "in": "header", "name": TOKEN_HEADER },
            },
        },
        "security": [{ "bearer": [] }, { "cookie": [], "login_token": [] }],
        "tags": tags,
    })
}

const fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "get",
        Method::Post => "post",
        Method::Delete => "delete",
    }
}

/// The responses of the guards, by name.
fn responses() -> Value {
    let all = ALWAYS
        .iter()
        .chain(&PRIVATE)
        .chain(&WITH_BODY)
        .chain(&NAMED)
        .chain(&WRITE);
    let named = all.map(|(status, name, text)| {
        let response = match *status {
            // The connection responds before a request exists.
            "431" => json!({ "description": text }),
            _ => refusal(text),
        };
        ((*name).to_owned(), response)
    });
    Value::Object(named.collect())
}

fn refusal(text: &str) -> Value {
    let schema = json!({ "$ref": format!("#{SCHEMAS}/ErrorBody") });
    json!({ "description": text, "content": { "application/json": { "schema": schema } } })
}

/// The schemas of inputs and outputs. They differ: an optional input may be omitted or `null`, an optional
/// output is always omitted.
struct Schemas {
    input: SchemaGenerator,
    output: SchemaGenerator,
    bodies: Map<String, Value>,
}

impl Schemas {
    fn new() -> Self {
        let generator = |contract| {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = SCHEMAS.into();
                settings.meta_schema = None;
                settings.contract = contract;
            });
            settings.into_generator()
        };
        let mut output = generator(Contract::Serialize);
        output.subschema_for::<ErrorBody>();
        Self {
            input: generator(Contract::Deserialize),
            output,
            bodies: Map::new(),
        }
    }

    /// All named schemas. If an input and an output have the same name, the schema of the input is used: it
    /// accepts every output.
    fn named(mut self) -> Value {
        let mut named = Map::new();
        for (name, schema) in self.output.take_definitions(true) {
            named.insert(name, written(schema));
        }
        named.extend(self.input.take_definitions(true));
        named.extend(self.bodies);
        named.values_mut().for_each(tidy);
        Value::Object(named)
    }

    fn operation(&mut self, operation: &Operation) -> Value {
        let (summary, description) = operation
            .doc
            .trim()
            .split_once("\n\n")
            .unwrap_or((operation.doc.trim(), ""));
        let one_line = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let mut described = json!({
            "operationId": snake_case(operation.name),
            "summary": one_line(summary),
            "tags": [operation.tag],
            "responses": self.answers(operation),
        });
        let (parameters, body) = self.input(operation);
        let Some(members) = described.as_object_mut() else {
            return described;
        };
        if !description.is_empty() {
            members.insert("description".to_owned(), one_line(description).into());
        }
        if !parameters.is_empty() {
            members.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = body {
            members.insert(
                "requestBody".to_owned(),
                json!({ "content": body, "required": true }),
            );
        }
        let security = match operation.access {
            Access::LoggedIn => return described,
            Access::Public => json!([{}]),
            Access::Program => json!([{ "bearer": [] }]),
            Access::Browser => json!([{ "cookie": [], "login_token": [] }]),
        };
        members.insert("security".to_owned(), security);
        described
    }

    /// The parameters and the body of an input.
    fn input(&mut self, operation: &Operation) -> (Vec<Value>, Option<Value>) {
        let mut schema = (operation.input)(&mut self.input).to_value();
        let required: Vec<Value> = list(&mut schema, "required");
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        let mut fields = fields.map(std::mem::take).unwrap_or_default();
        let in_path = operation.path_parameters().map(|name| {
            let schema = fields.remove(name).unwrap_or_default();
            parameter("path", name, never_null(schema), true)
        });
        let mut parameters: Vec<Value> = in_path.collect();
        if !operation.takes_body {
            parameters.extend(fields.into_iter().map(|(name, schema)| {
                let is_required = required.iter().any(|required| required == name.as_str());
                parameter("query", &name, never_null(schema), is_required)
            }));
        } else if let Some(members) = schema.as_object_mut() {
            let left = required
                .into_iter()
                .filter(|name| name.as_str().is_some_and(|name| fields.contains_key(name)));
            let left: Vec<Value> = left.collect();
            if !left.is_empty() {
                members.insert("required".to_owned(), left.into());
            }
            members.insert("properties".to_owned(), fields.into());
            self.bodies.insert(operation.name.to_owned(), schema);
        }
        parameters.extend(operation.headers.iter().map(|header| {
            let schema = (header.schema)(&mut self.input).to_value();
            json!({ "in": "header", "name": header.name, "description": header.text, "required": false, "schema": schema })
        }));
        let json_body = json!({ "$ref": format!("#{SCHEMAS}/{}", operation.name) });
        let body = match operation.raw_body {
            Some(media) => Some(json!({ media: { "schema": { "type": "string" } } })),
            None if operation.takes_body => Some(json!({ "application/json": { "schema": json_body } })),
            None => None,
        };
        (parameters, body)
    }

    fn answers(&mut self, operation: &Operation) -> Value {
        let mut answers = Map::new();
        for (index, answer) in operation.answers.iter().enumerate() {
            let described = match (index, answer) {
                (
                    _,
                    Answer {
                        status: 204, text, ..
                    },
                ) => json!({ "description": text }),
                (
                    _,
                    Answer {
                        schema: Some(schema),
                        text,
                        ..
                    },
                ) => {
                    let schema = written(schema(&mut self.output).to_value());
                    json!({ "description": text, "content": { "application/json": { "schema": schema } } })
                }
                (0, Answer { text, .. }) => {
                    let output = written((operation.output)(&mut self.output).to_value());
                    let content = operation.media.iter().map(|media| {
                        let schema = match *media {
                            "application/json" => output.clone(),
                            _ => json!({ "type": "string" }),
                        };
                        ((*media).to_owned(), json!({ "schema": schema }))
                    });
                    json!({ "description": text, "content": content.collect::<Map<_, _>>() })
                }
                (_, Answer { text, .. }) => refusal(text),
            };
            answers.insert(answer.status.to_string(), described);
        }
        let takes_body = operation.takes_body || operation.raw_body.is_some();
        let groups: [(&[Refusal], bool); 5] = [
            (&ALWAYS, true),
            (&PRIVATE, operation.access != Access::Public),
            (&WITH_BODY, takes_body),
            (&NAMED, operation.path_parameters().next().is_some()),
            (&WRITE, operation.method != Method::Get),
        ];
        for (status, name, _) in groups
            .iter()
            .filter(|(_, holds)| *holds)
            .flat_map(|(group, _)| group.iter())
        {
            let response = || json!({ "$ref": format!("#/components/responses/{name}") });
            answers.entry(*status).or_insert_with(response);
        }
        Value::Object(answers)
    }
}

fn list(schema: &mut Value, name: &str) -> Vec<Value> {
    let members = schema.as_object_mut().and_then(|members| members.remove(name));
    members
        .and_then(|members| members.as_array().cloned())
        .unwrap_or_default()
}

fn parameter(place: &str, name: &str, mut schema: Value, is_required: bool) -> Value {
    tidy(&mut schema);
    let described = schema
        .as_object_mut()
        .and_then(|members| members.remove("description"));
    let mut parameter = json!({ "in": place, "name": name, "required": is_required, "schema": schema });
    if let (Some(text), Some(members)) = (described, parameter.as_object_mut()) {
        members.insert("description".to_owned(), text);
    }
    parameter
}

fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, sorted(value)));
            let members: std::collections::BTreeMap<_, _> = members.collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn exactly_the_declared_endpoints_are_served() {
        let served = crate::app::endpoints().names();
        let declared: BTreeSet<&str> = operations().map(|operation| operation.name).collect();
        assert_eq!(served.len(), declared.len(), "none is served twice");
        assert_eq!(served.into_iter().collect::<BTreeSet<_>>(), declared);
    }

    #[test]
    fn a_declaration_without_a_body_has_no_body_fields() {
        let mut schemas = Schemas::new();
        for operation in operations().filter(|operation| operation.method != Method::Get) {
            let (parameters, body) = schemas.input(operation);
            let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
            assert_eq!(query.count(), 0, "{}", operation.name);
            assert_eq!(
                body.is_some(),
                operation.takes_body || operation.raw_body.is_some(),
                "{}",
                operation.name
            );
        }
    }
}
