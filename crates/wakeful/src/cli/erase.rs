//! `wakeful erase`: deletes contents permanently and records the erasure in the log.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use wakeful_api::{EraseContent, Erasure, GetAgentStatus, Text};
use wakeful_core::id::AgentId;
use wakeful_runtime::proof::{REASON_CHARS_MAX, reason};

use super::GlobalArgs;
use super::confirm::confirm_by_name;
use crate::backend::write_existing;
use crate::failure::Failure;
use crate::show::Out;
use crate::show::phrase::count;

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("what").required(true)))]
pub(crate) struct EraseArgs {
    /// Agent name
    #[arg(long, value_name = "ID")]
    agent: String,
    /// Key of a finished run, or a unique prefix of it: erases its conversation, its inputs and the
    /// contents of its events
    #[arg(long, value_name = "RUN", group = "what")]
    run: Option<String>,
    /// Sequence number of an event, or a range FIRST..LAST: erases the contents of these events
    #[arg(long, value_name = "N[..M]", group = "what")]
    seq: Option<String>,
    /// Reason, which is stored in the log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Confirm; this cannot be undone
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn erase(args: &EraseArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let reason = reason(&args.reason).ok_or_else(|| {
        let message =
            format!("--reason must have 1 to {REASON_CHARS_MAX} characters without control characters");
        Failure::usage(
            "bad_reason",
            message,
            "state in one sentence why the content must be erased",
        )
    })?;
    let events = args.seq.as_deref().map(span).transpose()?;
    if !args.yes {
        let what = match &args.run {
            Some(run) => format!("run {run}"),
            None => format!("events {}", args.seq.as_deref().unwrap_or_default()),
        };
        let consequence = format!("the contents of {what} of agent {agent} would be erased permanently");
        confirm_by_name(agent.as_str(), &consequence)?;
    }
    let erased = write_existing(shared, out, async |backend| {
        let mut erase = EraseContent {
            agent_id: Text(agent.clone()),
            run_key: None,
            first_seq: None,
            last_seq: None,
            reason: reason.clone(),
        };
        match (&args.run, events) {
            (Some(run), _) => erase.run_key = Some(Text(backend.find_run(run).await?)),
            (None, Some((first, last))) => {
                let agent_id = Text(agent.clone());
                let newest = backend.call(GetAgentStatus { agent_id }).await?.last_seq;
                if first > newest {
                    return Err(no_event(&agent, first, newest));
                }
                (erase.first_seq, erase.last_seq) = (Some(first), Some(last));
            }
            (None, None) => return Err(no_span("")),
        }
        backend.call(erase).await
    });
    show(&agent, &erased.await?, &shared.home()?, out);
    Ok(0)
}

/// Prints what was erased, and which copies may still contain it.
fn show(agent: &AgentId, erased: &Erasure, home: &Path, out: &Out) {
    let typed = erased.chat_messages;
    let words = match erased.seq {
        None if typed == 0 => "nothing left to erase".to_owned(),
        None => format!("erased {} of the history of chat", count(typed, "message")),
        Some(seq) => format!(
            "erased the contents of {} events, {} transitions and {} blobs, and {}; recorded as event {seq}",
            erased.events,
            erased.transitions,
            erased.blobs,
            count(erased.audit_entries, "audit entry")
        ),
    };
    let copies = copies(home);
    let object = json!({
        "agent_id": agent, "seq": erased.seq, "events": erased.events,
        "transitions": erased.transitions, "blobs": erased.blobs, "audit_entries": erased.audit_entries,
        "chat_messages": typed, "copies": copies,
    });
    out.answer(&object, &words);
    if !copies.is_empty() {
        let names: Vec<String> = copies.iter().map(|copy| copy.display().to_string()).collect();
        out.note(&format!(
            "database copies from before a migration may still contain the data; remove them when you no longer need them: rm {}",
            names.join(" ")
        ));
    }
}

/// Copies of a home's databases from before a migration.
fn copies(home: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_copy = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.contains(".sqlite.schema-")
    };
    let mut copies: Vec<PathBuf> = paths.filter(is_copy).collect();
    copies.sort();
    copies
}

fn span(text: &str) -> Result<(u64, u64), Failure> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok((first, last)),
        _ => Err(no_span(text)),
    }
}

fn no_event(agent: &AgentId, first: u64, newest: u64) -> Failure {
    let message = format!("agent {agent} has no event {first}; its newest is {newest}");
    let hint = format!("`wakeful events {agent}` shows the events with their numbers");
    Failure::new("event_unknown", message, hint)
}

fn no_span(text: &str) -> Failure {
    let message = format!("--seq: invalid event number or range {text:?}");
    Failure::usage(
        "bad_seq",
        message,
        "use a number such as 12, or a range such as 12..19",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_selected_by_number_or_by_ascending_range() {
        assert_eq!(span("12").expect("one"), (12, 12));
        assert_eq!(span("12..19").expect("two"), (12, 19));
        for bad in ["", "0", "19..12", "1..", "..2", "a", "1..2..3", "-1"] {
            assert_eq!(span(bad).expect_err(bad).code(), "bad_seq");
        }
    }
}
