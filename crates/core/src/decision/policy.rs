//! The settings that apply to a decision from the time it is asked: its deadline and the permitted
//! channels.

use std::collections::BTreeSet;

use super::Channel;

/// The settings that apply to a decision, fixed when it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionPolicy {
    /// Time until it escalates; `None` means never.
    pub deadline_after_ms: Option<u64>,
    /// The channels through which answers are accepted.
    pub may_answer: BTreeSet<Channel>,
}

/// A deadline alone; all channels are permitted.
impl From<Option<u64>> for DecisionPolicy {
    fn from(patience_ms: Option<u64>) -> Self {
        let may_answer = Channel::all();
        Self {
            deadline_after_ms: patience_ms,
            may_answer,
        }
    }
}

/// Whether all channels are permitted.
pub(super) fn is_all(channels: &BTreeSet<Channel>) -> bool {
    *channels == Channel::all()
}

/// The channels as a list for messages.
pub(super) fn listed(channels: &BTreeSet<Channel>) -> String {
    let words: Vec<&str> = channels.iter().map(|channel| channel.as_str()).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}
