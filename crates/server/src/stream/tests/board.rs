//! A desk made of lists: what was appended is in the store, what was told is on the hub, and a test decides which.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;
use wakeful_core::budget::MicroUsd;
use wakeful_core::conversation::Usage;
use wakeful_core::decision::{Channel, Decision, Reply};
use wakeful_core::id::{AgentId, Incarnation, PolicyVersion, RuleId};
use wakeful_core::key::{DecisionId, Digest, RunKey};
use wakeful_core::report::{Draft, Event, Head, Kind, Sealed};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Control, Lifecycle};
use wakeful_runtime::desk::{
    AgentChange, AgentView, Archive, Arguments, Asked, Budget, Capability, Conversation, Deciding, Delivery,
    Desk, Ledger, NewAgent, Post, Posted, Reasons, RunGlance, Tending, Triggers, Waiting, Why, WhyNot,
};
use wakeful_runtime::hub::{Hub, Listener};
use wakeful_runtime::proof::{Erase, Erased};
use wakeful_runtime::report::RunReport;
use wakeful_runtime::rows::{
    Agent, AnnouncementRow, BrakeRow, EventRow, Overview, Owed, ReceiptRow, RunFilter, SpendDay, TriggerRow,
    Visibility,
};
use wakeful_runtime::{EngineError, Observer as _, Spoken, StoreError};

/// The desk.
#[derive(Default)]
pub(super) struct Board {
    logs: Mutex<BTreeMap<AgentId, Log>>,
    hub: Hub,
    /// Whether the store has gone away.
    pub(super) closed: AtomicBool,
    /// Pages of events that were read.
    pub(super) pages: AtomicUsize,
    /// Whether an agent writes an event right after the agents were listed, as it may.
    pub(super) meanwhile: AtomicBool,
    /// Single agents that were asked for.
    pub(super) asked: AtomicUsize,
}

struct Log {
    visibility: Visibility,
    head: Head,
    /// The event with number n stands at n - 1.
    rows: Vec<EventRow>,
}

impl Board {
    /// A desk with listed agents that have no events.
    pub(super) fn of(agents: &[&str]) -> Arc<Self> {
        let board = Arc::new(Self::default());
        for agent in agents {
            board.make(agent, Visibility::Public);
        }
        board
    }

    pub(super) fn make(&self, agent: &str, visibility: Visibility) {
        let head = Head {
            next_seq: 1,
            chain_hash: Digest::ZERO,
            incarnation: Incarnation::new("h.1"),
        };
        let log = Log {
            visibility,
            head,
            rows: Vec::new(),
        };
        self.logs().insert(super::id(agent), log);
    }

    /// Events that are durable and that nobody was told of.
    pub(super) fn append(&self, agent: &str, count: usize) -> Vec<Event> {
        (0..count).map(|_| self.append_at(agent, 0)).collect()
    }

    pub(super) fn append_at(&self, agent: &str, at: i64) -> Event {
        let agent = super::id(agent);
        let mut logs = self.logs();
        let log = logs.get_mut(&agent).expect("an agent");
        let draft = Draft::new(Kind::RunStarted, json!({"model_ref": "m"}));
        let sealed = Sealed::new(draft, Millis(at), None, [1; 32]).expect("canonical");
        let event = log.head.chain(&agent, sealed);
        log.rows.push(EventRow::from(&event));
        event
    }

    pub(super) fn tell(&self, agent: &str, events: &[Event]) {
        self.hub.saw(&super::id(agent), events);
    }

    /// Events as a run writes them: durable, then told one by one.
    pub(super) fn write(&self, agent: &str, count: usize) {
        for event in self.append(agent, count) {
            self.tell(agent, &[event]);
        }
    }

