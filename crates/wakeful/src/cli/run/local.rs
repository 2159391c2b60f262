//! `wakeful run` without a daemon: runs the daemon's loop in this process, limited to one run and its
//! sub-runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_api::{Admission, Decision, GetAgentStatus, Run, Text};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::problem::Problem;
use wakeful_core::run::{RunMachine, RunStatus};
use wakeful_models::Models;
use wakeful_ports::fail_point;
use wakeful_runtime::EngineError;
use wakeful_runtime::api::NewAgent;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::run::decode;
use wakeful_runtime::service::{Service, StuckAgents};
use wakeful_runtime::stored_run;
use wakeful_store::StoreError;

use super::ask::{self, AskOutcome};
use super::{RunRequest, cap, submit, workspace};
use crate::backend::Backend;
use crate::cli::decision::undecided;
use crate::config::{LiveSettings, Settings};
use crate::daemon::host::{DaemonEngineFactory, FirstEngine};
use crate::daemon::workers::service_options;
use crate::failure::{DENIED, Failure, UNDECIDED};
use crate::global_args::GlobalArgs;
use crate::model::{ModelChain, ModelRegistry};
use crate::open_home::{EngineOptions, OpenHome, SandboxRequirement};
use crate::show::{Out, Progress};
use crate::signals::Signals;
use crate::trust::{self, FolderChoice};
use crate::workspace::WorkspacePath;

/// Sends the message and drives its run.
pub(super) async fn start(request: RunRequest<'_>, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let RunRequest { call, args, settings } = request;
    let registry = ModelRegistry::new(&settings.config);
    let wished: Option<String> = settings.value_for_this_call("model.default");
    let home = shared.home()?;
    if wished.is_some() || !call.may_be_known(shared, &home) {
        call.models(&registry, None, wished.as_deref())?;
    }
    call.look_ahead(args, shared, &home).await?;
    let place = OpenHome::open_for_writing(shared)
        .await?
        .with_settings(&settings.config);
    place
        .run_and_close(out, async |place| {
            let known = match call.named.clone() {
                Some(agent) => place.store.read(move |view| view.agent(&agent)).await?,
                None => None,
            };
            let (chain, models) = call.models(&registry, known.as_ref(), wished.as_deref())?;
            chain.print_chosen_model(out);
            if let Some(words) = place.upgrade_journal().await {
                out.note(&words);
            }
            place.recover_sagas_and_tell(out).await?;
            cap::settle(place, &models, &settings.config, out).await?;
            let workspace = workspace(args.workspace.as_deref(), known.as_ref(), &home)?;
            match (&args.workspace, &known) {
                (Some(_), _) => trust::settle(&home, &workspace.text, FolderChoice::Named)?,
                (None, None) => trust::settle(&home, &workspace.text, FolderChoice::Current)?,
                // The agent has its own folder, which was settled when the agent was created.
                (None, Some(_)) => {}
            }
            let mut local = LocalRun::new(place, registry, &settings.config, out)?;
            local.sandboxing = args.sandboxing();
            let named = args.workspace.as_ref().map(|_| workspace.text.clone());
            let asked = [
                chain.model_ref.clone(),
                workspace.text.clone(),
                settings.config.agent.max_rounds.to_string(),
                list(&call.deny_tools),
                list(&call.ask_tools),
                call.is_read_only.to_string(),
            ];
            let service = local.service_for(NewRun {
                create: call.new_agent(args, &workspace),
                chain,
                models,
                workspace,
            })?;
            let message = submit::message(call, settings, named);
            let accepted = service.backend.call(message).await?;
            let run = submit::run_of(&accepted)?;
            if accepted.admission == Admission::Duplicate {
                local.print_known_run(run, asked).await?;
            }
            let run = local.drive(service, &call.agent, run).await?;
            Ok(local.show(&run))
        })
        .await
}

