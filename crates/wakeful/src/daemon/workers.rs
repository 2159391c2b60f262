//! The work of a daemon once its home is open: it drives agents, serves requests and maintains the home.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wakeful_ports::watch::WatchMode;
use wakeful_runtime::api::RuntimeApi;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::notice::{NoticeDispatcher, SubscriptionIndex};
use wakeful_runtime::proof::HeadSigner;
use wakeful_runtime::retention::{CommitCounter, CountingObserver, RetentionWorker};
use wakeful_runtime::service::{Options as ServiceOptions, Service, WriterMode};
use wakeful_runtime::watch::SourceApi;
use wakeful_runtime::{Halt, Observer};
use wakeful_server::{DaemonStage, ServedHome};
use wakeful_tools::SecretSource as _;

use super::backup::DailyBackup;
use super::host::DaemonEngineFactory;
use super::lifecycle::{DaemonOptions, backups};
use super::saga_recovery;
use crate::backend::in_process::{self, device_of};
use crate::config::LiveSettings;
use crate::device;
use crate::failure::Failure;
use crate::notify::{Notifier, NotifyTarget};
use crate::open_home::OpenHome;
use crate::secret::SecretStore;
use crate::system::{RealClock, RealEntropy};
use crate::workspace::snapshots;

/// A daemon whose home is open.
pub(super) struct OpenDaemon<'a> {
    pub(super) place: Arc<OpenHome>,
    pub(super) start: &'a DaemonOptions<'a>,
    /// The targets of decision notifications.
    pub(super) targets: Vec<NotifyTarget>,
    pub(super) page_url: String,
}

/// How long a stopping daemon waits for running work: longer than a command takes to stop, shorter than
/// `wakeful daemon stop` and service managers wait.
const STOP_MAX: Duration = Duration::from_secs(12);

/// Drives agents and serves requests until a stop is requested and all work has reached a safe point.
pub(super) async fn run_service(daemon: OpenDaemon<'_>, stage: &watch::Sender<DaemonStage>, halt: Halt) {
    let OpenDaemon { place, start, .. } = &daemon;
    let hub = Arc::new(Hub::new());
    let pulse = Arc::new(CommitCounter::new(Arc::new(RealClock::new())));
    let backup_pulse = Arc::new(CommitCounter::new(Arc::new(RealClock::new())));
    let observer = Arc::new(CountingObserver {
        observer: Arc::clone(&hub),
        commit_counter: Arc::clone(&pulse),
    });
    let observer = Arc::new(CountingObserver {
        observer,
        commit_counter: Arc::clone(&backup_pulse),
    });
    let retention = retention_worker(place, start, &hub);
    let notifying = notifier(&daemon, &hub).run(daemon.targets.clone(), halt.clone());
    let factory = engine_factory(place, start, observer, &halt);
    let (service, api, stuck) = Service::new(service_options(place, factory, &hub));
    let book = Arc::new(SubscriptionIndex::default());
    let watcher = notice_dispatcher(&api, place, start.live.clone(), &book);
    let timers = api.scheduler(Arc::clone(&place.journal) as _, writers(place));
    let sources = Arc::new(source_api(place));
    let api = Arc::new(api);
    stage.send_replace(DaemonStage::Ready(ServedHome {
        runtime: Arc::clone(&api),
        stuck,
        journal: Arc::new(api.journal(Arc::clone(&place.journal) as _)),
        subscriptions: Arc::new(api.subscriptions(Arc::clone(&place.journal) as _, book)),
        sources: Arc::clone(&sources),
    }));
    let stopping = async {
        halt.wait_until_set().await;
        stage.send_replace(DaemonStage::Stopping);
    };
    let round = MaintenanceWorkers {
        place,
        retention: &retention,
        commit_counter: &pulse,
        backup: DailyBackup {
            place,
            folder: backups(start, &place.home),
            limit: start.settings.config.backup.limit(),
            commits: &backup_pulse,
        },
    };
    let watching = watcher.run(&halt);
    let scouting = sources.run(&halt);
    let ticking = timers.run(&halt);
    let storing = api.brakes.store_until_halted(&halt);
    let working = async {
        tokio::join!(
            service.run(),
            stopping,
            notifying,
            watching,
            scouting,
            ticking,
            storing,
            round.run(&hub, &halt)
        );
        sign_heads_and_close(place, Arc::clone(&hub)).await;
    };
    // The daemon must end even if something hangs, such as a database. Every run survives that as it
    // survives a crash.
    tokio::select! {
        biased;
        () = working => {}
        () = too_late(&halt) => tracing::warn!("the daemon stops although some work has not reached a safe point"),
    }
}

