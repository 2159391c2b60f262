//! Presentation of decisions and brakes.

use super::{EventLevel, Row};
use crate::decision::DecisionStatus;
use crate::failure::CUT;
use crate::report::payload::{ALL_AGENTS, BrakeChanged, DecisionAnswered, DecisionAsked};

pub(super) fn asked(asked: &DecisionAsked, row: Row) -> Row {
    let DecisionAsked { title, input, .. } = asked;
    if input.is_empty() {
        return row.with_summary(title.clone());
    }
    // Placed first, because the line itself may be truncated.
    let cut = match input.ends_with(CUT) {
        true => "(truncated; the decision shows all of it) ",
        false => "",
    };
    row.with_summary(format!("{title} {cut}{input}"))
}

pub(super) fn answered(answered: &DecisionAnswered, row: Row) -> Row {
    let tool = match answered.tool.as_str() {
        "" => "an action",
        tool => tool,
    };
    match (answered.status, &answered.answer) {
        (DecisionStatus::Answered, Some(answer)) => {
            let row = Row::plain(EventLevel::TurnResult, "A decision was answered");
            row.with_summary(format!("{}: {tool} (by {})", answer.option, answer.channel))
        }
        (DecisionStatus::Cancelled, _) => {
            let row = Row::plain(EventLevel::TurnResult, "Decision timed out");
            row.with_summary(format!("Decision timed out; {tool} is not used"))
        }
        (DecisionStatus::Pending | DecisionStatus::Answered | DecisionStatus::Withdrawn, _) => row,
    }
}

pub(super) fn brake(brake: &BrakeChanged) -> Row {
    let title = match (brake.is_on, brake.scope == ALL_AGENTS) {
        (true, true) => "Brake set for all agents",
        (true, false) => "Brake set for the agent",
        (false, true) => "Brake released for all agents",
        (false, false) => "Brake released for the agent",
    };
    Row::plain(EventLevel::TurnResult, title).with_detail(brake.reason.as_deref().unwrap_or_default())
}
