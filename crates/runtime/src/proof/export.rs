//! Exports a run as a bundle: everything that proves it, without secrets.

use std::collections::BTreeSet;

use wakeful_core::blob::BlobHash;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::proof::bundle::{
    BlobBody, BlobLine, BundleFooter, BundleHeader, BundleLine, EVENTS_MAX, EventLine, FORMAT,
    FORMAT_VERSION, ReplayInfo, RunLogLine, WithheldReason, artifacts_in,
};
use wakeful_core::proof::chain::{ChainPosition, IncarnationStart};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::replay::{Replay, ReplayMismatch, is_machine_event};
use wakeful_core::proof::signing::DeviceKey;
use wakeful_core::report::EventKind;
use wakeful_core::time::Millis;
use wakeful_store::rows::{EventRow, RunLogRow, RunRow};
use wakeful_store::{Store, StoreError, View};

use super::replay::{ReplayedRun, again, has_ended};
use crate::EngineError;

/// Rows read at once.
const PAGE: u32 = 1_000;

/// Maximum distance in events between the run and a signed head that covers it; beyond it a new signature
/// is shorter.
const HEADERS_AFTER_MAX: u64 = 10_000;

/// Maximum number of keys whose heads are exported with one run.
const HEADS_MAX: usize = 16;

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The engine returned an error.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No signed head covers the run, and no key is available to sign one.
    #[error("no signed head covers the run, and this home has no key to sign one with")]
    Unsigned,
    /// The run is too long for a bundle.
    #[error("the log has more than {EVENTS_MAX} events from the run's first to the next signed head")]
    TooLong,
    /// The writer of the lines failed.
    #[error("{0}")]
    Refused(String),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportSummary {
    /// The number of lines by kind.
    pub lines: BundleFooter,
    /// The number of blobs, payloads and run logs withheld because they contain a secret.
    pub withheld: u64,
}

pub struct ExportOptions<'a> {
    /// The key that signs a head if no signed head is near enough.
    pub key: Option<&'a DeviceKey>,
    /// Whether a text may be exported: false if it contains a secret.
    pub may_leave: &'a mut (dyn FnMut(&str) -> bool + Send),
    /// Writes a line. The error explains why writing failed.
    pub write: &'a mut (dyn FnMut(BundleLine) -> Result<(), String> + Send),
}

/// Exports an ended run, line by line.
pub async fn export(
    store: &Store,
    run: RunKey,
    leaving: ExportOptions<'_>,
    now: Millis,
) -> Result<ExportSummary, ExportError> {
    let found = store.read(move |view| Ok((view.run(&run)?, view.is_pruned(&run)?)));
    let (row, is_pruned) = found.await?;
    let row = row.ok_or(EngineError::UnknownRun(run))?;
    if !has_ended(&row) {
        return Err(EngineError::NotEnded { run }.into());
    }
    if is_pruned {
        return Err(EngineError::RunPruned { run }.into());
    }
    let ran = again(store, &row).await?;
    let wanted = row.clone();
    let span = store.read(move |view| span(view, &wanted)).await?;
    let span = span
        .ok_or(EngineError::UnknownRun(run))?
        .signed(leaving.key, &row.agent_id, now)?;
    let mut export = Exporter {
        store,
        row,
        leaving,
        exported: ExportSummary {
            lines: BundleFooter::default(),
            withheld: 0,
        },
    };
    export.all(span, ran, now).await
}

/// The position of a run in the log.
struct LogSpan {
    first: u64,
    last: u64,
    after: ChainPosition,
    /// The hash of the run's last event.
    last_hash: Digest,
    lives: Vec<IncarnationStart>,
    heads: Vec<SignedHead>,
}

fn span(view: &mut View<'_>, row: &RunRow) -> Result<Option<LogSpan>, StoreError> {
    let agent = &row.agent_id;
    let Some((first, last)) = view.run_span(agent, &row.run_key)? else {
        return Ok(None);
    };
    let before = view.events_before(agent, first, 1)?.pop();
    let last_event = view.events(agent, last.saturating_sub(1), 1)?.pop();
    let heads = view.signed_heads(agent, last.saturating_sub(1), PAGE)?;
    let nearest = heads.first().map(|head| head.seq);
    Ok(last_event.map(|event| LogSpan {
        first,
        last,
        after: before.map_or(ChainPosition::BEGINNING, |event| ChainPosition {
            seq: event.seq,
            hash: event.hash,
        }),
        last_hash: event.hash,
        lives: Vec::new(),
        heads: heads
            .into_iter()
            .filter(|head| Some(head.seq) == nearest)
            .take(HEADS_MAX)
            .collect(),
    }))
    .and_then(|span| {
        let lives = view.incarnations(agent)?;
        Ok(span.map(|span| LogSpan { lives, ..span }))
    })
}

