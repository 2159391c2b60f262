//! `wakeful chat`: a conversation with an agent in the terminal. The runs belong to the daemon, so leaving,
//! or a lost terminal, does not affect them.

mod attachment;
mod command;
mod conversation;
pub(crate) mod history;
mod watch;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::Receiver;
use wakeful_api::client::{Client, Stream};
use wakeful_api::{
    Change, CreateAgent, Decision, GetAgentStatus, LIMIT_MAX, RunLimits, SettingsChange, Text, Visibility,
};
use wakeful_core::conversation::Attachment;
use wakeful_core::id::{AgentId, SessionId};
use wakeful_core::key::RunKey;

use super::GlobalArgs;
use super::daemon::{DaemonVerb, daemon as manage_daemon};
use super::events::events_after;
use super::run::ask::prompt_of;
use super::run::limit::LimitArgs;
use super::serve::ServeArgs;
use crate::backend::Backend;
use crate::config::{self, Overrides};
use crate::discover::{ReconnectTimer, daemon, daemon_gone};
use crate::failure::Failure;
use crate::model::canonical;
use crate::show::Out;
use crate::system::fresh_id;
use crate::terminal::editor::{Edit, Editor};
use crate::terminal::key::KeyParser;
use crate::terminal::raw_mode::{RawMode, read_keys};
use crate::terminal::screen::Ink;
use crate::terminal::{Drawing, Style};
use crate::trust::{self, FolderChoice};
use crate::workspace::WorkspacePath;

/// Time between two frames of the spinner. The timer runs only while a run is shown.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Agent name [default: the agent of the settings, which is created if it does not exist]
    agent: Option<String>,
    /// Begin a new conversation
    #[arg(long, conflicts_with = "thread")]
    new: bool,
    /// Conversation to continue [default: the most recent one]
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Model for the messages: `PROVIDER/MODEL`, `scripted:FILE`, or `demo` [default: the agent's]
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// Only read and plan: nothing is changed, and commands cannot write in the workspace
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

pub(crate) async fn chat(args: &ChatArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let thread = match &args.thread {
        Some(name) => ThreadChoice::Named(SessionId::parse(name)?),
        None if args.new => ThreadChoice::Named(new_thread()?),
        None => ThreadChoice::Newest,
    };
    let limits = args.limits.parse()?;
    let model = args.model.as_deref().map(canonical).transpose()?;
    if let Some(model) = &model {
        conversation::check_model(model, shared)?;
    }
    let style = Style::of_stderr().filter(|style| style.drawing == Drawing::Redraw);
    if out.is_json() || !std::io::stdin().is_terminal() || style.is_none() {
        let message = "chat needs a terminal that can move the cursor";
        let hint = "use `wakeful run --agent NAME \"…\"`, which works without one";
        return Err(Failure::usage("not_a_terminal", message, hint));
    }
    let client = match daemon(shared).await? {
        Some(client) => client,
        None => start_daemon(shared, out).await?,
    };
    let backend = Backend { client };
    let agent = ready_agent(&backend, agent, shared).await?;
    let home = shared.home()?;
    let mut chat = Chat {
        shared,
        out,
        backend,
        agent,
        thread: SessionId::new(wakeful_runtime::api::SESSION),
        choice: thread,
        model,
        is_read_only: args.read_only,
        limits,
        attachments: Vec::new(),
        editor: Editor::new(history::read(&home)),
        parser: KeyParser::default(),
        runs: Vec::new(),
        began: Instant::now(),
        question: None,
        last_message: None,
        last_run: None,
        after: 0,
        is_stopping: false,
        has_unanswered: false,
    };
    chat.run().await
}

/// A daemon runs in the background, so that the work continues when the conversation is left.
async fn start_daemon(shared: &GlobalArgs, out: &Out) -> Result<Client, Failure> {
    out.note("no daemon runs in this home; starting one (`wakeful daemon stop` stops it)");
    manage_daemon(&DaemonVerb::Start(ServeArgs::default()), shared, out).await?;
    daemon(shared).await?.ok_or_else(|| {
        let hint = "see `wakeful daemon logs`";
        Failure::new("daemon_not_running", "the daemon has stopped again", hint)
    })
}

/// The agent to talk to. Only the agent of the settings is created, because a typing error must not create
/// one.
async fn ready_agent(
    backend: &Backend,
    named: Option<AgentId>,
    shared: &GlobalArgs,
) -> Result<AgentId, Failure> {
    let is_named = named.is_some();
    let agent = match named {
        Some(agent) => agent,
        None => AgentId::parse(
            &config::load(&shared.home()?, &Overrides::default())?
                .config
                .agent
                .default,
        )?,
    };
    let agent_id = Text(agent.clone());
    match backend
        .call(GetAgentStatus {
            agent_id: agent_id.clone(),
        })
        .await
    {
        Err(failure) if failure.code() == "agent_unknown" && !is_named => {
            let home = shared.home()?;
            let other = WorkspacePath::offer_other(&home)?;
            let folder = other.as_deref().unwrap_or(".".as_ref());
            let folder = WorkspacePath::look(folder, &home).map_err(Failure::into_usage)?;
            // Agreeing to the other folder is an answer.
            let choice = match other {
                Some(_) => FolderChoice::Named,
                None => FolderChoice::Current,
            };
            trust::settle(&home, &folder.text, choice)?;
            let settings = SettingsChange {
                workspace: Change::Set(folder.text.clone()),
                ..SettingsChange::default()
            };
            let new = CreateAgent::new(agent_id, Visibility::Public, None, settings);
            backend.call(new).await?;
        }
        status => drop(status?),
    }
    Ok(agent)
}

/// A name for a new conversation.
fn new_thread() -> Result<SessionId, Failure> {
    // The random digits of the id are at its end.
    let id = fresh_id();
    let digits = id.rsplit('-').next().unwrap_or(&id);
    Ok(SessionId::parse(&format!("chat-{digits}"))?)
}

/// The conversation to show next.
#[derive(Debug)]
enum ThreadChoice {
    Newest,
    Named(SessionId),
}

/// A decision that is being asked.
#[derive(Debug)]
struct Question {
    decision: Decision,
    /// What was typed before the question appeared.
    draft: String,
}

/// What happens after an input or an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    /// Another agent or conversation was chosen.
    Reopen,
    Leave,
}

