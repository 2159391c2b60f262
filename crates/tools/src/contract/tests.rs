//! The contract file, its schema, its view and the schemas that it refers to agree with the code. With
//! `UPDATE_TOOL_CONTRACT=1` the generated files are written.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::journal::tokens::NAMESPACES;
use wakeful_core::tool::gate::{self, GateQuery};
use wakeful_core::tool::{AgentAccessScope, ContractDocument, SideEffects, WakeReason};
use wakeful_ports::tool::ToolHost as _;

use super::*;
use crate::registry::TOOL_NAMES;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent_tools")
}

/// Compares a generated file with its content, or writes it.
fn assert_current(name: &str, expected: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_TOOL_CONTRACT").is_some() {
        std::fs::write(&path, expected).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is out of date; run UPDATE_TOOL_CONTRACT=1 cargo test -p wakeful-tools contract"
    );
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("JSON") + "\n"
}

fn document() -> Value {
    serde_saphyr::from_str(CONTRACT_FILE).expect("YAML")
}

// Conformance: L-117
#[test]
fn without_categories_every_registered_tool_is_out_of_scope() {
    let access = AgentAccessScope::default();
    for name in TOOL_NAMES {
        let query = GateQuery {
            contract: contract(name),
            access: &access,
            wake_reason: WakeReason::UserInitiated,
        };
        let stop = gate::check(query).expect_err(name);
        assert_eq!(stop.code, gate::OUT_OF_SCOPE, "{name}");
    }
}

fn all() -> &'static ToolContracts {
    contracts().expect("the built-in file is valid")
}

/// What models receive: the tools of this crate and the engine's own.
fn catalogue() -> Vec<ToolSpec> {
    let own = wakeful_core::sub_run::spec(&std::collections::BTreeSet::new());
    crate::specs().into_iter().chain([own]).collect()
}

/// The permissions that the registry claims.
fn claimed() -> Vec<RegisteredTool<'static>> {
    const { &registry::TOOLS }.iter().map(registered).collect()
}

fn sorted<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    names
}

// Conformance: L-120
#[test]
fn contract_registry_and_catalogue_agree_one_to_one() {
    assert_eq!(all().mismatches(&claimed()), []);
    let expected = sorted(all().iter().map(|contract| contract.name.as_str()));
    assert_eq!(sorted(crate::TOOL_NAMES), expected);
    assert_eq!(sorted(CLAIMS.iter().map(|claim| claim.tool)), expected);
    let catalogue = catalogue();
    assert_eq!(sorted(catalogue.iter().map(|spec| spec.name.as_str())), expected);
    let schema = schemars::schema_for!(ContractDocument).to_value();
    check_schema(&schema, &schema, &document(), "");
    assert_eq!(
        all().mismatches(&claimed()[1..]).len(),
        1,
        "a tool on one side only"
    );
}

#[test]
fn the_host_reports_the_contract_of_each_tool_it_has() {
    let root = tempfile::tempdir().expect("a folder");
    let host = crate::tools::tests::tools(root.path());
    for contract in all().iter() {
        assert_eq!(
            host.risk(&contract.name),
            contract.risk_level,
            "{}",
            contract.name
        );
        let class = host.class(&contract.name);
        let is_available = class.is_some() || contract.name == START_RUN;
        assert!(
            class.is_none_or(|class| class == contract.effect_class),
            "{}",
            contract.name
        );
        let expected = is_available.then_some(contract);
        assert_eq!(
            host.contract(&contract.name).as_ref(),
            expected,
            "{}",
            contract.name
        );
    }
    assert_eq!(host.contract("Invented"), None);
}

// Conformance: L-121
#[test]
fn a_tool_whose_capability_is_removed_has_no_contract() {
    for tool in claimed() {
        assert!(agreed(all(), tool.name).is_some(), "{}", tool.name);
        let mut document = document();
        let entries = document["tools"].as_array_mut().expect("a list");
        let entry = entries.iter_mut().find(|entry| entry["name"] == tool.name);
        // Another capability in the place of one that the registry claims.
        entry.expect("an entry")["capabilitiesRequired"] = json!(["ratingWrite"]);
        let changed = ToolContracts::read(&document).expect("valid");
        assert!(agreed(&changed, tool.name).is_none(), "{}", tool.name);
        let mut others = claimed().into_iter().filter(|other| other.name != tool.name);
        assert!(others.all(|other| agreed(&changed, other.name).is_some()));
    }
}

