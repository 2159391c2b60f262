//! The logged-in browsers. The list is in memory and in a file of the home, so that logins and their ends
//! survive a restart. Both contain only hashes of secrets.
//!
//! A login is proven by two secrets: its cookie and its token. Browsers send cookies to every port of a
//! host, so a server on another port sees the cookie; the token is in the storage of the page's origin,
//! which includes the port.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;
use tokio::time::Instant;
use wakeful_core::key::{Digest, derived_hash};
use wakeful_core::time::Millis;

use super::LoginHost;

pub(crate) const LOGIN_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// Most logins. A person has few browsers; beyond this the least recently used login is ended.
const LOGINS_MAX: usize = 64;

/// The resolution of the last use. The list is saved at most this often for it.
const USED_STEP_MS: i64 = 60 * 60 * 1_000;

/// The format version of the saved list. A list of another version is ignored, and all browsers must log in
/// again.
const VERSION: u32 = 1;

/// The prefix of every cookie.
const COOKIE_VERSION: &str = "v2";

/// The id of a login, random and not secret: eight hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct LoginId(u32);

impl LoginId {
    /// Builds an id from the first 4 of 32 random bytes.
    pub(crate) const fn from_bytes([a, b, c, d, ..]: [u8; 32]) -> Self {
        Self(u32::from_be_bytes([a, b, c, d]))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        let fits = text.len() == 8 && text.bytes().all(is_digit);
        fits.then(|| u32::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl std::fmt::Display for LoginId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl From<LoginId> for String {
    fn from(id: LoginId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for LoginId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("expected 8 lower-case hex digits")
    }
}

/// A saved login.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LoginRecord {
    pub(crate) id: LoginId,
    pub(crate) name: String,
    cookie_hash: Digest,
    token_hash: Digest,
    pub(crate) created_at: Millis,
    pub(crate) last_used_at: Millis,
    pub(crate) expires_at: Millis,
}

/// The saved list.
#[derive(Serialize, Deserialize)]
struct SavedLogins {
    version: u32,
    /// A hash of the API token: a new token ends all logins.
    api_token_hash: Digest,
    logins: VecDeque<LoginRecord>,
}

/// A new login, with its secrets.
pub(crate) struct NewLogin {
    pub(crate) id: LoginId,
    pub(crate) name: String,
    /// The secret part of the cookie.
    pub(crate) secret: String,
    pub(crate) token: String,
    pub(crate) created_at: Millis,
}

impl NewLogin {
    /// The value of its cookie.
    pub(crate) fn cookie(&self) -> String {
        format!("{COOKIE_VERSION}.{}.{}", self.id, self.secret)
    }
}

struct Entry {
    record: LoginRecord,
    /// Streams of the login hold the receiver, and end when this is dropped.
    alive: watch::Sender<()>,
}

/// The logins, newest last.
pub(crate) struct LoginStore {
    host: Arc<dyn LoginHost>,
    api_token_hash: Digest,
    entries: Mutex<VecDeque<Entry>>,
    /// Held while the list is saved, so that an older state never replaces a newer one.
    saving: Mutex<()>,
}

/// The list could be neither saved nor deleted, so a restart restores logins that were ended.
#[derive(Debug, thiserror::Error)]
#[error("the list of logins cannot be saved: {0}")]
pub(crate) struct LoginSaveError(std::io::Error);

impl LoginStore {
    /// Reads the saved list. An unusable list counts as empty: all browsers must log in again.
    pub(crate) fn load(host: Arc<dyn LoginHost>, api_token: &str) -> Self {
        let api_token_hash = derived_hash("login.api_token", &[api_token]);
        let saved = read(&*host).filter(|saved| {
            let is_same_token: bool = saved
                .api_token_hash
                .as_bytes()
                .ct_eq(api_token_hash.as_bytes())
                .into();
            is_same_token && saved.version == VERSION && saved.logins.len() <= LOGINS_MAX
        });
        let records = saved.map(|saved| saved.logins).unwrap_or_default();
        let entry = |record| Entry {
            record,
            alive: watch::Sender::new(()),
        };
        Self {
            host,
            api_token_hash,
            entries: Mutex::new(records.into_iter().map(entry).collect()),
            saving: Mutex::default(),
        }
    }

    /// Adds a login and saves it. A login that cannot be saved is valid until the daemon exits.
    pub(crate) fn add(&self, new: NewLogin) {
        let now = new.created_at;
        let record = LoginRecord {
            id: new.id,
            cookie_hash: cookie_hash(&new.secret),
            token_hash: token_hash(&new.token),
            name: new.name,
            created_at: now,
            last_used_at: now,
            expires_at: Millis(now.0.saturating_add(LOGIN_MS)),
        };
        let mut entries = self.lock();
        entries.retain(|entry| entry.record.expires_at > now);
        while entries.len() >= LOGINS_MAX {
            let oldest = entries
                .iter()
                .enumerate()
                .min_by_key(|(_, entry)| entry.record.last_used_at);
            let Some(dropped) = oldest.map(|(at, _)| at).and_then(|at| entries.remove(at)) else {
                break;
            };
            tracing::warn!(
                login = %dropped.record.id,
                name = dropped.record.name,
                "the least recently used login was ended: there were more than {LOGINS_MAX}"
            );
        }
        let alive = watch::Sender::new(());
        entries.push_back(Entry { record, alive });
        drop(entries);
        if let Err(error) = self.save() {
            tracing::warn!(%error, "new logins cannot be saved and end with this daemon");
        }
    }

    pub(crate) fn contains(&self, id: LoginId) -> bool {
        self.lock().iter().any(|entry| entry.record.id == id)
    }

    /// The login that a cookie and its second proof identify. `is_proven` checks the hash of the token.
    pub(crate) fn find(
        &self,
        cookie: &str,
        now: Millis,
        is_proven: impl Fn(LoginId, &Digest) -> bool,
    ) -> Option<LoginId> {
        let (id, secret) = cookie
            .strip_prefix(COOKIE_VERSION)?
            .strip_prefix('.')?
            .split_once('.')?;
        let (id, hash) = (LoginId::parse(id)?, cookie_hash(secret));
        let entries = self.lock();
        let record = &entries.iter().find(|entry| entry.record.id == id)?.record;
        let is_right: bool = record.cookie_hash.as_bytes().ct_eq(hash.as_bytes()).into();
        (is_right && record.expires_at > now && is_proven(id, &record.token_hash)).then_some(id)
    }

    /// Records the use of a login. Returns whether the list should be saved for it.
    pub(crate) fn touch(&self, id: LoginId, now: Millis) -> bool {
        let mut entries = self.lock();
        let Some(entry) = entries.iter_mut().find(|entry| entry.record.id == id) else {
            return false;
        };
        let is_due = now.0.saturating_sub(entry.record.last_used_at.0) >= USED_STEP_MS;
        if is_due {
            entry.record.last_used_at = now;
        }
        is_due
    }

    /// The session that a stream of this login holds; none if the login has ended.
    pub(crate) fn session(&self, id: LoginId, now: Millis) -> Option<LoginSession> {
        let entries = self.lock();
        let entry = entries.iter().find(|entry| entry.record.id == id)?;
        let left_ms = u64::try_from(entry.record.expires_at.0.saturating_sub(now.0)).ok()?;
        Some(LoginSession {
            alive: entry.alive.subscribe(),
            expires: Instant::now() + Duration::from_millis(left_ms),
        })
    }

    /// The logins that have not expired, newest first.
    pub(crate) fn records(&self, now: Millis) -> Vec<LoginRecord> {
        let entries = self.lock();
        let records = entries.iter().rev().map(|entry| &entry.record);
        records
            .filter(|record| record.expires_at > now)
            .cloned()
            .collect()
    }

    /// Ends the chosen logins: immediately in memory, then in the file. Returns how many there were.
    pub(crate) fn revoke(&self, is_chosen: impl Fn(LoginId) -> bool) -> Result<usize, LoginSaveError> {
        let mut entries = self.lock();
        let before = entries.len();
        entries.retain(|entry| !is_chosen(entry.record.id));
        let count = before.saturating_sub(entries.len());
        drop(entries);
        self.save_or_delete()?;
        Ok(count)
    }

    /// Saves the list, or deletes it if that fails. Deleting needs no free space, and a restart then ends
    /// all logins and restores none.
    fn save_or_delete(&self) -> Result<(), LoginSaveError> {
        let Err(error) = self.save() else { return Ok(()) };
        tracing::warn!(%error, "deleting the list of logins: all logins end with this daemon");
        self.host.remove_list().map_err(LoginSaveError)
    }

    /// Writes the list to its file.
    pub(crate) fn save(&self) -> Result<(), LoginSaveError> {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let logins = self.lock().iter().map(|entry| entry.record.clone()).collect();
        let saved = SavedLogins {
            version: VERSION,
            api_token_hash: self.api_token_hash,
            logins,
        };
        let bytes = serde_json::to_vec(&saved).map_err(|error| LoginSaveError(error.into()))?;
        self.host.write_list(&bytes).map_err(LoginSaveError)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(host: &dyn LoginHost) -> Option<SavedLogins> {
    let bytes = host.read_list().unwrap_or_else(|error| {
        tracing::warn!(%error, "the list of logins cannot be read; all logins are ended");
        None
    })?;
    let saved = serde_json::from_slice(&bytes);
    saved
        .inspect_err(|error| tracing::warn!(%error, "the list of logins is damaged; all logins are ended"))
        .ok()
}

fn cookie_hash(secret: &str) -> Digest {
    derived_hash("login.cookie", &[secret])
}

/// The hash of a token, as stored in the list.
pub(crate) fn token_hash(token: &str) -> Digest {
    derived_hash("login.token", &[token])
}

/// A login as held by a stream.
pub(crate) struct LoginSession {
    alive: watch::Receiver<()>,
    expires: Instant,
}

impl LoginSession {
    /// Whether the login was ended or has expired.
    pub(crate) fn is_over(&self) -> bool {
        // Nothing is ever sent: an error means that the login was removed from the list.
        self.alive.has_changed().is_err() || Instant::now() >= self.expires
    }

    /// Waits until the login is ended or expires.
    pub(crate) async fn over(&mut self) {
        tokio::select! {
            _ = self.alive.changed() => {}
            () = tokio::time::sleep_until(self.expires) => {}
        }
    }
}
