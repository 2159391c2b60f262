//! The content of a notification. It leaves this process and perhaps this machine, so the tool's name is
//! the only part that comes from a model or a tool. Arguments may contain secrets and are shown only where
//! people answer.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::json;
use wakeful_core::decision::{Badge, BlastRadius, Channel, Decision, DecisionKind, Severity};
use wakeful_core::need_to_know::{
    Boundary, Crossing, DECISION, FieldList, NeedToKnow, OVERSHARED, wire_fields,
};
use wakeful_core::time::Millis;

/// Digits of a decision id in a command to copy.
const SHORT: usize = 12;

/// A notification: the JSON that webhooks and commands receive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NotificationPayload {
    event: &'static str,
    /// The question in one line.
    pub(crate) title: String,
    /// Which agent asks, and how to answer.
    pub(crate) message: String,
    pub(crate) severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionInfo>,
    /// The address of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// The fields of a decision that a notification contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct DecisionInfo {
    decision_id: String,
    version: u32,
    kind: DecisionKind,
    tool: String,
    blast_radius: BlastRadius,
    agent_id: String,
    run_key: String,
    options: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended_option_id: Option<String>,
    asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_at: Option<String>,
}

/// How to answer the decision, depending on its permitted channels.
fn how(decision: &Decision, name: &str, options: &[String]) -> String {
    let by = |channel| decision.may_answer.contains(&channel);
    let command = format!("wakeful decision answer {name} {}", options.join("|"));
    match (by(Channel::Page), by(Channel::Cli) || by(Channel::Api)) {
        (true, true) => format!("on the page, or: {command}"),
        (true, false) => "on the page.".to_owned(),
        (false, _) => format!("with: {command}"),
    }
}

impl NotificationPayload {
    /// The notification of a decision; `url` is the address of the page.
    pub(super) fn new(decision: &Decision, url: Option<&str>) -> Self {
        let inquiry = &decision.inquiry;
        let is_late = decision.badges.contains(&Badge::TimedOut);
        let name = inquiry.decision_id.to_string();
        let options: Vec<String> = inquiry.options.iter().map(|option| option.id.clone()).collect();
        let late = if is_late { "Overdue. " } else { "" };
        let deadline = decision
            .deadline_at
            .map(|at| format!(" Deadline {}.", at.rfc3339()));
        Self {
            event: match is_late {
                true => "decision_escalated",
                false => "decision_asked",
            },
            title: inquiry.title.clone(),
            message: format!(
                "{late}Agent {} waits for you ({}).{} Answer {}",
                decision.agent_id,
                inquiry.severity.as_str(),
                deadline.unwrap_or_default(),
                how(decision, name.get(..SHORT).unwrap_or(&name), &options)
            ),
            severity: inquiry.severity,
            decision: Some(DecisionInfo {
                version: decision.version,
                kind: inquiry.kind,
                tool: inquiry.tool.clone(),
                blast_radius: inquiry.blast_radius,
                agent_id: decision.agent_id.to_string(),
                run_key: decision.run_key.to_string(),
                options,
                recommended_option_id: inquiry.recommended_option_id.clone(),
                asked_at: decision.asked_at.rfc3339(),
                deadline_at: decision.deadline_at.map(Millis::rfc3339),
                decision_id: name,
            }),
            url: url.map(str::to_owned),
        }
    }

    /// A notification for testing a target.
    #[must_use]
    pub(crate) fn test() -> Self {
        Self {
            event: "test",
            title: "Wakeful test notification".to_owned(),
            message: "This is a test: you will be notified like this when a decision is pending. No decision is pending now.".to_owned(),
            severity: Severity::Low,
            decision: None,
            url: None,
        }
    }

