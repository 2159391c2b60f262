//! Presentation of changes to an agent.

use super::{Row, notice};
use crate::report::payload::{AgentStateChanged, PolicyChanged};
use crate::wake::{AgentControl, Lifecycle};

pub(super) fn state_changed(change: &AgentStateChanged, row: Row) -> Row {
    let title = match change {
        AgentStateChanged::Subscription { subscription, state } => {
            return notice::subscription_changed(subscription, *state);
        }
        AgentStateChanged::Created { .. } => "Agent created",
        AgentStateChanged::Control { control } => match control {
            AgentControl::Paused => "Agent paused",
            AgentControl::Running => "Agent resumed",
            AgentControl::Stopped => "Agent stopped",
        },
        AgentStateChanged::Lifecycle { lifecycle } => match lifecycle {
            Lifecycle::Active => "Agent activated",
            Lifecycle::Dormant => "Agent made dormant",
            Lifecycle::Destroyed => "Agent destroyed",
            Lifecycle::Created => return row,
        },
        AgentStateChanged::Mode { .. } => "Agent mode changed",
        AgentStateChanged::Sleep { .. } => "Agent put to sleep",
        AgentStateChanged::Wake { .. } => "Agent woken by a person",
        AgentStateChanged::Trigger { .. } => "Agent's trigger changed",
        AgentStateChanged::Settings { .. } => "Agent settings changed",
        AgentStateChanged::Restored { .. } => "Agent restored from a backup",
        AgentStateChanged::ScheduleAdded(_)
        | AgentStateChanged::ScheduleEdited(_)
        | AgentStateChanged::SchedulePaused(_)
        | AgentStateChanged::ScheduleResumed(_)
        | AgentStateChanged::ScheduleDisabled(_)
        | AgentStateChanged::ScheduleExpired(_)
        | AgentStateChanged::ScheduleUnreadable { .. }
        | AgentStateChanged::BudgetDay { .. } => return row,
    };
    Row::plain(row.level, title)
}

pub(super) fn policy_changed(changed: &PolicyChanged, row: Row) -> Row {
    let names: Vec<&str> = changed.files.iter().map(|file| file.file.as_str()).collect();
    match (names.is_empty(), changed.is_incomplete) {
        (_, true) => row.with_detail("a file is invalid and has no earlier version: nothing is permitted"),
        (true, false) => row.with_detail("no policy files are in force"),
        (false, false) => row.with_detail(&format!("in force: {}", names.join(", "))),
    }
}
