//! Watched sources and the last known state of their entries.

use std::collections::BTreeMap;

use serde_json::Value;
use wakeful_core::change::{ChangeUnit, Token};
use wakeful_core::id::SourceId;
use wakeful_core::journal::{Author, RecordId};
use wakeful_core::watch::{
    self, DELETED_ENTRIES_MAX, EntryChange, EntryDiff, EntryState, Source, SourceEntry, SourceKind,
};
use wakeful_ports::fail_point;
use wakeful_ports::journal::{CommittedChange, JournalFuture};
use wakeful_ports::watch::{AddSourceOutcome, SourceChanges, SourceStatus, SourceStore};

use super::outbox::{self, OutboxPosition};
use super::{JournalStore, table};
use crate::sql::{Row, Sql, at_most_one, exactly_one, limit, records};
use crate::{ROWS_MAX, Result, StoreError};

impl SourceStore for JournalStore {
    fn sources(&self) -> JournalFuture<'_, Vec<SourceStatus>> {
        Box::pin(async move { Ok(self.inner.read(|session| list(&mut session.sql)).await?) })
    }

    fn add_source(&self, source: Source, at_most: u32) -> JournalFuture<'_, AddSourceOutcome> {
        Box::pin(async move {
            let write = move |session: &mut crate::tx::Tx<'_>| add(&mut session.sql, &source, at_most);
            Ok(self.inner.write(write).await?)
        })
    }

    fn remove_source(&self, source: SourceId) -> JournalFuture<'_, Option<Source>> {
        Box::pin(async move {
            let write = move |session: &mut crate::tx::Tx<'_>| remove(&mut session.sql, &source);
            Ok(self.inner.write(write).await?)
        })
    }

    fn entries(
        &self,
        source: SourceId,
        after: Option<Vec<u8>>,
        at_most: u32,
    ) -> JournalFuture<'_, Vec<(Vec<u8>, EntryState)>> {
        Box::pin(async move {
            let read = move |session: &mut crate::tx::View<'_>| {
                known(
                    &mut session.sql,
                    &source,
                    after.as_deref().unwrap_or_default(),
                    at_most,
                )
            };
            Ok(self.inner.read(read).await?)
        })
    }

    fn record_changes(&self, finding: SourceChanges) -> JournalFuture<'_, bool> {
        Box::pin(async move {
            fail_point::fail_point("outside.before_commit");
            let ringing = self.commit_notifier.in_transaction();
            let found = self.inner.write(move |session| {
                let outcome = find(&mut session.sql, &finding);
                ringing.observe_outcome(&outcome);
                outcome
            });
            let found = found.await?;
            fail_point::fail_point("outside.after_commit");
            Ok(!matches!(found, Err(SkipReason::Conflict)))
        })
    }

    fn set_last_error(&self, source: SourceId, trouble: Option<String>) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let write = move |session: &mut crate::tx::Tx<'_>| {
                let params = [source.as_str().into(), trouble.as_deref().into()];
                session.sql.execute(TROUBLE, &params).map(drop)
            };
            Ok(self.inner.write(write).await?)
        })
    }
}

/// Why a scan of a source produced no change.
enum SkipReason {
    /// The scan was stored, but contains no change.
    Quiet,
    /// Nothing was written: the source was modified concurrently or removed.
    Conflict,
}

const LIST: &str = "
    SELECT source_id, kind, path, device, created_at_ms, version, is_initial_scan, last_error,
        (SELECT COUNT(*) FROM source_entry WHERE source_entry.source_id = source.source_id AND content_mark IS NOT NULL)
    FROM source ORDER BY source_id";

fn list(sql: &mut dyn Sql) -> Result<Vec<SourceStatus>> {
    let listed = |mut row: Row| {
        let source = read_source(&mut row)?;
        let entries = row.count("source.entries")?;
        Ok(SourceStatus { source, entries })
    };
    records(sql.query(LIST, &[])?, listed)
}

fn read_source(row: &mut Row) -> Result<Source> {
    Ok(Source {
        source_id: source_id(row)?,
        kind: row.word("source.kind", SourceKind::parse)?,
        path: row.text("source.path")?,
        device: row.text("source.device")?,
        created_at: row.millis("source.created_at_ms")?,
        version: row.count("source.version")?,
        is_fresh: row.flag("source.is_initial_scan")?,
        last_error: row.optional_text("source.last_error")?,
    })
}

fn source_id(row: &mut Row) -> Result<SourceId> {
    SourceId::parse(&row.text("source.source_id")?).map_err(|_| StoreError::Malformed("source.source_id"))
}

const ADD: &str = "
    INSERT INTO source (source_id, kind, path, device, created_at_ms, version, is_initial_scan)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