struct Chat<'a> {
    shared: &'a GlobalArgs,
    out: &'a Out,
    backend: Backend,
    agent: AgentId,
    thread: SessionId,
    choice: ThreadChoice,
    /// The model of the next messages, if it is not the agent's.
    model: Option<String>,
    /// Whether the runs of its messages may change nothing.
    is_read_only: bool,
    /// What the run of each message may use.
    limits: RunLimits,
    /// The files of the next message.
    attachments: Vec<Attachment>,
    editor: Editor,
    parser: KeyParser,
    /// The runs of this conversation that have not ended. The first one is shown.
    runs: Vec<RunKey>,
    /// When the shown run began to be shown.
    began: Instant,
    question: Option<Question>,
    last_message: Option<String>,
    last_run: Option<RunKey>,
    /// Sequence number of the newest event seen.
    after: u64,
    /// Whether the shown run was asked to stop.
    is_stopping: bool,
    /// Whether a message joined the shown run and the model has not replied since.
    has_unanswered: bool,
}

/// The keys and signals of the terminal.
struct Input {
    keys: Receiver<Vec<u8>>,
    terminate: Signal,
    resized: Signal,
}

impl Input {
    fn open() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let attempt = "cannot listen for signals";
                Failure::io("signal_setup_failed", attempt, &error, "try again")
            })
        };
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            resized: listen(SignalKind::window_change())?,
            keys: read_keys(),
        })
    }
}

