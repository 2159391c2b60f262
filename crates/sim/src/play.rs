//! A whole schedule: what is asked, the processes that answer it one after another, and the judge after each.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use wakeful_core::key::{Digest, RunKey};
use wakeful_ports::records::{RUN_OPEN, RunFilter, RunState};
use wakeful_ports::store::{Store as _, StoreError};
use wakeful_runtime::EngineError;
use wakeful_runtime::run::{Driven, claim};
use wakeful_runtime::wake::{Admitted, Ask};
use wakeful_store::Store;

use crate::chance::Chance;
use crate::evidence::{Evidence, Moment};
use crate::invariant::{Summary, Violation, judge};
use crate::life::{Doings, End, Life, SimEngine};
use crate::schedule::{Schedule, What};
use crate::script::Script;
use crate::world::{Birth, Timing, World, read};

/// How much of everything was met, by its name. Shows whether the worlds are as wild as they should be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(pub BTreeMap<String, u64>);

impl Tally {
    /// Adds what another simulation met.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name.clone()).or_default() += count;
        }
    }

    fn of(evidence: &Evidence) -> Self {
        let mut tally = Self::default();
        let mut met = |name: String| *tally.0.entry(name).or_default() += 1;
        for (what, _, site) in &evidence.ledger.struck {
            met(format!("{} at {site:?}", what.word()));
        }
        for run in &evidence.runs {
            met(format!("run {}", run.row.status));
            run.calls()
                .for_each(|step| met(format!("call {}", step.status.as_str())));
        }
        let given_up = evidence.ledger.hung_up.keys();
        given_up.for_each(|_| met("request given up".to_owned()));
        tally
    }
}

/// Plays a schedule and judges it after every mishap and at the end.
pub fn play(schedule: &Schedule) -> Result<Tally, Violation> {
    let evidence = Stage::new(schedule, Timing::Any, Judging::Always)?.play()?;
    Ok(Tally::of(&evidence))
}

/// What a schedule leaves, for tests that tamper with it.
#[cfg(test)]
pub(crate) fn evidence_of(schedule: &Schedule) -> Result<Evidence, Violation> {
    Stage::new(schedule, Timing::Any, Judging::AtTheEnd)?.play()
}

/// Plays a schedule twice: the chain of events, which holds every time and every salt, must come out the same.
pub fn same_again(schedule: &Schedule) -> Result<(), Violation> {
    let chain = || {
        let evidence = Stage::new(schedule, Timing::Any, Judging::AtTheEnd)?.play()?;
        Ok::<Option<Digest>, Violation>(evidence.events.last().map(|event| event.hash))
    };
    let (here, there) = (chain()?, chain()?);
    if here == there {
        return Ok(());
    }
    let what = format!("the chain ends in {here:?} and in {there:?}");
    Err(violation("TheSameSeedIsTheSameWorld", what))
}

/// Plays a seed without mishaps and with the crashes of its schedule, each put off while the intent of a plain
/// action has no result: nothing but times may differ.
pub fn crashing_equals_not_crashing(schedule: &Schedule) -> Result<(), Violation> {
    let crashing = schedule.clone().only_crashes();
    let calm = Schedule {
        seed: schedule.seed,
        mishaps: Vec::new(),
    };
    let here = Stage::new(&calm, Timing::Harmless, Judging::AtTheEnd)?.play()?;
    let there = Stage::new(&crashing, Timing::Harmless, Judging::AtTheEnd)?.play()?;
    match Summary::of(&here).differs(&Summary::of(&there)) {
        None => Ok(()),
        Some(what) => Err(Violation {
            story: story(&there),
            ..violation("CrashingEqualsNotCrashing", what)
        }),
    }
}

/// One world with all that happens in it.
struct Stage {
    world: Arc<World>,
    script: Arc<Script>,
    /// Whether strangers ask in between. A sleeping one would ask too late to be refused.
    strangers: bool,
    lives_max: usize,
    judging: Judging,
}

/// When the invariants are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judging {
    /// After every process and at the end.
    Always,
    /// At the end only, where the end is to be compared.
    AtTheEnd,
}