fn list(tools: &BTreeSet<String>) -> String {
    tools.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

/// Which options of this call differ from those that an open run started with; the run keeps its own.
fn differences(stored: &RunMachine, asked: [String; 6]) -> Vec<String> {
    let stored = [
        ("model", stored.model_ref.clone()),
        ("workspace", stored.workspace.clone()),
        ("max-rounds", stored.max_rounds.to_string()),
        ("deny-tools", list(&stored.deny_tools)),
        ("ask-tools", list(&stored.ask_tools)),
        ("read-only", stored.is_read_only.to_string()),
    ];
    let pairs = stored.into_iter().zip(asked);
    pairs
        .filter(|((_, stored), asked)| stored != asked)
        .map(|((name, stored), asked)| {
            format!("the run keeps its original {name}: {stored:?}, not {asked:?}")
        })
        .collect()
}

/// Why a run does not continue.
pub(super) enum DriveFailure {
    /// The failure affects only this run.
    One(Failure),
    /// The failure would affect every other run too.
    All(Failure),
}

/// The run of the message to be sent.
struct NewRun {
    /// The agent to create with the message, if it does not exist.
    create: Option<NewAgent>,
    chain: ModelChain,
    models: Models,
    workspace: WorkspacePath,
}

/// The loop in this process and its API.
pub(super) struct LocalService {
    service: Service<DaemonEngineFactory>,
    stuck: StuckAgents,
    backend: Backend,
}

pub(super) struct LocalRun<'a> {
    pub(super) place: &'a OpenHome,
    pub(super) sandboxing: SandboxRequirement,
    pub(super) out: &'a Out,
    registry: ModelRegistry,
    config: &'a Settings,
    signals: Signals,
}

impl<'a> LocalRun<'a> {
    /// Installs signal handlers: from now on, signals stop the runs at a safe point.
    pub(super) fn new(
        place: &'a OpenHome,
        registry: ModelRegistry,
        config: &'a Settings,
        out: &'a Out,
    ) -> Result<Self, Failure> {
        Ok(Self {
            place,
            sandboxing: SandboxRequirement::Required,
            out,
            registry,
            config,
            signals: Signals::listen()?,
        })
    }

    /// Creates a service for existing runs.
    pub(super) fn service(&self) -> Result<LocalService, Failure> {
        let hub = Arc::default();
        self.over(self.factory(&hub), &hub, None)
    }

    /// Creates a service that starts the run of a message immediately. The engine is created here, so that
    /// an unusable workspace is reported before the message is sent.
    fn service_for(&self, new: NewRun) -> Result<LocalService, Failure> {
        let hub = Arc::default();
        let mut factory = self.factory(&hub);
        let engine = self.place.engine(EngineOptions {
            models: new.models,
            workspace: &new.workspace,
            sandboxing: factory.sandboxing,
            halt: factory.halt.clone(),
            observer: Arc::clone(&factory.observer),
        })?;
        factory.first = Some(FirstEngine {
            chain: new.chain,
            workspace: new.workspace.text.clone(),
            engine,
        });
        self.over(factory, &hub, new.create)
    }

    fn factory(&self, hub: &Arc<Hub>) -> DaemonEngineFactory {
        DaemonEngineFactory {
            place: self.place.shared(),
            config: LiveSettings::fixed(self.config),
            models: self.registry.clone(),
            sandboxing: self.sandboxing,
            observer: Arc::new(Progress::new(self.out, Arc::clone(hub))),
            halt: self.signals.halt(),
            first: None,
        }
    }

    fn over(
        &self,
        factory: DaemonEngineFactory,
        hub: &Arc<Hub>,
        create: Option<NewAgent>,
    ) -> Result<LocalService, Failure> {
        let (service, api, stuck) = Service::new(service_options(self.place, factory, hub));
        let api = api.starting_at_once(service.start_at_once(create));
        Ok(LocalService {
            backend: Backend::of_api(self.place, api, self.config)?,
            service,
            stuck,
        })
    }