impl LogSpan {
    /// The span with a head that covers it.
    fn signed(self, key: Option<&DeviceKey>, agent: &AgentId, now: Millis) -> Result<Self, ExportError> {
        let nearest = self.heads.first().map(|head| head.seq);
        let is_near = nearest.is_some_and(|seq| seq - self.last <= HEADERS_AFTER_MAX);
        let span = match (key, is_near, nearest) {
            (_, true, _) | (None, false, Some(_)) => self,
            (Some(key), false, _) => {
                let end = ChainPosition {
                    seq: self.last,
                    hash: self.last_hash,
                };
                let head = SignedHead::sign(key, agent.clone(), end, now);
                let heads = vec![head];
                Self { heads, ..self }
            }
            (None, false, None) => return Err(ExportError::Unsigned),
        };
        if span.end() - span.after.seq > EVENTS_MAX {
            return Err(ExportError::TooLong);
        }
        Ok(span)
    }

    fn end(&self) -> u64 {
        self.heads.first().map_or(self.last, |head| head.seq)
    }

    /// The incarnations that wrote these events; the first is listed only as the writer of the first event.
    fn lives(&self) -> Vec<IncarnationStart> {
        let (first, end) = (self.first, self.end());
        let begun = self.lives.iter().rev().find(|life| life.first_seq <= first);
        let begun = begun.map(|life| IncarnationStart {
            first_seq: first,
            ..life.clone()
        });
        let later = self.lives.iter();
        let later = later.filter(|life| (first.saturating_add(1)..=end).contains(&life.first_seq));
        begun.into_iter().chain(later.cloned()).collect()
    }
}

struct Exporter<'a, 'b> {
    store: &'a Store,
    row: RunRow,
    leaving: ExportOptions<'b>,
    exported: ExportSummary,
}

impl Exporter<'_, '_> {
    async fn all(
        &mut self,
        span: LogSpan,
        ran: ReplayedRun,
        now: Millis,
    ) -> Result<ExportSummary, ExportError> {
        let (first, end) = (span.first, span.end());
        let replay = self.what_may_leave(ran, first, end).await?;
        self.exported.withheld += u64::from(replay.is_none());
        let opening = BundleHeader {
            format: FORMAT.to_owned(),
            version: FORMAT_VERSION,
            agent_id: self.row.agent_id.clone(),
            run_key: self.row.run_key,
            again: replay.is_some().then(|| ReplayInfo {
                machine: self.row.machine.clone(),
                machine_version: self.row.machine_version,
                transitions: self.row.version,
                state: self.row.state.clone(),
            }),
            after: span.after,
            lives: span.lives(),
            exported_at: now,
        };
        self.write(BundleLine::Opening(Box::new(opening)))?;
        self.events(first, end).await?;
        for head in span.heads {
            self.write(BundleLine::Head(head))?;
        }
        if let Some(replay) = replay {
            self.journal().await?;
            self.blobs(replay.contents()).await?;
        }
        let lines = self.exported.lines;
        self.write(BundleLine::Closing(lines))?;
        Ok(self.exported)
    }

    /// The run with its run log and blobs, if they may be exported and the exported events bind them.
    /// Otherwise only the log is exported: unbound data proves nothing.
    async fn what_may_leave(
        &mut self,
        ran: ReplayedRun,
        first: u64,
        end: u64,
    ) -> Result<Option<Replay>, ExportError> {
        let is_held = match ran.found {
            Ok(ties) => ties.hold(),
            Err(ReplayMismatch::NoState(_)) => false,
            // The check of the written lines reports the error, and nothing is exported.
            Err(_) => true,
        };
        let may = is_held && self.journal_may_leave().await? && self.events_may_leave(first, end).await?;
        Ok(ran.replay.filter(|_| may))
    }

