//! A server without a socket, with a manual clock.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::sync::watch;
use tower::ServiceExt as _;
use wakeful_api::client::Client;
use wakeful_api::{
    AgentModelState, AgentPolicy, BackupMode, BackupStatus, Confinement, DefaultModel, ModelSource,
    PolicyExplanation, SettingsList, SettingsProblem,
};
use wakeful_core::id::AgentId;
use wakeful_core::message::RunOptions;
use wakeful_core::policy::{ActionRules, PolicyEffect, RuleDefaults};
use wakeful_core::problem::Problem;
use wakeful_core::prompt::Guidance;
use wakeful_core::redact::Redactor;
use wakeful_core::sandbox_policy::SandboxPolicy;
use wakeful_core::step::EffectClass;
use wakeful_core::sub_run::START_RUN;
use wakeful_core::time::Millis;
use wakeful_core::tool::{Capability, EnvironmentCapability, RiskLevel, ToolContract};
use wakeful_ports::clock::{Clock, Entropy};
use wakeful_runtime::EngineError;
use wakeful_runtime::rows::Agent;
use wakeful_server::{
    Access, DaemonFacts, DaemonStage, ExplainedCall, FolderHost, Host, InProcess, LoginHost, MissingKey,
    Options, Peer, ProviderHost, RateLimits, SecretHost, router,
};

use super::one_folder::OneFolder;
use super::one_provider::OneProvider;
use super::one_secret::SecretNames;
use super::services::{Counter, InMemoryServices, main};

pub(super) const TOKEN: &str = "a-token-that-nobody-could-guess-0";
pub(super) const HOST: &str = "127.0.0.1:7717";
pub(super) const NOON_MS: i64 = 1_771_344_000_000;

/// A server with the controls of a test.
pub(super) struct TestServer {
    pub(super) app: Router,
    pub(super) stage: watch::Sender<DaemonStage>,
    pub(super) time: Arc<Time>,
    pub(super) told: Arc<RecordingHost>,
    pub(super) services: InMemoryServices,
    pub(super) logins: Arc<LoginFiles>,
}

impl TestServer {
    pub(super) fn new() -> Self {
        Self::limited(RateLimits::default())
    }

    pub(super) fn limited(limits: RateLimits) -> Self {
        Self::with_token(TOKEN, limits)
    }

    pub(super) fn with_token(token: &str, limits: RateLimits) -> Self {
        Self::on(Arc::default(), token, limits)
    }

    /// The same home after a restart with this token.
    pub(super) fn restarted(&self, token: &str) -> Self {
        Self::on(Arc::clone(&self.logins), token, RateLimits::default())
    }

    fn on(logins: Arc<LoginFiles>, token: &str, limits: RateLimits) -> Self {
        let (time, told) = (Arc::new(Time::default()), Arc::new(RecordingHost::default()));
        let entropy: Arc<dyn Entropy> = Arc::new(Counter::default());
        let services = InMemoryServices::new(Arc::clone(&time) as _, Arc::clone(&entropy));
        let (stage, receiver) = watch::channel(DaemonStage::Ready(services.open.clone()));
        let options = Options {
            stage: receiver,
            host: Arc::clone(&told) as Arc<dyn Host>,
            facts: facts(),
            access: Access::new(token, HOST.parse().expect("an address")).expect("a token"),
            limits,
            logins: Arc::clone(&logins) as Arc<dyn LoginHost>,
            clock: Arc::clone(&time) as Arc<dyn Clock>,
            entropy,
        };
        let app = router(options);
        Self {
            app,
            stage,
            time,
            told,
            services,
            logins,
        }
    }

    /// Sends a request and returns the response before its body is read.
    pub(super) async fn open(&self, request: Request<Body>) -> Response {
        self.app.clone().oneshot(request).await.expect("an answer")
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Answer {
        Answer::read(self.open(request).await).await
    }

    /// Opens a stream with the token, and returns its body or the refusal.
    pub(super) async fn follow(&self, path: &str, headers: &[(&str, &str)]) -> Result<Body, Answer> {
        let headers = [&[BEARER, ("accept", "text/event-stream")], headers].concat();
        let request = request(Method::GET, path, &headers);
        let response = self.open(request).await;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            _ => Err(Answer::read(response).await),
        }
    }

    /// Sends a GET request with the token.
    pub(super) async fn get(&self, path: &str) -> Answer {
        self.send(request(Method::GET, path, &[BEARER])).await
    }

    /// Sends a POST request with the token.
    pub(super) async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(posted(path, body, &[BEARER])).await
    }
}

/// A client of a router in this process.
pub(super) fn in_process() -> Client {
    let (clock, entropy) = (Arc::new(Time::default()), Arc::new(Counter::default()));
    let parts = InProcess {
        open: InMemoryServices::new(clock.clone(), entropy.clone()).open,
        host: Arc::new(RecordingHost::default()),
        facts: facts(),
        clock,
        entropy,
    };
    Client::in_process(wakeful_server::in_process(parts))
}

