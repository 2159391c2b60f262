//! An in-memory daemon whose agents are woken by changes, in virtual time.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber as _;
use wakeful_core::budget::UtcDay;
use wakeful_core::conversation::{Block, ToolCall, ToolSpec, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::{AgentId, RuleId, RunnerId};
use wakeful_core::inference::ModelProfile as InferenceTerms;
use wakeful_core::journal::{Author, Mutation, RecordId, person_operation_id};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::time::Millis;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::clock::Clock;
use wakeful_ports::journal::{Journal as _, WriteRequest};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_runtime::api::subscription::NewSubscription;
use wakeful_runtime::api::{NewAgent, RuntimeApi, SubscriptionApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::{NoticeDispatcher, SubscriptionIndex};
use wakeful_runtime::service::{Options, Service, WriterMode};
use wakeful_runtime::{EngineDefaults, Halt};
use wakeful_sim::OnWarning;
use wakeful_store::rows::{RunFilter, RunRow, RunState, WakeFilter, WakeRow};
use wakeful_store::{JournalStore, Store};

use crate::engine_factory::SameEngineFactory;
use crate::service::{Salts, Ticks};

const TOOL: &str = "journal_create_task";

/// Maximum number of scheduling turns before time advances.
const TURNS: u32 = 3_000;

/// A model that responds at once, or when it is released.
#[derive(Default)]
pub(crate) struct Oracle {
    /// Whether requests wait for a release.
    pub(crate) holds: AtomicBool,
    /// Releases the waiting requests.
    pub(crate) lets: Notify,
    /// Whether each run first writes to the journal.
    pub(crate) writes: AtomicBool,
    heard: Mutex<Vec<String>>,
}

impl Oracle {
    /// The text of every request.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hears(&self, request: String) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push(request);
    }
}

pub(crate) struct Asking(Arc<Oracle>);

impl Model for Asking {
    fn profile(&self, _: &str) -> InferenceTerms {
        InferenceTerms::here("sim")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        self.0.hears(format!("{request:?}"));
        if self.0.holds.load(Ordering::Relaxed) {
            self.0.lets.notified().await;
        }
        let call = Block::ToolUse(ToolCall {
            call_id: "c1".into(),
            name: TOOL.into(),
            input: json!({}),
        });
        let text = Block::Text { text: "done".into() };
        let is_first = request.request == 0 && self.0.writes.load(Ordering::Relaxed);
        Ok(ModelResponse {
            blocks: vec![if is_first { call } else { text }],
            usage: Usage::of(1, 1),
        })
    }
}

/// A tool that writes a task.
pub(crate) struct Writer(JournalStore);

impl ToolHost for Writer {
    fn specs(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    fn class(&self, _: &str) -> Option<EffectClass> {
        Some(EffectClass::Idempotent)
    }

    fn check(&self, _: &str, _: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn perform(&self, act: ToolRequest, _: impl StopSignal) -> ToolOutcome {
        let order = WriteRequest {
            operation_id: act.operation_id,
            author: Author::Agent(act.agent_id),
            mutation: task("by an agent", None),
            at: act.at,
        };
        self.0.write(order).await.expect("written");
        ToolOutcome {
            content: "{}".into(),
            code: None,
            exit_status: None,
            sandbox: None,
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }

    async fn clean_up(&self, _: OperationId) {}
}

fn task(title: &str, category: Option<RecordId>) -> Mutation {
    Mutation::CreateTask {
        title: title.into(),
        details: String::new(),
        category,
    }
}

/// The state that outlives a daemon.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) journal: JournalStore,
    pub(crate) ticks: Arc<Ticks>,
    pub(crate) oracle: Arc<Oracle>,
    keys: Arc<AtomicU32>,
}

/// A daemon that serves a home.
pub(crate) struct Daemon {
    pub(crate) home: Home,
    pub(crate) api: RuntimeApi,
    pub(crate) alert: SubscriptionApi,
    pub(crate) watcher: Arc<NoticeDispatcher>,
    tasks: [JoinHandle<()>; 2],
}

impl Home {
    pub(crate) fn new() -> Self {
        Self {
            store: Store::in_memory("notice").expect("a store"),
            journal: JournalStore::in_memory("notice").expect("a journal"),
            ticks: Arc::default(),
            oracle: Arc::default(),
            keys: Arc::default(),
        }
    }

    /// Starts a daemon.
    pub(crate) fn serve(&self) -> Daemon {
        let hub: Arc<Hub> = Arc::default();
        let shop = SameEngineFactory {
            store: self.store.clone(),
            model: Arc::new(Asking(Arc::clone(&self.oracle))),
            tools: Arc::new(Writer(self.journal.clone())),
            policy: Arc::new(
                PolicyEngine::new(ToolRegistry::new([TOOL.to_owned()].into())).expect("a policy"),
            ),
            clock: Arc::<Ticks>::clone(&self.ticks),
            entropy: Arc::new(Salts),
            hub: Arc::clone(&hub),
        };
        let (service, api, _) = Service::new(Options {
            store: self.store.clone(),
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(shop),
            hub: Arc::clone(&hub),
            halt: Halt::never(),
            clock: Arc::<Ticks>::clone(&self.ticks),
            entropy: Arc::new(Salts),
            governance: EngineDefaults::default(),
        });
        let book: Arc<SubscriptionIndex> = Arc::default();
        let journal: Arc<dyn wakeful_ports::journal::Journal> = Arc::new(self.journal.clone());
        let watcher =
            Arc::new(api.notice_dispatcher(Arc::clone(&journal), Arc::clone(&book), WriterMode::Alone));
        let watching = Arc::clone(&watcher);
        Daemon {
            home: self.clone(),
            alert: api.subscriptions(journal, book),
            api,
            watcher,
            tasks: [
                tokio::spawn(service.run()),
                tokio::spawn(async move {
                    let (never, fail) = (Halt::never(), |error: &str| panic!("{error}"));
                    watching.run(&never).with_subscriber(OnWarning(fail)).await;
                }),
            ],
        }
    }

    /// Writes to the journal as a person.
    pub(crate) async fn write(&self, mutation: Mutation) -> RecordId {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        let order = WriteRequest {
            operation_id: person_operation_id(&number.to_string()),
            author: Author::Person,
            mutation,
            at: self.ticks.now(),
        };
        self.journal.write(order).await.expect("written").record_id
    }

    /// Adds a task as a person.
    pub(crate) async fn add_task(&self, title: &str, category: Option<&RecordId>) -> RecordId {
        self.write(task(title, category.cloned())).await
    }
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

/// A subscription to these tokens.
pub(crate) fn on(words: &str) -> SubscriptionSpec {
    SubscriptionSpec {
        any: words.split_whitespace().map(str::to_owned).collect(),
        ..SubscriptionSpec::default()
    }
}

impl Daemon {
    /// Ends the daemon as a crash does.
    pub(crate) fn kill(self) -> Home {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.home
    }

    /// Lets every task run until none has work, without advancing time.
    pub(crate) async fn settle(&self) {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn create(&self, name: &str) {
        let new = NewAgent::new(agent(name), "/somewhere".into());
        self.api.agents.create(new).await.expect("an agent");
    }

    /// Creates an agent that subscribes under its own name.
    pub(crate) async fn subscribed(&self, name: &str, terms: SubscriptionSpec) {
        self.create(name).await;
        let new = NewSubscription {
            subscription_id: Some(RuleId::parse(&format!("of-{name}")).expect("a name")),
            agent_id: agent(name),
            spec: terms,
        };
        self.alert.add(new).await.expect("a subscription");
    }

    pub(crate) async fn runs(&self, name: &str) -> Vec<RunRow> {
        let filter = RunFilter {
            agent_id: Some(agent(name)),
            state: RunState::Any,
            limit: 1_000,
            ..RunFilter::default()
        };
        let runs = self.home.store.read(move |view| view.runs(&filter)).await;
        runs.expect("runs")
    }

    pub(crate) async fn wakes(&self, name: &str) -> Vec<WakeRow> {
        let filter = WakeFilter {
            agent_id: agent(name),
            since: Millis(0),
            limit: 1_000,
        };
        let wakes = self.home.store.read(move |view| view.wakes(&filter)).await;
        wakes.expect("wakes")
    }

    /// How often the agent was refused, by code.
    pub(crate) async fn refusals(&self, name: &str) -> Vec<(String, u64)> {
        let agent = agent(name);
        let rows = self
            .home
            .store
            .read(move |view| view.refusals(&agent, UtcDay(0)))
            .await;
        let told = rows
            .expect("refusals")
            .into_iter()
            .map(|row| (row.code.to_string(), row.count));
        told.collect()
    }

    pub(crate) async fn queue(&self, name: &str) -> Vec<RunKey> {
        let agent = agent(name);
        let rows = self.home.store.read(move |view| view.queue(&agent, 1_000)).await;
        rows.expect("a queue")
            .into_iter()
            .map(|row| row.message.run_key)
            .collect()
    }
}
