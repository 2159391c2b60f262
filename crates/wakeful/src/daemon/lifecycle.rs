//! The lifecycle of a daemon: it listens on the socket, locks and opens the home, and serves. On shutdown,
//! running work reaches a safe point before clients are disconnected.

use std::future::Future;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{self as unix, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use wakeful_api::{FailurePhase, LastFailure};
use wakeful_core::id::AgentId;
use wakeful_core::key::derived_hash;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::Halt;
use wakeful_server::{Access, DaemonFacts, DaemonStage, Options, RateLimits, Router, ServerEnd};
use wakeful_tools::quarantine;

use super::backup::BackupFolder;
use super::files::{DaemonPresence, DaemonRecord, RunDir};
use super::host::DaemonHost;
use super::logging;
use super::logins::LoginFiles;
use super::socket::{self, LocalSocket};
use super::token;
use super::workers::{OpenDaemon, run_service};
use crate::config::{LiveSettings, LoadedConfig, Overrides, Settings};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::{Home, HomeLock};
use crate::model::ModelRegistry;
use crate::notify::{DesktopSession, notify_targets};
use crate::open_home::{OpenHome, SandboxRequirement};
use crate::sandbox_probe::KnownConfinement;
use crate::secret::SecretStore;
use crate::show::Out;
use crate::show::cap_unset;
use crate::signals::Signals;
use crate::system::{RealClock, RealEntropy, this_runner};

/// How long a daemon waits for another command to release the home.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often the daemon checks the lock.
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Maximum wrong tokens and codes from one address within a minute. Guessing is hopeless anyway; the limit
/// only keeps an attacker from using up the processor.
const FAILURES_PER_MINUTE: u32 = 600;

/// Error code when another daemon already runs in the home.
const ALREADY: &str = "daemon_running";

/// The options of a daemon start.
pub(crate) struct DaemonOptions<'a> {
    pub(crate) shared: &'a GlobalArgs,
    /// The settings at the start.
    pub(crate) settings: LoadedConfig,
    /// The settings in force, which follow the file.
    pub(crate) live: LiveSettings,
    pub(crate) models: ModelRegistry,
    /// A token that was passed to this call only.
    pub(crate) token: Option<String>,
    pub(crate) sandboxing: SandboxRequirement,
}

impl DaemonOptions<'_> {
    /// A fingerprint of all start options, including flags. Secrets are hashed before they are included.
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

/// The name of a database in a daemon record. It is a hash, because the address may contain a password.
pub(crate) fn database_name(address: &str) -> String {
    derived_hash("daemon.database", &[address]).to_string()
}

/// Runs a daemon from start to shutdown. A failure during startup is stored so that `wakeful daemon status`
/// can show it.
pub(crate) async fn run_daemon(start: DaemonOptions<'_>, out: &Out) -> Result<u8, Failure> {
    logging::start(start.settings.config.log);
    let root = start.shared.home()?;
    let lived = serve(start, out).await;
    if let Err(failure) = &lived {
        note(&root, failure, out);
    }
    lived
}

/// Stores a startup failure for later display, if the home exists. "Already running" is not stored, because
/// it is not a failure of the running daemon.
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
    print_started(&introduced.record, &home, out);
    notify_service_manager();
    log_default_cap(&place, &start.settings.config).await;
    let config = &start.settings.config;
    let page_url = config.server.advertise.clone();
    let targets = notify_targets(config, &DesktopSession::found()).unwrap_or_else(|failure| {
        tracing::warn!(error = %failure, "notifications for decisions are disabled");
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
    tracing::info!("the daemon has stopped");
    Ok(0)
}

async fn close(place: &OpenHome, out: &Out) {
    place.journal.close().await;
    if let Err(error) = place.store.close().await {
        out.note(&format!(
            "the database was not closed cleanly: {}",
            Failure::from(error)
        ));
    }
}

/// The API that all listeners serve.
struct ServedApi {
    router: Router,
    /// The TCP address of the listener.
    bound: SocketAddr,
    /// Becomes true when the listeners must close. A dropped sender has the same meaning.
    hung_up: watch::Receiver<bool>,
}

impl ServedApi {
    fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut hung_up = self.hung_up.clone();
        async move {
            let _ = hung_up.wait_for(|is_over| *is_over).await;
        }
    }

    /// Serves on the socket in the home. Only the holder of the home's lock may bind it.
    async fn serve_local(&self, folder: &RunDir) -> Result<Option<SocketServer>, Failure> {
        let Some((listener, socket)) = socket::bind(&folder.make_socket_path()?).await? else {
            return Ok(None);
        };
        let serving = wakeful_server::serve_local(listener, self.router.clone(), self.ended());
        let server = tokio::spawn(serving);
        Ok(Some(SocketServer { server, socket }))
    }
}

/// The server on the socket in the home.
struct SocketServer {
    server: JoinHandle<ServerEnd>,
    socket: LocalSocket,
}

