//! The shared state of the routes, and how the router is assembled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::response::{IntoResponse as _, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore, watch};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;
use wakeful_api::client::InProcessRouter;
use wakeful_api::{
    AgentModelState, AgentPolicy, BackupStatus, Confinement, DefaultModel, LastFailure, PolicyExplanation,
    Readiness, SettingsList, SettingsProblem,
};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::message::RunOptions;
use wakeful_core::policy::{ActionRules, RuleDefaults};
use wakeful_core::problem::Problem;
use wakeful_core::prompt::Guidance;
use wakeful_core::redact::Redactor;
use wakeful_core::time::Millis;
use wakeful_core::tool::ToolContract;
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::EngineError;
use wakeful_runtime::api::{DATABASE_SLOW, JournalApi, RuntimeApi, SubscriptionApi};
use wakeful_runtime::rows::Agent;
use wakeful_runtime::service::StuckAgents;
use wakeful_runtime::watch::SourceApi;

use crate::access::Access;
use crate::error::ApiError;
use crate::login::{LoginHost, Logins, NoLogins};
use crate::metrics::Metrics;
use crate::peer::Peer;
use crate::policy::ExplainedCall;
use crate::provider::ProviderHost;
use crate::rate::Rates;
use crate::route::Routes;
use crate::secret::SecretHost;
use crate::trust::FolderHost;
use crate::{
    agent, agent_settings, attention, audit, brake, budget, decision, descriptor, erasure, event,
    external_trigger, guard, journal, journal_record, login, message, metrics, openapi, page, policy,
    provider, run, run_change, runtime, schedule, secret, settings, source, subscription, transcript, trust,
    why,
};

/// Most concurrent requests. The store has one writer; a longer internal queue would only hide the
/// overload.
pub(crate) const IN_FLIGHT_MAX: usize = 256;

/// Most concurrent requests without a login: only a part, so that requests with one always find a permit.
const ANONYMOUS_MAX: usize = IN_FLIGHT_MAX / 4 * 3;

/// Most concurrent requests on the home's socket. Requests over TCP cannot use these up.
const LOCAL_IN_FLIGHT_MAX: usize = 32;

/// Most concurrent streams. Each costs a task and a slot in the hub, and people have few windows. If the
/// system grants few descriptors, the limit is lower.
pub(crate) const STREAMS_MAX: usize = 2_048;

/// Most concurrent lookups of trigger URLs for clients that presented too many wrong ones.
const GUESSES_AT_ONCE_MAX: usize = 1;

/// Most concurrent deliveries by triggers: half of all permits, so that other requests find one.
const DELIVERIES_MAX: usize = IN_FLIGHT_MAX / 2;

/// Most deliveries that are written at the same time. The store batches pending writes into one commit, so
/// during a burst of deliveries a message waits behind a few of them and not behind all.
const DELIVERIES_AT_ONCE_MAX: usize = 8;

/// How long the database may take for the small read that checks its availability.
const PROBE_TIME_MAX: Duration = Duration::from_millis(1_500);

/// How long the result of that check is cached.
const PROBED_MS_MAX: u64 = 250;

/// The options of a server.
pub struct Options {
    /// The stage of the daemon. The socket accepts requests before the database is open.
    pub stage: watch::Receiver<DaemonStage>,
    /// Functions that only the binary can provide.
    pub host: Arc<dyn Host>,
    /// Facts about the daemon that clients see.
    pub facts: DaemonFacts,
    pub access: Access,
    pub limits: RateLimits,
    /// Storage for browser logins.
    pub logins: Arc<dyn LoginHost>,
    pub clock: Arc<dyn Clock>,
    /// The source of new keys and codes.
    pub entropy: Arc<dyn Entropy>,
}

/// The stage of a daemon.
#[derive(Clone)]
pub enum DaemonStage {
    /// It opens the database and recovers unfinished work of an earlier process.
    Recovering,
    /// It serves requests.
    Ready(ServedHome),
    /// It brings running work to a safe point and exits. Streams end at this stage.
    Stopping,
}

/// What is available while a daemon serves.
#[derive(Clone)]
pub struct ServedHome {
    pub runtime: Arc<RuntimeApi>,
    /// The stuck agents, and the reasons.
    pub stuck: StuckAgents,
    pub journal: Arc<JournalApi>,
    pub subscriptions: Arc<SubscriptionApi>,
    pub sources: Arc<SourceApi>,
}

