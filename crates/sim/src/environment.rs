//! The environment of the simulated processes: time, the pending faults, and the ledger of what really
//! happened.
//!
//! Every port call is counted here, and a fault is injected at its count. The environment outlives every
//! process and alone decides what took effect: the engine can change the ledger only through its effects.

mod fault;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::run::{RunMachine, RunPhase};
use wakeful_core::step::{EffectClass, StepStatus};
use wakeful_core::time::Millis;
use wakeful_runtime::{Halt, HaltSwitch};
use wakeful_store::rows::{RunFilter, RunState};
use wakeful_store::{ROWS_MAX, Store, StoreError};

use crate::fault_plan::Fault;
use crate::ledger::{Begun, Deed, Ledger, Sent, Site};
use crate::person::People;
use crate::process::at_once;
use crate::rng::Rng;
use crate::time::Time;

/// The start time of every simulation.
pub(crate) const BEGINNING: Millis = Millis(1_771_344_000_000);

/// Maximum number of port calls of one process. A run of this size makes some hundred calls, a model that
/// never responds causes some ten thousand; beyond that the process counts as looping.
const PASSAGES_MAX: u64 = 100_000;

/// How often a daemon polls a database that has other writers, independent of its next due time.
pub(crate) const LOOK_MS: u64 = 1_000;

/// Whether a crash may happen at any time, or not between the intent of a plain action and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    Any,
    Harmless,
}

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessState {
    Awake,
    Asleep,
    Dead,
    /// It made more port calls than any run needs.
    Lost,
}

/// How the store fails a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    /// Only this call fails.
    Once,
    /// The store is unavailable for a while.
    Longer,
}

/// The environment. All state is behind one lock that is never held across an await.
pub(crate) struct Environment {
    pub(crate) store: Store,
    agent: AgentId,
    timing: Timing,
    pub(crate) time: Arc<Time>,
    pub(crate) people: People,
    state: Mutex<State>,
}

struct State {
    salts: Rng,
    outages: Rng,
    mishaps: VecDeque<Fault>,
    since_last: u32,
    /// How many people wait for a question to answer.
    eager: u32,
    lives: Vec<LifeState>,
    running: BTreeSet<(usize, OperationId)>,
    killed: BTreeSet<(usize, OperationId)>,
    ledger: Ledger,
}

struct LifeState {
    fate: ProcessState,
    passages: u64,
    skew_ms: i64,
    born_ms: u64,
    /// Whether the process loses its lease once another process starts.
    doubts: bool,
    slept: bool,
    store: Condition,
    has_failed: bool,
    switch: HaltSwitch,
    halt: Halt,
    found: BTreeSet<OperationId>,
}

/// The condition of the store for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Well,
    /// The next call fails.
    FailsOnce,
    /// Every call fails until this time.
    AwayUntil(u64),
}

/// What a process could know when it called a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownState {
    intended: bool,
    leased: bool,
    braked: bool,
}

/// The options of a new process.
pub(crate) struct ProcessOptions {
    /// The offset of its wall clock.
    pub(crate) skew_ms: i64,
    /// Whether it detects the loss of its lease.
    pub(crate) doubts: bool,
}

impl Environment {
    /// Creates an environment.
    pub(crate) fn new(store: Store, agent: AgentId, (salts, people): (Rng, Rng), timing: Timing) -> Self {
        let time: Arc<Time> = Arc::default();
        let people = People::new(store.clone(), Arc::clone(&time), agent.clone(), people);
        let state = State {
            outages: salts.clone(),
            salts,
            mishaps: VecDeque::new(),
            since_last: 0,
            eager: 0,
            lives: Vec::new(),
            running: BTreeSet::new(),
            killed: BTreeSet::new(),
            ledger: Ledger::default(),
        };
        Self {
            store,
            agent,
            timing,
            time,
            people,
            state: Mutex::new(state),
        }
    }

