//! Notifications of pending decisions: when one is sent, what it says, and where it goes.

mod notifier;
mod payload;
mod target;

pub(crate) use self::notifier::Notifier;
pub(crate) use self::payload::NotificationPayload;
pub(crate) use self::target::{DesktopSession, NotifyTarget, notify_targets};