/// Functions that only the binary can provide. A trait, because the server must not depend on the binary
/// that links it.
pub trait Host: Send + Sync + 'static {
    /// The workspace of an agent's commands: the requested one, or the default. The problem explains why it
    /// cannot be used.
    fn workspace(&self, agent: &AgentId, wanted: Option<&str>) -> Result<String, Problem>;

    /// Validates run options: known model, known tools, an existing folder. Returns the options to store.
    fn check_options(&self, wishes: RunOptions) -> Result<RunOptions, Problem>;

    /// The versions of the rules for model requests, one per distinct set of rules: a confirmation applies
    /// to one version.
    fn inference_versions(&self) -> BTreeSet<PolicyVersion>;

    /// The models of an agent's next run; none if they cannot be determined.
    fn model_state(&self, agent: &Agent) -> Option<AgentModelState>;

    /// All settings of the home. Reads a file.
    fn settings(&self) -> Result<SettingsList, Problem>;

    /// Changes a setting in the settings file; null removes it. Writes a file.
    fn change_setting(&self, name: &str, value: &Value) -> Result<(), Problem>;

    /// Why the settings file or a policy file is not in force, and which changed settings need a restart.
    fn settings_status(&self) -> (Option<SettingsProblem>, Vec<String>);

    /// The rules for all agents.
    fn rule_defaults(&self) -> RuleDefaults;

    /// The policies in force for an agent under these rules. Reads files.
    fn policies(&self, agent: &AgentId, workspace: &str, rules: &ActionRules)
    -> Result<AgentPolicy, Problem>;

    /// Explains the verdict on a call. Reads files.
    fn explain_call(&self, call: &ExplainedCall) -> Result<PolicyExplanation, Problem>;

    /// The names of all tools.
    fn tools(&self) -> BTreeSet<String>;

    /// The contracts of all tools.
    fn tool_contracts(&self) -> Vec<ToolContract>;

    /// The agent's own instructions, if it has any. Reads a file.
    fn instructions(&self, agent: &AgentId) -> Result<Option<String>, Problem>;

    /// Replaces or removes the agent's own instructions. Writes a file.
    fn set_instructions(&self, agent: &AgentId, text: Option<&str>) -> Result<(), Problem>;

    /// The model of messages that name none, as it is now: a key may have been stored since the start.
    fn default_model(&self) -> DefaultModel;

    /// The key without which the agent's next run cannot start, if it is missing. It may ask a keyring, so it
    /// must not run on an async thread.
    fn missing_key(&self, agent: &Agent) -> Option<MissingKey>;

    /// The guidance of an agent in its workspace.
    fn guidance(&self, agent: &AgentId, workspace: &str) -> Guidance;

    /// Removes the messages to an agent that were typed in the terminal chat, and returns how many there were.
    /// Writes a file.
    fn erase_typed(&self, agent: &AgentId) -> Result<u64, Problem>;

    /// Whether the peer of a connection is a process that an agent's tool started. It reads files, so it
    /// must not run on an async thread.
    fn is_tool(&self, peer: Peer) -> bool;

    /// Lists and tests model providers, and stores their keys.
    fn providers(&self) -> Arc<dyn ProviderHost>;

    /// Finds all secrets and keys of the home. Only the first call after a change reads files or asks a keyring, as
    /// for the results of tools.
    fn redactor(&self) -> Arc<Redactor>;

    /// Lists and stores secrets of commands.
    fn secrets(&self) -> Arc<dyn SecretHost>;

    /// Lists and answers which folders are trusted.
    fn folders(&self) -> Arc<dyn FolderHost>;

    /// The daily backups of the home. It lists one folder.
    fn backup(&self) -> BackupStatus;

    /// How far commands are confined; none if it cannot be checked. It may run a command, so it must not run on
    /// an async thread.
    fn confinement(&self) -> Option<Confinement>;

    /// Requests the shutdown of the daemon. Returns immediately.
    fn stop(&self);

    /// Reports an internal error of a request to the log. The client receives only a code.
    fn on_service_failed(&self, error: &EngineError);
}

/// A provider's key that is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    pub provider: String,
    /// Why it is not available. It does not contain the key.
    pub problem: Problem,
}

/// Facts about a daemon that clients see.
#[derive(Debug, Clone)]
pub struct DaemonFacts {
    pub version: String,
    pub pid: u32,
    /// The folder of the home.
    pub home_dir: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    pub started_at: Millis,
    /// A hash of the configuration that the daemon was started with.
    pub config_fingerprint: String,
    /// The agent of `/api/status` and `/api/state`.
    pub default_agent: AgentId,
    /// The last failure outside of any run, of this or an earlier process.
    pub last_failure: Option<LastFailure>,
}

