//! The contracts of the tools, from the file that is built into the program, and the permissions that the
//! registry claims for each. A tool is offered and performed only while both agree.

use std::sync::LazyLock;

use wakeful_core::sub_run::START_RUN;
use wakeful_core::tool::{
    AgentCapability, Capability, ContractError, EnvironmentCapability, RegisteredTool, ScopeRule,
    ToolContract, ToolContracts, WEB_SEARCH,
};

use crate::files::patch::apply;
use crate::files::{edit, read, scan};
use crate::registry::{self, ToolEntry};
use crate::{arguments, journal, journal_listing, journal_reading, web};

/// The contract file.
pub const CONTRACT_FILE: &str = include_str!("../../../docs/agent_tools/agent_tool_contract_spec.yaml");

const COMMAND: Capability = Capability::Environment(EnvironmentCapability::CommandRun);
const AGENT_START: Capability = Capability::Environment(EnvironmentCapability::AgentStart);
const FILE_READ: Capability = Capability::Environment(EnvironmentCapability::FileRead);
const FILE_WRITE: Capability = Capability::Environment(EnvironmentCapability::FileWrite);
const WEB_READ: Capability = Capability::Environment(EnvironmentCapability::WebRead);
const CATEGORY_READ: Capability = Capability::Journal(AgentCapability::CategoryRead);
const DAY_PLAN_READ: Capability = Capability::Journal(AgentCapability::DayPlanRead);
const RATING_READ: Capability = Capability::Journal(AgentCapability::RatingRead);
const TASK_READ: Capability = Capability::Journal(AgentCapability::TaskRead);
const TASK_WRITE: Capability = Capability::Journal(AgentCapability::TaskWrite);

/// What the registry claims for a tool: the capabilities it uses, and the rules about what it reaches.
struct Claim {
    tool: &'static str,
    capabilities: &'static [Capability],
    scope_rules: &'static [ScopeRule],
}

/// One claim per tool. A registered tool without a claim has no contract.
const CLAIMS: [Claim; 20] = [
    Claim {
        tool: arguments::TOOL,
        capabilities: &[COMMAND],
        scope_rules: &[ScopeRule::Paths, ScopeRule::Hosts],
    },
    Claim {
        tool: journal::CREATE_TASK,
        capabilities: &[TASK_WRITE],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal::UPDATE_TASK,
        capabilities: &[TASK_READ, TASK_WRITE],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_reading::LIST_TASKS,
        capabilities: &[TASK_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_reading::GET_TASK,
        capabilities: &[TASK_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_reading::LIST_CATEGORIES,
        capabilities: &[CATEGORY_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_listing::LIST_CHECKLISTS,
        capabilities: &[TASK_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_listing::LIST_TIME_ENTRIES,
        capabilities: &[TASK_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_listing::LIST_DAY_PLANS,
        capabilities: &[DAY_PLAN_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_listing::LIST_RATINGS,
        capabilities: &[RATING_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: journal_listing::LIST_LINKS,
        capabilities: &[TASK_READ],
        scope_rules: &[ScopeRule::Categories],
    },
    Claim {
        tool: START_RUN,
        capabilities: &[AGENT_START],
        scope_rules: &[ScopeRule::Agents],
    },
    Claim {
        tool: read::READ_FILE,
        capabilities: &[FILE_READ],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: edit::WRITE_FILE,
        capabilities: &[FILE_WRITE],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: edit::EDIT_FILE,
        capabilities: &[FILE_READ, FILE_WRITE],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: apply::APPLY_PATCH,
        capabilities: &[FILE_READ, FILE_WRITE],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: scan::LIST_FILES,
        capabilities: &[FILE_READ],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: scan::SEARCH_FILES,
        capabilities: &[FILE_READ],
        scope_rules: &[ScopeRule::Paths],
    },
    Claim {
        tool: web::TOOL,
        capabilities: &[WEB_READ],
        scope_rules: &[ScopeRule::Hosts],
    },
    Claim {
        tool: WEB_SEARCH,
        capabilities: &[WEB_READ],
        scope_rules: &[],
    },
];

/// The permissions that the registry claims for a tool.
fn registered(entry: &'static ToolEntry) -> RegisteredTool<'static> {
    let claim = CLAIMS.iter().find(|claim| claim.tool == entry.name);
    RegisteredTool {
        name: entry.name,
        capabilities: claim.map_or(&[], |claim| claim.capabilities),
        scope_rules: claim.map_or(&[], |claim| claim.scope_rules),
        risk_level: entry.risk,
        effect_class: entry.class,
    }
}

/// Why the contract file is unusable. Then no tool has a contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractFileError {
    #[error("the contract file is not YAML: {0}")]
    Syntax(String),
    #[error(transparent)]
    Invalid(#[from] ContractError),
}

/// Parses a contract file.
pub fn parse(text: &str) -> Result<ToolContracts, ContractFileError> {
    let document = serde_saphyr::from_str::<serde_json::Value>(text);
    let document = document.map_err(|error| ContractFileError::Syntax(error.to_string()))?;
    Ok(ToolContracts::read(&document)?)
}

/// The contracts of the built-in file, parsed once.
pub fn contracts() -> Result<&'static ToolContracts, &'static ContractFileError> {
    static CONTRACTS: LazyLock<Result<ToolContracts, ContractFileError>> =
        LazyLock::new(|| parse(CONTRACT_FILE));
    CONTRACTS.as_ref()
}

/// The contract of a tool on which the registry agrees; none denies every call of the tool.
#[must_use]
pub fn contract(tool: &str) -> Option<&'static ToolContract> {
    agreed(contracts().ok()?, tool)
}

/// The contract of a tool in this file, if the registry agrees with it.
fn agreed<'a>(contracts: &'a ToolContracts, tool: &str) -> Option<&'a ToolContract> {
    contracts.agreed(&registered(registry::find(tool)?)).ok()
}

#[cfg(test)]
mod tests;