    /// Sets the faults to inject from now on.
    pub(crate) fn expect(&self, mishaps: &[Fault]) {
        let mut state = self.state();
        state.mishaps = mishaps.iter().copied().collect();
        state.eager = 0;
    }

    /// Registers a new process and returns its number.
    pub(crate) fn bear(&self, birth: &ProcessOptions) -> Result<usize, StoreError> {
        let found = self.intended()?.into_keys().collect();
        let mut state = self.state();
        let born_ms = self.time.now_ms();
        let (switch, halt) = Halt::new();
        state.lives.push(LifeState {
            fate: ProcessState::Awake,
            passages: 0,
            skew_ms: birth.skew_ms,
            born_ms,
            doubts: birth.doubts,
            slept: false,
            store: Condition::Well,
            has_failed: false,
            switch,
            halt,
            found,
        });
        Ok(state.lives.len() - 1)
    }

    /// A copy of the ledger.
    pub(crate) fn ledger(&self) -> Ledger {
        self.state().ledger.clone()
    }

    /// Writes to the ledger.
    pub(crate) fn note(&self, write: impl FnOnce(&mut Ledger)) {
        write(&mut self.state().ledger);
    }

    /// Whether a reservation for a request is stored: every permitted request has one.
    pub(crate) fn has_reservation(&self) -> bool {
        let days = read(&self.store, |view| view.spend_days(None, UtcDay(i64::MIN)));
        days.is_ok_and(|days| days.iter().any(|day| day.reserved > MicroUsd(0)))
    }

    /// Records an error that a port detected.
    pub(crate) fn complain(&self, what: String) {
        self.state().ledger.complaints.push(what);
    }

    /// Records that a run was acknowledged.
    pub(crate) fn acknowledge(&self, run: RunKey) {
        self.state().ledger.acknowledged.insert(run);
    }

    /// Records that a process reported the end of a run.
    pub(crate) fn tell_end(&self, life: usize, run: RunKey) {
        let mut state = self.state();
        let born_ms = state.lives.get(life).map_or(0, |life| life.born_ms);
        let told = (born_ms, self.time.now_ms());
        state.ledger.ended.entry(run).or_insert(told);
    }

    /// Thirty-two bytes for a salt.
    pub(crate) fn salt(&self) -> [u8; 32] {
        let mut state = self.state();
        let mut salt = [0; 32];
        for part in salt.chunks_mut(8) {
            part.copy_from_slice(&state.salts.next().to_le_bytes());
        }
        salt
    }

    /// The wall clock of a process.
    pub(crate) fn wall(&self, life: usize) -> Millis {
        let state = self.state();
        let skew = state.lives.get(life).map_or(0, |life| life.skew_ms);
        let elapsed = i64::try_from(self.time.now_ms()).unwrap_or(i64::MAX);
        Millis(BEGINNING.0.saturating_add(elapsed).saturating_add(skew))
    }

    /// Counts one port call of a process and injects the fault that is due.
    pub(crate) async fn pass(&self, life: usize, site: Site) {
        self.awake(life).await;
        let struck = self
            .due(life)
            .and_then(|what| what.map_or(Ok(()), |what| self.strike(life, site, what)));
        if let Err(error) = struck {
            self.complain(format!("the simulated environment failed: {error}"));
        }
        self.awake(life).await;
    }

    /// Whether the store must now fail a call of the process, and for how long.
    pub(crate) fn failure(&self, life: usize) -> Option<Absence> {
        let mut state = self.state();
        let now_ms = self.time.now_ms();
        let life = state.lives.get_mut(life)?;
        let failure = match life.store {
            Condition::Well => None,
            Condition::FailsOnce => Some(Absence::Once),
            Condition::AwayUntil(end_ms) if now_ms < end_ms => return Some(Absence::Longer),
            Condition::AwayUntil(_) => None,
        };
        life.store = Condition::Well;
        failure
    }

