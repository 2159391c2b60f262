//! Texts as directions: what may be asked of an embedder, and how near two answers are.

/// Most texts of one call.
pub const TEXTS_MAX: usize = 128;

/// Longest text in bytes: about the 8,192 tokens that common embedders read.
pub const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Most numbers of one embedding. A full call of the longest stays within what a provider's response may have.
pub const DIMENSIONS_MAX: usize = 8_192;

/// Texts that no embedder is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTexts {
    /// None, or too many.
    #[error("a call has 1 to {TEXTS_MAX} texts, not {given}; send the rest in another")]
    Count {
        /// How many there are.
        given: usize,
    },
    /// Nothing to read.
    #[error("text {index} is empty; leave it out")]
    Empty {
        /// Which, from 0.
        index: usize,
    },
    /// Too much to read.
    #[error("text {index} has {bytes} bytes and may have {TEXT_BYTES_MAX}; split it")]
    Long {
        /// Which, from 0.
        index: usize,
        /// How long it is.
        bytes: usize,
    },
}

/// Checks the texts of one call. Every embedder does so first, so that all refuse the same.
pub fn check_texts(texts: &[String]) -> Result<(), BadTexts> {
    if !(1..=TEXTS_MAX).contains(&texts.len()) {
        return Err(BadTexts::Count { given: texts.len() });
    }
    for (index, text) in texts.iter().enumerate() {
        match text.len() {
            0 => return Err(BadTexts::Empty { index }),
            1..=TEXT_BYTES_MAX => {}
            bytes => return Err(BadTexts::Long { index, bytes }),
        }
    }
    Ok(())
}

/// A text as a direction: numbers whose squares add up to one. Only embeddings of one embedder can be compared.
///
/// A text about which the embedder knows nothing has no direction; all its numbers are zero, and it is near to nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

/// Numbers that are no embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadEmbedding {
    /// None, or too many.
    #[error("an embedding has 1 to {DIMENSIONS_MAX} numbers, not {given}")]
    Dimensions {
        /// How many there are.
        given: usize,
    },
    /// One that is no number, or without bound.
    #[error("number {index} of the embedding is not finite")]
    NotFinite {
        /// Which, from 0.
        index: usize,
    },
}

impl Embedding {
    /// Takes numbers of any length over as a direction.
    pub fn new(mut numbers: Vec<f32>) -> Result<Self, BadEmbedding> {
        if !(1..=DIMENSIONS_MAX).contains(&numbers.len()) {
            return Err(BadEmbedding::Dimensions { given: numbers.len() });
        }
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(BadEmbedding::NotFinite { index });
        }
        // In doubles neither the largest nor the smallest number leaves the range when squared.
        let length = dot(&numbers, &numbers).sqrt();
        if length > 0.0 {
            numbers
                .iter_mut()
                .for_each(|number| *number = narrow(f64::from(*number) / length));
        }
        Ok(Self(numbers))
    }

    /// The numbers.
    #[must_use]
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// How near two directions are: 1 the same, 0 nothing in common, -1 opposite. None when they do not have equally
    /// many numbers, and therefore are not from the same embedder.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        let comparable = self.0.len() == other.0.len();
        comparable.then(|| narrow(dot(&self.0, &other.0).clamp(-1.0, 1.0)))
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
    products.sum()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the nearest single is meant, and what comes here is between -1 and 1"
)]
const fn narrow(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEAR: f32 = 1e-5;

    fn embedding(numbers: &[f32]) -> Embedding {
        Embedding::new(numbers.to_vec()).expect("an embedding")
    }

    #[test]
    fn texts_are_refused_at_their_bounds_and_not_before() {
        let texts = |count: usize, bytes: usize| vec!["x".repeat(bytes); count];
        assert_eq!(check_texts(&texts(TEXTS_MAX, TEXT_BYTES_MAX)), Ok(()));
        assert_eq!(check_texts(&[]), Err(BadTexts::Count { given: 0 }));
        let many = TEXTS_MAX + 1;
        assert_eq!(check_texts(&texts(many, 1)), Err(BadTexts::Count { given: many }));
        let mut three = texts(3, 1);
        three[1].clear();
        assert_eq!(check_texts(&three), Err(BadTexts::Empty { index: 1 }));
        let bytes = TEXT_BYTES_MAX + 1;
        three[1] = "x".repeat(bytes);
        assert_eq!(check_texts(&three), Err(BadTexts::Long { index: 1, bytes }));
    }

    #[test]
    fn what_is_no_number_is_no_embedding() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let refused = Embedding::new(vec![1.0, bad]);
            assert_eq!(refused, Err(BadEmbedding::NotFinite { index: 1 }));
        }
        for given in [0, DIMENSIONS_MAX + 1] {
            let refused = Embedding::new(vec![1.0; given]);
            assert_eq!(refused, Err(BadEmbedding::Dimensions { given }));
        }
    }

    #[test]
    fn without_a_direction_nothing_is_near() {
        let nothing = embedding(&[0.0, 0.0]);
        assert_eq!(nothing.cosine(&embedding(&[3.0, 4.0])), Some(0.0));
        assert_eq!(nothing.cosine(&nothing), Some(0.0));
        assert_eq!(nothing.cosine(&embedding(&[1.0])), None);
    }

    fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let number = || {
            prop_oneof![
                -1e3_f32..1e3,
                any::<f32>().prop_filter("finite", |n| n.is_finite())
            ]
        };
        (1_usize..40).prop_flat_map(move |n| {
            (
                proptest::collection::vec(number(), n),
                proptest::collection::vec(number(), n),
            )
        })
    }

    proptest! {
        #[test]
        fn nearness_is_bounded_and_the_same_from_both_sides((a, b) in pair()) {
            let (a, b) = (embedding(&a), embedding(&b));
            let near = a.cosine(&b).expect("as many numbers");
            prop_assert!((-1.0..=1.0).contains(&near));
            prop_assert_eq!(Some(near), b.cosine(&a));
        }

        #[test]
        fn an_embedding_has_length_one_and_is_nearest_to_itself((a, _) in pair()) {
            prop_assume!(a.iter().any(|n| *n != 0.0));
            let one = embedding(&a);
            prop_assert!((one.cosine(&one).expect("as many numbers") - 1.0).abs() < NEAR);
            let length: f32 = one.numbers().iter().map(|n| n * n).sum();
            prop_assert!((length - 1.0).abs() < NEAR, "{}", length);
        }

        #[test]
        fn how_long_the_numbers_were_does_not_matter(
            pairs in proptest::collection::vec((-0.2_f32..0.2, -0.2_f32..0.2), 1..40), scale in 1e-3_f32..1e3,
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            prop_assume!(a.iter().any(|n| n.abs() > 1e-3));
            let scaled: Vec<f32> = a.iter().map(|n| n * scale).collect();
            let opposite: Vec<f32> = a.iter().map(|n| -n).collect();
            let other = embedding(&b);
            let near = |numbers: &[f32]| embedding(numbers).cosine(&other).expect("as many");
            prop_assert!((near(&a) - near(&scaled)).abs() < NEAR);
            prop_assert!((near(&a) + near(&opposite)).abs() < NEAR);
        }
    }
}
