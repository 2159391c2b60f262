//! The binary's implementations of the interfaces that the service and the server require: engines,
//! workspaces, models and shutdown.

use std::collections::BTreeSet;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use wakeful_api::{
    AgentModelState, AgentPolicy, BackupStatus, Confinement, DefaultModel, PolicyExplanation, SettingsList,
    SettingsProblem,
};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::message::{Message, RunOptions};
use wakeful_core::policy::{ActionRules, RuleDefaults, check_tool_names};
use wakeful_core::problem::{Problem, with_causes};
use wakeful_core::prompt::Guidance;
use wakeful_core::redact::Redactor;
use wakeful_core::run::ROUNDS_MAX;
use wakeful_core::sandbox_policy::SandboxPolicy;
use wakeful_core::tool::ToolContract;
use wakeful_models::Models;
use wakeful_ports::snapshot::WorkspaceSnapshots;
use wakeful_runtime::service::{EndingEngine, EngineFactory};
use wakeful_runtime::wake::ResolvedOptions;
use wakeful_runtime::{EngineError, Halt, HaltSwitch, Observer};
use wakeful_server::{
    ExplainedCall, FolderHost, Host, LocalPeer, MissingKey, Peer, ProviderHost, SecretHost,
};
use wakeful_store::rows::Agent;
use wakeful_tools::hook::HookFiles;
use wakeful_tools::{SecretSource as _, Tools, process_ancestry};

use super::backup::BackupFolder;
use crate::cli::chat::history;
use crate::config::{self, LiveSettings};
use crate::denied_paths;
use crate::failure::Failure;
use crate::guidance::GuidanceFiles;
use crate::home::Home;
use crate::model::{DEMO, ModelChain, ModelChoiceReason, ModelRegistry, demo};
use crate::open_home::{
    EngineOptions, OpenHome, RealEngine, SandboxRequirement, tool_names, tools_for_facts,
};
use crate::policy::{known_engine, policy_problem, view};
use crate::provider_setup::ProviderSetup;
use crate::sandbox_probe::KnownConfinement;
use crate::secret::SecretStore;
use crate::trust::HomeFolders;
use crate::workspace::{WorkspacePath, snapshots};

/// Creates engines for the service.
pub(crate) struct DaemonEngineFactory {
    pub(crate) place: Arc<OpenHome>,
    pub(crate) config: LiveSettings,
    pub(crate) models: ModelRegistry,
    pub(crate) sandboxing: SandboxRequirement,
    /// Receives committed events.
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) halt: Halt,
    /// The engine of the first run, if it is known before the message is sent.
    pub(crate) first: Option<FirstEngine>,
}

/// An engine that was created before the message was sent. Creating one checks every denied path, which
/// takes a millisecond or more.
pub(crate) struct FirstEngine {
    pub(crate) chain: ModelChain,
    pub(crate) workspace: String,
    pub(crate) engine: RealEngine,
}

impl FirstEngine {
    fn fits(&self, limits: &ResolvedOptions) -> bool {
        self.workspace == limits.workspace
            && self.chain.model_ref == limits.model_ref
            && self.chain.fallbacks == limits.fallbacks
    }
}

impl DaemonEngineFactory {
    fn make(&self, limits: &ResolvedOptions) -> Result<RealEngine, Failure> {
        if let Some(first) = self.first.as_ref().filter(|first| first.fits(limits)) {
            return Ok(first.engine.clone());
        }
        let models = self.models.route(&limits.model_ref, &limits.fallbacks)?;
        let workspace = WorkspacePath::look(limits.workspace.as_ref(), self.place.home.root())?;
        self.place.engine(EngineOptions {
            models,
            workspace: &workspace,
            sandboxing: self.sandboxing,
            halt: self.halt.clone(),
            observer: Arc::clone(&self.observer),
        })
    }
}

impl EngineFactory for DaemonEngineFactory {
    type Model = Models;
    type Tools = Tools;

    fn resolve_options(&self, agent: &Agent, message: &Message) -> ResolvedOptions {
        let RunOptions {
            model_ref,
            max_rounds,
            workspace,
            deny_tools,
            ask_tools,
            history: _,
            answer_schema: _,
            // The engine reads them from the message.
            is_read_only: _,
            limits: _,
        } = message.options.clone();
        // A missing route is reported when the engine is created, which then fails.
        let chain = self.models.chain(Some(agent.into()), model_ref.as_deref());
        let chain = chain.unwrap_or_else(|_| ModelChain {
            model_ref: model_ref.clone().unwrap_or_default(),
            fallbacks: Vec::new(),
            why: ModelChoiceReason::Asked,
        });
        ResolvedOptions {
            model_ref: chain.model_ref,
            fallbacks: chain.fallbacks,
            max_rounds: max_rounds
                .or(agent.settings.max_rounds)
                .unwrap_or_else(|| self.config.current().agent.max_rounds),
            workspace: workspace.unwrap_or_else(|| agent.workspace.clone()),
            deny_tools,
            ask_tools,
        }
    }

