//! Notifications of pending decisions: when they are sent, their content, and their targets.

mod notifier;
mod payload;
mod target;

pub(crate) use self::notifier::Notifier;
pub(crate) use self::payload::NotificationPayload;
pub(crate) use self::target::{DesktopSession, NotifyTarget, notify_targets};
