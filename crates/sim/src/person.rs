//! Simulates people: they answer questions, set and release brakes, and handle quarantined runs.
//!
//! They call the real runtime in their own process, independent of the process that drives the run. That
//! process may also die in the middle of a call: then no response arrives, and what it committed stays.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use wakeful_core::decision::{APPROVE, AnswerInput, Channel, DENY, Decision, DecisionStatus};
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, Digest, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::EngineError;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_store::rows::{DecisionFilter, RunRow};
use wakeful_store::{FaultFuture, FaultPoint, Faults, ROWS_MAX, Store, StoreError};

use crate::environment::{BEGINNING, Environment, read, write};
use crate::ledger::{Answered, Held, Poison};
use crate::rng::Rng;
use crate::time::Time;

/// An answer that is not among the options.
const NONSENSE: &str = "perhaps";

/// A state that the machine cannot read.
pub(crate) const POISON: &str = "{\"nobody\":\"can read this\"";

/// A machine version that no program has.
const FOREIGN_VERSION: u32 = 0;

/// How a person answers at a bad time.
#[derive(Debug, Clone, Copy)]
enum AnswerStyle {
    Approve,
    Deny,
    /// To an outdated version of the question.
    Outdated,
    /// Twice at once, with different answers.
    Twice,
    /// To a closed question.
    TooLate,
    /// With an invalid option, or to a question that does not exist.
    Wrong,
}

pub(crate) struct People {
    store: Store,
    time: Arc<Time>,
    agent: AgentId,
    chance: Mutex<Rng>,
    salts: Arc<Salts>,
}

/// Salts for what people write.
struct Salts(Mutex<Rng>);

impl Entropy for Salts {
    fn random_bytes(&self) -> [u8; 32] {
        let mut chance = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut salt = [0; 32];
        for part in salt.chunks_mut(8) {
            part.copy_from_slice(&chance.next().to_le_bytes());
        }
        salt
    }
}

/// A wall clock without offset.
struct TrueClock(Arc<Time>);

impl Clock for TrueClock {
    fn now(&self) -> Millis {
        let elapsed = i64::try_from(self.0.now_ms()).unwrap_or(i64::MAX);
        Millis(BEGINNING.0.saturating_add(elapsed))
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.wait(ms))
    }
}

/// A process that stops after some port calls, for a moment or forever.
struct Mortal(Arc<AtomicU32>);

impl Faults for Mortal {
    fn pass(&self, point: FaultPoint) -> FaultFuture<'_> {
        Box::pin(poll_fn(move |_| {
            let left = self.0.load(Ordering::Relaxed);
            if point != FaultPoint::Pack && left == 0 {
                return Poll::Pending;
            }
            if point != FaultPoint::Pack {
                self.0.store(left - 1, Ordering::Relaxed);
            }
            Poll::Ready(Ok(()))
        }))
    }
}

/// A process of a person that calls the runtime.
struct PersonProcess {
    api: RuntimeApi,
    left: Arc<AtomicU32>,
}

impl People {
    /// Creates the people around an agent.
    pub(crate) fn new(store: Store, time: Arc<Time>, agent: AgentId, chance: Rng) -> Self {
        let mut salts = chance.clone();
        salts.next();
        Self {
            store,
            time,
            agent,
            chance: Mutex::new(chance),
            salts: Arc::new(Salts(Mutex::new(salts))),
        }
    }

    /// A process that calls the runtime and lives for this many port calls.
    fn visit(&self, passages: u32) -> PersonProcess {
        let left = Arc::new(AtomicU32::new(passages));
        let store = self
            .store
            .clone()
            .with_faults(Arc::new(Mortal(Arc::clone(&left))));
        let clock: Arc<dyn Clock> = Arc::new(TrueClock(Arc::clone(&self.time)));
        let salts: Arc<dyn Entropy> = Arc::<Salts>::clone(&self.salts);
        PersonProcess {
            api: RuntimeApi::without_service(ApiContext::new(store, clock, salts)),
            left,
        }
    }

    /// A process that may die early.
    fn short_visit(&self) -> PersonProcess {
        let passages = if self.one_in(4) { self.below(6) } else { u32::MAX };
        self.visit(passages)
    }

    /// Questions that wait for an answer.
    pub(crate) fn pending(&self) -> Result<Vec<Decision>, StoreError> {
        self.questions(true)
    }

    fn questions(&self, pending_only: bool) -> Result<Vec<Decision>, StoreError> {
        let filter = DecisionFilter {
            pending_only,
            run_key: None,
            limit: ROWS_MAX,
        };
        read(&self.store, move |view| view.decisions(&filter))
    }

