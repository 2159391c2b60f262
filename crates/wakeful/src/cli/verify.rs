//! `wakeful verify`: checks that the log and the rows are unchanged, or that a bundle is valid.

mod bundle;
mod known_heads;

use clap::Args;
use serde_json::{Value, json};
use wakeful_core::id::AgentId;
use wakeful_core::proof::bundle::{BundleError, FORMAT_VERSION};
use wakeful_core::proof::chain::VerifyError;
use wakeful_core::proof::signing::{Fingerprint, PublicKey};
use wakeful_core::time::Millis;
use wakeful_runtime::proof::{AuditFinding, AuditReport, LogVerdict, VerifyOptions, verify as walk};

use super::GlobalArgs;
use crate::device;
use crate::failure::{Failure, UNVERIFIED};
use crate::home::DEVICE_KEY;
use crate::open_home::with_read_only;
use crate::show::Out;
use crate::show::phrase::count;

/// Error code of a failed verification.
const FAILED: &str = "verification_failed";

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Verify only the log of this agent
    #[arg(long, value_name = "ID", conflicts_with = "bundle")]
    agent: Option<String>,
    /// Verify only what was written since this day or RFC 3339 time; older events are trusted
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["bundle", "head"])]
    since: Option<String>,
    /// A head that you saved earlier: its hash, or a file with the output of `status --json`
    #[arg(long, value_name = "HEX|FILE", conflicts_with = "bundle")]
    head: Option<String>,
    /// Verify a file written by `wakeful export`; needs no home
    #[arg(long, value_name = "FILE")]
    bundle: Option<std::path::PathBuf>,
    /// Verify only the logs, not contents and rows
    #[arg(long, conflicts_with = "bundle")]
    fast: bool,
    /// Fingerprint of the key that must have signed it
    #[arg(long, value_name = "FINGERPRINT")]
    key: Option<String>,
}

/// Reads the database without a lock, so it works while a daemon runs.
pub(crate) async fn verify(args: &VerifyArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let key = args.key.as_deref().map(fingerprint).transpose()?;
    if let Some(path) = &args.bundle {
        return bundle::verify(path, key, out);
    }
    let (heads, hash) = args
        .head
        .as_deref()
        .map(known_heads::read)
        .transpose()?
        .unwrap_or_default();
    let wanted = VerifyOptions {
        agent: args.agent.as_deref().map(AgentId::parse).transpose()?,
        since: args.since.as_deref().map(since).transpose()?,
        heads,
        hash,
        key,
        // Events before `--since` are trusted and not read, so results that depend on the whole log cannot
        // be compared.
        contents: !args.fast && args.since.is_none(),
    };
    let own = device::read(&shared.home()?.join(DEVICE_KEY)).ok();
    let mut verdicts = Vec::new();
    let verified = with_read_only(shared, async |store| {
        Ok(walk(store, &wanted, |verdict| verdicts.push(verdict)).await?)
    });
    let verified = verified.await?;
    // The log of the home is listed after those of the agents, regardless of the database's order.
    verdicts.sort_by_key(|verdict| verdict.agent_id.is_home_log());
    let found = VerifyFindings {
        verdicts,
        missed: wanted.hash.filter(|_| !verified.is_found),
        audit: wanted.contents.then_some(verified.audit),
    };
    Ok(tell(&found, own.map(|key| key.public()), out))
}

fn fingerprint(text: &str) -> Result<Fingerprint, Failure> {
    Fingerprint::from_hex(&text.to_lowercase()).ok_or_else(|| {
        let message = format!("--key: invalid fingerprint {text:?}");
        let hint = "use the 32 hex digits that `wakeful status` shows on the device";
        Failure::usage("bad_key", message, hint)
    })
}

fn since(text: &str) -> Result<Millis, Failure> {
    Millis::parse(text).ok_or_else(|| {
        let message = format!("--since: invalid time {text:?}");
        Failure::usage(
            "bad_since",
            message,
            "use a day or a time, such as 2026-11-15 or 2026-11-15T18:00:00Z",
        )
    })
}

/// The results of a verification.
struct VerifyFindings {
    verdicts: Vec<LogVerdict>,
    /// The given hash, if no event has it.
    missed: Option<wakeful_core::key::Digest>,
    /// The audit of contents and rows, if it was made.
    audit: Option<AuditReport>,
}

