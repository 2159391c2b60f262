//! What wakes an agent depends on its mode, lifecycle, sleep barrier and control state, tested in virtual
//! time.

use wakeful_core::id::{AgentId, TurnId};
use wakeful_core::message::RunOptions;
use wakeful_core::time::Millis;
use wakeful_core::wake::{AgentControl, DelayKind, InteractionMode, Lifecycle, WakeOutcome};
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::EngineError;
use wakeful_runtime::api::{AgentChange, IncomingMessage, WhyNotReport};

use super::notice_daemon::{Daemon, Home, agent, on};

async fn change(daemon: &Daemon, to: AgentChange) {
    let changed = daemon.api.agents.change(agent("coach"), to).await;
    changed.expect("changed");
}

async fn say(daemon: &Daemon, turn: &str) -> Result<(), EngineError> {
    let post = IncomingMessage {
        thread: None,
        agent: agent("coach"),
        turn: TurnId::parse(turn).expect("a turn"),
        text: "hello".into(),
        attachments: Vec::new(),
        run_options: RunOptions::default(),
        priority: wakeful_core::cause::Priority::Normal,
    };
    daemon.api.messages.send(post).await.map(drop)
}

async fn why_not(daemon: &Daemon) -> WhyNotReport {
    let asked = daemon.api.agents.why_not(agent("coach"), Some(Millis(0))).await;
    asked.expect("an answer")
}

async fn ran(daemon: &Daemon) -> usize {
    daemon.settle().await;
    daemon.runs("coach").await.len()
}

#[tokio::test]
async fn mode_and_lifecycle_decide_what_wakes_an_agent() {
    // For each mode and lifecycle: whether a change wakes the agent, and whether a person's message does.
    let matrix = [
        (InteractionMode::Hybrid, Lifecycle::Active, None, true),
        (InteractionMode::Autonomous, Lifecycle::Active, None, true),
        (
            InteractionMode::Interactive,
            Lifecycle::Active,
            Some("interactive_only"),
            true,
        ),
        (InteractionMode::Hybrid, Lifecycle::Dormant, Some("dormant"), true),
        (
            InteractionMode::Autonomous,
            Lifecycle::Dormant,
            Some("dormant"),
            true,
        ),
        (
            InteractionMode::Hybrid,
            Lifecycle::Destroyed,
            Some("destroyed"),
            false,
        ),
    ];
    for (mode, life, refusal, person) in matrix {
        let home = Home::new();
        let daemon = home.serve();
        daemon.subscribed("coach", on("TASK")).await;
        change(&daemon, AgentChange::Mode(mode)).await;
        change(&daemon, AgentChange::Life(life)).await;
        home.add_task("Leg day", None).await;
        let what = format!("{mode:?} {life:?}");
        assert_eq!(ran(&daemon).await, usize::from(refusal.is_none()), "{what}");
        let refused = daemon.refusals("coach").await.into_iter().map(|(code, _)| code);
        assert_eq!(
            refused.collect::<Vec<_>>(),
            refusal.into_iter().collect::<Vec<_>>(),
            "{what}"
        );
        let told = why_not(&daemon).await;
        let told = told.refused.first().map(|wake| wake.verdict.to_string());
        assert_eq!(told.as_deref(), refusal, "{what}");
        assert_eq!(say(&daemon, "t1").await.is_ok(), person, "{what}");
        let wanted = usize::from(refusal.is_none()) + usize::from(person);
        assert_eq!(ran(&daemon).await, wanted, "{what}");
    }
}

#[tokio::test]
async fn a_sleep_barrier_holds_changes_and_lets_a_persons_message_pass() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    change(&daemon, AgentChange::Sleep(Millis(60_000))).await;
    home.add_task("Leg day", None).await;
    assert_eq!(ran(&daemon).await, 0);
    let told = why_not(&daemon).await;
    assert_eq!(told.holds[0].code, DelayKind::Asleep.into());
    assert_eq!(told.waiting[0].not_before, Some(Millis(60_000)));
    say(&daemon, "t1").await.expect("taken in");
    assert_eq!(ran(&daemon).await, 1, "a person passes the barrier");
    let run = daemon.runs("coach").await[0].run_key;
    let why = daemon.api.runs.why(run).await.expect("an answer");
    let sleep = why
        .gates
        .iter()
        .find(|gate| gate.gate == "sleep")
        .expect("a gate");
    assert!(
        sleep.passed
            && sleep
                .detail
                .as_deref()
                .unwrap_or_default()
                .contains("passed by the operator"),
        "{sleep:?}"
    );
    while home.ticks.now() < Millis(60_000) && home.ticks.advance() {
        daemon.settle().await;
    }
    assert_eq!((home.ticks.now(), ran(&daemon).await), (Millis(60_000), 2));
}

