//! The quiet day: a thousand agents whose schedules find nothing to do cost nothing.

use wakeful_core::budget::Day;
use wakeful_core::timer::{Draft, Outcome};
use wakeful_ports::clock::Clock as _;
use wakeful_ports::store::Store as _;
use wakeful_runtime::desk::Scheduling as _;

use super::house::{BEGIN, Ground, HOUR_MS, House, Says, agent, every, rule};

const AGENTS: usize = 1_000;

#[tokio::test]
async fn a_quiet_day_of_a_thousand_agents_asks_no_model_and_writes_no_line() {
    let house = House::open(&Ground::at(BEGIN), Says::Done).await;
    let names: Vec<String> = (0..AGENTS).map(|number| format!("agent-{number}")).collect();
    for name in &names {
        house.make(&[name]).await;
        let when = every(4 * 3_600);
        let draft = Draft::new(rule(name), agent(name), when, "Anything new?".to_owned());
        house.clerk.add_schedule(draft).await.expect("a schedule");
    }
    house.ground.pass(24 * HOUR_MS + 1).await;
    let last = names.last().cloned().expect("a name");
    let outcomes = house.outcomes(&last).await;
    assert_eq!(outcomes.len(), 6, "it was looked at each time");
    assert!(outcomes.iter().all(|(outcome, reason)| {
        *outcome == Outcome::Refused && reason.as_deref() == Some("nothing_to_do")
    }));
    assert_eq!((house.asked(), house.runs().await), (0, 0));
    let day = Day::of(house.ground.wall.now());
    let found = house.ground.store.read(move |view| {
        let (mut tokens, mut queued, mut refused) = (0, 0, 0);
        for name in &names {
            let overview = view.overview(&agent(name))?.expect("an agent");
            tokens += overview.agent.usage.input_tokens + overview.agent.model_rounds;
            queued += overview.queued;
            let counted = view.refusals(&agent(name), Day(day.0 - 2))?;
            refused += counted.iter().map(|row| row.count).sum::<u64>();
        }
        Ok((tokens, queued, refused))
    });
    assert_eq!(found.await.expect("read"), (0, 0, 6 * AGENTS as u64));
}
