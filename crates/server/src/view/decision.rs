//! Wire types of decisions and brakes.

use wakeful_api::{Answer, Brake, BrakeList, Decision, DecisionList, DecisionNotification, NotDurable};
use wakeful_core::decision;
use wakeful_core::provenance::{Evidence, SourceRef};
use wakeful_core::stop::StopTarget;
use wakeful_core::time::Millis;
use wakeful_runtime::PendingStop;
use wakeful_runtime::api::DecisionInput;
use wakeful_runtime::rows::{BrakeRow, DecisionNotificationRow, HumanBacklog};

/// Maximum number of decisions in one response; more than a person answers in one session.
const DECISIONS_MAX: usize = 500;

/// A decision with all its arguments and notifications, as shown to the person who answers.
#[must_use]
pub fn decision(
    decision: &decision::Decision,
    arguments: &DecisionInput,
    announcements: &[DecisionNotificationRow],
) -> Decision {
    let glance = glance(decision);
    let (input, is_input_cut, input_gone) = match arguments {
        DecisionInput::Whole(json) => (decision::escape_invisible(json), false, None),
        DecisionInput::Gone(why) => (glance.input, glance.is_input_cut, Some(*why)),
    };
    Decision {
        input,
        is_input_cut,
        diff: decision
            .inquiry
            .diff
            .as_deref()
            .map(decision::escape_invisible_lines),
        input_gone,
        notifications: announcements.iter().map(announcement).collect(),
        ..glance
    }
}

/// The evidence with invisible characters escaped.
fn shown_evidence(evidence: &Evidence) -> Evidence {
    let shown = |text: &str| decision::escape_invisible_lines(text);
    Evidence {
        source: evidence.source.as_ref().map(|source| SourceRef {
            kind: source.kind,
            name: decision::escape_invisible(&source.name),
        }),
        before: shown(&evidence.before),
        text: shown(&evidence.text),
        after: shown(&evidence.after),
    }
}

/// A decision as a list entry, with its arguments cut to one line.
fn glance(decision: &decision::Decision) -> Decision {
    let inquiry = &decision.inquiry;
    Decision {
        decision_id: inquiry.decision_id.to_string(),
        kind: inquiry.kind,
        status: decision.status,
        version: decision.version,
        title: inquiry.title.clone(),
        tool: inquiry.tool.clone(),
        input: decision::escape_invisible(&inquiry.input),
        is_input_cut: inquiry.is_input_cut(),
        diff: None,
        targets: inquiry
            .targets
            .iter()
            .map(|target| decision::escape_invisible(&target.to_string()))
            .collect(),
        evidence: inquiry.evidence.as_ref().map(shown_evidence),
        input_gone: None,
        options: inquiry.options.clone(),
        recommended_option_id: inquiry.recommended_option_id.clone(),
        severity: inquiry.severity,
        blast_radius: inquiry.blast_radius,
        rule: inquiry.rule.clone(),
        badges: decision.badges.to_vec(),
        agent_id: decision.agent_id.to_string(),
        run_key: decision.run_key.to_string(),
        operation_id: inquiry.operation_id.to_string(),
        retries: inquiry.retries.map(|operation| operation.to_string()),
        asked_at: decision.asked_at.rfc3339(),
        deadline_at: decision.deadline_at.map(Millis::rfc3339),
        may_answer: decision.may_answer.iter().copied().collect(),
        closed_at: decision.closed_at.map(Millis::rfc3339),
        answer: decision.answer.as_ref().map(answer),
        notifications: Vec::new(),
    }
}

/// A list of decisions, up to the limit of one response.
#[must_use]
pub fn decisions(found: &[decision::Decision], owed: HumanBacklog) -> DecisionList {
    let shown = found.iter().take(DECISIONS_MAX);
    DecisionList {
        decisions: shown.map(glance).collect(),
        pending_count: owed.pending_decisions,
    }
}

fn announcement(row: &DecisionNotificationRow) -> DecisionNotification {
    DecisionNotification {
        target: row.target.clone(),
        severity: row.severity,
        is_delivered: row.is_done,
        attempts: row.tries,
        error: row.error.clone(),
        at: row.at.rfc3339(),
    }
}

/// The active brakes, including those not yet in the database.
#[must_use]
pub fn brakes(rows: &[BrakeRow], pending: &[PendingStop]) -> BrakeList {
    BrakeList {
        is_on: rows.iter().any(|row| row.agent_id.is_none()),
        brakes: rows.iter().map(|row| brake(row, pending)).collect(),
    }
}

/// One active brake.
#[must_use]
pub fn brake(row: &BrakeRow, pending: &[PendingStop]) -> Brake {
    let target = StopTarget::brake(row.agent_id.as_ref());
    let pending = pending.iter().find(|pending| pending.request.target == target);
    Brake {
        agent_id: row.agent_id.as_ref().map(ToString::to_string),
        reason: row.reason.clone(),
        channel: row.channel,
        at: row.at.rfc3339(),
        not_durable: pending.map(not_durable),
    }
}

/// Why an active stop request is not in the database yet.
#[must_use]
pub fn not_durable(pending: &PendingStop) -> NotDurable {
    let code = match pending.code.as_str() {
        // No process has tried to store it yet.
        "" => "not_stored",
        code => code,
    };
    let kept = if pending.is_kept {
        "it is stored in stop.slot in the home and survives a restart"
    } else {
        "it could not be stored in the home either, so it ends with this process"
    };
    NotDurable {
        code: code.to_owned(),
        message: format!(
            "in force, but not in the database yet ({code}); {kept}; it is written as soon as the database is available"
        ),
        is_saved: pending.is_kept,
    }
}

fn answer(answer: &decision::Answer) -> Answer {
    Answer {
        option: answer.option.clone(),
        channel: answer.channel,
        note: answer.note.clone(),
        at: answer.at.rfc3339(),
    }
}