    pub(super) fn say(&self, agent: &str, text: &str) {
        self.hub.heard(&Spoken {
            agent: &super::id(agent),
            run: RunKey(Digest::ZERO),
            attempt: 0,
            chunk: 3,
            text,
        });
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.load(Ordering::Relaxed)
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<AgentId, Log>> {
        self.logs.lock().expect("a lock")
    }

    fn open(&self) -> Result<(), EngineError> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(StoreError::Closed.into()),
            false => Ok(()),
        }
    }

    /// The events that stand at a part of an agent's log.
    fn rows(
        &self,
        agent: AgentId,
        part: impl FnOnce(usize) -> Range<usize>,
    ) -> Result<Vec<EventRow>, EngineError> {
        self.open()?;
        self.pages.fetch_add(1, Ordering::Relaxed);
        let logs = self.logs();
        let log = logs.get(&agent).ok_or(EngineError::UnknownAgent(agent))?;
        Ok(log.rows[part(log.rows.len())].to_vec())
    }
}

fn view(agent_id: &AgentId, log: &Log) -> AgentView {
    let agent = Agent {
        model_ref: None,
        agent_id: agent_id.clone(),
        visibility: log.visibility,
        lifecycle: Lifecycle::Active,
        control: Control::Running,
        mode: wakeful_core::wake::Mode::default(),
        sleep_until: None,
        workspace: "/w".to_owned(),
        created_at: Millis(0),
        usage: Usage::default(),
        model_rounds: 0,
    };
    let overview = Overview {
        agent,
        queued: 0,
        last_seq: log.head.next_seq - 1,
        open_run: None,
        last_run: None,
        is_braked: false,
        pending_decisions: 0,
        quarantined_runs: 0,
    };
    AgentView {
        overview,
        last_run: None,
    }
}

fn now<T: Send + 'static>(answer: Result<T, EngineError>) -> Asked<'static, T> {
    Box::pin(std::future::ready(answer))
}

impl Triggers for Board {
    fn trigger(&self, _: AgentId) -> Asked<'_, Capability> {
        unimplemented!("streams have no triggers")
    }
    fn rotate_trigger(&self, _: AgentId) -> Asked<'_, Capability> {
        unimplemented!("streams have no triggers")
    }
    fn revoke_trigger(&self, _: AgentId) -> Asked<'_, Capability> {
        unimplemented!("streams have no triggers")
    }
    fn called(&self, _: RuleId) -> Asked<'_, Option<Capability>> {
        unimplemented!("streams have no triggers")
    }
    fn deliver(&self, _: TriggerRow, _: Delivery) -> Asked<'_, Posted> {
        unimplemented!("streams have no triggers")
    }
}

impl Desk for Board {
    fn agents(&self, with_private: bool) -> Asked<'_, Vec<AgentView>> {
        let listed = |(_, log): &(&AgentId, &Log)| with_private || log.visibility == Visibility::Public;
        let logs = self.logs();
        let views = logs
            .iter()
            .filter(listed)
            .map(|(agent, log)| view(agent, log))
            .collect();
        drop(logs);
        if self.meanwhile.swap(false, Ordering::Relaxed) {
            self.write("a", 1);
        }
        now(self.open().map(|()| views))
    }

    fn agent(&self, agent: AgentId) -> Asked<'_, AgentView> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let found = self.logs().get(&agent).map(|log| view(&agent, log));
        now(self
            .open()
            .and_then(|()| found.ok_or(EngineError::UnknownAgent(agent))))
    }

    fn events_after(&self, agent: AgentId, seq: u64, limit: u32) -> Asked<'_, Vec<EventRow>> {
        let part = |len: usize| {
            let from = usize::try_from(seq).expect("small").min(len);
            from..len.min(from + limit as usize)
        };
        now(self.rows(agent, part))
    }

    fn events_before(&self, agent: AgentId, seq: u64, limit: u32) -> Asked<'_, Vec<EventRow>> {
        let part = |len: usize| {
            let to = usize::try_from(seq.saturating_sub(1)).expect("small").min(len);
            to.saturating_sub(limit as usize)..to
        };
        now(self.rows(agent, part))
    }

    fn listen(&self) -> Listener {
        self.hub.listen()
    }

    fn listeners(&self) -> usize {
        self.hub.listeners()
    }

    fn post(&self, _: Post) -> Asked<'_, Posted> {
        unimplemented!()
    }

    fn create_agent(&self, _: NewAgent) -> Asked<'_, AgentView> {
        unimplemented!()
    }

    fn set_control(&self, _: AgentId, _: Control) -> Asked<'_, AgentView> {
        unimplemented!()
    }

    fn queue(&self, _: AgentId, _: u32) -> Asked<'_, Vec<Waiting>> {
        unimplemented!()
    }

    fn runs(&self, _: RunFilter) -> Asked<'_, Vec<RunGlance>> {
        unimplemented!()
    }

    fn run(&self, _: RunKey) -> Asked<'_, RunReport> {
        unimplemented!()
    }

    fn runs_with_prefix(&self, _: String) -> Asked<'_, Vec<RunGlance>> {
        unimplemented!()
    }

    fn cancel(&self, _: RunKey) -> Asked<'_, RunReport> {
        unimplemented!()
    }

    fn transcript(&self, _: AgentId, _: u32) -> Asked<'_, Conversation> {
        unimplemented!()
    }
}

