//! What holds for a question from the moment it is asked: how long it stands, and by which ways it is answered.

use std::collections::BTreeSet;

use super::Channel;

/// What holds for a question from the moment it is asked, as the settings have it then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionPolicy {
    /// How long it stands before it grows more severe; none for ever.
    pub deadline_after_ms: Option<u64>,
    /// By which ways an answer is taken.
    pub may_answer: BTreeSet<Channel>,
}

/// A time alone: by every way.
impl From<Option<u64>> for DecisionPolicy {
    fn from(patience_ms: Option<u64>) -> Self {
        let may_answer = Channel::all();
        Self {
            deadline_after_ms: patience_ms,
            may_answer,
        }
    }
}

/// Whether every way is among them.
pub(super) fn is_all(channels: &BTreeSet<Channel>) -> bool {
    *channels == Channel::all()
}

/// Ways, in words.
pub(super) fn listed(channels: &BTreeSet<Channel>) -> String {
    let words: Vec<&str> = channels.iter().map(|channel| channel.as_str()).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}
