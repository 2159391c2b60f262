//! The state that outlives the daemons of a scenario: both databases, the clocks, the pending faults and
//! the ledger.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use wakeful_core::id::{AgentId, RuleId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_runtime::HaltSwitch;
use wakeful_store::{JournalStore, Store};

use super::clock::SimClock;
use crate::environment::Absence;
use crate::fault_plan::{Fault, FaultKind};
use crate::faulty_store::Process;
use crate::ledger::Site;
use crate::rng::Rng;

/// Maximum number of port calls of one daemon; beyond it, the daemon counts as looping.
const PASSAGES_MAX: u64 = 50_000;

/// How far the clock may be set, from a minute to ten years.
const JUMPS_MS: [i64; 6] = [
    30_000,
    5 * 60_000,
    3_600_000,
    24 * 3_600_000,
    40 * 24 * 3_600_000,
    TEN_YEARS_MS,
];

pub(crate) const TEN_YEARS_MS: i64 = 3_652 * 24 * 3_600_000;

/// What really happened. A daemon can change it only through the effects of its port calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Messages whose admission was acknowledged, with their agents.
    pub(crate) posted: BTreeMap<RunKey, AgentId>,
    /// How often each delivery was acknowledged as new, by its run.
    pub(crate) delivered: BTreeMap<RunKey, u32>,
    /// Deliveries with an invalid URL, by the run that they would have led to.
    pub(crate) forged: BTreeSet<RunKey>,
    /// Deliveries that were refused because of the agent's state.
    pub(crate) refused: BTreeSet<RunKey>,
    /// Deliveries whose response was lost.
    pub(crate) unheard: BTreeSet<RunKey>,
    /// Schedules that people paused, resumed or ended: firings due in between need not run.
    pub(crate) touched: BTreeSet<RuleId>,
    /// Subscriptions that people removed or tried to remove.
    pub(crate) dropped: BTreeSet<RuleId>,
    /// Every plain effect, in order.
    pub(crate) deeds: Vec<OperationId>,
    /// How many requests the model received, by run.
    pub(crate) asked: BTreeMap<String, u32>,
    /// Errors that a port detected itself.
    pub(crate) complaints: Vec<String>,
    /// Injected faults, and where.
    pub(crate) struck: Vec<(FaultKind, usize, Site)>,
    /// How often the clock was set.
    pub(crate) jumps: u32,
    /// The names of the performed script actions.
    pub(crate) moves: Vec<&'static str>,
}

/// The state of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaemonState {
    Awake,
    Dead,
    /// It made more port calls than any scenario needs.
    Lost,
}

/// The condition of the store for a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Well,
    FailsOnce,
    AwayUntil(u64),
}

/// The environment of the daemons. All mutable state is behind one lock that is never held across an await.
pub(crate) struct DaemonEnvironment {
    pub(crate) store: Store,
    pub(crate) journal: JournalStore,
    pub(crate) wall: Arc<SimClock>,
    pub(crate) seed: u64,
    state: Mutex<State>,
}

struct State {
    salts: Rng,
    outages: Rng,
    mishaps: VecDeque<Fault>,
    since_last: u32,
    lives: Vec<LifeState>,
    ledger: Ledger,
}

struct LifeState {
    fate: DaemonState,
    passages: u64,
    store: Condition,
    has_failed: bool,
    is_halted: bool,
    switch: HaltSwitch,
}

impl DaemonEnvironment {
    pub(crate) fn new(seed: u64, store: Store, journal: JournalStore, wall: Arc<SimClock>) -> Self {
        let state = State {
            salts: Rng::at(seed, "salts"),
            outages: Rng::at(seed, "outages"),
            mishaps: VecDeque::new(),
            since_last: 0,
            lives: Vec::new(),
            ledger: Ledger::default(),
        };
        Self {
            store,
            journal,
            wall,
            seed,
            state: Mutex::new(state),
        }
    }

    /// Sets the faults to inject from now on.
    pub(crate) fn expect(&self, mishaps: &[Fault]) {
        let mut state = self.state();
        state.mishaps = mishaps.iter().copied().collect();
        state.since_last = 0;
    }

    /// Removes all faults and makes the store available again.
    pub(crate) fn heal(&self) {
        self.expect(&[]);
        let mut state = self.state();
        state
            .lives
            .iter_mut()
            .for_each(|life| life.store = Condition::Well);
    }

    /// Registers a new daemon and returns its number.
    pub(crate) fn bear(&self, switch: HaltSwitch) -> usize {
        let mut state = self.state();
        state.lives.push(LifeState {
            fate: DaemonState::Awake,
            passages: 0,
            store: Condition::Well,
            has_failed: false,
            is_halted: false,
            switch,
        });
        state.lives.len() - 1
    }

    /// A copy of the ledger.
    pub(crate) fn ledger(&self) -> Ledger {
        self.state().ledger.clone()
    }

