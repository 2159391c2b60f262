//! One scenario on the real engine, the real policy and the real tools: folders on disk, a journal, agents, and a
//! person who answers decisions. Only the model is scripted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use wakeful_core::agent_settings::{AgentSettings, Change, SettingsChange};
use wakeful_core::cause::Priority;
use wakeful_core::conversation::Attachment;
use wakeful_core::decision::{APPROVE, AnswerInput, Channel as AnswerChannel, DENY};
use wakeful_core::id::{AgentId, RunnerId, SessionId, TurnId};
use wakeful_core::journal::{Author, Mutation, Task, person_operation_id};
use wakeful_core::message::RunOptions;
use wakeful_core::run::RunStatus;
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::StepStatus;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::journal::{Journal, TaskFilter, WriteRequest};
use wakeful_runtime::api::{IncomingMessage, NewAgent, RuntimeApi, TriggerDelivery};
use wakeful_runtime::service::{Options, Service, WriterMode};
use wakeful_runtime::{EngineDefaults, Halt};
use wakeful_store::rows::{RunFilter, RunState};
use wakeful_store::{JournalStore, Store};
use wakeful_tools::untrusted_writes::UntrustedWrites;

pub(super) use super::ground::Ground;
use super::ground::{FolderAccess, commit_all, ground, trust};
use super::internet::{Internet, Page, Received};
use super::model::Script;
use super::ports::{Numbers, RealClock, SceneEngineFactory, SecretValues};

/// How long a scenario may take: far longer than its few commands need.
const SCENARIO_MAX: Duration = Duration::from_secs(60);

/// How often the database is read for decisions and for the end.
const POLL: Duration = Duration::from_millis(2);

/// Most rows of one kind that a scenario makes.
const ROWS: u32 = 200;

/// The value of the secret that every agent may use.
pub(super) const TOKEN: &str = "tok-5f0e77c19ab34d52";

/// The name of that secret.
pub(super) const TOKEN_NAME: &str = "API_TOKEN";

/// What the person's private file holds.
pub(super) const PRIVATE: &str = "iban-de44500105175407";

/// The program that contains the sandbox.
#[derive(Debug, Clone)]
pub struct Program {
    pub path: PathBuf,
    /// The arguments before those of the sandbox.
    pub prefix: Vec<String>,
}

/// What is there before a scenario begins.
#[derive(Default)]
pub(super) struct Setup {
    /// Files by absolute path.
    pub(super) files: Vec<(String, String)>,
    /// Pages by host and path.
    pub(super) pages: BTreeMap<String, Page>,
    /// Whether the agents may read the foreign folder, which the operator does not trust.
    pub(super) reads_foreign: bool,
    /// Whether the workspace of `main` is a Git repository with everything committed.
    pub(super) is_repository: bool,
    /// Tasks of the journal with the agent that wrote them; none for the person.
    pub(super) tasks: Vec<(Option<&'static str>, String, String)>,
}

/// What wakes an agent. The next one follows when all agents are idle.
#[derive(Debug, Clone)]
pub(super) enum Opening {
    Message {
        agent: &'static str,
        session: &'static str,
        text: String,
        attachments: Vec<(String, String)>,
    },
    Webhook {
        agent: &'static str,
        body: String,
    },
    /// The person marks all folders as reviewed and trusts them, so that commands of later runs are trusted.
    Review,
}

impl Opening {
    /// A message of the person to `main`.
    pub(super) fn message(text: impl Into<String>) -> Self {
        Self::Message {
            agent: "main",
            session: "first",
            text: text.into(),
            attachments: Vec::new(),
        }
    }
}

/// How the person answers decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Person {
    Approves,
    Denies,
}

/// One scenario.
pub(super) struct Scenario {
    pub(super) setup: Setup,
    pub(super) openings: Vec<Opening>,
    pub(super) scripts: Vec<Script>,
    pub(super) person: Person,
}

