//! Plays a whole fault plan: its requests, the processes that answer them, and the checks after each.

use std::collections::VecDeque;
use std::sync::Arc;

use wakeful_core::decision::{APPROVE, DENY, Decision};
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::run::{RunMachine, RunStatus};
use wakeful_core::wake::{Refusal, Wait};
use wakeful_runtime::EngineError;
use wakeful_runtime::run::DriveOutcome;
use wakeful_store::rows::{DecisionFilter, RunRow};
use wakeful_store::{Store, StoreError};

use crate::coverage::Coverage;
use crate::daemon;
use crate::environment::{BEGINNING, Environment, ProcessOptions, Timing, read};
use crate::evidence::{Evidence, Moment};
use crate::fault_plan::{FaultKind, FaultPlan, Kind};
use crate::invariant::{Summary, Violation, judge};
use crate::process::{Driven, End, ProcessFuture, SimProcess};
use crate::rng::Rng;
use crate::script::{Opinion, Script};
use crate::service::{Way, open_only, repeat, run_of, serve};

/// Maximum number of processes of one ask beyond those that faults end: each question may take a few.
const LIVES_MAX: usize = 150;
/// Longer than any approval is valid, for every clock offset.
const FORGOTTEN_MS: u64 = 26 * 60 * 60 * 1000;
/// The maximum clock offset, and a little more.
const BEHIND_MS: u64 = 700_000;

/// How often a person retries an API call whose process dies now and then.
const TRIES_MAX: u32 = 20;

/// Plays a plan and checks the invariants after every fault and at the end.
pub fn play(schedule: &FaultPlan) -> Result<Coverage, Violation> {
    played(schedule).map(|(tally, _)| tally)
}

pub(crate) fn played(schedule: &FaultPlan) -> Result<(Coverage, Digest), Violation> {
    match schedule.kind {
        Kind::Alert => {
            let scene = daemon::play(schedule)?;
            Ok((daemon::tally(&scene), daemon::log_hash(&scene)))
        }
        Kind::Run => {
            let evidence = Simulation::new(schedule, Timing::Any, Judging::Always)?.play()?;
            Ok((Coverage::of(&evidence), last_hash(&evidence)))
        }
    }
}

/// The evidence that a plan leaves, for tests that tamper with it.
#[cfg(test)]
pub(crate) fn evidence_of(schedule: &FaultPlan) -> Result<Evidence, Violation> {
    Simulation::new(schedule, Timing::Any, Judging::AtTheEnd)?.play()
}

/// Plays a plan twice: the event chain, which covers every time and salt, must be the same.
pub fn same_again(schedule: &FaultPlan) -> Result<(), Violation> {
    is_same_again(schedule, log_hash(schedule)?)
}

/// Plays a plan once more: its chain must end with the same hash.
pub(crate) fn is_same_again(schedule: &FaultPlan, here: Digest) -> Result<(), Violation> {
    let there = log_hash(schedule)?;
    if here == there {
        return Ok(());
    }
    let what = format!("the chain ends in {here} and in {there}");
    Err(violation("TheSameSeedIsTheSameWorld", what))
}

/// The last hash of the event chain that a plan leaves: it covers every event, time and salt before it.
pub fn log_hash(schedule: &FaultPlan) -> Result<Digest, Violation> {
    match schedule.kind {
        Kind::Alert => daemon::play(schedule).map(|scene| daemon::log_hash(&scene)),
        Kind::Run => {
            let evidence = Simulation::new(schedule, Timing::Any, Judging::AtTheEnd)?.play()?;
            Ok(last_hash(&evidence))
        }
    }
}

fn last_hash(evidence: &Evidence) -> Digest {
    evidence.events.last().map_or(Digest::ZERO, |event| event.hash)
}

/// Plays a seed without faults and with the crashes of its plan, each delayed while the intent of a plain
/// action has no result: only times may differ.
pub fn crashing_equals_not_crashing(schedule: &FaultPlan) -> Result<(), Violation> {
    let crashing = schedule.clone().only_crashes();
    let calm = FaultPlan {
        mishaps: Vec::new(),
        ..schedule.clone()
    };
    let here = Simulation::new(&calm, Timing::Harmless, Judging::AtTheEnd)?.play()?;
    let there = Simulation::new(&crashing, Timing::Harmless, Judging::AtTheEnd)?.play()?;
    match Summary::of(&here).differs(&Summary::of(&there)) {
        None => Ok(()),
        Some(what) => Err(Violation {
            story: story(&there),
            ..violation("CrashingEqualsNotCrashing", what)
        }),
    }
}