/// A process and what it is doing.
struct Actor {
    life: Life,
    doings: Doings,
}

/// How a process comes to the run that it is to drive.
enum Way {
    /// It asks, as for the first time.
    Ask,
    /// It looks for what is open, and asks only when nothing is.
    Resume,
}

impl Stage {
    fn new(schedule: &Schedule, timing: Timing, judging: Judging) -> Result<Self, Violation> {
        let broken = |error: &dyn std::error::Error| violation("TheWorldWorks", error.to_string());
        let script = Script::new(schedule.seed).map_err(|error| broken(&error))?;
        let store = Store::in_memory("sim").map_err(|error| broken(&error))?;
        let world = World::new(store, script.agent.clone(), script.at("salts"), timing);
        world.expect(&schedule.mishaps);
        Ok(Self {
            world: Arc::new(world),
            script: Arc::new(script),
            strangers: schedule.mishaps.iter().all(|mishap| mishap.what != What::Sleep),
            // A mishap ends one process and, when it was sleep, at most one more.
            lives_max: 2 + 2 * schedule.mishaps.len(),
            judging,
        })
    }

    fn play(&self) -> Result<Evidence, Violation> {
        let played = self.play_all();
        played.map_err(|violation| match self.evidence(Moment::Midway) {
            Ok(evidence) => Violation {
                story: story(&evidence),
                ..violation
            },
            Err(_) => violation,
        })
    }

    fn play_all(&self) -> Result<Evidence, Violation> {
        let asks = self.script.ask_count();
        for index in 0..asks {
            self.answer(index)?;
        }
        self.world.expect(&[]);
        let before = self.evidence(Moment::Midway)?;
        (0..asks).try_for_each(|index| self.ask_again(index))?;
        let evidence = self.evidence(Moment::End)?;
        judge(&evidence)?;
        let happened = |evidence: &Evidence| (evidence.ledger.begun.len(), evidence.events.len());
        if happened(&before) != happened(&evidence) {
            let what = "the same key started something".to_owned();
            return Err(violation("NoAcknowledgedInputLost", what));
        }
        Ok(evidence)
    }

    /// Lets processes come and go until one ask has its answer.
    fn answer(&self, index: u32) -> Result<(), Violation> {
        let mut sleepers: VecDeque<Actor> = VecDeque::new();
        let asked = run_of(&self.script.ask(index).map_err(bad_id)?);
        let mut lives = 0;
        let mut next = None;
        loop {
            let actor = match next.take() {
                Some(actor) => actor,
                None if lives > self.lives_max => {
                    return Err(violation(
                        "NoAcknowledgedInputLost",
                        format!("ask {index} has no end"),
                    ));
                }
                None => {
                    lives += 1;
                    self.enter(index)?
                }
            };
            let Actor { life, doings } = actor;
            match life.live(doings) {
                End::Stuck(how) => {
                    let what = format!("process {} {how}", life.number);
                    return Err(violation("NoAcknowledgedInputLost", what));
                }
                End::Slept(doings) => {
                    // An older sleeper goes on first, in the middle of what the younger one is doing.
                    next = sleepers.pop_front();
                    sleepers.push_back(Actor { life, doings });
                }
                End::Died => next = sleepers.pop_front(),
                End::Done(done) => {
                    self.check(&life, &done)?;
                    next = sleepers.pop_front();
                }
            }
            if next.is_none() && sleepers.is_empty() && self.has_ended(asked)? {
                return Ok(());
            }
            self.judge()?;
            if let Some(actor) = &next {
                self.world.rouse(actor.life.number);
            }
        }
    }

    /// A new process, and what is left of the chance by which it was made.
    fn bear(&self, index: u32) -> Result<(Life, Chance), Violation> {
        // By what has gone wrong so far and not by its number: leaving out a later mishap changes nothing here.
        let struck = self.world.ledger().struck.len();
        let mut chance = self.script.at(&format!("life/{index}/{struck}"));
        let birth = Birth {
            skew_ms: match chance.below(10) {
                0..6 => 0,
                6..9 => i64::from(chance.below(3_600_000)),
                _ => -600_000,
            },
            doubts: self.script.at("doubts").one_in(2),
        };
        let life = Life {
            number: self.world.bear(&birth).map_err(unreadable)?,
            world: Arc::clone(&self.world),
        };
        Ok((life, chance))
    }