    /// Reports the state of a message that was sent before.
    async fn print_known_run(&self, run: RunKey, asked: [String; 6]) -> Result<(), Failure> {
        let found = self.place.store.read(move |view| {
            let queued = view.queue_row(&run)?.map(|row| row.message);
            Ok((view.run(&run)?, queued))
        });
        match found.await? {
            // A brake kept this run from starting; it starts now.
            (None, Some(message)) if message.is_from_run_command() => Ok(()),
            (None, Some(_)) => Err(queued(
                run,
                "start the daemon to answer it: `wakeful daemon start`",
            )),
            (row, None | Some(_)) => {
                self.out.note("this message was sent before; showing its run");
                let turn = row.filter(|row| row.status == RunStatus::Open);
                let turn = turn.and_then(|row| decode(&row).ok());
                let lines = turn.map(|turn| differences(&turn, asked));
                lines.iter().flatten().for_each(|line| self.out.note(line));
                Ok(())
            }
        }
    }

    /// Drives a run and its sub-runs until it ends. A person at the terminal is asked the decisions that the
    /// run waits for. If it cannot continue by itself, returns the reason.
    pub(super) async fn drive(
        &mut self,
        local: LocalService,
        agent: &AgentId,
        run: RunKey,
    ) -> Result<Run, DriveFailure> {
        let mut local = local;
        loop {
            let LocalService {
                service,
                stuck,
                backend,
            } = local;
            let driving = self.out.while_shown(run, service.drive(run));
            let driven = self.signals.during(driving, self.out).await;
            driven.map_err(EngineError::from)?;
            let seen = stored_run::load(&self.place.store, run).await?;
            let seen = wakeful_server::view::run(&seen);
            if !seen.outcome.is_under_way() {
                let recovered = self.place.recover_sagas_and_tell(self.out).await;
                recovered.map_err(EngineError::from)?;
                return Ok(seen);
            }
            let open = OpenRun {
                agent,
                run,
                seen: &seen,
            };
            match self.why_open(open, &stuck, &backend).await {
                OpenReason::Undecided(pending) => {
                    if !self.has_asked(&backend, &pending).await? {
                        let run = format!("run {run} of agent {agent}");
                        let failure = undecided(&run, &pending, backend.channel(), self.out);
                        return Err(DriveFailure::One(failure));
                    }
                    local = self.service()?;
                }
                OpenReason::Failure(failure) => return Err(failure),
            }
        }
    }

    /// Asks the decisions at the terminal. Returns false if one is still pending.
    async fn has_asked(&self, backend: &Backend, pending: &[Decision]) -> Result<bool, DriveFailure> {
        if !ask::can_ask(self.out) {
            return Ok(false);
        }
        let asked = ask::ask(backend, pending, self.out).await;
        Ok(asked? == AskOutcome::Answered)
    }

    /// Prints a finished run and returns the exit status.
    pub(super) fn show(&self, run: &Run) -> u8 {
        fail_point::fail_point("end.before_report");
        self.out.run(run);
        submit::exit_code(run)
    }

    /// Determines why a run does not continue.
    async fn why_open(&self, open: OpenRun<'_>, stuck: &StuckAgents, backend: &Backend) -> OpenReason {
        let OpenRun { agent, run, seen } = open;
        if self.signals.halt().is_set() {
            let failure = Failure::interrupted(run, self.signals.exit());
            return OpenReason::Failure(DriveFailure::All(failure));
        }
        if let Some(error) = stuck.of(agent) {
            return OpenReason::Failure(DriveFailure::from(error.as_ref()));
        }
        let one = |failure| OpenReason::Failure(DriveFailure::One(failure));
        let agent_id = Text(agent.clone());
        let status = match backend.call(GetAgentStatus { agent_id }).await {
            Ok(status) => status,
            Err(failure) => return one(failure),
        };
        let is_queued = seen.outcome == RunStatus::Queued;
        if status.is_braked {
            let agent = agent.clone();
            return one(match is_queued {
                true => kept(run),
                false => EngineError::Braked { agent, run }.into(),
            });
        }
        let pending = match backend.decisions_of(run).await {
            Ok(pending) => pending,
            Err(failure) => return one(failure),
        };
        if is_queued {
            one(queued(
                run,
                "run `wakeful run --resume` or `wakeful daemon start` to answer it",
            ))
        } else if pending.is_empty() {
            one(waits(seen, stuck))
        } else {
            OpenReason::Undecided(pending)
        }
    }
}

