//! What a daemon does once its home is open: agents are driven, calls are answered, and the home is looked after.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wakeful_ports::outside::Hearing;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::Book;
use wakeful_runtime::outside::Scout;
use wakeful_runtime::problem::with_causes;
use wakeful_runtime::proof::Notary;
use wakeful_runtime::retention::{Cared, Keeper, Pulse, Pulsing};
use wakeful_runtime::service::{Options as ServiceOptions, Service, Writers};
use wakeful_runtime::{Halt, Observer};
use wakeful_server::{Open, Stage};
use wakeful_store::StoreError;

use super::house::Bench;
use super::keeper;
use super::life::{Start, log};
use crate::announce::{self, Way};
use crate::backend::in_process::{alert_clerk, device_of, journal_clerk, scout as scout_of};
use crate::device;
use crate::failure::Failure;
use crate::place::Place;
use crate::show::retention::removed_text;
use crate::world::{RealClock, RealEntropy};

/// The ways by which people are told that a decision waits, and where the page is.
type Criers = (Vec<Way>, Option<String>);

/// How long a daemon that was told to stop waits for what is under way: longer than a command takes to stop, shorter than
/// `wakeful daemon stop` and service managers wait.
const STOP_MAX: Duration = Duration::from_secs(12);

/// Drives agents and answers calls until a stop is asked for and everything has come to a safe point.
pub(super) async fn run_service(
    (place, criers): (Arc<Place>, Criers),
    start: &Start<'_>,
    stage: &watch::Sender<Stage>,
    halt: Halt,
) {
    let hub = Arc::new(Hub::new());
    let pulse = Arc::new(Pulse::new(Arc::new(RealClock::new())));
    let observer = Arc::new(Pulsing {
        observer: Arc::clone(&hub),
        pulse: Arc::clone(&pulse),
    });
    let keeper = caretaker(&place, start, &hub);
    let (store, clock) = (place.store.clone(), Arc::new(RealClock::new()));
    let announcing = announce::watch(criers, (store, &hub), clock, halt.clone());
    let bench = bench(&place, start, observer, &halt);
    let (service, clerk, stuck) = Service::new(options(&place, bench, &hub));
    let book = Arc::new(Book::default());
    let watcher = clerk.watcher(
        Arc::clone(&place.journal) as _,
        Arc::clone(&book),
        writers(&place),
    );
    let timers = clerk.timers(Arc::clone(&place.journal) as _, writers(&place));
    let scout = Arc::new(scout(&place));
    let clerk = Arc::new(clerk);
    stage.send_replace(Stage::Ready(Open {
        desk: Arc::clone(&clerk) as _,
        schedules: Arc::clone(&clerk) as _,
        stuck,
        journal: Arc::new(journal_clerk(&place.store, &place.journal)),
        alert: Arc::new(alert_clerk(&place.store, &place.journal, book, Arc::clone(&hub))),
        outside: Arc::clone(&scout) as _,
    }));
    let stopping = async {
        halt.asked().await;
        stage.send_replace(Stage::Stopping);
    };
    let round = Caretakers {
        place: &place,
        keeper: &keeper,
        pulse: &pulse,
    };
    let watching = watcher.run(&halt, log);
    let scouting = scout.run(&halt, log);
    let ticking = timers.run_and_tell(&halt, log);
    let storing = clerk.store_stops(&halt);
    let working = async {
        tokio::join!(
            service.run(),
            stopping,
            announcing,
            watching,
            scouting,
            ticking,
            storing,
            round.go(&hub, &halt)
        );
        sign_off(&place, Arc::clone(&hub)).await;
    };
    // Whatever hangs, above all a database, the daemon ends: every run survives that as it survives a crash.
    tokio::select! {
        biased;
        () = working => {}
        () = too_late(&halt) => log("the daemon ends although not everything came to a safe point"),
    }
}

/// Resolves when a stop was asked for so long ago that nothing is waited for any more.
async fn too_late(halt: &Halt) {
    halt.asked().await;
    tokio::time::sleep(STOP_MAX).await;
}

/// All that will be written is written, and the next daemon begins with a signed past.
async fn sign_off(place: &Place, hub: Arc<Hub>) {
    let signed = match notary(place, hub) {
        Ok(notary) => notary.sign().await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = signed {
        log(&format!("the log was not signed: {failure}"));
    }
}

/// Whether others write to the same databases.
fn writers(place: &Place) -> Writers {
    if place.is_shared() {
        Writers::Many
    } else {
        Writers::Alone
    }
}

/// Who makes engines.
fn bench(place: &Arc<Place>, start: &Start<'_>, observer: Arc<dyn Observer>, halt: &Halt) -> Bench {
    Bench {
        place: Arc::clone(place),
        config: start.settings.config.clone(),
        models: start.models.clone(),
        sandboxing: start.sandboxing,
        observer,
        halt: halt.clone(),
    }
}

/// Who takes away what is old.
fn caretaker(place: &Place, start: &Start<'_>, hub: &Arc<Hub>) -> Keeper {
    Keeper {
        store: place.store.clone(),
        retention: start.settings.config.retention.rule(),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        observer: Arc::clone(hub) as _,
    }
}

/// What a service is made of.
fn options(place: &Place, bench: Bench, hub: &Arc<Hub>) -> ServiceOptions<Bench> {
    ServiceOptions {
        store: place.store.clone(),
        writers: writers(place),
        runner: place.runner.runner_id.clone(),
        halt: bench.halt.clone(),
        workshop: Arc::new(bench),
        hub: Arc::clone(hub),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        governance: place.governance(),
    }
}

/// Who looks outside. A home whose device has no name looks at nothing, and says so.
fn scout(place: &Place) -> Scout {
    let device = device_of(&place.home).unwrap_or_else(|failure| {
        log(&format!("nothing outside is watched: {failure}"));
        String::new()
    });
    scout_of(place.home.root(), &place.journal, device, Hearing::On)
}

/// Whoever looks after the home while agents work: the journal is kept in step, old data goes, the log is signed.
struct Caretakers<'a> {
    place: &'a Place,
    keeper: &'a Keeper,
    pulse: &'a Pulse,
}

impl Caretakers<'_> {
    async fn go(&self, hub: &Arc<Hub>, halt: &Halt) {
        let caring = self.keeper.run(self.pulse, halt, tell_care);
        let recovering = keeper::keep(self.place, hub, halt);
        let notary = match notary(self.place, Arc::clone(hub)) {
            Ok(notary) => notary,
            Err(failure) => {
                log(&format!("the log is not signed: {failure}"));
                tokio::join!(caring, recovering);
                return;
            }
        };
        tokio::join!(caring, recovering, notary.run(halt));
    }
}

/// Who signs what is committed here.
fn notary(place: &Place, hub: Arc<Hub>) -> Result<Notary, Failure> {
    Ok(Notary {
        store: place.store.clone(),
        key: device::read_or_make(&place.home.device_key())?,
        clock: Arc::new(RealClock::new()),
        hub,
    })
}

/// A round that took nothing away is not worth a line.
fn tell_care(cared: &Result<Cared, StoreError>) {
    match cared {
        Ok(cared) if cared.is_empty() => {}
        Ok(cared) => log(&format!(
            "care of data: {}",
            removed_text(cared).replace('\n', "; ")
        )),
        Err(error) => log(&format!("care of data: {}", with_causes(error))),
    }
}