    /// A person answers at a bad time, validly or not.
    pub(crate) fn answer(&self, world: &Environment) -> Result<(), StoreError> {
        let manner = match self.below(12) {
            0..4 => AnswerStyle::Approve,
            4..6 => AnswerStyle::Deny,
            6 => AnswerStyle::Outdated,
            7..9 => AnswerStyle::Twice,
            9..11 => AnswerStyle::TooLate,
            _ => AnswerStyle::Wrong,
        };
        let (open, all) = (self.pending()?, self.questions(false)?);
        let chosen = |from: &[Decision]| {
            let at = usize::try_from(self.below(u32::try_from(from.len()).unwrap_or(0))).unwrap_or(0);
            from.get(at).cloned()
        };
        let closed: Vec<Decision> = all
            .into_iter()
            .filter(|one| one.status != DecisionStatus::Pending)
            .collect();
        match (manner, chosen(&open), chosen(&closed)) {
            (AnswerStyle::Approve, Some(one), _) => self.say(world, &one, APPROVE, None),
            (AnswerStyle::Deny, Some(one), _) => self.say(world, &one, DENY, None),
            (AnswerStyle::Outdated, Some(one), _) => {
                self.must_refuse(world, one.inquiry.decision_id, APPROVE, Some(one.version + 1));
            }
            (AnswerStyle::Twice, Some(one), _) => self.say_twice(world, &one),
            (AnswerStyle::TooLate, _, Some(one)) => {
                self.must_refuse(world, one.inquiry.decision_id, APPROVE, None);
            }
            (AnswerStyle::Wrong, Some(one), _) => {
                self.must_refuse(world, one.inquiry.decision_id, NONSENSE, None)
            }
            (AnswerStyle::TooLate, Some(one), None) => self.say(world, &one, APPROVE, Some(one.version)),
            (_, None, _) => self.must_refuse(world, DecisionId(Digest::of(b"never asked")), APPROVE, None),
        }
        Ok(())
    }

    /// Gives one answer to a question.
    pub(crate) fn say(&self, world: &Environment, question: &Decision, word: &str, version: Option<u32>) {
        let visit = self.short_visit();
        let id = question.inquiry.decision_id;
        speak(world, id, word);
        let said = at_the_desk(visit.api.decisions.answer(id.to_string(), reply(word, version)));
        self.hear(world, id, word, said);
    }

    /// Two people answer a question differently: the one who read it first answers last.
    fn say_twice(&self, world: &Environment, question: &Decision) {
        let id = question.inquiry.decision_id;
        speak(world, id, APPROVE);
        speak(world, id, DENY);
        let (slow, quick) = (self.visit(1), self.visit(u32::MAX));
        let mut waiting = pin!(slow.api.decisions.answer(id.to_string(), reply(APPROVE, None)));
        let early = poll(waiting.as_mut());
        let said = at_the_desk(quick.api.decisions.answer(id.to_string(), reply(DENY, None)));
        self.hear(world, id, DENY, said);
        slow.left.store(u32::MAX, Ordering::Relaxed);
        let late = early.or_else(|| poll(waiting.as_mut()));
        self.hear(world, id, APPROVE, late);
    }

    /// Records the result of an answer.
    fn hear(
        &self,
        world: &Environment,
        decision_id: DecisionId,
        word: &str,
        said: Option<Result<Decision, EngineError>>,
    ) {
        match said {
            Some(Ok(_)) => {
                let answered = Answered {
                    decision_id,
                    option: word.to_owned(),
                    at_ms: self.time.now_ms(),
                };
                world.note(|ledger| ledger.answers.push(answered));
            }
            Some(Err(EngineError::Unanswerable(_) | EngineError::UnknownDecision(_))) | None => {
                world.note(|ledger| ledger.rebuffs += 1);
            }
            Some(Err(error)) => world.complain(format!("an answer failed with {error:?}")),
        }
    }

    fn must_refuse(&self, world: &Environment, id: DecisionId, word: &str, version: Option<u32>) {
        let visit = self.visit(u32::MAX);
        let said = at_the_desk(visit.api.decisions.answer(id.to_string(), reply(word, version)));
        if let Some(Ok(_)) = said {
            world.complain(format!("{word} to version {version:?} of {id} was accepted"));
        }
        self.hear(world, id, word, said);
    }

    /// A person sets a brake on the agent or on all.
    pub(crate) fn brake(&self, world: &Environment) {
        let scope = self.one_in(2).then(|| self.agent.clone());
        let visit = self.short_visit();
        world.note(|ledger| ledger.brake_tries += 1);
        let set = at_the_desk(
            visit
                .api
                .brakes
                .set(scope.clone(), "enough".to_owned(), Channel::Page),
        );
        match set {
            Some(Ok(_)) => {
                let from_ms = self.time.now_ms();
                world.note(|ledger| {
                    ledger.brakes.push(Held {
                        scope,
                        from_ms,
                        until_ms: None,
                    });
                });
            }
            // Before the first ask the agent does not exist.
            Some(Err(EngineError::UnknownAgent(_))) | None => {}
            Some(Err(error)) => world.complain(format!("a brake failed with {error:?}")),
        }
    }

