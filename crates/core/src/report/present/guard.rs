//! Presentation of what guardrails and hooks did.

use super::{EventLevel, Row};
use crate::guardrail::GuardrailAction;
use crate::hook::HookResult;
use crate::report::payload::{GuardrailTripped, HookExecuted};

pub(super) fn guardrail(tripped: &GuardrailTripped) -> Row {
    let level = match tripped.action {
        GuardrailAction::Block => EventLevel::TurnResult,
        GuardrailAction::Warn => EventLevel::Progress,
        GuardrailAction::Log => EventLevel::Trace,
    };
    let (place, action) = (tripped.place, tripped.action);
    let title = format!("Guardrail for {place}: {action}");
    let detail = match tripped.description.as_str() {
        "" => tripped.guardrail.clone(),
        description => format!("{} ({description})", tripped.guardrail),
    };
    Row::plain(level, &title).with_detail(&detail)
}

pub(super) fn hook(executed: &HookExecuted) -> Row {
    let level = match executed.result {
        HookResult::Passed => EventLevel::Trace,
        HookResult::Asked | HookResult::Changed => EventLevel::Progress,
        HookResult::Blocked | HookResult::Failed => EventLevel::TurnResult,
    };
    let title = format!("Hook {}: {}", executed.hook_event, executed.result);
    let detail = match executed.reason.as_str() {
        "" => executed.hook.clone(),
        reason => format!("{} ({reason})", executed.hook),
    };
    Row::plain(level, &title).with_detail(&detail)
}