    /// A new process that is to answer an ask.
    fn enter(&self, index: u32) -> Result<Actor, Violation> {
        let (life, mut chance) = self.bear(index)?;
        let is_open = self.open_run()?.is_some();
        let stranger = if self.strangers && is_open && chance.one_in(5) {
            Some(self.script.stranger(life.number).map_err(bad_id)?)
        } else {
            None
        };
        let way = if chance.one_in(2) { Way::Ask } else { Way::Resume };
        let ask = self.script.ask(index).map_err(bad_id)?;
        let engine = life.engine(&self.script);
        let doings = Box::pin(serve(engine, life.clone(), (way, ask), stranger));
        Ok(Actor { life, doings })
    }

    /// Whether a process was right to stop where it stopped.
    fn check(&self, life: &Life, done: &Result<Driven, EngineError>) -> Result<(), Violation> {
        let ledger = self.world.ledger();
        let expected = match done {
            Ok(Driven::Ended(run)) => self.has_ended(*run)?,
            Ok(Driven::Halted(_)) => ledger.halts.contains_key(&life.number),
            Err(EngineError::Store(StoreError::FenceLost(_)) | EngineError::LeaseLost(_)) => {
                ledger.has_sleepers()
            }
            Err(EngineError::Store(StoreError::Full | StoreError::Unreachable(_) | StoreError::Conflict)) => {
                self.world.has_failed(life.number)
            }
            // There is always money enough here.
            Ok(Driven::Parked(..) | Driven::Asked(_) | Driven::Asleep(..) | Driven::Braked(_))
            | Err(
                EngineError::BudgetExceeded { .. }
                | EngineError::UnknownAgent(_)
                | EngineError::UnknownRun(_)
                | EngineError::Refused(_)
                | EngineError::KeyReused { .. }
                | EngineError::AgentBusy { .. }
                | EngineError::AgentExists(_)
                | EngineError::Waits { .. }
                | EngineError::NoEngine { .. }
                | EngineError::Panicked(_)
                | EngineError::MachineVersion { .. }
                | EngineError::NotEnded { .. }
                | EngineError::RunErased { .. }
                | EngineError::Broken { .. }
                | EngineError::UnknownDecision(_)
                | EngineError::AmbiguousDecision(_)
                | EngineError::Unanswerable(_)
                | EngineError::NotQuarantined { .. }
                | EngineError::Undecided { .. }
                | EngineError::Braked { .. }
                | EngineError::Quarantined { .. }
                | EngineError::CrashLoop { .. }
                | EngineError::Store(_),
            ) => false,
        };
        self.world.stopped(life.number);
        if expected {
            return Ok(());
        }
        let what = format!("process {} stopped with {done:?}", life.number);
        Err(violation("NobodyStopsWithoutAReason", what))
    }

    /// Asks once more for what was answered: the same key is the same run.
    fn ask_again(&self, index: u32) -> Result<(), Violation> {
        let (life, _) = self.bear(index)?;
        let ask = self.script.ask(index).map_err(bad_id)?;
        match life.live(Box::pin(repeat(life.engine(&self.script), ask))) {
            End::Done(Ok(Driven::Ended(run))) => {
                self.world.acknowledge(run);
                Ok(())
            }
            End::Done(
                Ok(
                    Driven::Halted(_)
                    | Driven::Parked(..)
                    | Driven::Asked(_)
                    | Driven::Asleep(..)
                    | Driven::Braked(_),
                )
                | Err(_),
            )
            | End::Died
            | End::Slept(_)
            | End::Stuck(_) => {
                let what = format!("ask {index} was taken for a new one");
                Err(violation("NoAcknowledgedInputLost", what))
            }
        }
    }

