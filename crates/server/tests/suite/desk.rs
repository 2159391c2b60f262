//! A desk that has one agent and keeps nothing: guards are tested before it, not behind it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::RwLock;
use wakeful_core::budget::{Day, MicroUsd};
use wakeful_core::conversation::Usage;
use wakeful_core::decision::{Channel, Decision, Inquiry, Reply};
use wakeful_core::id::{AgentId, PolicyVersion, RuleId, SessionId, TurnId};
use wakeful_core::key::{DecisionId, Digest, OperationId, RunKey};
use wakeful_core::step::EffectClass;
use wakeful_core::time::Millis;
use wakeful_core::wake::{Control, Lifecycle};
use wakeful_runtime::desk::{
    AgentChange, AgentView, Archive, Arguments, Asked, Budget, Capability, Conversation, Deciding, Delivery,
    Desk, Ledger, NewAgent, Post, Posted, Reasons, RunGlance, SESSION, Tending, Triggers, Waiting, Why,
    WhyNot,
};
use wakeful_runtime::hub::{Hub, Listener};
use wakeful_runtime::proof::{Erase, Erased};
use wakeful_runtime::report::RunReport;
use wakeful_runtime::rows::{
    Agent, AnnouncementRow, BrakeRow, EventRow, Overview, Owed, ReceiptRow, RunFilter, SpendDay, TriggerRow,
    Visibility,
};
use wakeful_runtime::{EngineError, StoreError};

/// The one agent there is.
pub(super) const MAIN: &str = "main";

/// An agent whose messages are never taken in.
pub(super) const SLOW: &str = "slow";

#[derive(Default)]
pub(super) struct OneAgent {
    hub: Hub,
    posts: Arc<AtomicUsize>,
    bell: Arc<Bell>,
}

/// The trigger of the one agent.
#[derive(Default)]
pub(super) struct Bell {
    /// How often a trigger was looked up.
    pub(super) looks: AtomicUsize,
    /// Nothing is looked up while somebody writes.
    pub(super) still: RwLock<()>,
    /// How many deliveries have begun to be kept.
    pub(super) begun: AtomicUsize,
    /// None is kept while somebody writes.
    pub(super) full: RwLock<()>,
    /// Whether nothing that stands beside a question can be read.
    pub(super) is_blind: AtomicBool,
    rotations: AtomicU64,
    is_revoked: AtomicBool,
}

impl Bell {
    fn capability(&self) -> Capability {
        Capability {
            row: TriggerRow {
                trigger_id: RuleId::parse("trigger-main").expect("a name"),
                agent_id: AgentId::parse(MAIN).expect("an id"),
                generation: 1 + self.rotations.load(Ordering::Relaxed),
                is_active: !self.is_revoked.load(Ordering::Relaxed),
                delivered: 0,
                last_at: None,
                created_at: Millis(0),
            },
            secret: Digest::of(b"secret"),
        }
    }
}

impl OneAgent {
    pub(super) fn counting(posts: Arc<AtomicUsize>, bell: Arc<Bell>) -> Self {
        Self {
            hub: Hub::new(),
            posts,
            bell,
        }
    }

    /// Commits, and has somebody look; whoever goes away may do so in between.
    fn seen<T: Default>(&self) -> Result<T, EngineError> {
        match self.bell.is_blind.load(Ordering::Relaxed) {
            true => Err(EngineError::Store(StoreError::Closed)),
            false => Ok(T::default()),
        }
    }

    async fn settle(&self) {
        tokio::task::yield_now().await;
        self.posts.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) fn view(agent: AgentId, control: Control) -> Result<AgentView, EngineError> {
    if agent.as_str() != MAIN {
        return Err(EngineError::UnknownAgent(agent));
    }
    let agent = Agent {
        agent_id: agent,
        visibility: Visibility::Public,
        lifecycle: Lifecycle::Active,
        control,
        mode: wakeful_core::wake::Mode::default(),
        sleep_until: None,
        workspace: "/tmp".to_owned(),
        model_ref: None,
        created_at: Millis(0),
        usage: Usage::default(),
        model_rounds: 0,
    };
    let overview = Overview {
        agent,
        queued: 0,
        last_seq: 0,
        open_run: None,
        last_run: None,
        is_braked: false,
        pending_decisions: 0,
        quarantined_runs: 0,
    };
    Ok(AgentView {
        overview,
        last_run: None,
    })
}

fn known<T: Send + 'static>(agent: AgentId, value: T) -> Asked<'static, T> {
    Box::pin(async move { view(agent, Control::Running).map(|_| value) })
}

impl Reasons for OneAgent {
    fn why(&self, run: RunKey) -> Asked<'_, Why> {
        Box::pin(async move { Err(EngineError::UnknownRun(run)) })
    }