impl Chat<'_> {
    async fn run(&mut self) -> Result<u8, Failure> {
        let raw = RawMode::enter()?;
        let mut input = Input::open()?;
        self.out.open_screen();
        let left = self.converse(&mut input).await;
        self.out.close_screen();
        drop(raw);
        left?;
        let (agent, thread) = (&self.agent, &self.thread);
        if !self.runs.is_empty() {
            self.out.note("the run continues in the daemon");
        }
        self.out.note(&format!(
            "`wakeful chat {agent} --thread {thread}` continues this conversation"
        ));
        Ok(0)
    }

    /// Shows conversations until the person leaves. A broken stream is resumed, from the new daemon if the
    /// first one was restarted.
    async fn converse(&mut self, input: &mut Input) -> Result<(), Failure> {
        let mut patience = ReconnectTimer::new(self.shared, self.out);
        self.open_conversation().await?;
        loop {
            let after = self.after.to_string();
            let events = events_after(self.agent.clone(), None, LIMIT_MAX);
            let served = match self.backend.client.follow(&events, Some(&after)).await {
                Ok(mut stream) => {
                    patience.reset();
                    self.catch_up(input).await;
                    self.serve(&mut stream, input).await
                }
                Err(error) => Err(error.into()),
            };
            let failure = match served {
                Ok(Some(Next::Leave)) => return Ok(()),
                Ok(Some(Next::Reopen | Next::Stay)) => {
                    self.open_conversation().await?;
                    continue;
                }
                Ok(None) => None,
                Err(failure) => Some(failure),
            };
            let back = tokio::select! {
                back = patience.wait(failure) => back?,
                () = wants_to_leave(input) => return Ok(()),
            };
            let Some(client) = back else {
                let hint = "run `wakeful daemon start`, then `wakeful chat` again".to_owned();
                return Err(daemon_gone("the conversation is kept", hint));
            };
            self.backend = Backend { client };
        }
    }

    /// Handles input and events until the person leaves or changes the conversation; none if the stream
    /// ended.
    async fn serve(&mut self, stream: &mut Stream, input: &mut Input) -> Result<Option<Next>, Failure> {
        let mut ticks = tokio::time::interval(TICK);
        loop {
            self.draw();
            let next = tokio::select! {
                biased;
                read = input.keys.recv() => match read {
                    Some(bytes) => self.typed(&bytes).await,
                    None => Next::Leave,
                },
                _ = input.terminate.recv() => Next::Leave,
                _ = input.resized.recv() => Next::Stay,
                frame = stream.next() => match frame? {
                    Some(frame) => {
                        self.frame(&frame, input).await;
                        Next::Stay
                    }
                    None => return Ok(None),
                },
                _ = ticks.tick(), if !self.runs.is_empty() => {
                    let elapsed = self.began.elapsed();
                    self.out.screen(|live| live.tick(elapsed));
                    Next::Stay
                }
            };
            if next != Next::Stay {
                return Ok(Some(next));
            }
        }
    }

    fn draw(&self) {
        let prompt = match &self.question {
            Some(question) => prompt_of(&question.decision).trim_start(),
            None => "> ",
        };
        self.out.screen(|live| {
            let rows = self.editor.rows(live.style(), prompt);
            live.set_input(Some(rows));
        });
    }

    async fn typed(&mut self, bytes: &[u8]) -> Next {
        for key in self.parser.feed(bytes) {
            let next = match self.editor.key(key) {
                Edit::Changed => Next::Stay,
                Edit::Submitted(line) => self.submitted(&line).await,
                Edit::Interrupted => self.interrupted().await,
                Edit::Ended => Next::Leave,
                Edit::TooLong(bytes) => {
                    let limit = wakeful_core::message::PROMPT_BYTES_MAX;
                    self.say(&format!(
                        "{bytes} bytes are more than a message may have ({limit}); save the text to a file and use /attach PATH"
                    ));
                    Next::Stay
                }
            };
            if next != Next::Stay {
                return next;
            }
        }
        Next::Stay
    }

    /// Ctrl-C: stops the run; without one it clears the input.
    async fn interrupted(&mut self) -> Next {
        if !self.editor.is_empty() {
            self.editor.set_text(String::new());
        } else if self.runs.is_empty() || self.is_stopping {
            self.say("Ctrl-D or /quit leaves the conversation");
        } else {
            self.stop().await;
        }
        Next::Stay
    }

    /// Shows a line that does not belong to the conversation.
    fn say(&self, text: &str) {
        self.out.screen(|live| live.note(text, Ink::Dim));
    }

    /// Shows a failure; the conversation continues.
    fn report(&self, failure: &Failure) {
        self.out.screen(|live| live.note(&failure.to_string(), Ink::Red));
    }
}

/// Resolves when a person wants to leave while nothing else can be done.
async fn wants_to_leave(input: &mut Input) {
    loop {
        let bytes = tokio::select! {
            read = input.keys.recv() => read,
            _ = input.terminate.recv() => None,
        };
        // Ctrl-C or Ctrl-D.
        if bytes.is_none_or(|bytes| bytes.iter().any(|byte| matches!(byte, 3 | 4))) {
            return;
        }
    }
}
