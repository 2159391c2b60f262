//! The desk: what faces ask and tell, without knowing which database stands behind it.

pub mod alert;
pub mod archive;
pub mod arguments;
mod calling;
mod clerk;
pub mod deciding;
pub mod journal;
pub mod ledger;
pub mod reasons;
pub mod scheduling;
mod spoil;
mod stopping;
pub mod tending;
pub mod trigger;
mod work;
mod writing;

use std::future::Future;
use std::pin::Pin;

use wakeful_core::cause::Priority;
use wakeful_core::conversation::{Attachment, Block};
use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Wishes;
use wakeful_core::wake::{Control, Mode};
use wakeful_store::rows::{EntryRow, EventRow, Overview, QueueRow, RunFilter, RunRow, Visibility};

pub use self::alert::{AlertClerk, AlertDesk};
pub use self::archive::Archive;
pub use self::arguments::{Arguments, Gone};
pub use self::clerk::Clerk;
pub(crate) use self::clerk::append;
pub use self::deciding::Deciding;
pub use self::journal::{JournalClerk, JournalDesk};
pub use self::ledger::{Budget, Ledger};
pub use self::reasons::{Reasons, Why, WhyNot};
pub use self::scheduling::{Edit, Scheduling};
pub use self::stopping::{Cancelled, DATABASE_SLOW};
pub use self::tending::{AgentChange, Tending};
pub use self::trigger::{Capability, Delivery, Triggers};
pub(crate) use self::work::Work;
use crate::EngineError;
use crate::hub::Listener;
use crate::problem::Problem;
use crate::report::RunReport;

/// The conversation that the command line, the API and the page share.
pub const SESSION: &str = "cli";

/// Most bytes of a conversation that are read at once: more than anybody reads, and little for any machine.
pub const TRANSCRIPT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// An answer that is on its way.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + Send + 'a>>;

/// What faces ask and tell. Every call is one read or one transaction.
pub trait Desk: Ledger + Deciding + Archive + Reasons + Tending + Triggers {
    /// Why the storage refused the last write, until one has worked again. Known without asking it.
    fn trouble(&self) -> Option<Problem> {
        None
    }
    /// Tries a write where the last one was refused: nobody else may come while the daemon says that it cannot be used.
    fn try_storage(&self) -> Asked<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Puts a message into an agent's queue. It is durable when this returns.
    fn post(&self, post: Post) -> Asked<'_, Posted>;
    /// Makes an agent with an empty log. [`EngineError::AgentExists`] when the name is taken.
    fn create_agent(&self, new: NewAgent) -> Asked<'_, AgentView>;
    /// All agents by name; private ones only when asked for.
    fn agents(&self, with_private: bool) -> Asked<'_, Vec<AgentView>>;
    /// One agent, listed or not.
    fn agent(&self, agent: AgentId) -> Asked<'_, AgentView>;
    /// Pauses an agent, stops it, or lets it go on.
    fn set_control(&self, agent: AgentId, control: Control) -> Asked<'_, AgentView>;
    /// What waits for an agent, next first.
    fn queue(&self, agent: AgentId, limit: u32) -> Asked<'_, Vec<Waiting>>;
    /// Runs, newest first.
    fn runs(&self, filter: RunFilter) -> Asked<'_, Vec<RunGlance>>;
    /// One run with everything that happened in it.
    fn run(&self, run: RunKey) -> Asked<'_, RunReport>;
    /// Runs whose keys begin with these hex digits, those that have not begun among them: at most two, which is
    /// enough to know it is ambiguous.
    fn runs_with_prefix(&self, hex_prefix: String) -> Asked<'_, Vec<RunGlance>>;
    /// Asks for the end of a run, or takes its message out of the queue. One that has ended stays as it is.
    fn cancel(&self, run: RunKey) -> Asked<'_, RunReport>;
    /// The same, in force in this process before the database is asked. Says so where the database does not take it in time.
    fn cancel_at_once(&self, run: RunKey) -> Asked<'_, Cancelled> {
        Box::pin(async move {
            let report = self.cancel(run).await?;
            Ok(Cancelled::Stored(Box::new(report)))
        })
    }
    /// Reads something small. One who waits for it finds out whether the database answers.
    fn probe(&self) -> Asked<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Events of an agent after a number, oldest first.
    fn events_after(&self, agent: AgentId, seq: u64, limit: u32) -> Asked<'_, Vec<EventRow>>;
    /// The newest events of an agent before a number, oldest first.
    fn events_before(&self, agent: AgentId, seq: u64, limit: u32) -> Asked<'_, Vec<EventRow>>;
    /// The newest lines of an agent's conversation, oldest first; fewer when they are long.
    fn transcript(&self, agent: AgentId, newest: u32) -> Asked<'_, Conversation>;
    /// Listens to what is committed and said from now on.
    fn listen(&self) -> Listener;
    /// How many listen.
    fn listeners(&self) -> usize;
}

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
    pub last_run: Option<RunGlance>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunGlance {
    /// The run.
    pub row: RunRow,
    /// How the message begins that it answers; none when that was erased.
    pub preview: Option<String>,
}

/// A message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The message and its place.
    pub row: QueueRow,
    /// How it begins; none when that was erased.
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
