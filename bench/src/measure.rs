//! What a number looks like: its value, what it should be, and the bare limit beside it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// One measure as it is reported.
#[derive(Debug, Serialize)]
pub(crate) struct Measure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    #[serde(skip)]
    wanted: Target,
    /// What it should be; none for a number that only informs.
    target: Option<String>,
    /// Whether it is.
    met: Option<bool>,
    samples: Spread,
    /// The least that the same work could cost on this machine, or what it is compared with.
    bare: Option<Bare>,
    /// `value` divided by the bare value.
    ratio: Option<f64>,
    /// What the value is made of, and facts beside it.
    parts: BTreeMap<String, f64>,
}

/// How the samples lie.
#[derive(Debug, Serialize)]
struct Spread {
    count: usize,
    least: f64,
    median: f64,
    most: f64,
}

/// A bare limit.
#[derive(Debug, Serialize)]
struct Bare {
    what: &'static str,
    value: f64,
}

/// What a value should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The value is less.
    Below(f64),
    /// The value is at most this.
    AtMost(f64),
    /// The value is at least this.
    AtLeast(f64),
    /// The value is at least this part of the bare limit.
    RatioAtLeast(f64),
    /// The value is at most this part of the bare limit.
    RatioAtMost(f64),
    /// Nothing is demanded.
    Informs,
}

impl Measure {
    /// A measure whose value is the median of its samples.
    pub(crate) fn median(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, median(samples), samples, target)
    }

    /// A measure whose value is the largest of its samples.
    pub(crate) fn most(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, most(samples), samples, target)
    }

    /// A measure whose value only one sample in twenty exceeds.
    pub(crate) fn p95(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, p95(samples), samples, target)
    }

    /// A measure whose value only one sample in a hundred exceeds.
    pub(crate) fn p99(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, p99(samples), samples, target)
    }

    fn of(name: &'static str, unit: &'static str, value: f64, samples: &[f64], wanted: Target) -> Self {
        let (target, met) = match wanted {
            Target::Below(limit) => (Some(format!("< {limit}")), Some(value < limit)),
            Target::AtMost(limit) => (Some(format!("<= {limit}")), Some(value <= limit)),
            Target::AtLeast(limit) => (Some(format!(">= {limit}")), Some(value >= limit)),
            // Judged when the bare limit is known.
            Target::RatioAtLeast(limit) => (Some(format!("ratio >= {limit}")), Some(false)),
            Target::RatioAtMost(limit) => (Some(format!("ratio <= {limit}")), Some(false)),
            Target::Informs => (None, None),
        };
        Self {
            name,
            value: rounded(value),
            unit,
            wanted,
            target,
            met,
            samples: Spread::of(samples),
            bare: None,
            ratio: None,
            parts: BTreeMap::new(),
        }
    }

    /// The same with the bare limit, which is the median of its samples.
    pub(crate) fn beside(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, median(samples))
    }

    /// The same with the bare limit, which is the largest of its samples.
    pub(crate) fn beside_most(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, most(samples))
    }

    /// The same with the bare limit, which only one of its samples in twenty exceeds.
    pub(crate) fn beside_p95(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, p95(samples))
    }

    /// The same with the bare limit, which only one of its samples in a hundred exceeds.
    pub(crate) fn beside_p99(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, p99(samples))
    }

    fn against(mut self, what: &'static str, bare: f64) -> Self {
        let ratio = self.value / bare;
        match self.wanted {
            Target::RatioAtLeast(limit) => self.met = Some(ratio >= limit),
            Target::RatioAtMost(limit) => self.met = Some(ratio <= limit),
            Target::Below(_) | Target::AtMost(_) | Target::AtLeast(_) | Target::Informs => {}
        }
        self.ratio = Some(rounded(ratio));
        self.bare = Some(Bare {
            what,
            value: rounded(bare),
        });
        self
    }

    /// The same with one more fact.
    pub(crate) fn with(mut self, part: impl Into<String>, value: f64) -> Self {
        self.parts.insert(part.into(), rounded(value));
        self
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.name, self.value, self.unit)?;
        if let Some(bare) = &self.bare {
            write!(f, ", bare {}", bare.value)?;
        }
        if let Some(ratio) = self.ratio {
            write!(f, ", ratio {ratio}")?;
        }
        match (&self.target, self.met) {
            (Some(target), Some(true)) => write!(f, " (wanted {target}: met)"),
            (Some(target), _) => write!(f, " (wanted {target}: MISSED)"),
            (None, _) => Ok(()),
        }
    }
}

impl Spread {
    fn of(samples: &[f64]) -> Self {
        Self {
            count: samples.len(),
            least: rounded(samples.iter().copied().fold(f64::NAN, f64::min)),
            median: rounded(median(samples)),
            most: rounded(most(samples)),
        }
    }
}

/// The middle one; of two in the middle their mean.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let middle = if sorted.len().is_multiple_of(2) {
        sorted.get(half.wrapping_sub(1)..=half)
    } else {
        sorted.get(half..=half)
    };
    middle.map_or(f64::NAN, |middle| {
        middle.iter().sum::<f64>() / middle.len() as f64
    })
}

/// What only one sample in twenty exceeds.
pub(crate) fn p95(samples: &[f64]) -> f64 {
    percentile(samples, 95)
}

/// What only one sample in a hundred exceeds.
pub(crate) fn p99(samples: &[f64]) -> f64 {
    percentile(samples, 99)
}

fn percentile(samples: &[f64], percent: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// The largest one.
pub(crate) fn most(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::NAN, f64::max)
}

/// A duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Three decimals are more than any of this is good for.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_target_is_met_or_missed_by_the_value_and_a_ratio_only_by_the_ratio() {
        let below = Measure::median("x", "ms", &[10.0], Target::Below(10.0));
        assert_eq!(below.met, Some(false));
        let at_most = Measure::most("x", "ms", &[9.0, 10.0], Target::AtMost(10.0));
        assert_eq!(at_most.met, Some(true));
        let at_least = Measure::median("x", "per s", &[10.0], Target::AtLeast(10.0));
        assert_eq!(at_least.met, Some(true));
        let ratio = || Measure::most("x", "per s", &[900.0, 1000.0], Target::RatioAtLeast(0.5));
        assert_eq!(ratio().met, Some(false), "unjudged is not met");
        assert_eq!(ratio().beside_most("y", &[1500.0, 2000.0]).met, Some(true));
        assert_eq!(ratio().beside_most("y", &[2001.0]).met, Some(false));
        let small = || Measure::median("x", "us", &[5.0], Target::RatioAtMost(0.05));
        assert_eq!(small().met, Some(false), "unjudged is not met");
        assert_eq!(small().beside("y", &[100.0]).met, Some(true));
        assert_eq!(small().beside("y", &[99.0]).met, Some(false));
        assert_eq!(Measure::median("x", "ms", &[1.0], Target::Informs).met, None);
    }

    #[test]
    fn one_sample_in_twenty_may_lie_above_the_high_mark() {
        let samples: Vec<f64> = (1..=40).rev().map(f64::from).collect();
        assert!((p95(&samples) - 38.0).abs() < f64::EPSILON);
        assert!((p99(&samples) - 40.0).abs() < f64::EPSILON);
        assert!(p95(&[]).is_nan());
    }
}