// Conformance: L-118
#[test]
fn the_generated_files_of_the_contract_are_current() {
    let schema = schemars::schema_for!(ContractDocument).to_value();
    assert_current("agent_tool_contract_spec.schema.json", &pretty(&schema));
    let inputs: Map<String, Value> = catalogue()
        .into_iter()
        .map(|spec| (spec.name, spec.input_schema))
        .collect();
    assert_current("agent_tool_input_schemas.json", &pretty(&Value::Object(inputs)));
    assert_current("agent_tool_contract_spec.md", &view(all()));
}

#[test]
fn every_reference_of_a_contract_exists() {
    for contract in all().iter() {
        for reference in [&contract.input_schema_ref, &contract.output_schema_ref] {
            let (file, pointer) = reference.split_once('#').expect("a file and a pointer");
            let text = std::fs::read_to_string(folder().join(file)).expect(file);
            let schemas: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(pointer, format!("/{}", contract.name), "{reference}");
            let schema = schemas.pointer(pointer).expect(reference);
            assert!(schema.is_object(), "{reference}");
        }
        let tokens = &contract.side_effects.notification_tokens;
        assert!(
            tokens.iter().all(|token| NAMESPACES.contains(&token.as_str())),
            "{}",
            contract.name
        );
    }
}

/// Checks a value against the part of JSON Schema that the contract's schema uses.
fn check_schema(root: &Value, schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect(reference);
        return check_schema(root, target, value, at);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                check_schema(root, choice, value, at)
            }))
            .is_ok()
        };
        assert!(choices.iter().any(fits), "{at}: {value}");
        return;
    }
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{at}: {value}");
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        assert!(
            choices.iter().any(|choice| choice["const"] == *value),
            "{at}: {value}"
        );
    }
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(fields)) => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for name in required.iter().filter_map(Value::as_str) {
                assert!(fields.contains_key(name), "{at}: {name} is missing");
            }
            for (name, field) in fields {
                let property = &schema["properties"][name];
                assert!(property.is_object(), "{at}: unknown field {name}");
                check_schema(root, property, field, &format!("{at}/{name}"));
            }
        }
        (Some("array"), Value::Array(items)) => {
            let least = schema["minItems"].as_u64().unwrap_or(0);
            assert!(items.len() as u64 >= least, "{at}: too few items");
            for (index, item) in items.iter().enumerate() {
                check_schema(root, &schema["items"], item, &format!("{at}/{index}"));
            }
        }
        (Some("string"), Value::String(_)) | (Some("integer"), Value::Number(_)) | (None, _) => {}
        (kind, _) => panic!("{at}: {value} is not {kind:?}"),
    }
}

#[test]
#[should_panic(expected = "riskLevel is missing")]
fn the_schema_refuses_an_entry_without_risk_tier() {
    let mut document = document();
    let entry = document["tools"][0].as_object_mut().expect("an entry");
    entry.remove("riskLevel").expect("a tier");
    let schema = schemars::schema_for!(ContractDocument).to_value();
    check_schema(&schema, &schema, &document, "");
}

/// The contracts for people.
fn view(contracts: &ToolContracts) -> String {
    let mut text = "# Tool contracts\n\n\
        Generated from [agent_tool_contract_spec.yaml](agent_tool_contract_spec.yaml), which is the source of permissions: \
        a tool is offered\nand performed only while its entry and the registry agree. Do not edit this file.\n"
        .to_owned();
    for contract in contracts.iter() {
        let SideEffects {
            entity_types,
            notification_tokens,
        } = &contract.side_effects;
        let rows = [
            ("version", contract.version.to_string()),
            ("risk level", contract.risk_level.to_string()),
            ("effect class", contract.effect_class.to_string()),
            ("idempotency", contract.idempotency_strategy.to_string()),
            ("capabilities", list(&contract.capabilities_required)),
            ("wake reasons", list(&contract.allowed_wake_reasons)),
            ("scope rules", list(&contract.scope_rules)),
            ("typed facts", list(&contract.typed_facts)),
            ("changes", list(entity_types)),
            ("notifies", list(notification_tokens)),
            ("input", contract.input_schema_ref.clone()),
            ("output", contract.output_schema_ref.clone()),
        ];
        writeln!(text, "\n## {}\n\n| field | value |\n|---|---|", contract.name).expect("text");
        for (field, value) in rows {
            writeln!(text, "| {field} | {value} |").expect("text");
        }
    }
    text
}

fn list<T: ToString>(values: &std::collections::BTreeSet<T>) -> String {
    let words: Vec<String> = values
        .iter()
        .map(|value| format!("`{}`", value.to_string()))
        .collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}
