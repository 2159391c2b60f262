//! Waits for a time, a person's answer or the end of sub-runs. No wait requires this process to stay alive.

use wakeful_core::agent_settings::AgentSettings;
use wakeful_core::decision::{ApprovalOutcome, Channel, Decision, DecisionPolicy, DecisionStatus};
use wakeful_core::key::{DecisionId, RunKey};
use wakeful_core::proof::row_binding::{RunRecord, attach};
use wakeful_core::report::payload::{DecisionAnswered, DecisionEscalated, Payload};
use wakeful_core::report::{EventDraft, EventKind, SealedEvent};
use wakeful_core::run::{DecisionWrite, RunInput, RunMachine};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Suspension, Wait};
use wakeful_ports::model::Model;
use wakeful_ports::planted_bugs;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::RunRow;
use wakeful_store::{StoreError, View};

use crate::model_call::ended_early;
use crate::run::{ClaimedRun, broken};
use crate::step::{EarlyEnd, NextAction};
use crate::sub_run;
use crate::{Engine, EngineError};

/// The longest wait during which the driver keeps the run. For a longer one it releases the run until it is
/// due.
pub(crate) const INLINE_WAIT_MS_MAX: u64 = 2_000;

/// What a run needs before it can continue, according to its state.
#[derive(Debug, Clone)]
pub(crate) enum Need {
    Nothing,
    Time(Millis),
    /// The end of the minute in which a tool was called too often.
    Rate(Millis),
    /// The answer to a decision.
    Answer(DecisionId),
    /// The end of one of these sub-runs.
    Runs(Vec<RunKey>),
    /// Room in the daily budget.
    Budget(Wait),
}

impl Need {
    /// What a run needs in the state that it has just reached. The driver waits out a very short delay
    /// itself.
    pub(crate) fn of(turn: &RunMachine, now: Millis) -> Self {
        let delay_ms = turn.phase.delay_ms();
        match (turn.waits_on_runs(), turn.waits_on()) {
            (true, _) => Self::Runs(
                turn.children()
                    .into_iter()
                    .map(|(_, child)| child.run_key)
                    .collect(),
            ),
            (false, Some(question)) => Self::Answer(question),
            (false, None) if delay_ms > INLINE_WAIT_MS_MAX => match turn.phase.delayed_tool() {
                Some(_) => Self::Rate(later(now, delay_ms)),
                None => Self::Time(later(now, delay_ms)),
            },
            (false, None) => Self::Nothing,
        }
    }

    /// What a run needs for the wait that its driver leaves it in.
    pub(crate) fn of_wait(wait: Wait, turn: &RunMachine, now: Millis) -> Self {
        match wait {
            Wait::Due { until } => Self::Time(until),
            Wait::Rate { until } => Self::Rate(until),
            Wait::Budget { .. } => Self::Budget(wait),
            Wait::Decision { .. } | Wait::Children | Wait::Turn => Self::of(turn, now),
        }
    }

    /// What the run waits for now; none if it has what it needs, or its end was requested. Requires the
    /// agent's locked head: an answer or the end of a sub-run since the driver checked may already have
    /// signalled the run in vain.
    pub(crate) fn wait(
        &self,
        view: &mut View<'_>,
        run: &RunKey,
        now: Millis,
    ) -> Result<Option<Wait>, StoreError> {
        let wait = match self {
            Self::Nothing => None,
            Self::Time(until) => Some(Wait::Due { until: *until }),
            Self::Rate(until) => Some(Wait::Rate { until: *until }),
            // Nothing to check: dispatch compares the wait with the stored budget.
            Self::Budget(wait) => Some(*wait),
            Self::Answer(question) => view.decision(question)?.and_then(|decision| decision.wait(now)),
            Self::Runs(runs) => sub_run::all_under_way(view, runs)?.then_some(Wait::Children),
        };
        Ok(match wait {
            Some(_) if view.cancel_requested(run)? => None,
            wait => wait,
        })
    }
}

