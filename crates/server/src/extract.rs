//! Reads the input of an endpoint from a request, with errors that name the invalid part.

use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, Visitor};
use serde_json::error::Category;
use serde_path_to_error::Segment;
use wakeful_api::endpoint::Method;
use wakeful_api::{Endpoint, Operation};
use wakeful_core::redact::Redactor;
use wakeful_core::secret::SECRET_BYTES_MIN;

use crate::error::ApiError;
use crate::redaction::{self, Redactions};

/// Longest wait for a body. Even on a slow connection a megabyte arrives within it.
pub(crate) const BODY_READ_MS_MAX: u64 = 30_000;

pub(crate) const SEE_DOCUMENT: &str = "GET /api/openapi.json describes the input of each path";

/// The path parameters, by name.
pub(crate) type Parameters = Vec<(String, String)>;

/// The raw input of an endpoint.
pub(crate) struct RawInput {
    path: Parameters,
    /// The JSON body of an endpoint that has one; otherwise the path parameters and the query as one form.
    rest: Vec<u8>,
    has_body: bool,
}

impl RawInput {
    /// Receives the input of an endpoint.
    pub(crate) async fn receive(
        operation: &Operation,
        path: Parameters,
        head: &Parts,
        body: Body,
    ) -> Result<Self, ApiError> {
        if !operation.takes_body {
            let query = head.uri.query().filter(|_| operation.method == Method::Get);
            return Self::of_query(path, query.unwrap_or_default());
        }
        if !is_json(&head.headers) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "not_json",
                "the Content-Type of the body is not JSON",
                "send `Content-Type: application/json`",
            ));
        }
        let rest = bounded(body, operation.body_bytes_max).await?;
        let has_body = true;
        Ok(Self { path, rest, has_body })
    }

    fn of_query(path: Parameters, query: &str) -> Result<Self, ApiError> {
        let form = serde_urlencoded::to_string(&path);
        let form = form.map_err(|error| ApiError::bad("bad_query", error.to_string(), SEE_DOCUMENT))?;
        let rest = format!("{form}&{query}").into_bytes();
        let has_body = false;
        Ok(Self { path, rest, has_body })
    }

    /// Whether the body is long enough for a secret. Most requests that change something have an empty one, and
    /// the redactor may ask a keyring.
    pub(crate) const fn may_have_secret(&self) -> bool {
        self.has_body && self.rest.len() > SECRET_BYTES_MIN
    }

    /// The input without secrets, and how many texts contained one.
    pub(crate) fn redacted(self, operation: &Operation, redactor: &Redactor) -> (Self, Redactions) {
        let (rest, count) = redaction::body(redactor, operation, self.rest);
        (Self { rest, ..self }, count)
    }

    /// Deserializes the input as the endpoint's type.
    pub(crate) fn read<E: Endpoint>(&self) -> Result<E, ApiError> {
        if !E::OPERATION.takes_body {
            let form = serde_urlencoded::Deserializer::new(form_urlencoded::parse(&self.rest));
            return serde_path_to_error::deserialize(form).map_err(|error| self.bad_query(&error));
        }
        self.check_object()?;
        let mut body = serde_json::Deserializer::from_slice(&self.rest);
        let fields = Fields {
            path: &self.path,
            rest: &mut body,
        };
        let read = serde_path_to_error::deserialize(fields).map_err(|error| self.bad_body(&error))?;
        body.end().map_err(|error| not_json(&error))?;
        Ok(read)
    }

    /// Serde would read a list as the fields in their order, which is never intended.
    fn check_object(&self) -> Result<(), ApiError> {
        match self.rest.trim_ascii_start().first() {
            Some(b'[') => {
                let message = "the body is a list but must be an object";
                Err(ApiError::bad("bad_field", message, SEE_DOCUMENT))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn bad_query(&self, error: &serde_path_to_error::Error<serde::de::value::Error>) -> ApiError {
        let code = if is_in_path(error, &self.path) {
            "bad_id"
        } else {
            "bad_query"
        };
        ApiError::bad(code, named(error), SEE_DOCUMENT)
    }

    fn bad_body(&self, error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
        if is_in_path(error, &self.path) {
            return ApiError::bad("bad_id", named(error), SEE_DOCUMENT);
        }
        match error.inner().classify() {
            Category::Data => ApiError::bad("bad_field", named(error), SEE_DOCUMENT),
            Category::Syntax | Category::Eof | Category::Io => not_json(error.inner()),
        }
    }
}

/// Whether the invalid value is in the path.
fn is_in_path<E>(error: &serde_path_to_error::Error<E>, path: &Parameters) -> bool {
    match error.path().iter().next() {
        Some(Segment::Map { key }) => path.iter().any(|(name, _)| name == key),
        Some(_) | None => false,
    }
}

/// The error message, prefixed with the name of the field.
fn named<E: std::fmt::Display>(error: &serde_path_to_error::Error<E>) -> String {
    match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    }
}

/// The fields of a path, followed by those of a body.
struct Fields<'a, D> {
    path: &'a [(String, String)],
    rest: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Fields<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Self { path, rest } = self;
        rest.deserialize_map(Fields { path, rest: visitor })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Fields<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rest.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let Self { path, rest } = self;
        rest.visit_map(Fields { path, rest: map })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.path.first() {
            Some((name, _)) => seed.deserialize(name.as_str().into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.path.split_first() {
            Some(((_, value), others)) => {
                self.path = others;
                seed.deserialize(value.as_str().into_deserializer())
            }
            None => self.rest.next_value_seed(seed),
        }
    }
}

/// Reads a body of any kind, up to a limit.
pub(crate) async fn bounded(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    let read = tokio::time::timeout(Duration::from_millis(BODY_READ_MS_MAX), read(body, bytes_max));
    read.await.unwrap_or_else(|_| Err(too_slow()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = declared.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn too_slow() -> ApiError {
    let message = "the body did not arrive in time";
    ApiError::new(
        StatusCode::REQUEST_TIMEOUT,
        "request_timeout",
        message,
        "send it again",
    )
}

async fn read(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    // A body whose declared length exceeds the limit is refused before it is read.
    if usize::try_from(body.size_hint().lower()).is_ok_and(|declared| declared <= bytes_max) {
        return read_within(body, bytes_max).await;
    }
    Err(too_large(bytes_max))
}

fn too_large(bytes_max: usize) -> ApiError {
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        format!("the body has more than {bytes_max} bytes"),
        "put long text into a file in the workspace and send its name",
    )
}

async fn read_within(body: Body, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    match Limited::new(body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(bytes_max)),
        Err(_) => Err(ApiError::bad(
            "body_broken",
            "the body ended before its declared length",
            "send it again",
        )),
    }
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::bad(
        "bad_json",
        format!("the body is not valid JSON: {error}"),
        "check it with a JSON parser",
    )
}

#[cfg(test)]
mod tests {
    use wakeful_api::{ListRuns, PauseAgent, SendMessage};

    use super::*;

    fn path(name: &str, value: &str) -> Parameters {
        vec![(name.to_owned(), value.to_owned())]
    }

    fn message(body: &str) -> Result<SendMessage, ApiError> {
        let path = path("agent_id", "main");
        let rest = body.as_bytes().to_vec();
        let has_body = true;
        RawInput { path, rest, has_body }.read()
    }

    fn code_of(body: &str) -> String {
        format!("{:?}", message(body).expect_err("an error"))
    }

    fn from_query<E: Endpoint>(path: Parameters, query: &str) -> Result<E, ApiError> {
        RawInput::of_query(path, query).and_then(|input| input.read())
    }

    #[test]
    fn an_error_names_the_invalid_part_of_a_body() {
        assert!(code_of("{").contains("bad_json"));
        assert!(code_of("{\"text\":\"a\"} x").contains("bad_json"));
        assert!(code_of("{\"text\":\"a\",\"deny_tools\":[1]}").contains("deny_tools[0]"));
        assert!(code_of("{\"text\":\"a\",\"colour\":1}").contains("unknown field `colour`"));
        assert!(code_of("{}").contains("missing field `text`"));
        assert!(code_of("\"a\"").contains("bad_field"));
    }

    #[test]
    fn a_body_nested_too_deeply_is_refused_without_a_crash() {
        let deep = format!("{{\"text\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(code_of(&deep).contains("bad_"));
    }

    #[test]
    fn a_path_field_comes_only_from_the_path() {
        let read = message("{\"text\":\"a\"}").expect("a message");
        assert_eq!(read.agent_id.to_string(), "main");
        assert!(code_of("{\"text\":\"a\",\"agent_id\":\"other\"}").contains("duplicate field `agent_id`"));
        let refused = from_query::<PauseAgent>(path("agent_id", "Main"), "").expect_err("an error");
        assert!(format!("{refused:?}").contains("bad_id"));
        let refused = from_query::<ListRuns>(Vec::new(), "limit=0").expect_err("an error");
        assert!(format!("{refused:?}").contains("bad_query"));
    }
}
