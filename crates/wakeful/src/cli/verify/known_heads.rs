//! Reads heads that were saved earlier.

use std::fs;

use wakeful_core::key::Digest;
use wakeful_core::proof::head::{SignedHead, read_heads};

use crate::failure::Failure;

/// Maximum size of a file with heads.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads a single hash, or signed heads from a file.
pub(super) fn read(given: &str) -> Result<(Vec<SignedHead>, Option<Digest>), Failure> {
    if let Some(hash) = Digest::from_hex(&given.to_lowercase()) {
        return Ok((Vec::new(), Some(hash)));
    }
    let length = fs::metadata(given)
        .map_err(|error| bad(given, &error.to_string()))?
        .len();
    if length > FILE_BYTES_MAX {
        return Err(bad(
            given,
            &format!("the file has more than {FILE_BYTES_MAX} bytes"),
        ));
    }
    let text = fs::read_to_string(given).map_err(|error| bad(given, &error.to_string()))?;
    let heads = heads(&text).ok_or_else(|| bad(given, "the file contains no signed heads"))?;
    Ok((heads, None))
}

/// Parses one JSON value, or one per line.
fn heads(text: &str) -> Option<Vec<SignedHead>> {
    if let Ok(value) = serde_json::from_str(text) {
        return read_heads(value);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let heads = lines.map(|line| read_heads(serde_json::from_str(line).ok()?));
    let heads: Option<Vec<Vec<SignedHead>>> = heads.collect();
    heads
        .map(|heads| heads.concat())
        .filter(|heads| !heads.is_empty())
}

fn bad(given: &str, why: &str) -> Failure {
    let message = format!("--head: {given:?} is neither a hash nor a file with heads: {why}");
    let hint = "use the 64 hex digits of a head, or a file with the output of `wakeful status --json`";
    Failure::usage("bad_head", message, hint)
}