/// Publishes the daemon's record until dropped.
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

/// Runs a future unless a stop is requested first.
async fn until<T>(halt: Halt, work: impl Future<Output = Result<T, Failure>>) -> Result<Option<T>, Failure> {
    tokio::select! {
        biased;
        () = halt.wait_until_set() => Ok(None),
        done = work => done.map(Some),
    }
}

/// Locks the home and opens its database while the socket already answers. Opening may take long, so
/// clients see the daemon as recovering meanwhile.
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
    Ok((place.following(start.live.clone()), introduced))
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
    let message = format!("a daemon is already running in this home: process {pid} at http://{http_addr}");
    let hint = "use it with any command, or stop it with `wakeful daemon stop`";
    Err(Failure::new(ALREADY, message, hint))
}

/// Checks whether a daemon could listen on the configured address.
pub(crate) async fn can_listen(start: &DaemonOptions<'_>) -> Result<(), Failure> {
    bind(start).await.map(drop)
}

/// Binds the TCP listener. An address other than loopback requires a token that a person has chosen.
async fn bind(start: &DaemonOptions<'_>) -> Result<TcpListener, Failure> {
    let server = &start.settings.config.server;
    let address = server.address;
    if !address.is_loopback() && start.token.is_none() && server.token_file.is_none() {
        let message = format!("{address} can be reached from other machines, but no token was given");
        let hint = "pass one with --token-file FILE, or listen on 127.0.0.1";
        return Err(Failure::usage("token_required", message, hint));
    }
    let wanted = SocketAddr::new(address, server.port);
    TcpListener::bind(wanted).await.map_err(|error| {
        if error.kind() != std::io::ErrorKind::AddrInUse {
            return cannot_listen(&error);
        }
        let message = format!("{wanted} is in use by another program");
        let hint = "choose another port with --port, or 0 for any free one";
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

/// The token, and the file in which local callers find it.
struct TokenFile {
    text: String,
    /// The file of the token; `None` if the token was passed as an argument and must be stored first.
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
        settings: start.live.clone(),
        secrets: SecretStore::new(home.root().to_owned(), start.live.clone()),
        models: start.models.clone(),
        switch: signals.switch(),
        backups: backups(start, home),
        confinement: Some(KnownConfinement::default()),
    }
}

/// The folder of daily backups by the settings of this daemon.
pub(super) fn backups(start: &DaemonOptions<'_>, home: &Home) -> BackupFolder {
    let folder = BackupFolder::of(home.root(), &start.settings.config.backup);
    match start.shared.database() {
        None => folder,
        Some(_) => folder.with_database_server(),
    }
}

fn options(
    start: &DaemonOptions<'_>,
    host: DaemonHost,
    access: Access,
    stage: watch::Receiver<DaemonStage>,
) -> Result<Options, Failure> {
    let config = &start.settings.config;
    // A provider without a model is reported now and not by the first message.
    host.models.default_ref()?;
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
            default_agent: AgentId::parse(&config.agent.default)?,
            last_failure: RunDir::of(&host.home).failure(),
        },
        access,
        limits: RateLimits {
            client_per_minute: config.server.rate_per_minute,
            messages_per_minute: config.server.messages_per_minute,
            outside_per_minute: config.server.outside_requests_per_minute,
            outside_turns_per_minute: config.server.outside_turns_per_minute,
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
        access.map_err(|error| Failure::usage("bad_api_token", error.to_string(), "use a longer token"))?;
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

/// Logs the default spending cap if no cap is set. A read error is ignored here; the first run that needs
/// the cap reports it.
async fn log_default_cap(place: &OpenHome, config: &Settings) {
    let set = place.store.read(|view| view.cap(None)).await;
    if config.budget.daily_usd.is_none() && matches!(set, Ok(None)) {
        tracing::warn!("{}", cap_unset(place.governance().daily_cap));
    }
}

/// Reports to a service manager that the daemon serves, if one started it and waits for that.
fn notify_service_manager() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let address = match path.as_encoded_bytes().strip_prefix(b"@") {
        Some(name) => unix::SocketAddr::from_abstract_name(name),
        None => unix::SocketAddr::from_pathname(&path),
    };
    let sent = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address));
    if let Err(error) = sent {
        tracing::warn!(%error, "the service manager was not notified");
    }
}

fn print_started(record: &DaemonRecord, home: &Home, out: &Out) {
    let url = format!("http://{}", record.http_addr);
    let words = format!(
        "listening on {url}\nopen the page with `wakeful open`; stop with Ctrl-C or `wakeful daemon stop`"
    );
    let answer = serde_json::json!({
        "http_addr": record.http_addr, "url": url, "pid": record.pid, "home_dir": home.root(),
        "socket_path": record.socket_path,
    });
    out.answer(&answer, &words);
    tracing::info!(home = %home.root().display(), url, "the daemon is ready");
}
