//! Measures whether a step costs the same regardless of how many precede it: the last rounds of one long
//! run, compared with those of fresh runs.
//!
//! A disk has slow minutes, and the long run takes longer than one. So near its end it pauses a few times
//! while a fresh run is played, and the compared values are measured within a second or two.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use wakeful_core::conversation::{Block, ToolCall, Usage};
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::ModelProfile;
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

use crate::measure::{Measure, Target, median, ms};
use crate::parallel::{NoOp, TOOL};
use crate::{Setting, engine_setup};

pub(crate) const NAME: &str = "late_step_over_early_step";

/// Steps of the long run: the maximum that the engine is designed for.
const STEPS: usize = 100_000;

/// Steps of a quick measurement.
const STEPS_QUICK: usize = 4_000;

/// A round is a request and an action: two steps, and two commits.
const STEPS_OF_ROUND: usize = 2;

/// How often late rounds are compared with early ones.
const PAIRS: usize = 7;

/// Rounds of either run in each comparison.
const SAMPLES: usize = 200;

/// Warm-up rounds of a fresh run, in which the request still grows to its bound.
const WARM_UP: usize = 250;

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let folder = setting.folder.join("flat");
    std::fs::create_dir_all(&folder)?;
    let steps = setting.effort.pick(STEPS_QUICK, STEPS);
    let model = Arc::new(Long {
        talker: Talker::of(steps / STEPS_OF_ROUND),
        folder: folder.clone(),
        early: Mutex::default(),
    });
    let runtime = engine_setup::runtime()?;
    let store = engine_setup::sqlite(&folder)?;
    let engine = engine_setup::engine(store.clone(), Arc::clone(&model), Arc::new(NoOp));
    let most = u32::try_from(model.talker.rounds + 1)?;
    runtime.block_on(engine_setup::drive(&engine, "long", "/", most))?;
    runtime.block_on(store.close())?;

    let took = model.talker.took();
    let early = std::mem::take(&mut *model.early.lock().unwrap_or_else(PoisonError::into_inner));
    ensure!(
        early.len() == PAIRS,
        "{} fresh runs instead of {PAIRS}",
        early.len()
    );
    let early = early.into_iter().collect::<Result<Vec<_>>>()?;
    let late = (0..PAIRS)
        .map(|pair| {
            // Before the round that the fresh run delayed.
            let end = model.talker.rounds - pair * (SAMPLES + 1) - 1;
            took.get(end - SAMPLES..end).map(median).context("too few rounds")
        })
        .rev()
        .collect::<Result<Vec<_>>>()?;
    // Without the rounds in which the long run paused.
    let took_s = took
        .iter()
        .take(model.talker.rounds - PAIRS * (SAMPLES + 1))
        .sum::<f64>()
        / 1_000.0;
    let ratios: Vec<f64> = early
        .iter()
        .zip(&late)
        .map(|(early, late)| late / early)
        .collect();
    let measure = Measure::median(NAME, "times", &ratios, Target::AtMost(1.2));
    Ok(vec![
        measure
            .with("steps", steps as f64)
            .with("took_s", took_s)
            .with("early_round_ms", median(&early))
            .with("late_round_ms", median(&late)),
    ])
}

struct Long {
    talker: Talker,
    folder: PathBuf,
    /// The median round of every fresh run, in milliseconds.
    early: Mutex<Vec<Result<f64>>>,
}

impl Long {
    async fn play_fresh(&self) -> Result<f64> {
        let home = tempfile::tempdir_in(&self.folder)?;
        let rounds = WARM_UP + SAMPLES;
        let model = Arc::new(Talker::of(rounds));
        let store = engine_setup::sqlite(home.path())?;
        let engine = engine_setup::engine(store.clone(), Arc::clone(&model), Arc::new(NoOp));
        engine_setup::drive(&engine, "fresh", "/", u32::try_from(rounds + 1)?).await?;
        store.close().await?;
        let took = model.took();
        Ok(median(took.get(WARM_UP..).context("too few rounds")?))
    }
}

impl Model for Long {
    fn profile(&self, model_ref: &str) -> ModelProfile {
        self.talker.profile(model_ref)
    }

    async fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ModelFailure> {
        let left = self.talker.rounds - self.talker.asked();
        if left.is_multiple_of(SAMPLES + 1) && left < PAIRS * (SAMPLES + 1) {
            let early = self.play_fresh().await;
            self.early
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(early);
        }
        self.talker.call(request, audience).await
    }
}

/// A model that calls a tool in every round but the last, and records when it was called.
struct Talker {
    rounds: usize,
    asked: Mutex<Vec<Instant>>,
}

impl Talker {
    fn of(rounds: usize) -> Self {
        Self {
            rounds,
            asked: Mutex::new(Vec::with_capacity(rounds + 1)),
        }
    }

    /// How often it was called.
    fn asked(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The duration of each round in milliseconds.
    fn took(&self) -> Vec<f64> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked
            .iter()
            .zip(asked.iter().skip(1))
            .map(|(one, next)| ms(*next - *one))
            .collect()
    }
}

impl Model for Talker {
    fn profile(&self, _model_ref: &str) -> ModelProfile {
        ModelProfile::here("bench")
    }

    async fn call(&self, request: ModelRequest, _: &dyn DeltaSink) -> Result<ModelResponse, ModelFailure> {
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
        Ok(ModelResponse { blocks, usage })
    }
}
