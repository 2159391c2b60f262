//! Tool contracts: what each tool needs, does and risks. The contract file is the source of permissions: a
//! registry that does not agree with it offers and permits nothing.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Capability, RiskLevel, WakeReason};
use crate::step::EffectClass;

/// The fields of an entry. Each is required.
pub const FIELDS: [&str; 12] = [
    "name",
    "version",
    "capabilitiesRequired",
    "allowedWakeReasons",
    "inputSchemaRef",
    "outputSchemaRef",
    "idempotencyStrategy",
    "scopeRules",
    "sideEffects",
    "riskLevel",
    "effectClass",
    "typedFacts",
];

string_enum! {
    /// How a repeated call is kept from taking effect twice.
    #[derive(PartialOrd, Ord)]
    pub enum IdempotencyStrategy {
        /// The call is part of the transaction that records it.
        Transaction = "transaction",
        /// It changes nothing, or the same call has the same effect, so it is repeated.
        Repeatable = "repeatable",
        /// Its target rejects a repeated operation id.
        OperationId = "operation_id",
        /// It is never repeated without a person.
        AtMostOnce = "at_most_once",
    }
}

string_enum! {
    /// A rule about what a call may reach.
    #[derive(PartialOrd, Ord)]
    pub enum ScopeRule {
        /// Records of the agent's categories.
        Categories = "categories",
        /// Paths in the workspace, and those that the sandbox policy allows.
        Paths = "paths",
        /// Hosts on the agent's list.
        Hosts = "hosts",
        /// Agents on the agent's list.
        Agents = "agents",
    }
}

string_enum! {
    /// A typed fact about a call that policies decide on.
    #[derive(PartialOrd, Ord)]
    pub enum FactKind {
        Paths = "paths",
        Hosts = "hosts",
        Command = "command",
        Agents = "agents",
    }
}

/// What a call may change besides its own record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SideEffects {
    /// Kinds of entities, such as `task` or `file`.
    pub entity_types: BTreeSet<String>,
    /// Tokens by which listeners are notified; `ID` stands for an id.
    pub notification_tokens: BTreeSet<String>,
}

/// The contract of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContract {
    /// The name that models use.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Increases with every change of the entry.
    #[schemars(range(min = 1))]
    pub version: u32,
    #[schemars(length(min = 1))]
    pub capabilities_required: BTreeSet<Capability>,
    /// The reasons of runs in which the tool may be used.
    #[schemars(length(min = 1))]
    pub allowed_wake_reasons: BTreeSet<WakeReason>,
    /// The file with the schema of the arguments, relative to the contract file.
    #[schemars(length(min = 1))]
    pub input_schema_ref: String,
    /// The file with the schema of the result, relative to the contract file.
    #[schemars(length(min = 1))]
    pub output_schema_ref: String,
    pub idempotency_strategy: IdempotencyStrategy,
    pub scope_rules: BTreeSet<ScopeRule>,
    pub side_effects: SideEffects,
    pub risk_level: RiskLevel,
    pub effect_class: EffectClass,
    pub typed_facts: BTreeSet<FactKind>,
}

/// The contract file.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, title = "Tool contracts")]
pub struct ContractDocument {
    pub tools: Vec<ToolContract>,
}

impl ToolContract {
    /// The contract of a tool whose host has no contract file: any reason, no capability.
    #[must_use]
    pub fn open(name: &str, effect_class: EffectClass, risk_level: RiskLevel) -> Self {
        Self {
            name: name.to_owned(),
            version: 1,
            capabilities_required: BTreeSet::new(),
            allowed_wake_reasons: WakeReason::ALL.into(),
            input_schema_ref: String::new(),
            output_schema_ref: String::new(),
            idempotency_strategy: strategy_of(effect_class),
            scope_rules: BTreeSet::new(),
            side_effects: SideEffects::default(),
            risk_level,
            effect_class,
            typed_facts: BTreeSet::new(),
        }
    }
}

/// The strategy that the runtime uses for a class when the tool itself does nothing about repetition.
const fn strategy_of(class: EffectClass) -> IdempotencyStrategy {
    match class {
        EffectClass::Internal => IdempotencyStrategy::Transaction,
        EffectClass::Idempotent => IdempotencyStrategy::Repeatable,
        EffectClass::Plain => IdempotencyStrategy::AtMostOnce,
        EffectClass::Saga => IdempotencyStrategy::OperationId,
    }
}

/// Why a contract file is invalid. None of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    #[error("the contract file must be a mapping with the one field `tools`, a list")]
    NotAList,
    #[error("tools[{position}] is not a mapping; write one mapping per tool")]
    NotAMapping { position: usize },
    #[error("{entry}: the field {field} is missing; add it")]
    Missing { entry: String, field: &'static str },
    #[error("{entry}: there is no field {field:?}; remove it")]
    Unknown { entry: String, field: String },
    #[error("{entry}: {field} is invalid: {why}")]
    Invalid {
        entry: String,
        field: &'static str,
        why: String,
    },
    #[error("{entry}: there are two entries with this name; keep one")]
    Duplicate { entry: String },
}

/// The valid contracts of a file, by tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolContracts {
    entries: BTreeMap<String, ToolContract>,
}

impl ToolContracts {
    /// Validates a parsed contract file.
    pub fn read(document: &Value) -> Result<Self, ContractError> {
        let fields = document.as_object().filter(|fields| fields.len() == 1);
        let tools = fields.and_then(|fields| fields.get("tools")?.as_array());
        let mut entries = BTreeMap::new();
        for (position, entry) in tools.ok_or(ContractError::NotAList)?.iter().enumerate() {
            let fields = entry.as_object().ok_or(ContractError::NotAMapping { position })?;
            let contract = Entry::new(fields, position)?.read()?;
            let entry = contract.name.clone();
            if entries.insert(entry.clone(), contract).is_some() {
                return Err(ContractError::Duplicate { entry });
            }
        }
        Ok(Self { entries })
    }