fn add(sql: &mut dyn Sql, source: &Source, at_most: u32) -> Result<AddSourceOutcome> {
    // Every writer locks the host first, so concurrent additions are serialized.
    outbox::lock(sql)?;
    let all = list(sql)?;
    let is_there = |other: &Source| {
        (other.kind, &other.path, &other.device) == (source.kind, &source.path, &source.device)
    };
    for SourceStatus { source: other, .. } in &all {
        match (other.source_id == source.source_id, is_there(other)) {
            (true, true) => return Ok(AddSourceOutcome::Same(other.clone())),
            (true, false) => return Ok(AddSourceOutcome::Exists),
            (false, true) => return Ok(AddSourceOutcome::Watched(other.source_id.clone())),
            (false, false) => {}
        }
    }
    if u32::try_from(all.len()).is_ok_and(|there| there >= at_most) {
        return Ok(AddSourceOutcome::Full);
    }
    let params = [
        source.source_id.as_str().into(),
        source.kind.as_str().into(),
        source.path.as_str().into(),
        source.device.as_str().into(),
        source.created_at.into(),
        source.version.into(),
        source.is_fresh.into(),
    ];
    exactly_one(sql.execute(ADD, &params)?)?;
    Ok(AddSourceOutcome::New)
}

const ONE: &str = "
    SELECT source_id, kind, path, device, created_at_ms, version, is_initial_scan, last_error FROM source WHERE source_id = ?1";
const REMOVE: &str = "DELETE FROM source WHERE source_id = ?1";
const REMOVE_SEEN: &str = "DELETE FROM source_entry WHERE source_id = ?1";

fn remove(sql: &mut dyn Sql, id: &SourceId) -> Result<Option<Source>> {
    outbox::lock(sql)?;
    let Some(mut row) = at_most_one(sql.query(ONE, &[id.as_str().into()])?) else {
        return Ok(None);
    };
    let source = read_source(&mut row)?;
    sql.execute(REMOVE_SEEN, &[id.as_str().into()])?;
    exactly_one(sql.execute(REMOVE, &[id.as_str().into()])?)?;
    Ok(Some(source))
}

const TROUBLE: &str = "UPDATE source SET last_error = ?2 WHERE source_id = ?1";

const KNOWN: &str = "
    SELECT name, content_mark, size, file_stamp FROM source_entry
    WHERE source_id = ?1 AND name > ?2 AND content_mark IS NOT NULL ORDER BY name LIMIT ?3";

fn known(sql: &mut dyn Sql, id: &SourceId, after: &[u8], at_most: u32) -> Result<Vec<(Vec<u8>, EntryState)>> {
    let read = |mut row: Row| {
        let name = row.bytes("source_entry.name")?;
        let known = EntryState {
            mark: row.bytes("source_entry.content_mark")?,
            size: row.count("source_entry.size")?,
            stamp: row.optional_text("source_entry.file_stamp")?,
        };
        Ok((name, known))
    };
    let params = [id.as_str().into(), after.into(), limit(at_most)];
    records(sql.query(KNOWN, &params)?, read)
}

const MOVE: &str = "
    UPDATE source SET version = version + 1, is_initial_scan = is_initial_scan * ?4
    WHERE source_id = ?1 AND version = ?2 AND created_at_ms = ?3";

/// Stores the result of a scan and its changes, in one transaction.
fn find(sql: &mut dyn Sql, finding: &SourceChanges) -> Result<Result<(), SkipReason>> {
    let place = outbox::lock(sql)?;
    let source = &finding.source;
    let params = [
        source.source_id.as_str().into(),
        source.version.into(),
        source.created_at.into(),
        (!finding.settles).into(),
    ];
    if sql.execute(MOVE, &params)? == 0 {
        return Ok(Err(SkipReason::Conflict));
    }
    let mut told = 0_usize;
    for difference in &finding.differences {
        // Entries found by the initial scan are not changes.
        let change = difference.change.filter(|_| !source.is_fresh);
        put(sql, finding, difference, change.map(|change| (change, &place)))?;
        if let Some(change) = change {
            outbox::append(sql, &committed_change(finding, &place, &difference.name, change))?;
            told += 1;
        }
    }
    if told == 0 {
        return Ok(Err(SkipReason::Quiet));
    }
    outbox::advance(sql, &place)?;
    prune(sql, &source.source_id)?;
    Ok(Ok(()))
}