    /// The halt signal of a process.
    pub(crate) fn halt(&self, life: usize) -> Halt {
        self.state()
            .lives
            .get(life)
            .map_or_else(Halt::never, |life| life.halt.clone())
    }

    /// Records that a process stopped by itself.
    pub(crate) fn stopped(&self, life: usize) {
        let mut state = self.state();
        let now_ms = self.time.now_ms();
        state.ledger.stopped.insert(life, now_ms);
    }

    /// Whether the store has ever failed a call of the process.
    pub(crate) fn has_failed(&self, life: usize) -> bool {
        self.state().lives.get(life).is_some_and(|life| life.has_failed)
    }

    /// Whether a process was suspended. What it loads afterwards may belong to a run that continued without
    /// it.
    pub(crate) fn has_slept(&self, life: usize) -> bool {
        self.state().lives.get(life).is_some_and(|life| life.slept)
    }

    /// The state of a process.
    pub(crate) fn fate(&self, life: usize) -> ProcessState {
        self.state()
            .lives
            .get(life)
            .map_or(ProcessState::Dead, |life| life.fate)
    }

    /// Resumes a suspended process.
    pub(crate) fn rouse(&self, life: usize) {
        if let Some(life) = self.state().lives.get_mut(life) {
            life.fate = ProcessState::Awake;
        }
    }

    /// Whether a process holds its lease as far as it can know. One that cannot detect the loss assumes
    /// that it does.
    pub(crate) fn holds_lease(&self, life: usize) -> bool {
        let state = self.state();
        let doubts = state.lives.get(life).is_some_and(|life| life.doubts);
        !doubts || life + 1 == state.lives.len()
    }

    /// What a process could know when it called a tool.
    pub(crate) fn standing(&self, life: usize, operation_id: OperationId) -> KnownState {
        let intended = self
            .intended()
            .is_ok_and(|intended| intended.contains_key(&operation_id));
        let leased = self.holds_lease(life);
        let braked = self.state().ledger.is_braked();
        KnownState {
            intended,
            leased,
            braked,
        }
    }

    /// Waits until a daemon notices that a run was cancelled: it polls every second.
    pub(crate) async fn hears_of_end(&self, run: RunKey) {
        let is_asked = || read(&self.store, move |view| view.cancel_requested(&run)).unwrap_or(false);
        poll_fn(|context| {
            if is_asked() {
                Poll::Ready(())
            } else {
                self.time.register(context);
                Poll::Pending
            }
        })
        .await;
        self.time.wait(LOOK_MS).await;
        let now_ms = self.time.now_ms();
        self.note(|ledger| {
            ledger.looked.entry(run).or_insert(now_ms);
        });
    }

    /// Whether a brake is set, acknowledged or not.
    pub(crate) fn is_braked(&self) -> Result<bool, StoreError> {
        read(&self.store, |view| Ok(!view.brakes()?.is_empty()))
    }

    /// Records that a process begins an action.
    pub(crate) fn begin(&self, life: usize, operation_id: OperationId, standing: KnownState) {
        let (wall, slept) = (self.wall(life), self.has_slept(life));
        let KnownState {
            intended,
            leased,
            braked,
        } = standing;
        let mut state = self.state();
        let known = state
            .ledger
            .begun
            .iter()
            .any(|begun| begun.operation_id == operation_id);
        // After a database failure the run was loaded again, and its actions may have begun already.
        let is_sure = |life: &LifeState| !life.slept && !life.has_failed;
        let fresh = state
            .lives
            .get(life)
            .is_some_and(|life| is_sure(life) && !known && !life.found.contains(&operation_id));
        let at_ms = self.time.now_ms();
        state.running.insert((life, operation_id));
        state.ledger.begun.push(Begun {
            operation_id,
            life,
            at_ms,
            fresh,
            intended,
            leased,
            braked,
            slept,
            wall,
        });
    }

