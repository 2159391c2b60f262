//! The targets of notifications. Each attempt has a time limit, and no process of a program outlives it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use wakeful_core::decision::Severity;
use wakeful_core::need_to_know::Boundary;
use wakeful_models::{HttpClients, Webhook};

use super::NotificationPayload;
use crate::config::{Settings, WebhookFormat};
use crate::failure::Failure;
use crate::secret::SecretHandle;

/// The program that shows desktop notifications.
const NOTIFY: &str = "notify-send";

/// Maximum run time of a program.
const PROGRAM_MS_MAX: u64 = 10_000;

/// Environment variables that a program receives: enough to find its home and reach the desktop. Keys are
/// not among them.
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

#[derive(Debug, Clone)]
pub(crate) enum NotifyTarget {
    /// A desktop notification.
    Desktop {
        /// The environment of the programs.
        session: DesktopSession,
    },
    /// An HTTP request to a URL.
    Webhook(WebhookTarget),
    /// A program that the person configured.
    Command {
        words: Vec<String>,
        session: DesktopSession,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct WebhookTarget {
    url: String,
    /// Where the key is stored. It is resolved at every attempt, because it may be added later.
    key: Option<SecretHandle>,
    format: WebhookFormat,
    clients: HttpClients,
}

/// The part of the environment that programs receive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DesktopSession(Vec<(&'static str, OsString)>);

impl DesktopSession {
    /// The session of this process.
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

    /// Whether a desktop session that can show notifications exists.
    fn has_desktop(&self) -> bool {
        let has = |name| self.get(name).is_some();
        let has_screen = has("DISPLAY") || has("WAYLAND_DISPLAY");
        let bus = self
            .get("XDG_RUNTIME_DIR")
            .map(|folder| Path::new(folder).join("bus"));
        let has_bus = has("DBUS_SESSION_BUS_ADDRESS") || bus.is_some_and(|bus| bus.exists());
        has_screen && has_bus && self.finds(NOTIFY)
    }

    /// Whether the program is installed.
    fn finds(&self, program: &str) -> bool {
        if program.contains('/') {
            return Path::new(program).is_file();
        }
        let folders = self.get("PATH").cloned().unwrap_or_default();
        std::env::split_paths(&folders).any(|folder: PathBuf| folder.join(program).is_file())
    }
}

/// The configured targets. An available desktop is a target without being configured.
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
        // Checked at startup, so that an invalid URL is reported then.
        Webhook::new(url, None, clients.clone()).map_err(|error| bad(&format!("notify.webhook: {error}")))?;
        let key = settings
            .webhook_key
            .as_deref()
            .map(SecretHandle::parse)
            .transpose();
        targets.push(NotifyTarget::Webhook(WebhookTarget {
            url: url.clone(),
            key: key.map_err(|_| bad("notify.webhook_key is not a valid key location"))?,
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
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Desktop { .. } => "desktop",
            Self::Webhook { .. } => "webhook",
            Self::Command { .. } => "command",
        }
    }

    /// The boundary that its notifications cross.
    pub(super) const fn boundary(&self) -> Boundary {
        match self {
            Self::Desktop { .. } | Self::Command { .. } => Boundary::Announcement,
            Self::Webhook { .. } => Boundary::Webhook,
        }
    }

    /// Sends one notification. The error is shown to people and contains neither a URL nor a key.
    pub(crate) async fn send(&self, payload: &NotificationPayload) -> Result<(), String> {
        match self {
            Self::Desktop { session } => show(payload, session).await,
            Self::Webhook(webhook) => webhook.post(payload).await,
            Self::Command { words, session } => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err("no command is configured".to_owned());
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
        // Some desktops interpret markup in the text.
        payload.message.replace('&', "&amp;").replace('<', "&lt;"),
    ];
    run(NOTIFY, &arguments, Vec::new(), session).await
}

impl WebhookTarget {
    async fn post(&self, payload: &NotificationPayload) -> Result<(), String> {
        let key = self.key.clone();
        // A keyring may prompt a person, which must not block other tasks.
        let looked = tokio::task::spawn_blocking(move || key.map(|key| key.resolve()).transpose());
        let key = looked
            .await
            .map_err(|_| "the key could not be looked up".to_owned())?;
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

/// Runs a program with input on standard input. On timeout it kills the program and everything it started.
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
            // The program is not required to read its input.
            let _ = stdin.write_all(&input).await;
            drop(stdin);
        }
        child.wait().await
    };
    let ended = tokio::time::timeout(Duration::from_millis(PROGRAM_MS_MAX), working).await;
    if ended.is_ok() {
        // The process was reaped, so its pid may have been reused.
        group.0 = None;
    }
    drop(group);
    match ended {
        Err(_) => {
            // Reaped, so that no zombie stays.
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

/// A program and everything it started, killed when dropped.
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
            // The group may already be empty.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
