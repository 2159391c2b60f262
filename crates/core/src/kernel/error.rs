//! What a request is refused with, and where in it the fault is.

use std::fmt;

/// Most characters of a stranger's word that a message repeats.
const WORD_CHARS_MAX: usize = 64;

/// The stable word for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorCode {
    /// The line is no JSON that means the same to every reader.
    BadJson,
    /// Something about the form of the request is wrong.
    BadRequest,
    /// The line is too long.
    TooLarge,
    /// There is no such operation.
    UnknownOp,
    /// A token is none.
    InvalidToken,
    /// A replica that reads `destroyed` was to live again.
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

/// A refusal: its code, and a sentence for people.
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

    /// A fault of form in one field.
    pub(super) fn field(path: &JsonPath<'_>, why: impl fmt::Display) -> Self {
        Self::new(ErrorCode::BadRequest, format!("`{path}` {why}"))
    }
}

/// The way to a place in a request. Spelled only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(super) enum JsonPath<'a> {
    /// The request itself.
    Request,
    /// A member of an object.
    Member(&'a JsonPath<'a>, &'a str),
    /// An item of an array.
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

/// The beginning of a word that somebody else chose.
pub(super) fn shortened(word: &str) -> String {
    match word.char_indices().nth(WORD_CHARS_MAX) {
        Some((end, _)) => format!("{}…", word.get(..end).unwrap_or_default()),
        None => word.to_owned(),
    }
}
