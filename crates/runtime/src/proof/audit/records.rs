//! Rows that govern against the newest binding of each in the home's log.

use std::collections::BTreeMap;

use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::proof::record::bindings_in;
use wakeful_core::report::Kind;
use wakeful_ports::records::BoundRow;
use wakeful_ports::store::{Store, StoreError};

use super::{Alteration, Audit};
use crate::EngineError;

/// Events and rows read at once.
const PAGE: u32 = 2_000;

/// Events of the home's log for which bindings are held at once. A longer log is read several times, each time for a part
/// of the keys.
const EVENTS_PER_PART: u64 = 100_000;

/// Which keys are looked at: those whose hash falls into one of several parts.
#[derive(Clone, Copy)]
struct Part {
    index: u64,
    of: u64,
}

impl Part {
    fn has(self, table: &str, key: &str) -> bool {
        let [a, b, c, d, ..] = *Digest::of(format!("{table} {key}").as_bytes()).as_bytes();
        u64::from(u32::from_be_bytes([a, b, c, d])) % self.of == self.index
    }
}

type Bindings = BTreeMap<(String, String), Option<Digest>>;

/// Compares every row that is bound.
pub(super) async fn compare<S: Store>(store: &S, audit: &mut Audit) -> Result<Vec<Alteration>, EngineError> {
    let home = AgentId::home_log();
    let end = store.read(move |view| view.log_end(&home)).await?;
    let last = end.map_or(0, |end| end.seq);
    let of = last / EVENTS_PER_PART + 1;
    let mut found = Vec::new();
    for index in 0..of {
        let part = Part { index, of };
        let mut bindings = bindings(store, part).await?;
        for table in store.read(|view| Ok(view.bound_tables())).await? {
            let of_table = rows(store, (table, part), &mut bindings, audit).await?;
            found.extend(of_table);
        }
        let gone = bindings.into_iter().filter(|(_, hash)| hash.is_some());
        found.extend(gone.map(|((table, key), _)| {
            let what = "the row is gone, and the home's log does not tell of it";
            Alteration::new(&table, &key, what)
        }));
    }
    Ok(found)
}

/// The newest binding of each key.
async fn bindings<S: Store>(store: &S, part: Part) -> Result<Bindings, EngineError> {
    let (mut bindings, mut after) = (Bindings::new(), 0);
    loop {
        let page = store
            .read(move |view| view.events(&AgentId::home_log(), after, PAGE))
            .await?;
        let Some(last) = page.last() else {
            return Ok(bindings);
        };
        after = last.seq;
        let bound = page
            .iter()
            .filter(|event| event.kind == Kind::RecordBound.as_str());
        for (payload, _) in bound.filter_map(|event| event.payload.as_ref()) {
            for binding in bindings_in(payload).unwrap_or_default() {
                if part.has(&binding.table, &binding.key) {
                    bindings.insert((binding.table, binding.key), binding.record_hash);
                }
            }
        }
    }
}

async fn rows<S: Store>(
    store: &S,
    (table, part): (&'static str, Part),
    bindings: &mut Bindings,
    audit: &mut Audit,
) -> Result<Vec<Alteration>, EngineError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page: Result<Vec<BoundRow>, StoreError> = store
            .read(move |view| view.bound_rows(table, after.as_deref(), PAGE))
            .await;
        let page = page?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(last.key.clone());
        for row in page {
            let key = row.key_text();
            if !part.has(table, &key) {
                continue;
            }
            audit.compared.records += 1;
            let what = match bindings.remove(&(table.to_owned(), key.clone())) {
                Some(Some(hash)) if hash == row.hash => continue,
                Some(Some(_)) => "it is not the row that the home's log tells of",
                Some(None) => "the home's log tells that this row was removed",
                None if table == "host" && bindings.is_empty() => continue,
                None => "the home's log tells of no such row",
            };
            found.push(Alteration::new(table, &key, what));
        }
    }
}