fn committed_change(
    finding: &SourceChanges,
    place: &OutboxPosition,
    name: &[u8],
    change: EntryChange,
) -> CommittedChange {
    let source = &finding.source;
    let tokens = watch::tokens(source.kind, &source.source_id, name, change);
    CommittedChange {
        seq: place.seq,
        unit: ChangeUnit {
            host: place.host.clone(),
            counter: place.counter,
            payload_type: source.kind.entry_kind().into(),
            payload_id: SourceEntry::id(source.kind, &source.source_id, name).to_string(),
        },
        tokens: tokens.iter().map(Token::key).collect(),
        author: Author::Source,
        operation_id: watch::operation(&source.source_id, source.created_at, source.version),
        at: finding.at,
    }
}

const PUT: &str = "
    INSERT INTO source_entry (record_id, source_id, name, content_mark, size, file_stamp, last_change, seq, at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (record_id) DO UPDATE SET content_mark = excluded.content_mark, size = excluded.size, file_stamp = excluded.file_stamp,
        last_change = excluded.last_change, seq = excluded.seq, at_ms = excluded.at_ms";
const STAMP: &str = "UPDATE source_entry SET file_stamp = ?2, size = ?3 WHERE record_id = ?1";

fn put(
    sql: &mut dyn Sql,
    finding: &SourceChanges,
    difference: &EntryDiff,
    told: Option<(EntryChange, &OutboxPosition)>,
) -> Result<()> {
    let source = &finding.source;
    let id = SourceEntry::id(source.kind, &source.source_id, &difference.name);
    let now = difference.now.as_ref();
    let size = now.map_or(0, |now| now.size);
    let stamp = now.and_then(|now| now.stamp.as_deref());
    if difference.change.is_none() {
        return sql
            .execute(STAMP, &[id.as_str().into(), stamp.into(), size.into()])
            .map(drop);
    }
    let params = [
        id.as_str().into(),
        source.source_id.as_str().into(),
        difference.name.as_slice().into(),
        now.map(|now| now.mark.as_slice()).into(),
        size.into(),
        stamp.into(),
        told.map(|(change, _)| change.as_str()).into(),
        told.map_or(0, |(_, place)| place.seq).into(),
        finding.at.into(),
    ];
    sql.execute(PUT, &params).map(drop)
}

const PRUNE: &str = "
    DELETE FROM source_entry WHERE source_id = ?1 AND content_mark IS NULL AND seq <
        (SELECT seq FROM source_entry WHERE source_id = ?1 AND content_mark IS NULL ORDER BY seq DESC LIMIT 1 OFFSET ?2)";

/// Deletes the oldest removed entries beyond [`DELETED_ENTRIES_MAX`].
fn prune(sql: &mut dyn Sql, id: &SourceId) -> Result<()> {
    sql.execute(PRUNE, &[id.as_str().into(), DELETED_ENTRIES_MAX.into()])
        .map(drop)
}

const ENTRIES_SQLITE: &str = "
    SELECT source_entry.source_id, kind, name, content_mark, size, last_change, at_ms FROM source_entry JOIN source USING (source_id)
    WHERE record_id IN (SELECT value FROM json_each(?1))";
const ENTRIES_POSTGRES: &str = "
    SELECT source_entry.source_id, kind, name, content_mark, size, last_change, at_ms FROM source_entry JOIN source USING (source_id)
    WHERE record_id = ANY (string_to_array(?1, ','))";

/// Returns the fields of source entries by id, one query per page of ids.
pub(super) fn entities(sql: &mut dyn Sql, ids: &[RecordId]) -> Result<BTreeMap<RecordId, Value>> {
    let statement = sql.dialect().pick(ENTRIES_SQLITE, ENTRIES_POSTGRES);
    let mut fields = BTreeMap::new();
    for page in ids.chunks(usize::try_from(ROWS_MAX).unwrap_or(1)) {
        let names = table::listed(sql.dialect(), page);
        for entry in records(sql.query(statement, &[names.as_str().into()])?, read_entry)? {
            fields.insert(
                SourceEntry::id(entry.kind, &entry.source_id, &entry.name),
                entry.fields(),
            );
        }
    }
    Ok(fields)
}

fn read_entry(mut row: Row) -> Result<SourceEntry> {
    Ok(SourceEntry {
        source_id: source_id(&mut row)?,
        kind: row.word("source.kind", SourceKind::parse)?,
        name: row.bytes("source_entry.name")?,
        mark: row.optional_bytes("source_entry.content_mark")?,
        size: row.count("source_entry.size")?,
        change: match row.optional_text("source_entry.last_change")? {
            Some(text) => {
                Some(EntryChange::parse(&text).ok_or(StoreError::Malformed("source_entry.last_change"))?)
            }
            None => None,
        },
        at: row.millis("source_entry.at_ms")?,
    })
}
