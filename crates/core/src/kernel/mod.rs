//! The decisions of this crate as a service: one line of JSON in, one line of JSON out.
//!
//! Other implementations, in any language, can be compared with this one line by line, and a bug report can
//! be a single line. `docs/kernel-protocol.md` is the contract. A request is validated completely before
//! anything is computed.
//!
//! | module | purpose |
//! |---|---|
//! | `error` | errors, and the path to the invalid part |
//! | `fields` | parses the fields of a request |
//! | `keys` | hashes and keys |
//! | `matching` | subscriptions |
//! | `converging` | replicas of a record |
//! | `scheduling` | firings of schedules |

mod converging;
mod error;
mod fields;
mod keys;
mod matching;
mod scheduling;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use self::error::{ErrorCode, JsonPath, RequestError, shortened};
use self::fields::Fields;
use crate::json::strict;

/// Maximum length of a line in bytes, without its line break.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// One operation: computes the result of a request.
type Operation = fn(&Fields<'_, '_>) -> Result<Value, RequestError>;

const OPERATIONS: [(&str, Operation); 11] = [
    ("hash", keys::hash),
    ("change_key", keys::change_key),
    ("logical_change_key", keys::logical_change_key),
    ("token_key", keys::token_key),
    ("run_key", keys::run_key),
    ("operation_id", keys::operation_id),
    ("summary_id", keys::summary_id),
    ("converge", converging::converge),
    ("match", matching::matching),
    ("schedule_next", scheduling::schedule_next),
    ("schedule_due", scheduling::schedule_due),
];

/// Answers one line, without a line break. Every line gets an answer.
#[must_use]
pub fn answer(line: &[u8]) -> String {
    if line.len() > LINE_BYTES_MAX {
        return too_large();
    }
    let request = match strict::parse(line) {
        Ok(Value::Object(request)) => request,
        Ok(_) => {
            let fault = RequestError::new(ErrorCode::BadRequest, "the request must be an object");
            return refused(&Value::Null, &fault);
        }
        Err(bad) => {
            return refused(
                &Value::Null,
                &RequestError::new(ErrorCode::BadJson, bad.to_string()),
            );
        }
    };
    let id = request.get("id").unwrap_or(&Value::Null);
    match result(&request) {
        Ok(result) => format!(r#"{{"id":{id},"ok":true,"result":{result}}}"#),
        Err(fault) => refused(id, &fault),
    }
}

/// The answer to a line that exceeds the limit.
#[must_use]
pub fn too_large() -> String {
    let message = format!("a line has at most {LINE_BYTES_MAX} bytes");
    refused(&Value::Null, &RequestError::new(ErrorCode::TooLarge, message))
}

fn refused(id: &Value, fault: &RequestError) -> String {
    let (code, message) = (fault.code.as_str(), json!(fault.message));
    format!(r#"{{"id":{id},"ok":false,"error":{{"code":"{code}","message":{message}}}}}"#)
}

fn result(request: &Map<String, Value>) -> Result<Value, RequestError> {
    let form = Fields::new(&JsonPath::Request, request);
    let op = form.text("op")?;
    let Some((_, operation)) = OPERATIONS.iter().find(|(name, _)| *name == op) else {
        let known = OPERATIONS.map(|(name, _)| name).join(", ");
        let message = format!("there is no op `{}`; there are {known}", shortened(op));
        return Err(RequestError::new(ErrorCode::UnknownOp, message));
    };
    form.required("id")?;
    operation(&form)
}
