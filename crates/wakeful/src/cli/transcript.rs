//! `wakeful transcript`: shows the conversation between a person, an agent and its tools.

use clap::Args;
use wakeful_api::{GetAgentTranscript, Limit, Text};
use wakeful_core::id::{AgentId, SessionId};

use super::GlobalArgs;
use crate::backend::read;
use crate::failure::Failure;
use crate::show::Out;

/// Lines shown by default.
const LINES_DEFAULT: u32 = 50;

#[derive(Debug, Args)]
pub(crate) struct TranscriptArgs {
    /// Agent name
    agent: String,
    /// Conversation; `wakeful chat` names them [default: cli]
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Number of newest lines to show
    #[arg(long, value_name = "N", default_value_t = LINES_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

pub(crate) async fn transcript(args: &TranscriptArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let thread = args.thread.as_deref().map(SessionId::parse).transpose()?;
    let asked = GetAgentTranscript {
        agent_id: Text(agent),
        thread: thread.map(Text),
        limit: Limit(args.limit),
    };
    let transcript = read(shared, async |backend| backend.call(asked).await).await?;
    let wanted = usize::try_from(args.limit).unwrap_or(usize::MAX);
    if transcript.has_more && transcript.lines.len() < wanted {
        out.note("older lines were omitted because the output would be too long");
    }
    out.transcript(&transcript);
    Ok(0)
}
