//! The life of a daemon: the socket answers first, then the home is taken and opened, then it serves; at the end
//! what is under way comes to a safe point before anybody is sent away.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wakeful_api::{DefaultModel, FailurePhase, LastFailure};
use wakeful_core::id::AgentId;
use wakeful_core::key::derived_hash;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::Halt;
use wakeful_server::{Access, DaemonFacts, DaemonStage, Options, RateLimits, Router, ServerEnd};
use wakeful_tools::quarantine;

use super::files::{DaemonPresence, DaemonRecord, RunDir};
use super::host::DaemonHost;
use super::logging;
use super::logins::LoginFiles;
use super::socket::{self, LocalSocket};
use super::token;
use super::workers::{OpenDaemon, run_service};
use crate::config::{LoadedConfig, Overrides, Settings};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::{Home, HomeLock};
use crate::model::{DEMO, ModelChoiceReason, ModelRegistry};
use crate::notify::{DesktopSession, notify_targets};
use crate::open_home::{OpenHome, SandboxRequirement};
use crate::show::Out;
use crate::show::cap_unset;
use crate::signals::Signals;
use crate::system::{RealClock, RealEntropy, this_runner};

/// How long a daemon waits for a verb that works in its home.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often it looks.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Wrong tokens and codes from one address within a minute. They cannot be guessed in any time; this only keeps whoever
/// tries from taking the processor.
const FAILURES_PER_MINUTE: u32 = 600;

/// The code of the failure to be a second daemon.
const ALREADY: &str = "daemon_running";

/// What a daemon is started with.
pub(crate) struct DaemonOptions<'a> {
    pub(crate) shared: &'a GlobalArgs,
    pub(crate) settings: LoadedConfig,
    pub(crate) models: ModelRegistry,
    /// A token given with this call alone.
    pub(crate) token: Option<String>,
    pub(crate) sandboxing: SandboxRequirement,
}

impl DaemonOptions<'_> {
    /// One name for everything it is started with, flags included. Secrets go in as hashes of their own.
    pub(crate) fn fingerprint(&self) -> String {
        let sandboxing = match self.sandboxing {
            SandboxRequirement::Required => "required",
            SandboxRequirement::Optional => "optional",
        };
        let token = self
            .token
            .as_deref()
            .map(|token| derived_hash("daemon.token", &[token]).to_string());
        let database = self.shared.database().map(database_name);
        let fields = [
            self.settings.fingerprint(),
            sandboxing.to_owned(),
            database.unwrap_or_default(),
            token.unwrap_or_default(),
        ];
        derived_hash("daemon.start", &fields.each_ref().map(String::as_str)).to_string()
    }
}

/// What a record calls a database. Its address may hold a password, so it is a hash.
pub(crate) fn database_name(address: &str) -> String {
    derived_hash("daemon.database", &[address]).to_string()
}

/// Lives, from the socket to the last goodbye. What fails on the way up is kept for whoever asks later.
pub(crate) async fn run_daemon(start: DaemonOptions<'_>, out: &Out) -> Result<u8, Failure> {
    logging::start(start.settings.config.log);
    let root = start.shared.home()?;
    let lived = serve(start, out).await;
    if let Err(failure) = &lived {
        note(&root, failure, out);
    }
    lived
}

/// Keeps a failure for whoever asks later, where there is a home to keep it in. That a daemon runs already is no
/// failure of that daemon, and nobody shall read it as one.
pub(crate) fn note(root: &Path, failure: &Failure, out: &Out) {
    if !Home::is_there(root) || failure.code() == ALREADY {
        return;
    }
    let noted = RunDir::of(root).note_failure(&LastFailure {
        occurred_at: RealClock::new().now().rfc3339(),
        summary: format!("{}: {}", failure.code(), failure.message()),
        phase: FailurePhase::Startup,
        detail_hint: failure.hint().to_owned(),
    });
    if let Err(failure) = noted {
        out.failure(&failure);
    }
}

