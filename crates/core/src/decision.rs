//! Decisions: questions that a person answers.
//!
//! One record type serves every kind of question. A decision is asked once and answered at most once,
//! through a permitted channel. If its deadline passes, it first escalates and people are notified again;
//! at the highest severity it is cancelled. An unanswered decision never permits an action.

mod display;
mod policy;
mod request;
mod types;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use self::display::{escape_invisible, escape_invisible_lines};
pub use self::policy::DecisionPolicy;
use self::policy::{is_all, listed};
pub use self::request::{ApprovalRequest, ProposedAction};
pub use self::types::{
    Badge, BlastRadius, Channel, DecisionKind, DecisionOption, DecisionStatus, InputGone, Severity,
};
use crate::failure::truncate_chars;
use crate::id::AgentId;
use crate::key::RunKey;
use crate::time::Millis;
use crate::wake::Wait;

pub const HOUR_MS: u64 = 60 * 60 * 1000;

/// Hours until an unanswered decision escalates, unless configured: a week.
pub const DEADLINE_HOURS_DEFAULT: u32 = 7 * 24;

pub const DEADLINE_MS_DEFAULT: u64 = DEADLINE_HOURS_DEFAULT as u64 * HOUR_MS;

/// The longest deadline that can be configured: a year.
pub const DEADLINE_HOURS_MAX: u32 = 366 * 24;

/// How long an unused approval stays valid: a day. A person approves an action for now, not for next month.
pub const APPROVAL_MS_MAX: u64 = 24 * HOUR_MS;

/// Maximum length of a title in characters.
pub const TITLE_CHARS_MAX: usize = 200;

/// Maximum length of an answer's note in characters.
pub const NOTE_CHARS_MAX: usize = 2_000;

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the chosen option.
    pub option: String,
    /// The channel through which it arrived.
    pub channel: Channel,
    /// The person's remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub at: Millis,
}

/// A decision with its run, its status and its deadlines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The question.
    #[serde(flatten)]
    pub inquiry: ApprovalRequest,
    /// The agent whose run asks.
    pub agent_id: AgentId,
    /// The waiting run.
    pub run_key: RunKey,
    pub status: DecisionStatus,
    /// Increases with every change; an answer names the version that it refers to.
    pub version: u32,
    /// Reasons to highlight it in a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub badges: Vec<Badge>,
    pub asked_at: Millis,
    /// Time until it escalates; `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_ms: Option<u64>,
    /// The time at which it escalates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Millis>,
    /// The channels through which answers are accepted. A decision stored without them accepts all.
    #[serde(default = "Channel::all", skip_serializing_if = "is_all")]
    pub may_answer: BTreeSet<Channel>,
    /// When it was closed, for any reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// The option id that permits an action.
pub const APPROVE: &str = "approve";

/// The option id that permits an action, and opens the agent's listed hosts to later commands of the run.
pub const APPROVE_HOSTS: &str = "approve_hosts";

/// The option id that refuses an action.
pub const DENY: &str = "deny";

/// An answer as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerInput {
    /// The id of the chosen option.
    pub option: String,
    /// The version of the decision that the person read; `None` accepts the current one.
    pub version: Option<u32>,
    /// The channel through which it arrived.
    pub channel: Channel,
    /// The person's remark.
    pub note: Option<String>,
}

/// Why an answer is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The decision is already closed.
    #[error("the decision is already {}{}", status.as_str(), first(answer.as_ref()))]
    Closed {
        status: DecisionStatus,
        /// The stored answer, if there is one.
        answer: Option<Answer>,
    },
    /// The channel is not permitted.
    #[error("the decision does not accept answers by {}; accepted: {}", channel.as_str(), listed(may_answer))]
    NotAllowed {
        /// The channel of the answer.
        channel: Channel,
        /// The permitted channels.
        may_answer: BTreeSet<Channel>,
    },
    /// The decision changed since it was read.
    #[error("the decision has version {found}, the answer was given to version {given}")]
    Changed {
        /// The current version.
        found: u32,
        /// The version that the answer refers to.
        given: u32,
    },
    /// The deadline has passed: the decision has escalated or is cancelled.
    #[error("the deadline of the decision passed at {}", deadline.rfc3339())]
    Late { deadline: Millis },
    #[error("there is no option {option:?}; options: {known}")]
    NoOption {
        /// The given option id.
        option: String,
        /// The possible option ids.
        known: String,
    },
    #[error("the note has more than {NOTE_CHARS_MAX} characters")]
    NoteTooLong,
}

/// Describes the first answer for an error message to the second one.
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

/// The consequence of a closed decision for its action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ruling", rename_all = "snake_case")]
pub enum ApprovalOutcome {
    /// The action may be performed.
    Approved {
        /// When the approval expires.
        until: Millis,
        /// Whether later commands of the run may reach the agent's listed hosts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        opens_hosts: bool,
    },
    /// The action must not be performed.
    Denied {
        /// The person's remark.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The decision was not answered in time.
    TimedOut,
    /// The approval was not used in time and must be requested again.
    Expired,
}

impl Decision {
    /// Applies an answer if it is valid.
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

    /// Applies an expired deadline; `None` if it has not passed or the decision is closed. The decision
    /// escalates to the next severity with a new deadline; at the highest severity it is cancelled.
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
        // Count from now and not from the old deadline, so that a person who returns after a month still
        // has time to answer.
        next.deadline_at = Some(later(
            now.max(deadline),
            self.patience_ms.unwrap_or(DEADLINE_MS_DEFAULT),
        ));
        Some(next)
    }

    /// The wait of the run that asked; `None` if the decision is closed. The run re-checks at the deadline,
    /// but at the latest one full period from now, because the clock may have been set back since the
    /// question was asked.
    #[must_use]
    pub fn wait(&self, now: Millis) -> Option<Wait> {
        let patience = later(now, self.patience_ms.unwrap_or(DEADLINE_MS_DEFAULT));
        let until = self.deadline_at.map(|deadline| deadline.min(patience));
        (self.status == DecisionStatus::Pending).then_some(Wait::Decision { until })
    }

    /// Returns the decision as withdrawn: it needs no answer any more.
    #[must_use]
    pub fn withdrawn(&self, at: Millis) -> Self {
        self.closed(DecisionStatus::Withdrawn, at)
    }

    /// The consequence for the waiting action; `None` while the decision is pending.
    #[must_use]
    pub fn outcome(&self, now: Millis) -> Option<ApprovalOutcome> {
        match (self.status, &self.answer) {
            (DecisionStatus::Pending, _) => None,
            (DecisionStatus::Answered, Some(answer))
                if [APPROVE, APPROVE_HOSTS].contains(&answer.option.as_str()) =>
            {
                let until = later(answer.at, APPROVAL_MS_MAX);
                Some(if now >= until {
                    ApprovalOutcome::Expired
                } else {
                    let opens_hosts = answer.option == APPROVE_HOSTS;
                    ApprovalOutcome::Approved { until, opens_hosts }
                })
            }
            (DecisionStatus::Answered, answer) => Some(ApprovalOutcome::Denied {
                note: answer.as_ref().and_then(|answer| answer.note.clone()),
            }),
            (DecisionStatus::Cancelled, _) => Some(ApprovalOutcome::TimedOut),
            // The decision was withdrawn while the run was quarantined; the resumed run must ask again.
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

/// Sorts decisions for display: overdue first, then by severity, then by age.
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
