//! The outboxes that notices come from, and how a notice is recorded as dispatched.

use std::collections::BTreeSet;

use wakeful_core::change::{ChangeKind, ChangeUnitKey, LogicalChangeKey, Token};
use wakeful_core::id::Incarnation;
use wakeful_core::journal::Author;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_ports::journal::CommittedChange;
use wakeful_store::rows::{AgentOutboxRow, OutboxCursor, OutboxCursorRow, SubscriptionKey, SubscriptionRow};
use wakeful_store::{StoreError, Tx};

/// The payload type in the key of an agent notice. The journal has no such units.
const AGENT_UNIT: &str = "agent";

/// The description of one committed transaction.
#[derive(Debug)]
pub(super) struct OutboxNotice {
    pub(super) key: LogicalChangeKey,
    pub(super) tokens: BTreeSet<Token>,
    pub(super) author: String,
    /// The position in the journal's outbox, or in the log of the agent.
    pub(super) seq: u64,
    pub(super) by: NoticeAuthor,
    /// The changed records: kind and id.
    pub(super) records: Vec<(ChangeKind, String)>,
    /// A description of what happened to an agent; none for a journal change.
    pub(super) what: Option<String>,
    /// The position or version that decides which subscriptions the notice may match.
    pub(super) stands: SubscriptionCutoff,
}

/// A notice matches only subscriptions created before it. The order does not depend on clocks.
#[derive(Debug, Clone, Copy)]
pub(super) enum SubscriptionCutoff {
    /// The position in the journal's outbox.
    InJournal(u64),
    /// The version of the subscriptions.
    UnderVersion(u64),
}

/// The author of a change.
#[derive(Debug)]
pub(super) enum NoticeAuthor {
    Person,
    /// An operation of a run.
    Operation(OperationId),
    Run(Option<RunKey>),
}

impl OutboxNotice {
    /// Groups a page of the journal's outbox into notices, one per transaction.
    pub(super) fn of_journal(changes: &[CommittedChange]) -> Vec<Self> {
        let transactions = changes.chunk_by(|one, next| one.seq == next.seq);
        transactions.filter_map(Self::of_transaction).collect()
    }

    fn of_transaction(changes: &[CommittedChange]) -> Option<Self> {
        let first = changes.first()?;
        let keys = changes.iter().flat_map(|change| &change.tokens);
        let record = |change: &CommittedChange| (change.unit.payload_type, change.unit.payload_id.clone());
        Some(Self {
            key: LogicalChangeKey::of(changes.iter().map(|change| &change.unit)),
            tokens: keys.filter_map(|key| Token::parse_key(key)).collect(),
            author: first.author.to_text(),
            seq: first.seq,
            by: match &first.author {
                // No agent's act is known to precede changes found by a watcher.
                Author::Person | Author::Source => NoticeAuthor::Person,
                Author::Agent(_) => NoticeAuthor::Operation(first.operation_id),
            },
            records: changes.iter().map(record).collect(),
            what: None,
            stands: SubscriptionCutoff::InJournal(first.seq),
        })
    }

    /// The notice of an agent's event. Its key derives from the event, so it is the same on every device.
    pub(super) fn of_agent(row: &AgentOutboxRow, host: &Incarnation) -> Self {
        let unit = ChangeUnitKey::of(host, row.seq, AGENT_UNIT, row.agent_id.as_str());
        let telling = &row.agent_notice;
        Self {
            key: LogicalChangeKey::of_keys(&BTreeSet::from([unit])),
            tokens: telling
                .tokens
                .iter()
                .filter_map(|key| Token::parse_key(key))
                .collect(),
            author: telling.author.clone(),
            seq: row.seq,
            by: match Author::parse(&telling.author) {
                Some(Author::Person | Author::Source) => NoticeAuthor::Person,
                Some(Author::Agent(_)) | None => NoticeAuthor::Run(telling.run_key),
            },
            records: Vec::new(),
            what: Some(telling.description.clone()),
            stands: SubscriptionCutoff::UnderVersion(row.version),
        }
    }

    /// Whether the notice came after a subscription was created or resumed; earlier changes are not
    /// matched.
    pub(super) const fn is_after(&self, row: &SubscriptionRow) -> bool {
        match self.stands {
            SubscriptionCutoff::InJournal(seq) => seq > row.journal_seq,
            SubscriptionCutoff::UnderVersion(version) => version >= row.version,
        }
    }
}

/// The outbox of a notice, with the row as it was read.
#[derive(Debug, Clone)]
pub(super) enum OutboxRef {
    Journal(OutboxCursorRow),
    Agent(AgentOutboxRow),
}

impl OutboxRef {
    /// Whether a candidate is not yet dispatched.
    pub(super) fn is_left(&self, place: &SubscriptionKey, seq: u64) -> bool {
        let done = match self {
            Self::Journal(row) => row.cursor.done.as_ref().filter(|_| row.cursor.seq == seq),
            Self::Agent(row) => row.done.as_ref(),
        };
        done.is_none_or(|done| place > done)
    }

    /// Whether the notice must be recorded as dispatched even if no subscription matched.
    pub(super) const fn must_be_noted(&self) -> bool {
        match self {
            Self::Journal(row) => row.cursor.done.is_some(),
            Self::Agent(_) => true,
        }
    }

    /// Records the notice at this position as dispatched, completely or up to a candidate.
    pub(super) fn advance(
        &self,
        tx: &mut Tx<'_>,
        seq: u64,
        next: Option<&SubscriptionKey>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Journal(row) => tx.advance_outbox_cursor(row, &cursor(seq, next.cloned())),
            Self::Agent(row) => tx.advance_agent_notice(row, next),
        }
    }

    /// The reference after advancing.
    pub(super) fn moved(&self, seq: u64, next: Option<SubscriptionKey>) -> Self {
        match self {
            Self::Journal(row) => Self::Journal(OutboxCursorRow {
                cursor: cursor(seq, next),
                ..row.clone()
            }),
            Self::Agent(row) => Self::Agent(AgentOutboxRow {
                done: next,
                ..row.clone()
            }),
        }
    }

    /// The cursor row of the journal's outbox; the agent outbox has none.
    pub(super) fn into_row(self) -> OutboxCursorRow {
        match self {
            Self::Journal(row) => row,
            Self::Agent(_) => OutboxCursorRow::default(),
        }
    }
}

const fn cursor(seq: u64, done: Option<SubscriptionKey>) -> OutboxCursor {
    OutboxCursor { seq, done }
}
