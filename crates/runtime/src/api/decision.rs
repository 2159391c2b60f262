//! Decisions: listing, reading and answering them.

use std::sync::Arc;

use wakeful_core::decision::{AnswerError, AnswerInput, Decision, sort_by_urgency};
use wakeful_core::failure::truncate_chars;
use wakeful_core::id::AgentId;
use wakeful_core::key::DecisionId;
use wakeful_core::proof::row_binding::attach;
use wakeful_core::report::payload::{AnswerGiven, DecisionAnswered};
use wakeful_core::report::{Event, EventDraft};
use wakeful_ports::fail_point;
use wakeful_store::rows::{DecisionFilter, DecisionNotificationRow, HumanBacklog};
use wakeful_store::{ROWS_MAX, StoreError, Tx};

use super::shared::{Shared, append};
use super::{DecisionInput, decision_input};
use crate::wait::late_draft;
use crate::{EngineError, Observer as _, Stamp};

/// The decisions that match an id prefix.
enum PrefixMatch {
    One(Box<Decision>),
    Unknown,
    Several(Vec<DecisionId>),
}

/// The result of the answering transaction.
enum AnswerOutcome {
    Taken(Box<Decision>, Box<Event>),
    Refused(AnswerError),
    /// The answer arrived after the deadline. The decision was escalated or cancelled.
    Late(AnswerError, AgentId, Box<Event>),
    Unknown,
}

pub struct DecisionApi {
    pub(super) shared: Arc<Shared>,
}

impl DecisionApi {
    /// Returns the decision whose id starts with these hex digits.
    pub async fn get(&self, hex_prefix: String) -> Result<Decision, EngineError> {
        let wanted = hex_prefix.clone();
        let found =
            self.shared.store.read(
                move |view| match view.decisions_with_prefix(&wanted)?.as_slice() {
                    [] => Ok(PrefixMatch::Unknown),
                    [one] => Ok(view
                        .decision(one)?
                        .map_or(PrefixMatch::Unknown, |one| PrefixMatch::One(Box::new(one)))),
                    several => Ok(PrefixMatch::Several(several.to_vec())),
                },
            );
        let given = truncate_chars(&hex_prefix, 64);
        match found.await? {
            PrefixMatch::One(decision) => Ok(*decision),
            PrefixMatch::Unknown => Err(EngineError::UnknownDecision(given)),
            PrefixMatch::Several(candidates) => Err(EngineError::AmbiguousDecision { given, candidates }),
        }
    }

    /// Answers a decision. A second answer is refused; the error contains the first one.
    pub async fn answer(&self, hex_prefix: String, reply: AnswerInput) -> Result<Decision, EngineError> {
        let id = self.get(hex_prefix).await?.inquiry.decision_id;
        // Sealed inside the transaction, because the version of the decision is known only under the lock.
        // The clock is read there too: an answer that waited for the lock may have missed its deadline.
        let (clock, salt) = (Arc::clone(&self.shared.clock), self.shared.entropy.random_bytes());
        let found = self.shared.write(move |tx| {
            let at = clock.now();
            answer_in(tx, id, &reply, Stamp { at, salt })
        });
        match found.await? {
            AnswerOutcome::Unknown => Err(EngineError::UnknownDecision(id.to_string())),
            AnswerOutcome::Refused(why) => Err(why.into()),
            AnswerOutcome::Late(why, agent, event) => {
                self.shared.hub.on_events(&agent, &[*event]);
                self.shared.work.signal_agent(agent);
                Err(why.into())
            }
            AnswerOutcome::Taken(decision, event) => {
                fail_point::fail_point("decision.after_answer");
                self.shared.hub.on_events(&decision.agent_id, &[*event]);
                self.shared.work.signal_agent(decision.agent_id.clone());
                Ok(*decision)
            }
        }
    }

    /// Lists all decisions, newest first, or only the pending ones, most urgent first.
    pub async fn list(&self, pending_only: bool) -> Result<Vec<Decision>, EngineError> {
        let filter = DecisionFilter {
            pending_only,
            run_key: None,
            limit: ROWS_MAX,
        };
        let found = self.shared.store.read(move |view| view.decisions(&filter));
        Ok(if pending_only {
            sort_by_urgency(found.await?)
        } else {
            found.await?
        })
    }

    /// Returns the complete arguments of the action that a decision is about.
    pub async fn arguments(&self, decision: Decision) -> Result<DecisionInput, EngineError> {
        let found = self
            .shared
            .store
            .read(move |view| decision_input::arguments(view, &decision));
        Ok(found.await?)
    }

    /// Returns the notifications about a decision, sent and failed.
    pub async fn announcements(
        &self,
        decision: DecisionId,
    ) -> Result<Vec<DecisionNotificationRow>, EngineError> {
        let found = self.shared.store.read(move |view| view.announcements(&decision));
        Ok(found.await?)
    }

    /// Counts the pending decisions and the quarantined runs of all agents.
    pub async fn human_backlog(&self) -> Result<HumanBacklog, EngineError> {
        let found = self.shared.store.read(|view| view.human_backlog());
        Ok(found.await?)
    }
}

/// Stores an answer, appends it to the log and makes the run due. A late answer escalates or cancels the
/// decision instead.
fn answer_in(
    tx: &mut Tx<'_>,
    id: DecisionId,
    reply: &AnswerInput,
    stamp: Stamp,
) -> Result<AnswerOutcome, StoreError> {
    let Some(decision) = tx.decision(&id)? else {
        return Ok(AnswerOutcome::Unknown);
    };
    // Lock the head first, as in every transition, then read the decision again.
    let Some(mut head) = tx.lock_head_to_announce(&decision.agent_id)? else {
        return Ok(AnswerOutcome::Unknown);
    };
    let Some(decision) = tx.decision(&id)? else {
        return Ok(AnswerOutcome::Unknown);
    };
    let answered = match decision.answer(reply.clone(), stamp.at) {
        Ok(answered) => answered,
        Err(why @ AnswerError::Late { .. }) => {
            let Some(next) = decision.escalate_if_overdue(stamp.at) else {
                return Ok(AnswerOutcome::Refused(why));
            };
            tx.put_decision(&next, decision.version)?;
            tx.make_run_due(&decision.run_key)?;
            let sealed = stamp
                .seal(late_draft(&next), Some(decision.run_key))
                .map_err(|_| StoreError::Malformed("a deadline"))?;
            let event = append(tx, &decision.agent_id, &mut head, &sealed)?;
            return Ok(AnswerOutcome::Late(why, decision.agent_id, Box::new(event)));
        }
        Err(why) => return Ok(AnswerOutcome::Refused(why)),
    };
    tx.put_decision(&answered, decision.version)?;
    tx.make_run_due(&decision.run_key)?;
    let mut draft = EventDraft::new(DecisionAnswered {
        answer: Some(AnswerGiven {
            option: reply.option.clone(),
            channel: reply.channel,
            note: reply.note.clone(),
        }),
        ..DecisionAnswered::new(&answered)
    });
    attach(&mut draft, &answered);
    let sealed = stamp
        .seal(draft, Some(decision.run_key))
        .map_err(|_| StoreError::Malformed("an answer"))?;
    let event = append(tx, &decision.agent_id, &mut head, &sealed)?;
    Ok(AnswerOutcome::Taken(Box::new(answered), Box::new(event)))
}
