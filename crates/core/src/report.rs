//! The events of an agent's log, chained by hash so that the log is tamper-evident.
//!
//! An event's header contains only the salted hash of its payload. Erasing the payload and its salt
//! therefore leaves the chain valid and the text unguessable. Module [`present`] formats events for people.

pub mod payload;
pub mod present;

pub use self::payload::EventKind;
use self::payload::{EventBody, Payload};
use crate::audit::{self, AuditContent};
use crate::id::{AgentId, Incarnation, PolicyVersion};
use crate::json::NotCanonical;
use crate::key::{Digest, RunKey, derived_hash};
use crate::time::Millis;

/// Maximum length of a text in an event's payload, in characters. Events are read in lists; the transcript
/// has the full text.
pub const PREVIEW_CHARS_MAX: usize = 200;

/// An event before it has a position in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDraft {
    /// The stored content.
    pub body: EventBody,
    /// The policy version, if a verdict was involved.
    pub policy_version: Option<PolicyVersion>,
}

impl EventDraft {
    /// Creates an event without a policy version. Its kind follows from the payload.
    #[must_use]
    pub fn new(payload: impl Into<Payload>) -> Self {
        Self {
            body: EventBody {
                payload: payload.into(),
                log_binding: None,
                row_hash: None,
            },
            policy_version: None,
        }
    }

    #[must_use]
    pub const fn kind(&self) -> EventKind {
        self.body.payload.kind()
    }
}

/// An event with everything except its position. It is built before the transaction, so that the writer
/// only chains it.
#[derive(Debug, Clone, PartialEq)]
pub struct SealedEvent {
    pub kind: EventKind,
    pub at: Millis,
    /// The run it belongs to.
    pub run_key: Option<RunKey>,
    /// The payload as canonical JSON.
    pub payload: Vec<u8>,
    /// Random bytes that make the payload unguessable from its hash.
    pub salt: [u8; 32],
    /// The salted hash of the payload, as in the chain.
    pub payload_hash: Digest,
    pub policy_version: Option<PolicyVersion>,
    /// What the audit entry says that is written with the event.
    pub audit: Option<Box<AuditContent>>,
}

impl SealedEvent {
    /// Adds the time and the salt to a draft.
    pub fn new(
        draft: EventDraft,
        at: Millis,
        run_key: Option<RunKey>,
        salt: [u8; 32],
    ) -> Result<Self, NotCanonical> {
        let payload = crate::json::canonical(&draft.body)?;
        let payload_hash = payload_hash(&salt, &payload);
        Ok(Self {
            kind: draft.kind(),
            at,
            run_key,
            payload,
            salt,
            payload_hash,
            audit: audit::content(&draft.body.payload).map(Box::new),
            policy_version: draft.policy_version,
        })
    }
}

/// The salted hash of a payload's canonical JSON.
#[must_use]
pub fn payload_hash(salt: &[u8; 32], canonical_payload: &[u8]) -> Digest {
    let salt = Digest::from_bytes(*salt).to_string();
    derived_hash("payload", &[&salt, &Digest::of(canonical_payload).to_string()])
}

/// The fields that an event's hash covers.
#[derive(Debug, Clone, Copy)]
pub struct EventHeader<'a> {
    /// The hash of the preceding event; [`Digest::ZERO`] before the first.
    pub previous: &'a Digest,
    pub agent: &'a AgentId,
    /// The host and incarnation that appended it.
    pub incarnation: &'a Incarnation,
    pub seq: u64,
    /// The stored kind as text: a newer version may have written a kind that this one does not know.
    pub kind: &'a str,
    pub at: Millis,
    /// The salted hash of the payload, as in the chain.
    pub payload_hash: &'a Digest,
    /// The policy version; empty if there is none.
    pub policy_version: &'a str,
}

/// Computes the hash of an event.
#[must_use]
pub fn event_hash(header: &EventHeader<'_>) -> Digest {
    let fields: [&str; 8] = [
        &header.previous.to_string(),
        header.agent.as_str(),
        header.incarnation.as_str(),
        &header.seq.to_string(),
        header.kind,
        &header.at.rfc3339(),
        &header.payload_hash.to_string(),
        header.policy_version,
    ];
    derived_hash("event", &fields)
}

/// The end of an agent's log, where the next event is appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// The number of the next event, counted from 1 and continued across incarnations.
    pub next_seq: u64,
    /// The hash of the last event.
    pub chain_hash: Digest,
    /// The host and incarnation that appends.
    pub incarnation: Incarnation,
}

/// An event with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub seq: u64,
    /// The hash of this event, which depends on all preceding ones.
    pub hash: Digest,
    pub sealed: SealedEvent,
}

impl LogHead {
    /// Appends an event and advances the head.
    #[must_use]
    pub fn chain(&mut self, agent: &AgentId, sealed: SealedEvent) -> Event {
        let seq = self.next_seq;
        let hash = event_hash(&EventHeader {
            previous: &self.chain_hash,
            agent,
            incarnation: &self.incarnation,
            seq,
            kind: sealed.kind.as_str(),
            at: sealed.at,
            payload_hash: &sealed.payload_hash,
            policy_version: sealed.policy_version.as_ref().map_or("", PolicyVersion::as_str),
        });
        self.next_seq = seq.saturating_add(1);
        self.chain_hash = hash;
        Event { seq, hash, sealed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::payload::AssistantRoundRecorded;

    fn sealed(n: u32) -> SealedEvent {
        let draft = EventDraft::new(AssistantRoundRecorded {
            round: n,
            text: String::new(),
            tools: Vec::new(),
            web_searches: Vec::new(),
        });
        SealedEvent::new(draft, Millis(0), None, [7; 32]).expect("canonical")
    }

    fn head() -> LogHead {
        LogHead {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("h.1"),
        }
    }

    #[test]
    fn each_event_follows_the_one_before() {
        let agent = AgentId::parse("main").expect("id");
        let mut head = head();
        let first = head.chain(&agent, sealed(1));
        let second = head.chain(&agent, sealed(2));
        assert_eq!((first.seq, second.seq, head.next_seq), (1, 2, 3));
        let salt = Digest::from_bytes([7; 32]).to_string();
        let payload = derived_hash(
            "payload",
            &[
                &salt,
                &Digest::of(br#"{"round":2,"text":"","tools":[]}"#).to_string(),
            ],
        )
        .to_string();
        let previous = first.hash.to_string();
        let fields = [
            &previous,
            "main",
            "h.1",
            "2",
            "assistant_round_recorded",
            "1970-01-01T00:00:00.000Z",
            &payload,
            "",
        ];
        assert_eq!(second.hash, derived_hash("event", &fields));
    }

    #[test]
    fn changing_any_earlier_event_changes_every_later_hash() {
        let agent = AgentId::parse("main").expect("id");
        let (mut here, mut there) = (head(), head());
        let _ = here.chain(&agent, sealed(1));
        let _ = there.chain(&agent, sealed(9));
        assert_ne!(
            here.chain(&agent, sealed(2)).hash,
            there.chain(&agent, sealed(2)).hash
        );
    }
}
