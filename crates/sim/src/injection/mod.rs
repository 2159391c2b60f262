//! Measures whether text that an agent reads can make it act, and how often honest work asks a person.
//!
//! An attack is played on the real engine, the real policy and the real tools, with files on disk and HTTP on
//! loopback. Only the model is scripted, and it is fully obedient: it does what an injected text says. Whether an
//! attack has acted is observed outside: at the attacker's host, in files, in the journal and in the messages of other
//! agents. Honest tasks show the price of the protection.
//!
//! | module | holds |
//! |---|---|
//! | `channel` | how injected text reaches an agent |
//! | `harm` | what an attacker wants, and how its effect is observed |
//! | `evasion` | encodings, languages and other disguises |
//! | `attack` | all attacks, and the same calls ordered by the operator |
//! | `honest` | tasks that an operator orders |
//! | `model` | the obedient model |
//! | `scene`, `ground`, `ports` | one scenario: agents, a person, a daemon; its folders |
//! | `internet` | every public host, played on loopback |
//! | `report` | the table and the JSON |
//!
//! Unlike the simulation, this uses threads, processes and the real clock, because it uses the real tools.

mod attack;
mod channel;
mod evasion;
mod ground;
mod harm;
mod honest;
mod internet;
mod model;
mod ports;
mod report;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};

use self::attack::Attack;
use self::channel::Channel;
use self::evasion::Evasion;
use self::harm::Harm;
use self::honest::Task;
pub use self::report::{AttackResult, Ending, HonestResult, Report};
pub use self::scene::Program;
use self::scene::{Outcome, Stage};

/// What is played.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that contains the sandbox.
    pub program: Program,
    /// Where the folders of scenarios are made.
    pub folder: PathBuf,
    /// The environment of this process.
    pub environment: BTreeMap<String, String>,
    /// Every how many attacks and tasks one is played.
    pub every: usize,
    /// How many scenarios are played at the same time.
    pub threads: usize,
    /// Words that the name of a scenario contains; empty for all.
    pub only: String,
}

/// The numbers of channels and of effects.
#[must_use]
pub fn kinds() -> (usize, usize) {
    (Channel::ALL.len(), Harm::ALL.len())
}

/// Plays attacks, their controls and honest tasks.
pub fn play(options: &Options) -> Result<Report> {
    let stage = Stage {
        program: options.program.clone(),
        folder: options.folder.clone(),
        environment: options.environment.clone(),
    };
    let every = options.every.max(1);
    let is_wanted = |name: &str| name.contains(&options.only);
    let attacks: Vec<Attack> = attack::all().into_iter().step_by(every).collect();
    let attacks: Vec<Attack> = attacks
        .into_iter()
        .filter(|attack| is_wanted(&attack.name()))
        .collect();
    let tasks: Vec<Task> = honest::all().into_iter().step_by(every).collect();
    let tasks: Vec<Task> = tasks.into_iter().filter(|task| is_wanted(&task.name)).collect();
    let controls: BTreeSet<(Harm, Evasion)> = attacks
        .iter()
        .map(|attack| (attack.harm, attack.evasion))
        .collect();
    let controls: Vec<Attack> = controls
        .iter()
        .filter_map(|pair| {
            attacks
                .iter()
                .find(|attack| (attack.harm, attack.evasion) == *pair)
                .copied()
        })
        .collect();
    let controls = at_once(options.threads, &controls, |attack| {
        let played = control_acts(&stage, *attack);
        played
            .with_context(|| format!("the control of {}", attack.name()))
            .map(|acts| ((attack.harm, attack.evasion), acts))
    })?;
    let controls: BTreeMap<(Harm, Evasion), bool> = controls.into_iter().collect();
    let attacks = at_once(options.threads, &attacks, |attack| {
        let result = play_attack(&stage, *attack).with_context(|| attack.name())?;
        let acts = controls.get(&(attack.harm, attack.evasion)).copied();
        Ok(AttackResult {
            control_acted: acts.unwrap_or_default(),
            ..result
        })
    })?;
    let honest = at_once(options.threads, &tasks, |task| {
        play_task(&stage, task).with_context(|| task.name.clone())
    })?;
    Ok(Report { attacks, honest })
}

fn control_acts(stage: &Stage, attack: Attack) -> Result<bool> {
    let outcome = stage.play(|ground| attack.control(ground))?;
    Ok(attack.has_acted(&outcome))
}

fn play_attack(stage: &Stage, attack: Attack) -> Result<AttackResult> {
    let delivered = Arc::new(AtomicBool::new(false));
    let outcome = stage.play(|ground| attack.scenario(ground, &delivered))?;
    let ending = match &outcome {
        _ if attack.has_acted(&outcome) => Ending::Acted,
        _ if !delivered.load(Ordering::SeqCst) => Ending::NotDelivered,
        Outcome { asked, .. } if !asked.is_empty() => Ending::Asked,
        Outcome { denied, .. } if !denied.is_empty() => Ending::Denied,
        _ => Ending::Confined,
    };
    Ok(AttackResult {
        name: attack.name(),
        channel: attack.channel.as_str(),
        harm: attack.harm.as_str(),
        ending,
        control_acted: false,
        asked: outcome.asked,
        calls: outcome.calls,
    })
}

fn play_task(stage: &Stage, task: &Task) -> Result<HonestResult> {
    let outcome = stage.play(|ground| (task.write)(ground))?;
    Ok(HonestResult {
        name: task.name.clone(),
        kind: task.kind,
        is_done: (task.is_done)(&outcome),
        asked: outcome.asked,
        denied: outcome.denied,
        calls: outcome.calls,
    })
}

/// Plays scenarios on some threads, and keeps their order.
fn at_once<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    play: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(number)
                {
                    let result = play(item);
                    results
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
