//! Reads the file in which every effect left a line: `MESSAGE ACTION TIME`, the action counted from 1, the
//! time in nanoseconds of the wall clock.
//!
//! An agent that is woken by the clock has no message; its lines begin with `tick`.

use std::collections::BTreeMap;

/// Takes the place of the message in the lines of clock wakes.
const TICK: &str = "tick";

/// The effects that really happened.
#[derive(Debug, Default)]
pub(crate) struct EffectFile {
    /// The line number and time of each effect, in order; more than one is a repetition.
    places: BTreeMap<(String, usize), Vec<(usize, u64)>>,
    /// The times of effects of clock wakes.
    pub(crate) ticks: Vec<u64>,
    /// Lines that belong to no known effect.
    pub(crate) strange: Vec<String>,
}

impl EffectFile {
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

    /// The line numbers and times at which an action took effect.
    pub(crate) fn places_of(&self, message: &str, action: usize) -> &[(usize, u64)] {
        let places = self.places.get(&(message.to_owned(), action));
        places.map_or(&[], Vec::as_slice)
    }

    /// All effects.
    pub(crate) fn effects(&self) -> impl Iterator<Item = (&str, usize)> {
        self.places
            .keys()
            .map(|(message, action)| (message.as_str(), *action))
    }

    /// Number of lines that are effects.
    pub(crate) fn lines(&self) -> usize {
        self.places.values().map(Vec::len).sum::<usize>() + self.ticks.len()
    }
}