/// One scenario and everything in it.
struct Simulation {
    world: Arc<Environment>,
    script: Arc<Script>,
    /// Whether other asks arrive in between. One from a suspended process would arrive too late to be
    /// refused.
    strangers: bool,
    lives_max: usize,
    judging: Judging,
}

/// When the invariants are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judging {
    /// After every process and at the end.
    Always,
    /// Only at the end, where results are compared.
    AtTheEnd,
}

struct Actor {
    life: SimProcess,
    doings: ProcessFuture,
}

impl Simulation {
    fn new(schedule: &FaultPlan, timing: Timing, judging: Judging) -> Result<Self, Violation> {
        let broken = |error: &dyn std::error::Error| violation("TheWorldWorks", error.to_string());
        let script = Script::new(schedule.seed, schedule.asks).map_err(|error| broken(&error))?;
        let script = script.of_size(schedule.is_small);
        let script = match timing {
            Timing::Any => script,
            Timing::Harmless => script.timeless(),
        };
        let store = Store::in_memory("sim").map_err(|error| broken(&error))?;
        let chances = (script.at("salts"), script.at("people"));
        let world = Environment::new(store, script.agent.clone(), chances, timing);
        world.expect(&schedule.mishaps);
        Ok(Self {
            world: Arc::new(world),
            script: Arc::new(script),
            strangers: schedule
                .mishaps
                .iter()
                .all(|mishap| mishap.what != FaultKind::Sleep),
            // A fault ends one process and, if it was a suspension, at most one more; a crash loop ends a
            // dozen.
            lives_max: LIVES_MAX + 14 * schedule.mishaps.len(),
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
        self.world.people.release(&self.world, true).map_err(unreadable)?;
        let before = self.evidence(Moment::Midway)?;
        (0..asks).try_for_each(|index| self.ask_again(index))?;
        let evidence = self.evidence(Moment::End)?;
        judge(&evidence)?;
        let happened = |evidence: &Evidence| (evidence.ledger.begun.len(), evidence.events.len());
        if happened(&before) != happened(&evidence) {
            let what = "the same key started another run".to_owned();
            return Err(violation("NoAcknowledgedInputLost", what));
        }
        Ok(evidence)
    }

    /// Runs processes until one ask is answered.
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
                        format!("ask {index} does not end"),
                    ));
                }
                None => {
                    lives += 1;
                    self.rest(index, asked, lives)?;
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
                    // An older suspended process continues first, in the middle of the younger one's work.
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

    /// Creates a process, and returns the rest of the stream that determined it.
    fn bear(&self, index: u32) -> Result<(SimProcess, Rng), Violation> {
        // Derived from the faults so far and not from the process number, so that omitting a later fault
        // changes nothing here.
        let struck = self.world.ledger().struck.len();
        let mut chance = self.script.at(&format!("life/{index}/{struck}"));
        let birth = ProcessOptions {
            skew_ms: match chance.below(10) {
                0..6 => 0,
                6..9 => i64::from(chance.below(3_600_000)),
                _ => -600_000,
            },
            doubts: self.script.at("doubts").one_in(2),
        };
        let life = SimProcess {
            number: self.world.bear(&birth).map_err(unreadable)?,
            world: Arc::clone(&self.world),
        };
        Ok((life, chance))
    }

    /// Creates a process that answers an ask.
    fn enter(&self, index: u32) -> Result<Actor, Violation> {
        let (life, mut chance) = self.bear(index)?;
        let is_open = self.open_run()?.is_some();
        let stranger = if self.strangers && is_open && chance.one_in(5) {
            Some(self.script.stranger(life.number).map_err(bad_id)?)
        } else {
            None
        };
        let way = match chance.below(4) {
            0 => Way::Ask,
            1 => Way::Resume,
            _ => Way::Serve,
        };
        let ask = self.script.ask(index).map_err(bad_id)?;
        let engine = life.engine(&self.script);
        let doings = Box::pin(serve(engine, life.clone(), (way, ask), stranger));
        Ok(Actor { life, doings })
    }

    /// What people do while no process drives: they release brakes, handle quarantined runs, and answer
    /// questions, each in their own time.
    fn rest(&self, index: u32, run: RunKey, lives: usize) -> Result<(), Violation> {
        let (world, people) = (&self.world, &self.world.people);
        let mut chance = self.script.at(&format!("rest/{run}/{lives}"));
        if world.is_braked().map_err(unreadable)? && !chance.one_in(3) {
            world.time.jump(match chance.below(6) {
                0 => FORGOTTEN_MS,
                1..4 => u64::from(chance.below(5_000)),
                _ => 0,
            });
            people.release(world, false).map_err(unreadable)?;
        }
        let Some(row) = self.row(run)? else { return Ok(()) };
        if row.status == RunStatus::Quarantined {
            let is_last = index + 1 == self.script.ask_count();
            return people.see_to(world, run, is_last).map_err(unreadable);
        }
        let turn: Option<RunMachine> = serde_json::from_str(&row.state).ok();
        for question in people.pending().map_err(unreadable)? {
            // A corrupted state does not show what it waits for: then every open question counts as
            // blocking.
            let is_next = turn
                .as_ref()
                .is_none_or(|turn| turn.waits_on() == Some(question.inquiry.decision_id));
            self.decide(&question, is_next)?;
        }
        Ok(())
    }

    /// How a person without time pressure reacts to a question.
    fn decide(&self, question: &Decision, is_next: bool) -> Result<(), Violation> {
        let id = question.inquiry.decision_id;
        let mind = self.script.mind(id);
        // Some people answer only blocking questions, some answer all.
        if !is_next && !mind.is_eager {
            return Ok(());
        }
        let is_late = question.version > 1 || question.deadline_at.is_none();
        let word = match mind.opinion {
            Opinion::Yes => Some(APPROVE),
            Opinion::No => Some(DENY),
            Opinion::YesButLate => is_late.then_some(APPROVE),
            Opinion::None => None,
        };
        let (world, people) = (&self.world, &self.world.people);
        let Some(word) = word else {
            if let (true, Some(deadline)) = (is_next, question.deadline_at) {
                let now = world.time.now_ms();
                let then = u64::try_from(deadline.0 - BEGINNING.0).unwrap_or(0) + BEHIND_MS;
                world.time.jump(then.saturating_sub(now));
            }
            return Ok(());
        };
        for _ in 0..TRIES_MAX {
            people.say(world, question, word, None);
            let open = people.pending().map_err(unreadable)?;
            if !open.iter().any(|one| one.inquiry.decision_id == id) {
                break;
            }
        }
        if mind.is_forgotten && is_next {
            world.time.jump(FORGOTTEN_MS);
        }
        Ok(())
    }

    /// Whether a process was right to stop where it stopped.
    fn check(&self, life: &SimProcess, done: &Result<Driven, EngineError>) -> Result<(), Violation> {
        let ledger = self.world.ledger();
        let is_poisoned = ledger.had(FaultKind::Poison) || ledger.had(FaultKind::Loop);
        let expected = match done {
            Ok((run, DriveOutcome::Ended)) => self.has_ended(*run)? || is_poisoned,
            Ok((_, DriveOutcome::Stopped)) => ledger.halts.contains_key(&life.number),
            Ok((run, DriveOutcome::Waiting(Wait::Decision { .. }))) => self.has_asked(*run)?,
            Ok((_, DriveOutcome::Braked)) | Err(EngineError::Refused(Refusal::Braked)) => {
                ledger.brake_tries > 0
            }
            Err(EngineError::Store(StoreError::FenceLost(_)) | EngineError::LeaseLost(_)) => {
                ledger.has_sleepers()
            }
            Err(EngineError::Store(StoreError::Full | StoreError::Unreachable(_) | StoreError::Conflict)) => {
                self.world.has_failed(life.number) || (ledger.has_sleepers() && is_poisoned)
            }
            Err(
                EngineError::InvalidState { .. }
                | EngineError::MachineVersion { .. }
                | EngineError::Quarantined { .. }
                | EngineError::CrashLoop { .. },
            ) => is_poisoned,
            // The budget always suffices here, and a daemon waits for the due times of others.
            Ok((
                _,
                DriveOutcome::Waiting(
                    Wait::Due { .. } | Wait::Rate { .. } | Wait::Children | Wait::Budget { .. } | Wait::Turn,
                ),
            ))
            | Err(
                EngineError::BudgetExceeded { .. }
                | EngineError::UnknownAgent(_)
                | EngineError::UnknownRun(_)
                | EngineError::Refused(_)
                | EngineError::KeyReused { .. }
                | EngineError::AgentBusy { .. }
                | EngineError::AgentExists(_)
                | EngineError::NoEngine { .. }
                | EngineError::Panicked(_)
                | EngineError::Subscription(_)
                | EngineError::NotEnded { .. }
                | EngineError::NotErasable { .. }
                | EngineError::RunErased { .. }
                | EngineError::RetryOpen { .. }
                | EngineError::UnknownStep { .. }
                | EngineError::RunPruned { .. }
                | EngineError::UnknownDecision(_)
                | EngineError::AmbiguousDecision { .. }
                | EngineError::Unanswerable(_)
                | EngineError::Schedule(_)
                | EngineError::Lifecycle { .. }
                | EngineError::Setting(_)
                | EngineError::UnknownLimit(_)
                | EngineError::Snapshot(_)
                | EngineError::TimeInPast(_)
                | EngineError::UnknownTrigger
                | EngineError::NotQuarantined { .. }
                | EngineError::DecisionPending { .. }
                | EngineError::Braked { .. }
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

    /// Asks again for what was answered: the same key is the same run.
    fn ask_again(&self, index: u32) -> Result<(), Violation> {
        let (life, _) = self.bear(index)?;
        let ask = self.script.ask(index).map_err(bad_id)?;
        match life.live(Box::pin(repeat(life.engine(&self.script), ask))) {
            End::Done(Ok((run, DriveOutcome::Ended))) => {
                self.world.acknowledge(run);
                Ok(())
            }
            End::Done(
                Ok((_, DriveOutcome::Stopped | DriveOutcome::Braked | DriveOutcome::Waiting(_))) | Err(_),
            )
            | End::Died
            | End::Slept(_)
            | End::Stuck(_) => {
                let what = format!("ask {index} was accepted as a new one");
                Err(violation("NoAcknowledgedInputLost", what))
            }
        }
    }

    /// Checks the invariants after a fault, if enabled.
    fn judge(&self) -> Result<(), Violation> {
        match self.judging {
            Judging::Always => judge(&self.evidence(Moment::Midway)?),
            Judging::AtTheEnd => Ok(()),
        }
    }

    fn has_ended(&self, run: RunKey) -> Result<bool, Violation> {
        let row = self.row(run)?;
        Ok(row.is_some_and(|row| row.status != RunStatus::Open && row.status != RunStatus::Quarantined))
    }

    fn has_asked(&self, run: RunKey) -> Result<bool, Violation> {
        let (pending_only, run_key, limit) = (false, Some(run), 1);
        let filter = DecisionFilter {
            pending_only,
            run_key,
            limit,
        };
        let asked = read(&self.world.store, move |view| view.decisions(&filter)).map_err(unreadable)?;
        Ok(!asked.is_empty())
    }

    fn row(&self, run: RunKey) -> Result<Option<RunRow>, Violation> {
        read(&self.world.store, move |view| view.run(&run)).map_err(unreadable)
    }

    fn open_run(&self) -> Result<Option<RunKey>, Violation> {
        let open = read(&self.world.store, |view| view.runs(&open_only())).map_err(unreadable)?;
        Ok(open.first().map(|run| run.run_key))
    }

    fn evidence(&self, moment: Moment) -> Result<Evidence, Violation> {
        Evidence::take(&self.world, &self.script, moment).map_err(unreadable)
    }
}

fn story(evidence: &Evidence) -> Vec<String> {
    let struck = evidence.ledger.struck.iter();
    Vec::from_iter(struck.map(|(what, life, site)| format!("process {life}: {} at {site:?}", what.word())))
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
    reason = "the signature is the one that `map_err` expects"
)]
fn unreadable(error: StoreError) -> Violation {
    violation("TheStoreCanBeRead", format!("{error:?}"))
}

fn bad_id<E: std::fmt::Display>(error: E) -> Violation {
    violation("TheWorldWorks", error.to_string())
}