/// What can be observed afterwards, from outside of the engine.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) ground: Ground,
    #[expect(dead_code, reason = "it keeps the folders until the effects were examined")]
    folder: Option<TempDir>,
    pub(super) received: Vec<Received>,
    pub(super) tasks: Vec<Task>,
    /// The number of messages that each agent got.
    pub(super) runs: BTreeMap<String, usize>,
    /// The rule of each decision that the person was asked for, with the tool.
    pub(super) asked: Vec<String>,
    /// The reason of each call that was denied without a question, with the tool.
    pub(super) denied: Vec<String>,
    /// All calls with their status and reason.
    pub(super) calls: Vec<String>,
}

impl Outcome {
    pub(super) fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(path).ok()
    }
}

/// The agents with the agents whose runs they may start.
const AGENTS: [(&str, &[&str]); 3] = [
    ("main", &["reader", "courier"]),
    ("reader", &["main"]),
    ("courier", &[]),
];

/// Plays scenarios. Each has folders of its own.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) program: Program,
    /// Where the folders are made.
    pub(super) folder: PathBuf,
    /// The environment of this process, for commands.
    pub(super) environment: BTreeMap<String, String>,
}

impl Stage {
    /// Plays a scenario to its end.
    pub(super) fn play(&self, write: impl FnOnce(&Ground) -> Scenario) -> Result<Outcome> {
        let folder = TempDir::new_in(&self.folder)?;
        let ground = ground(&folder.path().canonicalize()?)?;
        let scenario = write(&ground);
        for (path, content) in &scenario.setup.files {
            let parent = Path::new(path).parent().context("a file in a folder")?;
            std::fs::create_dir_all(parent)?;
            std::fs::write(path, content)?;
        }
        if scenario.setup.is_repository {
            commit_all(&ground.workspace)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let outcome = runtime.block_on(self.perform(ground, scenario))?;
        Ok(Outcome {
            folder: Some(folder),
            ..outcome
        })
    }

    async fn perform(&self, ground: Ground, scenario: Scenario) -> Result<Outcome> {
        let internet = Internet::start(scenario.setup.pages)?;
        let mut environment = self.environment.clone();
        environment.insert("https_proxy".to_owned(), internet.url());
        let journal = JournalStore::in_memory("injection")?;
        let daemon = Daemon::start(SceneEngineFactory {
            store: Store::in_memory("injection")?,
            journal: Arc::new(journal.clone()),
            program: self.program.clone(),
            home: ground.home.clone().into(),
            environment,
            secrets: Arc::new(SecretValues::new(
                [(TOKEN_NAME.to_owned(), TOKEN.to_owned())].into(),
            )),
            scripts: scenario.scripts,
            clock: Arc::new(RealClock::default()),
            entropy: Arc::new(Numbers::default()),
            hub: Arc::default(),
        })?;
        for (name, _) in AGENTS {
            let access = match scenario.setup.reads_foreign {
                true => FolderAccess::Foreign,
                false => FolderAccess::Own,
            };
            daemon.create(name, &ground, access).await?;
        }
        trust(&ground, &ground.outside)?;
        for (name, may_start) in AGENTS {
            daemon.connect(name, may_start).await?;
        }
        for (number, (author, title, details)) in scenario.setup.tasks.iter().enumerate() {
            let request = WriteRequest {
                operation_id: person_operation_id(&number.to_string()),
                author: match author {
                    Some(agent) => Author::Agent(AgentId::parse(agent)?),
                    None => Author::Person,
                },
                mutation: Mutation::CreateTask {
                    title: title.clone(),
                    details: details.clone(),
                    category: None,
                },
                at: RealClock::default().now(),
            };
            journal.write(request).await?;
        }
        let mut asked = Vec::new();
        for (number, opening) in scenario.openings.iter().enumerate() {
            daemon.open(number, opening, &ground).await?;
            daemon.settle(scenario.person, &mut asked).await?;
        }
        let filter = TaskFilter {
            status: None,
            id_prefix: None,
            limit: ROWS,
        };
        let tasks = journal.tasks(filter).await?;
        let mut outcome = daemon.observe(ground, asked).await?;
        outcome.received = internet.received();
        outcome.tasks = tasks;
        Ok(outcome)
    }
}

/// The service with its interfaces.
struct Daemon {
    store: Store,
    api: RuntimeApi,
}

impl Daemon {
    fn start(factory: SceneEngineFactory) -> Result<Self> {
        let store = factory.store.clone();
        let (hub, clock, entropy) = (
            Arc::clone(&factory.hub),
            Arc::clone(&factory.clock),
            Arc::clone(&factory.entropy),
        );
        let (service, api, _) = Service::new(Options {
            store: store.clone(),
            writers: WriterMode::Alone,
            runner: RunnerId::new("injection"),
            engine_factory: Arc::new(factory),
            hub,
            halt: Halt::never(),
            clock,
            entropy,
            governance: EngineDefaults::default(),
        });
        tokio::spawn(service.run());
        Ok(Self { store, api })
    }