/// Why a run is open and not driven.
enum OpenReason {
    /// It waits for these decisions.
    Undecided(Vec<Decision>),
    Failure(DriveFailure),
}

/// A run that has not ended, with what is known about it.
struct OpenRun<'a> {
    agent: &'a AgentId,
    run: RunKey,
    seen: &'a Run,
}

/// The failure of a message that waits behind another one.
fn queued(run: RunKey, hint: &str) -> Failure {
    let message = format!("the message of run {run} is queued behind other messages");
    Failure::new("message_queued", message, hint)
}

/// The failure of a message whose run a brake holds.
fn kept(run: RunKey) -> Failure {
    let message = format!("the agent is braked; run {run} is queued and starts after the brake is released");
    let hint = "release the brake with `wakeful brake off` (or `wakeful brake off --agent ID`), then use `wakeful run --resume` or a daemon";
    Failure::new("braked", message, hint).with_exit(DENIED)
}

/// The failure of a run whose sub-run waits for a decision, for budget or for a brake to be released.
fn waits(seen: &Run, stuck: &StuckAgents) -> Failure {
    let run = &seen.run_key;
    let unended = seen.children.iter().filter(|child| !child.status.is_ended());
    let agents: BTreeSet<&str> = unended.map(|child| child.agent_id.as_str()).collect();
    if agents.is_empty() {
        let message = format!("run {run} is open and can continue");
        return Failure::new("run_waiting", message, "continue it with `wakeful run --resume`")
            .with_exit(UNDECIDED);
    }
    let agents = agents.into_iter().collect::<Vec<_>>().join(", ");
    let why = stuck.all().pop().map(|(_, error)| failure_of(&error));
    let why = why.map(|failure| format!(": {failure}")).unwrap_or_default();
    let message = format!("run {run} waits for a sub-run of {agents}{why}");
    let hint =
        format!("`wakeful runs show {run}` shows the sub-run; resolve it, then use `wakeful run --resume`");
    Failure::new("run_waiting", message, hint).with_exit(UNDECIDED)
}

/// Converts an error of the loop. The agent is not repeated, because the caller named it.
fn failure_of(error: &EngineError) -> Failure {
    if let EngineError::NoEngine { problem, .. } = error {
        return (**problem).clone().into();
    }
    Problem::from(error).into()
}

impl From<&EngineError> for DriveFailure {
    fn from(error: &EngineError) -> Self {
        use StoreError::{Braked, Conflict, FenceLost, Malformed, QueueFull};
        // These errors concern the rows of one run; other runs can continue.
        let is_of_one = matches!(
            error,
            EngineError::Store(Conflict | FenceLost(_) | QueueFull(_) | Braked(_) | Malformed(_))
        );
        let is_of_all = matches!(error, EngineError::LeaseLost(_) | EngineError::Store(_)) && !is_of_one;
        match is_of_all {
            true => Self::All(failure_of(error)),
            false => Self::One(failure_of(error)),
        }
    }
}

impl From<EngineError> for DriveFailure {
    fn from(error: EngineError) -> Self {
        Self::from(&error)
    }
}

impl From<Failure> for DriveFailure {
    fn from(failure: Failure) -> Self {
        Self::One(failure)
    }
}

impl From<DriveFailure> for Failure {
    fn from(failure: DriveFailure) -> Self {
        match failure {
            DriveFailure::One(failure) | DriveFailure::All(failure) => failure,
        }
    }
}