    /// Checks that every field may leave for a target on behalf of an agent with these categories of data.
    pub(super) fn check(
        &self,
        rules: &NeedToKnow,
        boundary: Boundary,
        categories: &BTreeSet<String>,
    ) -> Result<(), String> {
        static WIRE: LazyLock<FieldList> =
            LazyLock::new(|| wire_fields(schema_for!(NotificationPayload).as_value()));
        let crossing = Crossing {
            boundary,
            operation: DECISION,
            categories,
            wire: Some(&WIRE),
        };
        let projected = rules.project(&crossing, json!(self));
        projected
            .map(drop)
            .map_err(|overshared| format!("{OVERSHARED}: {overshared}"))
    }

    #[must_use]
    pub(crate) fn json(&self) -> Vec<u8> {
        // Text and numbers always serialize.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::decision::{ApprovalRequest, ProposedAction};
    use wakeful_core::id::AgentId;
    use wakeful_core::key::{Digest, OperationId, RunKey};
    use wakeful_core::need_to_know::CategoryRules;
    use wakeful_core::step::EffectClass;

    use super::*;

    fn asked() -> Decision {
        let inquiry = ApprovalRequest::new(
            ProposedAction {
                risk: None,
                operation_id: OperationId(Digest::of(b"operation")),
                tool: "ExecCommand",
                input: "curl -H 'Authorization: Bearer sk-very-secret'",
                class: EffectClass::Plain,
            },
            "ask_tool",
            None,
        );
        let agent = AgentId::parse("main").expect("a name");
        let run = RunKey(Digest::of(b"run"));
        inquiry.asked_by(agent, run, Millis(0), Some(1_000))
    }

    // Conformance: L-159
    #[test]
    fn a_notification_has_only_listed_fields_or_is_not_sent() {
        let payload = NotificationPayload::new(&asked(), Some("http://localhost"));
        let health = BTreeSet::from(["health".to_owned()]);
        let check = |rules: &NeedToKnow| payload.check(rules, Boundary::Webhook, &health);
        assert_eq!(check(&NeedToKnow::default()), Ok(()));
        assert_eq!(
            NotificationPayload::test().check(&NeedToKnow::default(), Boundary::Webhook, &health),
            Ok(())
        );
        let listed = |fields: &[&str]| {
            let list: FieldList = fields.iter().map(|field| (*field).to_owned()).collect();
            let rules = CategoryRules {
                models: None,
                fields: [(Boundary::Webhook, [(DECISION.to_owned(), list)].into())].into(),
            };
            NeedToKnow([("health".to_owned(), rules)].into())
        };
        assert_eq!(
            check(&listed(&[
                "event", "title", "message", "severity", "decision", "url"
            ])),
            Ok(())
        );
        let refused =
            check(&listed(&["event", "title", "severity", "decision", "url"])).expect_err("it is sent");
        assert!(
            refused.contains("overshared_payload_blocked") && refused.contains("\"message\""),
            "{refused}"
        );
        let other = payload.check(&listed(&[]), Boundary::Announcement, &health);
        assert_eq!(other, Ok(()), "another boundary");
    }

    #[test]
    fn a_notification_does_not_contain_tool_arguments() {
        let note = NotificationPayload::new(&asked(), Some("http://127.0.0.1:7717"));
        let json = String::from_utf8(note.json()).expect("UTF-8");
        assert!(!json.contains("very-secret") && !json.contains("curl"), "{json}");
        assert!(json.contains("\"event\":\"decision_asked\""), "{json}");
        assert!(note.message.contains("approve|deny"), "{note:?}");
        assert_eq!(note.title, "May ExecCommand be used?");
    }

    #[test]
    fn an_escalated_decision_is_marked_as_overdue() {
        let late = asked()
            .escalate_if_overdue(Millis(1_000))
            .expect("its deadline has passed");
        let note = NotificationPayload::new(&late, None);
        assert_eq!(
            (note.event, note.severity),
            ("decision_escalated", Severity::Critical)
        );
        assert!(note.message.starts_with("Overdue."), "{note:?}");
    }
}