/// Prints the results and returns the exit status.
fn tell(found: &VerifyFindings, own: Option<PublicKey>, out: &Out) -> u8 {
    let VerifyFindings { verdicts, audit, .. } = found;
    let wrong = verdicts
        .iter()
        .filter(|verdict| verdict.first_error.is_some())
        .count();
    let sum = |count: fn(&LogVerdict) -> u64| verdicts.iter().map(count).sum::<u64>();
    let (events, erased) = (
        sum(|verdict| verdict.seen.events),
        sum(|verdict| verdict.seen.erased),
    );
    let failure = failure(found);
    let mut object = json!({
        "ok": failure.is_none(), "events": events, "erased": erased,
        "agents": verdicts.iter().map(shown).collect::<Vec<Value>>(),
        "key": own.map(|key| key.fingerprint()),
        "heads": verdicts.iter().filter_map(|verdict| verdict.newest_head.as_ref()).collect::<Vec<_>>(),
    });
    if let (Some(audit), Some(members)) = (audit, object.as_object_mut()) {
        members.insert("contents".into(), audit_json(audit));
    }
    if let (Some(failure), Some(members)) = (&failure, object.as_object_mut()) {
        members.extend(failure.json().as_object().cloned().unwrap_or_default());
    }
    let mut lines: Vec<String> = verdicts.iter().map(|verdict| line(verdict, own)).collect();
    let (logs, gone) = (verdicts.len(), erased_words(erased));
    lines.push(match (wrong, logs) {
        (0, 1) => format!(
            "verified: the log with its {} is unchanged{gone}",
            count(events, "event")
        ),
        (0, logs) => format!(
            "verified: {logs} logs with {} are unchanged{gone}",
            count(events, "event")
        ),
        (wrong, logs) => format!("{wrong} of {logs} logs failed verification"),
    });
    lines.extend(audit.iter().flat_map(audit_lines));
    out.answer(&object, &lines.join("\n"));
    if let Some(failure) = failure {
        out.note(&failure.to_string());
        return UNVERIFIED;
    }
    let strangers = verdicts.iter().any(|verdict| {
        let signers = &verdict.seen.signers;
        own.is_some_and(|own| !signers.is_empty() && !signers.contains_key(&own))
    });
    if strangers {
        out.note("some logs are signed only by other devices; give the key that you trust with --key");
    }
    0
}

/// Maximum number of findings that are printed; the JSON output contains all.
const FINDINGS_SHOWN_MAX: usize = 20;

fn audit_lines(audit: &AuditReport) -> Vec<String> {
    let compared = &audit.compared;
    let mut lines: Vec<String> = audit
        .alterations
        .iter()
        .take(FINDINGS_SHOWN_MAX)
        .map(|altered| format!("altered: {altered}\n  hint: {}", altered.hint()))
        .collect();
    lines.push(match audit.alterations.len() {
        0 => format!(
            "verified: {}, {}, {} and {} are unchanged",
            count(compared.blobs, "blob"),
            count(compared.messages, "message"),
            count(compared.runs, "run"),
            count(compared.records, "setting")
        ),
        many => format!("{many} rows or blobs were altered"),
    });
    if compared.gone > 0 {
        lines.push(format!(
            "{} erased or removed by retention: only the log entries were compared",
            count(compared.gone, "run")
        ));
    }
    lines
}

fn audit_json(audit: &AuditReport) -> Value {
    let compared = &audit.compared;
    let altered = |altered: &AuditFinding| {
        json!({
            "place": altered.place, "row": altered.row, "message": altered.what, "hint": altered.hint(),
        })
    };
    json!({
        "ok": audit.alterations.is_empty(), "blobs": compared.blobs, "messages": compared.messages,
        "runs": compared.runs, "gone": compared.gone, "records": compared.records,
        "altered": audit.alterations.iter().map(altered).collect::<Vec<Value>>(),
    })
}

