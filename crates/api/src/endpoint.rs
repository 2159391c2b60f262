//! The declaration of an endpoint, from which the server's routes, the OpenAPI document and the client are
//! built.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest request body in bytes: four times the longest message, so that JSON escaping never makes a valid
/// message too long.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// An endpoint, identified by its input type. The fields named in its path are sent in the path; the others
/// are sent in the query of a `GET` or `DELETE` and in the JSON body of a `POST`.
pub trait Endpoint: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// The body of a successful response.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// The properties of the endpoint that do not depend on its types.
    const OPERATION: Operation;
}

/// The HTTP methods of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Delete,
}

/// Which callers may use an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Programs with the token, and browsers that are logged in.
    LoggedIn,
    /// Programs with the token.
    Program,
    /// Browsers that are logged in.
    Browser,
    /// All callers, without authentication.
    Public,
}

/// A function that generates the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One status that an endpoint responds with.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub status: u16,
    /// The description of the response in the OpenAPI document.
    pub text: &'static str,
    /// The schema of the body, if it is neither the output nor an `ErrorBody`.
    pub schema: Option<SchemaOf>,
}

/// A header that an endpoint reads.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub name: &'static str,
    /// The description in the OpenAPI document.
    pub text: &'static str,
    pub schema: SchemaOf,
}

/// The properties of an endpoint, without its types.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// The name of the input type.
    pub name: &'static str,
    pub method: Method,
    /// The path, with the names of its parameters in braces.
    pub path: &'static str,
    /// The group in the OpenAPI document.
    pub tag: &'static str,
    /// The documentation; its first paragraph is the summary.
    pub doc: &'static str,
    /// The possible responses; the first one is the success.
    pub answers: &'static [Answer],
    /// Whether the endpoint reads a JSON body.
    pub takes_body: bool,
    pub input: SchemaOf,
    pub output: SchemaOf,
    /// Which callers may use the endpoint.
    pub access: Access,
    /// The content types of the response. All except JSON are text.
    pub media: &'static [&'static str],
    /// The content type of the request body, for endpoints whose body is not JSON.
    pub raw_body: Option<&'static str>,
    /// The headers that the endpoint reads.
    pub headers: &'static [Header],
    /// Largest request body in bytes.
    pub body_bytes_max: usize,
    /// The fields of the body from which secrets are not removed when the request arrives: the secret that is to be
    /// stored, and contents that are checked after they are decoded.
    pub unredacted: &'static [&'static str],
}

/// The response header with the number of texts of a request in which a secret was replaced.
pub const REDACTED_HEADER: &str = "wakeful-redacted";

impl Operation {
    /// The defaults for everything that a declaration leaves out.
    pub(crate) const fn of<E: Endpoint>() -> Self {
        Self {
            name: "",
            method: Method::Get,
            path: "",
            tag: "",
            doc: "",
            answers: &[],
            takes_body: false,
            input: E::json_schema,
            output: SchemaGenerator::subschema_for::<E::Output>,
            access: Access::LoggedIn,
            media: &["application/json"],
            raw_body: None,
            headers: &[],
            body_bytes_max: BODY_BYTES_MAX,
            unredacted: &[],
        }
    }

    /// Returns the names of the parameters in the path.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns the status of a successful response.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.answers {
            [success, ..] => success.status,
            [] => 200,
        }
    }
}

/// Declares the endpoints of a noun. With braces after its name, the macro defines the input type with
/// these fields and no body; without braces, the input type is defined elsewhere. A type in parentheses
/// after a status is the body of that response.
macro_rules! endpoints {
    ($tag:literal: $(
        $(#[doc = $doc:literal])+
        $name:ident $({ $($(#[$meta:meta])* $field:ident: $type:ty),* })? = $method:ident $path:literal -> $output:ty {
            $($status:literal $(($other:ty))? $text:literal),+ $(,)?
        } $(with { $($key:ident: $value:expr),+ $(,)? })?
    )+) => {
        $(
            $(
                #[doc = concat!("`", stringify!($method), " ", $path, "`.")]
                #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
                #[serde(deny_unknown_fields)]
                pub struct $name { $($(#[$meta])* pub $field: $type),* }
            )?

            impl $crate::endpoint::Endpoint for $name {
                type Output = $output;

                const OPERATION: $crate::endpoint::Operation = $crate::endpoint::Operation {
                    name: stringify!($name),
                    method: $crate::endpoint::Method::$method,
                    path: $path,
                    tag: $tag,
                    doc: concat!($($doc, "\n"),+),
                    answers: &[$($crate::endpoint::Answer {
                        status: $status,
                        text: $text,
                        schema: $crate::endpoint::schema_of!($($other)?),
                    }),+],
                    takes_body: $crate::endpoint::takes_body!($method $({ $($field)* })?),
                    $($($key: $value,)+)?
                    ..$crate::endpoint::Operation::of::<Self>()
                };
            }
        )+

        pub(crate) const OPERATIONS: &[$crate::endpoint::Operation] =
            &[$(<$name as $crate::endpoint::Endpoint>::OPERATION),+];
    };
}

macro_rules! schema_of {
    () => {
        None
    };
    ($type:ty) => {
        Some(schemars::SchemaGenerator::subschema_for::<$type>)
    };
}

macro_rules! takes_body {
    (Post) => {
        true
    };
    ($($other:tt)*) => {
        false
    };
}

pub(crate) use {endpoints, schema_of, takes_body};
