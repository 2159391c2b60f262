//! The slot: stop requests in a file of fixed size that is written in place.
//!
//! It has two halves, written in turn, each with a generation and a checksum. A write that is cut off damages the half
//! that it was writing; the other one still says what was acknowledged before.

use sha2::{Digest as _, Sha256};

use super::{SLOT_REASON_CHARS_MAX, StopRequest, StopTarget};

/// Bytes of one half: a few disk pages, enough for some forty cancellations beside the brakes.
pub const SLOT_HALF_BYTES: usize = 8 * 1024;

/// Bytes of the whole file.
pub const SLOT_BYTES: usize = 2 * SLOT_HALF_BYTES;

/// What a half begins with. The last byte is the version of its form.
const MAGIC: &[u8; 8] = b"WKFSTOP1";

/// Magic, generation, length, checksum.
const HEADER_BYTES: usize = 8 + 8 + 4 + 32;

/// Bytes that requests may use.
const BODY_BYTES_MAX: usize = SLOT_HALF_BYTES - HEADER_BYTES;

/// Bytes that only the global brake may use, so that it always fits. It has about 110 without its reason.
const GLOBAL_BRAKE_BYTES: usize = 256;

/// Bytes that only brakes may use: room for eight agents with the longest names, however many runs are cancelled.
const BRAKES_BYTES: usize = GLOBAL_BRAKE_BYTES + 1_600;

/// The requests do not fit, even without their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the brake slot has no room for another request")]
pub struct SlotFull;

/// What a slot says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopSlot {
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

impl StopSlot {
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

    /// Takes requests in, as many as fit: the global brake, then brakes of agents, then cancellations. One whose target the
    /// slot has counts as that one. What the slot has stays, because another process takes its absence for its end; so a
    /// part of the slot is kept free for brakes. Returns what does not fit.
    #[must_use]
    pub fn take_in(&mut self, mut requests: Vec<StopRequest>) -> Vec<StopRequest> {
        requests.sort_by(|one, other| one.target.cmp(&other.target));
        let mut used = self.body(0).map_or(SLOT_HALF_BYTES, |body| body.len());
        requests.retain(|request| {
            if self.requests.iter().any(|kept| kept.target == request.target) {
                return false;
            }
            let more = serde_json::to_vec(&request.shortened(0));
            // One for the comma.
            let with_it = more.map_or(SLOT_HALF_BYTES, |more| used + more.len() + 1);
            if with_it > bytes_max(&request.target) {
                return true;
            }
            used = with_it;
            self.requests.push(request.clone());
            false
        });
        requests
    }

    /// The requests, with at most so many characters of each reason.
    fn body(&self, reason_chars: usize) -> Option<Vec<u8>> {
        let requests = self.requests.iter();
        let requests: Vec<StopRequest> = requests.map(|request| request.shortened(reason_chars)).collect();
        serde_json::to_vec(&requests).ok()
    }

    /// The bytes of its half, all of them. Reasons are shortened, and left out where they would not fit.
    pub fn half(&self) -> Result<Vec<u8>, SlotFull> {
        let fitting = |reason_chars| {
            self.body(reason_chars)
                .filter(|body| body.len() <= BODY_BYTES_MAX)
        };
        let body = fitting(SLOT_REASON_CHARS_MAX)
            .or_else(|| fitting(0))
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

/// How many bytes the slot may have with a request for this target in it.
const fn bytes_max(target: &StopTarget) -> usize {
    match target {
        StopTarget::All => BODY_BYTES_MAX,
        StopTarget::Agent(_) => BODY_BYTES_MAX - GLOBAL_BRAKE_BYTES,
        StopTarget::Run(_) => BODY_BYTES_MAX - BRAKES_BYTES,
    }
}

/// What one half turns out to be.
enum Half {
    /// Never written, or not there.
    Blank,
    /// Written, and not readable.
    Damaged,
    Valid(StopSlot),
}

impl Half {
    fn read(bytes: &[u8]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        Self::decode(bytes).map_or(Self::Damaged, Self::Valid)
    }

    fn decode(bytes: &[u8]) -> Option<StopSlot> {
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
        Some(StopSlot { generation, requests })
    }
}

fn checksum(generation: u64, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(MAGIC);
    hash.update(generation.to_le_bytes());
    hash.update(body);
    hash.finalize().into()
}