pub(super) const BEARER: (&str, &str) = ("authorization", "Bearer a-token-that-nobody-could-guess-0");

/// A request to the server's own host name.
pub(super) fn request(method: Method, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).header("host", HOST);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).expect("a request")
}

/// A request with a JSON body.
pub(super) fn posted(path: &str, body: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = request(Method::POST, path, headers).map(|_| Body::from(body.to_owned()));
    let json = "application/json".parse().expect("a value");
    request.headers_mut().entry("content-type").or_insert(json);
    request
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).expect("text"),
        }
    }

    /// The status and the code of an error; checks that the body has exactly the error format.
    pub(super) fn code(&self) -> (u16, String) {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let members = |value: &Value| {
            value
                .as_object()
                .map(|object| object.keys().cloned().collect::<BTreeSet<_>>())
        };
        assert_eq!(members(&body), Some(["error".to_owned()].into()), "{self:?}");
        let names = ["code", "hint", "message"].map(str::to_owned).into();
        assert_eq!(members(&body["error"]), Some(names), "{self:?}");
        let code = body["error"]["code"].as_str().unwrap_or_default();
        (self.status.as_u16(), code.to_owned())
    }

    pub(super) fn message(&self) -> String {
        self.said("message")
    }

    pub(super) fn hint(&self) -> String {
        self.said("hint")
    }

    fn said(&self, member: &str) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error"][member].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

fn facts() -> DaemonFacts {
    DaemonFacts {
        version: "0.1.0".to_owned(),
        pid: 7,
        home_dir: "/home".to_owned(),
        database: "sqlite".to_owned(),
        started_at: Millis(0),
        config_fingerprint: "f".to_owned(),
        default_agent: main(),
        last_failure: None,
    }
}

/// A manual clock.
#[derive(Default)]
pub(super) struct Time(AtomicU64);

