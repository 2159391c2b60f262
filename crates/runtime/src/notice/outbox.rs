//! Where notices come from, and how it is noted that one was seen to.

use std::collections::BTreeSet;

use wakeful_core::change::{ChangeKind, ChangeUnitKey, LogicalChangeKey, Token};
use wakeful_core::id::Incarnation;
use wakeful_core::journal::Author;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_ports::journal::CommittedChange;
use wakeful_store::rows::{AgentOutboxRow, OutboxCursor, OutboxCursorRow, SubscriptionKey, SubscriptionRow};
use wakeful_store::{StoreError, Tx};

/// The payload type by which a notice of an agent is named. The journal has no such units.
const AGENT_UNIT: &str = "agent";

/// What one committed transaction says.
#[derive(Debug)]
pub(super) struct OutboxNotice {
    pub(super) key: LogicalChangeKey,
    pub(super) tokens: BTreeSet<Token>,
    pub(super) author: String,
    /// Its place in the journal's outbox, or in the log of the agent that it happened to.
    pub(super) seq: u64,
    pub(super) by: NoticeAuthor,
    /// What changed: kind and id.
    pub(super) records: Vec<(ChangeKind, String)>,
    /// What happened to an agent, in words; none for a change of the journal.
    pub(super) what: Option<String>,
    /// Where it stands among the subscriptions: the change's own place, or the version under which it was told.
    pub(super) stands: SubscriptionCutoff,
}

/// Which subscriptions a notice may concern: those that were made before it. No clock has a say in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum SubscriptionCutoff {
    /// At this place in the journal's outbox.
    InJournal(u64),
    /// Under this version of the subscriptions.
    UnderVersion(u64),
}

/// By what an agent wrote.
#[derive(Debug)]
pub(super) enum NoticeAuthor {
    /// A person wrote.
    Person,
    /// An operation of a run.
    Operation(OperationId),
    /// A run.
    Run(Option<RunKey>),
}

impl OutboxNotice {
    /// The notices of a page of the journal's outbox: one for each transaction.
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
                // As far as anybody can tell, no agent's act precedes what is found outside.
                Author::Person | Author::Source => NoticeAuthor::Person,
                Author::Agent(_) => NoticeAuthor::Operation(first.operation_id),
            },
            records: changes.iter().map(record).collect(),
            what: None,
            stands: SubscriptionCutoff::InJournal(first.seq),
        })
    }

    /// The notice of something that happened to an agent. Its event names it, on every device alike.
    pub(super) fn of_agent(row: &AgentOutboxRow, host: &Incarnation) -> Self {
        let unit = ChangeUnitKey::of(host, row.seq, AGENT_UNIT, row.agent_id.as_str());
        let telling = &row.telling;
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

    /// Whether it came after a subscription was made or taken up again, which does not see what was before.
    pub(super) const fn is_after(&self, row: &SubscriptionRow) -> bool {
        match self.stands {
            SubscriptionCutoff::InJournal(seq) => seq > row.journal_seq,
            SubscriptionCutoff::UnderVersion(version) => version >= row.version,
        }
    }
}

/// The outbox that a notice is from, as it was seen.
#[derive(Debug, Clone)]
pub(super) enum OutboxRef {
    /// The journal's.
    Journal(OutboxCursorRow),
    /// That of the agents.
    Agent(AgentOutboxRow),
}

impl OutboxRef {
    /// Whether a candidate has not been seen to yet.
    pub(super) fn is_left(&self, place: &SubscriptionKey, seq: u64) -> bool {
        let done = match self {
            Self::Journal(row) => row.cursor.done.as_ref().filter(|_| row.cursor.seq == seq),
            Self::Agent(row) => row.done.as_ref(),
        };
        done.is_none_or(|done| place > done)
    }

    /// Whether it has to be written down also where nobody was concerned.
    pub(super) const fn must_be_noted(&self) -> bool {
        match self {
            Self::Journal(row) => row.cursor.done.is_some(),
            Self::Agent(_) => true,
        }
    }

    /// Notes that the notice at this place was seen to, up to a candidate or altogether.
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

    /// The same after that.
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

    /// How the journal's outbox stands; that of the agents keeps no row.
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
