//! Steps: model rounds and tool calls, from the plan to their end.

use std::borrow::Cow;

use wakeful_core::attempt::AttemptRecord;
use wakeful_core::blob::BlobHash;
use wakeful_core::conversation::Usage;
use wakeful_core::id::{AgentId, PolicyVersion, ThreadId};
use wakeful_core::key::{ActionBase, OperationId, RunKey};
use wakeful_core::policy::{DenialCategory, GateStage};
use wakeful_core::step::{EffectClass, PriorActions, StepStatus};
use wakeful_core::time::Millis;
use wakeful_core::tool::{CallEnd, CallRecord, QuotaUse};

use crate::rows::{SpendSettlement, StepRow, StepSettlement};
use crate::sql::{Row, Sql, at_most_one, limit, records};
use crate::{Result, StoreError, Tx, View};

/// The ordinal is computed from the existing rows. Two writers of one run would violate the unique index,
/// and the second would get a conflict; the lock on the head prevents this.
const PUT: &str = "
    INSERT INTO step (operation_id, run_key, ordinal, name, class, action_base, status, reason, created_at_ms,
        duration_ms, sandbox, input_tokens, output_tokens, call_id, input_hash, policy_version, stage,
        denial_category, output_hash)
    VALUES (?1, ?2, (SELECT COALESCE(MAX(ordinal), 0) + 1 FROM step WHERE run_key = ?2),
        ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
    ON CONFLICT DO NOTHING";

impl Tx<'_> {
    /// Stores a step and assigns its ordinal.
    pub fn put_step(&mut self, step: &StepRow) -> Result<()> {
        let (name, reason) = (storable(&step.name), storable(&step.reason));
        let call = step.call.as_ref();
        let end = call.and_then(|call| call.end);
        let call_id = call.map(|call| storable(&call.call_id));
        let params = [
            (&step.operation_id).into(),
            (&step.run_key).into(),
            name.as_ref().into(),
            step.class.map(EffectClass::as_str).into(),
            step.base.as_ref().into(),
            step.status.as_str().into(),
            reason.as_ref().into(),
            step.put_at.into(),
            step.duration_ms.into(),
            step.sandbox.as_deref().into(),
            step.usage.input_tokens.into(),
            step.usage.output_tokens.into(),
            call_id.as_deref().into(),
            call.map(|call| &call.input).into(),
            call.map(|call| call.policy_version.as_str()).into(),
            end.map(|end| end.stage.as_str()).into(),
            end.and_then(|end| end.category)
                .map(DenialCategory::as_str)
                .into(),
            end.as_ref().map(|end| &end.output.0).into(),
        ];
        self.sql.run_once(PUT, &params)
    }
}

/// Replaces zero characters, because models produce arbitrary text and PostgreSQL rejects text that
/// contains one. Done for both databases, so that a run reads the same on either.
fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}").into()
    } else {
        text.into()
    }
}

const INTEND: &str = "UPDATE step SET status = 'intended' WHERE operation_id = ?1 AND status = 'planned'";

impl Tx<'_> {
    /// Marks a planned step as intended.
    pub fn intend_step(&mut self, operation: &OperationId) -> Result<()> {
        self.sql.run_once(INTEND, &[operation.into()])
    }
}

const AWAIT_APPROVAL: &str =
    "UPDATE step SET status = 'waiting_for_approval' WHERE operation_id = ?1 AND status = 'planned'";

impl Tx<'_> {
    /// Marks a planned step as waiting for an approval.
    pub fn await_step_approval(&mut self, operation: &OperationId) -> Result<()> {
        self.sql.run_once(AWAIT_APPROVAL, &[operation.into()])
    }
}

const APPROVE: &str =
    "UPDATE step SET status = 'planned' WHERE operation_id = ?1 AND status = 'waiting_for_approval'";

impl Tx<'_> {
    /// Marks an approved step as planned.
    pub fn approve_step(&mut self, operation: &OperationId) -> Result<()> {
        self.sql.run_once(APPROVE, &[operation.into()])
    }
}

const POSTPONE: &str = "UPDATE step SET status = 'planned' WHERE operation_id = ?1 AND status = 'intended'";

impl Tx<'_> {
    /// Marks an intended step as planned again: it has not started.
    pub fn postpone_step(&mut self, operation: &OperationId) -> Result<()> {
        self.sql.run_once(POSTPONE, &[operation.into()])
    }
}

const SETTLE: &str = "
    UPDATE step SET status = ?2, duration_ms = ?3, sandbox = ?4, input_tokens = ?5, output_tokens = ?6,
        reason = COALESCE(?7, reason), attempt = ?8, exit_status = ?9, stage = ?10, denial_category = ?11,
        output_hash = ?12
    WHERE operation_id = ?1 AND status IN ('planned', 'waiting_for_approval', 'intended')";

