//! Whether a step costs the same however many there were before: one long run, its first rounds beside its last.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use wakeful_core::conversation::{Block, ToolCall, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::Terms;
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

use crate::measure::{Measure, Target, median, ms};
use crate::parallel::{NoOp, TOOL};
use crate::{Setting, world};

pub(crate) const NAME: &str = "late_step_over_early_step";

/// Steps of the long run: as many as the engine is made for.
const STEPS: usize = 100_000;

/// Steps where only few samples are wanted.
const STEPS_QUICK: usize = 2_000;

/// A round is a request and an action: two steps, and two commits.
const STEPS_OF_ROUND: usize = 2;

/// Rounds at either end that are compared.
const SAMPLES: usize = 200;

/// Rounds at the beginning that warm up, and in which the request still grows to its bound.
const WARM_UP: usize = 250;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let folder = setting.folder.join("flat");
    std::fs::create_dir_all(&folder)?;
    let steps = setting.effort.pick(STEPS_QUICK, STEPS);
    let rounds = steps / STEPS_OF_ROUND;
    let model = Arc::new(Talker {
        rounds,
        asked: Mutex::new(Vec::with_capacity(rounds + 1)),
    });
    let runtime = world::runtime()?;
    let store = world::sqlite(&folder)?;
    let engine = world::engine(store.clone(), Arc::clone(&model), Arc::new(NoOp));
    let most = u32::try_from(rounds + 1)?;
    runtime.block_on(world::drive(&engine, ("long", 1), "/", most))?;
    runtime.block_on(store.close())?;
    let asked = model.asked.lock().unwrap_or_else(PoisonError::into_inner);
    let took: Vec<f64> = asked
        .iter()
        .zip(asked.iter().skip(1))
        .map(|(one, next)| ms(*next - *one))
        .collect();
    let seconds = took.iter().sum::<f64>() / 1_000.0;
    let early = took.get(WARM_UP..WARM_UP + SAMPLES).context("too few rounds")?;
    let late = took.get(took.len() - SAMPLES..).context("too few rounds")?;
    let ratio = median(late) / median(early);
    let measure = Measure::median(NAME, "times", &[ratio], Target::AtMost(1.2));
    Ok(vec![
        measure
            .with("steps", steps as f64)
            .with("took_s", seconds)
            .with("early_round_ms", median(early))
            .with("late_round_ms", median(late)),
    ])
}

/// A model that asks for a tool in every round but the last, and notes when it was asked.
struct Talker {
    rounds: usize,
    asked: Mutex<Vec<Instant>>,
}

impl Model for Talker {
    fn terms(&self, _model_ref: &str) -> Terms {
        Terms::here("bench")
    }

    async fn ask(&self, request: Request, _: &dyn Audience) -> Result<Answer, ModelFailure> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(Instant::now());
        let round = request.request;
        let mut blocks = vec![Block::Text {
            text: format!("Round {round}."),
        }];
        if asked.len() <= self.rounds {
            blocks.push(Block::ToolUse(ToolCall {
                call_id: format!("call_{round}_0"),
                name: TOOL.to_owned(),
                input: serde_json::json!({"cmd": format!("note --round {round}")}),
            }));
        }
        let usage = Usage::of(100, 20);
        Ok(Answer { blocks, usage })
    }
}
