//! One process: an engine with its ports, and the loop that polls it until it ends, is suspended or dies.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_ports::guidance::NoGuidance;
use wakeful_ports::snapshot::NoSnapshots;
use wakeful_runtime::run::DriveOutcome;
use wakeful_runtime::{Engine, EngineDefaults, EngineError};

use crate::environment::{Absence, Environment, ProcessState};
use crate::faulty_store::{Process, faulty_store};
use crate::ledger::Site;
use crate::ports::{Salts, Screen, SimModel, SimTools, VirtualClock};
use crate::script::{Script, TOOLS};
use crate::tool_policy::tool_policy;

/// A process as seen by its ports.
#[derive(Clone)]
pub(crate) struct SimProcess {
    pub(crate) world: Arc<Environment>,
    pub(crate) number: usize,
}

/// The engine of a simulated process: everything but its ports is the shipped code.
pub(crate) type SimEngine = Engine<SimModel, SimTools>;

/// A run, and the outcome of driving it.
pub(crate) type Driven = (RunKey, DriveOutcome);

/// The future that a process works on.
pub(crate) type ProcessFuture = Pin<Box<dyn Future<Output = Result<Driven, EngineError>>>>;

/// How polling a process ended.
pub(crate) enum End {
    /// It finished, or returned an error.
    Done(Result<Driven, EngineError>),
    Died,
    /// It is suspended, and may be polled again when it is resumed.
    Slept(ProcessFuture),
    /// It waits for something that cannot happen, or loops.
    Stuck(&'static str),
}

impl Process for SimProcess {
    async fn pass(&self, site: Site) {
        self.world.pass(self.number, site).await;
    }

    fn failure(&self) -> Option<Absence> {
        self.world.failure(self.number)
    }

    fn holds_lease(&self) -> bool {
        self.world.holds_lease(self.number)
    }
}

impl SimProcess {
    pub(crate) async fn sleep(&self, ms: u64) {
        self.pass(Site::Sleep).await;
        self.world.time.wait(ms).await;
    }

    pub(crate) fn engine(&self, script: &Arc<Script>) -> SimEngine {
        let life = self.clone();
        let chance = script.at(&format!("store/{}", self.number));
        let names = TOOLS.into_iter().map(|(name, _)| name.to_owned()).collect();
        Engine {
            store: faulty_store(&self.world.store, life.clone(), chance),
            model: Arc::new(SimModel::new(life.clone(), script)),
            tools: Arc::new(SimTools::new(life.clone(), script)),
            policy: Arc::new(tool_policy(names)),
            guidance: Arc::new(NoGuidance),
            snapshots: Arc::new(NoSnapshots),
            clock: Arc::new(VirtualClock(life.clone())),
            entropy: Arc::new(Salts(life.clone())),
            halt: self.world.halt(self.number),
            observer: Arc::new(Screen(life)),
            runner: RunnerId::new(format!("runner-{}", self.number)),
            defaults: EngineDefaults {
                decision_deadline_ms: script.patience_ms(),
                ..EngineDefaults::default()
            },
        }
    }

    /// Polls the process. Time advances only when it waits for nothing else.
    pub(crate) fn live(&self, mut doings: ProcessFuture) -> End {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        self.world.time.wake_all();
        loop {
            woken.0.store(false, Ordering::Relaxed);
            if let Poll::Ready(end) = doings.as_mut().poll(&mut context) {
                return End::Done(end);
            }
            match self.world.fate(self.number) {
                ProcessState::Dead => return End::Died,
                ProcessState::Asleep => return End::Slept(doings),
                ProcessState::Lost => return End::Stuck("loops without progress"),
                ProcessState::Awake if woken.0.swap(false, Ordering::Relaxed) => {}
                // Not before every poll: a set of futures that polls woken ones asks to be polled again
                // afterwards, so time would never advance.
                ProcessState::Awake if self.world.time.advance() => self.world.time.wake_all(),
                ProcessState::Awake => return End::Stuck("waits for something that cannot happen"),
            }
        }
    }
}

/// Records that the process was woken and must be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The value of a future that is ready at once; `None` if it is pending.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
