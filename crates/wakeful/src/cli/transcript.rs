//! `wakeful transcript`: what was said between a person, an agent and its tools.

use clap::Args;
use wakeful_core::conversation::Block;
use wakeful_core::id::{AgentId, SessionId, ThreadId};
use wakeful_ports::store::Store as _;
use wakeful_runtime::EngineError;

use super::Shared;
use crate::failure::Failure;
use crate::place::Place;
use crate::show::{EntryView, Out};

/// Entries shown unless asked otherwise.
const ENTRIES_DEFAULT: u32 = 50;

#[derive(Debug, Args)]
pub(crate) struct TranscriptArgs {
    /// Whose transcript
    agent: String,
    /// The newest so many entries
    #[arg(long, value_name = "N", default_value_t = ENTRIES_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// Runs the verb.
pub(crate) async fn transcript(args: &TranscriptArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let place = Place::open_for_reading(shared).await?;
    let thread = ThreadId::of_session(&agent, &SessionId::new("cli"));
    let (limit, wanted) = (args.limit, agent.clone());
    let found = place.store.read(move |view| {
        if view.agent(&wanted)?.is_none() {
            return Ok(None);
        }
        let rows = view.entries(&thread, limit)?;
        let bodies = rows
            .iter()
            .map(|row| view.blob(&row.content))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Some((rows, bodies)))
    });
    let (rows, bodies) = found.await?.ok_or(EngineError::UnknownAgent(agent))?;
    let mut entries = Vec::with_capacity(rows.len());
    for (row, body) in rows.iter().zip(bodies) {
        // A body that is gone was erased; the line stays, so that the gap can be seen.
        let blocks: Vec<Block> = body
            .and_then(|body| serde_json::from_slice(&body).ok())
            .unwrap_or_default();
        entries.push(EntryView::new(row, blocks));
    }
    out.transcript(&entries);
    Ok(0)
}
