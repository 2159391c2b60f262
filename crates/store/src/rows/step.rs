//! The rows of steps.

use wakeful_core::attempt::AttemptRecord;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::Usage;
use wakeful_core::key::{ActionBase, OperationId, RunKey};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::tool::{CallEnd, CallRecord};

/// A step: a model round or a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    pub operation_id: OperationId,
    pub run_key: RunKey,
    /// Position among the run's steps, from 1. Assigned by the store.
    pub ordinal: i64,
    /// Tool name or model reference.
    pub name: String,
    /// The effect class; `None` for a model round.
    pub class: Option<EffectClass>,
    /// The key under which equal actions are counted.
    pub base: Option<ActionBase>,
    pub status: StepStatus,
    /// The rule that permitted or denied the step, or the error.
    pub reason: String,
    /// When the step was stored.
    pub put_at: Millis,
    pub duration_ms: Option<u64>,
    /// The enforced isolation.
    pub sandbox: Option<String>,
    /// The exit status of a command that ended.
    pub exit_status: Option<i32>,
    /// Tokens of a model round.
    pub usage: Usage,
    /// The record of the attempt, for a model round that has ended.
    pub attempt: Option<AttemptRecord>,
    /// The record of a tool call; `None` for a model round.
    pub call: Option<CallRecord>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSettlement {
    pub operation_id: OperationId,
    pub status: StepStatus,
    pub duration_ms: u64,
    /// The enforced isolation.
    pub sandbox: Option<String>,
    /// The exit status of a command.
    pub exit_status: Option<i32>,
    /// Why the step ended like this, if there is more to report than the permission.
    pub reason: Option<String>,
    /// Tokens of a model round.
    pub usage: Usage,
    /// The record of a model round's attempt, as JSON.
    pub attempt: Option<String>,
    /// How the reservation for the step is settled.
    pub settlement: SpendSettlement,
    /// How a tool call ended; `None` for a model round.
    pub end: Option<CallEnd>,
}

/// How a reservation is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendSettlement {
    /// There was no reservation.
    Nothing,
    /// This amount was spent.
    Cost(MicroUsd),
    /// The cost is unknown, so the full reservation counts as spent.
    InFull,
}
