//! Verifies logs: reads a page while the previous one is checked on another core.

use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;
use wakeful_core::proof::chain::{ChainPosition, ChainSummary, ChainVerifier, IncarnationStart, VerifyError};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::Fingerprint;
use wakeful_core::time::Millis;
use wakeful_store::rows::EventRow;
use wakeful_store::{ROWS_MAX, Store, StoreError, View};

use super::audit::{AuditReport, unreadable};
use super::link;
use crate::EngineError;

/// Events read at once: enough that reading and checking overlap, and a few megabytes at most.
const PAGE: u32 = 2_000;

/// Agents read at once.
const AGENTS_PAGE: u32 = 1_000;

/// What to verify, and against what.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// Verify only this agent's log.
    pub agent: Option<AgentId>,
    /// Verify only events from this time on. Earlier ones are trusted.
    pub since: Option<Millis>,
    /// Signed heads that were kept elsewhere.
    pub heads: Vec<SignedHead>,
    /// A hash that was kept elsewhere: one event must have it.
    pub hash: Option<Digest>,
    /// The key that must have signed every log.
    pub key: Option<Fingerprint>,
    /// Whether blobs and rows are compared as well.
    pub contents: bool,
}

/// The overall result, in addition to the verdict on each log.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// Whether an event has the requested hash; true if none was requested.
    pub is_found: bool,
    /// The findings outside the logs.
    pub audit: AuditReport,
}

/// The result for one agent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogVerdict {
    pub agent_id: AgentId,
    /// A summary of the log up to the first error.
    pub seen: ChainSummary,
    /// The newest signed head that was read.
    pub newest_head: Option<SignedHead>,
    /// The first error.
    pub first_error: Option<VerifyError>,
}

/// Verifies one log or all and reports on each; compares blobs and rows if requested.
///
/// A daemon may write meanwhile. Events never change, so a log is verified up to its end at the start. Rows
/// do change, so each part of them is compared with the events of one snapshot (see [`AuditReport`]).
pub async fn verify(
    store: &Store,
    wanted: &VerifyOptions,
    mut tell: impl FnMut(LogVerdict),
) -> Result<VerifyReport, EngineError> {
    let mut verified = VerifyReport {
        is_found: wanted.hash.is_none(),
        ..VerifyReport::default()
    };
    let mut given = wanted.heads.clone();
    if let Some(agent) = &wanted.agent {
        let name = agent.clone();
        let known = store.read(move |view| view.log_end(&name)).await?;
        known.ok_or_else(|| EngineError::UnknownAgent(agent.clone()))?;
        given.retain(|head| head.agent_id == *agent);
        tell(
            wanted
                .verify_log(store, agent, take(&mut given, agent), &mut verified)
                .await?,
        );
        return Ok(verified);
    }
    let mut after: Option<AgentId> = None;
    loop {
        let page = store
            .read(move |view| view.logs(after.as_ref(), AGENTS_PAGE))
            .await?;
        let Some((last, _)) = page.last() else { break };
        after = Some(last.clone());
        for (agent, _) in &page {
            let walked = wanted
                .verify_log(store, agent, take(&mut given, agent), &mut verified)
                .await;
            match walked {
                Ok(verdict) => tell(verdict),
                Err(error) if wanted.contents => verified.audit.add([unreadable(agent, error)?]),
                Err(error) => return Err(error),
            }
        }
    }
    // The remaining heads belong to agents whose logs are missing.
    while let Some(agent) = given.first().map(|head| head.agent_id.clone()) {
        let heads = take(&mut given, &agent);
        let mut walk = ChainVerifier::new(agent.clone(), Vec::new(), ChainPosition::BEGINNING);
        let flaw = heads.iter().find_map(|head| walk.head(head).err());
        tell(verdict(agent, &walk, None, flaw));
    }
    if wanted.contents {
        verified.audit.whole(store).await?;
    }
    Ok(verified)
}

/// Removes the heads of one agent from the given ones and returns them, oldest first.
fn take(given: &mut Vec<SignedHead>, agent: &AgentId) -> Vec<SignedHead> {
    let mut heads: Vec<SignedHead> = given.extract_if(.., |head| head.agent_id == *agent).collect();
    heads.sort_by_key(|head| head.seq);
    heads
}

fn verdict(
    agent_id: AgentId,
    walk: &ChainVerifier,
    newest_head: Option<SignedHead>,
    first_error: Option<VerifyError>,
) -> LogVerdict {
    let seen = walk.seen().clone();
    LogVerdict {
        agent_id,
        seen,
        newest_head,
        first_error,
    }
}

/// The bounds of a log, read before it is verified: its expected end, and whether there are events after
/// it.
struct LogBounds {
    start: ChainPosition,
    end: ChainPosition,
    lives: Vec<IncarnationStart>,
    is_longer: bool,
    beyond: Option<SignedHead>,
}

