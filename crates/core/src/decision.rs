//! A question that a person answers, and what may become of it.
//!
//! One record serves every kind of question. It is asked once, answered at most once by whoever may, and closed by its
//! deadline if nobody does: first it grows more severe and is announced again, then it is called off. Nothing that acts
//! is ever permitted by silence.

mod display;
mod policy;
mod types;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::display::escape_invisible;
pub use self::policy::DecisionPolicy;
use self::policy::{is_all, listed};
pub use self::types::{
    Badge, BlastRadius, Channel, DecisionKind, DecisionOption, DecisionStatus, InputGone, Severity,
};
use crate::failure::{CUT, truncate_chars};
use crate::id::AgentId;
use crate::key::{DecisionId, OperationId, RunKey};
use crate::step::EffectClass;
use crate::time::Millis;
use crate::wake::Wait;

/// An hour.
pub const HOUR_MS: u64 = 60 * 60 * 1000;

/// How many hours a question stands before it grows more severe, unless somebody set another time: a week.
pub const DEADLINE_HOURS_DEFAULT: u32 = 7 * 24;

/// The same in milliseconds.
pub const DEADLINE_MS_DEFAULT: u64 = DEADLINE_HOURS_DEFAULT as u64 * HOUR_MS;

/// The longest that may be set: a year.
pub const DEADLINE_HOURS_MAX: u32 = 366 * 24;

/// How long a permission stands that nobody has used: a day. Who permits something means now, not next month.
pub const APPROVAL_MS_MAX: u64 = 24 * HOUR_MS;

/// Longest title, and longest words of who answers.
pub const TITLE_CHARS_MAX: usize = 200;

/// Longest note that goes with an answer.
pub const NOTE_CHARS_MAX: usize = 2_000;

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Which option.
    pub option: String,
    /// By which way it came.
    pub channel: Channel,
    /// What the person said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When.
    pub at: Millis,
}

/// What is asked, before anybody knows when: the part that a machine decides on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Its name, derived from the action and how often it was asked about.
    pub decision_id: DecisionId,
    /// The action that waits.
    pub operation_id: OperationId,
    /// What is asked.
    pub kind: DecisionKind,
    /// In one line.
    pub title: String,
    /// The tool that would be used.
    pub tool: String,
    /// Its arguments, as far as one line shows them; empty once they were erased. All of them are in the reply that
    /// asked for the action.
    pub input: String,
    /// What may be answered.
    pub options: Vec<DecisionOption>,
    /// What would be safe to answer; none where nothing speaks for either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_option_id: Option<String>,
    /// How much depends on it.
    pub severity: Severity,
    /// How far it reaches.
    pub blast_radius: BlastRadius,
    /// The rule that made it a question.
    pub rule: String,
    /// The action that this one would do again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<OperationId>,
}

/// A question with its place and its fate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What is asked.
    #[serde(flatten)]
    pub inquiry: ApprovalRequest,
    /// Whose run asks.
    pub agent_id: AgentId,
    /// The run that waits.
    pub run_key: RunKey,
    /// Where it stands.
    pub status: DecisionStatus,
    /// Grows with every change: an answer names the version it was given to.
    pub version: u32,
    /// Why it stands out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub badges: Vec<Badge>,
    /// When it was asked.
    pub asked_at: Millis,
    /// How long it stands before it grows more severe; none for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// When that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Millis>,
    /// By which ways an answer is taken. One that was asked before there was a choice takes all.
    #[serde(default = "Channel::all", skip_serializing_if = "is_all")]
    pub may_answer: BTreeSet<Channel>,
    /// When it was closed, by whatever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Millis>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The word that permits an action.
pub const APPROVE: &str = "approve";

/// The word that does not.
pub const DENY: &str = "deny";

/// An answer as it comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerInput {
    /// Which option.
    pub option: String,
    /// The version of the question that was read; none for whichever stands.
    pub version: Option<u32>,
    /// By which way it came.
    pub channel: Channel,
    /// What is said beside it.
    pub note: Option<String>,
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is closed.
    #[error("the decision is {} already{}", status.as_str(), first(answer.as_ref()))]
    Closed {
        /// Where it stands.
        status: DecisionStatus,
        /// What was answered, if anything.
        answer: Option<Answer>,
    },
    /// It takes no answer by this way.
    #[error("the decision takes no answer by {}; by {}", channel.as_str(), listed(may_answer))]
    NotAllowed {
        /// By which way the answer came.
        channel: Channel,
        /// By which ways it may.
        may_answer: BTreeSet<Channel>,
    },
    /// It changed since it was read.
    #[error("the decision has version {found}, the answer was given to version {given}")]
    Changed {
        /// Where it stands.
        found: u32,
        /// What the answer was given to.
        given: u32,
    },
    /// It came after the deadline: the question is another one by now, or closed.
    #[error("the deadline of the decision passed at {}", deadline.rfc3339())]
    Late {
        /// When that was.
        deadline: Millis,
    },
    /// There is no such option.
    #[error("there is no option {option:?}; options: {known}")]
    NoOption {
        /// What was answered.
        option: String,
        /// What may be.
        known: String,
    },
    /// The note is too long.
    #[error("the note has more than {NOTE_CHARS_MAX} characters")]
    NoteTooLong,
}