    fn engine(&self, agent: &AgentId, limits: &ResolvedOptions) -> Result<RealEngine, EngineError> {
        self.make(limits).map_err(|failure| no_engine(agent, failure))
    }

    fn snapshots(&self) -> Arc<dyn WorkspaceSnapshots> {
        Arc::new(snapshots(self.place.home.root()))
    }

    fn engine_for_ending(&self, agent: &AgentId) -> Result<EndingEngine<Models, Tools>, EngineError> {
        let made = || {
            let workspace = WorkspacePath::stand_in(self.place.home.root())?;
            let engine = self.place.engine(EngineOptions {
                models: demo()?,
                workspace: &workspace,
                sandboxing: self.sandboxing,
                halt: self.halt.clone(),
                observer: Arc::clone(&self.observer),
            })?;
            Ok((engine, Box::new(workspace) as Box<dyn Send>))
        };
        made().map_err(|failure| no_engine(agent, failure))
    }
}

/// Converts a failure into the error that is shown for a stuck agent.
fn no_engine(agent: &AgentId, failure: Failure) -> EngineError {
    EngineError::NoEngine {
        agent: agent.clone(),
        problem: Box::new(failure.into()),
    }
}

/// The operations that the server delegates to the binary.
pub(crate) struct DaemonHost {
    pub(crate) home: PathBuf,
    /// The parent folder for workspaces of agents that do not name one; each agent gets its own subfolder.
    pub(crate) workspaces: Option<PathBuf>,
    pub(crate) models: ModelRegistry,
    pub(crate) settings: LiveSettings,
    pub(crate) secrets: SecretStore,
    pub(crate) switch: Arc<HaltSwitch>,
    pub(crate) backups: BackupFolder,
    /// The confinement of commands; none in a process that runs only one command.
    pub(crate) confinement: Option<KnownConfinement>,
}

impl DaemonHost {
    fn own_folder(&self, agent: &AgentId) -> Result<PathBuf, Failure> {
        let Some(parent) = &self.workspaces else {
            let message = "cannot determine your home folder to create workspaces in";
            let hint = "choose a folder: `wakeful config set agent.workspace DIR`";
            return Err(Failure::new("workspace_missing", message, hint));
        };
        let folder = parent.join(agent.as_str());
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder);
        made.map_err(|error| {
            let attempt = format!("cannot create the workspace {}", folder.display());
            Failure::io("workspace_unusable", &attempt, &error, "choose another folder")
        })?;
        Ok(folder)
    }

    fn check_workspace(&self, path: &Path) -> Result<String, Problem> {
        if !path.is_absolute() {
            let message = format!("the workspace path {} is not absolute", path.display());
            return Err(
                Failure::new("bad_workspace", message, "use an absolute path, starting with /").into(),
            );
        }
        Ok(WorkspacePath::look(path, &self.home)?.text.clone())
    }
}

impl Host for DaemonHost {
    fn workspace(&self, agent: &AgentId, wanted: Option<&str>) -> Result<String, Problem> {
        let settings = self.settings.current();
        match wanted.or(settings.agent.workspace.as_deref()) {
            Some(path) => self.check_workspace(path.as_ref()),
            None => self.check_workspace(&self.own_folder(agent)?),
        }
    }

    fn check_options(&self, wishes: RunOptions) -> Result<RunOptions, Problem> {
        if let Some(rounds) = wishes.max_rounds
            && !(1..=ROUNDS_MAX).contains(&rounds)
        {
            let message = format!("max_rounds is {rounds}, but must be between 1 and {ROUNDS_MAX}");
            return Err(Failure::new("bad_max_rounds", message, "use a number within these bounds").into());
        }
        for (field, tools) in [
            ("deny_tools", &wishes.deny_tools),
            ("ask_tools", &wishes.ask_tools),
        ] {
            let unknown = check_tool_names(&tool_names(), tools);
            unknown.map_err(|error| {
                let message = format!("{field}: {error}");
                Failure::new("unknown_tool", message, "use names from the list")
            })?;
        }
        let named = |name| self.models.named(name);
        let model_ref = wishes.model_ref.as_deref().map(named).transpose()?;
        let workspace = wishes
            .workspace
            .as_deref()
            .map(|path| self.check_workspace(path.as_ref()));
        Ok(RunOptions {
            model_ref,
            workspace: workspace.transpose()?,
            ..wishes
        })
    }

