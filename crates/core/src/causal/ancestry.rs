//! The predecessor relation of messages.
//!
//! Each message has at most one predecessor, so messages form trees. A depth-first walk gives each message
//! an interval that contains the intervals of all its descendants; an ancestor check is then two
//! comparisons, independent of the length of the chain.

use std::collections::BTreeMap;

/// A cycle in the predecessor relation; contains one message of the cycle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message `{0}` comes before itself; a chain of messages has a beginning")]
pub struct AncestryCycle(pub String);

/// The ancestor relation of all known messages.
#[derive(Debug, Clone, Default)]
pub struct Ancestry {
    spans: BTreeMap<String, Span>,
}

/// The position at which the walk entered a message, and the last position entered before it left.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

impl Ancestry {
    /// Builds the relation from each message's predecessor. A message without a key has no predecessor.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the caller hands the relation over and does not use it again"
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
        // A message that no root reaches is on a cycle or descends from one.
        match previous.keys().find(|id| !spans.contains_key(*id)) {
            Some(id) => Err(AncestryCycle(on_circle(&previous, id))),
            None => Ok(Self { spans }),
        }
    }

    /// Keeps the pointers, each with its writer, that are not ancestors of another pointer.
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

enum Step<'a> {
    Enter(&'a str),
    Leave(&'a str),
}

/// Returns a message on the cycle that `id` is on or leads to.
fn on_circle(previous: &BTreeMap<String, String>, id: &str) -> String {
    let back = |id| previous.get(id).map_or(id, |before: &String| before.as_str());
    // After as many steps as there are messages, the walk is on the cycle.
    (0..previous.len()).fold(id, |id, _| back(id)).to_owned()
}
