//! What is said of a decision. It leaves this process and perhaps this machine, so it holds nothing that a model or a
//! tool wrote but the tool's name: arguments may hold secrets, and are shown where people answer.

use serde::Serialize;
use wakeful_core::decision::{Badge, BlastRadius, Channel, Decision, DecisionKind, Severity};
use wakeful_core::time::Millis;

/// Digits of a name in a command to copy.
const SHORT: usize = 12;

/// An announcement: the JSON that a webhook and a command get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    pub(super) event: &'static str,
    /// The question in one line.
    pub(super) title: String,
    /// Who asks, and how to answer.
    pub(super) message: String,
    pub(super) severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Asked>,
    /// Where the page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// What may be told of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Asked {
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

/// Where an answer is taken.
fn how(decision: &Decision, name: &str, options: &[String]) -> String {
    let by = |channel| decision.may_answer.contains(&channel);
    let command = format!("wakeful decision answer {name} {}", options.join("|"));
    match (by(Channel::Page), by(Channel::Cli) || by(Channel::Api)) {
        (true, true) => format!("on the page, or: {command}"),
        (true, false) => "on the page.".to_owned(),
        (false, _) => format!("with: {command}"),
    }
}

impl Note {
    /// The announcement of a question; `url` is where the page is.
    pub(crate) fn of(decision: &Decision, url: Option<&str>) -> Self {
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
            decision: Some(Asked {
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

    /// One that only tries the way.
    pub(crate) fn test() -> Self {
        Self {
            event: "test",
            title: "A test of Wakeful".to_owned(),
            message: "This is how you are told that a decision waits for you. Nothing waits now.".to_owned(),
            severity: Severity::Low,
            decision: None,
            url: None,
        }
    }

    pub(super) fn json(&self) -> Vec<u8> {
        // It has only text and numbers, so it always has a JSON form.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::decision::Inquiry;
    use wakeful_core::id::AgentId;
    use wakeful_core::key::{Digest, OperationId, RunKey};
    use wakeful_core::step::EffectClass;

    use super::*;

    fn asked() -> Decision {
        let inquiry = Inquiry::new(
            (OperationId(Digest::of(b"operation")), 0),
            ("ExecCommand", "curl -H 'Authorization: Bearer sk-very-secret'"),
            EffectClass::Plain,
            "ask_tool",
            None,
        );
        let agent = AgentId::parse("main").expect("a name");
        let run = RunKey(Digest::of(b"run"));
        Decision::asked(inquiry, agent, run, Millis(0), Some(1_000))
    }

    #[test]
    fn what_a_tool_would_be_given_is_in_no_announcement() {
        let note = Note::of(&asked(), Some("http://127.0.0.1:7717"));
        let json = String::from_utf8(note.json()).expect("UTF-8");
        assert!(!json.contains("very-secret") && !json.contains("curl"), "{json}");
        assert!(json.contains("\"event\":\"decision_asked\""), "{json}");
        assert!(note.message.contains("approve|deny"), "{note:?}");
        assert_eq!(note.title, "May ExecCommand be used?");
    }

    #[test]
    fn a_question_that_grew_more_severe_says_so() {
        let late = asked()
            .escalate_if_overdue(Millis(1_000))
            .expect("its deadline has passed");
        let note = Note::of(&late, None);
        assert_eq!(
            (note.event, note.severity),
            ("decision_escalated", Severity::Critical)
        );
        assert!(note.message.starts_with("Overdue."), "{note:?}");
    }
}