fn later(at: Millis, ms: u64) -> Millis {
    Millis(at.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}

/// The unsealed events of a transition, with the decisions that some of them record.
pub(crate) struct TransitionEvents<'a> {
    decisions: &'a [DecisionWrite],
    events: &'a mut [EventDraft],
    at: Millis,
}

impl<'a> TransitionEvents<'a> {
    pub(crate) const fn new(
        decisions: &'a [DecisionWrite],
        events: &'a mut [EventDraft],
        at: Millis,
    ) -> Self {
        Self {
            decisions,
            events,
            at,
        }
    }
}

/// The properties of a run that are fixed at its start.
pub(crate) fn run_record(run: &RunRow) -> RunRecord<'_> {
    RunRecord {
        run_key: run.run_key,
        agent_id: &run.agent_id,
        thread_id: &run.thread_id,
        machine: &run.machine,
        machine_version: run.machine_version,
        started_at: run.started_at,
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// The policy for a decision that a run of an agent with these settings requests now.
    pub(crate) fn decision_policy(&self, settings: Option<&AgentSettings>) -> DecisionPolicy {
        let channels = |own: &AgentSettings| own.channels(&self.policy.defaults());
        DecisionPolicy {
            deadline_after_ms: self.defaults.decision_deadline_ms,
            may_answer: settings.map_or_else(Channel::all, channels),
        }
    }

    /// The time of a transition. The run's row, its wake record and its first events have the same start
    /// time.
    pub(crate) fn transition_time(&self, before: &RunRow) -> Millis {
        match before.version {
            0 => before.started_at,
            _ => self.clock.now(),
        }
    }

    /// Waits until the next effect is due. Returns none when it is.
    pub(crate) async fn wait_for_moment(
        &self,
        claimed: &ClaimedRun,
    ) -> Result<Option<NextAction>, EngineError> {
        let delay_ms = claimed.machine.phase.delay_ms();
        let now = self.clock.now();
        // Time waited before a crash counts. If the clock was set back, the wait is limited to the original
        // delay.
        let left_ms = match claimed.row.wait() {
            Some(Wait::Due { until } | Wait::Rate { until }) => until.since(now).min(delay_ms),
            Some(Wait::Decision { .. } | Wait::Children | Wait::Budget { .. } | Wait::Turn) | None => {
                delay_ms
            }
        };
        if left_ms == 0 {
            return Ok(None);
        }
        // Checked before the run is released: otherwise a cancelled run would be signalled and released in
        // a loop.
        let run = claimed.run_key();
        if self.store.read(move |view| view.cancel_requested(&run)).await? {
            return ended_early(claimed, EarlyEnd::Cancelled).map(Some);
        }
        if left_ms > INLINE_WAIT_MS_MAX {
            let until = later(now, left_ms);
            let wait = match claimed.machine.phase.delayed_tool() {
                Some(_) => Wait::Rate { until },
                None => Wait::Due { until },
            };
            return Ok(Some(NextAction::Wait(Suspension { wait, since: now })));
        }
        tokio::select! {
            biased;
            () = self.clock.sleep(left_ms) => Ok(None),
            early = self.wait_for_early_end(claimed) => ended_early(claimed, early).map(Some),
        }
    }

    /// Checks a run whose plan has no action in progress: it receives the awaited answer, or continues.
    pub(crate) async fn check_approval(&self, claimed: &ClaimedRun) -> Result<NextAction, EngineError> {
        let now = self.clock.now();
        let (waits_on, lapsed_on) = (claimed.machine.waits_on(), claimed.machine.expired_approval(now));
        let Some(id) = waits_on.or(lapsed_on) else {
            if claimed.machine.phase.delay_ms() > 0
                && let Some(rest) = self.wait_for_moment(claimed).await?
            {
                return Ok(rest);
            }
            return Ok(NextAction::just(RunInput::Settled { results: Vec::new() }));
        };
        let mut decision = self.question(claimed, id).await?;
        if lapsed_on.is_some() {
            let inquiry = Box::new(decision.inquiry);
            return Ok(NextAction::just(RunInput::ApprovalExpired { inquiry }));
        }
        if let Some(next) = decision.escalate_if_overdue(now) {
            decision = self.escalate_or_cancel(claimed, &decision, next).await?;
        }
        Ok(match decision.outcome(now) {
            None => NextAction::Wait(Suspension {
                wait: decision.wait(now).unwrap_or(Wait::Decision { until: None }),
                since: now,
            }),
            Some(ApprovalOutcome::Denied { .. }) if planted_bugs::is_planted("denied_acts") => {
                NextAction::just(RunInput::Decided {
                    decision_id: id,
                    ruling: ApprovalOutcome::Approved {
                        until: Millis(i64::MAX),
                        opens_hosts: false,
                    },
                })
            }
            Some(ApprovalOutcome::Expired) => NextAction::just(RunInput::ApprovalExpired {
                inquiry: Box::new(decision.inquiry),
            }),
            Some(ruling) => NextAction::just(RunInput::Decided {
                decision_id: id,
                ruling,
            }),
        })
    }

    async fn question(&self, claimed: &ClaimedRun, id: DecisionId) -> Result<Decision, EngineError> {
        let found = self.store.read(move |view| view.decision(&id)).await?;
        found.ok_or_else(|| EngineError::InvalidState {
            run: claimed.run_key(),
            why: "the decision it waits for does not exist".into(),
        })
    }

    /// Handles a missed deadline: the decision is escalated or cancelled. If it was answered meanwhile, the
    /// answer counts.
    async fn escalate_or_cancel(
        &self,
        claimed: &ClaimedRun,
        before: &Decision,
        next: Decision,
    ) -> Result<Decision, EngineError> {
        let (id, expected, run) = (next.inquiry.decision_id, before.version, claimed.run_key());
        let draft = late_draft(&next);
        let now = self.clock.now();
        let sealed = SealedEvent::new(draft, now, Some(run), self.entropy.random_bytes());
        let sealed = sealed.map_err(|e| broken(run, &e))?;
        let (agent, fence) = (claimed.row.agent_id.clone(), claimed.fence);
        let written = self.store.write(move |tx| {
            let mut head = tx.lock_head(&agent, fence)?;
            if tx.decision(&id)?.is_none_or(|one| one.version != expected) {
                return Ok(None);
            }
            tx.put_decision(&next, expected)?;
            let event = head.chain(&agent, sealed.clone());
            tx.append_event(&agent, &event)?;
            tx.put_head(&agent, &head)?;
            Ok(Some(event))
        });
        if let Some(event) = written.await? {
            self.observer.on_events(&claimed.row.agent_id, &[event]);
        }
        self.question(claimed, id).await
    }
}