#[tokio::test]
async fn waking_an_agent_starts_held_messages_and_is_recorded() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    change(&daemon, AgentChange::Sleep(Millis(60_000))).await;
    home.add_task("Leg day", None).await;
    assert_eq!(ran(&daemon).await, 0);
    change(&daemon, AgentChange::Wake).await;
    assert_eq!((ran(&daemon).await, home.ticks.now()), (1, Millis(0)));
    let events = daemon.api.events.after(agent("coach"), 0, 1_000).await;
    let told = events
        .expect("events")
        .into_iter()
        .filter_map(|event| event.payload);
    let told: Vec<String> = told
        .map(|(json, _)| String::from_utf8(json).expect("text"))
        .collect();
    let woken = told
        .iter()
        .filter(|json| json.contains("\"override\":\"operator\""));
    assert_eq!(woken.count(), 1, "{told:?}");
}

// Conformance: H-129
#[tokio::test]
async fn a_paused_agent_queues_what_a_stopped_one_refuses() {
    let home = Home::new();
    let daemon = home.serve();
    daemon.subscribed("coach", on("TASK")).await;
    let set = async |control| {
        let set = daemon.api.agents.set_control(agent("coach"), control).await;
        set.expect("set");
    };
    set(AgentControl::Paused).await;
    home.add_task("kept", None).await;
    assert_eq!(ran(&daemon).await, 0);
    set(AgentControl::Stopped).await;
    home.add_task("refused", None).await;
    assert_eq!(ran(&daemon).await, 0);
    let refused = say(&daemon, "t1").await.expect_err("was taken in");
    assert!(refused.to_string().contains("stopped"), "{refused}");
    assert_eq!(
        daemon.refusals("coach").await.iter().map(|(_, n)| n).sum::<u64>(),
        2
    );
    assert_eq!(daemon.queue("coach").await.len(), 1, "what waited stays in line");
    set(AgentControl::Running).await;
    assert_eq!(ran(&daemon).await, 1, "and is handled when the agent resumes");
}

#[tokio::test]
async fn destroying_withdraws_queued_messages_and_is_refused_during_a_run() {
    let home = Home::new();
    let daemon = home.serve();
    let coach: AgentId = agent("coach");
    daemon.create("coach").await;
    daemon
        .api
        .agents
        .set_control(coach.clone(), AgentControl::Paused)
        .await
        .expect("set");
    for turn in 0..3 {
        say(&daemon, &format!("t{turn}")).await.expect("taken in");
    }
    let waiting = daemon.queue("coach").await;
    assert_eq!(waiting.len(), 3);
    let gone = AgentChange::Life(Lifecycle::Destroyed);
    let view = daemon.api.agents.change(coach.clone(), gone).await.expect("gone");
    assert_eq!(view.overview.queued, 0);
    for run in waiting {
        let why = daemon.api.runs.why(run).await.expect("an answer");
        assert_eq!(why.verdict.map(WakeOutcome::as_str), Some("cancelled"));
    }
    assert!(
        daemon.api.agents.change(coach.clone(), gone).await.is_ok(),
        "again is the same"
    );
    let back = daemon
        .api
        .agents
        .change(coach, AgentChange::Life(Lifecycle::Active))
        .await;
    assert!(matches!(back, Err(EngineError::Lifecycle { .. })), "{back:?}");

    let home = Home::new();
    let daemon = home.serve();
    daemon.create("coach").await;
    home.oracle
        .holds
        .store(true, std::sync::atomic::Ordering::Relaxed);
    say(&daemon, "t1").await.expect("taken in");
    daemon.settle().await;
    let refused = daemon.api.agents.change(agent("coach"), gone).await;
    assert!(matches!(refused, Err(EngineError::Refused(_))), "{refused:?}");
}