fn failure(found: &VerifyFindings) -> Option<Failure> {
    let VerifyFindings {
        verdicts,
        missed,
        audit,
    } = found;
    let altered = audit.as_ref().and_then(|audit| audit.alterations.first());
    let first = verdicts
        .iter()
        .find_map(|verdict| Some((verdict, verdict.first_error.as_ref()?)));
    let failure = match (first, missed, altered) {
        (Some((verdict, flaw)), ..) => {
            let message = format!("the log of agent {}: {flaw}", verdict.agent_id);
            Failure::new(FAILED, message, flaw.hint())
        }
        (None, Some(hash), _) => {
            let message = format!("no event has the hash {hash}");
            let hint =
                "the log was truncated or rewritten since, or the head belongs to another home or agent";
            Failure::new(FAILED, message, hint)
        }
        (None, None, Some(altered)) => Failure::new(FAILED, altered.to_string(), altered.hint()),
        (None, None, None) => return None,
    };
    Some(failure.with_exit(UNVERIFIED))
}

fn shown(verdict: &LogVerdict) -> Value {
    let seen = &verdict.seen;
    let signers = seen.signers.iter();
    let signers: Vec<Value> = signers
        .map(|(key, seq)| json!({"key": key.fingerprint(), "seq": seq}))
        .collect();
    let mut object = json!({
        "agent_id": verdict.agent_id, "ok": verdict.first_error.is_none(), "events": seen.events, "erased": seen.erased,
        "last_seq": seen.last_seq, "chain_hash": seen.last_hash, "signers": signers,
    });
    if let (Some(flaw), Some(members)) = (&verdict.first_error, object.as_object_mut()) {
        members.insert("flaw".into(), flaw_json(flaw));
    }
    object
}

fn flaw_json(flaw: &VerifyError) -> Value {
    json!({"code": flaw.code(), "seq": flaw.seq(), "message": flaw.to_string(), "hint": flaw.hint()})
}

fn line(verdict: &LogVerdict, own: Option<PublicKey>) -> String {
    let (agent, seen) = (&verdict.agent_id, &verdict.seen);
    if let Some(flaw) = &verdict.first_error {
        return format!("{agent}: failed: {flaw}\n  hint: {}", flaw.hint());
    }
    let signed = seen
        .signers
        .iter()
        .max_by_key(|(key, seq)| (**seq, Some(**key) == own));
    let signed = match signed {
        None => "not signed yet".to_owned(),
        Some((key, seq)) if Some(*key) == own => format!("signed by this device up to event {seq}"),
        Some((key, seq)) => format!("signed by {} up to event {seq}", key.fingerprint()),
    };
    format!(
        "{agent}: {}{}, {signed}",
        count(seen.events, "event"),
        erased_words(seen.erased)
    )
}

fn erased_words(erased: u64) -> String {
    match erased {
        0 => String::new(),
        erased => format!(", {erased} of them erased"),
    }
}

/// The failure of a bundle, or of a run to be exported, that cannot be verified.
pub(super) fn unproven(error: &BundleError, what: &str) -> Failure {
    let message = format!("{what}: {error}");
    let (code, hint, exit) = match error {
        BundleError::Foreign => ("not_a_bundle", "use a file written by `wakeful export`", 1),
        BundleError::Version { found } if *found < FORMAT_VERSION => (
            "bundle_older",
            "it does not prove the conversation of the run; have the run exported again",
            1,
        ),
        BundleError::Version { .. } => ("bundle_newer", "use the newer wakeful that wrote it", 1),
        BundleError::Machine { .. } => (
            "machine_version_unsupported",
            "use the version of wakeful that started the run",
            1,
        ),
        BundleError::TooLong => ("bundle_too_long", "use a smaller run", 1),
        BundleError::Line { .. } | BundleError::Cut => (
            FAILED,
            "the file is damaged or was changed; request it again",
            UNVERIFIED,
        ),
        BundleError::Unsigned => (
            FAILED,
            "request a signed bundle from the person who exported it",
            UNVERIFIED,
        ),
        BundleError::Flaw(flaw) => (FAILED, flaw.hint(), UNVERIFIED),
        BundleError::Unbound(_) => (
            FAILED,
            "the bundle lacks the data that binds the run log to the event log; have the run exported again",
            UNVERIFIED,
        ),
        BundleError::Difference(_)
        | BundleError::Blob(_)
        | BundleError::Missing(_)
        | BundleError::Unnamed(_) => (
            FAILED,
            "the recorded data was changed afterwards; compare with a backup",
            UNVERIFIED,
        ),
    };
    Failure::new(code, message, hint).with_exit(exit)
}