    #[must_use]
    pub fn get(&self, tool: &str) -> Option<&ToolContract> {
        self.entries.get(tool)
    }

    /// All contracts in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = &ToolContract> {
        self.entries.values()
    }

    /// The contract of a registered tool if both agree; otherwise the tool may not be used.
    pub fn agreed(&self, registered: &RegisteredTool<'_>) -> Result<&ToolContract, ContractMismatch> {
        let tool = registered.name.to_owned();
        let Some(contract) = self.get(registered.name) else {
            return Err(ContractMismatch::NoContract { tool });
        };
        let capabilities: BTreeSet<Capability> = registered.capabilities.iter().copied().collect();
        let scope_rules: BTreeSet<ScopeRule> = registered.scope_rules.iter().copied().collect();
        let compared = [
            (
                "capabilitiesRequired",
                contract.capabilities_required == capabilities,
            ),
            ("scopeRules", contract.scope_rules == scope_rules),
            ("riskLevel", contract.risk_level == registered.risk_level),
            ("effectClass", contract.effect_class == registered.effect_class),
        ];
        match compared.into_iter().find(|(_, is_same)| !is_same) {
            Some((field, _)) => Err(ContractMismatch::Differs { tool, field }),
            None => Ok(contract),
        }
    }

    /// Every disagreement between the contracts and a registry.
    #[must_use]
    pub fn mismatches(&self, registry: &[RegisteredTool<'_>]) -> Vec<ContractMismatch> {
        let names: BTreeSet<&str> = registry.iter().map(|tool| tool.name).collect();
        let unregistered = self.entries.keys().filter(|name| !names.contains(name.as_str()));
        let unregistered = unregistered.map(|name| ContractMismatch::NotRegistered { tool: name.clone() });
        let differing = registry.iter().filter_map(|tool| self.agreed(tool).err());
        differing.chain(unregistered).collect()
    }
}

/// A tool as the code registers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisteredTool<'a> {
    pub name: &'a str,
    pub capabilities: &'a [Capability],
    pub scope_rules: &'a [ScopeRule],
    pub risk_level: RiskLevel,
    pub effect_class: EffectClass,
}

/// A disagreement between a contract and the registry. The tool is not offered and every call is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractMismatch {
    #[error("{tool} is registered and has no contract")]
    NoContract { tool: String },
    #[error("{tool} has a contract and is not registered")]
    NotRegistered { tool: String },
    #[error("{tool}: contract and registry have different {field}")]
    Differs { tool: String, field: &'static str },
}

/// One entry while it is read.
struct Entry<'a> {
    name: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Entry<'a> {
    /// Checks the names of the fields.
    fn new(fields: &'a Map<String, Value>, position: usize) -> Result<Self, ContractError> {
        let name = fields.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| format!("tools[{position}]"), str::to_owned);
        if let Some(field) = FIELDS.into_iter().find(|field| !fields.contains_key(*field)) {
            return Err(ContractError::Missing { entry: name, field });
        }
        if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(ContractError::Unknown {
                entry: name,
                field: field.clone(),
            });
        }
        Ok(Self { name, fields })
    }

    fn read(self) -> Result<ToolContract, ContractError> {
        let contract = ToolContract {
            name: self.text("name")?,
            version: self.field("version")?,
            capabilities_required: self.field("capabilitiesRequired")?,
            allowed_wake_reasons: self.field("allowedWakeReasons")?,
            input_schema_ref: self.text("inputSchemaRef")?,
            output_schema_ref: self.text("outputSchemaRef")?,
            idempotency_strategy: self.field("idempotencyStrategy")?,
            scope_rules: self.field("scopeRules")?,
            side_effects: self.field("sideEffects")?,
            risk_level: self.field("riskLevel")?,
            effect_class: self.field("effectClass")?,
            typed_facts: self.field("typedFacts")?,
        };
        if contract.version == 0 {
            return Err(self.invalid("version", "must be at least 1".to_owned()));
        }
        if contract.capabilities_required.is_empty() {
            let why = "a tool needs at least one capability".to_owned();
            return Err(self.invalid("capabilitiesRequired", why));
        }
        if contract.allowed_wake_reasons.is_empty() {
            let why = "a tool without a reason could never be used".to_owned();
            return Err(self.invalid("allowedWakeReasons", why));
        }
        let expected = strategy_of(contract.effect_class);
        if contract.idempotency_strategy != expected {
            let why = format!("the class {} requires {expected}", contract.effect_class);
            return Err(self.invalid("idempotencyStrategy", why));
        }
        Ok(contract)
    }

    fn field<T: DeserializeOwned>(&self, field: &'static str) -> Result<T, ContractError> {
        let value = self.fields.get(field).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(|error| self.invalid(field, error.to_string()))
    }

    fn text(&self, field: &'static str) -> Result<String, ContractError> {
        let text: String = self.field(field)?;
        if text.trim().is_empty() {
            return Err(self.invalid(field, "it is empty".to_owned()));
        }
        Ok(text)
    }

    fn invalid(&self, field: &'static str, why: String) -> ContractError {
        ContractError::Invalid {
            entry: self.name.clone(),
            field,
            why,
        }
    }
}

#[cfg(test)]
mod tests;
