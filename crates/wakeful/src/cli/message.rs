//! `wakeful message`: puts a message into an agent's queue and does not wait for the answer.

use clap::{Args, ValueEnum};
use wakeful_api::{Admission, Priority, SendMessage, Text};
use wakeful_core::id::{AgentId, TurnId};

use super::GlobalArgs;
use super::run::read_prompt;
use crate::backend::write_existing;
use crate::discover::home_holder;
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// To whom
    agent: String,
    /// What the agent is to do; `-` reads it from standard input
    text: String,
    /// Names this message: the same key again is the same message
    #[arg(long, value_name = "K")]
    idempotency_key: Option<String>,
    /// How soon it wants its turn; `interject` joins a run that is under way
    #[arg(long, value_enum, default_value_t = PriorityArg::Normal)]
    priority: PriorityArg,
}

/// How soon a message wants its turn. What each means is told with the wire type.
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

/// Runs the verb.
pub(crate) async fn message(args: &MessageArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let key = args.idempotency_key.as_deref().map(TurnId::parse).transpose()?;
    let message = SendMessage {
        key: key.map(Text),
        priority: Some(args.priority.into()),
        ..SendMessage::new(agent, read_prompt(&args.text)?)
    };
    // Looked at before it is sent: a message that was accepted is not to fail afterwards.
    let who = home_holder(shared).await?;
    let accepted = write_existing(shared, out, async |backend| backend.call(message).await).await?;
    if let Some(absence) = who.absence_message() {
        out.note(&format!(
            "{absence}: the message waits for one on this database, see `wakeful daemon start`"
        ));
    }
    let how = match accepted.admission {
        Admission::New => "queued",
        Admission::Duplicate => "known already",
    };
    let key = &accepted.run_key;
    let words = match args.priority {
        PriorityArg::Interject => {
            format!("{how}: `wakeful why {key}` says which run took it up, or that it became one")
        }
        PriorityArg::Next | PriorityArg::Normal | PriorityArg::Background => {
            format!("{how}: `wakeful runs show {key}` shows the answer")
        }
    };
    out.answer(&accepted, &words);
    Ok(0)
}
