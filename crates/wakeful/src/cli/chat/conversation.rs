//! What a conversation shows and does: its history, the messages and the commands.

use std::time::Instant;

use serde_json::Value;
use wakeful_api::{
    Activity, Admission, AgentControl, AttachmentInput, Block, CancelRun, GetAgentStatus, GetAgentTranscript,
    GetBudget, GetRun, GetWhyNot, GetWhyRun, Limit, ListAgentThreads, ListAgents, Priority, SendMessage,
    Text,
};
use wakeful_core::conversation::{Attachment, Role};
use wakeful_core::id::{AgentId, SessionId, TurnId};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::step::ErrorEnvelope;

use super::attachment::{Clipboard, clipboard, mentioned, missing};
use super::command::{Command, Line, help};
use super::{Chat, Next, ThreadChoice, history, new_thread};
use crate::backend::take_redaction_note;
use crate::cli::run::ask::reasons;
use crate::cli::run::attach;
use crate::cli::why::run_words;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::model::{ModelRegistry, canonical};
use crate::system::fresh_id;
use crate::terminal::screen::Ink;

/// Entries of the transcript shown when a conversation is opened: about a screen.
const SHOWN_ENTRIES: u32 = 12;

/// Characters shown of each of these entries.
const SHOWN_CHARS_MAX: usize = 2_000;

