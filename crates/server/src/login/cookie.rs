//! The cookies of browsers that are logged in: signed, so that they outlive the daemon without being kept anywhere.
//! The key comes from the token, so a new token logs everybody out.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use wakeful_core::key::{Digest, h};
use wakeful_core::time::Millis;

/// How long a browser stays logged in.
pub(crate) const LOGIN_S: i64 = 30 * 24 * 60 * 60;

/// Most logouts that are remembered, in memory alone: the server keeps nothing, so a restart forgets them all. When
/// there are more, the oldest is forgotten. Either way the browser has dropped the cookie, so what is left is a copy
/// that somebody took before, and a new token ends those.
const REVOKED_MAX: usize = 4_096;

/// Begins every cookie, so that another form can follow one day.
const VERSION: &str = "v1";

/// HMAC takes a block of this size as it is.
const BLOCK_BYTES: usize = 64;

/// Signs cookies, and knows which of them no longer count.
pub(crate) struct Cookies {
    key: [u8; BLOCK_BYTES],
    revoked: Mutex<VecDeque<(Digest, i64)>>,
}

/// A login that a cookie proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Login {
    /// Its name, random.
    pub(crate) id: Digest,
    expires_s: i64,
}

impl Cookies {
    pub(crate) fn new(token: &str) -> Self {
        let derived = h("login.cookie", &[token]);
        let mut key = [0; BLOCK_BYTES];
        key.iter_mut()
            .zip(derived.as_bytes())
            .for_each(|(to, from)| *to = *from);
        Self {
            key,
            revoked: Mutex::default(),
        }
    }

    /// The value of a fresh cookie.
    pub(crate) fn issue(&self, id: Digest, now: Millis) -> String {
        let expires_s = seconds(now).saturating_add(LOGIN_S);
        let text = format!("{VERSION}.{id}.{expires_s}");
        let signature: [u8; 32] = self.mac(&text).finalize().into_bytes().into();
        format!("{text}.{}", Digest::from_bytes(signature))
    }

    /// The login that a cookie proves, unless it is forged, old or logged out.
    pub(crate) fn read(&self, value: &str, now: Millis) -> Option<Login> {
        let (text, signature) = value.rsplit_once('.')?;
        let signature = Digest::from_hex(signature)?;
        // Compares in constant time.
        self.mac(text).verify_slice(signature.as_bytes()).ok()?;
        let (id, expires_s) = text.strip_prefix(VERSION)?.strip_prefix('.')?.split_once('.')?;
        let login = Login {
            id: Digest::from_hex(id)?,
            expires_s: expires_s.parse().ok()?,
        };
        let revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_out = revoked.iter().any(|(id, _)| *id == login.id);
        (login.expires_s > seconds(now) && !is_out).then_some(login)
    }

    /// Makes a cookie worthless as long as this daemon lives.
    pub(crate) fn revoke(&self, login: Login, now: Millis) {
        let mut revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        // One that has run out needs nobody to remember it.
        revoked.retain(|(_, expires_s)| *expires_s > seconds(now));
        if revoked.len() >= REVOKED_MAX {
            revoked.pop_front();
        }
        revoked.push_back((login.id, login.expires_s));
    }

    fn mac(&self, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        mac.update(text.as_bytes());
        mac
    }
}

const fn seconds(at: Millis) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_771_344_000_000);

    fn id(n: u8) -> Digest {
        Digest::from_bytes([n; 32])
    }

    #[test]
    fn a_cookie_outlives_the_daemon_but_not_the_token_nor_its_month() {
        let value = Cookies::new("token").issue(id(1), NOW);
        let after_restart = Cookies::new("token");
        assert_eq!(after_restart.read(&value, NOW).map(|login| login.id), Some(id(1)));
        let month = Millis(NOW.0 + LOGIN_S * 1_000);
        assert!(after_restart.read(&value, Millis(month.0 - 1)).is_some());
        assert_eq!(after_restart.read(&value, month), None);
        assert_eq!(Cookies::new("another").read(&value, NOW), None);
    }

    #[test]
    fn a_cookie_that_anybody_touched_is_worthless() {
        let cookies = Cookies::new("token");
        let value = cookies.issue(id(1), NOW);
        for at in 0..value.len() {
            let mut bytes = value.clone().into_bytes();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).expect("ASCII");
            assert_eq!(cookies.read(&forged, NOW), None, "{at}");
        }
        for broken in ["", ".", "v1...", "v1", &value[1..], &value[..value.len() - 1]] {
            assert_eq!(cookies.read(broken, NOW), None, "{broken}");
        }
    }

    #[test]
    fn a_logout_ends_one_login_and_no_other() {
        let cookies = Cookies::new("token");
        let (mine, other) = (cookies.issue(id(1), NOW), cookies.issue(id(2), NOW));
        let login = cookies.read(&mine, NOW).expect("a login");
        cookies.revoke(login, NOW);
        assert_eq!(cookies.read(&mine, NOW), None);
        assert!(cookies.read(&other, NOW).is_some());
    }

    #[test]
    fn logouts_are_remembered_within_a_bound() {
        let cookies = Cookies::new("token");
        for n in 0..REVOKED_MAX + 5 {
            let id = Digest::of(&n.to_le_bytes());
            let expires_s = i64::MAX;
            cookies.revoke(Login { id, expires_s }, NOW);
        }
        assert_eq!(cookies.revoked.lock().expect("lock").len(), REVOKED_MAX);
    }
}