/// Adds the hashes of rows to the events that record them: of a run that starts, and of each requested
/// decision.
pub(crate) fn attach_records(run: &RunRow, terms: &DecisionPolicy, written: TransitionEvents<'_>) {
    let TransitionEvents {
        decisions,
        events,
        at,
    } = written;
    let begun = events
        .iter_mut()
        .find(|event| event.kind() == EventKind::RunStarted);
    if let Some(begun) = begun {
        attach(begun, &run_record(run));
    }
    for write in decisions {
        let DecisionWrite::Ask(inquiry) = write else {
            continue;
        };
        let agent = run.agent_id.clone();
        let asked = (**inquiry)
            .clone()
            .asked_by(agent, run.run_key, at, terms.clone());
        let event = events.iter_mut().find(|event| {
            matches!(&event.body.payload, Payload::DecisionAsked(asked) if asked.decision_id == inquiry.decision_id)
        });
        if let Some(event) = event {
            attach(event, &asked);
        }
    }
}

/// The event of a missed deadline.
pub(crate) fn late_draft(next: &Decision) -> EventDraft {
    let mut draft = match next.status {
        DecisionStatus::Pending => EventDraft::new(DecisionEscalated::from(next)),
        DecisionStatus::Answered | DecisionStatus::Cancelled | DecisionStatus::Withdrawn => {
            EventDraft::new(DecisionAnswered {
                title: Some(next.inquiry.title.clone()),
                severity: Some(next.inquiry.severity),
                ..DecisionAnswered::new(next)
            })
        }
    };
    attach(&mut draft, next);
    draft
}
