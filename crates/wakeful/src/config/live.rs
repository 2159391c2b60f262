//! The settings of a running process, which follow `config.toml`.
//!
//! The file is compared by its metadata whenever settings are used, so a change applies to the next step
//! without a timer. An invalid file leaves the last valid settings in force and is reported. So does a disk that
//! does not respond, because drivers must not wait for it.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use wakeful_api::{Setting, SettingOrigin as Origin, SettingsList, SettingsProblem};

use super::layer::{LoadedConfig, Overrides, SettingOrigin};
use super::refresh::{Refreshed, Refresher};
use super::settings::Settings;
use crate::failure::Failure;

/// Settings that a running daemon applies only after a restart: sections, or single names.
const RESTART: [&str; 7] = [
    "server",
    "log",
    "budget",
    "retention",
    "notify",
    "schedule",
    "agent.default",
];

/// Code of a file that exists and cannot be read.
const UNREADABLE: &str = "config_unreadable";

/// The setting whose URL is its own authorization: the path is enough to post to it.
const WEBHOOK: &str = "notify.webhook";

/// Whether a running daemon applies a setting only after a restart.
pub(crate) fn needs_restart(name: &str) -> bool {
    let is_below = |part: &str| {
        name.strip_prefix(part)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    RESTART.into_iter().any(is_below)
}

/// The settings in force. Cheap to clone; all clones follow the same file.
#[derive(Debug, Clone)]
pub(crate) struct LiveSettings {
    /// The home and the flags of the process; none for settings that never change.
    source: Option<Arc<Source>>,
    state: Arc<Mutex<State>>,
    /// Reads the file; none for settings that never change.
    refresher: Option<Arc<Refresher>>,
}

#[derive(Debug)]
struct Source {
    home: PathBuf,
    flags: Overrides,
    /// The settings with which the process started.
    started: Value,
}

#[derive(Debug)]
struct State {
    stamp: Option<FileStamp>,
    settings: Arc<Settings>,
    /// The same settings with their origins.
    loaded: LoadedConfig,
    problem: Option<Failure>,
    /// Whether settings were read from a file that is not empty.
    has_file: bool,
}

/// The identity and the version of a file: inode, size, time of modification and of the last change.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

impl LiveSettings {
    /// Settings that never change, for a process that ends soon. Their origins are unknown.
    pub(crate) fn fixed(settings: &Settings) -> Self {
        Self::new(None, LoadedConfig::without_origins(settings))
    }

    /// Settings that follow the file of a home. `loaded` was read from it with the same flags.
    pub(crate) fn following(home: PathBuf, flags: Overrides, loaded: &LoadedConfig) -> Self {
        // The file may have changed since it was read. An unknown version makes the first use read it again.
        let source = Source {
            home,
            flags,
            started: json!(loaded.config),
        };
        Self::new(Some(Arc::new(source)), loaded.clone())
    }

    fn new(source: Option<Arc<Source>>, loaded: LoadedConfig) -> Self {
        let state = State {
            stamp: None,
            settings: Arc::new(loaded.config.clone()),
            loaded,
            problem: None,
            has_file: false,
        };
        let state = Arc::new(Mutex::new(state));
        let refresher = source.as_ref().and_then(|source| {
            let (source, state) = (Arc::clone(source), Arc::clone(&state));
            let started = Refresher::start(move || refresh(&source, &state));
            let failed = |error: &std::io::Error| {
                tracing::warn!(%error, "no thread follows the settings; they apply after a restart");
            };
            started.inspect_err(failed).ok()
        });
        Self {
            source,
            state,
            refresher: refresher.map(Arc::new),
        }
    }

    /// The settings in force now.
    pub(crate) fn current(&self) -> Arc<Settings> {
        self.refreshed(|state| Arc::clone(&state.settings))
    }

    /// Why the file is not in force, if it is invalid.
    pub(crate) fn problem(&self) -> Option<SettingsProblem> {
        self.refreshed(|state| state.problem.as_ref().map(problem))
    }

    /// The settings that changed since the process started and apply only after a restart.
    pub(crate) fn awaiting_restart(&self) -> Vec<String> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        let mut names = Vec::new();
        differences(&source.started, &json!(*self.current()), "", &mut names);
        names.retain(|name| needs_restart(name));
        names
    }

    /// All settings with their origins. If the file is invalid, those of the last valid file.
    pub(crate) fn list(&self) -> SettingsList {
        let source = self.source.as_ref();
        let file = source.map(|source| super::path(&source.home).display().to_string());
        let loaded = self.refreshed(|state| state.loaded.clone());
        let settings = loaded.all().map(|(name, value, origin)| {
            let (origin, line) = match origin {
                SettingOrigin::Default => (Origin::Default, None),
                SettingOrigin::File { line } => (Origin::File, u64::try_from(*line).ok()),
                SettingOrigin::Environment { .. } => (Origin::Environment, None),
                SettingOrigin::Flag { .. } => (Origin::Flag, None),
            };
            Setting {
                description: description(&name),
                needs_restart: needs_restart(&name),
                value: match name.as_str() {
                    WEBHOOK => value.map(without_path),
                    _ => value.cloned(),
                },
                name,
                origin,
                line,
            }
        });
        SettingsList {
            file: file.unwrap_or_default(),
            settings: settings.collect(),
            problem: self.problem(),
            model_warning: None,
        }
    }

    fn refreshed<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        let answer = self.refresher.as_ref().map(|refresher| refresher.refresh());
        let mut state = lock(&self.state);
        if let (Some(Refreshed::Late), Some(source)) = (answer, &self.source) {
            state.problem.get_or_insert_with(|| not_responding(&source.home));
            // The next read that ends replaces the problem.
            state.stamp = None;
        }
        read(&state)
    }
}

