//! Fields with live writes: a write replaces every live write of its field that its author has seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::record::VersionVector;
use super::write::Lifecycle;
use crate::time::Millis;

/// A field with its own live writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Lifecycle,
    SleepUntil,
    NextWakeAt,
    RecentHead,
    LatestSummary,
    FailureCount,
    PrimaryGoal,
    ActiveTaskId,
    Preference(Arc<str>),
    Extension(Arc<str>),
}

/// The content of a write.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Lifecycle(Lifecycle),
    Time(Option<Millis>),
    Pointer(Option<Arc<str>>),
    Count(u64),
    Slot(Arc<Slot>),
}

/// The content of a write to a slot.
#[derive(Debug)]
pub(super) struct Slot {
    /// One more than the greatest version that the author had seen.
    pub(super) version: u64,
    pub(super) value: Value,
    /// The value as it enters digests: canonical, so that `1` and `1.0` are equal.
    pub(super) canonical: Vec<u8>,
}

/// A write that no later write has replaced.
#[derive(Debug, Clone)]
pub(super) struct LiveWrite {
    pub(super) host: Arc<str>,
    pub(super) counter: u64,
    pub(super) content: Content,
}

impl LiveWrite {
    fn is(&self, other: &Self) -> bool {
        self.counter == other.counter && self.host == other.host
    }
}

/// All fields with live writes. A field that was ever written has at least one, because only a write
/// replaces writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Registers {
    /// The live writes of each field, sorted by host. A host has at most one per field, because it has seen
    /// all of its own writes.
    fields: BTreeMap<Field, Vec<LiveWrite>>,
    /// The field of each live write, so that a join examines only new writes.
    places: BTreeMap<Arc<str>, BTreeMap<u64, Field>>,
}

impl Registers {
    /// The live writes of a field, sorted by host; empty if it was never written.
    pub(super) fn live(&self, field: &Field) -> &[LiveWrite] {
        self.fields.get(field).map_or(&[], Vec::as_slice)
    }

    /// Every field that was ever written, with its live writes.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Field, &[LiveWrite])> {
        self.fields.iter().map(|(field, live)| (field, live.as_slice()))
    }

    /// Replaces all live writes of the field.
    pub(super) fn write(&mut self, field: Field, write: LiveWrite) {
        let place = self.places.entry(Arc::clone(&write.host)).or_default();
        place.insert(write.counter, field.clone());
        let replaced = self.fields.insert(field, vec![write]);
        replaced.iter().flatten().for_each(|old| self.forget(old));
    }

    /// Joins the registers of another replica. `seen` and `theirs` are the version vectors before the join.
    ///
    /// Only fields with unseen writes of the other replica are examined. That is sufficient: if the other
    /// replica replaced a write, then the last write of that chain of replacements is live there and unseen
    /// here.
    pub(super) fn join(&mut self, other: &Self, seen: &VersionVector, theirs: &VersionVector) {
        for (host, places) in &other.places {
            for (counter, field) in places.range(seen.next(host)..) {
                // If several hosts wrote a field, it is processed for the first of them.
                let there = other.live(field);
                let first = there.iter().find(|write| !seen.has(&write.host, write.counter));
                if first.is_some_and(|first| first.counter == *counter && first.host == *host) {
                    self.join_field(field, there, seen, theirs);
                }
            }
        }
    }

    fn join_field(
        &mut self,
        field: &Field,
        there: &[LiveWrite],
        seen: &VersionVector,
        theirs: &VersionVector,
    ) {
        let places = &mut self.places;
        let live = match self.fields.get_mut(field) {
            Some(live) => live,
            None => self.fields.entry(field.clone()).or_default(),
        };
        live.retain(|write| {
            let stays = !theirs.has(&write.host, write.counter) || there.iter().any(|known| known.is(write));
            if !stays && let Some(places) = places.get_mut(&write.host) {
                places.remove(&write.counter);
            }
            stays
        });
        for write in there.iter().filter(|write| !seen.has(&write.host, write.counter)) {
            let place = places.entry(Arc::clone(&write.host)).or_default();
            place.insert(write.counter, field.clone());
            live.push(write.clone());
        }
        live.sort_unstable_by(|a, b| a.host.cmp(&b.host));
    }

    fn forget(&mut self, write: &LiveWrite) {
        if let Some(places) = self.places.get_mut(&write.host) {
            places.remove(&write.counter);
        }
    }
}

impl Content {
    /// Appends the canonical encoding, for the digest.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Lifecycle(lifecycle) => put(out, 0, lifecycle.as_str().as_bytes()),
            Self::Time(None) => put(out, 1, &[]),
            Self::Time(Some(time)) => put(out, 2, &time.0.to_be_bytes()),
            Self::Pointer(None) => put(out, 3, &[]),
            Self::Pointer(Some(id)) => put(out, 4, id.as_bytes()),
            Self::Count(count) => put(out, 5, &count.to_be_bytes()),
            Self::Slot(slot) => {
                put(out, 6, &slot.version.to_be_bytes());
                put(out, 7, &slot.canonical);
            }
        }
    }
}

impl Field {
    /// The name of the field in its JSON form.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Lifecycle => "lifecycle".to_owned(),
            Self::SleepUntil => "sleep_until".to_owned(),
            Self::NextWakeAt => "next_wake_at".to_owned(),
            Self::RecentHead => "recent_head".to_owned(),
            Self::LatestSummary => "latest_summary".to_owned(),
            Self::FailureCount => "failure_count".to_owned(),
            Self::PrimaryGoal => "slot.primary_goal".to_owned(),
            Self::ActiveTaskId => "slot.active_task_id".to_owned(),
            Self::Preference(key) => format!("slot.preference.{key}"),
            Self::Extension(key) => format!("slot.extension.{key}"),
        }
    }
}

/// Appends a tagged piece with its length, so that different lists of pieces have different encodings.
pub(super) fn put(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
    out.extend(bytes);
}
