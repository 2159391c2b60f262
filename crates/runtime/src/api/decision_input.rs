//! Loads the complete arguments of the action that a decision is about from the model reply that requested
//! it.
//!
//! The decision row stores only one line of the arguments, because it is listed, sent in events and part of
//! the read set. The person who answers needs all of them; they are at most as long as a model reply may
//! be.

use wakeful_core::decision::{Decision, InputGone};
use wakeful_store::{StoreError, View};

use super::step_contents::call;
use crate::run::decode;

/// The arguments of the action that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionInput {
    /// The complete arguments as JSON.
    Whole(String),
    /// Only their beginning is available, for this reason.
    Gone(InputGone),
}

impl DecisionInput {
    /// The arguments as far as the decision row has them, for callers that cannot read more.
    #[must_use]
    pub fn of_record(decision: &Decision) -> Self {
        let inquiry = &decision.inquiry;
        match (inquiry.input.is_empty(), inquiry.is_input_cut()) {
            (true, _) => Self::Gone(InputGone::Erased),
            (false, true) => Self::Gone(InputGone::Unreadable),
            (false, false) => Self::Whole(inquiry.input.clone()),
        }
    }
}

/// Looks up the arguments of a decision's action.
pub(super) fn arguments(view: &mut View<'_>, decision: &Decision) -> Result<DecisionInput, StoreError> {
    let inquiry = &decision.inquiry;
    if inquiry.input.is_empty() || !inquiry.is_input_cut() {
        return Ok(DecisionInput::of_record(decision));
    }
    let Some(row) = view.run(&decision.run_key)? else {
        return Ok(DecisionInput::Gone(InputGone::Unreadable));
    };
    let found = match decode(&row) {
        Ok(turn) => call(view, &row, &turn, inquiry.operation_id)?,
        Err(_) => None,
    };
    Ok(match found {
        Some(call) => DecisionInput::Whole(call.input.to_string()),
        None if view.is_pruned(&decision.run_key)? => DecisionInput::Gone(InputGone::Pruned),
        None => DecisionInput::Gone(InputGone::Unreadable),
    })
}
