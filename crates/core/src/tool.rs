//! Tools as data: their contracts, the gates that follow from these, the risk of a call, and the reasons of
//! a run for which a tool may be used.

mod capability;
mod changed;
mod connection;
pub mod contract;
pub mod gate;
pub mod invocation;
pub mod quota;
pub mod risk;
pub mod wire;

pub use self::capability::{AgentAccessScope, AgentCapability, Capability, EnvironmentCapability};
pub use self::changed::{CHANGED_MAX, ChangedEntity, EntityLink, EntityRelation};
pub use self::connection::{
    Connection, ConnectionVerdict, REFUSED_CONNECTIONS_MAX, reached_hosts, refused_connections,
    with_connections_of,
};
pub use self::contract::{
    ContractDocument, ContractError, ContractMismatch, FactKind, IdempotencyStrategy, RegisteredTool,
    ScopeRule, SideEffects, ToolContract, ToolContracts,
};
pub use self::gate::{GateQuery, GateStop};
pub use self::invocation::{CallContext, CallEnd, CallRecord, ToolInvocation};
pub use self::quota::{QuotaReads, QuotaUse, ToolQuota};
pub use self::risk::{CallRisk, RiskRegistry, ToolRiskClassification};
pub use self::wire::{AgentToolResult, ToolResultStatus};
use crate::cause::MessageOrigin;

/// The search of the web that a model's provider performs while it writes a reply. It is never called: the
/// request offers it, and the reply contains what was searched.
pub const WEB_SEARCH: &str = "WebSearch";

/// How often a provider may search for one request. Five queries answer most questions, and providers charge
/// about a cent for each.
pub const WEB_SEARCHES_MAX: u32 = 5;

string_enum! {
    /// The risk tier of a tool.
    #[derive(PartialOrd, Ord)]
    pub enum RiskLevel {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
}

string_enum! {
    /// Why a run was started, as tool contracts name it.
    #[derive(Default, PartialOrd, Ord)]
    pub enum WakeReason {
        /// A change, an external trigger or another agent.
        Subscription = "subscription",
        /// A schedule.
        Timer = "timer",
        /// A person's message.
        #[default]
        UserInitiated = "user_initiated",
        /// A firing that was missed and is made up for.
        RecoveryCatchup = "recovery_catchup",
        /// A person fired a schedule by hand.
        Manual = "manual",
    }
}

impl WakeReason {
    /// The reason of a run with this origin. A run of another agent counts as a change, because no person
    /// waits for it.
    #[must_use]
    pub const fn of(origin: &MessageOrigin) -> Self {
        match origin {
            MessageOrigin::Operator => Self::UserInitiated,
            MessageOrigin::Schedule {
                is_catch_up: true, ..
            } => Self::RecoveryCatchup,
            MessageOrigin::Schedule { is_by_hand: true, .. } => Self::Manual,
            MessageOrigin::Schedule { .. } => Self::Timer,
            MessageOrigin::Subscription { .. }
            | MessageOrigin::Trigger { .. }
            | MessageOrigin::Run { .. } => Self::Subscription,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;
    use crate::id::RuleId;
    use crate::key::{Digest, RunKey};
    use crate::run::RunMachine;
    use crate::time::Millis;

    fn schedule(is_catch_up: bool, is_by_hand: bool) -> MessageOrigin {
        MessageOrigin::Schedule {
            schedule: RuleId::parse("daily").expect("an id"),
            scheduled_at: Millis(1),
            is_catch_up,
            is_by_hand,
            event: None,
        }
    }

    #[test]
    fn every_origin_of_a_run_has_its_wake_reason() {
        let run = RunKey(Digest::of(b"run"));
        let trigger = MessageOrigin::Trigger {
            trigger: RuleId::parse("ci").expect("an id"),
            delivery: "1".to_owned(),
            content_type: None,
        };
        let reasons = [
            (MessageOrigin::Operator, WakeReason::UserInitiated),
            (schedule(false, false), WakeReason::Timer),
            (schedule(true, false), WakeReason::RecoveryCatchup),
            (schedule(false, true), WakeReason::Manual),
            (trigger, WakeReason::Subscription),
            (MessageOrigin::Run { run }, WakeReason::Subscription),
        ];
        for (origin, expected) in reasons {
            let cause = Cause {
                origin,
                ..Cause::default()
            };
            // A message that is absorbed later does not change why the run was started.
            let machine = RunMachine::new(run, "m".to_owned(), 1).caused_by(&cause);
            assert_eq!(machine.wake_reason, expected);
        }
    }
}
