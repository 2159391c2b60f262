//! Rows of limits, and what is reserved under them.

use wakeful_core::budget::{BudgetGrant, BudgetPool, BudgetResource, LimitId};
use wakeful_core::id::{AgentId, ThreadId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::time::Millis;

/// A limit that a person set, with its use so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    /// What it limits: an agent, the thread of a session, or the key of a run. Empty for all agents.
    pub subject: String,
    pub pool: BudgetPool,
    /// Since when use is counted.
    pub counted_at: Millis,
    pub set_at: Millis,
}

/// The run whose work draws on the budget, with everything that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetOwner {
    pub run_key: RunKey,
    /// The run at the top of its tree, which is itself unless another run started it.
    pub root_run: RunKey,
    pub agent_id: AgentId,
    pub thread_id: ThreadId,
}

/// What one effect reserves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub operation_id: OperationId,
    pub grants: Vec<BudgetGrant>,
}

/// A stored reservation under one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldRow {
    pub operation_id: OperationId,
    pub limit: LimitId,
    pub resource: BudgetResource,
    pub amount: u64,
}

/// How the reservations of an effect end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldEnd {
    /// What the effect used is unknown.
    InFull,
    /// The effect did not begin.
    Released,
    Used(ResourceUse),
}

/// What an effect used; none where that is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResourceUse {
    pub microusd: Option<u64>,
    pub tokens: Option<u64>,
    pub run_time_ms: Option<u64>,
    pub written_bytes: Option<u64>,
}

impl HoldEnd {
    /// What counts as used of a reserved amount; none for all of it.
    #[must_use]
    pub fn used(self, resource: BudgetResource, reserved: u64) -> Option<u64> {
        let used = match self {
            Self::InFull => return None,
            Self::Released => return Some(0),
            Self::Used(used) => used,
        };
        match resource {
            BudgetResource::Money => used.microusd,
            BudgetResource::Tokens => used.tokens,
            // The time that an effect needs to end after its limit is not counted.
            BudgetResource::RunTime => used.run_time_ms.map(|ms| ms.min(reserved)),
            BudgetResource::ToolCalls => None,
            BudgetResource::WrittenBytes => used.written_bytes,
        }
    }
}
