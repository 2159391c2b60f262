//! Pairs of fail points: every point before every point.

use std::collections::{BTreeSet, VecDeque};

use wakeful_ports::fail_point::POINTS;

use crate::rng::Rng;

/// Two fail points at which the program crashes, one after the other.
pub(crate) type Pair = (&'static str, &'static str);

/// Pairs that are not yet tried, in repeated rounds.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// The fail points that a daemon passes here.
    pub(crate) points: Vec<&'static str>,
    left: VecDeque<Pair>,
}

impl Pairs {
    pub(crate) fn new(on_server: bool) -> Self {
        let here = POINTS
            .iter()
            .copied()
            .filter(|point| why_not(point, on_server).is_none());
        Self {
            points: here.collect(),
            left: VecDeque::new(),
        }
    }

    /// The fail points that cannot be reached here, each with the reason.
    pub(crate) fn not_here(&self) -> Vec<String> {
        let others = POINTS.iter().filter(|point| !self.points.contains(point));
        let on_server = !self.points.iter().any(|point| point.starts_with("blob."));
        let said = others.map(|point| format!("{point}: {}", why_not(point, on_server).unwrap_or_default()));
        said.collect()
    }

    /// The next pairs, in rounds of random order: in each round every point is the first of one pair and
    /// the second of another, so that one round covers all points.
    pub(crate) fn next(&mut self, count: u64, rng: &mut Rng) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for _ in 0..count {
            if self.left.is_empty() {
                self.left = all(&self.points, rng);
            }
            pairs.extend(self.left.pop_front());
        }
        pairs
    }

    /// Puts back the pairs that were not both reached, behind all others.
    pub(crate) fn put_back(&mut self, tried: &[Pair], met: &BTreeSet<Pair>) {
        let missed = tried.iter().filter(|pair| !met.contains(pair));
        self.left.extend(missed);
    }
}

/// Why a daemon does not pass a fail point.
fn why_not(point: &str, on_server: bool) -> Option<&'static str> {
    match point {
        "end.before_report" => Some("only a single run on the command line passes it"),
        _ if on_server && point.starts_with("blob.") => Some("a blob is a row on PostgreSQL, not a file"),
        _ => None,
    }
}

/// Every pair, grouped by the distance of its points in a random order.
fn all(points: &[&'static str], rng: &mut Rng) -> VecDeque<Pair> {
    let mut order = points.to_vec();
    rng.shuffle(&mut order);
    let mut distances: Vec<usize> = (0..order.len()).collect();
    rng.shuffle(&mut distances);
    let seconds = |distance| order.iter().cycle().skip(distance);
    let round = |distance: usize| {
        order
            .iter()
            .zip(seconds(distance))
            .map(|(first, second)| (*first, *second))
    };
    distances.into_iter().flat_map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Pair, Pairs};
    use crate::rng::Rng;

    #[test]
    fn each_round_has_every_point_and_all_rounds_every_pair() {
        let (mut pairs, mut rng) = (Pairs::new(false), Rng::new(7));
        let count = pairs.points.len() as u64;
        let rounds: Vec<Vec<Pair>> = (0..count).map(|_| pairs.next(count, &mut rng)).collect();
        let points: BTreeSet<_> = pairs.points.iter().copied().collect();
        for round in &rounds {
            assert_eq!(round.iter().map(|pair| pair.0).collect::<BTreeSet<_>>(), points);
            assert_eq!(round.iter().map(|pair| pair.1).collect::<BTreeSet<_>>(), points);
        }
        let all: BTreeSet<Pair> = rounds.into_iter().flatten().collect();
        assert_eq!(all.len(), points.len() * points.len());
        assert!(pairs.left.is_empty());
    }

    #[test]
    fn a_missed_pair_is_tried_again_and_a_reached_one_is_not() {
        let (mut pairs, mut rng) = (Pairs::new(false), Rng::new(7));
        let tried = pairs.next(2, &mut rng);
        pairs.put_back(&tried, &BTreeSet::from([tried[0]]));
        assert_eq!(pairs.left.back(), Some(&tried[1]));
        assert!(!pairs.left.contains(&tried[0]));
    }

    #[test]
    fn unreachable_points_are_listed() {
        assert_eq!(Pairs::new(false).not_here().len(), 1);
        let on_server = Pairs::new(true).not_here();
        assert_eq!(on_server.len(), 3, "{on_server:?}");
        assert!(on_server[0].starts_with("blob.before_rename: "), "{on_server:?}");
    }
}
