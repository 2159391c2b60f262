//! The file in which every effect left a line: `MESSAGE ACTION`, the action counted from 1.

use std::collections::BTreeMap;

/// What really happened.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// Where each effect stands in the file, in order; more than one place is one too many.
    places: BTreeMap<(String, usize), Vec<usize>>,
    /// Lines that are no effect of anybody.
    pub(crate) strange: Vec<String>,
}

impl World {
    /// Reads the file.
    pub(crate) fn parse(text: &str) -> Self {
        let mut world = Self::default();
        for (place, line) in text.lines().enumerate() {
            let effect = line
                .split_once(' ')
                .and_then(|(message, action)| Some((message.to_owned(), action.parse().ok()?)));
            match effect {
                Some(effect) => world.places.entry(effect).or_default().push(place),
                None => world.strange.push(line.to_owned()),
            }
        }
        world
    }

    /// How often an action took effect.
    pub(crate) fn times(&self, message: &str, action: usize) -> usize {
        self.places_of(message, action).len()
    }

    /// Where an action took effect.
    pub(crate) fn places_of(&self, message: &str, action: usize) -> &[usize] {
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
        self.places.values().map(Vec::len).sum()
    }
}