/// What was said first, for whoever comes second.
fn first(answer: Option<&Answer>) -> String {
    answer.map_or_else(String::new, |answer| {
        format!(
            ": {} by {} at {}",
            answer.option,
            answer.channel.as_str(),
            answer.at.rfc3339()
        )
    })
}

/// What an answer means to the action that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ruling", rename_all = "snake_case")]
pub enum ApprovalOutcome {
    /// It may be taken.
    Approved {
        /// Until when the permission stands.
        until: Millis,
    },
    /// It may not.
    Denied {
        /// What the person said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Nobody answered in time.
    TimedOut,
    /// The permission was not used in time, and has to be given again.
    Expired,
}

/// An action that needs approval.
#[derive(Debug, Clone, Copy)]
pub struct ProposedAction<'a> {
    /// The action.
    pub operation_id: OperationId,
    /// The tool it uses.
    pub tool: &'a str,
    /// Its arguments, possibly cut.
    pub input: &'a str,
    /// What may happen to it after a crash.
    pub class: EffectClass,
}

impl ApprovalRequest {
    /// Asks for the first time whether an action may be taken; `again` names the equal action whose outcome is unknown.
    #[must_use]
    pub fn new(action: ProposedAction<'_>, rule: &str, again: Option<OperationId>) -> Self {
        let ProposedAction {
            operation_id, tool, ..
        } = action;
        let kind = match again {
            Some(_) => DecisionKind::OutcomeUnknown,
            None => DecisionKind::ToolApproval,
        };
        let (severity, blast_radius) = risk(action.class, kind);
        let title = match kind {
            DecisionKind::ToolApproval => format!("May {tool} be used?"),
            DecisionKind::OutcomeUnknown => {
                format!("May {tool} be used again, although it may have happened?")
            }
        };
        Self {
            decision_id: DecisionId::new(&operation_id, 0),
            operation_id,
            kind,
            title: truncate_chars(&title, TITLE_CHARS_MAX),
            tool: tool.to_owned(),
            input: action.input.to_owned(),
            options: options(kind),
            recommended_option_id: again.map(|_| DENY.to_owned()),
            severity,
            blast_radius,
            rule: rule.to_owned(),
            retries: again,
        }
    }

    /// The decision of a run that asks this now.
    #[must_use]
    pub fn asked_by(
        self,
        agent_id: AgentId,
        run_key: RunKey,
        at: Millis,
        terms: impl Into<DecisionPolicy>,
    ) -> Decision {
        let DecisionPolicy {
            deadline_after_ms: patience_ms,
            may_answer,
        } = terms.into();
        Decision {
            inquiry: self,
            agent_id,
            run_key,
            status: DecisionStatus::Pending,
            version: 1,
            badges: Vec::new(),
            asked_at: at,
            patience_ms,
            deadline_at: patience_ms.map(|patience| later(at, patience)),
            may_answer,
            closed_at: None,
            answer: None,
        }
    }

    /// Whether [`Self::input`] is only the beginning of the arguments. They are JSON, which never ends like this.
    #[must_use]
    pub fn is_input_cut(&self) -> bool {
        self.input.ends_with(CUT)
    }
}

fn options(kind: DecisionKind) -> Vec<DecisionOption> {
    let (yes, no) = match kind {
        DecisionKind::ToolApproval => (
            (
                "Approve",
                "The action is taken once, with exactly these arguments.",
            ),
            ("Deny", "The action is not taken; the run is told and goes on."),
        ),
        DecisionKind::OutcomeUnknown => (
            (
                "Do it again",
                "The action is taken again. If it did happen, it happens twice.",
            ),
            (
                "Leave it",
                "The action is not repeated; the run is told and goes on.",
            ),
        ),
    };
    let option = |id: &str, (label, description): (&str, &str)| DecisionOption {
        id: id.to_owned(),
        label: label.to_owned(),
        description: description.to_owned(),
        tradeoffs: None,
    };
    vec![option(APPROVE, yes), option(DENY, no)]
}

/// What nobody classified is taken for the worst.
const fn risk(class: EffectClass, kind: DecisionKind) -> (Severity, BlastRadius) {
    match (class, kind) {
        (EffectClass::Internal, DecisionKind::ToolApproval) => (Severity::Low, BlastRadius::Small),
        (EffectClass::Idempotent | EffectClass::Saga, DecisionKind::ToolApproval) => {
            (Severity::Medium, BlastRadius::Small)
        }
        (EffectClass::Plain, DecisionKind::ToolApproval) | (_, DecisionKind::OutcomeUnknown) => {
            (Severity::High, BlastRadius::Unknown)
        }
    }
}

