use proptest::prelude::*;

use super::*;
use crate::key::RunKey;
use crate::provenance::{SourceKind, Sources};
use crate::step::EffectClass;
use crate::tool::{EnvironmentCapability, RiskLevel};

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

fn stored() -> StoredSettings {
    StoredSettings {
        settings: AgentSettings {
            ask_tools: names(&["A"]),
            max_rounds: Some(7),
            ..AgentSettings::with_all_categories()
        },
        model: Some("demo".to_owned()),
        workspace: "/w".to_owned(),
        daily_usd: None,
    }
}

fn run() -> RunMachine {
    RunMachine::new(RunKey(Digest::ZERO), "demo".to_owned(), 1)
}

#[test]
fn a_record_without_categories_is_refused() {
    let without = serde_json::from_value::<AgentSettings>(json!({"ask_tools": ["A"]}));
    assert!(without.is_err(), "{without:?}");
    let none = serde_json::from_value::<AgentSettings>(json!({"allowed_category_ids": []}));
    assert!(!none.expect("a record").access().allows_category(Some("a")));
    assert!(
        AgentSettings::with_all_categories()
            .access()
            .allows_category(Some("a"))
    );
}

#[test]
fn a_record_of_a_newer_program_is_read() {
    let text = json!({"allowed_category_ids": ["*"], "colour": "blue", "deny_tools": ["B"]});
    let read: AgentSettings = serde_json::from_value(text).expect("a record");
    assert_eq!(read.deny_tools, names(&["B"]));
}

#[test]
fn only_changed_fields_are_named_and_instructions_by_hash() {
    let change = SettingsChange {
        ask_tools: Change::Set(names(&["A"])),
        max_rounds: Change::Reset,
        instructions: Change::Set("be brief".to_owned()),
        daily_usd: Change::Set(MicroUsd(2_500_000)),
        ..SettingsChange::default()
    };
    let changed = change.changed(&stored());
    let named: Vec<&str> = changed.keys().map(String::as_str).collect();
    assert_eq!(named, ["daily_usd", "instructions", "max_rounds"]);
    assert_eq!(changed["max_rounds"], Value::Null);
    assert_eq!(changed["daily_usd"], json!("2.50"));
    assert!(
        !changed["instructions"].to_string().contains("brief"),
        "{changed:?}"
    );
    let after = change.applied_to(&stored());
    assert_eq!(
        (after.settings.max_rounds, after.daily_usd),
        (None, Some(MicroUsd(2_500_000)))
    );
}

#[test]
fn a_missing_field_keeps_its_value_and_null_restores_the_default() {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default)]
        kept: Change<u32>,
        reset: Change<u32>,
        set: Change<u32>,
    }
    let read: Wire = serde_json::from_value(json!({"reset": null, "set": 3})).expect("a change");
    assert_eq!(
        (read.kept, read.reset, read.set),
        (Change::Keep, Change::Reset, Change::Set(3))
    );
}

fn many(count: usize) -> BTreeSet<String> {
    (0..count).map(|index| index.to_string()).collect()
}

#[test]
fn every_bound_is_checked_with_the_name_of_its_field() {
    type Break = fn(&mut SettingsChange);
    let invalid: [(&str, Break); 10] = [
        ("description", |to| {
            to.description = Change::Set("x".repeat(DESCRIPTION_CHARS_MAX + 1))
        }),
        ("instructions", |to| {
            to.instructions = Change::Set("x".repeat(GUIDANCE_BYTES_MAX + 1))
        }),
        ("fallbacks", |to| {
            to.fallbacks = Change::Set(vec![String::new(); ROUTE_MAX])
        }),
        ("ask_tools", |to| to.ask_tools = Change::Set(many(TOOLS_MAX + 1))),
        ("deny_tools", |to| {
            to.deny_tools = Change::Set(many(TOOLS_MAX + 1))
        }),
        ("may_start", |to| {
            to.may_start = Change::Set(many(MAY_START_MAX + 1))
        }),
        ("answer_channels", |to| {
            to.answer_channels = Change::Set(BTreeSet::new())
        }),
        ("max_rounds", |to| to.max_rounds = Change::Set(0)),
        ("allowed_category_ids", |to| {
            to.allowed_category_ids = Change::Set(many(CATEGORIES_MAX + 1))
        }),
        ("allowed_category_ids", |to| {
            to.allowed_category_ids = Change::Set(names(&["*", "a"]))
        }),
    ];
    for (field, break_it) in invalid {
        let mut change = SettingsChange::default();
        break_it(&mut change);
        let problem = change.check().expect_err(field);
        assert!(problem.message.starts_with(&format!("{field}: ")), "{problem:?}");
    }
    assert_eq!(SettingsChange::default().check(), Ok(()));
}

