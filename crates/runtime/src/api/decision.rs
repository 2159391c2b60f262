//! Decisions, brakes and quarantined runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use wakeful_core::decision::{Decision, Reply, Unanswerable, in_order};
use wakeful_core::failure::clip;
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, RunKey};
use wakeful_core::proof::record::attach;
use wakeful_core::report::payload::{
    AgentStateChanged, AnswerGiven, BrakeChanged, DecisionAnswered, Payload, RunReleased,
};
use wakeful_core::report::{Draft, Event, Sealed};
use wakeful_core::run::RunStatus;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Lifecycle, Refusal, Suspension, Wait};
use wakeful_ports::fail;
use wakeful_store::rows::{AnnouncementRow, DecisionFilter, Owed, RunRow};
use wakeful_store::{PendingStop, ROWS_MAX, StoreError, Tx};

use super::runtime_api::{announce, append};
use super::{Arguments, RuntimeApi, decision_input};
use crate::stored_run::{self, StoredRun};
use crate::subrun::{end_children, lock_all, parent_of};
use crate::wait::late_draft;
use crate::{EngineError, Observer as _};

/// Longest reason for a brake.
pub const REASON_CHARS_MAX: usize = 500;

/// Agents that are told of a brake in its own transaction. A log takes well under a millisecond.
const TOLD_AT_ONCE_MAX: usize = 500;

/// What a beginning of a name leads to.
enum Named {
    One(Box<Decision>),
    Unknown,
    Several,
}

/// What the answering transaction found.
enum Found {
    Taken(Box<Decision>, Box<Event>),
    Refused(Unanswerable),
    /// The answer came after the deadline. The question has grown more severe, or is called off.
    Late(Unanswerable, AgentId, Box<Event>),
    Unknown,
}

/// What became of a wish about a run that stands aside.
enum Moved {
    /// With those whose runs end with it.
    Done(AgentId, Box<Event>, Vec<AgentId>),
    Not(RunRow),
    Refused(Refusal),
    Unknown,
}

impl RuntimeApi {
    /// The question whose name begins with these hex digits.
    pub async fn decision(&self, hex_prefix: String) -> Result<Decision, EngineError> {
        let wanted = hex_prefix.clone();
        let found = self.store.read(
            move |view| match view.decisions_with_prefix(&wanted)?.as_slice() {
                [] => Ok(Named::Unknown),
                [one] => Ok(view
                    .decision(one)?
                    .map_or(Named::Unknown, |one| Named::One(Box::new(one)))),
                _ => Ok(Named::Several),
            },
        );
        let given = clip(&hex_prefix, 64);
        match found.await? {
            Named::One(decision) => Ok(*decision),
            Named::Unknown => Err(EngineError::UnknownDecision(given)),
            Named::Several => Err(EngineError::AmbiguousDecision(given)),
        }
    }

    /// Answers a question. Whoever comes second is told what the first one said.
    pub async fn answer(&self, hex_prefix: String, reply: Reply) -> Result<Decision, EngineError> {
        let id = self.decision(hex_prefix).await?.inquiry.decision_id;
        // Sealed inside the transaction: which version an answer makes is known only with the lock. What time it is, too:
        // an answer that waited for the lock may have missed its deadline.
        let (clock, salt) = (Arc::clone(&self.clock), self.entropy.bytes32());
        let found = self.write(move |tx| answer_in(tx, id, &reply, (clock.now(), salt)));
        match found.await? {
            Found::Unknown => Err(EngineError::UnknownDecision(id.to_string())),
            Found::Refused(why) => Err(why.into()),
            Found::Late(why, agent, event) => {
                self.hub.saw(&agent, &[*event]);
                self.work.look_at(agent);
                Err(why.into())
            }
            Found::Taken(decision, event) => {
                fail::point("decision.after_answer");
                self.hub.saw(&decision.agent_id, &[*event]);
                self.work.look_at(decision.agent_id.clone());
                Ok(*decision)
            }
        }
    }

    /// Changes what concerns all agents, and in the same transaction writes that into their logs.
    pub(super) async fn tell_all_of(
        &self,
        payload: AgentStateChanged,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        self.change_all(None, payload.into(), change).await
    }

    pub(super) async fn change_brake(
        &self,
        agent: Option<AgentId>,
        payload: BrakeChanged,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        self.change_all(agent, payload.into(), change).await
    }