    /// Releases every brake that is set. A brake counts as released from the first attempt.
    pub(crate) fn release(&self, world: &Environment, is_careful: bool) -> Result<(), StoreError> {
        for brake in read(&self.store, |view| view.brakes())? {
            let now_ms = self.time.now_ms();
            world.note(|ledger| {
                let mut held = ledger.brakes.iter_mut();
                held.by_ref()
                    .filter(|held| held.scope == brake.agent_id && held.until_ms.is_none())
                    .for_each(|held| held.until_ms = Some(now_ms));
            });
            let visit = if is_careful {
                self.visit(u32::MAX)
            } else {
                self.short_visit()
            };
            if let Some(Err(error)) = at_the_desk(visit.api.brakes.release(brake.agent_id, Channel::Page)) {
                world.complain(format!("a release failed with {error:?}"));
            }
        }
        Ok(())
    }

    /// Corrupts the state of a run, or gives it a version that is too old.
    pub(crate) fn poison(&self, world: &Environment, run: RunKey) -> Result<(), StoreError> {
        let Some(row) = self.row(run)?.filter(|row| row.status == RunStatus::Open) else {
            return Ok(());
        };
        if row.state != POISON && row.machine_version != FOREIGN_VERSION {
            let poison = Poison {
                version: row.version,
                state: row.state.clone(),
                machine_version: row.machine_version,
            };
            world.note(|ledger| drop(ledger.poisons.insert(run, poison)));
        }
        let rotten = if self.one_in(3) {
            RunRow {
                machine_version: FOREIGN_VERSION,
                ..row
            }
        } else {
            let state = POISON.to_owned();
            RunRow { state, ..row }
        };
        write(&self.store, move |tx| tx.put_state(&rotten, rotten.version))
    }

    /// A person handles a quarantined run: repairs and resumes it, or abandons it. An abandoned run leaves
    /// calls without results in its conversation, so only the last run is abandoned.
    pub(crate) fn see_to(&self, world: &Environment, run: RunKey, is_last: bool) -> Result<(), StoreError> {
        let visit = self.visit(u32::MAX);
        if self.one_in(3) && is_last {
            if !matches!(at_the_desk(visit.api.runs.abandon(run)), Some(Ok(_))) {
                world.complain(format!("{run} could not be abandoned"));
            }
            return Ok(());
        }
        if !matches!(at_the_desk(visit.api.runs.resume(run)), Some(Ok(_))) {
            world.complain(format!("{run} could not be resumed"));
        }
        let again = at_the_desk(visit.api.runs.resume(run));
        if !matches!(again, Some(Err(EngineError::NotQuarantined { .. }))) {
            world.complain(format!("{run} was resumed twice: {again:?}"));
        }
        // Sometimes the state is not repaired first.
        if self.one_in(4) {
            Ok(())
        } else {
            self.mend(world, run)
        }
    }

    fn mend(&self, world: &Environment, run: RunKey) -> Result<(), StoreError> {
        let Some(poison) = world.ledger().poisons.remove(&run) else {
            return Ok(());
        };
        let Some(row) = self.row(run)?.filter(|row| row.version == poison.version) else {
            return Ok(());
        };
        let whole = RunRow {
            state: poison.state,
            machine_version: poison.machine_version,
            ..row
        };
        write(&self.store, move |tx| tx.put_state(&whole, whole.version))
    }

    fn row(&self, run: RunKey) -> Result<Option<RunRow>, StoreError> {
        read(&self.store, move |view| view.run(&run))
    }

    fn below(&self, bound: u32) -> u32 {
        self.chance
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .below(bound)
    }

    fn one_in(&self, times: u32) -> bool {
        self.below(times) == 0
    }
}

/// Records the answer that a person is about to give.
fn speak(world: &Environment, id: DecisionId, word: &str) {
    let said = (id, word.to_owned());
    world.note(|ledger| ledger.said.extend([said]));
}

fn reply(word: &str, version: Option<u32>) -> AnswerInput {
    AnswerInput {
        option: word.to_owned(),
        version,
        channel: Channel::Page,
        note: None,
    }
}

/// The result of an API call; `None` when its process died before it returned.
fn at_the_desk<T>(call: impl Future<Output = Result<T, EngineError>>) -> Option<Result<T, EngineError>> {
    poll(pin!(call))
}

fn poll<T>(call: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match call.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(said) => Some(said),
        Poll::Pending => None,
    }
}
