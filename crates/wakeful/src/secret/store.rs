//! The secrets of a home that commands and hooks receive: their places and values, and a redactor of them and of
//! all keys of the home.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::spawn_blocking;
use wakeful_api::{Secret, SetSecret};
use wakeful_core::problem::Problem;
use wakeful_core::redact::Redactor;
use wakeful_core::secret::{SECRET_BYTES_MIN, check_name, check_value};
use wakeful_core::suggestion;
use wakeful_models::BuiltinProvider;
use wakeful_server::{HostFuture, SecretHost};
use wakeful_tools::{SecretSource, SecretValue};

use super::SecretHandle;
use crate::config::{self, ConfigEdit, LiveSettings};
use crate::failure::Failure;
use crate::home::Home;

/// Counts the changes of secrets and keys by this process, because a new value may have the same place.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Reads the values again before the next redaction, because a key was stored or removed.
pub(crate) fn keys_changed() {
    CHANGES.fetch_add(1, Ordering::Release);
}

/// The secrets of a home. Cheap to clone; clones share what they know.
#[derive(Debug, Clone)]
pub(crate) struct SecretStore {
    home: PathBuf,
    settings: LiveSettings,
    known: Arc<Mutex<Known>>,
}

/// Maximum number of former values that are still redacted. A person changes a secret a few times a day at most.
const FORMER_MAX: usize = 256;

/// The values that were read.
#[derive(Default)]
struct Known {
    /// The places and the number of changes when they were read.
    read_at: Option<(u64, BTreeMap<String, String>)>,
    values: BTreeMap<String, String>,
    /// Values that were changed, oldest first. They may still be printed.
    former: Vec<(String, String)>,
    redactor: Arc<Redactor>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

impl Known {
    /// Adds values. A value that was known under the same name stays redacted.
    fn add(&mut self, values: impl IntoIterator<Item = (String, String)>) {
        let mut has_new = false;
        for (name, value) in values {
            // Most changes of settings change no secret, and building a redactor of many takes long.
            if self.values.get(&name) == Some(&value) {
                continue;
            }
            has_new = true;
            let before = self.values.insert(name.clone(), value.clone());
            self.former
                .retain(|known| *known != (name.clone(), value.clone()));
            self.former.extend(
                before
                    .filter(|before| *before != value)
                    .map(|before| (name, before)),
            );
        }
        if !has_new {
            return;
        }
        let excess = self.former.len().saturating_sub(FORMER_MAX);
        self.former.drain(..excess);
        let former = self.former.iter().map(|(name, value)| (name, value));
        let known = self.values.iter().chain(former);
        let known: Vec<_> = known
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.redactor = Arc::new(Redactor::of(&known));
    }
}

impl SecretStore {
    pub(crate) fn new(home: PathBuf, settings: LiveSettings) -> Self {
        Self {
            home,
            settings,
            known: Arc::default(),
        }
    }

    /// The configured places by name.
    fn places(&self) -> BTreeMap<String, String> {
        let settings = self.settings.current();
        let secrets = settings.secrets.iter();
        secrets
            .filter_map(|(name, secret)| Some((name.clone(), secret.key.clone()?)))
            .collect()
    }

    /// The places of all keys: secrets, keys of providers and the token of the daemon. The latter two have names
    /// that no secret can have.
    fn all_places(&self) -> BTreeMap<String, String> {
        let settings = self.settings.current();
        let builtin = BuiltinProvider::ALL.into_iter().flat_map(|provider| {
            let variables = provider.key_variables.iter();
            variables.map(|variable| (format!("key {variable}"), format!("env:{variable}")))
        });
        let configured = settings.providers.iter().filter_map(|(name, provider)| {
            // People write ordinary words as the key of a server on this machine, which needs none.
            let is_local = provider
                .base_url
                .as_ref()
                .is_some_and(|url| url.starts_with("http://"));
            let place = provider.key.clone().filter(|_| !is_local)?;
            Some((format!("key of {name}"), place))
        });
        let webhook = settings.notify.webhook_key.clone();
        let webhook = webhook.map(|place| ("key of the webhook".to_owned(), place));
        let token = match &settings.server.token_file {
            Some(path) => path.clone(),
            None => self.home.join("token").display().to_string(),
        };
        let token = ("token of the daemon".to_owned(), format!("file:{token}"));
        let keys = builtin.chain(configured).chain(webhook).chain([token]);
        keys.chain(self.places()).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(name: &str, handle: &str) -> Secret {
        Secret {
            name: name.to_owned(),
            key_handle: handle.to_owned(),
            problem: read(handle).err(),
            agents: Vec::new(),
        }
    }

    fn store(&self, asked: &SetSecret) -> Result<Secret, Failure> {
        let name = asked.name.0.as_str();
        check_name(name)?;
        check_value(&asked.value)?;
        let home = Home::open_or_create(&self.home)?;
        let before = self.places().get(name).cloned();
        let before = before.and_then(|place| SecretHandle::parse(&place).ok());
        let handle = SecretHandle::store(home.root(), &account(name), &asked.value)?;
        let edit = ConfigEdit::Set {
            key: setting(name),
            text: handle.to_string(),
        };
        if let Err(failure) = config::change(&home, &[edit]) {
            // A value that no setting refers to must not stay. One that was there before does.
            if before.as_ref() != Some(&handle) {
                handle.delete(home.root(), &account(name))?;
            }
            return Err(failure);
        }
        handle.delete_replaced(before.as_ref(), home.root(), &account(name))?;
        keys_changed();
        Ok(Self::describe(name, &handle.to_string()))
    }

    fn delete(&self, name: &str) -> Result<Secret, Failure> {
        let places = self.places();
        let Some(place) = places.get(name) else {
            let hint = suggestion::hint(name, places.keys().map(String::as_str));
            return Err(Failure::new(
                "secret_unknown",
                format!("there is no secret {name}"),
                hint,
            ));
        };
        let removed = Self::describe(name, place);
        let home = Home::open(&self.home)?;
        config::change(&home, &[ConfigEdit::Unset(setting(name))])?;
        if let Ok(handle) = SecretHandle::parse(place) {
            handle.delete(home.root(), &account(name))?;
        }
        keys_changed();
        Ok(removed)
    }
}

/// The name under which the keyring and the folder of keys have a secret. No provider has such a name.
fn account(name: &str) -> String {
    format!("secret-{name}")
}

fn setting(name: &str) -> String {
    format!("secrets.{name}.key")
}

/// The value at a place, or why there is none.
fn read(place: &str) -> Result<String, String> {
    let handle = SecretHandle::parse(place).map_err(|_| "its place in the settings is invalid".to_owned())?;
    let text = handle
        .text()
        .map_err(|failure| format!("{}; {}", failure.message(), failure.hint()))?;
    let value = text.unwrap_or_default().trim().to_owned();
    if value.len() < SECRET_BYTES_MIN || value.contains('\0') {
        return Err(format!(
            "{handle}: a secret has at least {SECRET_BYTES_MIN} bytes and no NUL character"
        ));
    }
    Ok(value)
}

impl SecretSource for SecretStore {
    fn value(&self, name: &str) -> Result<SecretValue, String> {
        let place = self.places().remove(name);
        let place = place.ok_or_else(|| format!("there is no secret {name}"))?;
        let value = read(&place)?;
        // It may have changed at its place. It must be known before a command can print it.
        let mut known = self.known();
        if known.values.get(name) != Some(&value) {
            known.add([(name.to_owned(), value.clone())]);
        }
        Ok(SecretValue::new(value))
    }

