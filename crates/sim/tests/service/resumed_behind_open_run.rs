//! A quarantined run that is resumed while another run of its agent is open.

use std::sync::atomic::Ordering;

use wakeful_core::decision::{APPROVE, AnswerInput, Channel, Decision};
use wakeful_core::id::{AgentId, RunnerId, SessionId, TurnId};
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::message::{Message, NewMessage, ParentRun};
use wakeful_core::run::RunStatus;
use wakeful_core::wake::{AgentControl, Lifecycle, Refusal};
use wakeful_ports::clock::{Clock as _, Entropy as _};
use wakeful_runtime::api::{AgentChange, NewAgent};
use wakeful_runtime::run::{claim, quarantine};
use wakeful_runtime::{EngineError, Stamp};

use super::{Daemon, First, Salts, post};

/// Upper bound on the writes of one scenario.
const WRITES_MAX: u32 = 40;

impl Daemon {
    /// Quarantines a run as one that repeatedly crashed its process.
    async fn set_aside(&self, run: RunKey) {
        let why = EngineError::CrashLoop { run, claims: 11 };
        let stamp = Stamp {
            at: self.ticks.now(),
            salt: Salts.random_bytes(),
        };
        let moved = quarantine(&self.store, run, &why, stamp).await;
        assert!(moved.expect("written").is_some());
        // Signals the agent, as the service does after the turn that quarantines a run.
        let main = self.agent();
        self.api
            .agents
            .set_control(main, wakeful_core::wake::AgentControl::Running)
            .await
            .expect("looked at");
        self.settle().await;
    }

    fn agent(&self) -> wakeful_core::id::AgentId {
        wakeful_core::id::AgentId::parse("main").expect("a name")
    }

    /// The open decision of a run, if it waits for one.
    async fn asked_by(&self, run: RunKey) -> Option<Decision> {
        let open = self.api.decisions.list(true).await.expect("questions");
        open.into_iter().find(|one| one.run_key == run)
    }

    pub(super) async fn approve(&self, run: RunKey) {
        let question = self.asked_by(run).await.expect("it asks");
        let reply = AnswerInput {
            option: APPROVE.into(),
            version: None,
            channel: Channel::Page,
            note: None,
        };
        let name = question.inquiry.decision_id.to_string();
        self.api.decisions.answer(name, reply).await.expect("taken");
        self.settle().await;
    }

    /// The approved action of the newer run is performed with few writes; then the older run continues
    /// without another signal.
    async fn ends_newer_and_then_older(&self, newer: RunKey, older: RunKey) {
        let before = self.faults.writes.load(Ordering::Relaxed);
        for (mails, run) in [(1, newer), (2, older)] {
            self.approve(run).await;
            assert_eq!(
                (self.status_of(run).await.as_str(), self.mails()),
                ("completed", mails)
            );
            if run == newer {
                let writes = self.faults.writes.load(Ordering::Relaxed) - before;
                assert!(writes < WRITES_MAX, "{writes} writes");
                assert!(self.is_quiet().await);
            }
        }
    }

    pub(super) fn mails(&self) -> u32 {
        self.mailer.0.load(Ordering::Relaxed)
    }

    /// Creates two runs: the older one is quarantined, the newer one waits for a decision.
    async fn with_two() -> (Self, RunKey, RunKey) {
        let daemon = Self::begin(First::WantsTool).await;
        let older = daemon.run;
        daemon.set_aside(older).await;
        let newer = post(&daemon.api, "turn-2").await;
        daemon.settle().await;
        assert!(daemon.asked_by(newer).await.is_some(), "it has begun, and asks");
        assert!(
            daemon.asked_by(older).await.is_none(),
            "its decision is withdrawn"
        );
        (daemon, older, newer)
    }

