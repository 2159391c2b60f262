//! Which message came before which.
//!
//! Each message has at most one before it, so messages are trees. A walk through the trees gives each message a span
//! that holds the spans of all that came after it; whether one is an ancestor of another is then two comparisons,
//! however long the chain between them.

use std::collections::BTreeMap;

/// Messages that come before one another in a circle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message `{0}` comes before itself; a chain of messages has a beginning")]
pub struct AncestryCycle(pub String);

/// The order of messages, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Ancestry {
    spans: BTreeMap<String, Span>,
}

/// Where the walk entered a message, and the last entrance before it left.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

impl Ancestry {
    /// Takes for each message the one before it. A message that is not among the keys has none before it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "whoever knows the order hands it over and needs it no more"
    )]
    pub fn new(previous: BTreeMap<String, String>) -> Result<Self, AncestryCycle> {
        let mut after: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (id, before) in &previous {
            after.entry(before).or_default().push(id);
        }
        let mut spans: BTreeMap<String, Span> = BTreeMap::new();
        let roots = after.keys().filter(|id| !previous.contains_key(**id));
        let mut path: Vec<Step> = roots.map(|id| Step::Enter(id)).collect();
        let mut entered = 0;
        while let Some(step) = path.pop() {
            match step {
                Step::Enter(id) => {
                    let span = Span {
                        first: entered,
                        last: entered,
                    };
                    entered += 1;
                    spans.insert(id.to_owned(), span);
                    path.push(Step::Leave(id));
                    path.extend(after.get(id).into_iter().flatten().map(|id| Step::Enter(id)));
                }
                Step::Leave(id) => {
                    if let Some(span) = spans.get_mut(id) {
                        span.last = entered - 1;
                    }
                }
            }
        }
        // What no beginning leads to goes round in a circle, or hangs on one.
        match previous.keys().find(|id| !spans.contains_key(*id)) {
            Some(id) => Err(AncestryCycle(on_circle(&previous, id))),
            None => Ok(Self { spans }),
        }
    }

    /// Keeps the pointers, each with its writer, that are no ancestor of another one.
    pub(super) fn keep_newest(&self, pointers: &mut Vec<(&str, &str)>) {
        let span = |id: &str| self.spans.get(id).copied();
        let mut places: Vec<usize> = pointers
            .iter()
            .filter_map(|(_, id)| Some(span(id)?.first))
            .collect();
        places.sort_unstable();
        pointers.retain(|(_, id)| {
            let Some(span) = span(id) else { return true };
            let next = places.partition_point(|place| *place <= span.first);
            places.get(next).is_none_or(|place| *place > span.last)
        });
    }
}

/// A step of the walk.
enum Step<'a> {
    Enter(&'a str),
    Leave(&'a str),
}

/// A message on the circle that `id` is on or leads to.
fn on_circle(previous: &BTreeMap<String, String>, id: &str) -> String {
    let back = |id| previous.get(id).map_or(id, |before: &String| before.as_str());
    // After as many steps as there are messages one is on the circle.
    (0..previous.len()).fold(id, |id, _| back(id)).to_owned()
}
