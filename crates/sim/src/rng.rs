//! Random numbers from a seed.
//!
//! Each place in a simulation has its own stream, so that one more draw in one place changes nothing
//! elsewhere, and a model's response does not depend on how often the model was asked.

/// A stream of numbers (SplitMix64), random enough for choices and the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The stream of one place under one seed.
    pub(crate) fn at(seed: u64, place: &str) -> Self {
        // FNV-1a, so that places can be named by words.
        let named = place.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut chance = Self(seed);
        // Otherwise, close seeds would give close streams in every place.
        let far = chance.next();
        Self(far ^ named)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, or 0 if the bound is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let scaled = ((self.next() >> 32) * u64::from(bound)) >> 32;
        u32::try_from(scaled).unwrap_or(0)
    }

    /// True with a probability of one in `times`.
    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A duration: mostly zero, sometimes a few milliseconds, rarely up to the given maximum.
    pub(crate) fn pause_ms(&mut self, at_most: u32) -> u64 {
        match self.below(10) {
            0..6 => 0,
            6..9 => u64::from(1 + self.below(at_most / 8 + 1)),
            _ => u64::from(self.below(at_most + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_own_reproducible_stream() {
        let first = |seed, place| Rng::at(seed, place).next();
        assert_eq!(first(7, "model"), first(7, "model"));
        assert_ne!(first(7, "model"), first(7, "tools"));
        assert_ne!(first(7, "model"), first(8, "model"));
    }

    #[test]
    fn every_number_below_a_bound_occurs_and_none_above() {
        let mut chance = Rng::at(1, "bound");
        let mut seen = [0_u32; 5];
        (0..500).for_each(|_| seen[chance.below(5) as usize] += 1);
        assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
        assert_eq!(chance.below(0), 0);
    }
}
