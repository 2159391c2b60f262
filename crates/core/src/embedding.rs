//! Embeddings of texts: limits of a call, and the similarity of two embeddings.

/// Maximum number of texts per call.
pub const TEXTS_MAX: usize = 128;

/// Maximum length of a text in bytes: about the 8,192 tokens that common embedders accept.
pub const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Maximum number of dimensions. A full call with this many stays within the size limit of a provider's
/// response.
pub const DIMENSIONS_MAX: usize = 8_192;

/// Why the texts of a call are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTexts {
    /// There are no texts, or too many.
    #[error("a call has 1 to {TEXTS_MAX} texts, not {given}; send the rest in another call")]
    Count { given: usize },
    #[error("text {index} is empty; leave it out")]
    Empty {
        /// The index of the text, from 0.
        index: usize,
    },
    #[error("text {index} has {bytes} bytes and may have {TEXT_BYTES_MAX}; split it")]
    Long {
        /// The index of the text, from 0.
        index: usize,
        bytes: usize,
    },
}

/// Checks the texts of one call. Every embedder calls this first, so that all have the same limits.
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

/// A normalized embedding of a text. Only embeddings of the same embedder can be compared.
///
/// If the embedder returns a zero vector, the embedding stays zero and is similar to nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

/// Why numbers are not a valid embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadEmbedding {
    /// There are no numbers, or too many.
    #[error("an embedding has 1 to {DIMENSIONS_MAX} numbers, not {given}")]
    Dimensions { given: usize },
    /// A number is NaN or infinite.
    #[error("number {index} of the embedding is not finite")]
    NotFinite {
        /// The index of the number, from 0.
        index: usize,
    },
}

impl Embedding {
    /// Normalizes the numbers to length one.
    pub fn new(mut numbers: Vec<f32>) -> Result<Self, BadEmbedding> {
        if !(1..=DIMENSIONS_MAX).contains(&numbers.len()) {
            return Err(BadEmbedding::Dimensions { given: numbers.len() });
        }
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(BadEmbedding::NotFinite { index });
        }
        // Squares of `f32` values neither overflow nor underflow in `f64`.
        let length = dot(&numbers, &numbers).sqrt();
        if length > 0.0 {
            numbers
                .iter_mut()
                .for_each(|number| *number = narrow(f64::from(*number) / length));
        }
        Ok(Self(numbers))
    }

    #[must_use]
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// Cosine similarity: 1 for the same direction, 0 for unrelated, -1 for opposite. `None` if the
    /// dimensions differ, because the embeddings are then not from the same embedder.
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
    reason = "rounding to the nearest f32 is intended, and the value is between -1 and 1"
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
    fn texts_are_rejected_exactly_beyond_their_limits() {
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
    fn non_finite_numbers_are_rejected() {
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
    fn a_zero_embedding_is_similar_to_nothing() {
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
        fn similarity_is_bounded_and_symmetric((a, b) in pair()) {
            let (a, b) = (embedding(&a), embedding(&b));
            let near = a.cosine(&b).expect("as many numbers");
            prop_assert!((-1.0..=1.0).contains(&near));
            prop_assert_eq!(Some(near), b.cosine(&a));
        }

        #[test]
        fn an_embedding_has_length_one_and_is_most_similar_to_itself((a, _) in pair()) {
            prop_assume!(a.iter().any(|n| *n != 0.0));
            let one = embedding(&a);
            prop_assert!((one.cosine(&one).expect("as many numbers") - 1.0).abs() < NEAR);
            let length: f32 = one.numbers().iter().map(|n| n * n).sum();
            prop_assert!((length - 1.0).abs() < NEAR, "{}", length);
        }

        #[test]
        fn the_original_length_does_not_matter(
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