async fn serve(start: DaemonOptions<'_>, out: &Out) -> Result<u8, Failure> {
    let root = start.shared.home()?;
    refuse_second(&RunDir::of(&root))?;
    let listener = bind(&start).await?;
    let home = Home::open_or_create(&root)?;
    let folder = RunDir::of(home.root());
    let token = find_token(&start, home.root())?;
    let mut signals = Signals::listen()?;
    let (stage, stages) = watch::channel(DaemonStage::Recovering);
    let bound = listener.local_addr().map_err(|error| cannot_listen(&error))?;
    let access = access(
        bound,
        &token.text,
        start.settings.config.server.advertise.as_deref(),
    )?;
    let options = options(&start, host(&start, &home, &signals), access, stages)?;
    let (hang_up, hung_up) = watch::channel(false);
    let served = ServedApi {
        router: wakeful_server::router(options),
        bound,
        hung_up,
    };
    let server = tokio::spawn(wakeful_server::serve(
        listener,
        served.router.clone(),
        served.ended(),
    ));
    let halt = signals.halt();
    let opening = open(&start, &home, &served, &token);
    let opened = signals.during(until(halt.clone(), opening), out).await;
    let Some((place, mut introduced)) = opened? else {
        return Ok(0);
    };
    let place = Arc::new(place);
    for words in [place.upgraded(), place.upgrade_journal().await]
        .into_iter()
        .flatten()
    {
        tracing::info!("{words}");
    }
    quarantine::remove_in_background(&home.scratch());
    folder.forget_failure();
    tell(&introduced.record, &home, out);
    tell_cap(&place, &start.settings.config).await;
    let config = &start.settings.config;
    let page_url = config.server.advertise.clone();
    let targets = notify_targets(config, &DesktopSession::found()).unwrap_or_else(|failure| {
        tracing::warn!(error = %failure, "no notifications are sent for decisions");
        Vec::new()
    });
    let daemon = OpenDaemon {
        place: Arc::clone(&place),
        start: &start,
        targets,
        page_url: page_url.unwrap_or_else(|| format!("http://{bound}")),
    };
    let serving = run_service(daemon, &stage, halt);
    signals.during(serving, out).await;
    hang_up.send_replace(true);
    let _ = server.await;
    if let Some(local) = introduced.local.take() {
        let _ = local.server.await;
    }
    drop(introduced);
    folder.forget_failure();
    close(&place, out).await;
    tracing::info!("the daemon has ended");
    Ok(0)
}

async fn close(place: &OpenHome, out: &Out) {
    place.journal.close().await;
    if let Err(error) = place.store.close().await {
        out.note(&format!(
            "the database was not closed in good order: {}",
            Failure::from(error)
        ));
    }
}

/// What is served, on every listener alike.
struct ServedApi {
    router: Router,
    /// Where it listens over TCP.
    bound: SocketAddr,
    /// Whether the listeners are to end. A sender that is gone says so as well.
    hung_up: watch::Receiver<bool>,
}

impl ServedApi {
    fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut hung_up = self.hung_up.clone();
        async move {
            let _ = hung_up.wait_for(|is_over| *is_over).await;
        }
    }

    /// Serves by the socket in the home, which only the holder of the home's lock may take.
    async fn serve_local(&self, folder: &RunDir) -> Result<Option<SocketServer>, Failure> {
        let Some((listener, socket)) = socket::bind(&folder.make_socket_path()?).await? else {
            return Ok(None);
        };
        let serving = wakeful_server::serve_local(listener, self.router.clone(), self.ended());
        let server = tokio::spawn(serving);
        Ok(Some(SocketServer { server, socket }))
    }
}

/// The server at the socket in the home.
struct SocketServer {
    server: JoinHandle<ServerEnd>,
    socket: LocalSocket,
}

/// A daemon that others can find, until dropped.
struct DaemonRecordGuard {
    folder: RunDir,
    record: DaemonRecord,
    local: Option<SocketServer>,
}

