//! A process that drives the runs of a store, and what a later one does with the actions that it left.

use tokio::task::JoinHandle;

use super::*;

/// A running service. Aborting its task ends the process like a crash.
pub(super) struct Process {
    task: JoinHandle<()>,
    _switch: HaltSwitch,
}

/// What a process works with.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) model: Arc<Caller>,
    pub(super) tools: Arc<Looks>,
    pub(super) policy: Arc<ChangingPolicy>,
    pub(super) ticks: Arc<Ticks>,
}

impl Process {
    pub(super) fn start(parts: Parts) -> (Self, RuntimeApi) {
        let hub: Arc<Hub> = Arc::default();
        let (switch, halt) = Halt::new();
        let (service, api, _) = Service::new(Options {
            store: parts.store.clone(),
            writers: WriterMode::Alone,
            runner: RunnerId::new("daemon"),
            engine_factory: Arc::new(SameEngineFactory {
                store: parts.store,
                model: parts.model,
                tools: parts.tools,
                policy: parts.policy,
                clock: Arc::<Ticks>::clone(&parts.ticks),
                entropy: Arc::new(Salts),
                hub: Arc::clone(&hub),
            }),
            hub,
            halt,
            clock: parts.ticks,
            entropy: Arc::new(Salts),
            governance: EngineDefaults::default(),
        });
        let task = tokio::spawn(service.run());
        let process = Self {
            task,
            _switch: switch,
        };
        (process, api)
    }
}

impl Daemon {
    /// Ends the process while its actions run, and starts another one after a change.
    pub(super) async fn crash(&mut self, change: impl FnOnce(&Self)) {
        self.process.task.abort();
        self.settle().await;
        change(self);
        (self.process, self.api) = Process::start(self.parts.clone());
        self.settle().await;
    }
}

fn deny(daemon: &Daemon) {
    daemon.policy.denies.store(true, Ordering::SeqCst);
}

/// A daemon that crashed while its one action ran, after which the tool is denied or not.
async fn crashed(class: EffectClass, change: fn(&Daemon)) -> Daemon {
    let mut daemon = Daemon::begin(Setting {
        class,
        ..Setting::default()
    })
    .await;
    assert_eq!(daemon.begun(), [0], "it runs");
    daemon.crash(change).await;
    daemon.tools.permits.add_permits(9);
    daemon.settle().await;
    daemon
}

#[tokio::test]
async fn a_found_read_that_is_not_permitted_any_more_is_unknown() {
    let permitted = crashed(EffectClass::Idempotent, |_| {}).await;
    assert_eq!(permitted.begun(), [0, 0], "a read is repeated");
    assert_eq!(permitted.outcome().await.1[0].0, StepStatus::Ok);
    let denied = crashed(EffectClass::Idempotent, deny).await;
    assert_eq!(denied.begun(), [0], "it is not repeated");
    assert_eq!(denied.outcome().await.1[0].0, StepStatus::OutcomeUnknown);
}

#[tokio::test]
async fn a_found_journal_write_is_finished_although_it_is_denied_now() {
    let denied = crashed(EffectClass::Saga, deny).await;
    assert_eq!(denied.begun(), [0, 0], "both databases must agree");
    assert_eq!(denied.outcome().await.1[0].0, StepStatus::Ok);
}

#[tokio::test]
async fn a_found_command_is_never_repeated() {
    let permitted = crashed(EffectClass::Plain, |_| {}).await;
    assert_eq!(permitted.begun(), [0]);
    assert_eq!(permitted.outcome().await.1[0].0, StepStatus::OutcomeUnknown);
}
