//! Parsing of request fields. Errors contain the path of the invalid field.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::{ErrorCode, JsonPath, RequestError};
use crate::change::{BadToken, Token, TokenClass};
use crate::key::Digest;
use crate::time::Millis;

/// The greatest counter: every integer up to it is exact as a double.
pub(super) const COUNTER_MAX: u64 = (1 << 53) - 1;

/// An object of a request with its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'p, 'a> {
    pub(super) path: &'p JsonPath<'p>,
    members: &'a Map<String, Value>,
}

impl<'p, 'a> Fields<'p, 'a> {
    pub(super) const fn new(path: &'p JsonPath<'p>, members: &'a Map<String, Value>) -> Self {
        Self { path, members }
    }

    /// Wraps the value if it is an object.
    pub(super) fn of(path: &'p JsonPath<'p>, value: &'a Value) -> Result<Self, RequestError> {
        let members = value.as_object();
        let members = members.ok_or_else(|| RequestError::field(path, "must be an object"))?;
        Ok(Self::new(path, members))
    }

    /// Rejects all other fields.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), RequestError> {
        match self.members.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => {
                let why = format!("is not known here; known are {}", known.join(", "));
                Err(RequestError::field(&self.path.member(unknown), why))
            }
            None => Ok(()),
        }
    }

    pub(super) fn fault(&self, name: &str, why: &str) -> RequestError {
        RequestError::field(&self.path.member(name), why)
    }

    /// An optional field; null counts as absent.
    pub(super) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// A required field. Null is a value.
    pub(super) fn required(&self, name: &str) -> Result<&'a Value, RequestError> {
        self.members
            .get(name)
            .ok_or_else(|| self.fault(name, "is missing"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, RequestError> {
        text(self.required(name)?, &self.path.member(name))
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], RequestError> {
        list(self.required(name)?, &self.path.member(name))
    }

    /// An integer from 0 to [`COUNTER_MAX`].
    pub(super) fn counter(&self, name: &str) -> Result<u64, RequestError> {
        counter(self.required(name)?, &self.path.member(name))
    }

    pub(super) fn hex(&self, name: &str) -> Result<Digest, RequestError> {
        hex(self.required(name)?, &self.path.member(name))
    }

    pub(super) fn time(&self, name: &str) -> Result<Millis, RequestError> {
        time(self.required(name)?, &self.path.member(name))
    }

    pub(super) fn boolean(&self, name: &str) -> Result<bool, RequestError> {
        let wrong = || self.fault(name, "must be true or false");
        self.required(name)?.as_bool().ok_or_else(wrong)
    }

    pub(super) fn object(&self, name: &str) -> Result<&'a Map<String, Value>, RequestError> {
        let wrong = || self.fault(name, "must be an object");
        self.required(name)?.as_object().ok_or_else(wrong)
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'a str>, RequestError> {
        let path = self.path.member(name);
        let items = self.list(name)?.iter().enumerate();
        items.map(|(at, item)| text(item, &path.item(at))).collect()
    }
}

pub(super) fn text<'a>(value: &'a Value, path: &JsonPath<'_>) -> Result<&'a str, RequestError> {
    value
        .as_str()
        .ok_or_else(|| RequestError::field(path, "must be a string"))
}

pub(super) fn list<'a>(value: &'a Value, path: &JsonPath<'_>) -> Result<&'a [Value], RequestError> {
    let items = value.as_array().map(Vec::as_slice);
    items.ok_or_else(|| RequestError::field(path, "must be an array"))
}

pub(super) fn counter(value: &Value, path: &JsonPath<'_>) -> Result<u64, RequestError> {
    let number = value.as_u64().filter(|number| *number <= COUNTER_MAX);
    number.ok_or_else(|| RequestError::field(path, "must be a natural number from 0 to 9007199254740991"))
}

pub(super) fn hex(value: &Value, path: &JsonPath<'_>) -> Result<Digest, RequestError> {
    let digest = value.as_str().and_then(Digest::from_hex);
    digest.ok_or_else(|| RequestError::field(path, "must be 64 lower-case hex digits"))
}

pub(super) fn time(value: &Value, path: &JsonPath<'_>) -> Result<Millis, RequestError> {
    let time = value.as_str().and_then(Millis::parse_rfc3339);
    time.ok_or_else(|| {
        RequestError::field(
            path,
            "must be an RFC 3339 time such as 2026-02-17T16:00:00.000Z or 2026-02-17T17:00:00+01:00",
        )
    })
}

/// Parses tokens and keeps their first error, which is reported only if nothing else is wrong.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    fault: Option<RequestError>,
}

impl Tokens {
    /// Parses a list of tokens and skips invalid ones.
    pub(super) fn read(
        &mut self,
        value: &Value,
        path: &JsonPath<'_>,
    ) -> Result<BTreeSet<Token>, RequestError> {
        let mut tokens = BTreeSet::new();
        for (at, item) in list(value, path)?.iter().enumerate() {
            let path = path.item(at);
            let Some(members) = item.as_object() else {
                self.note(&path, "must be an object");
                continue;
            };
            let form = Fields::new(&path, members);
            form.only(&["class", "namespace", "value"])?;
            tokens.extend(self.token(&form)?);
        }
        Ok(tokens)
    }

    /// Parses the token whose parts are these fields.
    pub(super) fn token(&mut self, form: &Fields<'_, '_>) -> Result<Option<Token>, RequestError> {
        let namespace = match form.optional("namespace") {
            Some(namespace) => Some(text(namespace, &form.path.member("namespace"))?),
            None => None,
        };
        let part = |name| form.members.get(name).and_then(Value::as_str);
        let Some(class) = part("class").and_then(TokenClass::parse) else {
            let why = "must be one of semanticKey, subtypeToken and entityId";
            self.note(&form.path.member("class"), why);
            return Ok(None);
        };
        let Some(value) = part("value") else {
            self.note(&form.path.member("value"), "must be a string");
            return Ok(None);
        };
        match Token::new(class, namespace, value) {
            Ok(token) => Ok(Some(token)),
            Err(bad) => {
                let part = match bad {
                    BadToken::EmptyValue => "value",
                    BadToken::NamespaceMissing | BadToken::NamespaceMisplaced => "namespace",
                };
                self.note(&form.path.member(part), &format!("is wrong: {bad}"));
                Ok(None)
            }
        }
    }

    fn note(&mut self, path: &JsonPath<'_>, why: &str) {
        if self.fault.is_none() {
            self.fault = Some(RequestError::new(
                ErrorCode::InvalidToken,
                format!("`{path}` {why}"),
            ));
        }
    }

    /// Returns the first token error, if any.
    pub(super) fn check(self) -> Result<(), RequestError> {
        self.fault.map_or(Ok(()), Err)
    }
}