    /// Creates another agent with a sub-run of this run; a started sub-run waits for a decision.
    async fn starts(&self, parent: RunKey, name: &str, control: AgentControl) -> RunKey {
        let agent_id = AgentId::parse(name).expect("a name");
        let new = NewAgent::new(agent_id.clone(), "/somewhere".into());
        self.api.agents.create(new).await.expect("an agent");
        let (wanted, main, at) = (agent_id.clone(), self.agent(), self.ticks.now());
        let sent = self.store.write(move |tx| {
            let body = tx.message(&parent)?.expect("a message").body;
            let turn = TurnId::parse("turn-1").expect("a turn");
            let new = NewMessage {
                agent_id: wanted.clone(),
                body,
                admitted_at: at,
            };
            let message = Message {
                parent: Some(ParentRun {
                    run_key: parent,
                    agent_id: main.clone(),
                    operation_id: OperationId(Digest::of(wanted.as_str().as_bytes())),
                    depth: 1,
                }),
                ..Message::from_operator(new, &SessionId::new("of-a-run"), &turn)
            };
            tx.admit_message(&message)?;
            tx.enqueue(&message, 1_000, None)?;
            Ok(message.run_key)
        });
        let run = sent.await.expect("sent");
        self.api.agents.set_control(agent_id, control).await.expect("set");
        self.settle().await;
        run
    }

    /// Whether no writes happen while the daemon is idle.
    async fn is_quiet(&self) -> bool {
        let before = self.faults.writes.load(Ordering::Relaxed);
        self.settle().await;
        self.faults.writes.load(Ordering::Relaxed) == before
    }
}

// Conformance
#[tokio::test]
async fn two_messages_to_one_agent_are_handled_one_after_the_other() {
    let daemon = Daemon::begin(First::WantsTool).await;
    let second = post(&daemon.api, "turn-2").await;
    daemon.settle().await;
    assert_eq!(
        daemon.status_of(second).await,
        "queued",
        "the first one is asked about"
    );
    daemon.approve(daemon.run).await;
    assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("completed", 1));
    daemon.approve(second).await;
    assert_eq!(
        (daemon.status_of(second).await.as_str(), daemon.mails()),
        ("completed", 2)
    );
}

#[tokio::test]
async fn an_approved_action_completes_before_a_resumed_older_run_continues() {
    let (daemon, older, newer) = Daemon::with_two().await;
    daemon.api.runs.resume(older).await.expect("tried again");
    daemon.settle().await;
    assert_eq!(daemon.status_of(older).await, "open");
    assert!(daemon.asked_by(older).await.is_none(), "it waits for its turn");
    assert!(daemon.is_quiet().await);
    daemon.ends_newer_and_then_older(newer, older).await;
}

#[tokio::test]
async fn of_two_open_runs_the_due_one_continues() {
    let (daemon, older, newer) = Daemon::with_two().await;
    // As written by an earlier version, which resumed the run at once.
    let (at, status) = (daemon.ticks.now(), RunStatus::Open);
    let opened = daemon
        .store
        .write(move |tx| tx.set_run_status(&older, status, None, at));
    assert!(opened.await.expect("written"));
    daemon
        .api
        .agents
        .set_control(daemon.agent(), wakeful_core::wake::AgentControl::Running)
        .await
        .expect("looked at");
    daemon.settle().await;
    assert!(daemon.asked_by(older).await.is_some() && daemon.asked_by(newer).await.is_some());
    daemon.ends_newer_and_then_older(newer, older).await;
}

// Conformance: A-26
#[tokio::test]
async fn a_run_waiting_for_its_turn_is_not_claimed() {
    let (daemon, older, newer) = Daemon::with_two().await;
    daemon.api.runs.resume(older).await.expect("tried again");
    let taken = claim(&daemon.store, &RunnerId::new("another"), older).await;
    let Err(EngineError::Refused(Refusal::RunOpen { run })) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!(run, newer, "the one in the way is named");
}

