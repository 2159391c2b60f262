//! The slot: stop requests in a file of fixed size that is written in place.
//!
//! It has two halves, written in turn, each with a generation and a checksum. A write that is cut off damages the half
//! that it was writing; the other one still says what was acknowledged before.

use sha2::{Digest as _, Sha256};

use super::{SLOT_REASON_CHARS_MAX, StopRequest};

/// Bytes of one half: a few disk pages, enough for some fifty cancellations.
pub const SLOT_HALF_BYTES: usize = 8 * 1024;

/// Bytes of the whole file.
pub const SLOT_BYTES: usize = 2 * SLOT_HALF_BYTES;

/// What a half begins with. The last byte is the version of its form.
const MAGIC: &[u8; 8] = b"WKFSTOP1";

/// Magic, generation, length, checksum.
const HEADER_BYTES: usize = 8 + 8 + 4 + 32;

/// The requests do not fit, even without their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the brake slot has no room for another request")]
pub struct SlotFull;

/// What a slot says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slot {
    /// How often it was written.
    pub generation: u64,
    /// The requests that it keeps.
    pub requests: Vec<StopRequest>,
}

/// Where the half of a generation begins.
#[must_use]
pub const fn half_of(generation: u64) -> u64 {
    if generation.is_multiple_of(2) {
        0
    } else {
        SLOT_HALF_BYTES as u64
    }
}

impl Slot {
    /// What the bytes of a slot say. Bytes that were never written say nothing. Where no half can be read and one was
    /// written, it fails closed: everything is braked.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let (first, second) = bytes.split_at(bytes.len().min(SLOT_HALF_BYTES));
        let halves = [Half::read(first), Half::read(second)];
        let is_damaged = halves.iter().any(|half| matches!(half, Half::Damaged));
        let valid = halves.into_iter().filter_map(|half| match half {
            Half::Valid(slot) => Some(slot),
            Half::Blank | Half::Damaged => None,
        });
        match valid.max_by_key(|slot| slot.generation) {
            Some(newest) => newest,
            None if is_damaged => Self {
                generation: 0,
                requests: vec![StopRequest::unreadable_slot()],
            },
            None => Self::default(),
        }
    }

    /// The bytes of its half, all of them. Reasons are shortened, and left out where they would not fit.
    pub fn half(&self) -> Result<Vec<u8>, SlotFull> {
        let spelled = |reason_chars| {
            let requests: Vec<StopRequest> = self
                .requests
                .iter()
                .map(|request| request.shortened(reason_chars))
                .collect();
            let body = serde_json::to_vec(&requests).ok()?;
            (HEADER_BYTES + body.len() <= SLOT_HALF_BYTES).then_some(body)
        };
        let body = spelled(SLOT_REASON_CHARS_MAX)
            .or_else(|| spelled(0))
            .ok_or(SlotFull)?;
        let length = u32::try_from(body.len()).map_err(|_| SlotFull)?;
        let mut half = Vec::with_capacity(SLOT_HALF_BYTES);
        half.extend(MAGIC);
        half.extend(self.generation.to_le_bytes());
        half.extend(length.to_le_bytes());
        half.extend(checksum(self.generation, &body));
        half.extend(body);
        half.resize(SLOT_HALF_BYTES, 0);
        Ok(half)
    }
}

/// What one half turns out to be.
enum Half {
    /// Never written, or not there.
    Blank,
    /// Written, and not readable.
    Damaged,
    Valid(Slot),
}

impl Half {
    fn read(bytes: &[u8]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        Self::decode(bytes).map_or(Self::Damaged, Self::Valid)
    }

    fn decode(bytes: &[u8]) -> Option<Slot> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (generation, rest) = rest.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<32>()?;
        let generation = u64::from_le_bytes(*generation);
        let body = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        if magic != MAGIC || *sum != checksum(generation, body) {
            return None;
        }
        let requests = serde_json::from_slice(body).ok()?;
        Some(Slot { generation, requests })
    }
}

fn checksum(generation: u64, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(MAGIC);
    hash.update(generation.to_le_bytes());
    hash.update(body);
    hash.finalize().into()
}