/// Rate limits per minute. 0 means unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests of one client.
    pub client_per_minute: u32,
    /// Messages to one agent.
    pub messages_per_minute: u32,
    /// Requests of one caller that is not the owner's client.
    pub outside_per_minute: u32,
    /// Turns that such callers cause at one agent.
    pub outside_turns_per_minute: u32,
    /// Wrong tokens and codes from one address.
    pub failures_per_minute: u32,
}

/// The shared state of all handlers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) stage: watch::Receiver<DaemonStage>,
    pub(crate) host: Arc<dyn Host>,
    /// Whether only this process can call the router.
    is_in_process: bool,
    pub(crate) facts: DaemonFacts,
    pub(crate) access: Access,
    pub(crate) limits: RateLimits,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) logins: Logins,
    pub(crate) rates: Rates,
    pub(crate) metrics: Metrics,
    /// One permit per request in progress.
    pub(crate) in_flight: Arc<Semaphore>,
    /// One permit per request without a login, in addition to the one above.
    pub(crate) anonymous: Arc<Semaphore>,
    /// One permit per request on the home's socket, in place of the others.
    pub(crate) local_in_flight: Arc<Semaphore>,
    /// One permit per trigger lookup for a client that presented too many wrong URLs.
    pub(crate) guesses: Semaphore,
    /// One permit per delivery in progress.
    pub(crate) deliveries: Arc<Semaphore>,
    /// One permit per delivery that is being written.
    pub(crate) delivering: Arc<Semaphore>,
    /// One permit per stream, held until it ends.
    pub(crate) streams: Arc<Semaphore>,
    /// The same for streams on the home's socket.
    pub(crate) local_streams: Arc<Semaphore>,
    /// When the database was last checked, and why it did not respond.
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

    /// The services while the daemon serves; otherwise the error that explains why not.
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

    /// Why the database does not answer a small read in time; none if it does, or if it is not open yet.
    /// Concurrent callers share one read.
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

    /// Tests whether the storage accepts writes again, if it refused the last one.
    pub(crate) async fn try_storage(&self) {
        if let Ok(runtime) = self.runtime() {
            // The store records the outcome.
            let _ = runtime.probe_write().await;
        }
    }

    /// Why the storage refused the last write, until a write succeeds again.
    pub(crate) fn storage(&self) -> Option<Problem> {
        match &*self.stage.borrow() {
            DaemonStage::Ready(open) => open.runtime.last_write_error(),
            DaemonStage::Recovering | DaemonStage::Stopping => None,
        }
    }

    /// Builds the response of a failed request. Internal causes are written to the log, or returned to a
    /// caller in this process, which can read every file anyway.
    pub(crate) fn refuse(&self, error: ApiError) -> Response {
        if self.is_in_process {
            return error.in_full().into_response();
        }
        self.log(&error);
        error.into_response()
    }

    /// Logs the internal cause of an error.
    pub(crate) fn log(&self, error: &ApiError) {
        if let Some(cause) = error.cause().filter(|_| error.is_ours()) {
            self.host.on_service_failed(cause);
        }
    }
}

/// The parts of a router in a command's own process.
pub struct InProcess {
    /// The open home.
    pub open: ServedHome,
    /// Functions that only the binary can provide.
    pub host: Arc<dyn Host>,
    /// Facts about the process that clients see.
    pub facts: DaemonFacts,
    pub clock: Arc<dyn Clock>,
    /// The source of new keys.
    pub entropy: Arc<dyn Entropy>,
}

/// Builds all routes for a command that runs without a daemon and calls them in its own process. Its
/// requests need no token and have no rate limit; answers and brakes use the channel `cli`.
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

/// Builds all routes behind their guards.
pub fn router(options: Options) -> Router {
    routes(App::new(options, false))
}

pub(crate) fn endpoints() -> Routes {
    Routes::default()
        .merge(runtime::routes())
        .merge(metrics::routes())
        .merge(openapi::routes())
        .merge(agent::routes())
        .merge(agent_settings::routes())
        .merge(brake::routes())
        .merge(budget::routes())
        .merge(decision::routes())
        .merge(attention::routes())
        .merge(audit::routes())
        .merge(message::routes())
        .merge(run::routes())
        .merge(run_change::routes())
        .merge(event::routes())
        .merge(transcript::routes())
        .merge(erasure::routes())
        .merge(login::routes())
        .merge(journal::routes())
        .merge(subscription::routes())
        .merge(source::routes())
        .merge(journal_record::routes())
        .merge(provider::routes())
        .merge(secret::routes())
        .merge(trust::routes())
        .merge(schedule::routes())
        .merge(policy::routes())
        .merge(settings::routes())
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