proptest! {
    /// A tool asks or is denied if the message, the record or the settings for all agents say so.
    #[test]
    fn restrictions_of_message_record_and_settings_add_up(
        message in prop::collection::btree_set("[A-C]", 0..3),
        record in prop::collection::btree_set("[A-C]", 0..3),
        all in prop::collection::btree_set("[A-C]", 0..3),
        tool in "[A-C]",
        is_external: bool,
        own in prop::option::of(prop::sample::select(ForeignTargetPolicy::ALL.to_vec())),
        general in prop::sample::select(ForeignTargetPolicy::ALL.to_vec()),
    ) {
        let settings = AgentSettings {
            ask_tools: record.clone(),
            deny_tools: record.clone(),
            foreign_targets: own,
            ..AgentSettings::with_all_categories()
        };
        let mut run = run().with_ask_tools(message.clone()).with_denied_tools(message.clone());
        if is_external {
            run.sources = Sources::of(SourceKind::Web, "https://a.example");
        }
        let defaults = RuleDefaults {
            ask_tools: all.clone(),
            foreign_targets: general,
            answer_channels: None,
        };
        let rules = settings.rules(&run, &defaults);
        let is_named = |sets: &[&BTreeSet<String>]| sets.iter().any(|set| set.contains(&tool));
        prop_assert_eq!(rules.asked.contains(&tool), is_named(&[&message, &record, &all]));
        prop_assert_eq!(rules.denied.contains(&tool), is_named(&[&message, &record]));
        prop_assert_eq!(rules.foreign_targets, is_external.then(|| own.unwrap_or(general)));
    }
}

/// A tool that needs one capability.
fn tool(name: &str, capability: Capability) -> ToolContract {
    ToolContract {
        capabilities_required: [capability].into(),
        ..ToolContract::open(name, EffectClass::Plain, RiskLevel::Medium)
    }
}

// Conformance: A-51
#[test]
fn the_last_tool_of_an_agent_cannot_be_removed() {
    let run = Capability::Environment(EnvironmentCapability::CommandRun);
    let read = Capability::Environment(EnvironmentCapability::FileRead);
    let start = Capability::Environment(EnvironmentCapability::AgentStart);
    let contracts = [
        tool("ExecCommand", run),
        tool("ReadFile", read),
        tool(START_RUN, start),
    ];
    let checked = |change: SettingsChange| {
        let after = change.applied_to(&stored()).settings;
        change
            .check_last_tool(&after, &contracts)
            .map_err(|problem| problem.message)
    };
    let deny = |tools: &[&str]| SettingsChange {
        deny_tools: Change::Set(names(tools)),
        ..SettingsChange::default()
    };
    let have = |capabilities: &[Capability]| SettingsChange {
        capabilities: Change::Set(capabilities.iter().copied().collect()),
        ..SettingsChange::default()
    };
    for kept in [
        deny(&["ExecCommand"]),
        have(&[read]),
        have(&[run, read]),
        deny(&[]),
    ] {
        assert_eq!(checked(kept), Ok(()));
    }
    let last = deny(&["ExecCommand", "ReadFile"]);
    assert!(checked(last.clone()).is_err_and(|message| message.starts_with("deny_tools:")));
    for none in [have(&[]), have(&[start])] {
        assert!(checked(none).is_err_and(|message| message.starts_with("capabilities:")));
    }
    let both = SettingsChange {
        capabilities: Change::Set([read].into()),
        ..deny(&["ReadFile"])
    };
    assert!(checked(both).is_err());
    // With agents that it may start, the tool for this is one that is left.
    let starter = SettingsChange {
        may_start: Change::Set(names(&["other"])),
        ..last
    };
    assert_eq!(checked(starter), Ok(()));
}

#[test]
fn a_quota_without_a_valid_limit_is_refused_by_name() {
    for quota in [
        json!({}),
        json!({"max_per_day": 0}),
        json!({"max_per_session": 1_000_001}),
    ] {
        let quota: ToolQuota = serde_json::from_value(quota).expect("a quota");
        let change = SettingsChange {
            tool_quotas: Change::Set([("ExecCommand".to_owned(), quota)].into()),
            ..SettingsChange::default()
        };
        let problem = change.check().expect_err("it limits nothing");
        assert!(
            problem.message.starts_with("tool_quotas.ExecCommand:"),
            "{problem:?}"
        );
    }
}