#[tokio::test]
async fn a_run_waiting_for_its_turn_ends_at_once_when_cancelled() {
    let (daemon, older, newer) = Daemon::with_two().await;
    daemon.api.runs.resume(older).await.expect("tried again");
    daemon.api.runs.cancel(older).await.expect("asked for");
    daemon.settle().await;
    assert_eq!(daemon.status_of(older).await, "cancelled");
    assert!(daemon.asked_by(newer).await.is_some(), "the other one waits on");
    assert!(daemon.is_quiet().await);
    daemon.approve(newer).await;
    assert_eq!(
        (daemon.status_of(newer).await.as_str(), daemon.mails()),
        ("completed", 1)
    );
}

#[tokio::test]
async fn a_waiting_run_continues_when_the_one_in_front_is_cancelled() {
    for is_cancelled in [true, false] {
        let (daemon, older, newer) = Daemon::with_two().await;
        daemon.api.runs.resume(older).await.expect("tried again");
        if is_cancelled {
            daemon.api.runs.cancel(newer).await.expect("asked for");
        } else {
            let refused = daemon.api.runs.abandon(older).await;
            assert!(
                matches!(refused, Err(EngineError::NotQuarantined { .. })),
                "{refused:?}"
            );
            daemon.set_aside(newer).await;
            daemon.api.runs.abandon(newer).await.expect("given up");
        }
        daemon.settle().await;
        let ended = if is_cancelled { "cancelled" } else { "abandoned" };
        assert_eq!(daemon.status_of(newer).await, ended);
        daemon.approve(older).await;
        assert_eq!(
            (daemon.status_of(older).await.as_str(), daemon.mails()),
            ("completed", 1)
        );
        assert!(daemon.is_quiet().await);
    }
}

#[tokio::test]
async fn a_resumed_run_without_other_open_runs_continues_at_once() {
    let daemon = Daemon::begin(First::WantsTool).await;
    daemon.set_aside(daemon.run).await;
    daemon.api.runs.resume(daemon.run).await.expect("tried again");
    daemon.settle().await;
    daemon.approve(daemon.run).await;
    assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("completed", 1));
}

#[tokio::test]
async fn cancelling_a_waiting_run_ends_its_sub_runs_while_another_is_driven() {
    let (daemon, older, newer) = Daemon::with_two().await;
    let queued = daemon.starts(older, "quiet", AgentControl::Paused).await;
    let begun = daemon.starts(older, "busy", AgentControl::Running).await;
    assert!(daemon.asked_by(begun).await.is_some(), "it has begun");
    daemon.api.runs.resume(older).await.expect("tried again");
    // The run in front is driven as long as its action takes.
    let place = daemon.fills_places();
    daemon.approve(newer).await;
    daemon.api.runs.cancel(older).await.expect("asked for");
    daemon.settle().await;
    assert_eq!(daemon.status_of(newer).await, "open");
    assert_eq!(daemon.status_of(queued).await, "cancelled");
    assert_eq!(daemon.status_of(begun).await, "cancelled");
    place.notify_one();
    daemon.settle().await;
    assert_eq!(
        (daemon.status_of(newer).await.as_str(), daemon.mails()),
        ("completed", 1)
    );
    assert_eq!(daemon.status_of(older).await, "cancelled");
    assert!(daemon.is_quiet().await);
}

#[tokio::test]
async fn a_run_of_a_destroyed_agent_can_be_abandoned_but_not_resumed() {
    let daemon = Daemon::begin(First::WantsTool).await;
    daemon.set_aside(daemon.run).await;
    let destroyed = AgentChange::Life(Lifecycle::Destroyed);
    daemon
        .api
        .agents
        .change(daemon.agent(), destroyed)
        .await
        .expect("destroyed");
    let refused = daemon.api.runs.resume(daemon.run).await;
    assert!(
        matches!(refused, Err(EngineError::Refused(Refusal::Destroyed))),
        "{refused:?}"
    );
    daemon.settle().await;
    assert_eq!(daemon.status().await, "quarantined");
    daemon.api.runs.abandon(daemon.run).await.expect("given up");
    assert_eq!((daemon.status().await.as_str(), daemon.mails()), ("abandoned", 0));
}