impl Reasons for Board {
    fn why(&self, _: RunKey) -> Asked<'_, Why> {
        unimplemented!("streams explain nothing")
    }
    fn why_not(&self, _: AgentId, _: Option<Millis>) -> Asked<'_, WhyNot> {
        unimplemented!("streams explain nothing")
    }
}

impl Tending for Board {
    fn tend(&self, _: AgentId, _: AgentChange) -> Asked<'_, AgentView> {
        unimplemented!("streams change nobody")
    }
}

impl Archive for Board {
    fn erase(&self, _erase: Erase) -> Asked<'_, Erased> {
        unimplemented!("streams erase nothing")
    }
}

impl Ledger for Board {
    fn budget(&self) -> Asked<'_, Budget> {
        unimplemented!("streams carry no money")
    }

    fn spending(&self, _agent: AgentId) -> Asked<'_, Vec<SpendDay>> {
        unimplemented!("streams carry no money")
    }

    fn set_cap(&self, _agent: Option<AgentId>, _daily: Option<MicroUsd>) -> Asked<'_, Budget> {
        unimplemented!("streams carry no money")
    }

    fn reset_day(&self, _: &'static str) -> Asked<'_, Budget> {
        unimplemented!("streams carry no money")
    }

    fn set_model(&self, _agent: AgentId, _model_ref: Option<String>) -> Asked<'_, AgentView> {
        unimplemented!("streams choose no models")
    }

    fn confirm(&self, _: String, _: BTreeSet<PolicyVersion>, _: &'static str) -> Asked<'_, Vec<ReceiptRow>> {
        unimplemented!("streams confirm nothing")
    }

    fn receipts(&self) -> Asked<'_, Vec<ReceiptRow>> {
        unimplemented!("streams confirm nothing")
    }
}

impl Deciding for Board {
    fn decisions(&self, _: bool) -> Asked<'_, Vec<Decision>> {
        unimplemented!("streams decide nothing")
    }

    fn decision(&self, _: String) -> Asked<'_, Decision> {
        unimplemented!("streams decide nothing")
    }

    fn arguments(&self, _: Decision) -> Asked<'_, Arguments> {
        unimplemented!("streams decide nothing")
    }

    fn answer(&self, _: String, _: Reply) -> Asked<'_, Decision> {
        unimplemented!("streams decide nothing")
    }

    fn announcements(&self, _: DecisionId) -> Asked<'_, Vec<AnnouncementRow>> {
        unimplemented!("streams decide nothing")
    }

    fn owed(&self) -> Asked<'_, Owed> {
        unimplemented!("streams decide nothing")
    }

    fn brakes(&self) -> Asked<'_, Vec<BrakeRow>> {
        unimplemented!("streams decide nothing")
    }

    fn brake(&self, _: Option<AgentId>, _: String, _: Channel) -> Asked<'_, Vec<BrakeRow>> {
        unimplemented!("streams decide nothing")
    }

    fn release(&self, _: Option<AgentId>, _: Channel) -> Asked<'_, Vec<BrakeRow>> {
        unimplemented!("streams decide nothing")
    }

    fn retry(&self, _: RunKey) -> Asked<'_, RunReport> {
        unimplemented!("streams decide nothing")
    }

    fn abandon(&self, _: RunKey) -> Asked<'_, RunReport> {
        unimplemented!("streams decide nothing")
    }
}
