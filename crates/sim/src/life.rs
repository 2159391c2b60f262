//! One process: an engine with its ports, and the loop that polls it until it ends, sleeps or dies.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use wakeful_core::id::RunnerId;
use wakeful_core::key::RunKey;
use wakeful_core::policy::Rules;
use wakeful_ports::guidance::NoGuide;
use wakeful_runtime::run::DriveOutcome;
use wakeful_runtime::{Engine, EngineError, Governance};

use crate::faulty::{Process, faulty_store};
use crate::ledger::Site;
use crate::ports::{Salts, Screen, SimModel, SimTools, VirtualClock};
use crate::script::{Script, TOOLS};
use crate::world::{Absence, Fate, World};

/// A process as its ports know it.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) world: Arc<World>,
    pub(crate) number: usize,
}

/// The engine of a simulated process: everything but its ports is what ships.
pub(crate) type SimEngine = Engine<SimModel, SimTools>;

/// A run, and where driving it has led.
pub(crate) type Driven = (RunKey, DriveOutcome);

/// What a process is busy with.
pub(crate) type Doings = Pin<Box<dyn Future<Output = Result<Driven, EngineError>>>>;

/// How polling a process came to an end.
pub(crate) enum End {
    /// It is done, or knows why it cannot be.
    Done(Result<Driven, EngineError>),
    /// It is dead.
    Died,
    /// It sleeps, and may be polled again when it is roused.
    Slept(Doings),
    /// It waits for nothing that will ever come, or goes round in circles.
    Stuck(&'static str),
}

impl Process for Life {
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

impl Life {
    /// Waits.
    pub(crate) async fn sleep(&self, ms: u64) {
        self.pass(Site::Sleep).await;
        self.world.time.wait(ms).await;
    }

    /// The engine of this process.
    pub(crate) fn engine(&self, script: &Arc<Script>) -> SimEngine {
        let life = self.clone();
        let chance = script.at(&format!("store/{}", self.number));
        let names = TOOLS.into_iter().map(|(name, _)| name.to_owned()).collect();
        Engine {
            store: faulty_store(&self.world.store, life.clone(), chance),
            model: Arc::new(SimModel::new(life.clone(), script)),
            tools: Arc::new(SimTools::new(life.clone(), script)),
            policy: Arc::new(Rules::new(names)),
            guide: Arc::new(NoGuide),
            clock: Arc::new(VirtualClock(life.clone())),
            entropy: Arc::new(Salts(life.clone())),
            halt: self.world.halt(self.number),
            observer: Arc::new(Screen(life)),
            runner: RunnerId::new(format!("runner-{}", self.number)),
            governance: Governance {
                decision_patience_ms: script.patience_ms(),
                ..Governance::default()
            },
        }
    }

    /// Polls what the process does. Time moves only when it waits for nothing else.
    pub(crate) fn live(&self, mut doings: Doings) -> End {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(end) = doings.as_mut().poll(&mut context) {
                return End::Done(end);
            }
            match self.world.fate(self.number) {
                Fate::Dead => return End::Died,
                Fate::Asleep => return End::Slept(doings),
                Fate::Lost => return End::Stuck("goes round in circles"),
                Fate::Awake if woken.0.swap(false, Ordering::Relaxed) => {}
                Fate::Awake if self.world.time.advance() => {}
                Fate::Awake => return End::Stuck("waits for something that will never come"),
            }
        }
    }
}

/// Remembers that something in the process asked to be polled again.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The value of a future that does not wait; none when it does.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
