//! The services that the server and the commands call, one per noun. Each change is one transaction.

pub mod agent;
mod agent_settings;
mod attention;
mod audit;
pub mod budget;
mod cancel;
mod changes;
pub mod decision;
pub mod decision_input;
mod event;
pub mod external_trigger;
mod history;
pub mod journal;
mod limit;
mod message;
mod planted_bugs;
pub mod recorded_call;
mod retry;
mod run;
mod run_list;
pub mod schedule;
mod shared;
mod start;
pub mod step_contents;
mod stop;
pub mod subscription;
pub mod why;
mod work_signal;

use std::sync::Arc;

use wakeful_core::problem::Problem;
use wakeful_ports::journal::Journal;

pub use self::agent::{AgentApi, AgentChange, AgentView, NewAgent};
pub use self::attention::{Attention, AttentionApi};
pub use self::audit::{AuditApi, AuditPage, AuditQuery};
pub use self::budget::{Budget, BudgetApi, ReceiptApi};
pub use self::cancel::CancelAck;
pub use self::decision::DecisionApi;
pub use self::decision_input::DecisionInput;
pub use self::event::EventApi;
pub use self::external_trigger::{TriggerApi, TriggerCapability, TriggerDelivery};
pub use self::journal::JournalApi;
pub use self::limit::{LimitReport, NewLimit};
pub use self::message::{
    IncomingMessage, MessageApi, MessageReceipt, TRANSCRIPT_BYTES_MAX, ThreadSummary, TranscriptItem,
    TranscriptPage, TranscriptRun,
};
pub use self::retry::{RetryRequest, RetryStart};
pub use self::run::{Previewed, RunApi};
pub(crate) use self::run_list::brake_of;
pub use self::run_list::{ListedRun, RUNS_EXAMINED_MAX, RunPage, RunQuery};
pub use self::schedule::{ScheduleApi, ScheduleEdit};
pub use self::shared::ApiContext;
pub(crate) use self::shared::append;
use self::shared::{Ingress, Shared};
pub use self::start::{Preparing, StartAtOnce};
pub use self::stop::{BrakeApi, DATABASE_SLOW, REASON_CHARS_MAX};
pub use self::subscription::SubscriptionApi;
pub use self::why::{WhyNotReport, WhyReport};
pub(crate) use self::work_signal::WorkSignal;
use crate::EngineError;
use crate::notice::{NoticeDispatcher, SubscriptionIndex};
use crate::schedule::Scheduler;
use crate::service::WriterMode;

/// The session that the command line, the API and the page share.
pub const SESSION: &str = "cli";

/// The services, one per noun.
pub struct RuntimeApi {
    pub agents: AgentApi,
    pub messages: MessageApi,
    pub runs: RunApi,
    pub events: EventApi,
    pub audit: AuditApi,
    pub decisions: DecisionApi,
    pub attention: AttentionApi,
    pub brakes: BrakeApi,
    pub budgets: BudgetApi,
    /// Privacy receipts of hosted providers.
    pub receipts: ReceiptApi,
    pub schedules: ScheduleApi,
    pub triggers: TriggerApi,
    shared: Arc<Shared>,
}

impl RuntimeApi {
    /// The services of a daemon.
    #[must_use]
    pub fn new(context: ApiContext) -> Self {
        Self::over(Shared::new(context, Ingress::Daemon))
    }

    /// The services of a process without a daemon: messages stay queued until another process drives them.
    #[must_use]
    pub fn without_service(context: ApiContext) -> Self {
        Self::over(Shared::new(context, Ingress::Process))
    }

    fn over(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let share = || Arc::clone(&shared);
        Self {
            agents: AgentApi { shared: share() },
            messages: MessageApi { shared: share() },
            runs: RunApi { shared: share() },
            events: EventApi { shared: share() },
            audit: AuditApi { shared: share() },
            decisions: DecisionApi { shared: share() },
            attention: AttentionApi { shared: share() },
            brakes: BrakeApi { shared: share() },
            budgets: BudgetApi { shared: share() },
            receipts: ReceiptApi { shared: share() },
            schedules: ScheduleApi { shared: share() },
            triggers: TriggerApi { shared: share() },
            shared,
        }
    }

    /// The same services for a process that starts the run of each message it sends. A message whose run
    /// cannot start at once is refused, unless only a brake holds it; then it is queued.
    #[must_use]
    pub fn starting_at_once(&self, how: StartAtOnce) -> Self {
        Self::over(self.shared.with_ingress(Ingress::StartAtOnce(Box::new(how))))
    }

    /// The subscription service. `book` is the in-memory subscription index.
    #[must_use]
    pub fn subscriptions(&self, journal: Arc<dyn Journal>, book: Arc<SubscriptionIndex>) -> SubscriptionApi {
        SubscriptionApi {
            shared: Arc::clone(&self.shared),
            journal,
            subscription_index: book,
        }
    }

    #[must_use]
    pub fn journal(&self, journal: Arc<dyn Journal>) -> JournalApi {
        JournalApi {
            shared: Arc::clone(&self.shared),
            journal,
        }
    }

    /// The signal that notifies the service loop about work.
    pub(crate) fn work(&self) -> Arc<WorkSignal> {
        Arc::clone(&self.shared.work)
    }

    /// The dispatcher that turns changes into messages. `book` is the in-memory subscription index.
    pub fn notice_dispatcher(
        &self,
        journal: Arc<dyn Journal>,
        book: Arc<SubscriptionIndex>,
        writers: WriterMode,
    ) -> NoticeDispatcher {
        NoticeDispatcher {
            store: self.shared.store.clone(),
            journal,
            subscription_index: book,
            clock: Arc::clone(&self.shared.clock),
            entropy: Arc::clone(&self.shared.entropy),
            hub: Arc::clone(&self.shared.hub),
            work: Arc::clone(&self.shared.work),
            writers,
            redact: Arc::new(|_| None),
        }
    }

    /// The error of the last failed write, until a write succeeds. Does not access the database.
    #[must_use]
    pub fn last_write_error(&self) -> Option<Problem> {
        self.shared.store.last_write_error().as_ref().map(Problem::from)
    }

    /// Reads a small value to check whether the database responds.
    pub async fn probe_read(&self) -> Result<(), EngineError> {
        let read = self.shared.store.read(|view| view.retention_state());
        Ok(read.await.map(drop)?)
    }

    /// The scheduler that fires due schedules.
    #[must_use]
    pub fn scheduler(&self, journal: Arc<dyn Journal>, writers: WriterMode) -> Scheduler {
        Scheduler {
            store: self.shared.store.clone(),
            journal,
            clock: Arc::clone(&self.shared.clock),
            entropy: Arc::clone(&self.shared.entropy),
            hub: Arc::clone(&self.shared.hub),
            work: Arc::clone(&self.shared.work),
            writers,
        }
    }

    /// Writes a small value if the last write failed, to check whether writes succeed again. While the
    /// daemon reports that it is unavailable, no request attempts a write.
    pub async fn probe_write(&self) -> Result<(), EngineError> {
        if self.shared.store.last_write_error().is_some() {
            let written = self.shared.store.write(|tx| {
                let care = tx.retention_state()?;
                tx.put_retention_state(&care, care.generation)
            });
            written.await?;
        }
        Ok(())
    }
}
