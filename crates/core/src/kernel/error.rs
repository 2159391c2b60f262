//! Errors of a request, with the path to the invalid part.

use std::fmt;

/// Maximum number of characters of a request's text that an error message repeats.
const WORD_CHARS_MAX: usize = 64;

/// The stable error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorCode {
    /// The line is not unambiguous JSON.
    BadJson,
    /// The request is malformed.
    BadRequest,
    TooLarge,
    /// The operation does not exist.
    UnknownOp,
    /// A token is invalid.
    InvalidToken,
    /// A replica whose lifecycle is `destroyed` was given another lifecycle.
    Destroyed,
}

impl ErrorCode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::BadJson => "bad_json",
            Self::BadRequest => "bad_request",
            Self::TooLarge => "too_large",
            Self::UnknownOp => "unknown_op",
            Self::InvalidToken => "invalid_token",
            Self::Destroyed => "destroyed",
        }
    }
}

/// An error: its code and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestError {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl RequestError {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// An error in one field.
    pub(super) fn field(path: &JsonPath<'_>, why: impl fmt::Display) -> Self {
        Self::new(ErrorCode::BadRequest, format!("`{path}` {why}"))
    }
}

/// The path to a part of the request. It is formatted only for an error message.
#[derive(Debug, Clone, Copy)]
pub(super) enum JsonPath<'a> {
    Request,
    Member(&'a JsonPath<'a>, &'a str),
    Item(&'a JsonPath<'a>, usize),
}

impl<'a> JsonPath<'a> {
    pub(super) const fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    pub(super) const fn item(&'a self, at: usize) -> Self {
        Self::Item(self, at)
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("request"),
            Self::Member(Self::Request, name) => f.write_str(&shortened(name)),
            Self::Member(parent, name) => write!(f, "{parent}.{}", shortened(name)),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// The first characters of a text from the request.
pub(super) fn shortened(word: &str) -> String {
    match word.char_indices().nth(WORD_CHARS_MAX) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}
