//! Simulates a whole daemon that is woken by changes, schedules, external triggers, people and other
//! agents.
//!
//! Everything but the ports is the shipped code: the service, the change watcher, the scheduler and the
//! APIs. A scenario is a list of script actions, each a function of the seed; faults are injected at any
//! port call between them. A daemon has its own runtime on this thread, and dropping that runtime is its
//! crash.
//!
//! | module | holds |
//! |---|---|
//! | `script` | the script actions |
//! | `clock`, `world` | virtual time and a wall clock that can be set; databases, pending faults, the ledger |
//! | `ports` | model, tools, clock and salts of a daemon |
//! | `host`, `action` | one daemon; the actions of people and external systems against it |
//! | `evidence`, `invariant` | the contents of databases and ledger, and what must hold of them |

mod action;
mod clock;
mod evidence;
mod host;
mod invariant;
mod ports;
mod script;
mod world;

use std::sync::Arc;

use tokio::runtime::Builder;
use wakeful_core::failure::truncate_chars;
use wakeful_core::key::{Digest, derived_hash};
use wakeful_core::schedule::Reason;
use wakeful_store::{JournalStore, Store, StoreError};

use self::clock::SimClock;
pub(crate) use self::evidence::DaemonEvidence;
use self::host::{DaemonEnd, Idle, SimDaemon};
use self::invariant::judge;
pub(crate) use self::script::MOVES_MAX;
use self::script::{Script, ScriptAction};
use self::world::DaemonEnvironment;
use crate::coverage::Coverage;
use crate::evidence::Moment;
use crate::fault_plan::FaultPlan;
use crate::invariant::Violation;

/// Maximum number of daemons of a scenario beyond those that faults end: each restart takes one.
const LIVES_MAX: usize = 20;

/// Maximum number of characters of an open run's state in a failure report.
const PHASE_CHARS_MAX: usize = 400;

/// Plays a fault plan and checks the invariants after every daemon and at the end.
pub(crate) fn play(schedule: &FaultPlan) -> Result<DaemonEvidence, Violation> {
    Stage::new(schedule)?.play()
}

