//! The causal record of an agent: all its fields and one version vector.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::open_loop::OpenLoops;
use super::processed::ProcessedSet;
use super::register::{Content, Field, LiveWrite, Registers, Slot, put};
use super::write::{Lifecycle, LoopWrite, Write};
use crate::json::canonical;
use crate::key::Digest;

/// A destroyed agent accepts no other lifecycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent is destroyed, and that is final; create another one")]
pub struct AgentDestroyed;

/// The durable state of an agent, as far as one replica has received it.
#[derive(Debug, Clone, Default)]
pub struct CausalRecord {
    vector: VersionVector,
    pub(super) registers: Registers,
    pub(super) open_loops: OpenLoops,
    pub(super) processed: BTreeMap<Arc<str>, Arc<ProcessedSet>>,
}

/// The highest write counter seen of each host. There are no gaps, because records are transferred whole.
#[derive(Debug, Clone, Default)]
pub(super) struct VersionVector(BTreeMap<Arc<str>, u64>);

impl VersionVector {
    /// The counter of a host's first unseen write.
    pub(super) fn next(&self, host: &str) -> u64 {
        self.0.get(host).map_or(1, |seen| seen + 1)
    }

    pub(super) fn has(&self, host: &str, counter: u64) -> bool {
        counter < self.next(host)
    }

    fn join(&mut self, other: &Self) {
        for (host, theirs) in &other.0 {
            match self.0.get_mut(host) {
                Some(seen) => *seen = (*seen).max(*theirs),
                None => drop(self.0.insert(Arc::clone(host), *theirs)),
            }
        }
    }
}

impl CausalRecord {
    /// An empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes one field as `host`.
    pub fn write(&mut self, host: &str, write: Write) -> Result<(), AgentDestroyed> {
        let (field, content) = match write {
            Write::Processed { host, counter } => {
                let processed = self.processed.entry(host.into()).or_default();
                Arc::make_mut(processed).insert(counter);
                return Ok(());
            }
            Write::OpenLoop(LoopWrite::Add(id)) => {
                let (host, counter) = self.dot(host);
                self.open_loops.add(&id.into(), &host, counter);
                return Ok(());
            }
            Write::OpenLoop(LoopWrite::Remove(id)) => {
                self.open_loops.remove(&id);
                return Ok(());
            }
            Write::Lifecycle(to) => {
                if to != Lifecycle::Destroyed && self.lifecycle() == Some(Lifecycle::Destroyed) {
                    return Err(AgentDestroyed);
                }
                (Field::Lifecycle, Content::Lifecycle(to))
            }
            Write::SleepUntil(time) => (Field::SleepUntil, Content::Time(time)),
            Write::NextWakeAt(time) => (Field::NextWakeAt, Content::Time(time)),
            Write::RecentHead(id) => (Field::RecentHead, Content::Pointer(id.map(Into::into))),
            Write::LatestSummary(id) => (Field::LatestSummary, Content::Pointer(id.map(Into::into))),
            Write::FailureCount(count) => (Field::FailureCount, Content::Count(count)),
            Write::PrimaryGoal(goal) => self.slot(Field::PrimaryGoal, text(goal)),
            Write::ActiveTaskId(id) => self.slot(Field::ActiveTaskId, text(id)),
            Write::Preference { key, value } => self.slot(Field::Preference(key.into()), text(value)),
            Write::Extension { key, value } => self.slot(Field::Extension(key.into()), value),
        };
        let (host, counter) = self.dot(host);
        let live = LiveWrite {
            host,
            counter,
            content,
        };
        self.registers.write(field, live);
        Ok(())
    }

    /// Joins the record of another replica.
    ///
    /// The result does not depend on the order of joins or on repetition.
    pub fn join(&mut self, other: &Self) {
        self.registers.join(&other.registers, &self.vector, &other.vector);
        self.open_loops
            .join(&other.open_loops, &self.vector, &other.vector);
        self.join_processed(&other.processed);
        self.vector.join(&other.vector);
    }

    fn join_processed(&mut self, theirs: &BTreeMap<Arc<str>, Arc<ProcessedSet>>) {
        let mut fresh = Vec::new();
        let mut ours = self.processed.iter_mut().peekable();
        for (host, theirs) in theirs {
            // A host name that was passed along unchanged shares its memory, so the names need no
            // comparison.
            if ours.next_if(|(_, ours)| Arc::ptr_eq(ours, theirs)).is_some() {
                continue;
            }
            while ours.next_if(|(known, _)| *known < host).is_some() {}
            match ours.next_if(|(known, _)| *known == host) {
                Some((_, ours)) if ours == theirs => {}
                Some((_, ours)) => *ours = Arc::new(ours.joined(theirs)),
                None => fresh.push((Arc::clone(host), Arc::clone(theirs))),
            }
        }
        self.processed.extend(fresh);
    }

    /// Sends the record of one replica to another, which joins it. Does nothing if both are the same or an
    /// index does not exist.
    pub fn send(replicas: &mut [Self], from: usize, to: usize) {
        if let Ok([from, to]) = replicas.get_disjoint_mut([from, to]) {
            to.join(from);
        }
    }

    /// The digest of everything stored: live writes, version vector, sets, and which fields were ever
    /// written. Computed values are not part of it. Replicas with equal contents have equal digests.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut out = Vec::new();
        for (host, seen) in &self.vector.0 {
            put(&mut out, b'v', host.as_bytes());
            out.extend(seen.to_be_bytes());
        }
        for (field, live) in self.registers.all() {
            put(&mut out, b'f', field.name().as_bytes());
            for write in live {
                put(&mut out, b'w', write.host.as_bytes());
                out.extend(write.counter.to_be_bytes());
                write.content.encode(&mut out);
            }
        }
        for (host, processed) in &self.processed {
            put(&mut out, b'p', host.as_bytes());
            processed.encode(&mut out);
        }
        put(&mut out, b'l', &[]);
        self.open_loops.encode(&mut out);
        Digest::of(&out)
    }

    /// Creates the dot of a new write by `host`.
    fn dot(&mut self, host: &str) -> (Arc<str>, u64) {
        let counter = self.vector.next(host);
        let host = match self.vector.0.get_key_value(host) {
            Some((known, _)) => Arc::clone(known),
            None => host.into(),
        };
        self.vector.0.insert(Arc::clone(&host), counter);
        (host, counter)
    }

    /// Prepares a write to a slot. A live write always has the greatest version seen, because a replacing
    /// write increments the version of the one it replaces.
    fn slot(&self, field: Field, value: Value) -> (Field, Content) {
        let seen = self
            .registers
            .live(&field)
            .iter()
            .map(|live| match &live.content {
                Content::Slot(slot) => slot.version,
                Content::Lifecycle(_) | Content::Time(_) | Content::Pointer(_) | Content::Count(_) => 0,
            });
        let version = seen.max().unwrap_or(0) + 1;
        // Every parsed value has a canonical form; the plain text is an unreachable fallback.
        let canonical = canonical(&value).unwrap_or_else(|_| value.to_string().into_bytes());
        let slot = Slot {
            version,
            value,
            canonical,
        };
        (field, Content::Slot(Arc::new(slot)))
    }
}

fn text(value: Option<String>) -> Value {
    value.map_or(Value::Null, Value::String)
}
