//! What a run looks like from outside: one value, read from the store, whatever shows it.

use wakeful_core::conversation::{Block, Usage, text_of};
use wakeful_core::failure::FailureArtifact;
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{Outcome, Phase};
use wakeful_core::step::Status;
use wakeful_core::time::Millis;
use wakeful_ports::records::{RunRow, StepRow};
use wakeful_ports::store::{Store, View};

use crate::EngineError;
use crate::run::{broken, decode};

/// Steps read at once.
const STEPS_PAGE: u32 = 1_000;

/// A run as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// Its name.
    pub run_key: RunKey,
    /// Whose run it is.
    pub agent_id: AgentId,
    /// How it ended; none while it is open.
    pub outcome: Option<Outcome>,
    /// The model's last words.
    pub final_text: String,
    /// Model replies.
    pub rounds: u32,
    /// Tokens.
    pub usage: Usage,
    /// When it began.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Option<Millis>,
    /// Every step, model rounds included.
    pub steps: Vec<StepRow>,
}

impl RunReport {
    /// The tool calls among the steps.
    pub fn tool_calls(&self) -> impl Iterator<Item = &StepRow> {
        self.steps.iter().filter(|step| step.class.is_some())
    }

    /// Tool calls that ended like this.
    #[must_use]
    pub fn calls_with(&self, status: Status) -> Vec<OperationId> {
        self.tool_calls()
            .filter(|step| step.status == status)
            .map(|step| step.operation_id)
            .collect()
    }

    /// What went wrong, if the run failed.
    #[must_use]
    pub const fn failure(&self) -> Option<&FailureArtifact> {
        match &self.outcome {
            Some(Outcome::Failed(failure)) => Some(failure),
            Some(Outcome::Completed | Outcome::OutOfRounds | Outcome::Cancelled) | None => None,
        }
    }
}

/// Reads a run with all its steps.
pub async fn load<S: Store>(store: &S, run: RunKey) -> Result<RunReport, EngineError> {
    let row = store
        .read(move |view| view.run(&run))
        .await?
        .ok_or(EngineError::UnknownRun(run))?;
    let turn = decode(&row)?;
    let reply = match &turn.phase {
        Phase::Ended { reply, .. } => *reply,
        Phase::Acting { .. } | Phase::Modelling { .. } => None,
    };
    let (steps, body) = store
        .read(move |view| {
            let body = reply.map(|hash| view.blob(&hash)).transpose()?.flatten();
            Ok((all_steps(view, &run)?, body))
        })
        .await?;
    let blocks: Vec<Block> = match body {
        Some(body) => serde_json::from_slice(&body).map_err(|e| broken(run, &e))?,
        None => Vec::new(),
    };
    let RunRow {
        agent_id,
        started_at,
        ended_at,
        ..
    } = row;
    let outcome = turn.outcome().cloned();
    let (final_text, rounds, usage) = (text_of(&blocks), turn.rounds, turn.usage);
    Ok(RunReport {
        run_key: run,
        agent_id,
        outcome,
        final_text,
        rounds,
        usage,
        started_at,
        ended_at,
        steps,
    })
}

fn all_steps(view: &mut dyn View, run: &RunKey) -> Result<Vec<StepRow>, wakeful_ports::store::StoreError> {
    let mut steps: Vec<StepRow> = Vec::new();
    loop {
        let after = steps.last().map_or(0, |step| step.ordinal);
        let page = view.steps(run, after, STEPS_PAGE)?;
        if page.is_empty() {
            return Ok(steps);
        }
        steps.extend(page);
    }
}