    fn why_not(&self, agent: AgentId, since: Option<Millis>) -> Asked<'_, WhyNot> {
        Box::pin(async move {
            let overview = view(agent, Control::Running)?.overview;
            Ok(WhyNot {
                overview,
                since: since.unwrap_or(Millis(0)),
                now: Millis(1),
                holds: Vec::new(),
                waiting: Vec::new(),
                refused: Vec::new(),
                counted: Vec::new(),
                let_in: 0,
                last_tried_at: None,
                schedules: Vec::new(),
                schedule_count: 0,
                subscription_count: 0,
            })
        })
    }
}

impl Tending for OneAgent {
    fn tend(&self, agent: AgentId, change: AgentChange) -> Asked<'_, AgentView> {
        Box::pin(async move {
            let AgentView {
                mut overview,
                last_run,
            } = view(agent, Control::Running)?;
            match change {
                AgentChange::Life(lifecycle) => overview.agent.lifecycle = lifecycle,
                AgentChange::Mode(mode) => overview.agent.mode = mode,
                AgentChange::Sleep(until) => overview.agent.sleep_until = Some(until),
                AgentChange::Wake => overview.agent.sleep_until = None,
            }
            Ok(AgentView { overview, last_run })
        })
    }
}

impl Triggers for OneAgent {
    fn trigger(&self, agent: AgentId) -> Asked<'_, Capability> {
        known(agent, self.bell.capability())
    }
    fn rotate_trigger(&self, agent: AgentId) -> Asked<'_, Capability> {
        self.bell.rotations.fetch_add(1, Ordering::Relaxed);
        known(agent, self.bell.capability())
    }
    fn revoke_trigger(&self, agent: AgentId) -> Asked<'_, Capability> {
        self.bell.is_revoked.store(true, Ordering::Relaxed);
        known(agent, self.bell.capability())
    }
    fn called(&self, trigger: RuleId) -> Asked<'_, Option<Capability>> {
        Box::pin(async move {
            self.bell.looks.fetch_add(1, Ordering::Relaxed);
            let _still = self.bell.still.read().await;
            let found = self.bell.capability();
            Ok((found.row.trigger_id == trigger).then_some(found))
        })
    }
    fn deliver(&self, trigger: TriggerRow, _: Delivery) -> Asked<'_, Posted> {
        Box::pin(async move {
            self.bell.begun.fetch_add(1, Ordering::Relaxed);
            let _full = self.bell.full.read().await;
            let (session, turn) = (
                SessionId::new(SESSION),
                TurnId::parse("delivery").expect("a name"),
            );
            Ok(Posted {
                run_key: RunKey::of_user(&trigger.agent_id, &session, &turn),
                is_new: true,
            })
        })
    }
}

impl Desk for OneAgent {
    fn post(&self, post: Post) -> Asked<'_, Posted> {
        Box::pin(async move {
            if post.agent.as_str() == SLOW {
                std::future::pending::<()>().await;
            }
            self.settle().await;
            view(post.agent.clone(), Control::Running)?;
            let run_key = RunKey::of_user(&post.agent, &SessionId::new(SESSION), &post.turn);
            Ok(Posted {
                run_key,
                is_new: true,
            })
        })
    }

    fn create_agent(&self, new: NewAgent) -> Asked<'_, AgentView> {
        Box::pin(async { Err(EngineError::AgentExists(new.agent_id)) })
    }

    fn agents(&self, _with_private: bool) -> Asked<'_, Vec<AgentView>> {
        let main = AgentId::parse(MAIN).expect("an id");
        Box::pin(async { view(main, Control::Running).map(|main| vec![main]) })
    }

    fn agent(&self, agent: AgentId) -> Asked<'_, AgentView> {
        Box::pin(async { view(agent, Control::Running) })
    }

    fn set_control(&self, agent: AgentId, control: Control) -> Asked<'_, AgentView> {
        Box::pin(async move { view(agent, control) })
    }

    fn queue(&self, agent: AgentId, _limit: u32) -> Asked<'_, Vec<Waiting>> {
        known(agent, Vec::new())
    }

    fn runs(&self, _filter: RunFilter) -> Asked<'_, Vec<RunGlance>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn run(&self, run: RunKey) -> Asked<'_, RunReport> {
        Box::pin(async move { Err(EngineError::UnknownRun(run)) })
    }

    fn runs_with_prefix(&self, _hex_prefix: String) -> Asked<'_, Vec<RunGlance>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn cancel(&self, run: RunKey) -> Asked<'_, RunReport> {
        self.run(run)
    }

    fn events_after(&self, agent: AgentId, _seq: u64, _limit: u32) -> Asked<'_, Vec<EventRow>> {
        known(agent, Vec::new())
    }

    fn events_before(&self, agent: AgentId, _seq: u64, _limit: u32) -> Asked<'_, Vec<EventRow>> {
        known(agent, Vec::new())
    }

    fn transcript(&self, agent: AgentId, _newest: u32) -> Asked<'_, Conversation> {
        let lines = Vec::new();
        known(
            agent,
            Conversation {
                lines,
                has_more: false,
            },
        )
    }

    fn listen(&self) -> Listener {
        self.hub.listen()
    }

    fn listeners(&self) -> usize {
        self.hub.listeners()
    }
}