fn frame(view: &mut View<'_>, agent: &AgentId, since: Option<Millis>) -> Result<LogBounds, StoreError> {
    let end = view.log_end(agent)?.unwrap_or(ChainPosition::BEGINNING);
    let first = match since {
        Some(since) => view.first_event_since(agent, since)?.unwrap_or(end.seq + 1),
        None => 1,
    };
    let before = view.events_before(agent, first, 1)?.pop();
    let before = before.filter(|_| first > 1);
    Ok(LogBounds {
        start: before.map_or(ChainPosition::BEGINNING, |event| ChainPosition {
            seq: event.seq,
            hash: event.hash,
        }),
        end,
        lives: view.incarnations(agent)?,
        is_longer: !view.events(agent, end.seq, 1)?.is_empty(),
        beyond: view.signed_heads(agent, end.seq, 1)?.pop(),
    })
}

/// Consecutive events, and the heads signed within them.
struct LogPage {
    events: Vec<EventRow>,
    heads: Vec<SignedHead>,
}

fn page(view: &mut View<'_>, agent: &AgentId, after: u64, end: u64) -> Result<LogPage, StoreError> {
    let mut events = view.events(agent, after, PAGE)?;
    events.retain(|event| event.seq <= end);
    let heads = match events.last() {
        Some(last) => {
            let mut heads = view.signed_heads(agent, after, ROWS_MAX)?;
            heads.retain(|head| head.seq <= last.seq);
            heads
        }
        None => Vec::new(),
    };
    Ok(LogPage { events, heads })
}

/// The state of verifying a log.
struct LogWalk {
    walk: ChainVerifier,
    given: Vec<SignedHead>,
    hash: Option<Digest>,
    is_found: bool,
    newest: Option<SignedHead>,
}

impl LogWalk {
    fn pass(&mut self, page: &LogPage) -> Result<(), VerifyError> {
        let mut heads = page.heads.iter().peekable();
        for event in &page.events {
            self.walk.link(&link(event))?;
            self.is_found |= self.hash == Some(event.hash);
            while let Some(head) = heads.next_if(|head| head.seq <= event.seq) {
                self.walk.head(head)?;
                self.newest = Some(head.clone());
            }
            while self.given.first().is_some_and(|head| head.seq <= event.seq) {
                self.walk.head(&self.given.remove(0))?;
            }
        }
        Ok(())
    }

    /// Performs the checks that are possible only at the end.
    fn arrive(&mut self, frame: &LogBounds, key: Option<Fingerprint>) -> Result<(), VerifyError> {
        self.walk.end(frame.end)?;
        if frame.is_longer {
            let head = frame.end.seq;
            return Err(VerifyError::Long { head });
        }
        let mut later = frame.beyond.iter().chain(&self.given);
        later.try_for_each(|head| self.walk.head(head))?;
        key.map_or(Ok(()), |key| self.walk.signed_by(key))
    }
}

impl VerifyOptions {
    /// Verifies the log of one agent.
    async fn verify_log(
        &self,
        store: &Store,
        agent: &AgentId,
        given: Vec<SignedHead>,
        verified: &mut VerifyReport,
    ) -> Result<LogVerdict, EngineError> {
        let (name, since) = (agent.clone(), self.since);
        let frame = store.read(move |view| frame(view, &name, since)).await?;
        let end = frame.end.seq;
        let mut journey = LogWalk {
            walk: ChainVerifier::new(agent.clone(), frame.lives.clone(), frame.start),
            given,
            hash: self.hash,
            is_found: false,
            newest: None,
        };
        let read = |after: u64| {
            let name = agent.clone();
            store.read(move |view| page(view, &name, after, end))
        };
        let mut next = read(frame.start.seq).await?;
        let mut flaw = None;
        while let (None, Some(last)) = (&flaw, next.events.last().map(|event| event.seq)) {
            let checking = tokio::task::spawn_blocking(move || {
                let passed = journey.pass(&next);
                (journey, passed)
            });
            let (checked, following) = tokio::join!(checking, read(last));
            // A panic there is a bug in Wakeful; the state of the log is unknown then.
            let (back, passed) = checked.map_err(|_| EngineError::Panicked(agent.clone()))?;
            (journey, flaw, next) = (back, passed.err(), following?);
        }
        let flaw = flaw.or_else(|| journey.arrive(&frame, self.key).err());
        if self.contents && flaw.is_none() {
            verified.audit.log(store, agent, frame.start.seq).await?;
        }
        let LogWalk {
            walk,
            newest,
            is_found,
            ..
        } = journey;
        verified.is_found |= is_found;
        Ok(verdict(agent.clone(), &walk, newest, flaw))
    }
}
