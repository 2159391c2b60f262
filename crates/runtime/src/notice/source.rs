//! Where notices come from, and how it is noted that one was seen to.

use std::collections::BTreeSet;

use wakeful_core::change::{ChangeKind, LogicalChangeKey, Token, UnitKey};
use wakeful_core::id::Incarnation;
use wakeful_core::journal::Author;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_ports::journal::Change;
use wakeful_store::rows::{AlertRow, Cursor, Place, SubscriptionRow, TellingRow};
use wakeful_store::{StoreError, Tx};

/// The payload type by which a notice of an agent is named. The journal has no such units.
const AGENT_UNIT: &str = "agent";

/// What one committed transaction says.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) key: LogicalChangeKey,
    pub(super) tokens: BTreeSet<Token>,
    pub(super) author: String,
    /// Its place in the journal's outbox, or in the log of the agent that it happened to.
    pub(super) seq: u64,
    pub(super) by: By,
    /// What changed: kind and id.
    pub(super) records: Vec<(ChangeKind, String)>,
    /// What happened to an agent, in words; none for a change of the journal.
    pub(super) what: Option<String>,
    /// Where it stands among the subscriptions: the change's own place, or the version under which it was told.
    pub(super) stands: Stands,
}

/// Which subscriptions a notice may concern: those that were made before it. No clock has a say in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stands {
    /// At this place in the journal's outbox.
    InJournal(u64),
    /// Under this version of the subscriptions.
    UnderVersion(u64),
}

/// By what an agent wrote.
#[derive(Debug)]
pub(super) enum By {
    /// A person wrote.
    Person,
    /// An operation of a run.
    Operation(OperationId),
    /// A run.
    Run(Option<RunKey>),
}

impl Notice {
    /// The notices of a page of the journal's outbox: one for each transaction.
    pub(super) fn of_journal(changes: &[Change]) -> Vec<Self> {
        let transactions = changes.chunk_by(|one, next| one.seq == next.seq);
        transactions.filter_map(Self::of_transaction).collect()
    }

    fn of_transaction(changes: &[Change]) -> Option<Self> {
        let first = changes.first()?;
        let keys = changes.iter().flat_map(|change| &change.tokens);
        let record = |change: &Change| (change.unit.payload_type, change.unit.payload_id.clone());
        Some(Self {
            key: LogicalChangeKey::of(changes.iter().map(|change| &change.unit)),
            tokens: keys.filter_map(|key| Token::parse_key(key)).collect(),
            author: first.author.to_text(),
            seq: first.seq,
            by: match &first.author {
                // As far as anybody can tell, no agent's act precedes what is found outside.
                Author::Person | Author::Outside => By::Person,
                Author::Agent(_) => By::Operation(first.operation_id),
            },
            records: changes.iter().map(record).collect(),
            what: None,
            stands: Stands::InJournal(first.seq),
        })
    }

    /// The notice of something that happened to an agent. Its event names it, on every device alike.
    pub(super) fn of_agent(row: &TellingRow, host: &Incarnation) -> Self {
        let unit = UnitKey::of(host, row.seq, AGENT_UNIT, row.agent_id.as_str());
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
                Some(Author::Person | Author::Outside) => By::Person,
                Some(Author::Agent(_)) | None => By::Run(telling.run_key),
            },
            records: Vec::new(),
            what: Some(telling.what.clone()),
            stands: Stands::UnderVersion(row.version),
        }
    }

    /// Whether it came after a subscription was made or taken up again, which does not see what was before.
    pub(super) const fn is_after(&self, row: &SubscriptionRow) -> bool {
        match self.stands {
            Stands::InJournal(seq) => seq > row.journal_seq,
            Stands::UnderVersion(version) => version >= row.version,
        }
    }
}

/// The outbox that a notice is from, as it was seen.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    /// The journal's.
    Journal(AlertRow),
    /// That of the agents.
    Telling(TellingRow),
}

impl Seen {
    /// Whether a candidate has not been seen to yet.
    pub(super) fn is_left(&self, place: &Place, seq: u64) -> bool {
        let done = match self {
            Self::Journal(row) => row.cursor.done.as_ref().filter(|_| row.cursor.seq == seq),
            Self::Telling(row) => row.done.as_ref(),
        };
        done.is_none_or(|done| place > done)
    }

    /// Whether it has to be written down also where nobody was concerned.
    pub(super) const fn must_be_noted(&self) -> bool {
        match self {
            Self::Journal(row) => row.cursor.done.is_some(),
            Self::Telling(_) => true,
        }
    }

    /// Notes that the notice at this place was seen to, up to a candidate or altogether.
    pub(super) fn advance(&self, tx: &mut Tx<'_>, seq: u64, next: Option<&Place>) -> Result<(), StoreError> {
        match self {
            Self::Journal(row) => tx.move_cursor(row, &cursor(seq, next.cloned())),
            Self::Telling(row) => tx.see_to_telling(row, next),
        }
    }

    /// The same after that.
    pub(super) fn moved(&self, seq: u64, next: Option<Place>) -> Self {
        match self {
            Self::Journal(row) => Self::Journal(AlertRow {
                cursor: cursor(seq, next),
                ..row.clone()
            }),
            Self::Telling(row) => Self::Telling(TellingRow {
                done: next,
                ..row.clone()
            }),
        }
    }

    /// How the journal's outbox stands; that of the agents keeps no row.
    pub(super) fn into_row(self) -> AlertRow {
        match self {
            Self::Journal(row) => row,
            Self::Telling(_) => AlertRow::default(),
        }
    }
}

const fn cursor(seq: u64, done: Option<Place>) -> Cursor {
    Cursor { seq, done }
}
