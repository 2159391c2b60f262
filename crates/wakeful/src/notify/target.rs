//! The targets of notifications. Each attempt is bounded in time, and nothing of a program outlives it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use wakeful_core::decision::Severity;
use wakeful_models::{HttpClients, Webhook};

use super::NotificationPayload;
use crate::config::{Settings, WebhookFormat};
use crate::failure::Failure;
use crate::secret::SecretHandle;

/// The program that shows notes on the desktop.
const NOTIFY: &str = "notify-send";

/// Longest time that a program may take.
const PROGRAM_MS_MAX: u64 = 10_000;

/// What a program is told of our environment: where it lives, and how it reaches the desktop. Keys are not among it.
const VARIABLES: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// One target.
#[derive(Debug, Clone)]
pub(crate) enum NotifyTarget {
    /// A note on the desktop.
    Desktop {
        /// What programs are told of our environment.
        session: DesktopSession,
    },
    /// A request to an address.
    Webhook(WebhookTarget),
    /// A program of the person's own.
    Command {
        words: Vec<String>,
        session: DesktopSession,
    },
}

/// A webhook.
#[derive(Debug, Clone)]
pub(crate) struct WebhookTarget {
    url: String,
    /// Where its key is; looked for at every attempt, because it may be put there later.
    key: Option<SecretHandle>,
    format: WebhookFormat,
    clients: HttpClients,
}

/// The part of the environment that programs get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DesktopSession(Vec<(&'static str, OsString)>);

impl DesktopSession {
    /// That of this process.
    pub(crate) fn found() -> Self {
        let found = VARIABLES
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name).filter(|value| !value.is_empty())?)));
        Self(found.collect())
    }

    fn get(&self, name: &str) -> Option<&OsString> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Whether somebody sits at a desktop that shows notes.
    fn has_desktop(&self) -> bool {
        let has = |name| self.get(name).is_some();
        let has_screen = has("DISPLAY") || has("WAYLAND_DISPLAY");
        let bus = self
            .get("XDG_RUNTIME_DIR")
            .map(|folder| Path::new(folder).join("bus"));
        let has_bus = has("DBUS_SESSION_BUS_ADDRESS") || bus.is_some_and(|bus| bus.exists());
        has_screen && has_bus && self.finds(NOTIFY)
    }

    /// Whether there is such a program.
    fn finds(&self, program: &str) -> bool {
        if program.contains('/') {
            return Path::new(program).is_file();
        }
        let folders = self.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&folders).any(|folder: PathBuf| folder.join(program).is_file())
    }
}

/// The configured targets. Where there is a desktop, it is one of them without being configured.
pub(crate) fn notify_targets(
    config: &Settings,
    session: &DesktopSession,
) -> Result<Vec<NotifyTarget>, Failure> {
    let settings = &config.notify;
    let mut targets = Vec::new();
    if settings.desktop.unwrap_or_else(|| session.has_desktop()) {
        let session = session.clone();
        targets.push(NotifyTarget::Desktop { session });
    }
    if let Some(url) = &settings.webhook {
        let clients = HttpClients::default();
        // Looked at once at the start, so that an address that can never work is told then.
        Webhook::new(url, None, clients.clone()).map_err(|error| bad(&format!("notify.webhook: {error}")))?;
        let key = settings
            .webhook_key
            .as_deref()
            .map(SecretHandle::parse)
            .transpose();
        targets.push(NotifyTarget::Webhook(WebhookTarget {
            url: url.clone(),
            key: key.map_err(|_| bad("notify.webhook_key is no handle"))?,
            format: settings.webhook_format.unwrap_or(WebhookFormat::Json),
            clients,
        }));
    }
    if !settings.command.is_empty() {
        targets.push(NotifyTarget::Command {
            words: settings.command.clone(),
            session: session.clone(),
        });
    }
    Ok(targets)
}

fn bad(message: &str) -> Failure {
    Failure::usage(
        "notify_config_invalid",
        message,
        "correct [notify] in config.toml",
    )
}

