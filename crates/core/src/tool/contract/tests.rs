use serde_json::json;

use super::*;
use crate::tool::AgentCapability;

fn entry() -> Value {
    json!({
        "name": "journal_create_task",
        "version": 1,
        "capabilitiesRequired": ["taskWrite"],
        "allowedWakeReasons": ["user_initiated", "timer"],
        "inputSchemaRef": "schemas/a.json",
        "outputSchemaRef": "schemas/b.json",
        "idempotencyStrategy": "operation_id",
        "scopeRules": ["categories"],
        "sideEffects": {"entityTypes": ["task"], "notificationTokens": ["task:ID"]},
        "riskLevel": "medium",
        "effectClass": "saga",
        "typedFacts": [],
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut entry = entry();
    entry[field] = value;
    entry
}

fn read(entries: &[Value]) -> Result<ToolContracts, ContractError> {
    ToolContracts::read(&json!({ "tools": entries }))
}

const TASK_WRITE: [Capability; 1] = [Capability::Journal(AgentCapability::TaskWrite)];

const REGISTERED: RegisteredTool<'_> = RegisteredTool {
    name: "journal_create_task",
    capabilities: &TASK_WRITE,
    scope_rules: &[ScopeRule::Categories],
    risk_level: RiskLevel::Medium,
    effect_class: EffectClass::Saga,
};

// Conformance: L-119
#[test]
fn an_entry_without_any_one_of_its_fields_is_invalid() {
    assert!(read(&[entry()]).is_ok());
    for field in FIELDS {
        let mut partial = entry();
        partial.as_object_mut().expect("an object").remove(field);
        let error = read(&[partial]).expect_err(field);
        assert!(
            matches!(&error, ContractError::Missing { field: missing, .. } if *missing == field),
            "{error}"
        );
    }
}

// Conformance: L-038
#[test]
fn a_risk_tier_is_low_medium_or_high_and_required() {
    assert_eq!(RiskLevel::WORDS, ["low", "medium", "high"]);
    let mut partial = entry();
    partial.as_object_mut().expect("an object").remove("riskLevel");
    let missing = read(&[partial]).expect_err("no tier").to_string();
    assert_eq!(
        missing,
        "journal_create_task: the field riskLevel is missing; add it"
    );
    for tier in [json!("none"), json!(null), json!(1)] {
        let error = read(&[with("riskLevel", tier)]).expect_err("a tier");
        assert!(
            matches!(
                &error,
                ContractError::Invalid {
                    field: "riskLevel",
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn an_invalid_entry_is_an_error_with_entry_and_field() {
    for (field, value) in [
        ("name", json!("")),
        ("version", json!(0)),
        ("version", json!("1")),
        ("capabilitiesRequired", json!([])),
        ("capabilitiesRequired", json!(["everything"])),
        ("allowedWakeReasons", json!([])),
        ("allowedWakeReasons", json!(["boredom"])),
        ("inputSchemaRef", json!(" ")),
        ("idempotencyStrategy", json!("at_most_once")),
        ("scopeRules", json!("categories")),
        ("sideEffects", json!({"entityTypes": []})),
        ("effectClass", json!("pure")),
        ("typedFacts", json!(["weather"])),
    ] {
        let error = read(&[with(field, value.clone())]).expect_err("accepted");
        let is_named = matches!(&error, ContractError::Invalid { field: named, .. } if *named == field);
        assert!(is_named, "{field} {value}: {error}");
    }
    let surplus = read(&[with("handler", json!("sh"))]).expect_err("accepted");
    assert!(matches!(surplus, ContractError::Unknown { field, .. } if field == "handler"));
    let twice = read(&[entry(), entry()]).expect_err("accepted");
    assert!(matches!(twice, ContractError::Duplicate { .. }));
    for document in [
        json!([]),
        json!({}),
        json!({"tools": {}}),
        json!({"tools": [], "more": 1}),
    ] {
        assert_eq!(ToolContracts::read(&document), Err(ContractError::NotAList));
    }
    assert_eq!(
        read(&[json!("x")]),
        Err(ContractError::NotAMapping { position: 0 })
    );
}

#[test]
fn a_tool_on_one_side_only_is_a_mismatch() {
    let contracts = read(&[entry()]).expect("valid");
    assert_eq!(contracts.mismatches(&[REGISTERED]), []);
    let unregistered = ContractMismatch::NotRegistered {
        tool: "journal_create_task".to_owned(),
    };
    assert_eq!(contracts.mismatches(&[]), [unregistered]);
    let other = RegisteredTool {
        name: "other",
        ..REGISTERED
    };
    let no_contract = ContractMismatch::NoContract {
        tool: "other".to_owned(),
    };
    assert_eq!(contracts.mismatches(&[REGISTERED, other]), [no_contract]);
}

#[test]
fn contract_and_registry_agree_in_every_permission() {
    let contracts = read(&[entry()]).expect("valid");
    let two = [TASK_WRITE[0], Capability::Journal(AgentCapability::TaskRead)];
    let changed = [
        (
            "capabilitiesRequired",
            RegisteredTool {
                capabilities: &two,
                ..REGISTERED
            },
        ),
        (
            "scopeRules",
            RegisteredTool {
                scope_rules: &[],
                ..REGISTERED
            },
        ),
        (
            "riskLevel",
            RegisteredTool {
                risk_level: RiskLevel::Low,
                ..REGISTERED
            },
        ),
        (
            "effectClass",
            RegisteredTool {
                effect_class: EffectClass::Idempotent,
                ..REGISTERED
            },
        ),
    ];
    for (field, tool) in changed {
        let error = contracts.agreed(&tool).expect_err(field);
        assert!(matches!(&error, ContractMismatch::Differs { field: named, .. } if *named == field));
    }
}
