//! What an endpoint is: one declaration that the server's registration, the OpenAPI document and the client are made from.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Largest body in bytes: four times the longest message, so that escaping never makes a good one too long.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// An endpoint, by the type of its input. The fields that its path names are in the path; the others are in the query of a
/// `GET` or `DELETE` and in the JSON body of a `POST`.
pub trait Endpoint: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// What a success is answered with.
    type Output: Serialize + DeserializeOwned + JsonSchema + Send + 'static;

    /// Everything else about it.
    const OPERATION: Operation;
}

/// The methods of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Writes.
    Post,
    /// Removes.
    Delete,
}

/// Who may call an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Programs with the token and browsers that are logged in.
    LoggedIn,
    /// Programs with the token.
    Program,
    /// Browsers that are logged in.
    Browser,
    /// Anybody.
    Public,
}

/// Makes the schema of a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One status that an endpoint answers with.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// When it is answered.
    pub text: &'static str,
    /// The body, where it is neither the output nor an `ErrorBody`.
    pub schema: Option<SchemaOf>,
}

/// A header that an endpoint reads.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// What it may be.
    pub schema: SchemaOf,
}

/// An endpoint without its types.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// The name of its input type.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The path, with the names of its parameters in braces.
    pub path: &'static str,
    /// The group in the OpenAPI document.
    pub tag: &'static str,
    /// What it does; the first line is the summary.
    pub doc: &'static str,
    /// The statuses; the first is that of a success.
    pub answers: &'static [Answer],
    /// Whether it reads a JSON body.
    pub takes_body: bool,
    /// The input.
    pub input: SchemaOf,
    /// The output.
    pub output: SchemaOf,
    /// Who may call it.
    pub access: Access,
    /// The types of its content. All but JSON are text.
    pub media: &'static [&'static str],
    /// The type of a body that is not JSON, for endpoints that read one.
    pub raw_body: Option<&'static str>,
    /// Headers that it reads.
    pub headers: &'static [Header],
    /// Largest body in bytes.
    pub body_bytes_max: usize,
}

impl Operation {
    /// What holds where a declaration says nothing else.
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
        }
    }

    /// The names of the parameters in its path.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> + use<> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// The status of a success.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self.answers {
            [success, ..] => success.status,
            [] => 200,
        }
    }
}

/// Declares the endpoints of a noun. With braces after its name the input has these fields and no body; without, the type
/// stands elsewhere. A type in parentheses after a status is the body of that answer.
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