impl NotifyTarget {
    /// The name under which attempts are stored.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Desktop { .. } => "desktop",
            Self::Webhook { .. } => "webhook",
            Self::Command { .. } => "command",
        }
    }

    /// Sends one notification. The error is for people and holds neither an address nor a key.
    pub(crate) async fn send(&self, payload: &NotificationPayload) -> Result<(), String> {
        match self {
            Self::Desktop { session } => show(payload, session).await,
            Self::Webhook(webhook) => webhook.post(payload).await,
            Self::Command { words, session } => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err("there is no command".to_owned());
                };
                run(program, arguments, payload.json(), session).await
            }
        }
    }
}

async fn show(payload: &NotificationPayload, session: &DesktopSession) -> Result<(), String> {
    if !session.finds(NOTIFY) {
        return Err(format!("{NOTIFY} is not installed"));
    }
    let urgency = match payload.severity {
        Severity::Warning | Severity::Low => "low",
        Severity::Medium => "normal",
        Severity::High | Severity::Critical => "critical",
    };
    let arguments = [
        "--app-name=Wakeful".to_owned(),
        format!("--urgency={urgency}"),
        "--".to_owned(),
        payload.title.clone(),
        // Some desktops read marks in it.
        payload.message.replace('&', "&amp;").replace('<', "&lt;"),
    ];
    run(NOTIFY, &arguments, Vec::new(), session).await
}

impl WebhookTarget {
    async fn post(&self, payload: &NotificationPayload) -> Result<(), String> {
        let key = self.key.clone();
        // A keyring may ask a person; no other task may wait for it.
        let looked = tokio::task::spawn_blocking(move || key.map(|key| key.resolve()).transpose());
        let key = looked
            .await
            .map_err(|_| "the key could not be looked for".to_owned())?;
        let key = key.map_err(|failure| failure.message().to_owned())?.flatten();
        let hook = Webhook::new(&self.url, key, self.clients.clone()).map_err(|error| error.to_string())?;
        let posted = match self.format {
            WebhookFormat::Json => hook.post("application/json", &[], payload.json()).await,
            WebhookFormat::Text => {
                let priority = match payload.severity {
                    Severity::Warning => "1",
                    Severity::Low => "2",
                    Severity::Medium => "3",
                    Severity::High => "4",
                    Severity::Critical => "5",
                };
                let headers = [
                    ("title", payload.title.clone()),
                    ("priority", priority.to_owned()),
                ];
                let body = payload.message.clone().into_bytes();
                hook.post("text/plain; charset=utf-8", &headers, body).await
            }
        };
        posted.map_err(|error| error.to_string())
    }
}

/// Runs a program to its end, gives it something to read, and ends it with everything it started when its time is over.
async fn run(
    program: &str,
    arguments: &[String],
    input: Vec<u8>,
    session: &DesktopSession,
) -> Result<(), String> {
    let started = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(session.0.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|error| format!("the program cannot be started: {error}"))?;
    let mut group = ProcessGroup::of(&child);
    let stdin = child.stdin.take();
    let working = async {
        if let Some(mut stdin) = stdin {
            // Whoever does not want to read it need not.
            let _ = stdin.write_all(&input).await;
            drop(stdin);
        }
        child.wait().await
    };
    let ended = tokio::time::timeout(Duration::from_millis(PROGRAM_MS_MAX), working).await;
    if ended.is_ok() {
        // It was waited for, and its number may be somebody else's by now.
        group.0 = None;
    }
    drop(group);
    match ended {
        Err(_) => {
            // Waited for, so that nothing of it stays.
            let _ = child.wait().await;
            Err(format!(
                "the program did not end within {PROGRAM_MS_MAX} ms and was killed"
            ))
        }
        Ok(Err(error)) => Err(format!("the program cannot be waited for: {error}")),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("the program ended with {status}")),
    }
}

/// A program with everything it started, ended when dropped.
struct ProcessGroup(Option<rustix::process::Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        Self(pid.and_then(rustix::process::Pid::from_raw))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // There may be nobody left in it.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
