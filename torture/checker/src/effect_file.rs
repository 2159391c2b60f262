//! The file in which every effect left a line: `MESSAGE ACTION MOMENT`, the action counted from 1, the moment in nanoseconds
//! by the clock on the wall.
//!
//! What an agent does when the clock wakes it has no message; its lines begin with `tick`.

use std::collections::BTreeMap;

/// Who has no message.
const TICK: &str = "tick";

/// What really happened.
#[derive(Debug, Default)]
pub(crate) struct EffectFile {
    /// Where each effect stands in the file and when it took place, in order; more than one is one too many.
    places: BTreeMap<(String, usize), Vec<(usize, u64)>>,
    /// When the clock led to something.
    pub(crate) ticks: Vec<u64>,
    /// Lines that are no effect of anybody.
    pub(crate) strange: Vec<String>,
}

impl EffectFile {
    /// Reads the file.
    pub(crate) fn parse(text: &str) -> Self {
        let mut world = Self::default();
        for (place, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split(' ').collect();
            let effect = match words.as_slice() {
                [message, action, moment] => action
                    .parse()
                    .ok()
                    .zip(moment.parse().ok())
                    .map(|n| (*message, n)),
                _ => None,
            };
            match effect {
                Some((TICK, (_, moment))) => {
                    world.ticks.push(moment);
                }
                Some((message, (action, moment))) => {
                    let effect = (message.to_owned(), action);
                    world.places.entry(effect).or_default().push((place, moment));
                }
                None => world.strange.push(line.to_owned()),
            }
        }
        world
    }

    /// How often an action took effect.
    pub(crate) fn times(&self, message: &str, action: usize) -> usize {
        self.places_of(message, action).len()
    }

    /// Where an action took effect, and when.
    pub(crate) fn places_of(&self, message: &str, action: usize) -> &[(usize, u64)] {
        let places = self.places.get(&(message.to_owned(), action));
        places.map_or(&[], Vec::as_slice)
    }

    /// Every effect there is.
    pub(crate) fn effects(&self) -> impl Iterator<Item = (&str, usize)> {
        self.places
            .keys()
            .map(|(message, action)| (message.as_str(), *action))
    }

    /// How many lines are effects.
    pub(crate) fn lines(&self) -> usize {
        self.places.values().map(Vec::len).sum::<usize>() + self.ticks.len()
    }
}
