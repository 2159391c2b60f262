//! What the routes share, and how they are put together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Full};
use tokio::sync::{Mutex, Semaphore, watch};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;
use wakeful_api::client::InProcessRouter;
use wakeful_api::{AgentModelState, DefaultModel, LastFailure, Readiness};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::message::RunOptions;
use wakeful_core::problem::Problem;
use wakeful_core::prompt::Guidance;
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::EngineError;
use wakeful_runtime::api::{DATABASE_SLOW, JournalApi, RuntimeApi, SubscriptionApi};
use wakeful_runtime::service::StuckAgents;
use wakeful_runtime::watch::SourceApi;

use crate::access::Access;
use crate::error::ApiError;
use crate::login::{LoginHost, Logins, NoLogins};
use crate::metrics::Metrics;
use crate::peer::Peer;
use crate::rate::Rates;
use crate::route::Routes;
use crate::{
    agent, brake, budget, decision, descriptor, erasure, event, external_trigger, guard, journal,
    journal_record, login, message, metrics, openapi, page, run, runtime, schedule, source, subscription,
    transcript, why,
};

/// Most requests that are worked on at the same time. The store has one writer; a longer line inside only hides that
/// it is long.
pub(crate) const IN_FLIGHT_MAX: usize = 256;

/// Most of them that show no login: a part, so that requests with one always find a place.
const ANONYMOUS_MAX: usize = IN_FLIGHT_MAX / 4 * 3;

/// Most requests by the home's socket that are worked on at the same time. Nothing that comes over TCP can use these up.
const LOCAL_IN_FLIGHT_MAX: usize = 32;

/// Most streams at the same time. Each costs a task and a place in the hub, and people have few windows. Where the
/// system grants few descriptors there are fewer.
pub(crate) const STREAMS_MAX: usize = 2_048;

/// Most addresses of triggers that are looked up at the same time for those who showed too many wrong ones.
const GUESSES_AT_ONCE_MAX: usize = 1;

/// Most deliveries by triggers that are worked on at the same time: half of all places, so that others find one.
const DELIVERIES_MAX: usize = IN_FLIGHT_MAX / 2;

/// Most of them that are written at the same time. The store takes what waits for its writer into one commit: a message
/// that comes in a burst of deliveries waits behind a few of them and not behind all.
const DELIVERIES_AT_ONCE_MAX: usize = 8;

/// How long the database may take to answer the small read that tells whether it can be used.
const PROBE_TIME_MAX: Duration = Duration::from_millis(1_500);

/// How long the answer to that holds.
const PROBED_MS_MAX: u64 = 250;

/// Everything a server needs.
pub struct Options {
    /// How far the daemon is. The socket answers before the database is open.
    pub stage: watch::Receiver<DaemonStage>,
    /// What only the binary knows how to do.
    pub host: Arc<dyn Host>,
    /// What is shown of the daemon.
    pub facts: DaemonFacts,
    /// Who may come in, and under which names we are called.
    pub access: Access,
    /// How often somebody may ask.
    pub limits: RateLimits,
    /// Where logins of browsers are kept.
    pub logins: Arc<dyn LoginHost>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where fresh keys and codes come from.
    pub entropy: Arc<dyn Entropy>,
}

/// How far a daemon is.
#[derive(Clone)]
pub enum DaemonStage {
    /// The database is being opened and what an earlier life left is taken up.
    Recovering,
    /// It serves.
    Ready(ServedHome),
    /// It brings what is under way to a safe point and ends. Streams end here.
    Stopping,
}

/// What is there once a daemon serves.
#[derive(Clone)]
pub struct ServedHome {
    /// The services, one per noun.
    pub runtime: Arc<RuntimeApi>,
    /// Who cannot go on, and why.
    pub stuck: StuckAgents,
    /// The journal.
    pub journal: Arc<JournalApi>,
    /// Subscriptions.
    pub subscriptions: Arc<SubscriptionApi>,
    /// Watched folders and repositories.
    pub sources: Arc<SourceApi>,
}

