//! A thousand agents whose schedules and subscriptions find nothing to do cost nothing.

use serde_json::json;
use wakeful_core::budget::UtcDay;
use wakeful_core::id::{SessionId, ThreadId};
use wakeful_core::journal::Author;
use wakeful_core::retention::DataClass;
use wakeful_core::schedule::{ExecutionOutcome, ScheduleDraft};
use wakeful_core::subscription::SubscriptionSpec;
use wakeful_core::wake::WakeOutcome;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::SESSION;
use wakeful_runtime::api::subscription::NewSubscription;

use super::scheduled_daemon::{BEGIN, HOUR_MS, Says, ScheduleFixture, ScheduledDaemon, agent, every, rule};

const AGENTS: usize = 1_000;

/// Number of writes in the evening. They match every second agent, whose guard refuses.
const WRITES: usize = 3;

/// Hours between two checks of a schedule: four in a day, the last one before the evening.
const HOURS: u64 = 5;

/// An agent with a schedule and a subscription that nothing matches, or whose guard never holds.
async fn watchful(house: &ScheduledDaemon, name: &str, is_guarded: bool) {
    house.make(&[name]).await;
    let when = every(HOURS * 3_600);
    let draft = ScheduleDraft {
        always: false,
        ..ScheduleDraft::new(rule(name), agent(name), when, "Anything new?".to_owned())
    };
    house.api.schedules.add(draft).await.expect("a schedule");
    let (token, guard) = match is_guarded {
        true => (
            "CATEGORY",
            Some(json!({"field": "depth", "op": "gt", "value": 0})),
        ),
        false => ("task.status=done", None),
    };
    let terms = SubscriptionSpec {
        any: vec![token.to_owned()],
        guard,
        ..SubscriptionSpec::default()
    };
    let new = NewSubscription {
        subscription_id: Some(rule(name)),
        agent_id: agent(name),
        spec: terms,
    };
    house.alert.add(new).await.expect("a subscription");
}

#[tokio::test]
async fn a_quiet_day_of_a_thousand_agents_makes_no_requests_or_writes() {
    let house = ScheduledDaemon::open(&ScheduleFixture::at(BEGIN), Says::Done).await;
    let names: Vec<String> = (0..AGENTS).map(|number| format!("agent-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        watchful(&house, name, number % 2 == 0).await;
    }
    house.ground.pass(21 * HOUR_MS).await;
    for number in 0..WRITES {
        house
            .ground
            .write(&format!("garden {number}"), Author::Person)
            .await;
        house.ground.pass(HOUR_MS).await;
    }
    let last = names.last().cloned().expect("a name");
    let outcomes = house.outcomes(&last).await;
    assert_eq!(outcomes.len(), 4, "it was looked at each time");
    assert!(outcomes.iter().all(|(outcome, reason)| {
        *outcome == ExecutionOutcome::Refused && *reason == Some(WakeOutcome::NothingToDo.into())
    }));
    assert_eq!((house.asked(), house.runs().await), (0, 0), "no model was asked");
    let day = UtcDay::of(house.ground.wall.now());
    let found = house.ground.store.read(move |view| {
        let (mut tokens, mut queued, mut refused, mut lines) = (0, 0, 0, 0);
        for name in &names {
            let overview = view.overview(&agent(name))?.expect("an agent");
            let usage = overview.agent.usage;
            tokens += usage.input_tokens + usage.output_tokens + overview.agent.model_rounds;
            queued += overview.queued;
            let counted = view.refusals(&agent(name), UtcDay(day.0 - 2))?;
            refused += counted.iter().map(|row| row.count).sum::<u64>();
            let thread = ThreadId::of_session(&agent(name), &SessionId::new(SESSION));
            lines += view.entries(&thread, 1)?.len();
        }
        Ok((
            tokens,
            queued,
            refused,
            lines,
            view.data_size(DataClass::Blobs)?.rows,
        ))
    });
    let (tokens, queued, refused, lines, contents) = found.await.expect("read");
    assert_eq!((tokens, queued), (0, 0), "no token was used");
    assert_eq!((lines, contents), (0, 0), "no message was written");
    assert_eq!(
        refused,
        4 * AGENTS as u64 + (WRITES * AGENTS / 2) as u64,
        "and each no is counted"
    );
}
