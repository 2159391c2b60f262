//! The format of the slot: stop requests in a file of fixed size that is overwritten in place.
//!
//! The file has two halves that are written alternately, each with a generation and a checksum. An
//! interrupted write damages only the half being written; the other half still holds the requests that were
//! acknowledged before.

use sha2::{Digest as _, Sha256};

use super::{SLOT_REASON_CHARS_MAX, StopRequest, StopTarget};

/// Size of one half: a few disk pages, enough for about forty cancellations in addition to the brakes.
pub const SLOT_HALF_BYTES: usize = 8 * 1024;

/// Size of the whole file.
pub const SLOT_BYTES: usize = 2 * SLOT_HALF_BYTES;

/// The first bytes of a half. The last byte is the format version.
const MAGIC: &[u8; 8] = b"WKFSTOP1";

/// Magic, generation, length, checksum.
const HEADER_BYTES: usize = 8 + 8 + 4 + 32;

/// Space for requests.
const BODY_BYTES_MAX: usize = SLOT_HALF_BYTES - HEADER_BYTES;

/// Space reserved for the global brake, so that it always fits. It takes about 110 bytes without its
/// reason.
const GLOBAL_BRAKE_BYTES: usize = 256;

/// Space reserved for brakes: eight agents with the longest names, regardless of the number of cancelled
/// runs.
const BRAKES_BYTES: usize = GLOBAL_BRAKE_BYTES + 1_600;

/// The requests do not fit even without their reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the brake slot has no room for another request")]
pub struct SlotFull;

/// The contents of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopSlot {
    /// The number of writes.
    pub generation: u64,
    pub requests: Vec<StopRequest>,
}

/// Returns the offset of the half for a generation.
#[must_use]
pub const fn half_of(generation: u64) -> u64 {
    if generation.is_multiple_of(2) {
        0
    } else {
        SLOT_HALF_BYTES as u64
    }
}

impl StopSlot {
    /// Parses the bytes of a slot. Unwritten bytes contain no requests. If a half was written and none is
    /// readable, everything is braked (fail closed).
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

    /// Adds as many requests as fit: the global brake, then brakes of agents, then cancellations. A request
    /// whose target is in the slot counts as that one. Existing requests stay, because another process
    /// treats their absence as their end; therefore space is reserved for brakes. Returns the requests that
    /// do not fit.
    #[must_use]
    pub fn take_in(&mut self, mut requests: Vec<StopRequest>) -> Vec<StopRequest> {
        requests.sort_by(|one, other| one.target.cmp(&other.target));
        let mut used = self.body(0).map_or(SLOT_HALF_BYTES, |body| body.len());
        requests.retain(|request| {
            if self.requests.iter().any(|kept| kept.target == request.target) {
                return false;
            }
            let more = serde_json::to_vec(&request.shortened(0));
            // One byte for the comma.
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

    /// Encodes the requests with reasons of at most `reason_chars` characters.
    fn body(&self, reason_chars: usize) -> Option<Vec<u8>> {
        let requests = self.requests.iter();
        let requests: Vec<StopRequest> = requests.map(|request| request.shortened(reason_chars)).collect();
        serde_json::to_vec(&requests).ok()
    }

    /// Encodes the half. Reasons are shortened, and omitted if they do not fit.
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

/// Returns the size limit of the slot that applies when a request for this target is added.
const fn bytes_max(target: &StopTarget) -> usize {
    match target {
        StopTarget::All => BODY_BYTES_MAX,
        StopTarget::Agent(_) => BODY_BYTES_MAX - GLOBAL_BRAKE_BYTES,
        StopTarget::Run(_) => BODY_BYTES_MAX - BRAKES_BYTES,
    }
}

/// The result of reading one half.
enum Half {
    /// Never written, or missing.
    Blank,
    /// Written but unreadable.
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