impl Chat<'_> {
    /// Shows the end of the chosen conversation, and its run if one is open.
    pub(super) async fn open_conversation(&mut self) -> Result<(), Failure> {
        let agent_id = Text(self.agent.clone());
        let status = GetAgentStatus {
            agent_id: agent_id.clone(),
        };
        let status = self.backend.call(status).await?;
        let listed = ListAgentThreads {
            agent_id: agent_id.clone(),
        };
        let threads = self.backend.call(listed).await?.threads;
        self.thread = match &self.choice {
            ThreadChoice::Named(name) => name.clone(),
            ThreadChoice::Newest => match threads.first() {
                Some(thread) => SessionId::parse(&thread.thread)?,
                None => SessionId::new(wakeful_runtime::api::SESSION),
            },
        };
        self.choice = ThreadChoice::Named(self.thread.clone());
        // The events after this one are followed, so nothing is missed between the two.
        self.after = status.last_seq;
        let model = self.model.as_deref().or(status.model.as_deref());
        let head = format!(
            "agent {} · conversation {} · model {} · /help",
            self.agent,
            self.thread,
            model.unwrap_or("of the settings")
        );
        self.out.screen(|live| live.note(&head, Ink::Cyan));
        self.show_history(agent_id.clone()).await?;
        if status.activity == Activity::Stuck {
            self.say_what_holds(agent_id).await?;
        }
        let thread = self.thread.to_string();
        let open = threads.into_iter().find(|one| one.thread == thread);
        let open = open.and_then(|one| Digest::from_hex(&one.open_run?)).map(RunKey);
        self.runs = open.into_iter().collect();
        self.question = None;
        self.has_unanswered = false;
        if let Some(run) = open {
            self.say("a run of this conversation is in progress; Ctrl-C stops it");
            self.follow(run);
        }
        // The stream shows what the run does now and asks its pending decision.
        Ok(())
    }

    async fn show_history(&self, agent_id: Text<AgentId>) -> Result<(), Failure> {
        let asked = GetAgentTranscript {
            agent_id,
            thread: Some(Text(self.thread.clone())),
            limit: Limit(SHOWN_ENTRIES),
        };
        let transcript = self.backend.call(asked).await?;
        if transcript.has_more {
            let (agent, thread) = (&self.agent, &self.thread);
            self.say(&format!(
                "… `wakeful transcript {agent} --thread {thread}` shows earlier messages"
            ));
        }
        for line in transcript.lines {
            for block in line.blocks {
                let (text, ink) = match (block, line.role) {
                    (Block::Text { text }, Role::User) => (format!("> {text}"), Ink::Bold),
                    (Block::Text { text }, Role::Assistant | Role::Tool) => (text, Ink::Plain),
                    (Block::Attachment { name, .. }, Role::Tool) => (format!("← [{name}]"), Ink::Dim),
                    (Block::Attachment { name, .. }, Role::User | Role::Assistant) => {
                        (format!("> [{name}]"), Ink::Bold)
                    }
                    (Block::ToolUse { name, input, .. }, _) => (format!("→ {name} {input}"), Ink::Dim),
                    (Block::WebSearch { query, .. }, _) if !query.is_empty() => {
                        (format!("→ searched the web: {query}"), Ink::Dim)
                    }
                    (Block::ToolResult { content, error, .. }, _) => {
                        match result_line(&content, error.as_ref()) {
                            Some(shown) => shown,
                            None => continue,
                        }
                    }
                    (Block::Thinking { .. } | Block::WebSearch { .. }, _) => continue,
                };
                let text = wakeful_core::failure::truncate_chars(&text, SHOWN_CHARS_MAX);
                self.out.screen(|live| live.note(&text, ink));
            }
            if let Some(run) = &line.run {
                let ended = self.out.failed_run(&line.run_key, self.agent.as_str(), run);
                ended
                    .iter()
                    .for_each(|text| self.out.screen(|live| live.note(text, Ink::Red)));
            }
        }
        Ok(())
    }

    pub(super) fn follow(&mut self, run: RunKey) {
        self.began = Instant::now();
        self.is_stopping = false;
        self.last_run = Some(run);
        self.out.screen(|live| live.follow(run));
    }

    /// Handles a complete line of input.
    pub(super) async fn submitted(&mut self, line: &str) -> Next {
        let is_command = matches!(Line::parse(line), Line::Command(_));
        if self.question.is_some() && !is_command {
            if let Err(failure) = self.answer(line).await {
                self.report(&failure);
            }
            if let Some(note) = take_redaction_note() {
                self.say(&note);
            }
            return Next::Stay;
        }
        if line.trim().is_empty() {
            return Next::Stay;
        }
        self.editor.remember(line);
        let done = match Line::parse(line) {
            Line::Message(text) => self.send(text).await.map(|redacted| {
                // A message with a secret stays out of the file.
                if redacted == 0 {
                    self.keep_in_history(line);
                }
                Next::Stay
            }),
            Line::Command(command) => {
                self.keep_in_history(line);
                self.command(command).await
            }
            Line::Unknown(name, nearest) => {
                let meant = nearest.map_or_else(
                    || "/help lists them".into(),
                    |near| format!("did you mean /{near}?"),
                );
                self.say(&format!("there is no command /{name}; {meant}"));
                Ok(Next::Stay)
            }
            Line::Incomplete(message) => {
                self.say(message);
                Ok(Next::Stay)
            }
        };
        if let Some(note) = take_redaction_note() {
            self.say(&note);
        }
        done.unwrap_or_else(|failure| {
            self.report(&failure);
            Next::Stay
        })
    }

    fn keep_in_history(&self, line: &str) {
        if let Ok(home) = self.shared.home() {
            // Without a history the conversation is complete nevertheless.
            let _ = history::add(&home, &self.agent, line);
        }
    }

    /// Sends a message. During a run it joins the run, if it needs no options of its own. Returns in how many of its
    /// texts a secret was replaced.
    async fn send(&mut self, text: &str) -> Result<usize, Failure> {
        let folder = std::env::current_dir().unwrap_or_default();
        let files = attach::read(&mentioned(text, &folder)).map_err(attach::without_flag)?;
        for name in missing(text, &folder) {
            self.say(&format!(
                "there is no file {name}: the message is sent without it"
            ));
        }
        let attachments = self
            .attachments
            .iter()
            .cloned()
            .chain(files)
            .map(attached)
            .collect();
        let has_options = self.model.is_some() || self.is_read_only || !self.limits.is_empty();
        let is_joining = !self.runs.is_empty() && !has_options;
        let message = SendMessage {
            key: Some(Text(TurnId::parse(&fresh_id())?)),
            thread: Some(Text(self.thread.clone())),
            model: self.model.clone(),
            is_read_only: self.is_read_only,
            limits: self.limits.clone(),
            priority: is_joining.then_some(Priority::Interject),
            attachments,
            ..SendMessage::new(self.agent.clone(), text.to_owned())
        };
        let names: Vec<String> = message
            .attachments
            .iter()
            .map(|one| format!(" [{}]", one.name))
            .collect();
        let accepted = self.backend.call(message).await?;
        self.attachments.clear();
        self.last_message = Some(text.to_owned());
        let echo = format!("> {text}{}", names.concat());
        self.out.screen(|live| live.note(&echo, Ink::Bold));
        let run = Digest::from_hex(&accepted.run_key).map(RunKey);
        if let (Some(run), Admission::New) = (run, accepted.admission) {
            self.runs.push(run);
            if self.runs.len() == 1 {
                self.follow(run);
                self.say_why_it_waits(run).await?;
            }
        }
        Ok(accepted.redacted)
    }

    /// Reports what the agent could not do, such as work that waits for budget, in whichever conversation it began.
    async fn say_what_holds(&self, agent_id: Text<AgentId>) -> Result<(), Failure> {
        let since = None;
        let report = self.backend.call(GetWhyNot { agent_id, since }).await?;
        let of_budget = report.holds.iter().filter(|hold| hold.code.as_str() == "budget");
        for hold in of_budget {
            let hint = hold.hint.as_ref().map(|hint| format!("; {hint}"));
            let hint = hint.unwrap_or_default();
            self.say(&format!("{}: {}{hint}", self.agent, hold.message));
        }
        Ok(())
    }

    /// Reports why a message does not start a run now.
    async fn say_why_it_waits(&self, run: RunKey) -> Result<(), Failure> {
        let agent_id = Text(self.agent.clone());
        let status = self.backend.call(GetAgentStatus { agent_id }).await?;
        let other = status.open_run.filter(|open| *open != run.to_string());
        if status.is_braked {
            self.say("the agent is braked, and the message is queued: `wakeful brake status` shows how to release the brake");
        } else if status.control != AgentControl::Running {
            let name = &self.agent;
            self.say(&format!(
                "the agent is paused or stopped; the message is queued until `wakeful agent resume {name}`"
            ));
        } else if other.is_some() {
            self.say("the agent works on another conversation; the message is queued");
        }
        Ok(())
    }

    async fn command(&mut self, command: Command<'_>) -> Result<Next, Failure> {
        match command {
            Command::Help => help().iter().for_each(|line| self.say(line)),
            Command::Quit => return Ok(Next::Leave),
            Command::Stop if self.runs.is_empty() => self.say("no run is in progress"),
            Command::Stop => self.stop().await,
            Command::New => {
                self.choice = ThreadChoice::Named(new_thread()?);
                return Ok(Next::Reopen);
            }
            Command::Thread(Some(name)) => {
                self.choice = ThreadChoice::Named(SessionId::parse(name)?);
                return Ok(Next::Reopen);
            }
            Command::Agent(Some(name)) => {
                let agent = AgentId::parse(name)?;
                let agent_id = Text(agent.clone());
                self.backend.call(GetAgentStatus { agent_id }).await?;
                (self.agent, self.choice) = (agent, ThreadChoice::Newest);
                // The model was chosen for the other agent.
                self.model = None;
                return Ok(Next::Reopen);
            }
            Command::Thread(None) => self.list_threads().await?,
            Command::Agent(None) => self.list_agents().await?,
            Command::Model(Some(name)) => {
                let model = canonical(name)?;
                check_model(&model, self.shared)?;
                self.say(&format!("the next messages use {model}"));
                self.model = Some(model);
            }
            Command::Model(None) => self.show_model().await?,
            Command::Cost => self.show_cost().await?,
            Command::Why => self.explain().await?,
            Command::Attach(path) => {
                let files = attach::read(&[path.into()]).map_err(attach::without_flag)?;
                self.say(&format!("{path} is attached to the next message"));
                self.attachments.extend(files);
            }
            Command::Paste => self.paste(),
            Command::Retry => match self.last_message.clone() {
                Some(text) => drop(self.send(&text).await?),
                None => self.say("no message was sent since the start"),
            },
        }
        Ok(Next::Stay)
    }

    /// Asks the shown run to end at its next safe point.
    pub(super) async fn stop(&mut self) {
        let Some(run) = self.runs.first().copied() else {
            return;
        };
        match self.backend.call(CancelRun { run_key: Text(run) }).await {
            Ok(_) => {
                self.is_stopping = true;
                self.say("the run stops at its next safe point");
            }
            Err(failure) => self.report(&failure),
        }
    }

    fn paste(&mut self) {
        match clipboard() {
            Clipboard::Image(image) => {
                self.say("the image of the clipboard is attached to the next message");
                self.attachments.push(image);
            }
            Clipboard::Text(text) => {
                self.editor.key(crate::terminal::key::Key::Paste(text));
            }
            Clipboard::Nothing(why) => self.say(&why),
        }
    }

    async fn list_threads(&self) -> Result<(), Failure> {
        let agent_id = Text(self.agent.clone());
        for one in self.backend.call(ListAgentThreads { agent_id }).await?.threads {
            let mark = if one.thread == self.thread.as_str() {
                "*"
            } else {
                " "
            };
            let open = if one.open_run.is_some() { " (working)" } else { "" };
            let preview = one.preview.unwrap_or_default().replace('\n', " ");
            self.say(&format!(
                "{mark} {}{open}  {}  {preview}",
                one.thread, one.last_at
            ));
        }
        Ok(())
    }

    async fn list_agents(&self) -> Result<(), Failure> {
        let listed = ListAgents {
            include_private: false,
        };
        for one in self.backend.call(listed).await?.agents {
            let mark = if one.agent_id == self.agent.as_str() {
                "*"
            } else {
                " "
            };
            self.say(&format!("{mark} {}", one.agent_id));
        }
        Ok(())
    }

    async fn show_model(&self) -> Result<(), Failure> {
        let agent_id = Text(self.agent.clone());
        let status = self.backend.call(GetAgentStatus { agent_id }).await?;
        let used = status.model_state.map(|state| state.effective_model);
        let model = self.model.clone().or(used);
        self.say(&format!(
            "model {}",
            model.as_deref().unwrap_or("of the settings")
        ));
        Ok(())
    }

    async fn show_cost(&self) -> Result<(), Failure> {
        if let Some(run) = self.last_run {
            let run = self.backend.call(GetRun { run_key: Text(run) }).await?;
            let cost = run.cost_usd.as_deref().unwrap_or("0.00");
            self.say(&format!(
                "last run  {cost} USD, {} tokens",
                run.token_usage.total_tokens
            ));
        }
        let budget = self.backend.call(GetBudget {}).await?;
        let (spent, cap) = (&budget.spent_usd, &budget.daily_cap_usd);
        self.say(&format!("today     {spent} of {cap} USD for all agents"));
        Ok(())
    }

    async fn explain(&self) -> Result<(), Failure> {
        if let Some(question) = &self.question {
            self.out.block(&reasons(&self.backend, &question.decision).await?);
        } else if let Some(run) = self.last_run {
            let why = self.backend.call(GetWhyRun { run_key: Text(run) }).await?;
            run_words(&why).lines().for_each(|line| self.say(line));
        } else {
            self.say("no run of this conversation was shown yet");
        }
        Ok(())
    }
}

/// What the history shows of a result: an error or a denial, or that a command reported one.
fn result_line(content: &str, error: Option<&ErrorEnvelope>) -> Option<(String, Ink)> {
    if let Some(error) = error {
        return Some((format!("✗ {} ({})", error.message, error.kind), Ink::Red));
    }
    let content: Value = serde_json::from_str(content).ok()?;
    let exit = content.get("exit_status")?.as_i64()?;
    (exit != 0).then(|| (format!("← exit {exit}"), Ink::Yellow))
}

/// Checks that the provider or the route of a model exists.
pub(super) fn check_model(model: &str, shared: &GlobalArgs) -> Result<(), Failure> {
    // If the file is invalid, the daemon works with its last valid settings and checks the model itself.
    match config::load(&shared.home()?, &Overrides::default()) {
        Ok(loaded) => ModelRegistry::new(&loaded.config).check_name(model),
        Err(_) => Ok(()),
    }
}

fn attached(attachment: Attachment) -> AttachmentInput {
    AttachmentInput {
        name: attachment.name,
        media_type: attachment.media_type,
        data: attachment.data,
    }
}
