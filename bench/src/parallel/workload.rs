//! The work of the agents: runs of tool rounds with a model and a tool that respond at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use wakeful_core::conversation::{Block, ToolCall, ToolSpec, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::key::OperationId;
use wakeful_core::prompt::ModelRequest;
use wakeful_core::run::ROUNDS_DEFAULT;
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_store::Store;

use crate::engine_setup;

/// The size of a workload.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Concurrent runs.
    pub(crate) agents: usize,
    /// Consecutive runs per concurrent slot, each of its own agent.
    pub(crate) runs: usize,
    /// Tool rounds of a run; one more round answers.
    tool_rounds: u32,
}

/// Many agents with one long run each, with the default number of rounds.
pub(crate) const LONG: Load = Load {
    agents: 64,
    runs: 1,
    tool_rounds: ROUNDS_DEFAULT - 1,
};

/// Sixteen clients with short runs: three rounds and two calls are five steps.
pub(crate) const FIVE_STEPS: Load = Load {
    agents: 16,
    runs: 40,
    tool_rounds: 2,
};

/// A small workload for tests of the row collection.
#[cfg(test)]
pub(crate) const SMALL: Load = Load {
    agents: 2,
    runs: 2,
    tool_rounds: 1,
};

impl Load {
    /// Total number of runs.
    pub(crate) const fn all_runs(self) -> usize {
        self.agents * self.runs
    }
}

pub(crate) const TOOL: &str = "Note";

/// Drives the runs of every agent to their end and returns the total duration.
pub(crate) async fn drive(store: &Store, load: Load) -> Result<Duration> {
    let tools = Arc::new(NoOp);
    let mut runs = JoinSet::new();
    let begun = Instant::now();
    for agent in 0..load.agents {
        let tool_rounds = load.tool_rounds;
        let model = Arc::new(Prompt { agent, tool_rounds });
        let engine = engine_setup::engine(store.clone(), model, Arc::clone(&tools));
        runs.spawn(async move {
            for run in 0..load.runs {
                // Each run has its own agent: the cost of a history is measured elsewhere.
                let name = format!("agent-{agent:02}-{run:02}");
                engine_setup::drive(&engine, &name, "/", ROUNDS_DEFAULT).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(run) = runs.join_next().await {
        run??;
    }
    Ok(begun.elapsed())
}

/// A model that responds at once. Its text differs between agents and rounds, because equal contents would
/// be stored only once.
struct Prompt {
    agent: usize,
    tool_rounds: u32,
}

impl Model for Prompt {
    fn profile(&self, _model_ref: &str) -> ModelProfile {
        ModelProfile::here("bench")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
        let (agent, round) = (self.agent, request.request);
        let text = format!("Agent {agent} looks at round {round} and decides what to do next.");
        let mut blocks = vec![Block::Text { text }];
        if round < self.tool_rounds {
            blocks.push(Block::ToolUse(ToolCall {
                call_id: format!("call_{round}_0"),
                name: TOOL.to_owned(),
                input: json!({"cmd": format!("note --agent {agent} --round {round}")}),
            }));
        }
        let usage = Usage::of(100, 20);
        Ok(ModelResponse { blocks, usage })
    }
}

/// A tool that does nothing, with the effect class and the result shape of a command.
pub(crate) struct NoOp;

impl ToolHost for NoOp {
    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec {
            name: TOOL.to_owned(),
            description: "Does nothing.".to_owned(),
            freeform: None,
            input_schema: json!({"type": "object", "properties": {"cmd": {"type": "string"}}}),
        }]
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        (tool == TOOL).then_some(EffectClass::Plain)
    }

    fn check(&self, _tool: &str, _input: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    async fn perform(&self, act: ToolRequest, _stop: impl StopSignal) -> ToolOutcome {
        let content = json!({"ok": true, "exit_status": 0, "stdout": act.input.to_string(), "stderr": ""});
        ToolOutcome {
            content: content.to_string(),
            code: None,
            sandbox: None,
            exit_status: Some(0),
            blobs: Vec::new(),
            images: Vec::new(),
            changed: Vec::new(),
            retry_after: None,
        }
    }

    async fn clean_up(&self, _operation_id: OperationId) {}
}
