//! The form of a result: its value, its target, and the bare limit that it is compared with.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// One reported measure.
#[derive(Debug, Serialize)]
pub(crate) struct Measure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    #[serde(skip)]
    wanted: Target,
    /// The target; `None` for a number that only informs.
    target: Option<String>,
    /// Whether the target is met.
    met: Option<bool>,
    samples: Spread,
    /// The minimum cost of the same work on this machine, or another reference.
    bare: Option<Bare>,
    /// `value` divided by the bare value.
    ratio: Option<f64>,
    /// The components of the value, and further facts.
    parts: BTreeMap<String, f64>,
}

/// The spread of the samples.
#[derive(Debug, Serialize)]
struct Spread {
    count: usize,
    least: f64,
    median: f64,
    most: f64,
}

#[derive(Debug, Serialize)]
struct Bare {
    what: &'static str,
    value: f64,
}

/// The target of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The value is less than this.
    Below(f64),
    /// The value is at most this.
    AtMost(f64),
    /// The value is at least this.
    AtLeast(f64),
    /// The value is at least this fraction of the bare limit.
    RatioAtLeast(f64),
    /// The value is at most this fraction of the bare limit.
    RatioAtMost(f64),
    /// No target.
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

    /// A measure whose value is the 95th percentile of its samples.
    pub(crate) fn p95(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, p95(samples), samples, target)
    }

    /// A measure whose value is the 99th percentile of its samples.
    pub(crate) fn p99(name: &'static str, unit: &'static str, samples: &[f64], target: Target) -> Self {
        Self::of(name, unit, p99(samples), samples, target)
    }

    fn of(name: &'static str, unit: &'static str, value: f64, samples: &[f64], wanted: Target) -> Self {
        let (target, met) = match wanted {
            Target::Below(limit) => (Some(format!("< {limit}")), Some(value < limit)),
            Target::AtMost(limit) => (Some(format!("<= {limit}")), Some(value <= limit)),
            Target::AtLeast(limit) => (Some(format!(">= {limit}")), Some(value >= limit)),
            // Decided when the bare limit is known.
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

    /// Adds the bare limit: the median of its samples.
    pub(crate) fn beside(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, median(samples))
    }

    /// Adds the bare limit: the largest of its samples.
    pub(crate) fn beside_most(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, most(samples))
    }

    /// Adds the bare limit: the 95th percentile of its samples.
    pub(crate) fn beside_p95(self, what: &'static str, samples: &[f64]) -> Self {
        self.against(what, p95(samples))
    }

    /// Adds the bare limit: the 99th percentile of its samples.
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

    /// The value of a part.
    pub(crate) fn part(&self, name: &str) -> Option<f64> {
        self.parts.get(name).copied()
    }

    /// Adds one more fact.
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

/// The middle sample, or the mean of the two in the middle.
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

/// The 95th percentile.
pub(crate) fn p95(samples: &[f64]) -> f64 {
    percentile(samples, 95)
}

/// The 99th percentile.
pub(crate) fn p99(samples: &[f64]) -> f64 {
    percentile(samples, 99)
}

fn percentile(samples: &[f64], percent: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// The largest sample.
pub(crate) fn most(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::NAN, f64::max)
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Rounds to three decimals, which is more than the precision of any measure here.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_sample_or_the_mean_of_two() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_ratio_target_depends_on_the_ratio_and_others_on_the_value() {
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
    fn one_sample_in_twenty_may_exceed_the_95th_percentile() {
        let samples: Vec<f64> = (1..=40).rev().map(f64::from).collect();
        assert!((p95(&samples) - 38.0).abs() < f64::EPSILON);
        assert!((p99(&samples) - 40.0).abs() < f64::EPSILON);
        assert!(p95(&[]).is_nan());
    }
}
