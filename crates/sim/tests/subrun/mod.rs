//! Agents that start runs of each other, also in cycles, under a daemon that is killed at random times:
//! every run ends, is started once, and its end is reported once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use wakeful_core::agent_settings::{Change, SettingsChange};
use wakeful_core::conversation::{Block, ToolCall, Usage, text_of};
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::id::{AgentId, RunnerId, TurnId};
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::{RunKey, derived_hash};
use wakeful_core::message::{Message, RunOptions};
use wakeful_core::prompt::ModelRequest;
use wakeful_core::run::RunStatus;
use wakeful_core::step::StepStatus;
use wakeful_core::sub_run::START_RUN;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_runtime::api::{IncomingMessage, NewAgent, RuntimeApi};
use wakeful_runtime::hub::Hub;
use wakeful_runtime::service::{EndingEngine, EngineFactory, Options, Service, WriterMode};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{Engine, EngineDefaults, EngineError, Halt};
use wakeful_store::rows::{Agent, RunFilter};
use wakeful_store::{ROWS_MAX, Store, View};

use crate::service::{Mailer, Salts, Ticks};

const AGENTS: [&str; 4] = ["a", "b", "c", "d"];

/// Number of simulated scenarios.
const WORLDS: u64 = 30;

/// Maximum number of scheduling turns before a scenario counts as one that never ends.
const TURNS_MAX: u32 = 20_000;

/// A pseudo-random number below a bound, derived from a seed and words.
fn draw(seed: u64, words: &[&str], below: u64) -> u64 {
    let seed = seed.to_string();
    let fields: Vec<&str> = std::iter::once(seed.as_str())
        .chain(words.iter().copied())
        .collect();
    let digest = derived_hash("sim.subrun", &fields);
    let bytes: [u8; 8] = digest.as_bytes()[..8].try_into().expect("eight bytes");
    u64::from_be_bytes(bytes) % below
}

fn whom(number: u64) -> &'static str {
    let index = usize::try_from(number).expect("small");
    AGENTS.get(index).expect("one of them")
}

fn agent_id(name: &str) -> AgentId {
    AgentId::parse(name).expect("an id")
}

/// A model that starts runs of other agents while the message it handles has fuel.
struct Starter {
    seed: u64,
    agent: AgentId,
}

impl Starter {
    fn calls(&self, said: &str) -> Vec<Block> {
        let fuel = said
            .rsplit("fuel=")
            .next()
            .and_then(|rest| rest.split_whitespace().next());
        let fuel: u64 = fuel.and_then(|digits| digits.parse().ok()).unwrap_or_default();
        let count = if fuel == 0 {
            0
        } else {
            draw(self.seed, &["count", self.agent.as_str(), said], 3)
        };
        let call = |number: u64| {
            let number = number.to_string();
            let other = draw(self.seed, &["whom", self.agent.as_str(), said, &number], 4);
            let other = whom(other);
            Block::ToolUse(ToolCall {
                call_id: format!("call-{number}"),
                name: START_RUN.to_owned(),
                input: json!({"agent_id": other, "initial_message": format!("part {number} fuel={} now", fuel - 1)}),
            })
        };
        (0..count).map(call).collect()
    }
}

impl Model for Starter {
    fn profile(&self, _: &str) -> ModelProfile {
        ModelProfile::here("sim")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        let said = request
            .entries
            .iter()
            .rev()
            .find(|entry| entry.role == wakeful_core::conversation::Role::User);
        let said = said.map(|entry| text_of(&entry.blocks)).unwrap_or_default();
        let mut blocks = if request.request == 0 {
            self.calls(&said)
        } else {
            Vec::new()
        };
        if blocks.is_empty() && draw(self.seed, &["fails", self.agent.as_str(), &said], 5) == 0 {
            let artifact = FailureArtifact::new(FailureCategory::Protocol, "odd", "no answer");
            return Err(ModelFailure::new(ModelFailureKind::FailFast, artifact));
        }
        if blocks.is_empty() {
            blocks.push(Block::Text { text: "done".into() });
        }
        Ok(ModelResponse {
            blocks,
            usage: Usage::of(1, 1),
        })
    }
}