    fn inference_versions(&self) -> BTreeSet<PolicyVersion> {
        self.models.policy_versions()
    }

    fn model_state(&self, agent: &Agent) -> Option<AgentModelState> {
        self.models.state(agent.into())
    }

    fn default_model(&self) -> DefaultModel {
        let found = self.models.default_ref();
        let reference = found.map_or_else(|_| DEMO.to_owned(), |(reference, _)| reference);
        DefaultModel {
            is_demo: reference == DEMO,
            reference,
        }
    }

    fn rule_defaults(&self) -> RuleDefaults {
        self.settings.current().rules()
    }

    fn settings(&self) -> Result<SettingsList, Problem> {
        Ok(self.settings.list())
    }

    fn change_setting(&self, name: &str, value: &Value) -> Result<(), Problem> {
        let home = Home::open(&self.home)?;
        Ok(config::change_value(&home, name, value)?)
    }

    fn settings_status(&self) -> (Option<SettingsProblem>, Vec<String>) {
        let problem = self.settings.problem().or_else(|| policy_problem(&self.home));
        (problem, self.settings.awaiting_restart())
    }

    fn policies(
        &self,
        agent: &AgentId,
        workspace: &str,
        rules: &ActionRules,
    ) -> Result<AgentPolicy, Problem> {
        let denied = denied_paths::shown(&self.settings.current(), &self.home);
        let sandbox = SandboxPolicy::new(
            agent,
            workspace,
            &denied_paths::resolved(&rules.sandbox, agent),
            denied,
        );
        let policy = view::agent_policy(&*known_engine(&self.home)?, agent, rules, sandbox)?;
        Ok(view::with_hooks(policy, &HookFiles::new(&self.home).of(agent)))
    }

    fn explain_call(&self, call: &ExplainedCall) -> Result<PolicyExplanation, Problem> {
        let settings = self.settings.current();
        let tools = tools_for_facts(&self.home, &settings, call.workspace.as_ref())?;
        Ok(view::explain(&*known_engine(&self.home)?, &tools, call))
    }

    fn tools(&self) -> BTreeSet<String> {
        tool_names()
    }

    fn tool_contracts(&self) -> Vec<ToolContract> {
        let names = tool_names();
        let contracts = names
            .iter()
            .filter_map(|name| wakeful_tools::contract::contract(name));
        contracts.cloned().collect()
    }

    fn instructions(&self, agent: &AgentId) -> Result<Option<String>, Problem> {
        Ok(GuidanceFiles::new(&self.home).instructions(agent)?)
    }

    fn set_instructions(&self, agent: &AgentId, text: Option<&str>) -> Result<(), Problem> {
        Ok(GuidanceFiles::new(&self.home).set_instructions(agent, text)?)
    }

    fn erase_typed(&self, agent: &AgentId) -> Result<u64, Problem> {
        let removed = history::erase(&self.home, agent).map_err(|error| {
            let message = format!("the contents are erased, but not the messages in chat_history: {error}");
            let hint = "repeat the erasure, or remove the file chat_history of the home";
            Problem::new("history_not_erased", message, hint)
        });
        removed.map(|count| count as u64)
    }

    fn missing_key(&self, agent: &Agent) -> Option<MissingKey> {
        self.models.missing_key(agent.into())
    }

    fn guidance(&self, agent: &AgentId, workspace: &str) -> Guidance {
        GuidanceFiles::new(&self.home).read(agent, workspace.as_ref())
    }

    fn is_tool(&self, peer: Peer) -> bool {
        match peer {
            Peer::Network(address) => process_ancestry::is_peer(address),
            Peer::Local(LocalPeer { pid, started }) => process_ancestry::is_process(pid, started),
            Peer::InProcess => process_ancestry::is_own(),
        }
    }

    fn providers(&self) -> Arc<dyn ProviderHost> {
        Arc::new(ProviderSetup {
            home: self.home.clone(),
            models: self.models.clone(),
        })
    }

    fn secrets(&self) -> Arc<dyn SecretHost> {
        Arc::new(self.secrets.clone())
    }

    fn redactor(&self) -> Arc<Redactor> {
        self.secrets.redactor()
    }

    fn folders(&self) -> Arc<dyn FolderHost> {
        Arc::new(HomeFolders {
            home: self.home.clone(),
        })
    }

    fn backup(&self) -> BackupStatus {
        self.backups.status()
    }

    fn confinement(&self) -> Option<Confinement> {
        self.confinement.as_ref()?.get()
    }

    fn stop(&self) {
        self.switch.set();
    }

    fn on_service_failed(&self, error: &EngineError) {
        tracing::error!(error = %with_causes(error), "internal error (please report)");
    }
}