/// What only the binary knows how to do. A trait, because the server must not depend on the binary that links it.
pub trait Host: Send + Sync + 'static {
    /// The folder that an agent's commands will run in: the one that was asked for, or the default one. The problem
    /// is why it cannot be.
    fn workspace(&self, agent: &AgentId, wanted: Option<&str>) -> Result<String, Problem>;

    /// Whether a run can be carried out like this: known model, known tools, an existing folder. What is returned is
    /// what is kept.
    fn check_options(&self, wishes: RunOptions) -> Result<RunOptions, Problem>;

    /// The versions of the rules by which models may be asked, one for all agents that have the same: a confirmation
    /// holds for one version.
    fn inference_versions(&self) -> BTreeSet<PolicyVersion>;

    /// Which models an agent's next run asks, given the one that a person chose for it; none where that cannot be said.
    fn model_state(&self, agent: &AgentId, chosen: Option<&str>) -> Option<AgentModelState>;

    /// What guides an agent in its workspace.
    fn guidance(&self, agent: &AgentId, workspace: &str) -> Guidance;

    /// Whether the other end of a connection is a process that an agent's tool started. Reads files: not on a thread that
    /// must not wait.
    fn is_tool(&self, peer: Peer) -> bool;

    /// Somebody asked for the end of the daemon. Returns at once.
    fn stop(&self);

    /// Something broke inside while a request was answered. The client is told a code; this is for the log.
    fn on_service_failed(&self, error: &EngineError);
}

/// What is shown of a daemon.
#[derive(Debug, Clone)]
pub struct DaemonFacts {
    /// The program's version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The folder everything lives in.
    pub home_dir: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// When it began.
    pub started_at: Millis,
    /// A hash of the configuration it was started with.
    pub config_fingerprint: String,
    /// Who answers when a message names no model.
    pub model: DefaultModel,
    /// Whom `/api/status` and `/api/state` speak of.
    pub default_agent: AgentId,
    /// A failure that this or an earlier life left behind, outside of any run.
    pub last_failure: Option<LastFailure>,
}

/// How often somebody may ask within a minute. 0 means as often as they like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests of one client.
    pub client_per_minute: u32,
    /// Messages to one agent.
    pub messages_per_minute: u32,
    /// Wrong tokens and codes from one address.
    pub failures_per_minute: u32,
}

/// What every handler can reach. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) stage: watch::Receiver<DaemonStage>,
    pub(crate) host: Arc<dyn Host>,
    /// Whether only this process can call it.
    is_in_process: bool,
    pub(crate) facts: DaemonFacts,
    pub(crate) access: Access,
    pub(crate) limits: RateLimits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) logins: Logins,
    pub(crate) rates: Rates,
    pub(crate) metrics: Metrics,
    /// One permit per request that is worked on.
    pub(crate) in_flight: Arc<Semaphore>,
    /// One permit per request without a login, beside the one above.
    pub(crate) anonymous: Arc<Semaphore>,
    /// One permit per request by the home's socket, in the place of the others.
    pub(crate) local_in_flight: Arc<Semaphore>,
    /// One permit per address of a trigger that is looked up for somebody who showed too many wrong ones.
    pub(crate) guesses: Semaphore,
    /// One permit per delivery that is worked on.
    pub(crate) deliveries: Arc<Semaphore>,
    /// One permit per delivery that is written.
    pub(crate) delivering: Arc<Semaphore>,
    /// One permit per stream, held as long as it lives.
    pub(crate) streams: Arc<Semaphore>,
    /// The same by the home's socket.
    pub(crate) local_streams: Arc<Semaphore>,
    /// When the database was last asked whether it answers, and why it did not.
    probed: Mutex<Option<(u64, Option<String>)>>,
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    fn new(options: Options, is_in_process: bool) -> Self {
        Self(Arc::new(Inner {
            is_in_process,
            stage: options.stage,
            host: options.host,
            facts: options.facts,
            logins: Logins::load(options.logins, options.access.token()),
            access: options.access,
            limits: options.limits,
            clock: options.clock,
            entropy: options.entropy,
            rates: Rates::default(),
            metrics: Metrics::default(),
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT_MAX)),
            anonymous: Arc::new(Semaphore::new(ANONYMOUS_MAX)),
            local_in_flight: Arc::new(Semaphore::new(LOCAL_IN_FLIGHT_MAX)),
            guesses: Semaphore::new(GUESSES_AT_ONCE_MAX),
            deliveries: Arc::new(Semaphore::new(DELIVERIES_MAX)),
            delivering: Arc::new(Semaphore::new(DELIVERIES_AT_ONCE_MAX)),
            streams: Arc::new(Semaphore::new(descriptor::streams_max())),
            local_streams: Arc::new(Semaphore::new(descriptor::local_streams_max())),
            probed: Mutex::default(),
        }))
    }

    /// What is there once the daemon serves; before and after that, why not.
    pub(crate) fn open(&self) -> Result<ServedHome, ApiError> {
        match &*self.stage.borrow() {
            DaemonStage::Ready(open) => Ok(open.clone()),
            DaemonStage::Recovering => Err(ApiError::recovering()),
            DaemonStage::Stopping => Err(ApiError::stopping()),
        }
    }

    pub(crate) fn runtime(&self) -> Result<Arc<RuntimeApi>, ApiError> {
        self.open().map(|open| open.runtime)
    }

    pub(crate) fn readiness(&self) -> Readiness {
        match &*self.stage.borrow() {
            DaemonStage::Recovering => Readiness::Recovering,
            DaemonStage::Ready(open) if open.runtime.last_write_error().is_some() => Readiness::Failing,
            DaemonStage::Ready(_) => Readiness::Ready,
            DaemonStage::Stopping => Readiness::Stopping,
        }
    }

    /// Why the database does not answer a small read in time; none where it does, or where there is none to ask yet. Many
    /// who ask at once share one read.
    pub(crate) async fn probe_storage(&self) -> Option<String> {
        let runtime = self.runtime().ok()?;
        let mut probed = self.probed.lock().await;
        let now = self.clock.monotonic_ms();
        if let Some((at, code)) = &*probed
            && now.saturating_sub(*at) < PROBED_MS_MAX
        {
            return code.clone();
        }
        let code = match tokio::time::timeout(PROBE_TIME_MAX, runtime.probe_read()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Problem::from(&error).code.into_owned()),
            Err(_) => Some(DATABASE_SLOW.to_owned()),
        };
        *probed = Some((self.clock.monotonic_ms(), code.clone()));
        code
    }

    /// Finds out whether the storage takes writes again, where it refused the last one.
    pub(crate) async fn try_storage(&self) {
        if let Ok(runtime) = self.runtime() {
            // The store notes how it ended.
            let _ = runtime.probe_write().await;
        }
    }

    /// Why the storage refused the last write, until one has worked again.
    pub(crate) fn storage(&self) -> Option<Problem> {
        match &*self.stage.borrow() {
            DaemonStage::Ready(open) => open.runtime.last_write_error(),
            DaemonStage::Recovering | DaemonStage::Stopping => None,
        }
    }

    /// The answer to a request that failed. What broke inside goes to the log, or to a caller in this process, which may
    /// read every file itself.
    pub(crate) fn refuse(&self, error: ApiError) -> Response {
        if self.is_in_process {
            return error.in_full().into_response();
        }
        self.log(&error);
        error.into_response()
    }

    /// Tells the log what broke inside.
    pub(crate) fn log(&self, error: &ApiError) {
        if let Some(cause) = error.cause().filter(|_| error.is_ours()) {
            self.host.on_service_failed(cause);
        }
    }
}