    /// Creates an agent in the default mode, whose sandbox allows everything that an attack may want: the
    /// protection must not come from narrow settings.
    async fn create(&self, name: &str, ground: &Ground, access: FolderAccess) -> Result<()> {
        let workspace = Path::new(&ground.workspace).with_file_name(name);
        std::fs::create_dir_all(&workspace)?;
        let workspace = workspace.to_str().context("a plain path")?.to_owned();
        let mut new = NewAgent::new(AgentId::parse(name)?, workspace);
        let hosts = ["*.docs.example", "*.git.example", "*.drop.example"];
        new.settings = AgentSettings {
            sandbox: SandboxScope {
                readable_paths: match access {
                    FolderAccess::Foreign => [ground.foreign.clone()].into(),
                    FolderAccess::Own => BTreeSet::new(),
                },
                writable_paths: [ground.outside.clone()].into(),
                allowed_hosts: hosts.map(str::to_owned).into(),
                allowed_secrets: [TOKEN_NAME.to_owned()].into(),
                ..SandboxScope::default()
            },
            ..AgentSettings::with_all_categories()
        };
        self.api.agents.create(new).await?;
        Ok(())
    }

    /// Lets an agent start runs of others.
    async fn connect(&self, name: &str, may_start: &[&str]) -> Result<()> {
        let change = SettingsChange {
            may_start: Change::Set(may_start.iter().map(|name| (*name).to_owned()).collect()),
            ..SettingsChange::default()
        };
        self.api
            .agents
            .change_settings(AgentId::parse(name)?, change)
            .await?;
        Ok(())
    }

    async fn open(&self, number: usize, opening: &Opening, ground: &Ground) -> Result<()> {
        let turn = TurnId::parse(&format!("turn-{number}"))?;
        match opening {
            Opening::Review => {
                for folder in [&ground.workspace, &ground.outside] {
                    let writes = UntrustedWrites::of(Path::new(&ground.home), Path::new(folder));
                    writes.review(u64::MAX)?;
                }
                trust(ground, &ground.foreign)?;
            }
            Opening::Message {
                agent,
                session,
                text,
                attachments,
            } => {
                let attachments = attachments.iter().map(|(name, text)| text_file(name, text));
                let message = IncomingMessage {
                    agent: AgentId::parse(agent)?,
                    turn,
                    thread: Some(SessionId::new(*session)),
                    text: text.clone(),
                    attachments: attachments.collect(),
                    run_options: RunOptions::default(),
                    priority: Priority::Normal,
                };
                self.api.messages.send(message).await?;
            }
            Opening::Webhook { agent, body } => {
                let trigger = self.api.triggers.get(AgentId::parse(agent)?).await?;
                let delivery = TriggerDelivery {
                    name: Some(turn),
                    content_type: Some("application/json".to_owned()),
                    correlation: None,
                    causation: None,
                    body: body.clone().into_bytes(),
                };
                self.api.triggers.deliver(trigger.row, delivery).await?;
            }
        }
        Ok(())
    }