impl Time {
    pub(super) fn pass(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for Time {
    fn now(&self) -> Millis {
        Millis(NOON_MS + i64::try_from(self.monotonic_ms()).expect("a time"))
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep(&self, _ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// Records the calls to the binary.
#[derive(Default)]
pub(super) struct RecordingHost {
    pub(super) stop: AtomicBool,
    /// Whether every caller counts as a tool's process.
    pub(super) is_tool: AtomicBool,
    /// Messages to agents that were typed in the terminal chat.
    pub(super) typed: AtomicU64,
    pub(super) instructions: Mutex<Option<String>>,
    pub(super) secrets: SecretNames,
    pub(super) redactor: Mutex<Arc<Redactor>>,
}

impl Host for RecordingHost {
    fn workspace(&self, _agent: &AgentId, wanted: Option<&str>) -> Result<String, Problem> {
        Ok(wanted.unwrap_or("/tmp").to_owned())
    }

    fn check_options(&self, wishes: RunOptions) -> Result<RunOptions, Problem> {
        if wishes.model_ref.as_deref() == Some("nobody") {
            return Err(Problem::new(
                "model_unknown",
                "there is no model nobody",
                "choose another",
            ));
        }
        Ok(wishes)
    }

    fn inference_versions(&self) -> std::collections::BTreeSet<wakeful_core::id::PolicyVersion> {
        [wakeful_core::id::PolicyVersion::new("inference-1")].into()
    }

    fn settings(&self) -> Result<SettingsList, Problem> {
        Ok(SettingsList {
            file: "config.toml".to_owned(),
            settings: Vec::new(),
            problem: None,
            model_warning: None,
        })
    }

    fn change_setting(&self, name: &str, _value: &Value) -> Result<(), Problem> {
        let code = "config_key_unknown";
        match name {
            "server.port" | "agents.main.models" => Ok(()),
            _ => Err(Problem::new(code, "unknown setting", "use another")),
        }
    }

    fn settings_status(&self) -> (Option<SettingsProblem>, Vec<String>) {
        (None, Vec::new())
    }

    fn rule_defaults(&self) -> RuleDefaults {
        RuleDefaults::default()
    }

    fn policies(&self, agent: &AgentId, at: &str, rules: &ActionRules) -> Result<AgentPolicy, Problem> {
        Ok(AgentPolicy {
            agent_id: agent.to_string(),
            mode: rules.mode,
            policy_version: "policy-1-0".to_owned(),
            policies: Vec::new(),
            problems: Vec::new(),
            folders: Vec::new(),
            sandbox: SandboxPolicy::new(agent, at, &rules.sandbox, Vec::new()),
            hooks: Vec::new(),
        })
    }

    fn explain_call(&self, call: &ExplainedCall) -> Result<PolicyExplanation, Problem> {
        Ok(PolicyExplanation {
            agent_id: call.agent_id.to_string(),
            tool: call.tool.clone(),
            effect: PolicyEffect::Permit,
            rule: "registered_tool".to_owned(),
            reason: if call.rules.is_read_only { "read-only" } else { "" }.to_owned(),
            category: None,
            mode: call.rules.mode,
            policy_version: "policy-1-0".to_owned(),
            command: None,
            targets: Vec::new(),
            alternatives: Vec::new(),
            recorded: None,
            foreign_targets: None,
            note: None,
            stage: None,
        })
    }

    fn tools(&self) -> BTreeSet<String> {
        ["ExecCommand".to_owned()].into()
    }

    fn tool_contracts(&self) -> Vec<ToolContract> {
        let contract = ToolContract {
            capabilities_required: [Capability::Environment(EnvironmentCapability::CommandRun)].into(),
            ..ToolContract::open("ExecCommand", EffectClass::Plain, RiskLevel::High)
        };
        let start = ToolContract::open(START_RUN, EffectClass::Internal, RiskLevel::Medium);
        vec![contract, start]
    }

    fn instructions(&self, _agent: &AgentId) -> Result<Option<String>, Problem> {
        Ok(self.instructions.lock().expect("the text").clone())
    }

    fn set_instructions(&self, _agent: &AgentId, text: Option<&str>) -> Result<(), Problem> {
        *self.instructions.lock().expect("the text") = text.map(str::to_owned);
        Ok(())
    }

    fn erase_typed(&self, _agent: &AgentId) -> Result<u64, Problem> {
        Ok(self.typed.swap(0, Ordering::Relaxed))
    }

    fn model_state(&self, agent: &Agent) -> Option<AgentModelState> {
        let chosen = agent.model_ref.as_deref();
        Some(AgentModelState {
            source: match chosen {
                Some(_) => ModelSource::AgentOverride,
                None => ModelSource::RuntimeDefault,
            },
            runtime_default_model: "demo".to_owned(),
            effective_model: chosen.unwrap_or("demo").to_owned(),
            effective_fallback_models: Vec::new(),
            override_model: chosen.map(str::to_owned),
        })
    }

    fn default_model(&self) -> DefaultModel {
        DefaultModel {
            reference: "demo".to_owned(),
            is_demo: true,
        }
    }

    fn missing_key(&self, agent: &Agent) -> Option<MissingKey> {
        let chosen = agent.model_ref.as_deref();
        (chosen == Some("keyless/model")).then(|| MissingKey {
            provider: "keyless".to_owned(),
            problem: Problem::new("secret_unavailable", "KEYLESS_KEY is not set", ""),
        })
    }

    fn guidance(&self, _agent: &AgentId, _workspace: &str) -> Guidance {
        Guidance::default()
    }

    fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor.lock().expect("a redactor"))
    }

    fn is_tool(&self, _peer: Peer) -> bool {
        self.is_tool.load(Ordering::Relaxed)
    }

    fn providers(&self) -> Arc<dyn ProviderHost> {
        Arc::new(OneProvider)
    }

    fn secrets(&self) -> Arc<dyn SecretHost> {
        Arc::new(self.secrets.clone())
    }

    fn folders(&self) -> Arc<dyn FolderHost> {
        Arc::new(OneFolder)
    }

    fn backup(&self) -> BackupStatus {
        BackupStatus {
            mode: BackupMode::Daily,
            folder: "/nowhere/backups".to_owned(),
            count: 0,
            bytes: 0,
            newest_at: None,
            problem: None,
        }
    }

    fn confinement(&self) -> Option<Confinement> {
        None
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn on_service_failed(&self, _error: &EngineError) {}
}

/// The in-memory login files of a home.
#[derive(Default)]
pub(super) struct LoginFiles {
    pub(super) list: Mutex<Option<Vec<u8>>>,
    pub(super) pages: Mutex<BTreeMap<PathBuf, String>>,
    pub(super) is_full: AtomicBool,
}

impl LoginFiles {
    fn check_space(&self) -> io::Result<()> {
        let is_full = self.is_full.load(Ordering::Relaxed);
        (!is_full)
            .then_some(())
            .ok_or_else(|| io::ErrorKind::StorageFull.into())
    }
}

impl LoginHost for LoginFiles {
    fn read_list(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.list.lock().expect("a lock").clone())
    }

    fn write_list(&self, list: &[u8]) -> io::Result<()> {
        self.check_space()
            .map(|()| *self.list.lock().expect("a lock") = Some(list.to_vec()))
    }

    fn remove_list(&self) -> io::Result<()> {
        self.list.lock().map(|mut list| *list = None).expect("a lock");
        Ok(())
    }

    fn write_page(&self, name: &str, html: &str) -> io::Result<PathBuf> {
        self.check_space()?;
        let path = PathBuf::from(format!("/home/run/login-{name}.html"));
        let mut pages = self.pages.lock().expect("a lock");
        pages.insert(path.clone(), html.to_owned());
        Ok(path)
    }

    fn remove_page(&self, path: &Path) {
        self.pages.lock().expect("a lock").remove(path);
    }
}
