//! Where notifications of pending decisions are sent to. `wakeful_runtime::notifier` decides when.

mod target;

pub(crate) use self::target::{DesktopSession, NotifyTarget, notify_targets};