    /// Writes to the ledger.
    pub(crate) fn note(&self, write: impl FnOnce(&mut Ledger)) {
        write(&mut self.state().ledger);
    }

    /// Records an error that a port detected.
    pub(crate) fn complain(&self, what: String) {
        self.note(|ledger| ledger.complaints.push(what));
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

    /// Sets the clock forward or back, by a small or a large step.
    pub(crate) fn set_clock(&self, chance: &mut Rng) {
        let size = usize::try_from(chance.below(6)).unwrap_or(0);
        let by_ms = JUMPS_MS.get(size).copied().unwrap_or(TEN_YEARS_MS);
        let by_ms = if chance.one_in(2) { by_ms } else { -by_ms };
        self.note(|ledger| ledger.jumps += 1);
        self.wall.set(by_ms);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A daemon as seen by its ports.
#[derive(Clone)]
pub(crate) struct DaemonProcess {
    pub(crate) world: Arc<DaemonEnvironment>,
    pub(crate) number: usize,
}

impl DaemonProcess {
    /// The state of the daemon.
    pub(crate) fn fate(&self) -> DaemonState {
        self.look(|life| life.fate).unwrap_or(DaemonState::Dead)
    }

    /// Whether the store has ever failed a call of this daemon.
    pub(crate) fn has_failed(&self) -> bool {
        self.look(|life| life.has_failed).unwrap_or(false)
    }

    /// Whether the daemon was asked to stop.
    pub(crate) fn is_halted(&self) -> bool {
        self.look(|life| life.is_halted).unwrap_or(false)
    }

    /// Asks the daemon to stop.
    pub(crate) fn halt(&self) {
        if let Some(life) = self.world.state().lives.get_mut(self.number) {
            life.is_halted = true;
            life.switch.set();
        }
    }

    pub(crate) async fn sleep(&self, ms: u64) {
        self.pass(Site::Sleep).await;
        self.world.wall.wait(ms).await;
    }

    fn look<T>(&self, at: impl FnOnce(&LifeState) -> T) -> Option<T> {
        self.world.state().lives.get(self.number).map(at)
    }

    /// Counts one port call. Returns the fault that is due.
    fn due(&self) -> Option<FaultKind> {
        let mut state = self.world.state();
        let life = state.lives.get_mut(self.number)?;
        life.passages += 1;
        if life.passages > PASSAGES_MAX {
            life.fate = DaemonState::Lost;
            return None;
        }
        let next = state.mishaps.front().copied()?;
        if state.since_last < next.after {
            state.since_last += 1;
            return None;
        }
        state.since_last = 0;
        state.mishaps.pop_front().map(|mishap| mishap.what)
    }

    fn strike(&self, site: Site, what: FaultKind) {
        let mut state = self.world.state();
        state.ledger.struck.push((what, self.number, site));
        let away_ms = u64::from(state.outages.below(10_000));
        let until_ms = self.world.wall.ticks_ms().saturating_add(away_ms);
        let mut outages = state.outages.clone();
        if let Some(life) = state.lives.get_mut(self.number) {
            match what {
                FaultKind::Crash => life.fate = DaemonState::Dead,
                FaultKind::StoreFails => {
                    life.has_failed = true;
                    life.store = match away_ms % 2 {
                        0 => Condition::FailsOnce,
                        _ => Condition::AwayUntil(until_ms),
                    };
                }
                FaultKind::Halt => {
                    life.is_halted = true;
                    life.switch.set();
                }
                // Script actions cover what people do, and only one daemon runs at a time.
                FaultKind::Jump
                | FaultKind::Sleep
                | FaultKind::Loop
                | FaultKind::Cancel
                | FaultKind::Answer
                | FaultKind::Brake
                | FaultKind::Release
                | FaultKind::Poison => {}
            }
        }
        drop(state);
        if what == FaultKind::Jump {
            self.world.set_clock(&mut outages);
        }
    }

    fn awake(&self) -> impl Future<Output = ()> + Send {
        poll_fn(|_| match self.fate() {
            DaemonState::Awake => Poll::Ready(()),
            DaemonState::Dead | DaemonState::Lost => Poll::Pending,
        })
    }
}

impl Process for DaemonProcess {
    async fn pass(&self, site: Site) {
        self.awake().await;
        if let Some(what) = self.due() {
            self.strike(site, what);
        }
        self.awake().await;
    }

    fn failure(&self) -> Option<Absence> {
        let now_ms = self.world.wall.ticks_ms();
        let mut state = self.world.state();
        let life = state.lives.get_mut(self.number)?;
        let failure = match life.store {
            Condition::Well => None,
            Condition::FailsOnce => Some(Absence::Once),
            Condition::AwayUntil(end_ms) if now_ms < end_ms => return Some(Absence::Longer),
            Condition::AwayUntil(_) => None,
        };
        life.store = Condition::Well;
        failure
    }

    fn holds_lease(&self) -> bool {
        true
    }
}
