//! The processed changes of one host: all counters through one, and single counters above it.
//!
//! Storing only the greatest counter would lose wakes, because a change that arrives later with a smaller
//! counter would count as processed. Counters arrive nearly in order, so the contiguous part is stored as
//! one number.

/// Number of counters per word of `above`.
const WORD: u64 = 64;

/// A set of positive integers. Equal sets have equal representations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProcessedSet {
    /// All numbers from 1 to this one are in the set, and the next one is not.
    through: u64,
    /// The numbers above `through`: the index of each non-empty word, ascending, and its bits. Bits up to
    /// `through` are 0.
    above: Vec<(u64, u64)>,
}

impl ProcessedSet {
    pub(super) fn insert(&mut self, counter: u64) {
        if counter <= self.through {
            return;
        }
        if counter == self.through + 1 && self.above.is_empty() {
            self.through = counter;
            return;
        }
        let (index, bit) = place(counter);
        match self.above.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(at) => self
                .above
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|(_, bits)| *bits |= bit),
            Err(at) => self.above.insert(at, (index, bit)),
        }
        self.settle();
    }

    /// Returns the union with another set.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let mut joined = Self {
            through: self.through.max(other.through),
            above: union(&self.above, &other.above),
        };
        joined.settle();
        joined
    }

    /// All numbers from 1 to this one are in the set.
    pub(super) const fn through(&self) -> u64 {
        self.through
    }

    /// The numbers above the contiguous part, in ascending order.
    pub(super) fn also(&self) -> impl Iterator<Item = u64> + '_ {
        self.above.iter().flat_map(|(index, bits)| {
            let set = (0..WORD).filter(move |bit| bits & (1 << bit) != 0);
            set.map(move |bit| index * WORD + bit)
        })
    }

    /// Advances `through` as far as possible and drops the bits it covers, so that equal sets have equal
    /// representations.
    fn settle(&mut self) {
        let mut covered = 0;
        for (index, bits) in &mut self.above {
            let first = *index * WORD;
            if self.through + 1 < first {
                break;
            }
            // Only bits after `through` remain; a word that ends before it has none.
            let known = (self.through + 1 - first).min(WORD);
            let rest = bits
                .checked_shr(u32::try_from(known).unwrap_or(u32::MAX))
                .unwrap_or(0);
            let run = u64::from(rest.trailing_ones());
            self.through += run;
            let keep = u32::try_from((known + run).min(WORD)).unwrap_or(u32::MAX);
            *bits &= u64::MAX.checked_shl(keep).unwrap_or(0);
            if *bits != 0 {
                break;
            }
            covered += 1;
        }
        self.above.drain(..covered);
    }

    /// Appends the canonical encoding, for the digest.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.through.to_be_bytes());
        out.extend(u64::try_from(self.above.len()).unwrap_or(u64::MAX).to_be_bytes());
        for (index, bits) in &self.above {
            out.extend(index.to_be_bytes());
            out.extend(bits.to_be_bytes());
        }
    }
}

const fn place(counter: u64) -> (u64, u64) {
    (counter / WORD, 1 << (counter % WORD))
}

fn union(here: &[(u64, u64)], there: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut all = Vec::with_capacity(here.len().max(there.len()));
    let (mut here, mut there) = (here.iter().copied().peekable(), there.iter().copied().peekable());
    loop {
        let next = match (here.peek(), there.peek()) {
            (Some(a), Some(b)) if a.0 == b.0 => Some((a.0, a.1 | b.1)),
            (Some(a), Some(b)) => Some(if a.0 < b.0 { *a } else { *b }),
            (one, other) => one.or(other).copied(),
        };
        let Some((index, bits)) = next else { return all };
        here.next_if(|word| word.0 == index);
        there.next_if(|word| word.0 == index);
        all.push((index, bits));
    }
}
