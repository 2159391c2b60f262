//! Measures the cost of a tool round beyond the sandboxed command itself: two commits, two hops to the
//! store, the plan.
//!
//! Every command of the run is performed twice: once for the run and once bare, through the same tools,
//! right before or right after it. So both run under the same load.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::step::{EffectClass, ToolError};
use wakeful_models::ScriptedModel;
use wakeful_ports::tool::{StopSignal, ToolHost, ToolOutcome, ToolRequest};
use wakeful_tools::{DisabledFeatures, Tools};

use crate::engine_setup::Never;
use crate::measure::{Measure, Target, median, ms};
use crate::tool_call::tools;
use crate::{Setting, disk, engine_setup};

pub(crate) const NAME: &str = "tool_round_overhead_ms";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let rounds = setting.effort.pick(30, 100);
    let folder = setting.folder.join("round");
    let (home, workspace) = (folder.join("home"), folder.join("workspace"));
    let tools = Arc::new(Paired::new(tools(
        setting,
        &folder,
        DisabledFeatures::default(),
    )?)?);
    let model = ScriptedModel::load(&disk::script(rounds), "bench")?;
    engine_setup::runtime()?.block_on(async {
        let store = engine_setup::sqlite(&home)?;
        let engine = engine_setup::engine(store.clone(), Arc::new(model), Arc::clone(&tools));
        engine_setup::drive(&engine, "rounds", &workspace.to_string_lossy(), 1_000).await?;
        store.close().await?;
        anyhow::Ok(())
    })?;
    let laps = tools.laps();
    ensure!(
        laps.len() == rounds,
        "{} of {rounds} commands were performed",
        laps.len()
    );
    ensure!(
        laps.iter().all(|lap| lap.good),
        "a command failed; check that this kernel supports the sandbox"
    );
    Ok(vec![told(&laps)])
}

fn told(laps: &[Lap]) -> Measure {
    let mut whole = Vec::new();
    let mut beyond = Vec::new();
    let mut outside = Vec::new();
    for (lap, next) in laps.iter().zip(laps.iter().skip(1)) {
        let round = next.entered.duration_since(lap.entered).saturating_sub(lap.bare);
        whole.push(ms(round));
        beyond.push(ms(round) - ms(lap.bare));
        outside.push(ms(round.saturating_sub(lap.inside)));
    }
    let bare: Vec<f64> = laps.iter().map(|lap| ms(lap.bare)).collect();
    let inside: Vec<f64> = laps.iter().map(|lap| ms(lap.inside)).collect();
    Measure::median(NAME, "ms", &beyond, Target::AtMost(8.0))
        .beside(
            "the same command through the same tools, without an engine",
            &bare,
        )
        .with("round_ms", median(&whole))
        .with("bare_command_ms", median(&bare))
        .with("command_in_round_ms", median(&inside))
        .with("engine_and_store_ms", median(&outside))
}

/// The real tools, which perform every command once more for comparison.
struct Paired {
    tools: Tools,
    laps: Mutex<Vec<Lap>>,
    agent: AgentId,
}

/// One command of the run.
#[derive(Debug, Clone)]
struct Lap {
    /// When the engine requested it.
    entered: Instant,
    /// Duration of the bare command.
    bare: Duration,
    /// Duration of the command for the run.
    inside: Duration,
    /// Whether both succeeded.
    good: bool,
}

impl Paired {
    fn new(tools: Tools) -> Result<Self> {
        Ok(Self {
            tools,
            laps: Mutex::default(),
            agent: AgentId::parse("bench")?,
        })
    }

    fn laps(&self) -> Vec<Lap> {
        self.laps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn aside(&self, number: usize) -> (Duration, ToolOutcome) {
        let operation_id = OperationId(Digest::of(&number.to_le_bytes()));
        let act = ToolRequest::new(
            operation_id,
            self.agent.clone(),
            "ExecCommand",
            json!({"cmd": "true"}),
        );
        let begun = Instant::now();
        let done = self.tools.perform(act, Never).await;
        (begun.elapsed(), done)
    }
}

impl ToolHost for Paired {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }

    fn class(&self, tool: &str) -> Option<EffectClass> {
        self.tools.class(tool)
    }

    fn check(&self, tool: &str, input: &Value) -> Result<(), ToolError> {
        self.tools.check(tool, input)
    }

    async fn perform(&self, act: ToolRequest, stop: impl StopSignal) -> ToolOutcome {
        let entered = Instant::now();
        let number = self.laps.lock().unwrap_or_else(PoisonError::into_inner).len();
        // Alternating, because the second one finds warm caches.
        let before = if number.is_multiple_of(2) {
            Some(self.aside(number).await)
        } else {
            None
        };
        let begun = Instant::now();
        let done = self.tools.perform(act, stop).await;
        let inside = begun.elapsed();
        let (bare, other) = match before {
            Some(before) => before,
            None => self.aside(number).await,
        };
        let good = done.code.is_none() && other.code.is_none();
        self.laps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Lap {
                entered,
                bare,
                inside,
                good,
            });
        done
    }

    async fn clean_up(&self, operation_id: OperationId) {
        self.tools.clean_up(operation_id).await;
    }
}