    /// Whether the payloads of the events that bind the run log may be exported.
    async fn events_may_leave(&mut self, first: u64, end: u64) -> Result<bool, ExportError> {
        let mut after = first.saturating_sub(1);
        while after < end {
            let page = self.events_page(after).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            let own = page
                .iter()
                .filter(|event| event.run_key == Some(self.row.run_key));
            for event in own.filter(|event| is_holding(&event.kind)) {
                let payload = event.payload.as_ref();
                let text = payload.map(|(payload, _)| String::from_utf8_lossy(payload));
                if text.is_some_and(|text| !(self.leaving.may_leave)(&text)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn events_page(&self, after: u64) -> Result<Vec<EventRow>, ExportError> {
        let agent = self.row.agent_id.clone();
        let page = self.store.read(move |view| view.events(&agent, after, PAGE));
        Ok(page.await?)
    }

    fn write(&mut self, line: BundleLine) -> Result<(), ExportError> {
        (self.leaving.write)(line).map_err(ExportError::Refused)
    }

    /// Whether the inputs of the run may be exported. It is decided for all of them together: half a run
    /// log proves nothing.
    async fn journal_may_leave(&mut self) -> Result<bool, ExportError> {
        if !(self.leaving.may_leave)(&self.row.state) {
            return Ok(false);
        }
        let mut after = 0;
        loop {
            let page = self.journal_page(after).await?;
            let Some(last) = page.last() else {
                return Ok(true);
            };
            after = last.ordinal;
            for row in &page {
                if !(self.leaving.may_leave)(&String::from_utf8_lossy(&row.body)) {
                    return Ok(false);
                }
            }
        }
    }

    async fn journal_page(&self, after: i64) -> Result<Vec<RunLogRow>, ExportError> {
        let run = self.row.run_key;
        Ok(self
            .store
            .read(move |view| view.run_log(&run, after, PAGE))
            .await?)
    }

    async fn events(&mut self, first: u64, end: u64) -> Result<(), ExportError> {
        let mut after = first.saturating_sub(1);
        while after < end {
            let page = self.events_page(after).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for event in page.into_iter().filter(|event| event.seq <= end) {
                let line = self.event(event);
                self.exported.lines.events += 1;
                self.write(BundleLine::Event(line))?;
            }
        }
        Ok(())
    }

    /// Keeps only the headers of other runs' events; the chain needs no more.
    fn event(&mut self, event: EventRow) -> EventLine {
        let own = event.run_key == Some(self.row.run_key);
        let payload = event.payload.filter(|_| own).and_then(|(payload, salt)| {
            let payload = String::from_utf8(payload).ok()?;
            if (self.leaving.may_leave)(&payload) {
                return Some((payload, Digest::from_bytes(salt)));
            }
            self.exported.withheld += 1;
            None
        });
        EventLine {
            seq: event.seq,
            own,
            kind: event.kind,
            at: event.at,
            hash: event.hash,
            payload_hash: event.payload_hash,
            policy_version: event.policy_version,
            payload,
        }
    }

    async fn journal(&mut self) -> Result<(), ExportError> {
        let mut after = 0;
        loop {
            let page = self.journal_page(after).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.ordinal;
            for row in page {
                self.exported.lines.journal += 1;
                self.write(BundleLine::Journal(RunLogLine {
                    ordinal: row.ordinal,
                    body: String::from_utf8_lossy(&row.body).into_owned(),
                    reads_hash: row.reads_hash,
                    state_hash: row.state_hash,
                    effects_hash: row.effects_hash,
                    at: row.at,
                }))?;
            }
        }
    }

    /// Exports each blob that the run references, or the reason why it is missing.
    async fn blobs(&mut self, named: &BTreeSet<BlobHash>) -> Result<(), ExportError> {
        let mut all = named.clone();
        for hash in named {
            // References in a withheld blob are not followed.
            if let Some(bytes) = self.content(*hash).await?.filter(|bytes| self.may_leave(bytes)) {
                all.extend(artifacts_in(&bytes));
            }
        }
        for hash in all {
            let body = match self.content(hash).await? {
                None => BlobBody::Withheld(WithheldReason::Gone),
                Some(bytes) if !self.may_leave(&bytes) => BlobBody::Withheld(WithheldReason::Secret),
                Some(bytes) => match String::from_utf8(bytes) {
                    Ok(text) => BlobBody::Text(text),
                    Err(error) => BlobBody::Hex(hex(error.as_bytes())),
                },
            };
            self.exported.withheld += u64::from(matches!(body, BlobBody::Withheld(_)));
            self.exported.lines.blobs += 1;
            self.write(BundleLine::Blob(BlobLine { hash, body }))?;
        }
        Ok(())
    }

    async fn content(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, ExportError> {
        Ok(self.store.read(move |view| view.blob(&hash)).await?)
    }

    fn may_leave(&mut self, bytes: &[u8]) -> bool {
        (self.leaving.may_leave)(&String::from_utf8_lossy(bytes))
    }
}

/// Whether events of this kind may bind a part of the run log.
fn is_holding(kind: &str) -> bool {
    EventKind::parse(kind).is_some_and(|kind| is_machine_event(kind) || kind == EventKind::WakeDecided)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
