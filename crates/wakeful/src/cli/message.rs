//! `wakeful message`: puts a message into an agent's queue without waiting for the answer.

use clap::{Args, ValueEnum};
use wakeful_api::{Admission, GetWhyNot, Priority, SendMessage, Text};
use wakeful_core::id::{AgentId, TurnId};

use super::GlobalArgs;
use super::run::limit::LimitArgs;
use super::run::read_prompt;
use crate::backend::write_existing;
use crate::discover::home_holder;
use crate::failure::Failure;
use crate::show::Out;
use crate::show::phrase::short;

/// The holds that keep a person's message from starting. The others concern automatic messages, or end soon.
const HOLDS_TOLD: [&str; 4] = ["braked", "paused", "budget", "key_missing"];

#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// Agent name
    agent: String,
    /// Prompt; `-` reads it from standard input
    text: String,
    /// Idempotency key: repeating the command with the same key adds no second message
    #[arg(long, value_name = "K")]
    idempotency_key: Option<String>,
    /// Priority in the queue; `interject` joins a run in progress
    #[arg(long, value_enum, default_value_t = PriorityArg::Normal)]
    priority: PriorityArg,
    /// Tools that its run may not use
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    deny_tools: Vec<String>,
    /// Tools that need your approval in its run
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    ask_tools: Vec<String>,
    /// Only read and plan: nothing is changed, and commands cannot write in the workspace
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

/// Priority in the queue; the wire type documents each value.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PriorityArg {
    Interject,
    Next,
    Normal,
    Background,
}

impl From<PriorityArg> for Priority {
    fn from(soon: PriorityArg) -> Self {
        match soon {
            PriorityArg::Interject => Self::Interject,
            PriorityArg::Next => Self::Next,
            PriorityArg::Normal => Self::Normal,
            PriorityArg::Background => Self::Background,
        }
    }
}

pub(crate) async fn message(args: &MessageArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let key = args.idempotency_key.as_deref().map(TurnId::parse).transpose()?;
    let message = SendMessage {
        key: key.map(Text),
        priority: Some(args.priority.into()),
        deny_tools: args.deny_tools.clone(),
        ask_tools: args.ask_tools.clone(),
        is_read_only: args.read_only,
        limits: args.limits.parse()?,
        ..SendMessage::new(agent.clone(), read_prompt(&args.text)?)
    };
    // Checked before the message is sent, because an accepted message must not be reported as a failure.
    let who = home_holder(shared).await?;
    let sent = write_existing(shared, out, async |backend| {
        let accepted = backend.call(message).await?;
        // The message is accepted, so a failure to explain what holds it is not reported.
        let why = backend
            .call(GetWhyNot {
                agent_id: Text(agent),
                since: None,
            })
            .await;
        Ok((accepted, why.map(|why| why.holds).unwrap_or_default()))
    });
    let (accepted, holds) = sent.await?;
    if let Some(absence) = who.absence_message() {
        out.note(&format!(
            "{absence}: the message is queued until one runs on this database; start it with `wakeful daemon start`"
        ));
    }
    for hold in holds
        .iter()
        .filter(|hold| HOLDS_TOLD.contains(&hold.code.as_str()))
    {
        let hint = hold.hint.as_ref().map(|hint| format!("; {hint}"));
        let hint = hint.unwrap_or_default();
        out.note(&format!("the message waits: {}{hint}", hold.message));
    }
    let how = match accepted.admission {
        Admission::New => "queued",
        Admission::Duplicate => "already known",
    };
    let key = short(&accepted.run_key);
    let words = match args.priority {
        PriorityArg::Interject => {
            format!("{how}: `wakeful why {key}` shows the run that handles it")
        }
        PriorityArg::Next | PriorityArg::Normal | PriorityArg::Background => {
            format!("{how}: `wakeful runs show {key}` shows the answer")
        }
    };
    out.answer(&accepted, &words);
    Ok(0)
}