impl Drop for DaemonRecordGuard {
    fn drop(&mut self) {
        self.folder.forget_process(self.record.pid);
    }
}

/// Does something unless a stop is asked for first.
async fn until<T>(halt: Halt, work: impl Future<Output = Result<T, Failure>>) -> Result<Option<T>, Failure> {
    tokio::select! {
        biased;
        () = halt.asked() => Ok(None),
        done = work => done.map(Some),
    }
}

/// Takes the home and opens its database, while the socket already answers. Whoever looks meanwhile finds a daemon
/// that is recovering: opening may take long, and the home is in its hands from here on.
async fn open(
    start: &DaemonOptions<'_>,
    home: &Home,
    served: &ServedApi,
    token: &TokenFile,
) -> Result<(OpenHome, DaemonRecordGuard), Failure> {
    let folder = RunDir::of(home.root());
    let lock = lock_home(home, &folder).await?;
    let introduced = publish_record(folder, start, served, token).await?;
    let place = OpenHome::open_as_daemon(start.shared, home.clone(), lock).await?;
    Ok((place.with_settings(&start.settings.config), introduced))
}

async fn lock_home(home: &Home, folder: &RunDir) -> Result<HomeLock, Failure> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match home.try_lock()? {
            Ok(lock) => return Ok(lock),
            Err(pid) => {
                refuse_second(folder)?;
                if Instant::now() >= deadline {
                    return Err(home.busy(&pid));
                }
            }
        }
        tokio::time::sleep(LOCK_POLL).await;
    }
}

fn refuse_second(folder: &RunDir) -> Result<(), Failure> {
    let DaemonPresence::Alive(record) = folder.found() else {
        return Ok(());
    };
    let DaemonRecord { pid, http_addr, .. } = record;
    let message = format!("a daemon runs in this home already: process {pid} at http://{http_addr}");
    let hint = "use it with any verb, or end it with `wakeful daemon stop`";
    Err(Failure::new(ALREADY, message, hint))
}

/// Whether a daemon could listen where it is told to.
pub(crate) async fn can_listen(start: &DaemonOptions<'_>) -> Result<(), Failure> {
    bind(start).await.map(drop)
}

/// Another address than this machine's own is opened only with a token that a person chose to hand out.
async fn bind(start: &DaemonOptions<'_>) -> Result<TcpListener, Failure> {
    let server = &start.settings.config.server;
    let address = server.address;
    if !address.is_loopback() && start.token.is_none() && server.token_file.is_none() {
        let message = format!("{address} can be reached from other machines, and no token was given");
        let hint = "give one with --token-file FILE, or listen on 127.0.0.1";
        return Err(Failure::usage("token_required", message, hint));
    }
    let wanted = SocketAddr::new(address, server.port);
    TcpListener::bind(wanted).await.map_err(|error| {
        if error.kind() != std::io::ErrorKind::AddrInUse {
            return cannot_listen(&error);
        }
        let message = format!("{wanted} is in use by another program");
        let hint = "choose another with --port, or 0 for any free one";
        Failure::new("port_in_use", message, hint)
    })
}

fn cannot_listen(error: &std::io::Error) -> Failure {
    Failure::io(
        "cannot_listen",
        "cannot listen",
        error,
        "choose another address or port",
    )
}

/// The token, and where callers on this machine find it.
struct TokenFile {
    text: String,
    /// Its file; none for one that was given with the call and has to be kept somewhere first.
    file: Option<PathBuf>,
}

fn find_token(start: &DaemonOptions<'_>, home: &Path) -> Result<TokenFile, Failure> {
    let own = token::path(home);
    let (text, file) = match (&start.token, &start.settings.config.server.token_file) {
        (Some(given), _) => (token::check(given)?.to_owned(), None),
        (None, Some(file)) => (token::read(file.as_ref())?, Some(file.into())),
        (None, None) => (token::read_or_make(&own)?, Some(own)),
    };
    Ok(TokenFile { text, file })
}

