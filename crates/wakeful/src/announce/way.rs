//! By which ways people are told. Each try has its time, and nothing of a program outlives it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};
use wakeful_core::decision::Severity;
use wakeful_models::{Clients, Webhook};

use super::note::Note;
use crate::config::{Settings, WebhookFormat};
use crate::failure::Failure;
use crate::secret::Handle;

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

/// One way.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// A note on the desktop.
    Desktop {
        /// What programs are told of our environment.
        session: Session,
    },
    /// A request to an address.
    Webhook {
        url: String,
        /// Where its key is; looked for at every try, because it may be put there later.
        key: Option<Handle>,
        form: WebhookFormat,
        clients: Clients,
    },
    /// A program of the person's own.
    Command { words: Vec<String>, session: Session },
}

/// The part of the environment that programs get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session(Vec<(&'static str, OsString)>);

impl Session {
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

/// The ways that are configured. A note on the desktop is shown without being asked for where there is one.
pub(crate) fn ways(config: &Settings, session: &Session) -> Result<Vec<Way>, Failure> {
    let announce = &config.announce;
    let mut ways = Vec::new();
    if announce.desktop.unwrap_or_else(|| session.has_desktop()) {
        let session = session.clone();
        ways.push(Way::Desktop { session });
    }
    if let Some(url) = &announce.webhook {
        let clients = Clients::default();
        // Looked at once at the start, so that an address that can never work is told then.
        Webhook::new(url, None, clients.clone())
            .map_err(|error| bad(&format!("announce.webhook: {error}")))?;
        let key = announce.webhook_key.as_deref().map(Handle::parse).transpose();
        ways.push(Way::Webhook {
            url: url.clone(),
            key: key.map_err(|_| bad("announce.webhook_key is no handle"))?,
            form: announce.webhook_form.unwrap_or(WebhookFormat::Json),
            clients,
        });
    }
    if !announce.command.is_empty() {
        ways.push(Way::Command {
            words: announce.command.clone(),
            session: session.clone(),
        });
    }
    Ok(ways)
}

fn bad(message: &str) -> Failure {
    Failure::usage("announce_invalid", message, "mend [announce] in config.toml")
}

impl Way {
    /// The word under which it is kept.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Desktop { .. } => "desktop",
            Self::Webhook { .. } => "webhook",
            Self::Command { .. } => "command",
        }
    }

    /// Tells somebody. The error is for people and holds neither an address nor a key.
    pub(crate) async fn tell(&self, note: &Note) -> Result<(), String> {
        match self {
            Self::Desktop { session } => show(note, session).await,
            Self::Webhook {
                url,
                key,
                form,
                clients,
            } => post(note, (url, key.clone()), *form, clients.clone()).await,
            Self::Command { words, session } => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err("there is no command".to_owned());
                };
                run(program, arguments, note.json(), session).await
            }
        }
    }
}

async fn show(note: &Note, session: &Session) -> Result<(), String> {
    if !session.finds(NOTIFY) {
        return Err(format!("{NOTIFY} is not installed"));
    }
    let urgency = match note.severity {
        Severity::Warning | Severity::Low => "low",
        Severity::Medium => "normal",
        Severity::High | Severity::Critical => "critical",
    };
    let arguments = [
        "--app-name=Wakeful".to_owned(),
        format!("--urgency={urgency}"),
        "--".to_owned(),
        note.title.clone(),
        // Some desktops read marks in it.
        note.message.replace('&', "&amp;").replace('<', "&lt;"),
    ];
    run(NOTIFY, &arguments, Vec::new(), session).await
}

async fn post(
    note: &Note,
    (url, key): (&str, Option<Handle>),
    form: WebhookFormat,
    clients: Clients,
) -> Result<(), String> {
    // A keyring may ask a person; nobody else shall wait for it.
    let looked = tokio::task::spawn_blocking(move || key.map(|key| key.resolve()).transpose());
    let key = looked
        .await
        .map_err(|_| "the key could not be looked for".to_owned())?;
    let key = key.map_err(|failure| failure.message().to_owned())?.flatten();
    let hook = Webhook::new(url, key, clients).map_err(|error| error.to_string())?;
    let posted = match form {
        WebhookFormat::Json => hook.post("application/json", &[], note.json()).await,
        WebhookFormat::Text => {
            let priority = match note.severity {
                Severity::Warning => "1",
                Severity::Low => "2",
                Severity::Medium => "3",
                Severity::High => "4",
                Severity::Critical => "5",
            };
            let headers = [("title", note.title.clone()), ("priority", priority.to_owned())];
            let body = note.message.clone().into_bytes();
            hook.post("text/plain; charset=utf-8", &headers, body).await
        }
    };
    posted.map_err(|error| error.to_string())
}

/// Runs a program to its end, gives it something to read, and ends it with everything it started when its time is over.
async fn run(program: &str, arguments: &[String], input: Vec<u8>, session: &Session) -> Result<(), String> {
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
    let mut group = Group::of(&child);
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
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        Self(pid.and_then(rustix::process::Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // There may be nobody left in it.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
