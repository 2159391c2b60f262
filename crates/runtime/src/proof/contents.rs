//! Which contents a run names: what was said in it, and what its journal speaks of.

use std::collections::BTreeSet;

use serde_json::Value;
use wakeful_core::blob::BlobHash;
use wakeful_core::key::Digest;
use wakeful_ports::records::RunRow;
use wakeful_ports::store::{Store, StoreError, View};

use crate::EngineError;

/// Rows read at once.
const PAGE: u32 = 500;

/// The contents of a run, and whether its journal was erased.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) hashes: BTreeSet<BlobHash>,
    pub(super) is_erased: bool,
}

/// Reads them all. Hashes that are no contents are among them: a journal names operations and actions alike.
pub(super) async fn contents<S: Store>(store: &S, run: &RunRow) -> Result<Contents, EngineError> {
    let wanted = run.clone();
    let said = store.read(move |view| said(view, &wanted)).await?;
    let mut found = Contents {
        hashes: said,
        is_erased: false,
    };
    let (key, mut after) = (run.run_key, 0);
    loop {
        let page = store.read(move |view| view.journal(&key, after, PAGE)).await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = last.ordinal;
        for row in &page {
            found.is_erased |= row.body.is_empty();
            let body: Value = serde_json::from_slice(&row.body).unwrap_or_default();
            gather(&body, &mut found.hashes);
        }
    }
}

fn said(view: &mut dyn View, run: &RunRow) -> Result<BTreeSet<BlobHash>, StoreError> {
    let message = view.message(&run.run_key)?;
    let mut hashes: BTreeSet<BlobHash> = message.map(|message| message.body).into_iter().collect();
    let mut after = 0;
    loop {
        let page = view.contents(run, after, PAGE)?;
        let Some((last, _)) = page.last() else {
            return Ok(hashes);
        };
        after = *last;
        hashes.extend(page.into_iter().map(|(_, hash)| hash));
    }
}

fn gather(value: &Value, hashes: &mut BTreeSet<BlobHash>) {
    match value {
        Value::String(text) => hashes.extend(Digest::from_hex(text).map(BlobHash)),
        Value::Array(items) => items.iter().for_each(|item| gather(item, hashes)),
        Value::Object(members) => members.values().for_each(|member| gather(member, hashes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