    /// Judges what a mishap has left, where somebody wants to know.
    fn judge(&self) -> Result<(), Violation> {
        match self.judging {
            Judging::Always => judge(&self.evidence(Moment::Midway)?),
            Judging::AtTheEnd => Ok(()),
        }
    }

    fn has_ended(&self, run: RunKey) -> Result<bool, Violation> {
        let row = read(&self.world.store, move |view| view.run(&run)).map_err(unreadable)?;
        Ok(row.is_some_and(|row| row.status != RUN_OPEN))
    }

    fn open_run(&self) -> Result<Option<RunKey>, Violation> {
        let open = read(&self.world.store, |view| view.runs(&open_only())).map_err(unreadable)?;
        Ok(open.first().map(|run| run.run_key))
    }

    fn evidence(&self, moment: Moment) -> Result<Evidence, Violation> {
        Evidence::take(&self.world, &self.script, moment).map_err(unreadable)
    }
}

/// What a process does for an ask: get hold of its run, drive it to its end, and tell.
async fn serve(
    engine: SimEngine,
    life: Life,
    (way, ask): (Way, Ask),
    stranger: Option<Ask>,
) -> Result<Driven, EngineError> {
    if let Some(stranger) = stranger {
        match engine.admit(stranger).await {
            Err(EngineError::Refused(_)) => {}
            Err(error) => return Err(error),
            Ok(_) => life
                .world
                .complain("a second run began beside an open one".to_owned()),
        }
    }
    let open = match way {
        Way::Ask => None,
        Way::Resume => engine.store.read(|view| view.runs(&open_only())).await?.pop(),
    };
    let driven = match open {
        Some(open) => resume(&engine, open.run_key).await?,
        None => match engine.admit(ask).await? {
            Admitted::New(claimed) => {
                life.world.acknowledge(claimed.run_key());
                engine.drive(claimed).await?
            }
            Admitted::Before(run) => {
                life.world.acknowledge(run);
                resume(&engine, run).await?
            }
        },
    };
    life.world.acknowledge(driven.run_key());
    if let Driven::Ended(run) = driven {
        life.world.tell_end(life.number, run);
    }
    Ok(driven)
}

async fn resume(engine: &SimEngine, run: RunKey) -> Result<Driven, EngineError> {
    match claim(&engine.store, &engine.runner, run).await? {
        Some(claimed) => engine.drive(claimed).await,
        None => Ok(Driven::Ended(run)),
    }
}

/// The same ask again, and then another one under its key.
async fn repeat(engine: SimEngine, mut ask: Ask) -> Result<Driven, EngineError> {
    let run = run_of(&ask);
    let is_same = matches!(engine.admit(ask.clone()).await?, Admitted::Before(before) if before == run);
    let is_over = claim(&engine.store, &engine.runner, run).await?.is_none();
    ask.prompt.push_str(", but differently");
    let is_refused =
        matches!(engine.admit(ask).await, Err(EngineError::KeyReused { run: other }) if other == run);
    if is_same && is_over && is_refused {
        Ok(Driven::Ended(run))
    } else {
        Err(EngineError::UnknownRun(run))
    }
}

fn run_of(ask: &Ask) -> RunKey {
    RunKey::of_user(&ask.agent, &ask.session, &ask.turn)
}

fn open_only() -> RunFilter {
    RunFilter {
        agent_id: None,
        state: RunState::Open,
        limit: 1,
        before: None,
    }
}

fn story(evidence: &Evidence) -> Vec<String> {
    let struck = evidence.ledger.struck.iter();
    let told = struck.map(|(what, life, site)| format!("process {life}: {} at {site:?}", what.word()));
    told.collect()
}

fn violation(invariant: &'static str, what: String) -> Violation {
    Violation {
        invariant,
        what,
        story: Vec::new(),
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where `map_err` wants a function"
)]
fn unreadable(error: StoreError) -> Violation {
    violation("TheStoreCanBeRead", format!("{error:?}"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where `map_err` wants a function"
)]
fn bad_id(error: wakeful_core::id::BadId) -> Violation {
    violation("TheWorldWorks", error.to_string())
}