    /// Answers decisions until no agent has work.
    async fn settle(&self, person: Person, asked: &mut Vec<String>) -> Result<()> {
        let began = Instant::now();
        while self.has_work().await? {
            ensure!(
                began.elapsed() < SCENARIO_MAX,
                "the scenario does not end: {:?}",
                self.calls().await?
            );
            for decision in self.api.decisions.list(true).await? {
                let option = match person {
                    Person::Approves => APPROVE,
                    Person::Denies => DENY,
                };
                let answer = AnswerInput {
                    option: option.to_owned(),
                    version: None,
                    channel: AnswerChannel::Page,
                    note: None,
                };
                asked.push(format!("{} {}", decision.inquiry.tool, decision.inquiry.rule));
                let id = decision.inquiry.decision_id.to_string();
                self.api.decisions.answer(id, answer).await?;
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    async fn has_work(&self) -> Result<bool> {
        let agents = AGENTS.map(|(name, _)| AgentId::parse(name));
        let read = self.store.read(move |view| {
            for agent in agents.iter().flatten() {
                if !view.queue(agent, 1)?.is_empty() {
                    return Ok((true, None));
                }
            }
            let runs = view.runs(&all_runs())?;
            let stuck = runs.iter().find(|run| run.status == RunStatus::Quarantined);
            let stuck = stuck.map(|run| format!("{run:?}"));
            Ok((runs.iter().any(|run| run.status == RunStatus::Open), stuck))
        });
        match read.await? {
            (_, Some(stuck)) => bail!("a run is quarantined: {stuck}"),
            (has_work, None) => Ok(has_work),
        }
    }

    /// All calls of all runs: agent, tool, status and reason.
    async fn calls(&self) -> Result<Vec<(String, String, StepStatus, String)>> {
        let read = self.store.read(|view| {
            let mut calls = Vec::new();
            for run in view.runs(&all_runs())? {
                for step in view.steps(&run.run_key, 0, ROWS)? {
                    if step.class.is_some() {
                        calls.push((run.agent_id.to_string(), step.name, step.status, step.reason));
                    }
                }
            }
            Ok(calls)
        });
        Ok(read.await?)
    }

    async fn observe(&self, ground: Ground, asked: Vec<String>) -> Result<Outcome> {
        let calls = self.calls().await?;
        let read = self.store.read(|view| {
            let runs = view.runs(&all_runs())?.into_iter();
            Ok(runs.map(|run| run.agent_id.to_string()).collect::<Vec<_>>())
        });
        let mut runs = BTreeMap::new();
        for agent in read.await? {
            *runs.entry(agent).or_default() += 1;
        }
        let denied = calls.iter().filter(|(_, _, status, reason)| {
            *status == StepStatus::Denied && !asked.iter().any(|asked| asked.ends_with(reason.as_str()))
        });
        Ok(Outcome {
            ground,
            folder: None,
            received: Vec::new(),
            tasks: Vec::new(),
            runs,
            denied: denied
                .map(|(_, tool, _, reason)| format!("{tool} {reason}"))
                .collect(),
            asked,
            calls: calls
                .iter()
                .map(|(agent, tool, status, reason)| format!("{agent} {tool} {status:?} {reason}"))
                .collect(),
        })
    }
}

fn all_runs() -> RunFilter {
    RunFilter {
        agent_id: None,
        state: RunState::Any,
        until: None,
        before: None,
        limit: ROWS,
    }
}

fn text_file(name: &str, text: &str) -> Attachment {
    use base64::Engine as _;
    Attachment {
        name: name.to_owned(),
        media_type: "text/plain".to_owned(),
        data: base64::engine::general_purpose::STANDARD.encode(text),
    }
}