impl Tx<'_> {
    /// Stores the end of a step. A step ends once; a second end fails with [`StoreError::Conflict`].
    pub fn settle_step(&mut self, end: &StepSettlement) -> Result<()> {
        let (reason, attempt) = (
            end.reason.as_deref().map(storable),
            end.attempt.as_deref().map(storable),
        );
        let params = [
            (&end.operation_id).into(),
            end.status.as_str().into(),
            end.duration_ms.into(),
            end.sandbox.as_deref().into(),
            end.usage.input_tokens.into(),
            end.usage.output_tokens.into(),
            reason.as_deref().into(),
            attempt.as_deref().into(),
            end.exit_status.map(i64::from).into(),
            end.end.map(|end| end.stage.as_str()).into(),
            end.end
                .and_then(|end| end.category)
                .map(DenialCategory::as_str)
                .into(),
            end.end.as_ref().map(|end| &end.output.0).into(),
        ];
        self.sql.run_once(SETTLE, &params)?;
        if end.status == StepStatus::OutcomeUnknown {
            self.flag_run_of_step((&end.operation_id).into())?;
        }
        match end.settlement {
            SpendSettlement::Nothing => Ok(()),
            SpendSettlement::Cost(cost) => self.settle_spend(&end.operation_id, Some(cost)),
            SpendSettlement::InFull => self.settle_spend(&end.operation_id, None),
        }
    }
}

const LEAVE: &str = "
    UPDATE step SET status = 'outcome_unknown' WHERE run_key = ?1 AND status = 'intended' AND class = 'plain'";

impl Tx<'_> {
    /// Ends the plain actions of a run that were in progress with an unknown outcome. Returns how many
    /// there were.
    pub fn mark_steps_unknown(&mut self, run: &RunKey) -> Result<u64> {
        let marked = self.sql.execute(LEAVE, &[run.into()])?;
        if marked > 0 {
            self.flag_run(run)?;
        }
        Ok(marked)
    }
}

const AFTER: &str = "
    SELECT operation_id, run_key, ordinal, name, class, action_base, status, reason, created_at_ms,
        duration_ms, sandbox, exit_status, input_tokens, output_tokens, attempt, call_id, input_hash,
        policy_version, stage, denial_category, output_hash
    FROM step WHERE run_key = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";

impl View<'_> {
    /// Returns the steps of a run after an ordinal, oldest first.
    pub fn steps(&mut self, run: &RunKey, ordinal: i64, at_most: u32) -> Result<Vec<StepRow>> {
        records(
            self.sql
                .query(AFTER, &[run.into(), ordinal.into(), limit(at_most)])?,
            read,
        )
    }
}

fn read(mut row: Row) -> Result<StepRow> {
    Ok(StepRow {
        operation_id: OperationId(row.digest("step.operation_id")?),
        run_key: RunKey(row.digest("step.run_key")?),
        ordinal: row.int("step.ordinal")?,
        name: row.text("step.name")?,
        class: class(row.optional_text("step.class")?)?,
        base: row.optional_digest("step.action_base")?.map(ActionBase),
        status: row.word("step.status", StepStatus::parse)?,
        reason: row.text("step.reason")?,
        put_at: row.millis("step.created_at_ms")?,
        duration_ms: duration(row.optional_int("step.duration_ms")?)?,
        sandbox: row.optional_text("step.sandbox")?,
        exit_status: row
            .optional_int("step.exit_status")?
            .and_then(|status| i32::try_from(status).ok()),
        usage: Usage::of(row.count("step.input_tokens")?, row.count("step.output_tokens")?),
        attempt: attempt(row.optional_text("step.attempt")?)?,
        call: call(&mut row)?,
    })
}

/// The record of a tool call. The schema keeps its columns together.
fn call(row: &mut Row) -> Result<Option<CallRecord>> {
    let call_id = row.optional_text("step.call_id")?;
    let input = row.optional_digest("step.input_hash")?;
    let policy_version = row.optional_text("step.policy_version")?.map(PolicyVersion::new);
    let stage = row.optional_word("step.stage", GateStage::parse)?;
    let category = row.optional_word("step.denial_category", DenialCategory::parse)?;
    let output = row.optional_digest("step.output_hash")?.map(BlobHash);
    let end = stage.zip(output).map(|(stage, output)| CallEnd {
        stage,
        category,
        output,
    });
    let (Some(call_id), Some(input), Some(policy_version)) = (call_id, input, policy_version) else {
        return Ok(None);
    };
    Ok(Some(CallRecord {
        call_id,
        input,
        policy_version,
        end,
    }))
}

fn attempt(json: Option<String>) -> Result<Option<AttemptRecord>> {
    json.map(|json| serde_json::from_str(&json))
        .transpose()
        .map_err(|_| StoreError::Malformed("step.attempt"))
}

fn class(text: Option<String>) -> Result<Option<EffectClass>> {
    let Some(text) = text else { return Ok(None) };
    EffectClass::parse(&text)
        .map(Some)
        .ok_or(StoreError::Malformed("step.class"))
}

fn duration(ms: Option<i64>) -> Result<Option<u64>> {
    ms.map(u64::try_from)
        .transpose()
        .map_err(|_| StoreError::Malformed("step.duration_ms"))
}