    fn redactor(&self) -> Arc<Redactor> {
        let now = (CHANGES.load(Ordering::Acquire), self.all_places());
        let mut known = self.known();
        if known.read_at.as_ref() != Some(&now) {
            // Values that were known stay known: they may still be printed.
            let found = now.1.iter();
            let values: Vec<_> = found
                .filter_map(|(name, place)| Some((name.clone(), read(place).ok()?)))
                // A key of a provider may be any text. Removing an ordinary word would damage every message.
                .filter(|(name, value)| check_name(name).is_ok() || check_value(value).is_ok())
                .collect();
            known.add(values);
            known.read_at = Some(now);
        }
        Arc::clone(&known.redactor)
    }
}

impl SecretHost for SecretStore {
    fn list(&self) -> HostFuture<Vec<Secret>> {
        let store = self.clone();
        blocking(move || {
            let places = store.places();
            Ok(places
                .iter()
                .map(|(name, place)| Self::describe(name, place))
                .collect())
        })
    }

    fn set(&self, asked: SetSecret) -> HostFuture<Secret> {
        let store = self.clone();
        blocking(move || store.store(&asked))
    }

    fn remove(&self, name: String) -> HostFuture<Secret> {
        let store = self.clone();
        blocking(move || store.delete(&name))
    }
}

/// Runs a function that reads files or asks a keyring on a blocking thread.
fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> HostFuture<T> {
    Box::pin(async move {
        let interrupted = |_| Err(Failure::new("interrupted", "the daemon is stopping", "try again"));
        let done = spawn_blocking(work).await.unwrap_or_else(interrupted);
        done.map_err(Problem::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;

    fn store(home: &std::path::Path) -> SecretStore {
        let flags = Overrides::default();
        let loaded = config::load(home, &flags).expect("settings");
        let live = LiveSettings::following(home.to_owned(), flags, &loaded);
        SecretStore::new(home.to_owned(), live)
    }

    fn asked(name: &str, value: &str) -> SetSecret {
        serde_json::from_value(serde_json::json!({"name": name, "value": value})).expect("valid")
    }

    #[test]
    fn a_changed_and_a_removed_value_stay_redacted() {
        let home = tempfile::tempdir().expect("a folder");
        let store = store(home.path());
        assert!(store.redactor().is_empty());
        store.store(&asked("A_TOKEN", "first-value-1")).expect("stored");
        assert!(store.redactor().bytes(b"first-value-1").is_some());
        store.store(&asked("A_TOKEN", "second-value-2")).expect("stored");
        assert!(store.redactor().bytes(b"first-value-1").is_some());
        assert!(store.value("A_TOKEN").is_ok());
        assert!(store.redactor().bytes(b"second-value-2").is_some());
        store.delete("A_TOKEN").expect("removed");
        assert!(store.value("A_TOKEN").is_err());
        assert!(store.redactor().bytes(b"second-value-2").is_some());
        assert!(!home.path().join("keys/secret-A_TOKEN").exists());
        let unknown = store.delete("A_TOKEN").expect_err("it is gone");
        assert_eq!(unknown.code(), "secret_unknown");
    }

    #[test]
    fn settings_have_only_the_place_of_a_secret() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = store(home.path())
            .store(&asked("A_TOKEN", "first-value-1"))
            .expect("stored");
        assert_eq!(stored.problem, None);
        let text = std::fs::read_to_string(home.path().join("config.toml")).expect("settings");
        assert!(
            text.contains("A_TOKEN") && !text.contains("first-value"),
            "{text}"
        );
        let refused = store(home.path()).store(&asked("B_TOKEN", "password"));
        assert_eq!(refused.expect_err("a word").code(), "bad_secret");
    }
}
