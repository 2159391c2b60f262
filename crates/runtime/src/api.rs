//! What the server and the commands call; each call is one read or one transaction.

pub mod agent;
pub mod budget;
mod cancel;
pub mod decision;
pub mod decision_input;
pub mod erasure;
pub mod external_trigger;
pub mod journal;
mod planted_bugs;
mod runtime_api;
pub mod schedule;
mod stop;
pub mod subscription;
mod transcript;
pub mod why;
mod work_signal;
mod write;

use wakeful_core::cause::Priority;
use wakeful_core::conversation::{Attachment, Block};
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Wishes;
use wakeful_core::wake::Mode;
use wakeful_store::rows::{EntryRow, Overview, RunRow, Visibility};

pub use self::agent::AgentChange;
pub use self::budget::Budget;
pub use self::decision_input::Arguments;
pub use self::external_trigger::{Capability, Delivery};
pub use self::journal::JournalApi;
pub(crate) use self::runtime_api::append;
pub use self::runtime_api::{ApiContext, RuntimeApi};
pub use self::schedule::Edit;
pub use self::stop::{Cancelled, DATABASE_SLOW};
pub use self::subscription::SubscriptionApi;
pub use self::why::{Why, WhyNot};
pub(crate) use self::work_signal::Work;

/// The conversation that the command line, the API and the page share.
pub const SESSION: &str = "cli";

/// Most bytes of a conversation that are read at once: more than anybody reads, and little for any machine.
pub const TRANSCRIPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// A message to send.
#[derive(Debug, Clone)]
pub struct Post {
    /// To whom.
    pub agent: AgentId,
    /// Its name: fresh, or the caller's idempotency key.
    pub turn: TurnId,
    /// What is said.
    pub text: String,
    /// Pictures and documents that come with it, checked before.
    pub attachments: Vec<Attachment>,
    /// How its run is to be carried out.
    pub wishes: Wishes,
    /// How soon it wants its turn.
    pub priority: Priority,
}

/// A message that is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The run that answers it, now or later.
    pub run_key: RunKey,
    /// Whether it was new.
    pub is_new: bool,
}

/// An agent to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Its name.
    pub agent_id: AgentId,
    /// The folder its commands run in.
    pub workspace: String,
    /// Whether it is listed.
    pub visibility: Visibility,
    /// Who may wake it.
    pub mode: Mode,
}

/// An agent as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentView {
    /// The agent, what waits for it and what it does.
    pub overview: Overview,
    /// Its newest run.
    pub last_run: Option<Previewed<RunRow>>,
}

/// A row of a list with the first words of the message it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previewed<R> {
    /// The row.
    pub row: R,
    /// How the message begins; none when that was erased.
    pub preview: Option<String>,
}

/// The newest part of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its lines, oldest first.
    pub lines: Vec<Line>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// One line of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Who spoke, when, in which run.
    pub row: EntryRow,
    /// What was said; none when it was erased.
    pub blocks: Option<Vec<Block>>,
}
