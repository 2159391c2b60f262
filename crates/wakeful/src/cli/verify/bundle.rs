//! Verifies a bundle without a home.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::json;
use wakeful_core::proof::bundle::{BundleChecker, BundleError, LINE_BYTES_MAX, VerifiedBundle};
use wakeful_core::proof::signing::Fingerprint;
use wakeful_core::run::RunStatus;

use super::{FAILED, unproven};
use crate::failure::{Failure, UNVERIFIED};
use crate::show::Out;
use crate::show::phrase::count;

/// Shown for values that no signature covers.
const UNKNOWN: &str = "unknown";

/// Reads a bundle and prints what it proves.
pub(super) fn verify(path: &Path, key: Option<Fingerprint>, out: &Out) -> Result<u8, Failure> {
    let proven = check(path)?;
    let keys = proven.fingerprints();
    if let Some(key) = key.filter(|key| !keys.contains(key)) {
        let signers: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let message = format!("the bundle is signed by {}, not by {key}", signers.join(", "));
        let hint = "it comes from a different device than expected; ask the person who gave it to you";
        return Err(Failure::new(FAILED, message, hint).with_exit(UNVERIFIED));
    }
    if let Some(key) = key.filter(|_| !proven.replayed) {
        let message = format!(
            "key {key} signed only the log in the bundle; the bundle contains nothing else of the run"
        );
        let hint = "omit --key to see what the log alone proves, or request a bundle with the run log";
        return Err(Failure::new(FAILED, message, hint).with_exit(UNVERIFIED));
    }
    tell(&proven, &keys, key.is_some(), out);
    Ok(0)
}

fn check(path: &Path) -> Result<VerifiedBundle, Failure> {
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read the bundle {}", path.display());
        Failure::io(
            "bundle_unreadable",
            &attempt,
            error,
            "check the path and its permissions",
        )
    };
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut file = BufReader::new(file);
    let wrong = |error: BundleError| unproven(&error, &path.display().to_string());
    let mut check = BundleChecker::default();
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        // The line length is limited, because a foreign file may be one endless line.
        let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let read = file.by_ref().take(most).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(&error))? == 0 {
            return check.finish().map_err(wrong);
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            // Every line of a bundle ends with a newline; this line is truncated or exceeds the limit.
            let what = "does not end".to_owned();
            let error = match number {
                1 => BundleError::Foreign,
                line => BundleError::Line { line, what },
            };
            return Err(wrong(error));
        }
        check.line(&line).map_err(wrong)?;
    }
}

fn tell(proven: &VerifiedBundle, keys: &[Fingerprint], is_pinned: bool, out: &Out) {
    let run = proven
        .run_key
        .map_or_else(|| UNKNOWN.to_owned(), |run| run.to_string());
    let outcome = proven.outcome.map_or(UNKNOWN, RunStatus::as_str);
    let object = json!({
        "ok": true, "run_key": run, "agent_id": proven.agent_id, "outcome": outcome,
        "events": proven.lines.events, "transitions": proven.lines.journal, "blobs": proven.lines.blobs,
        "withheld": proven.withheld, "replayed": proven.replayed, "keys": keys, "last_seq": proven.last_seq,
        "exported_at": proven.exported_at.rfc3339(),
    });
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let replayed = if proven.replayed {
        "the replay was identical"
    } else {
        "it was not replayed, because the bundle contains no run log"
    };
    let words = format!(
        "run {run} of agent {}, outcome {outcome}: {} and {} are unchanged; {replayed}\nsigned by {}",
        proven.agent_id,
        count(proven.lines.events, "event"),
        count(proven.lines.blobs, "blob"),
        names.join(", ")
    );
    out.answer(&object, &words);
    if proven.withheld > 0 {
        out.note(&format!("{} not included", count(proven.withheld, "blob")));
    }
    if !is_pinned {
        out.note("the file cannot prove whose key that is: compare it with `wakeful status` on the device, or use --key");
    }
}
