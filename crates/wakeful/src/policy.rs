//! The policy of agents: the policies for tools, and the permissions for models from the settings.

pub(crate) mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_api::SettingsProblem;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::InferencePermissions;
use wakeful_core::policy::{
    ActionRules, HostDecision, PathDecisions, PolicyFiles, PolicyQuery, PolicyVerdict, RuleDefaults, Target,
};
use wakeful_policy::{FolderPolicies, PolicyEngine, PolicyFolders, PolicyProblem, ToolRegistry};
use wakeful_ports::policy::Policy;

use crate::config::LiveSettings;
use crate::failure::Failure;
use crate::model::redirected_providers;
use crate::open_home::{SandboxRequirement, tool_names};

/// The tool that needs a sandbox, unless a person accepted that there is none.
const SANDBOXED_TOOL: &str = "ExecCommand";

/// The code of a policy file that is not in force.
pub(crate) const POLICY_INVALID: &str = "policy_invalid";

/// The engine of each home that this process uses: it holds the last valid policies while a file is
/// invalid, so everything that decides or explains must share it.
static ENGINES: Mutex<BTreeMap<PathBuf, Arc<PolicyEngine>>> = Mutex::new(BTreeMap::new());

/// The engine that decides in this process. It keeps the last valid policies for the next process.
pub(crate) fn policy_engine(
    home: &Path,
    sandboxing: SandboxRequirement,
) -> Result<Arc<PolicyEngine>, Failure> {
    let engine = engine_for(home, sandboxing)?;
    if let Some(folders) = engine.folders() {
        folders.keep_last_valid();
    }
    Ok(engine)
}

fn engine_for(home: &Path, sandboxing: SandboxRequirement) -> Result<Arc<PolicyEngine>, Failure> {
    let sandbox_minimum = match sandboxing {
        SandboxRequirement::Required => [(SANDBOXED_TOOL.to_owned(), 1)].into(),
        SandboxRequirement::Optional => BTreeMap::new(),
    };
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    // An engine that was made to explain a call does not know yet whether commands need a sandbox.
    if let Some(engine) = engines.get(home)
        && engine.tools().sandbox_minimum == sandbox_minimum
    {
        return Ok(Arc::clone(engine));
    }
    let tools = ToolRegistry {
        registered: tool_names(),
        sandbox_minimum,
    };
    let engine = PolicyEngine::following(home.to_owned(), tools).map_err(|problem| failure(&problem))?;
    let engine = Arc::new(engine);
    engines.insert(home.to_owned(), Arc::clone(&engine));
    Ok(engine)
}

/// The engine that explains and lists policies: the one that decides in this process, if there is one.
pub(crate) fn known_engine(home: &Path) -> Result<Arc<PolicyEngine>, Failure> {
    let known = ENGINES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(home)
        .cloned();
    match known {
        Some(engine) => Ok(engine),
        None => engine_for(home, SandboxRequirement::Required),
    }
}

/// The first policy file for all agents that is not in force, as a problem of the settings.
pub(crate) fn policy_problem(home: &Path) -> Option<SettingsProblem> {
    let engine = known_engine(home).ok()?;
    let folder = engine.folders()?.folder(None);
    problem_of(&folder)
}

/// The same for a process that decides on nothing, without an engine.
pub(crate) fn idle_policy_problem(home: &Path) -> Option<SettingsProblem> {
    problem_of(&PolicyFolders::new(home.to_owned(), tool_names()).folder(None))
}

fn problem_of(folder: &FolderPolicies) -> Option<SettingsProblem> {
    let consequence = if folder.is_incomplete {
        "no call is permitted until it is corrected"
    } else {
        "its last valid version stays in force"
    };
    folder.problems.first().map(|problem| SettingsProblem {
        code: POLICY_INVALID.to_owned(),
        message: format!("{problem}; {consequence}"),
        line: u32::try_from(problem.line).ok(),
        hint: CHECK_HINT.to_owned(),
    })
}

const CHECK_HINT: &str = "correct the file; `wakeful policy check` shows every problem";

/// The error of a policy file that is refused.
pub(crate) fn failure(problem: &PolicyProblem) -> Failure {
    Failure::new(POLICY_INVALID, problem.to_string(), CHECK_HINT)
}

#[derive(Debug)]
pub(crate) struct ConfiguredPolicy {
    settings: LiveSettings,
    engine: Arc<PolicyEngine>,
}

impl ConfiguredPolicy {
    pub(crate) const fn new(settings: LiveSettings, engine: Arc<PolicyEngine>) -> Self {
        Self { settings, engine }
    }
}

impl Policy for ConfiguredPolicy {
    fn decide(&self, question: &PolicyQuery<'_>) -> PolicyVerdict {
        self.engine.decide(question)
    }

    fn decide_host(&self, call: &PolicyQuery<'_>, host: &Target) -> HostDecision {
        self.engine.decide_host(call, host)
    }

    fn decide_paths(&self, call: &PolicyQuery<'_>, paths: &[Target]) -> PathDecisions {
        self.engine.decide_paths(call, paths)
    }

    fn version(&self, agent: &AgentId, rules: &ActionRules) -> PolicyVersion {
        self.engine.version(agent, rules)
    }

    fn files(&self, agent: &AgentId) -> PolicyFiles {
        self.engine.files(agent)
    }

    fn inference(&self, agent: &AgentId) -> (InferencePermissions, PolicyVersion) {
        let settings = self.settings.current();
        let moved = redirected_providers(&settings);
        (
            settings.permissions(agent),
            settings.policy_version(agent, &moved),
        )
    }

    fn defaults(&self) -> RuleDefaults {
        self.settings.current().rules()
    }
}
