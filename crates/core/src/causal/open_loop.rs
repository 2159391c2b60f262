//! The set of open loops, in which an add wins over a concurrent remove.
//!
//! An add has a dot and is live until its id is removed or added again. A remove has no dot: it drops the
//! adds that its author has seen, and a join finds them missing. An add that its author had not seen stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::VersionVector;
use super::register::put;

/// A live add: its counter and the id that it added.
type Add = (u64, Arc<str>);

#[derive(Debug, Clone, Default)]
pub(super) struct OpenLoops {
    /// Whether the field was ever written. Removing an absent id leaves no other trace.
    written: bool,
    /// The live adds of each host, sorted by counter.
    adds: BTreeMap<Arc<str>, Vec<Add>>,
    /// The live adds of each id in the set.
    dots: BTreeMap<Arc<str>, Vec<(Arc<str>, u64)>>,
}

impl OpenLoops {
    /// Whether the field was ever written.
    pub(super) const fn written(&self) -> bool {
        self.written
    }

    /// The ids in the set, in ascending order.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.dots.keys().map(AsRef::as_ref)
    }

    /// Adds an id with a new dot and replaces its live adds.
    pub(super) fn add(&mut self, id: &Arc<str>, host: &Arc<str>, counter: u64) {
        self.remove(id);
        self.insert(id, host, counter);
    }

    /// Drops the live adds of an id.
    pub(super) fn remove(&mut self, id: &str) {
        self.written = true;
        for (host, counter) in self.dots.remove(id).unwrap_or_default() {
            self.drop_add(&host, counter);
        }
    }

    /// Joins the set of another replica. `seen` and `theirs` are the version vectors before the join.
    pub(super) fn join(&mut self, other: &Self, seen: &VersionVector, theirs: &VersionVector) {
        self.written |= other.written;
        let mut gone: Vec<(Arc<str>, u64, Arc<str>)> = Vec::new();
        for (host, adds) in &self.adds {
            let known = other.adds.get(host).map_or(&[][..], Vec::as_slice);
            let first_unseen = theirs.next(host);
            let mut known = known.iter().map(|(counter, _)| *counter).peekable();
            for (counter, id) in adds.iter().take_while(|(counter, _)| *counter < first_unseen) {
                while known.next_if(|known| known < counter).is_some() {}
                if known.peek() != Some(counter) {
                    gone.push((Arc::clone(host), *counter, Arc::clone(id)));
                }
            }
        }
        for (host, counter, id) in gone {
            self.drop_add(&host, counter);
            if let Some(dots) = self.dots.get_mut(&id) {
                dots.retain(|dot| dot.1 != counter || dot.0 != host);
                if dots.is_empty() {
                    self.dots.remove(&id);
                }
            }
        }
        for (host, adds) in &other.adds {
            let known = adds.partition_point(|(counter, _)| seen.has(host, *counter));
            for (counter, id) in adds.iter().skip(known) {
                self.insert(id, host, *counter);
            }
        }
    }

    /// Appends the canonical encoding, for the digest.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put(out, u8::from(self.written), &[]);
        for (host, adds) in self.adds.iter().filter(|(_, adds)| !adds.is_empty()) {
            for (counter, id) in adds {
                put(out, 2, host.as_bytes());
                put(out, 3, &counter.to_be_bytes());
                put(out, 4, id.as_bytes());
            }
        }
    }

    fn insert(&mut self, id: &Arc<str>, host: &Arc<str>, counter: u64) {
        self.written = true;
        let adds = self.adds.entry(Arc::clone(host)).or_default();
        adds.push((counter, Arc::clone(id)));
        let dots = self.dots.entry(Arc::clone(id)).or_default();
        dots.push((Arc::clone(host), counter));
    }

    fn drop_add(&mut self, host: &Arc<str>, counter: u64) {
        if let Some(adds) = self.adds.get_mut(host)
            && let Ok(at) = adds.binary_search_by_key(&counter, |(counter, _)| *counter)
        {
            adds.remove(at);
        }
    }
}