/// Creates the dispatcher of changes, whose messages contain no secrets.
fn notice_dispatcher(
    api: &RuntimeApi,
    place: &OpenHome,
    settings: LiveSettings,
    book: &Arc<SubscriptionIndex>,
) -> NoticeDispatcher {
    let secrets = SecretStore::new(place.home.root().to_owned(), settings);
    api.notice_dispatcher(Arc::clone(&place.journal) as _, Arc::clone(book), writers(place))
        .with_redaction(Arc::new(move |text| secrets.redactor().text(text)))
}

/// Resolves [`STOP_MAX`] after a stop was requested.
async fn too_late(halt: &Halt) {
    halt.wait_until_set().await;
    tokio::time::sleep(STOP_MAX).await;
}

/// Signs the heads after the last write, so that the next daemon starts with a signed log.
async fn sign_heads_and_close(place: &OpenHome, hub: Arc<Hub>) {
    let signed = match head_signer(place, hub) {
        Ok(notary) => notary.sign().await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = signed {
        tracing::warn!(error = %failure, "the event log was not signed");
    }
}

/// Creates the worker that notifies people of pending decisions.
fn notifier(daemon: &OpenDaemon<'_>, hub: &Arc<Hub>) -> Notifier {
    Notifier {
        store: daemon.place.store.clone(),
        hub: Arc::clone(hub),
        clock: Arc::new(RealClock::new()),
        page_url: Some(daemon.page_url.clone()),
        settings: daemon.start.live.clone(),
    }
}

/// Whether other processes write to the same databases.
fn writers(place: &OpenHome) -> WriterMode {
    if place.is_shared() {
        WriterMode::Many
    } else {
        WriterMode::Alone
    }
}

fn engine_factory(
    place: &Arc<OpenHome>,
    start: &DaemonOptions<'_>,
    observer: Arc<dyn Observer>,
    halt: &Halt,
) -> DaemonEngineFactory {
    DaemonEngineFactory {
        place: Arc::clone(place),
        config: start.live.clone(),
        models: start.models.clone(),
        sandboxing: start.sandboxing,
        observer,
        halt: halt.clone(),
        first: None,
    }
}

/// Creates the worker that removes old data.
fn retention_worker(place: &OpenHome, start: &DaemonOptions<'_>, hub: &Arc<Hub>) -> RetentionWorker {
    RetentionWorker {
        store: place.store.clone(),
        retention: start.settings.config.retention.rule(),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        observer: Arc::clone(hub) as _,
        snapshots: Arc::new(snapshots(place.home.root())),
    }
}

/// Assembles the options of a service.
pub(crate) fn service_options(
    place: &OpenHome,
    factory: DaemonEngineFactory,
    hub: &Arc<Hub>,
) -> ServiceOptions<DaemonEngineFactory> {
    ServiceOptions {
        store: place.store.clone(),
        writers: writers(place),
        runner: place.runner.runner_id.clone(),
        halt: factory.halt.clone(),
        engine_factory: Arc::new(factory),
        hub: Arc::clone(hub),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
        governance: place.governance(),
    }
}

/// Creates the API of watched sources. If the device id cannot be determined, nothing is watched and a
/// warning is logged.
fn source_api(place: &OpenHome) -> SourceApi {
    let device = device_of(&place.home).unwrap_or_else(|failure| {
        tracing::warn!(error = %failure, "sources are not watched");
        String::new()
    });
    in_process::source_api(place.home.root(), &place.journal, device, WatchMode::On)
}

/// The background workers of a home: saga recovery, retention, daily backups and log signing.
struct MaintenanceWorkers<'a> {
    place: &'a OpenHome,
    retention: &'a RetentionWorker,
    commit_counter: &'a CommitCounter,
    backup: DailyBackup<'a>,
}

impl MaintenanceWorkers<'_> {
    async fn run(&self, hub: &Arc<Hub>, halt: &Halt) {
        let removing = self.retention.run(self.commit_counter, halt);
        let recovering = saga_recovery::run(self.place, hub, halt);
        let copying = self.backup.run(halt);
        let notary = match head_signer(self.place, Arc::clone(hub)) {
            Ok(notary) => notary,
            Err(failure) => {
                tracing::warn!(error = %failure, "the event log is not signed");
                tokio::join!(removing, recovering, copying);
                return;
            }
        };
        tokio::join!(removing, recovering, copying, notary.run(halt));
    }
}

/// Creates the signer of the event log heads.
fn head_signer(place: &OpenHome, hub: Arc<Hub>) -> Result<HeadSigner, Failure> {
    Ok(HeadSigner {
        store: place.store.clone(),
        key: device::read_or_make(&place.home.device_key())?,
        clock: Arc::new(RealClock::new()),
        hub,
    })
}