/// A hash over every event of every agent that a fault plan leaves.
pub(crate) fn log_hash(scene: &DaemonEvidence) -> Digest {
    let ends = scene.logs.iter();
    let ends = ends.map(|(_, events)| events.last().map_or(Digest::ZERO, |event| event.hash));
    let ends: Vec<String> = ends.map(|end| end.to_string()).collect();
    derived_hash("sim.alert", &ends.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Counts what a scenario covered.
pub(crate) fn tally(scene: &DaemonEvidence) -> Coverage {
    let mut tally = Coverage::default();
    let mut met = |name: String| *tally.0.entry(name).or_default() += 1;
    let ledger = &scene.ledger;
    for (what, _, site) in &ledger.struck {
        met(format!("alert: {} at {site:?}", what.word()));
    }
    ledger
        .moves
        .iter()
        .for_each(|word| met(format!("alert: move {word}")));
    for wake in scene.wakes.values() {
        let source = wake.cause.origin.source();
        let source = source.as_str().split(':').next().unwrap_or_default().to_owned();
        met(format!("alert: {source} {}", wake.verdict));
    }
    for row in scene.schedules.iter().flat_map(|(_, rows)| rows) {
        let reason = row.reason.map_or("", Reason::as_str);
        let late = if row.is_catch_up { " late" } else { "" };
        met(format!("alert: firing {} {reason}{late}", row.outcome.as_str()));
    }
    scene
        .runs
        .iter()
        .for_each(|run| met(format!("alert: run {}", run.row.status)));
    let counts = [
        ("alert: notices", scene.notices.len()),
        (
            "alert: clock set",
            usize::try_from(ledger.jumps).unwrap_or(usize::MAX),
        ),
        ("alert: deeds", ledger.deeds.len()),
        ("alert: worlds", 1),
    ];
    for (name, count) in counts {
        *tally.0.entry(name.to_owned()).or_default() += u64::try_from(count).unwrap_or(u64::MAX);
    }
    *tally.0.entry("simulated seconds".to_owned()).or_default() += scene.ticks_ms / 1_000;
    tally
}

/// One scenario and its remaining actions.
struct Stage {
    world: Arc<DaemonEnvironment>,
    /// The remaining script actions, in reverse order.
    moves: Vec<(u32, ScriptAction)>,
    schedule: FaultPlan,
}

impl Stage {
    fn new(schedule: &FaultPlan) -> Result<Self, Violation> {
        let script = Script::new(schedule.seed);
        let numbers = 0..script.moves();
        let kept = numbers.filter(|number| schedule.has_move(*number));
        let moves = kept.map(|number| Ok((number, script.one(number)?)));
        let moves: Result<Vec<_>, wakeful_core::id::BadId> = moves.collect();
        let mut moves = moves.map_err(|error| broken(&error))?;
        moves.reverse();
        let store = Store::in_memory("sim").map_err(|error| broken(&error))?;
        let journal = JournalStore::in_memory("sim").map_err(|error| broken(&error))?;
        let wall = SimClock::at(script.beginning());
        Ok(Self {
            world: Arc::new(DaemonEnvironment::new(schedule.seed, store, journal, wall)),
            moves,
            schedule: schedule.clone(),
        })
    }

    fn play(mut self) -> Result<DaemonEvidence, Violation> {
        let played = self.play_all();
        played.map_err(|violation| Violation {
            story: self.story(),
            ..violation
        })
    }

    fn play_all(&mut self) -> Result<DaemonEvidence, Violation> {
        for life in 0..LIVES_MAX + self.schedule.mishaps.len() {
            match self.live(life == 0)? {
                None => {
                    let scene = self.scene(Moment::End)?;
                    judge(&scene)?;
                    return Ok(scene);
                }
                Some(DaemonEnd::Wrong(invariant, what)) => return Err(violation(invariant, what)),
                Some(DaemonEnd::Died | DaemonEnd::Stopped) => judge(&self.scene(Moment::Midway)?)?,
            }
        }
        Err(violation(
            "EverythingComesToRest",
            "the scenario does not end".to_owned(),
        ))
    }

    /// Runs one daemon from its start to its end. `None` when no work is left.
    fn live(&mut self, is_first: bool) -> Result<Option<DaemonEnd>, Violation> {
        let idle: Arc<Idle> = Arc::default();
        let bell = Arc::clone(&idle);
        let runtime = Builder::new_current_thread()
            .on_thread_park(move || bell.ring())
            .build()
            .map_err(|error| broken(&error))?;
        let gone = runtime.block_on(async {
            let house = SimDaemon::open(&self.world, &idle);
            match self.serve(&house, is_first).await {
                Ok(true) => None,
                Ok(false) => Some(house.stop().await),
                Err(gone) => Some(gone),
            }
        });
        // Dropping the runtime ends all of the daemon's work.
        drop(runtime);
        Ok(gone)
    }

    /// Performs the remaining script actions against a daemon. Returns true when all are done.
    async fn serve(&mut self, house: &SimDaemon, is_first: bool) -> Result<bool, DaemonEnd> {
        if is_first {
            house.people().await?;
            house.settle().await?;
            self.world.expect(&self.schedule.mishaps);
        }
        while let Some((number, what)) = self.moves.pop() {
            house.perform(number, what).await?;
            house.settle().await?;
            if house.being.is_halted() {
                return Ok(false);
            }
        }
        house.pass(1).await?;
        if house.being.is_halted() {
            return Ok(false);
        }
        self.world.heal();
        house.calm().await?;
        Ok(true)
    }

    fn scene(&self, moment: Moment) -> Result<DaemonEvidence, Violation> {
        DaemonEvidence::take(&self.world, moment).map_err(|error: StoreError| broken(&error))
    }

    fn story(&self) -> Vec<String> {
        let ledger = self.world.ledger();
        let done = ledger.moves.iter().map(|word| format!("move: {word}"));
        let struck = ledger.struck.iter();
        let struck = struck.map(|(what, life, site)| format!("daemon {life}: {} at {site:?}", what.word()));
        let Ok(scene) = self.scene(Moment::Midway) else {
            return done.chain(struck).collect();
        };
        // The coverage so far explains most about a scenario that does not become idle.
        let met = tally(&scene).0.into_iter();
        let met = met.filter(|(name, _)| !name.contains(": move "));
        let met = met.map(|(name, count)| format!("{count} {name}"));
        let open = scene.runs.iter().filter(|run| run.is_open()).map(|run| {
            let (row, phase) = (
                &run.row,
                truncate_chars(&format!("{:?}", run.turn.phase), PHASE_CHARS_MAX),
            );
            format!(
                "open: {} of {}, due {:?}, {phase}",
                row.run_key, row.agent_id, row.suspension
            )
        });
        let now = format!("the clock shows {:?}", self.world.wall.now());
        done.chain(struck).chain(met).chain(open).chain([now]).collect()
    }
}

fn violation(invariant: &'static str, what: String) -> Violation {
    Violation {
        invariant,
        what,
        story: Vec::new(),
    }
}

fn broken(error: &dyn std::error::Error) -> Violation {
    violation("TheWorldWorks", format!("{error:?}"))
}
