use proptest::prelude::*;
use serde_json::json;

use super::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn rules(category: &str, boundary: Boundary, operation: &str, fields: &[&str]) -> NeedToKnow {
    let operations = [(operation.to_owned(), set(fields))].into();
    let rules = CategoryRules {
        models: None,
        fields: [(boundary, operations)].into(),
    };
    NeedToKnow([(category.to_owned(), rules)].into())
}

fn webhook<'a>(categories: &'a BTreeSet<String>, wire: &'a FieldList) -> Crossing<'a> {
    Crossing {
        boundary: Boundary::Webhook,
        operation: DECISION,
        categories,
        wire: Some(wire),
    }
}

#[test]
fn without_rules_a_payload_has_the_fields_of_its_type() {
    let (wire, none) = (set(&["title", "decision.tool"]), set(&[]));
    let open = NeedToKnow::default();
    let project = |payload| open.project(&webhook(&none, &wire), payload);
    let ordinary = json!({"title": "May it?", "decision": {"tool": "Exec"}});
    assert_eq!(project(ordinary.clone()), Ok(ordinary));
    assert_eq!(project(json!({})), Ok(json!({})));
    for (payload, field) in [
        (json!({"title": "", "input": "secret"}), "input"),
        (
            json!({"decision": {"tool": "Exec", "input": {"a": 1}}}),
            "decision.input.a",
        ),
        (
            json!({"decision": [{"tool": "Exec"}, {"other": 1}]}),
            "decision.other",
        ),
        // The name with a dot is another field.
        (json!({"decision.tool": "secret"}), "decision.tool"),
        (json!({"decision": "secret"}), "decision"),
        (json!(["secret"]), ""),
        (json!("secret"), ""),
    ] {
        let rejected = project(payload.clone()).expect_err("it passed");
        assert_eq!(
            (rejected.field.as_str(), rejected.category),
            (field, None),
            "{payload}"
        );
    }
}

#[test]
fn each_category_of_an_agent_restricts_the_fields() {
    let wire = set(&["title", "message"]);
    let health = rules("health", Boundary::Webhook, DECISION, &["title"]);
    let both = json!({"title": "a", "message": "b"});
    for (categories, is_accepted) in [
        (set(&["gym"]), true),
        (set(&["health"]), false),
        (set(&["gym", "health"]), false),
        (set(&[ALL_CATEGORIES]), false),
        (set(&[]), true),
    ] {
        let found = health.project(&webhook(&categories, &wire), both.clone());
        assert_eq!(found.is_ok(), is_accepted, "{categories:?}: {found:?}");
    }
    let held = set(&["health"]);
    let found = health.project(&webhook(&held, &wire), json!({"title": "a"}));
    assert!(found.is_ok(), "{found:?}");
    let everywhere = rules(ALL_CATEGORIES, Boundary::Webhook, DECISION, &[]);
    assert!(everywhere.project(&webhook(&set(&[]), &wire), both).is_err());
}

#[test]
fn an_operation_that_a_list_does_not_name_may_have_no_field() {
    let health = rules("health", Boundary::Tool, "WebFetch", &["url"]);
    let held = set(&["health"]);
    let call = |operation| Crossing {
        boundary: Boundary::Tool,
        operation,
        categories: &held,
        wire: None,
    };
    let fetch = json!({"url": "https://a.example"});
    assert!(health.project(&call("WebFetch"), fetch.clone()).is_ok());
    let rejected = health.project(&call("Other"), fetch).expect_err("it passed");
    assert_eq!(rejected.category.as_deref(), Some("health"));
    assert!(health.project(&call("Other"), json!({})).is_ok());
    let text = rejected.to_string();
    assert!(
        text.contains("\"url\"") && text.contains("tool in Other, because of the category health"),
        "{text}"
    );
}