/// What a router in a command's own process needs.
pub struct InProcess {
    /// The databases.
    pub open: ServedHome,
    /// What only the binary knows how to do.
    pub host: Arc<dyn Host>,
    /// What is shown of the process.
    pub facts: DaemonFacts,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where fresh keys come from.
    pub entropy: Arc<dyn Entropy>,
}

/// All routes, for a command that runs without a daemon and calls them in its own process. Its requests need no token and
/// have no rate limit; answers and brakes go by the channel `cli`.
pub fn in_process(parts: InProcess) -> InProcessRouter {
    let (_, stage) = watch::channel(DaemonStage::Ready(parts.open));
    let options = Options {
        stage,
        host: parts.host,
        facts: parts.facts,
        access: Access::closed(&*parts.entropy),
        limits: RateLimits::default(),
        logins: Arc::new(NoLogins),
        clock: parts.clock,
        entropy: parts.entropy,
    };
    let router = routes(App::new(options, true))
        .map_request(|request: Request<Full<Bytes>>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Peer::InProcess);
            request
        })
        .map_response(|response: Response| response.map(|body| body.map_err(Into::into).boxed_unsync()));
    BoxCloneSyncService::new(router)
}

/// All routes behind their guards.
pub fn router(options: Options) -> Router {
    routes(App::new(options, false))
}

/// Every endpoint.
pub(crate) fn endpoints() -> Routes {
    Routes::default()
        .merge(runtime::routes())
        .merge(metrics::routes())
        .merge(openapi::routes())
        .merge(agent::routes())
        .merge(brake::routes())
        .merge(budget::routes())
        .merge(decision::routes())
        .merge(message::routes())
        .merge(run::routes())
        .merge(event::routes())
        .merge(transcript::routes())
        .merge(erasure::routes())
        .merge(login::routes())
        .merge(journal::routes())
        .merge(subscription::routes())
        .merge(source::routes())
        .merge(journal_record::routes())
        .merge(schedule::routes())
        .merge(why::routes())
        .merge(external_trigger::routes())
}

fn routes(app: App) -> Router {
    endpoints()
        .into_router()
        .fallback(page::show)
        .method_not_allowed_fallback(page::wrong_method)
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::pass))
        .with_state(app)
}
