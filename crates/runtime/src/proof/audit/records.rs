//! Compares bound rows with the newest binding of each in the home's log.

use std::collections::BTreeMap;

use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::Payload;
use wakeful_store::rows::{BoundRow, EventRow, KeyPart};
use wakeful_store::{Store, StoreError, View};

use super::{AuditFinding, AuditReport};
use crate::EngineError;

/// Events and rows read at once.
const PAGE: u32 = 2_000;

/// Rows whose bindings are held at once, about 200 bytes each. The home's log is read once for each group
/// of this many rows.
const ROWS_AT_ONCE_MAX: u64 = 500_000;

/// A partition of the keys by their hash.
#[derive(Clone, Copy)]
struct KeyPartition {
    index: u64,
    of: u64,
}

impl KeyPartition {
    fn has(self, table: &str, key: &str) -> bool {
        if self.of == 1 {
            return true;
        }
        let [a, b, c, d, ..] = *Digest::of(format!("{table} {key}").as_bytes()).as_bytes();
        u64::from(u32::from_be_bytes([a, b, c, d])) % self.of == self.index
    }
}

/// The newest binding of an existing row.
struct Newest {
    hash: Digest,
    /// The event with the binding.
    seq: u64,
}

/// The bindings in the home's log up to an event, by table and key of the rows that exist.
struct Bindings {
    part: KeyPartition,
    after: u64,
    tables: BTreeMap<String, BTreeMap<String, Newest>>,
}

/// Compares every bound row.
pub(super) async fn compare(
    store: &Store,
    audit: &mut AuditReport,
) -> Result<Vec<AuditFinding>, EngineError> {
    let found = store.read(|view| Ok((view.bound_row_count()?, view.log_end(&AgentId::home_log())?)));
    let (count, end) = found.await?;
    let end = end.map_or(0, |end| end.seq);
    let of = count / ROWS_AT_ONCE_MAX + 1;
    let mut found = Vec::new();
    for index in 0..of {
        let mut bindings = Bindings {
            part: KeyPartition { index, of },
            after: 0,
            tables: BTreeMap::new(),
        };
        // Events added meanwhile are read with each page of rows.
        while bindings.after < end {
            let page = store.read(move |view| {
                let is_end = bindings.read_page(view)?;
                Ok((bindings, is_end))
            });
            let is_end;
            (bindings, is_end) = page.await?;
            if is_end {
                break;
            }
        }
        for table in store.read(|view| Ok(view.bound_tables())).await? {
            let scan = Scan::new(table, bindings);
            bindings = scan.all(store, audit, &mut found).await?;
        }
    }
    Ok(found)
}

impl Bindings {
    /// Reads a page of the log. Returns whether it was the last of this snapshot.
    fn read_page(&mut self, view: &mut View<'_>) -> Result<bool, StoreError> {
        let page = view.events(&AgentId::home_log(), self.after, PAGE)?;
        let bound = page
            .iter()
            .filter(|event| event.kind == EventKind::RowsBound.as_str());
        bound.for_each(|event| self.take(event));
        self.after = page.last().map_or(self.after, |event| event.seq);
        Ok(page.len() < PAGE as usize)
    }

    fn take(&mut self, event: &EventRow) {
        let Some(Payload::RowsBound(bound)) = event.body().map(|body| body.payload) else {
            return;
        };
        for binding in bound.records {
            if !self.part.has(&binding.table, &binding.key) {
                continue;
            }
            let rows = self.tables.entry(binding.table).or_default();
            match binding.row_hash {
                Some(hash) => _ = rows.insert(binding.key, Newest { hash, seq: event.seq }),
                None => _ = rows.remove(&binding.key),
            }
        }
    }
}

/// A table that is read page by page, each page in one snapshot together with the log up to the same time.
struct Scan {
    table: &'static str,
    bindings: Bindings,
    /// The last event of the log when the first page was read.
    began_at: Option<u64>,
    after: Option<Vec<KeyPart>>,
    found: Vec<AuditFinding>,
    compared: u64,
}

impl Scan {
    const fn new(table: &'static str, bindings: Bindings) -> Self {
        Self {
            table,
            bindings,
            began_at: None,
            after: None,
            found: Vec::new(),
            compared: 0,
        }
    }

    /// Compares the whole table, and returns the bindings of the other tables.
    async fn all(
        mut self,
        store: &Store,
        audit: &mut AuditReport,
        found: &mut Vec<AuditFinding>,
    ) -> Result<Bindings, EngineError> {
        let mut is_end = false;
        while !is_end {
            let page = store.read(move |view| {
                let is_end = self.page(view)?;
                Ok((self, is_end))
            });
            (self, is_end) = page.await?;
        }
        let began_at = self.began_at.unwrap_or_default();
        let rows = self.bindings.tables.remove(self.table).unwrap_or_default();
        // A row bound since then may be located before the current position in the table.
        let gone = rows.into_iter().filter(|(_, newest)| newest.seq <= began_at);
        self.found.extend(gone.map(|(key, _)| {
            let what = "the row is missing, and the home's log does not record its removal";
            AuditFinding::new(self.table, &key, what)
        }));
        audit.compared.records += self.compared;
        found.append(&mut self.found);
        Ok(self.bindings)
    }

    /// Compares a page. Returns whether it was the last.
    fn page(&mut self, view: &mut View<'_>) -> Result<bool, StoreError> {
        while !self.bindings.read_page(view)? {}
        self.began_at.get_or_insert(self.bindings.after);
        let page = view.bound_rows(self.table, self.after.as_deref(), PAGE)?;
        self.after = page.last().map(|last| last.key.clone());
        page.iter().for_each(|row| self.row(row));
        Ok(page.len() < PAGE as usize)
    }

    fn row(&mut self, row: &BoundRow) {
        let key = row.key_text();
        if !self.bindings.part.has(self.table, &key) {
            return;
        }
        self.compared += 1;
        let rows = self.bindings.tables.get_mut(self.table);
        let what = match rows.and_then(|rows| rows.remove(&key)) {
            Some(newest) if newest.hash == row.hash => return,
            Some(_) => "does not match the row in the home's log",
            // A new database has its host row before anything is bound.
            None if self.table == "host" && self.bindings.after == 0 => return,
            None => "the home's log does not contain this row",
        };
        self.found.push(AuditFinding::new(self.table, &key, what));
    }
}