impl Archive for OneAgent {
    fn erase(&self, erase: Erase) -> Asked<'_, Erased> {
        known(erase.agent, Erased::default())
    }
}

impl Ledger for OneAgent {
    fn budget(&self) -> Asked<'_, Budget> {
        Box::pin(async { Ok(no_money()) })
    }

    fn spending(&self, agent: AgentId) -> Asked<'_, Vec<SpendDay>> {
        known(agent, Vec::new())
    }

    fn set_cap(&self, _agent: Option<AgentId>, _daily: Option<MicroUsd>) -> Asked<'_, Budget> {
        self.budget()
    }

    fn reset_day(&self, _: &'static str) -> Asked<'_, Budget> {
        self.budget()
    }

    fn set_model(&self, agent: AgentId, _model_ref: Option<String>) -> Asked<'_, AgentView> {
        self.agent(agent)
    }

    fn confirm(&self, _: String, _: BTreeSet<PolicyVersion>, _: &'static str) -> Asked<'_, Vec<ReceiptRow>> {
        self.receipts()
    }

    fn receipts(&self) -> Asked<'_, Vec<ReceiptRow>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

impl Deciding for OneAgent {
    fn decisions(&self, _: bool) -> Asked<'_, Vec<Decision>> {
        Box::pin(async { Ok(vec![question()]) })
    }

    fn decision(&self, name: String) -> Asked<'_, Decision> {
        Box::pin(async move {
            let one = question();
            match one.inquiry.decision_id.to_string().starts_with(&name) {
                true => Ok(one),
                false => Err(EngineError::UnknownDecision(name)),
            }
        })
    }

    fn arguments(&self, decision: Decision) -> Asked<'_, Arguments> {
        Box::pin(async move {
            self.seen::<()>()?;
            Ok(Arguments::Whole(decision.inquiry.input))
        })
    }

    fn answer(&self, name: String, reply: Reply) -> Asked<'_, Decision> {
        Box::pin(async move {
            self.settle().await;
            Ok(self.decision(name).await?.answer(reply, Millis(2))?)
        })
    }

    fn announcements(&self, _: DecisionId) -> Asked<'_, Vec<AnnouncementRow>> {
        Box::pin(async { self.seen() })
    }

    fn owed(&self) -> Asked<'_, Owed> {
        Box::pin(async { Ok(Owed::default()) })
    }

    fn brakes(&self) -> Asked<'_, Vec<BrakeRow>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn brake(&self, agent_id: Option<AgentId>, reason: String, channel: Channel) -> Asked<'_, Vec<BrakeRow>> {
        let row = BrakeRow {
            agent_id,
            reason,
            channel,
            at: Millis(0),
        };
        Box::pin(async { Ok(vec![row]) })
    }

    fn release(&self, _: Option<AgentId>, _: Channel) -> Asked<'_, Vec<BrakeRow>> {
        Box::pin(async move {
            self.settle().await;
            self.brakes().await
        })
    }

    fn retry(&self, run: RunKey) -> Asked<'_, RunReport> {
        Box::pin(async move { Err(EngineError::UnknownRun(run)) })
    }

    fn abandon(&self, run: RunKey) -> Asked<'_, RunReport> {
        Box::pin(async move { Err(EngineError::UnknownRun(run)) })
    }
}

/// The one question that is asked.
pub(super) fn question() -> Decision {
    let operation = OperationId(Digest::of(b"operation"));
    let inquiry = Inquiry::new(
        (operation, 0),
        ("ExecCommand", "rm -r build"),
        EffectClass::Plain,
        "ask_tool",
        None,
    );
    let agent = AgentId::parse("main").expect("a name");
    Decision::asked(inquiry, agent, RunKey(Digest::of(b"run")), Millis(1), Some(1_000))
}

fn no_money() -> Budget {
    Budget {
        day: Day(20_000),
        cap_default: MicroUsd(5_000_000),
        caps: Vec::new(),
        today: Vec::new(),
        days: Vec::new(),
    }
}
