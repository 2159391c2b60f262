//! `wakeful transcript`: what was said between a person, an agent and its tools.

use clap::Args;
use wakeful_core::conversation::Block;
use wakeful_core::id::{AgentId, SessionId, ThreadId};
use wakeful_ports::records::EntryRow;
use wakeful_ports::store::{Store as _, StoreError, View};
use wakeful_runtime::EngineError;
use wakeful_store::Store;

use super::{CLI_SESSION, Shared};
use crate::failure::Failure;
use crate::place::reading;
use crate::show::{EntryView, Out};

/// Entries shown unless asked otherwise.
const ENTRIES_DEFAULT: u32 = 50;

/// Most bytes of entries that are shown at once: more than anybody reads, and little for any machine.
const SHOWN_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct TranscriptArgs {
    /// Whose transcript
    agent: String,
    /// The newest so many entries
    #[arg(long, value_name = "N", default_value_t = ENTRIES_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// The newest entries of a thread, oldest first, and how many more were asked for than are shown.
struct Page {
    entries: Vec<EntryView>,
    left_out: usize,
}

/// Runs the verb.
pub(crate) async fn transcript(args: &TranscriptArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let thread = ThreadId::of_session(&agent, &SessionId::new(CLI_SESSION));
    let (limit, wanted) = (args.limit, agent.clone());
    let look = async |store: &Store| {
        let found = store.read(move |view| {
            if view.agent(&wanted)?.is_none() {
                return Ok(None);
            }
            let rows = view.entries(&thread, limit)?;
            Page::read(view, &rows).map(Some)
        });
        Ok(found.await?)
    };
    let page = reading(shared, look)
        .await?
        .ok_or(EngineError::UnknownAgent(agent))?;
    if page.left_out > 0 {
        let bound = SHOWN_BYTES_MAX / (1024 * 1024);
        out.note(&format!(
            "{} older lines are left out: {bound} MiB are shown at once",
            page.left_out
        ));
    }
    out.transcript(&page.entries);
    Ok(0)
}

impl Page {
    /// Reads from the newest entry back, until enough was read to fill the bound.
    fn read(view: &mut dyn View, rows: &[EntryRow]) -> Result<Self, StoreError> {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for row in rows.iter().rev() {
            // A body that is gone was erased; the line stays, so that the gap can be seen.
            let body = view.blob(&row.content)?;
            bytes += body.as_ref().map_or(0, Vec::len);
            if bytes > SHOWN_BYTES_MAX && !entries.is_empty() {
                break;
            }
            let blocks: Option<Vec<Block>> = body
                .map(|body| serde_json::from_slice(&body))
                .transpose()
                .map_err(|_| StoreError::Malformed("a transcript entry"))?;
            entries.push(EntryView::new(row, blocks));
        }
        entries.reverse();
        Ok(Self {
            left_out: rows.len() - entries.len(),
            entries,
        })
    }
}
