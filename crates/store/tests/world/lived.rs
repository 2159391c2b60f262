//! What `golden/live.sh` let a program live through, as a store tells it.

use wakeful_core::decision::DecisionStatus;
use wakeful_store::Store;
use wakeful_store::rows::DecisionFilter;

use super::sample;

/// A question that was answered and one that waits, a brake with a message behind it, a write to the journal that is over,
/// money that was spent.
pub(crate) async fn assert_all_there(store: &Store) {
    let read = store.read(|view| {
        let filter = DecisionFilter {
            limit: 9,
            ..DecisionFilter::default()
        };
        let decisions = view.decisions(&filter)?;
        let mut announced = 0;
        for decision in &decisions {
            announced += view.announcements(&decision.inquiry.decision_id)?.len();
        }
        let quiet = sample::agent_id("quiet");
        let cost = view.spent_by_run(&decisions[0].run_key)?;
        Ok((
            decisions,
            announced,
            view.brakes()?,
            view.queue(&quiet, 9)?.len(),
            view.unfinished_sagas()?.len(),
            cost,
        ))
    });
    let (decisions, announced, brakes, waiting, sagas, cost) = read.await.expect("read");
    let mut statuses: Vec<DecisionStatus> = decisions.iter().map(|one| one.status).collect();
    statuses.sort_by_key(|status| status.as_str());
    assert_eq!(statuses, [DecisionStatus::Answered, DecisionStatus::Pending]);
    let notes: Vec<&str> = decisions
        .iter()
        .filter_map(|one| one.answer.as_ref()?.note.as_deref())
        .collect();
    assert_eq!((notes, announced), (vec!["go on"], 1));
    let held: Vec<Option<String>> = brakes
        .iter()
        .map(|brake| brake.agent_id.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!((held, waiting), (vec![Some("quiet".to_owned())], 1));
    assert_eq!(sagas, 0, "the one that there was is over");
    assert!(cost.0 > 0, "{cost:?}");
}