fn host(start: &DaemonOptions<'_>, home: &Home, signals: &Signals) -> DaemonHost {
    DaemonHost {
        home: home.root().to_owned(),
        workspaces: std::env::home_dir().map(|own| own.join("wakeful")),
        workspace: start.settings.config.agent.workspace.clone(),
        models: start.models.clone(),
        switch: signals.switch(),
    }
}

fn options(
    start: &DaemonOptions<'_>,
    host: DaemonHost,
    access: Access,
    stage: watch::Receiver<DaemonStage>,
) -> Result<Options, Failure> {
    let config = &start.settings.config;
    let (reference, why) = host.models.default_ref()?;
    Ok(Options {
        stage,
        facts: DaemonFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            home_dir: host.home.display().to_string(),
            database: start
                .shared
                .database()
                .map_or("sqlite", |_| "postgres")
                .to_owned(),
            started_at: RealClock::new().now(),
            config_fingerprint: start.fingerprint(),
            model: DefaultModel {
                is_demo: why == ModelChoiceReason::Demo || reference == DEMO,
                reference,
            },
            default_agent: AgentId::parse(&config.agent.default)?,
            last_failure: RunDir::of(&host.home).failure(),
        },
        access,
        limits: RateLimits {
            client_per_minute: config.server.rate_per_minute,
            messages_per_minute: config.server.messages_per_minute,
            failures_per_minute: FAILURES_PER_MINUTE,
        },
        logins: Arc::new(LoginFiles::of(&host.home)),
        host: Arc::new(host),
        clock: Arc::new(RealClock::new()),
        entropy: Arc::new(RealEntropy),
    })
}

fn access(bound: SocketAddr, token: &str, advertise: Option<&str>) -> Result<Access, Failure> {
    let access = Access::new(token, bound);
    let access =
        access.map_err(|error| Failure::usage("bad_api_token", error.to_string(), "give a longer one"))?;
    Ok(match advertise {
        Some(url) => access.advertised(url),
        None => access,
    })
}

async fn publish_record(
    folder: RunDir,
    start: &DaemonOptions<'_>,
    served: &ServedApi,
    token: &TokenFile,
) -> Result<DaemonRecordGuard, Failure> {
    let local = served.serve_local(&folder).await?;
    let me = this_runner();
    let kept = || folder.keep_token(&token.text);
    let record = DaemonRecord {
        pid: me.pid,
        pid_started: me.pid_started,
        http_addr: served.bound.to_string(),
        token_file: token.file.clone().map_or_else(kept, Ok)?,
        socket_path: local.as_ref().map(|local| local.socket.path().to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: RealClock::new().now().rfc3339(),
        config_fingerprint: start.fingerprint(),
        written_fingerprint: crate::config::load(&start.shared.home()?, &Overrides::default())?.fingerprint(),
        database: start.shared.database().map(database_name),
    };
    folder.write_record(&record)?;
    Ok(DaemonRecordGuard {
        folder,
        record,
        local,
    })
}

/// Says what may be spent where nobody has said it. That it cannot be read is told by the first who needs it.
async fn tell_cap(place: &OpenHome, config: &Settings) {
    let set = place.store.read(|view| view.cap(None)).await;
    if config.budget.daily_usd.is_none() && matches!(set, Ok(None)) {
        tracing::warn!("{}", cap_unset(place.governance().daily_cap));
    }
}

fn tell(record: &DaemonRecord, home: &Home, out: &Out) {
    let url = format!("http://{}", record.http_addr);
    let words = format!("listening on {url}\n`wakeful open` opens the page, Ctrl-C ends the daemon");
    let answer = serde_json::json!({
        "http_addr": record.http_addr, "url": url, "pid": record.pid, "home_dir": home.root(),
        "socket_path": record.socket_path,
    });
    out.answer(&answer, &words);
    tracing::info!(home = %home.root().display(), url, "the daemon is ready");
}