struct SubRunEngineFactory {
    store: Store,
    ticks: Arc<Ticks>,
    hub: Arc<Hub>,
    seed: u64,
    runner: RunnerId,
}

impl EngineFactory for SubRunEngineFactory {
    type Model = Starter;
    type Tools = Mailer;

    fn resolve_options(&self, _: &Agent, _: &Message) -> ResolvedOptions {
        ResolvedOptions {
            model_ref: "sim:0".into(),
            fallbacks: Vec::new(),
            max_rounds: 5,
            workspace: "/somewhere".into(),
            deny_tools: BTreeSet::new(),
            ask_tools: BTreeSet::new(),
        }
    }

    fn engine(&self, agent: &AgentId, _: &ResolvedOptions) -> Result<Engine<Starter, Mailer>, EngineError> {
        Ok(Engine {
            store: self.store.clone(),
            model: Arc::new(Starter {
                seed: self.seed,
                agent: agent.clone(),
            }),
            tools: Arc::new(Mailer::default()),
            policy: Arc::new(
                PolicyEngine::new(ToolRegistry::new([START_RUN.to_owned()].into())).expect("a policy"),
            ),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::<Ticks>::clone(&self.ticks),
            entropy: Arc::new(Salts),
            halt: Halt::never(),
            observer: Arc::<Hub>::clone(&self.hub),
            runner: self.runner.clone(),
            defaults: EngineDefaults::default(),
        })
    }

    fn engine_for_ending(&self, agent: &AgentId) -> Result<EndingEngine<Starter, Mailer>, EngineError> {
        Err(EngineError::UnknownAgent(agent.clone()))
    }
}

/// Starts a daemon on a store; aborting its task kills it.
fn serve(
    store: &Store,
    ticks: &Arc<Ticks>,
    (seed, life): (u64, u64),
) -> (tokio::task::JoinHandle<()>, RuntimeApi) {
    let hub: Arc<Hub> = Arc::default();
    let runner = RunnerId::new(format!("life-{life}"));
    let shop = SubRunEngineFactory {
        store: store.clone(),
        ticks: Arc::clone(ticks),
        hub: Arc::clone(&hub),
        seed,
        runner: runner.clone(),
    };
    let (service, api, _) = Service::new(Options {
        store: store.clone(),
        writers: WriterMode::Alone,
        runner,
        engine_factory: Arc::new(shop),
        hub,
        halt: Halt::never(),
        clock: Arc::<Ticks>::clone(ticks),
        entropy: Arc::new(Salts),
        governance: EngineDefaults::default(),
    });
    (tokio::spawn(service.run()), api)
}

/// The amount of remaining work: open runs and queued messages.
async fn left(store: &Store) -> usize {
    let looked = store.read(|view| {
        let open = all_runs(view)?
            .into_iter()
            .filter(|(_, status, _)| *status == RunStatus::Open)
            .count();
        let mut queued = 0;
        for name in AGENTS {
            queued += view.queue(&agent_id(name), 100)?.len();
        }
        Ok(open + queued)
    });
    looked.await.expect("read")
}

type RunLine = (RunKey, RunStatus, wakeful_core::id::ThreadId);

fn all_runs(view: &mut View<'_>) -> Result<Vec<RunLine>, wakeful_store::StoreError> {
    let filter = RunFilter {
        limit: ROWS_MAX,
        ..RunFilter::default()
    };
    let rows = view.runs(&filter)?.into_iter();
    Ok(rows.map(|row| (row.run_key, row.status, row.thread_id)).collect())
}

