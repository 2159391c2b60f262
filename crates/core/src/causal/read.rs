//! The value of a field with concurrent live writes.
//!
//! Each rule examines the whole set of live writes at once. A rule that compared pairs would have to be
//! associative, and the rule for pointers cannot be.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ancestry::Ancestry;
use super::record::CausalRecord;
use super::register::{Content, Field, LiveWrite};
use super::write::Lifecycle;
use crate::time::Millis;

impl CausalRecord {
    /// Returns the value of every field that was ever written.
    #[must_use]
    pub fn read(&self, ancestry: &Ancestry) -> BTreeMap<String, Value> {
        let mut states = BTreeMap::new();
        for (field, live) in self.registers.all() {
            states.insert(field.name(), resolve(field, live, ancestry));
        }
        for (host, processed) in &self.processed {
            let also: Vec<u64> = processed.also().collect();
            let read = json!({"through": processed.through(), "also": also});
            states.insert(format!("processed.{host}"), read);
        }
        if self.open_loops.written() {
            states.insert("slot.open_loop_ids".to_owned(), self.open_loops.ids().collect());
        }
        states
    }

    /// The lifecycle, if one was ever written.
    #[must_use]
    pub fn lifecycle(&self) -> Option<Lifecycle> {
        lifecycle(self.registers.live(&Field::Lifecycle))
    }
}

fn resolve(field: &Field, live: &[LiveWrite], ancestry: &Ancestry) -> Value {
    match field {
        Field::Lifecycle => json!(lifecycle(live).map(Lifecycle::as_str)),
        // The latest barrier and the earliest wake, independent of the current time: a write consumes times
        // that have passed.
        Field::SleepUntil => json!(times(live).max().map(Millis::rfc3339)),
        Field::NextWakeAt => json!(times(live).min().map(Millis::rfc3339)),
        Field::RecentHead | Field::LatestSummary => json!(pointer(live, ancestry)),
        Field::FailureCount => json!(counts(live).max()),
        Field::PrimaryGoal | Field::ActiveTaskId | Field::Preference(_) | Field::Extension(_) => slot(live),
    }
}

fn lifecycle(live: &[LiveWrite]) -> Option<Lifecycle> {
    let written = live.iter().filter_map(|write| match &write.content {
        Content::Lifecycle(lifecycle) => Some(*lifecycle),
        Content::Time(_) | Content::Pointer(_) | Content::Count(_) | Content::Slot(_) => None,
    });
    written.max()
}

/// The written times; a null loses to any of them.
fn times(live: &[LiveWrite]) -> impl Iterator<Item = Millis> {
    live.iter().filter_map(|write| match &write.content {
        Content::Time(time) => *time,
        Content::Lifecycle(_) | Content::Pointer(_) | Content::Count(_) | Content::Slot(_) => None,
    })
}

fn counts(live: &[LiveWrite]) -> impl Iterator<Item = u64> {
    live.iter().filter_map(|write| match &write.content {
        Content::Count(count) => Some(*count),
        Content::Lifecycle(_) | Content::Time(_) | Content::Pointer(_) | Content::Slot(_) => None,
    })
}

/// The pointer of the greatest host among those that are not ancestors of another pointer.
fn pointer<'a>(live: &'a [LiveWrite], ancestry: &Ancestry) -> Option<&'a str> {
    let written = live.iter().filter_map(|write| match &write.content {
        Content::Pointer(id) => id.as_deref().map(|id| (write.host.as_ref(), id)),
        Content::Lifecycle(_) | Content::Time(_) | Content::Count(_) | Content::Slot(_) => None,
    });
    let mut pointers: Vec<(&str, &str)> = written.collect();
    ancestry.keep_newest(&mut pointers);
    pointers.into_iter().max().map(|(_, id)| id)
}

/// The value with the greatest version, then of the greatest host.
fn slot(live: &[LiveWrite]) -> Value {
    let versions = live.iter().filter_map(|write| match &write.content {
        Content::Slot(slot) => Some((slot, &write.host)),
        Content::Lifecycle(_) | Content::Time(_) | Content::Pointer(_) | Content::Count(_) => None,
    });
    let greatest = versions.max_by_key(|(slot, host)| (slot.version, *host));
    greatest.map_or(Value::Null, |(slot, _)| slot.value.clone())
}