    /// Lays a hand on the brake, and in the same transaction writes that into the log of whom it concerns: one agent or
    /// all. Where there are very many, the last of them are told after it, because a brake does not wait.
    async fn change_all(
        &self,
        agent: Option<AgentId>,
        payload: Payload,
        change: impl Fn(&mut Tx<'_>) -> Result<bool, StoreError> + Send + 'static,
    ) -> Result<(), EngineError> {
        let concerned = match &agent {
            Some(agent) => vec![agent.clone()],
            None => {
                let heads = self.store.read(|view| view.heads()).await?;
                heads.into_iter().map(|(agent, _)| agent).collect()
            }
        };
        // By name: two who lock several in two orders wait for each other.
        let concerned: BTreeSet<AgentId> = concerned.into_iter().collect();
        let now = self.clock.now();
        let told = concerned.into_iter().map(|agent| {
            let draft = Draft::new(payload.clone());
            Ok((agent, self.seal(draft, None, now)?))
        });
        let told = told.collect::<Result<Vec<_>, EngineError>>()?;
        let mut pieces = told.chunks(TOLD_AT_ONCE_MAX).map(<[_]>::to_vec);
        let (first, wanted) = (pieces.next().unwrap_or_default(), agent.clone());
        let changed = self.write(move |tx| {
            if let Some(agent) = &wanted
                && tx.agent(agent)?.is_none()
            {
                return Ok(None);
            }
            Ok(Some(if change(tx)? {
                (true, tell_all(tx, &first)?)
            } else {
                (false, Vec::new())
            }))
        });
        let (is_changed, events) = match (changed.await?, agent) {
            (Some(changed), _) => changed,
            (None, Some(agent)) => return Err(EngineError::UnknownAgent(agent)),
            (None, None) => return Ok(()),
        };
        self.show(events);
        for piece in pieces.filter(|_| is_changed) {
            self.show(self.write(move |tx| tell_all(tx, &piece)).await?);
        }
        Ok(())
    }

    fn show(&self, events: Vec<(AgentId, Event)>) {
        for (agent, event) in events {
            self.hub.saw(&agent, &[event]);
        }
    }

    async fn move_aside(&self, run: RunKey, status: RunStatus) -> Result<StoredRun, EngineError> {
        let at = self.clock.now();
        let released = RunReleased { run_key: run, status };
        let sealed = self.seal(Draft::new(released), Some(run), at)?;
        let salt = self.entropy.bytes32();
        let moved = self.write(move |tx| move_aside_in(tx, (run, status), &sealed, (at, salt)));
        match moved.await? {
            Moved::Unknown => return Err(EngineError::UnknownRun(run)),
            Moved::Not(row) => {
                let status = row.status;
                return Err(EngineError::NotQuarantined { run, status });
            }
            Moved::Refused(refusal) => return Err(refusal.into()),
            Moved::Done(agent, event, others) => {
                self.hub.saw(&agent, &[*event]);
                self.work.look_at(agent);
                self.look_at_all(others);
            }
        }
        stored_run::load(&self.store, run).await
    }

    /// Questions in the order in which people should see them; `pending_only` leaves out those that are closed.
    pub async fn decisions(&self, pending_only: bool) -> Result<Vec<Decision>, EngineError> {
        let filter = DecisionFilter {
            pending_only,
            run_key: None,
            limit: ROWS_MAX,
        };
        let found = self.store.read(move |view| view.decisions(&filter));
        Ok(if pending_only {
            in_order(found.await?)
        } else {
            found.await?
        })
    }

    /// The arguments of the action that a question is about, all of them.
    pub async fn arguments(&self, decision: Decision) -> Result<Arguments, EngineError> {
        let found = self
            .store
            .read(move |view| decision_input::arguments(view, &decision));
        Ok(found.await?)
    }

    /// Who was told of a question, and who could not be.
    pub async fn announcements(&self, decision: DecisionId) -> Result<Vec<AnnouncementRow>, EngineError> {
        let found = self.store.read(move |view| view.announcements(&decision));
        Ok(found.await?)
    }

    /// What waits for a person, over all agents.
    pub async fn owed(&self) -> Result<Owed, EngineError> {
        let found = self.store.read(|view| view.owed());
        Ok(found.await?)
    }

    /// Brakes and cancellations that are in force and that the database does not have yet.
    #[must_use]
    pub fn pending_stops(&self) -> Vec<PendingStop> {
        self.store.stops().pending()
    }

    /// Resumes a quarantined run.
    pub async fn retry(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.move_aside(run, RunStatus::Open).await
    }

    /// Abandons a quarantined run.
    pub async fn abandon(&self, run: RunKey) -> Result<StoredRun, EngineError> {
        self.move_aside(run, RunStatus::Abandoned).await
    }
}

/// Lets a run that stands aside go on, or ends it with what it started.
fn move_aside_in(
    tx: &mut Tx<'_>,
    (run, status): (RunKey, RunStatus),
    sealed: &Sealed,
    moment: (Millis, [u8; 32]),
) -> Result<Moved, StoreError> {
    let Some(row) = tx.run(&run)? else {
        return Ok(Moved::Unknown);
    };
    let (agent, parent, is_end) = (
        row.agent_id.clone(),
        parent_of(tx, &run)?,
        status == RunStatus::Abandoned,
    );
    // Whoever could start more holds the same head, and nobody drives a run that stands aside.
    let children = if is_end { tx.children(&run)? } else { Vec::new() };
    let concerned = children.into_iter().map(|child| child.agent_id);
    let concerned = concerned.chain(parent.as_ref().map(|parent| parent.agent_id.clone()));
    let mut heads = lock_all(tx, &concerned.chain([agent.clone()]).collect())?;
    let Some(mut head) = heads.remove(&agent) else {
        return Ok(Moved::Unknown);
    };
    // With the head nobody begins another: two under way in one thread would answer each other's questions.
    let is_busy = !is_end
        && tx
            .overview(&agent)?
            .is_some_and(|overview| overview.open_run.is_some());
    let is_aside = tx
        .run(&run)?
        .is_some_and(|row| row.status == RunStatus::Quarantined);
    // It would go on for an agent that is gone.
    let lifecycle = tx.agent(&agent)?.map(|agent| agent.lifecycle);
    if is_aside && !is_end && lifecycle == Some(Lifecycle::Destroyed) {
        return Ok(Moved::Refused(Refusal::Destroyed));
    }
    if !is_aside || !tx.set_aside(&run, status, None, moment.0)? {
        return Ok(Moved::Not(row));
    }
    if is_busy {
        let (wait, since) = (Wait::Turn, moment.0);
        tx.suspend_run(&run, Suspension { wait, since })?;
    }
    let mut others = Vec::new();
    if is_end {
        // Nobody goes on with it, so nobody will ever find out, or be told of what it started.
        tx.leave_steps(&run)?;
        others = end_children(tx, &run, &mut heads, moment)?;
    }
    // One that goes on has not ended; who waits for it looks in vain, and waits on.
    if let Some(parent) = parent {
        tx.make_run_due(&parent.run_key)?;
    }
    let event = append(tx, &agent, &mut head, sealed)?;
    Ok(Moved::Done(agent, Box::new(event), others))
}

/// Takes an answer, writes it into the log, and has the run looked at.
fn answer_in(
    tx: &mut Tx<'_>,
    id: DecisionId,
    reply: &Reply,
    (now, salt): (Millis, [u8; 32]),
) -> Result<Found, StoreError> {
    let Some(decision) = tx.decision(&id)? else {
        return Ok(Found::Unknown);
    };
    // The head first, as in every transition; then what was read is read again.
    let Some(mut head) = tx.lock_head_to_announce(&decision.agent_id)? else {
        return Ok(Found::Unknown);
    };
    let Some(decision) = tx.decision(&id)? else {
        return Ok(Found::Unknown);
    };
    let answered = match decision.answer(reply.clone(), now) {
        Ok(answered) => answered,
        Err(why @ Unanswerable::Late { .. }) => {
            let Some(next) = decision.escalate_if_overdue(now) else {
                return Ok(Found::Refused(why));
            };
            tx.put_decision(&next, decision.version)?;
            tx.make_run_due(&decision.run_key)?;
            let sealed = Sealed::new(late_draft(&next), now, Some(decision.run_key), salt)
                .map_err(|_| StoreError::Malformed("a deadline"))?;
            let event = append(tx, &decision.agent_id, &mut head, &sealed)?;
            return Ok(Found::Late(why, decision.agent_id, Box::new(event)));
        }
        Err(why) => return Ok(Found::Refused(why)),
    };
    tx.put_decision(&answered, decision.version)?;
    tx.make_run_due(&decision.run_key)?;
    let mut draft = Draft::new(DecisionAnswered {
        answer: Some(AnswerGiven {
            option: reply.option.clone(),
            channel: reply.channel,
            note: reply.note.clone(),
        }),
        ..DecisionAnswered::new(&answered)
    });
    attach(&mut draft, &answered);
    let sealed = Sealed::new(draft, now, Some(decision.run_key), salt)
        .map_err(|_| StoreError::Malformed("an answer"))?;
    let event = append(tx, &decision.agent_id, &mut head, &sealed)?;
    Ok(Found::Taken(Box::new(answered), Box::new(event)))
}

/// Writes into the log of each what it is told. Who is not there is told nothing.
fn tell_all(tx: &mut Tx<'_>, told: &[(AgentId, Sealed)]) -> Result<Vec<(AgentId, Event)>, StoreError> {
    let mut events = Vec::new();
    for (agent, sealed) in told {
        events.extend(announce(tx, agent, sealed)?.map(|event| (agent.clone(), event)));
    }
    Ok(events)
}
