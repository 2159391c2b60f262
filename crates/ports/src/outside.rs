//! What comes from outside: who remembers what was seen, and who looks.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;

use wakeful_core::id::SourceId;
use wakeful_core::outside::{BadSource, Difference, Known, Source, SourceKind};
use wakeful_core::time::Millis;

use crate::journal::Pending;

/// What came of adding a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is kept.
    New,
    /// It was there, under this name and just so.
    Same(Source),
    /// The name is that of another one.
    Exists,
    /// The same place is watched under this name.
    Watched(SourceId),
    /// There are too many.
    Full,
}

/// A source with how much was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The source.
    pub source: Source,
    /// How many entries it had when it was last looked at.
    pub entries: u64,
}

/// What a look found, or a part of it, to be written in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where it was found, at which version of what had been seen.
    pub source: Source,
    /// What differs.
    pub differences: Vec<Difference>,
    /// Whether everything is written down with it that was there from the beginning.
    pub settles: bool,
    /// When.
    pub at: Millis,
}

/// Remembers sources and what was seen of them, beside the outbox that tells of it: what was seen moves in the
/// transaction that tells it, so that a change is told once.
pub trait Sources: Send + Sync + 'static {
    /// All of them by name.
    fn sources(&self) -> Pending<'_, Vec<Listed>>;
    /// Keeps a source, unless there are so many already.
    fn add_source(&self, source: Source, at_most: u32) -> Pending<'_, Added>;
    /// Takes a source away, and all that was seen of it. None where there is none.
    fn remove_source(&self, source: SourceId) -> Pending<'_, Option<Source>>;
    /// What was seen of a source and is not gone, by name, after one.
    fn seen(
        &self,
        source: SourceId,
        after: Option<Vec<u8>>,
        limit: u32,
    ) -> Pending<'_, Vec<(Vec<u8>, Known)>>;
    /// Writes what was found and tells it, in one transaction. False where the source is gone, or was written by somebody
    /// else since that version: then nothing is written.
    fn find(&self, finding: Finding) -> Pending<'_, bool>;
    /// Writes down why a source could not be looked at, or that it could.
    fn set_trouble(&self, source: SourceId, trouble: Option<String>) -> Pending<'_, ()>;
}

/// What one look at a source found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sight {
    /// What is not as it was seen.
    pub differences: Vec<Difference>,
    /// How many entries could not be read. They are taken to be as they were.
    pub unreadable: u64,
    /// Why not everything that happens from now on is heard of.
    pub deaf: Option<BadSource>,
}

/// Whether somebody goes on listening after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// From before the look on, so that nothing falls in between.
    On,
    /// It is one look.
    Off,
}

/// An answer of somebody who looks, on its way.
pub type Looking<'a, T> = Pin<Box<dyn Future<Output = Result<T, BadSource>> + Send + 'a>>;

/// Looks at the world outside. A trait, because the runtime must not depend on the tools crate, which reads the file system.
pub trait Lookout: Send + Sync + 'static {
    /// The place that a path means, if it can be watched: the same for every way that leads there.
    fn place(&self, kind: SourceKind, path: String) -> Looking<'_, String>;
    /// Looks at everything there is, and compares it with what was seen. `now` is when it began.
    fn look(
        &self,
        source: Source,
        known: BTreeMap<Vec<u8>, Known>,
        hearing: Hearing,
        now: Millis,
    ) -> Looking<'_, Sight>;
    /// Stops listening to a source.
    fn forget(&self, source: &SourceId);
    /// Ready as soon as something may have happened to these sources since they were looked at.
    fn stirred(&self) -> Pin<Box<dyn Future<Output = BTreeSet<SourceId>> + Send + '_>>;
}