    /// Records that a model request was sent.
    pub(crate) fn send(&self, life: usize) {
        let (at_ms, slept) = (self.time.now_ms(), self.has_slept(life));
        self.state().ledger.sent.push(Sent { at_ms, slept });
    }

    /// How many temporary failures of an action are stored: what a dead process counted is lost.
    pub(crate) fn failures_of(&self, operation_id: OperationId) -> Result<u32, StoreError> {
        for run in self.open_runs()? {
            let row = read(&self.store, move |view| view.run(&run))?;
            let turn = row.and_then(|row| serde_json::from_str::<RunMachine>(&row.state).ok());
            let Some(RunPhase::Acting { actions, .. }) = turn.map(|turn| turn.phase) else {
                continue;
            };
            let mut actions = actions.into_iter();
            if let Some(action) = actions.find(|action| action.operation_id == operation_id) {
                return Ok(action.failures);
            }
        }
        Ok(0)
    }

    /// Whether an action has taken effect.
    pub(crate) fn has_done(&self, operation_id: OperationId) -> bool {
        self.state().ledger.count(operation_id) > 0
    }

    /// Lets an action take effect, unless its process was ended meanwhile.
    pub(crate) fn take_effect(&self, life: usize, deed: Deed) -> bool {
        // Read here, because a process may also be suspended during the action.
        let slept = self.has_slept(life);
        let mut state = self.state();
        let lives = !state.killed.contains(&(life, deed.operation_id));
        if lives {
            state.ledger.deeds.push(Deed { slept, ..deed });
        }
        lives
    }

    /// Records that an action ended.
    pub(crate) fn finish(&self, life: usize, operation_id: OperationId) {
        self.state().running.remove(&(life, operation_id));
    }

    /// Ends the remains of an action.
    pub(crate) fn clear(&self, operation_id: OperationId) {
        let mut state = self.state();
        let left: Vec<_> = state
            .running
            .iter()
            .filter(|(_, id)| *id == operation_id)
            .copied()
            .collect();
        state.killed.extend(left);
        state.ledger.cleared.insert(operation_id);
    }

    /// Waits while a process is suspended, and forever if it is dead.
    async fn awake(&self, life: usize) {
        poll_fn(|context| match self.fate(life) {
            ProcessState::Awake => Poll::Ready(()),
            ProcessState::Asleep | ProcessState::Dead | ProcessState::Lost => {
                self.time.register(context);
                Poll::Pending
            }
        })
        .await;
    }

    pub(crate) fn open_runs(&self) -> Result<Vec<RunKey>, StoreError> {
        let filter = RunFilter {
            until: None,
            agent_id: Some(self.agent.clone()),
            state: RunState::Open,
            limit: ROWS_MAX,
            before: None,
        };
        let open = read(&self.store, move |view| view.runs(&filter))?;
        Ok(open.into_iter().map(|run| run.run_key).collect())
    }

    /// The actions with a stored intent and no stored result.
    fn intended(&self) -> Result<BTreeMap<OperationId, EffectClass>, StoreError> {
        let mut intended = BTreeMap::new();
        for run in self.open_runs()? {
            let steps = read(&self.store, move |view| view.steps(&run, 0, ROWS_MAX))?;
            let open = steps
                .into_iter()
                .filter(|step| step.status == StepStatus::Intended);
            intended.extend(open.filter_map(|step| Some((step.operation_id, step.class?))));
        }
        Ok(intended)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the store directly, without a process.
pub(crate) fn read<T: Send + 'static>(
    store: &Store,
    f: impl FnOnce(&mut wakeful_store::View<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    at_once(store.read(f)).unwrap_or(Err(StoreError::Closed))
}

/// Writes to the store directly, without a process.
pub(crate) fn write<T: Send + 'static>(
    store: &Store,
    f: impl Fn(&mut wakeful_store::Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    at_once(store.write(f)).unwrap_or(Err(StoreError::Closed))
}