/// Reads the file if it changed. No lock is held while the disk is used.
fn refresh(source: &Source, state: &Mutex<State>) {
    let found = stamp(source);
    let has_file = {
        let state = lock(state);
        if state.stamp == Some(found) {
            return;
        }
        state.has_file
    };
    let loaded = load(source, found, has_file);
    lock(state).apply(loaded, found);
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn load(source: &Source, found: FileStamp, has_file: bool) -> Result<LoadedConfig, Failure> {
    let (_, bytes, ..) = found;
    match (bytes, has_file) {
        // An editor may be writing it. Approvals must not be off meanwhile.
        (0, true) => Err(vanished(&source.home)),
        (0, false) | (1.., _) => super::load(&source.home, &source.flags),
    }
}

impl State {
    fn apply(&mut self, loaded: Result<LoadedConfig, Failure>, found: FileStamp) {
        let (_, bytes, ..) = found;
        self.stamp = Some(found);
        match loaded {
            Ok(loaded) => {
                self.has_file = bytes > 0;
                self.settings = Arc::new(loaded.config.clone());
                self.loaded = loaded;
                self.problem = None;
            }
            Err(failure) => {
                tracing::warn!(error = %failure, "the settings are invalid; the last valid ones stay in force");
                // An error of the disk may pass without a change of the file.
                if failure.code() == UNREADABLE {
                    self.stamp = None;
                }
                self.problem = Some(failure);
            }
        }
    }
}

fn not_responding(home: &std::path::Path) -> Failure {
    let message = format!(
        "{} cannot be read: the disk does not respond",
        super::path(home).display()
    );
    let hint = "check the disk of the home; the last settings stay in force meanwhile";
    Failure::new(UNREADABLE, message, hint)
}

fn vanished(home: &std::path::Path) -> Failure {
    let message = format!("{} is missing or empty", super::path(home).display());
    let hint = "write the file again, or restart the daemon to use the defaults";
    Failure::new("settings_missing", message, hint)
}

/// The version of the settings file. A missing file has one too.
fn stamp(source: &Source) -> FileStamp {
    let Ok(found) = std::fs::metadata(super::path(&source.home)) else {
        return (0, 0, (0, 0), (0, 0));
    };
    let modified = (found.mtime(), found.mtime_nsec());
    (
        found.ino(),
        found.len(),
        modified,
        (found.ctime(), found.ctime_nsec()),
    )
}

fn problem(failure: &Failure) -> SettingsProblem {
    let message = failure.message().to_owned();
    let line = message.split_once(", line ").and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    SettingsProblem {
        code: failure.code().to_owned(),
        message,
        line,
        hint: failure.hint().to_owned(),
    }
}

/// A URL with only its scheme and host.
fn without_path(url: &Value) -> Value {
    let host = url.as_str().and_then(|url| {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        // A user and a password come before the host.
        let host = authority.rsplit('@').next()?;
        Some(format!("{scheme}://{host}/…"))
    });
    json!(host.unwrap_or_else(|| "…".to_owned()))
}

/// What a setting does, from its schema.
fn description(name: &str) -> String {
    let found = super::schema::Setting::find(name);
    let text =
        found.and_then(|setting| Some(setting.node.0.get("description")?.as_str()?.replace('\n', " ")));
    text.unwrap_or_default()
}

/// The names of all settings with different values.
fn differences(before: &Value, after: &Value, name: &str, names: &mut Vec<String>) {
    match (before.as_object(), after.as_object()) {
        (Some(before), Some(after)) => {
            let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let name = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name}.{key}")
                };
                let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                differences(&value(before), &value(after), &name, names);
            }
        }
        _ if before == after => {}
        _ => names.push(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn following(home: &std::path::Path) -> LiveSettings {
        let flags = Overrides::default();
        let loaded = load(home, &flags).expect("settings");
        LiveSettings::following(home.to_owned(), flags, &loaded)
    }

    #[test]
    fn a_changed_file_applies_to_the_next_use() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        let live = following(home.path());
        assert!(live.current().rules().ask_tools.is_empty());
        std::fs::write(&file, "[agent]\nask_tools = [\"ExecCommand\"]\n").expect("written");
        assert!(live.current().rules().ask_tools.contains("ExecCommand"));
        std::fs::write(&file, "[server]\nport = 9\n[agent]\nmax_rounds = 3\n").expect("written");
        assert_eq!(live.awaiting_restart(), ["server.port"]);
    }

    #[test]
    fn an_invalid_file_leaves_the_last_valid_settings_in_force() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[agent]\nask_tools = [\"ExecCommand\"]\n").expect("written");
        let live = following(home.path());
        assert_eq!(live.problem(), None);
        std::fs::write(&file, "[agent]\n\nask_tools = 5\n").expect("written");
        let problem = live.problem().expect("a problem");
        assert_eq!((problem.code.as_str(), problem.line), ("config_invalid", Some(3)));
        assert!(live.current().rules().ask_tools.contains("ExecCommand"));
        std::fs::write(&file, "[agent]\nmax_rounds = 3\n").expect("written");
        assert_eq!(live.problem(), None);
        assert!(live.current().rules().ask_tools.is_empty());
    }

    #[test]
    fn a_file_that_vanishes_leaves_its_settings_in_force() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[agent]\nask_tools = [\"ExecCommand\"]\n").expect("written");
        let live = following(home.path());
        assert!(live.current().rules().ask_tools.contains("ExecCommand"));
        for vanish in [
            |file: &PathBuf| std::fs::write(file, ""),
            |file: &PathBuf| std::fs::remove_file(file),
        ] {
            vanish(&file).expect("gone");
            assert!(live.current().rules().ask_tools.contains("ExecCommand"));
            assert_eq!(live.problem().expect("a problem").code, "settings_missing");
        }
    }

    #[test]
    fn a_read_error_is_retried_although_the_file_is_the_same() {
        let home = tempfile::tempdir().expect("a folder");
        let file = home.path().join("config.toml");
        std::fs::write(&file, "[agent]\nmax_rounds = 3\n").expect("written");
        let live = following(home.path());
        assert_eq!(live.current().agent.max_rounds, 3);
        let source = live.source.clone().expect("a file");
        let found = stamp(&source);
        let broken = Err(Failure::new(UNREADABLE, "an error of the disk", ""));
        lock(&live.state).apply(broken, found);
        assert_eq!(live.problem(), None, "the next use reads it again");
    }

    #[test]
    fn the_path_of_a_webhook_is_not_listed() {
        let home = tempfile::tempdir().expect("a folder");
        let text = "[notify]\nwebhook = \"https://ntfy.example/secret-topic\"\n";
        std::fs::write(home.path().join("config.toml"), text).expect("written");
        let listed = following(home.path()).list();
        let shown = listed.settings.iter().find(|one| one.name == WEBHOOK);
        let value = shown.and_then(|one| one.value.clone());
        assert_eq!(value, Some(json!("https://ntfy.example/…")));
        let other = without_path(&json!("http://user:word@[::1]:80?key=1"));
        assert_eq!(other, json!("http://[::1]:80/…"));
    }
}