impl Decision {
    /// Takes an answer, if it may be given.
    pub fn answer(&self, reply: AnswerInput, at: Millis) -> Result<Self, AnswerError> {
        if self.status != DecisionStatus::Pending {
            return Err(AnswerError::Closed {
                status: self.status,
                answer: self.answer.clone(),
            });
        }
        if !self.may_answer.contains(&reply.channel) {
            return Err(AnswerError::NotAllowed {
                channel: reply.channel,
                may_answer: self.may_answer.clone(),
            });
        }
        if let Some(given) = reply.version.filter(|given| *given != self.version) {
            return Err(AnswerError::Changed {
                found: self.version,
                given,
            });
        }
        if let Some(deadline) = self.deadline_at.filter(|deadline| *deadline <= at) {
            return Err(AnswerError::Late { deadline });
        }
        let mut options = self.inquiry.options.iter();
        if !options.any(|option| option.id == reply.option) {
            let known: Vec<&str> = self
                .inquiry
                .options
                .iter()
                .map(|option| option.id.as_str())
                .collect();
            return Err(AnswerError::NoOption {
                option: truncate_chars(&reply.option, TITLE_CHARS_MAX),
                known: known.join(", "),
            });
        }
        if reply
            .note
            .as_ref()
            .is_some_and(|note| note.chars().count() > NOTE_CHARS_MAX)
        {
            return Err(AnswerError::NoteTooLong);
        }
        let answer = Answer {
            option: reply.option,
            channel: reply.channel,
            note: reply.note.filter(|note| !note.is_empty()),
            at,
        };
        Ok(Self {
            answer: Some(answer),
            ..self.closed(DecisionStatus::Answered, at)
        })
    }

    /// What becomes of it when its deadline has passed; none before that, or where it is closed. It grows more severe
    /// and gets as much time again; where it cannot grow, it is called off.
    #[must_use]
    pub fn escalate_if_overdue(&self, now: Millis) -> Option<Self> {
        let deadline = self.deadline_at.filter(|deadline| *deadline <= now)?;
        if self.status != DecisionStatus::Pending {
            return None;
        }
        let Some(severity) = self.inquiry.severity.next_level() else {
            return Some(self.closed(DecisionStatus::Cancelled, now));
        };
        let mut next = self.clone();
        next.inquiry.severity = severity;
        next.version = self.version.saturating_add(1);
        if !next.badges.contains(&Badge::TimedOut) {
            next.badges.push(Badge::TimedOut);
        }
        // From now and not from the old deadline: whoever comes back after a month still gets the time.
        next.deadline_at = Some(later(
            now.max(deadline),
            self.patience_ms.unwrap_or(DEADLINE_MS_DEFAULT),
        ));
        Some(next)
    }

    /// What a run that asked it waits for; none where it is closed. The deadline is checked when it comes, but never later
    /// than after the patience from now on, because the clock may have been set back since it was asked.
    #[must_use]
    pub fn wait(&self, now: Millis) -> Option<Wait> {
        let patience = later(now, self.patience_ms.unwrap_or(DEADLINE_MS_DEFAULT));
        let until = self.deadline_at.map(|deadline| deadline.min(patience));
        (self.status == DecisionStatus::Pending).then_some(Wait::Decision { until })
    }

    /// The same question, which nobody has to answer any more.
    #[must_use]
    pub fn withdrawn(&self, at: Millis) -> Self {
        self.closed(DecisionStatus::Withdrawn, at)
    }

    /// What it means to the action that waits; none while nobody knows.
    #[must_use]
    pub fn outcome(&self, now: Millis) -> Option<ApprovalOutcome> {
        match (self.status, &self.answer) {
            (DecisionStatus::Pending, _) => None,
            (DecisionStatus::Answered, Some(answer)) if answer.option == APPROVE => {
                let until = later(answer.at, APPROVAL_MS_MAX);
                Some(if now >= until {
                    ApprovalOutcome::Expired
                } else {
                    ApprovalOutcome::Approved { until }
                })
            }
            (DecisionStatus::Answered, answer) => Some(ApprovalOutcome::Denied {
                note: answer.as_ref().and_then(|answer| answer.note.clone()),
            }),
            (DecisionStatus::Cancelled, _) => Some(ApprovalOutcome::TimedOut),
            // Nobody had to answer while the run stood aside; now somebody has to again.
            (DecisionStatus::Withdrawn, _) => Some(ApprovalOutcome::Expired),
        }
    }

    fn closed(&self, status: DecisionStatus, at: Millis) -> Self {
        Self {
            status,
            version: self.version.saturating_add(1),
            closed_at: Some(at),
            ..self.clone()
        }
    }
}

/// The order in which people should see them: what is overdue first, then what weighs most, then the oldest.
#[must_use]
pub fn sort_by_urgency(mut decisions: Vec<Decision>) -> Vec<Decision> {
    decisions.sort_by_key(|one| {
        let overdue = one.badges.contains(&Badge::TimedOut);
        let weight = (overdue, one.inquiry.severity, one.inquiry.blast_radius);
        (std::cmp::Reverse(weight), one.asked_at, one.inquiry.decision_id)
    });
    decisions
}

fn later(at: Millis, ms: u64) -> Millis {
    Millis(at.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests;