// Conformance: L-156
#[test]
fn a_model_is_allowed_for_one_category_and_denied_for_another() {
    let only = |patterns: &[&str]| CategoryRules {
        models: Some(patterns.iter().map(|one| (*one).to_owned()).collect()),
        ..CategoryRules::default()
    };
    let rules = NeedToKnow(
        [
            ("gym".to_owned(), only(&["anthropic/*", "ollama/*"])),
            ("health".to_owned(), only(&["ollama/*"])),
        ]
        .into(),
    );
    for (categories, model, refused) in [
        (&["gym"][..], "anthropic/a", None),
        (&["health"], "anthropic/a", Some("health")),
        (&["gym", "health"], "anthropic/a", Some("health")),
        (&["gym", "health"], "ollama/b", None),
        (&["gym"], "openai/c", Some("gym")),
        (&["other"], "openai/c", None),
        (&[ALL_CATEGORIES], "anthropic/a", Some("health")),
        (&[], "openai/c", None),
    ] {
        assert_eq!(
            rules.category_without_model(&set(categories), model),
            refused,
            "{categories:?} {model}"
        );
    }
}

#[test]
fn the_fields_of_a_type_come_from_its_schema() {
    let schema = json!({
        "properties": {
            "title": {"type": "string"},
            "decision": {"anyOf": [{"$ref": "#/$defs/Info"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        },
        "$defs": {
            "Info": {"type": "object", "properties": {"tool": {"type": "string"}, "options": {"type": "array", "items": {"type": "string"}}}},
            "Item": {"properties": {"name": {"type": "string"}, "again": {"$ref": "#/$defs/Item"}}},
        },
    });
    let fields = wire_fields(&schema);
    for field in [
        "title",
        "decision.tool",
        "decision.options",
        "list.name",
        "list.again.name",
    ] {
        assert!(fields.contains(field), "{field}: {fields:?}");
    }
    assert!(!fields.contains("decision") && !fields.contains("list"));
}

/// All leaves of a payload with their names, part by part. Written independently of the code under test.
fn leaves(payload: &Value, within: &[String], found: &mut Vec<Vec<String>>) {
    match payload {
        Value::Object(members) => {
            for (name, value) in members {
                leaves(value, &[within, std::slice::from_ref(name)].concat(), found);
            }
            if members.is_empty() && !within.is_empty() {
                found.push(within.to_vec());
            }
        }
        Value::Array(items) => {
            for item in items {
                leaves(item, within, found);
            }
            if items.is_empty() {
                found.push(within.to_vec());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(within.to_vec()),
    }
}

fn payloads() -> impl Strategy<Value = Value> {
    let name = || prop_oneof!["[abc]", Just("a.b".to_owned()), Just(String::new())];
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(1)),
        "[a-z]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    // Conformance: L-159
    /// For every payload, boundary, operation and set of lists: what passes has no field that is not on every list.
    #[test]
    fn no_field_outside_the_lists_ever_passes(
        payload in payloads(),
        wire in proptest::collection::btree_set("[abc]([.][abc]){0,2}", 0..6),
        list in proptest::option::of(proptest::collection::btree_set("[abc]([.][abc]){0,2}", 0..6)),
        boundary in 0..4_usize,
        held in any::<bool>(),
    ) {
        let boundary = Boundary::ALL[boundary];
        let operations = list.iter().map(|list| (DECISION.to_owned(), list.clone())).collect();
        let rules = CategoryRules { models: None, fields: [(boundary, operations)].into() };
        let rules = NeedToKnow([("health".to_owned(), rules)].into());
        let categories = if held { set(&["health"]) } else { set(&["gym"]) };
        let crossing = Crossing { boundary, operation: DECISION, categories: &categories, wire: Some(&wire) };
        let mut found = Vec::new();
        leaves(&payload, &[], &mut found);
        let on = |list: &FieldList, leaf: &[String]| {
            list.iter().any(|entry| {
                let entry: Vec<&str> = entry.split('.').collect();
                leaf.len() >= entry.len() && leaf.iter().zip(&entry).all(|(name, part)| name == part)
            })
        };
        let is_allowed = |leaf: &Vec<String>| {
            on(&wire, leaf) && (!held || list.as_ref().is_some_and(|list| on(list, leaf)))
        };
        match rules.project(&crossing, payload.clone()) {
            Ok(passed) => {
                prop_assert!(found.iter().all(is_allowed), "{:?}", found);
                prop_assert_eq!(passed, payload);
            }
            Err(_) => prop_assert!(!found.iter().all(is_allowed), "rejected without reason: {:?}", found),
        }
    }
}
