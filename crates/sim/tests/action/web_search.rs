//! The search of the web by a model's provider: offered only if the policy permits it without asking, and its
//! results are text from outside.

use wakeful_core::conversation::WebSearch;
use wakeful_core::guardrail::{GuardrailAction, GuardrailSpec};
use wakeful_core::policy::{ForeignTargetPolicy, PermissionMode, RuleName};
use wakeful_core::report::payload::Payload;

use super::*;

/// What the provider found for the first reply.
pub(super) fn found() -> Block {
    Block::WebSearch(WebSearch {
        provider: "sim".into(),
        query: "tides".into(),
        sources: vec!["https://example.com/tides".into()],
        opaque: json!({"id": "s1"}),
    })
}

fn on(settings: &mut AgentSettings) {
    settings.web_search = true;
}

async fn searching(class: EffectClass, search: fn(&mut AgentSettings)) -> Daemon {
    let daemon = Daemon::begin(Setting {
        class,
        search: Some(search),
        ..Setting::default()
    })
    .await;
    daemon.tools.permits.add_permits(9);
    daemon.settle().await;
    daemon
}

#[tokio::test]
async fn a_search_is_offered_only_where_no_approval_is_needed() {
    type Case = (&'static str, bool, fn(&mut AgentSettings));
    let cases: [Case; 8] = [
        ("on", true, on),
        ("off", false, |_| {}),
        ("denied", false, |settings| {
            on(settings);
            settings.deny_tools.insert(WEB_SEARCH.into());
        }),
        ("asks", false, |settings| {
            on(settings);
            settings.ask_tools.insert(WEB_SEARCH.into());
        }),
        ("restrictive", false, |settings| {
            on(settings);
            settings.permission_mode = PermissionMode::Restrictive;
        }),
        ("permissive", true, |settings| {
            on(settings);
            settings.permission_mode = PermissionMode::Permissive;
        }),
        ("guarded", false, |settings| {
            on(settings);
            settings.guardrails.tool_guardrails = vec![GuardrailSpec {
                name: "words".into(),
                description: String::new(),
                phrases: vec!["project x".into()],
                tools: [WEB_SEARCH.into()].into(),
                action: GuardrailAction::Block,
            }];
        }),
        ("no category", false, |settings| {
            on(settings);
            settings.allowed_category_ids.clear();
        }),
    ];
    for (case, is_offered, search) in cases {
        let daemon = searching(EffectClass::Idempotent, search).await;
        let offered = daemon.offered.lock().expect("a list").clone();
        assert_eq!(
            offered.iter().any(|tool| tool == WEB_SEARCH),
            is_offered,
            "{case}"
        );
    }
    let elsewhere = Daemon::begin(Setting::default()).await;
    let offered = elsewhere.offered.lock().expect("a list").clone();
    assert_eq!(offered, [TOOL], "the model's provider has no search");
}

#[tokio::test]
async fn what_a_provider_found_is_text_from_outside() {
    // The call stands in the same reply as the search.
    let asked = searching(EffectClass::Plain, on).await;
    let (status, steps) = asked.outcome().await;
    let rule = RuleName::ForeignTarget.to_string();
    assert_eq!(
        (status.as_str(), steps),
        ("open", vec![(StepStatus::WaitingForApproval, rule)])
    );
    let denied = searching(EffectClass::Plain, |settings| {
        on(settings);
        settings.foreign_targets = Some(ForeignTargetPolicy::Deny);
    });
    let (status, steps) = denied.await.outcome().await;
    assert_eq!((status.as_str(), steps[0].0), ("completed", StepStatus::Denied));
    let read = searching(EffectClass::Idempotent, on).await;
    assert_eq!(
        read.outcome().await.1[0].0,
        StepStatus::Ok,
        "a read needs no question"
    );
}

#[tokio::test]
async fn the_log_has_the_queries_of_a_provider() {
    let daemon = searching(EffectClass::Idempotent, on).await;
    let events = daemon.events().await.into_iter();
    let searches = events.filter_map(|event| {
        let Payload::AssistantRoundRecorded(round) = event else {
            return None;
        };
        Some(round.web_searches)
    });
    assert_eq!(searches.collect::<Vec<_>>(), [vec!["tides".to_owned()], vec![]]);
}
