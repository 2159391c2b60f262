//! Verdicts on actions.

use wakeful_core::policy::{Question, Rules, Verdict};

/// Answers whether an action may be taken. Must not block: it is asked between a reply and its commit.
pub trait Policy: Send + Sync + 'static {
    /// The verdict, with the rule and the version it came from.
    fn decide(&self, question: &Question<'_>) -> Verdict;
}

impl Policy for Rules {
    fn decide(&self, question: &Question<'_>) -> Verdict {
        Rules::decide(self, question)
    }
}