/// Runs one scenario to its end. Returns the number of sub-runs, and the number of refused starts.
async fn play(seed: u64) -> (usize, usize) {
    let store = Store::in_memory("subrun").expect("a store");
    let ticks: Arc<Ticks> = Arc::default();
    let (mut task, mut api) = serve(&store, &ticks, (seed, 0));
    for name in AGENTS {
        let new = NewAgent::new(agent_id(name), "/somewhere".into());
        api.agents.create(new).await.expect("an agent");
    }
    for name in AGENTS {
        let settings = SettingsChange {
            may_start: Change::Set(AGENTS.map(str::to_owned).into()),
            ..SettingsChange::default()
        };
        let set = api.agents.change_settings(agent_id(name), settings);
        set.await.expect("settings");
    }
    for number in 0..3_u64 {
        let first = draw(seed, &["first", &number.to_string()], 4);
        let post = IncomingMessage {
            thread: None,
            agent: agent_id(whom(first)),
            turn: TurnId::parse(&format!("turn-{number}")).expect("a turn"),
            text: format!("task {number} fuel=3 now"),
            attachments: Vec::new(),
            run_options: RunOptions::default(),
            priority: wakeful_core::cause::Priority::Normal,
        };
        api.messages.send(post).await.expect("posted");
    }
    for life in 1..=draw(seed, &["deaths"], 7) {
        let number = life.to_string();
        for _ in 0..draw(seed, &["death", &number], 120) {
            tokio::task::yield_now().await;
        }
        if draw(seed, &["cancels", &number], 3) == 0 {
            let open = store.read(all_runs).await.expect("read");
            if let Some((run, _, _)) = open.iter().find(|(_, status, _)| *status == RunStatus::Open) {
                api.runs.cancel(*run).await.expect("asked for");
            }
        }
        task.abort();
        let _ = task.await;
        (task, api) = serve(&store, &ticks, (seed, life));
    }
    let mut turns = 0;
    while left(&store).await > 0 {
        turns += 1;
        assert!(
            turns < TURNS_MAX,
            "seed {seed}: it never ends: {:?}",
            store.read(all_runs).await
        );
        tokio::task::yield_now().await;
        // Only the checks for an early end wait for time here.
        if turns % 50 == 0 {
            ticks.advance();
        }
    }
    task.abort();
    drop(api);
    judge(&store, seed).await
}

async fn judge(store: &Store, seed: u64) -> (usize, usize) {
    let judged = store.read(move |view| {
        let runs = all_runs(view)?;
        let statuses: BTreeMap<RunKey, RunStatus> =
            runs.iter().map(|(run, status, _)| (*run, *status)).collect();
        let (mut children, mut refused) = (0, 0);
        for (run, status, thread) in &runs {
            let told: Vec<String> = view
                .entries(thread, ROWS_MAX)?
                .iter()
                .filter(|entry| entry.run_key == *run)
                .filter_map(|entry| view.blob(&entry.content).ok().flatten())
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .collect();
            let steps = view.steps(run, 0, 1_000)?;
            let open = |status: StepStatus| status.is_open();
            assert!(
                !steps.iter().any(|step| open(step.status)),
                "seed {seed}: {run} {steps:?}"
            );
            let mut by = BTreeSet::new();
            for child in view.children(run)? {
                children += 1;
                assert!(statuses.contains_key(&child.run_key), "seed {seed}: never begun");
                let parent = view
                    .message(&child.run_key)?
                    .and_then(|message| message.parent)
                    .expect("a parent");
                assert!(by.insert(parent.operation_id), "seed {seed}: one start, two runs");
                let key = child.run_key.to_string();
                let times: usize = told.iter().map(|text| text.matches(&key).count()).sum();
                let expected = usize::from(*status != RunStatus::Cancelled);
                assert!(
                    times == expected || (times == 1 && expected == 0),
                    "seed {seed}: told {times} times"
                );
            }
            let of_starts = steps.iter().filter(|step| step.name == START_RUN);
            refused += of_starts.filter(|step| !by.contains(&step.operation_id)).count();
        }
        Ok((children, refused))
    });
    judged.await.expect("read")
}

#[tokio::test]
async fn every_sub_run_ends_and_is_reported_once_despite_daemon_crashes() {
    let (mut children, mut refused) = (0, 0);
    for seed in 0..WORLDS {
        let (started, kept) = play(seed).await;
        (children, refused) = (children + started, refused + kept);
    }
    // Scenarios in which nothing happens prove nothing.
    assert!(
        children > 50 && refused > 10,
        "{children} started, {refused} refused"
    );
}