const SEEN: &str = "
    SELECT COUNT(*), COUNT(*) FILTER (WHERE status = 'outcome_unknown')
    FROM step WHERE run_key = ?1 AND action_base = ?2";

const NEWEST_UNKNOWN: &str = "
    SELECT operation_id FROM step WHERE run_key = ?1 AND action_base = ?2 AND status = 'outcome_unknown'
    ORDER BY ordinal DESC LIMIT 1";

impl View<'_> {
    /// Summarizes the equal actions of a run: how many there were, and whether one has an unknown outcome.
    pub fn prior_actions(&mut self, run: &RunKey, base: &ActionBase) -> Result<PriorActions> {
        let rows = self.sql.query(SEEN, &[run.into(), base.into()])?;
        let mut row = at_most_one(rows).ok_or(StoreError::Malformed("step"))?;
        let (count, unknown) = (row.count("step")?, row.count("step")? > 0);
        let newest_unknown = if unknown {
            let row = at_most_one(self.sql.query(NEWEST_UNKNOWN, &[run.into(), base.into()])?);
            row.map(|mut row| row.digest("step.operation_id").map(OperationId))
                .transpose()?
        } else {
            None
        };
        Ok(PriorActions {
            count,
            unknown,
            newest_unknown,
        })
    }
}

/// A use is an action whose intent was committed, unless it was withdrawn. Runs are found by the session, and
/// by whether they were open within the day, so that older ones are not read.
const TOOL_USE: &str = "
    SELECT COUNT(*) FILTER (WHERE counted.thread_id = ?3), COUNT(*) FILTER (WHERE step.created_at_ms > ?4)
    FROM (
        SELECT run_key, thread_id FROM run WHERE thread_id = ?3 AND agent_id = ?1
        UNION SELECT run_key, thread_id FROM run WHERE agent_id = ?1 AND status = 'open'
        UNION SELECT run_key, thread_id FROM run
            WHERE ended_at_ms IS NOT NULL AND prune_level < 2 AND ended_at_ms > ?4 AND agent_id = ?1
    ) AS counted
    JOIN step ON step.run_key = counted.run_key AND step.name = ?2 AND step.class IS NOT NULL
    WHERE step.status IN ('intended', 'ok', 'partial', 'outcome_unknown')
        OR (step.status = 'failed' AND step.stage = 'execute')";

/// Only runs that ended within the time can have used the tool in it, or open ones.
const TOOL_USE_ELSEWHERE: &str = "
    SELECT COUNT(*)
    FROM (
        SELECT run_key FROM run WHERE agent_id = ?1 AND status = 'open' AND run_key <> ?3
        UNION SELECT run_key FROM run
            WHERE ended_at_ms IS NOT NULL AND prune_level < 2 AND ended_at_ms > ?4 AND agent_id = ?1 AND run_key <> ?3
    ) AS counted
    JOIN step ON step.run_key = counted.run_key AND step.name = ?2 AND step.class IS NOT NULL
    WHERE step.created_at_ms > ?4 AND (step.status IN ('intended', 'ok', 'partial', 'outcome_unknown')
        OR (step.status = 'failed' AND step.stage = 'execute'))";

/// The uses of a tool by other runs of an agent.
#[derive(Debug, Clone, Copy)]
pub struct ToolUseElsewhere<'a> {
    pub agent_id: &'a AgentId,
    pub tool: &'a str,
    /// The run that is not counted.
    pub run_key: &'a RunKey,
    pub since: Millis,
}

/// The uses of a tool to count.
#[derive(Debug, Clone, Copy)]
pub struct ToolUseQuery<'a> {
    pub agent_id: &'a AgentId,
    pub tool: &'a str,
    /// The session to count in. Its count is zero if there is none.
    pub thread: Option<&'a ThreadId>,
    /// When the day to count in begins.
    pub since: Millis,
}

impl View<'_> {
    /// Counts how often other runs of an agent used a tool since a time.
    pub fn tool_use_elsewhere(&mut self, query: ToolUseElsewhere<'_>) -> Result<u64> {
        let params = [
            query.agent_id.into(),
            query.tool.into(),
            query.run_key.into(),
            query.since.into(),
        ];
        let found = self.sql.query(TOOL_USE_ELSEWHERE, &params)?;
        at_most_one(found)
            .ok_or(StoreError::Malformed("step"))?
            .count("step")
    }

    /// Counts how often an agent used a tool in a session and since a time.
    pub fn tool_use(&mut self, query: ToolUseQuery<'_>) -> Result<QuotaUse> {
        let params = [
            query.agent_id.into(),
            query.tool.into(),
            query.thread.map_or("", ThreadId::as_str).into(),
            query.since.into(),
        ];
        let mut row = at_most_one(self.sql.query(TOOL_USE, &params)?).ok_or(StoreError::Malformed("step"))?;
        Ok(QuotaUse {
            current_session_count: row.count("step")?,
            current_day_count: row.count("step")?,
        })
    }
}
