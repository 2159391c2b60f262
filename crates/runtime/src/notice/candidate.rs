//! Candidates: subscriptions that a notice may match, before they become messages or refusals.

use wakeful_core::cause::{CAUSE_TOKENS_MAX, Cause, MessageOrigin};
use wakeful_core::id::{AgentId, RuleId, TraceId};
use wakeful_core::key::{self, RunKey};
use wakeful_core::message::{Message, NewMessage};
use wakeful_core::notice::{ChangedRecord, describe_agent_notice, describe_change};
use wakeful_core::report::SealedEvent;
use wakeful_core::schedule::since_run;
use wakeful_core::subscription::spec::SubscriptionFacts;
use wakeful_core::wake::CauseFacts;
use wakeful_store::rows::SubscriptionRow;
use wakeful_store::{StoreError, Tx};

use super::outbox::{NoticeAuthor, OutboxNotice};
use super::{NoticeDispatcher, NoticeError};
use crate::admission::{AdmissionOutcome, PreparedAdmission, depth_of};
use crate::run::broken;
use crate::wake::{admitted_event, opening};

/// A subscription that a notice may match. Prepared before the transaction, because the transaction may be
/// retried.
#[derive(Debug)]
pub(super) struct Candidate {
    rule: RuleId,
    arrival: PreparedAdmission,
}

impl Candidate {
    /// Sets the result of the predicate; none if the subscription has none.
    pub(super) const fn with_predicate(mut self, predicate: Option<bool>) -> Self {
        self.arrival.facts.predicate = predicate;
        self
    }

    /// Admits or refuses the wake. Returns none if the subscription was removed meanwhile.
    pub(super) fn arrive(&self, tx: &mut Tx<'_>) -> Result<Option<(AgentId, AdmissionOutcome)>, StoreError> {
        // Lock the head first, as in every transition, so that a subscription acknowledged as paused or
        // removed no longer wakes the agent.
        tx.lock_head_to_announce(&self.arrival.message.agent_id)?;
        let Some(row) = tx.subscription(&self.rule)? else {
            return Ok(None);
        };
        let message = &self.arrival.message;
        let now = message.admitted_at;
        let due = row.spec.window(now, row.last_due);
        let facts = CauseFacts {
            guard: self.guard(tx, &row)?,
            is_paused: !row.is_active,
            not_before: due,
            ..self.arrival.facts
        };
        let arrival = PreparedAdmission {
            facts,
            ..self.arrival.clone()
        };
        let arrived = arrival.commit(tx)?;
        let has_window = row.spec.cooldown_ms > 0 || row.spec.debounce_ms > 0;
        if has_window && matches!(arrived, AdmissionOutcome::New(_)) {
            tx.set_last_due(&self.rule, due.unwrap_or(now))?;
        }
        Ok(Some((row.agent_id, arrived)))
    }

    fn guard(&self, tx: &mut Tx<'_>, row: &SubscriptionRow) -> Result<Option<bool>, StoreError> {
        if row.spec.guard.is_none() {
            return Ok(None);
        }
        let Message {
            cause, admitted_at, ..
        } = &self.arrival.message;
        let circumstances = SubscriptionFacts {
            since_last_run_ms: tx
                .last_run_at(&row.agent_id)?
                .map(|began| since_run(began, *admitted_at)),
            queued: tx.queued(&row.agent_id)?,
            author: match &cause.origin {
                MessageOrigin::Subscription { author, .. } => author.clone(),
                MessageOrigin::Operator
                | MessageOrigin::Schedule { .. }
                | MessageOrigin::Trigger { .. }
                | MessageOrigin::Run { .. } => String::new(),
            },
            depth: cause.depth,
        };
        Ok(row.spec.holds(&circumstances))
    }
}

/// The causal history of a notice.
#[derive(Debug, Default)]
pub(super) struct NoticeProvenance {
    /// The causal depth.
    depth: u32,
    /// The correlation id; none if the change has no predecessor.
    correlation: Option<TraceId>,
}

impl NoticeDispatcher {
    pub(super) async fn candidate(
        &self,
        notice: &OutboxNotice,
        records: &[ChangedRecord],
        row: &SubscriptionRow,
        preceding: &NoticeProvenance,
    ) -> Result<Candidate, NoticeError> {
        let now = self.clock.now();
        let rule = &row.subscription_id;
        let text = match &notice.what {
            Some(what) => describe_agent_notice(rule, what, &row.spec.message),
            None => describe_change(rule, &notice.author, records, &row.spec.message),
        };
        let text = self.redacted(text);
        let (_, body) = opening(&text, Vec::new());
        let agent = row.agent_id.clone();
        let run_key = RunKey::of(
            agent.as_str(),
            &key::RunKeySource::Subscription {
                subscription: rule.as_str(),
                change: notice.key,
            },
        );
        let cause = Cause {
            origin: MessageOrigin::Subscription {
                subscription: rule.clone(),
                change: notice.key,
                seq: notice.seq,
                tokens: notice
                    .tokens
                    .iter()
                    .take(CAUSE_TOKENS_MAX)
                    .map(|token| self.redacted(token.key()))
                    .collect(),
                author: notice.author.clone(),
            },
            depth: preceding.depth,
            ..Cause::default()
        };
        let change = TraceId::of(&notice.key.0);
        let first = preceding.correlation.clone().unwrap_or_else(|| change.clone());
        let cause = cause.following(change, first);
        let new = NewMessage {
            agent_id: agent,
            body: body.hash(),
            admitted_at: now,
        };
        let message = Message::from_cause(new, run_key, cause);
        let draft = admitted_event(&message, &text);
        let sealed = SealedEvent::new(draft, now, Some(run_key), self.entropy.random_bytes());
        let sealed = sealed.map_err(|error| broken(run_key, &error))?;
        let body = self.store.pack(body).await?;
        let arrival = PreparedAdmission::plain(message, body, sealed);
        Ok(Candidate {
            rule: rule.clone(),
            arrival,
        })
    }

    fn redacted(&self, text: String) -> String {
        (self.redact)(&text).unwrap_or(text)
    }

    /// Returns the causal history of a notice.
    pub(super) async fn preceding(&self, notice: &OutboxNotice) -> Result<NoticeProvenance, NoticeError> {
        let run = match notice.by {
            NoticeAuthor::Person => return Ok(NoticeProvenance::default()),
            NoticeAuthor::Operation(operation) => {
                self.store
                    .read(move |view| view.run_of_operation(&operation))
                    .await?
            }
            NoticeAuthor::Run(run) => run,
        };
        let Some(run) = run else {
            return Ok(NoticeProvenance {
                depth: 1,
                correlation: None,
            });
        };
        let before = self.store.read(move |view| {
            let cause = view.message(&run)?.map(|message| message.cause);
            let correlation = cause.map(|cause| cause.correlation_of(&run));
            Ok((depth_of(view, &run)?, correlation))
        });
        let (before, correlation) = before.await?;
        Ok(NoticeProvenance {
            depth: before.saturating_add(1),
            correlation,
        })
    }
}
