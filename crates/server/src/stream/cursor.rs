//! Cursors: the positions of all listed agents in one bounded string. The server stores nothing about a
//! cursor. It needs no protection against forgery, because a client may request any position anyway.
//!
//! A cursor holds a version; for each agent with events, six bytes of the hash of its id and the sequence
//! number of its last event, sorted by those bytes; and four bytes of the hash of all that. With 512
//! agents, six bytes collide with a probability of one in a thousand million. The last four bytes detect
//! truncated, mistyped and mixed-up cursors.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use wakeful_core::id::AgentId;
use wakeful_core::key::Digest;

use super::bad_cursor;
use crate::error::ApiError;

/// Maximum number of agents in one cursor. It must fit into a header and a URL: about eight thousand
/// characters.
pub(crate) const CURSOR_AGENTS_MAX: usize = 512;

const VERSION: u8 = 1;

const TAG_BYTES: usize = 6;

const CHECK_BYTES: usize = 4;

/// Maximum number of 7-bit groups of a 64-bit number.
const NUMBER_BYTES_MAX: usize = 10;

/// Number of base64 digits for a number of bytes, without padding.
const fn digits_of(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

/// Maximum length of a cursor in characters.
const CURSOR_CHARS_MAX: usize =
    digits_of(1 + CURSOR_AGENTS_MAX * (TAG_BYTES + NUMBER_BYTES_MAX) + CHECK_BYTES);

/// The identifier of an agent in a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tag([u8; TAG_BYTES]);

impl Tag {
    pub(super) fn of(agent: &AgentId) -> Self {
        let digest = Digest::of(agent.as_str().as_bytes());
        let [a, b, c, d, e, f, ..] = *digest.as_bytes();
        Self([a, b, c, d, e, f])
    }
}

/// The sequence number of the last event of each agent; 0 before the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Positions(BTreeMap<Tag, u64>);

impl Positions {
    /// The position of an agent, if known.
    pub(super) fn get(&self, agent: Tag) -> Option<u64> {
        self.0.get(&agent).copied()
    }

    pub(super) fn set(&mut self, agent: Tag, seq: u64) {
        self.0.insert(agent, seq);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The length of the result of [`Self::encode`], without encoding.
    pub(super) fn encoded_chars(&self) -> usize {
        let entries = self.0.values().filter(|seq| **seq > 0);
        let bytes: usize = entries.map(|seq| TAG_BYTES + number_bytes(*seq)).sum();
        digits_of(1 + bytes + CHECK_BYTES)
    }

    /// Encodes the positions. Agents without events are omitted, because they start at 0 anyway.
    pub(super) fn encode(&self) -> String {
        let mut bytes = vec![VERSION];
        for (Tag(tag), seq) in self.0.iter().filter(|(_, seq)| **seq > 0) {
            bytes.extend_from_slice(tag);
            put_number(&mut bytes, *seq);
        }
        let check = check(&bytes);
        bytes.extend_from_slice(&check);
        URL_SAFE_NO_PAD.encode(&bytes)
    }

    /// Decodes a cursor of this server.
    pub(super) fn decode(text: &str) -> Result<Self, ApiError> {
        if text.len() > CURSOR_CHARS_MAX {
            return Err(bad_cursor("the cursor is too long"));
        }
        let garbled = || bad_cursor("the cursor is not valid");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| garbled())?;
        let (body, found) = bytes.split_last_chunk::<CHECK_BYTES>().ok_or_else(garbled)?;
        if *found != check(body) {
            return Err(garbled());
        }
        match body.split_first() {
            Some((&VERSION, entries)) => read_entries(entries).map(Self).ok_or_else(garbled),
            Some(_) | None => Err(bad_cursor("the cursor has an unsupported version")),
        }
    }
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = Digest::of(bytes);
    let [a, b, c, d, ..] = *digest.as_bytes();
    [a, b, c, d]
}

/// Accepts only the canonical encoding of [`Positions::encode`]: sorted, without zeros, each number as
/// short as possible.
fn read_entries(mut bytes: &[u8]) -> Option<BTreeMap<Tag, u64>> {
    let mut entries = BTreeMap::new();
    while let Some((tag, rest)) = bytes.split_first_chunk::<TAG_BYTES>() {
        let (seq, rest) = read_number(rest)?;
        let ordered = entries.last_key_value().is_none_or(|(last, _)| *last < Tag(*tag));
        if seq == 0 || !ordered || entries.len() == CURSOR_AGENTS_MAX {
            return None;
        }
        entries.insert(Tag(*tag), seq);
        bytes = rest;
    }
    bytes.is_empty().then_some(entries)
}

const fn number_bytes(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    if bits == 0 { 1 } else { bits.div_ceil(7) as usize }
}

/// Writes seven bits per byte, lowest first; the eighth bit marks that more follow.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low & 0x7f);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(NUMBER_BYTES_MAX) {
        let low = u64::from(byte & 0x7f);
        let shift = 7 * u32::try_from(at).ok()?;
        number |= low.checked_mul(1_u64.checked_shl(shift)?)?;
        if byte & 0x80 == 0 {
            let shortest = number_bytes(number) == at + 1;
            return shortest.then_some((number, bytes.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn positions(entries: &[(u8, u64)]) -> Positions {
        Positions(entries.iter().map(|(tag, seq)| (Tag([*tag; 6]), *seq)).collect())
    }

    /// Builds a cursor with a valid checksum over any bytes.
    fn sealed(mut bytes: Vec<u8>) -> String {
        let check = check(&bytes);
        bytes.extend_from_slice(&check);
        URL_SAFE_NO_PAD.encode(&bytes)
    }

    #[test]
    fn a_cursor_is_encoded_as_documented() {
        let agent = AgentId::parse("main").expect("id");
        let mut positions = Positions::default();
        positions.set(Tag::of(&agent), 300);
        let mut bytes = vec![1];
        bytes.extend_from_slice(&Digest::of(b"main").as_bytes()[..6]);
        bytes.extend_from_slice(&[0xac, 0x02]);
        assert_eq!(positions.encode(), sealed(bytes));
        assert_eq!(Positions::default().encode(), sealed(vec![1]));
    }

    #[test]
    fn an_agent_without_events_is_left_out() {
        assert_eq!(
            positions(&[(1, 0), (2, 5)]).encode(),
            positions(&[(2, 5)]).encode()
        );
    }

    #[test]
    fn forged_garbled_and_foreign_cursors_are_refused() {
        let good = positions(&[(1, 5), (2, 6)]).encode();
        let entry = |tag: u8, rest: &[u8]| [&[tag; 6][..], rest].concat();
        let cut = good.get(..good.len() - 1).expect("ascii").to_owned();
        let forged = [
            String::new(),
            "AQ".to_owned(),
            cut,
            format!("{good}A"),
            good.replacen('A', "B", 1),
            sealed(vec![]),
            sealed(vec![2]),
            sealed([vec![1], entry(1, &[0])].concat()),
            sealed([vec![1], entry(1, &[0x80, 0x00])].concat()),
            sealed([vec![1], entry(1, &[0x85, 0x00])].concat()),
            sealed([vec![1], entry(1, &[0x85])].concat()),
            URL_SAFE_NO_PAD.encode([vec![1], entry(1, &[5]), vec![0; CHECK_BYTES]].concat()),
            sealed([vec![1], entry(1, &[0xff; 10])].concat()),
            sealed([vec![1], entry(1, &[]), vec![]].concat()),
            sealed([vec![1], entry(2, &[5]), entry(1, &[5])].concat()),
            sealed([vec![1], entry(1, &[5]), entry(1, &[5])].concat()),
            "A".repeat(CURSOR_CHARS_MAX + 1),
        ];
        for text in forged {
            let error = Positions::decode(&text).expect_err(&text);
            assert!(format!("{error:?}").contains("bad_cursor"), "{error:?}");
        }
        assert_eq!(
            Positions::decode(&good).expect("good"),
            positions(&[(1, 5), (2, 6)])
        );
    }

    fn many(agents: u16) -> Positions {
        let tag = |n: u16| Tag([0, 0, 0, 0, n.to_be_bytes()[0], n.to_be_bytes()[1]]);
        Positions((0..agents).map(|n| (tag(n), u64::MAX)).collect())
    }

    #[test]
    fn the_longest_cursor_is_accepted_and_one_agent_more_is_not() {
        let longest = many(512).encode();
        assert_eq!(longest.len(), CURSOR_CHARS_MAX);
        assert!(Positions::decode(&longest).is_ok());
        let small = Positions(many(513).0.into_keys().map(|tag| (tag, 1)).collect());
        assert!(small.encode().len() < CURSOR_CHARS_MAX);
        assert!(Positions::decode(&small.encode()).is_err());
    }

    fn any_positions() -> impl Strategy<Value = Positions> {
        let seq = prop_oneof![1_u64..300, any::<u64>().prop_map(|seq| seq.max(1))];
        let entry = (any::<[u8; 6]>().prop_map(Tag), seq);
        proptest::collection::btree_map(any::<[u8; 6]>().prop_map(Tag), 1_u64.., 0..40)
            .prop_flat_map(move |some| (Just(some), proptest::collection::vec(entry.clone(), 0..4)))
            .prop_map(|(mut some, more)| {
                some.extend(more);
                Positions(some)
            })
    }

    proptest! {
        #[test]
        fn an_encoded_cursor_decodes_to_the_same_positions(positions in any_positions()) {
            let text = positions.encode();
            prop_assert_eq!(text.len(), positions.encoded_chars());
            prop_assert_eq!(Positions::decode(&text).expect("our own"), positions);
        }

        /// Clients may send anything; a valid checksum lets the test reach the rest of the decoder.
        #[test]
        fn any_bytes_are_a_canonical_cursor_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            for text in [URL_SAFE_NO_PAD.encode(&bytes), sealed(bytes.clone()), sealed([&[VERSION], &bytes[..]].concat())] {
                if let Ok(positions) = Positions::decode(&text) {
                    prop_assert_eq!(positions.encode(), text);
                }
            }
        }

        #[test]
        fn any_text_is_a_cursor_or_refused(text in ".{0,80}") {
            let _ = Positions::decode(&text);
        }
    }
}
