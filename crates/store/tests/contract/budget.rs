//! Limits, and what effects hold under them.

use wakeful_core::budget::{
    BudgetPeriod, BudgetResource, BudgetScope, Demand, LimitKey, UtcDay, check, reserve_all,
};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Suspension, Wait};
use wakeful_store::rows::{BudgetOwner, Hold, HoldEnd, LimitRow, ResourceUse, RunRow};
use wakeful_store::{Store, StoreError, Tx, WorkQuery};

use super::bound::unbound;
use crate::fixture::{everywhere, sample};

const NOW: Millis = Millis(20_000 * DAY_MS);
const DAY_MS: i64 = 86_400_000;

/// Concurrent spenders, and what each tries.
const SPENDERS: u64 = 64;
const TRIES: u64 = 6;

fn owner(agent: &str) -> BudgetOwner {
    BudgetOwner {
        run_key: sample::run_key(agent),
        root_run: sample::run_key("root"),
        agent_id: sample::agent_id(agent),
        thread_id: sample::thread(),
    }
}

fn key(scope: BudgetScope, subject: &str, period: BudgetPeriod) -> LimitKey {
    LimitKey::new(scope, subject, BudgetResource::Tokens, Some(period)).expect("a limit")
}

fn of_tree() -> LimitKey {
    key(
        BudgetScope::Tree,
        &sample::run_key("root").to_string(),
        BudgetPeriod::Lifetime,
    )
}

async fn set(store: &Store, key: LimitKey, max: u64) {
    let set = store.write(move |tx| tx.set_limit(&key, max, 0, NOW));
    set.await.expect("set");
}

/// Reserves tokens for an effect. Returns whether they fit.
fn reserve(
    tx: &mut Tx<'_>,
    agent: &str,
    operation: &str,
    amount: u64,
    now: Millis,
) -> Result<bool, StoreError> {
    let owner = owner(agent);
    let mut pools = tx.lock_limits(&owner, now)?;
    let demands = [Demand::exactly(BudgetResource::Tokens, amount)];
    let Ok(grants) = check(&pools, &demands) else {
        return Ok(false);
    };
    reserve_all(&mut pools, &grants);
    let operation_id = sample::operation(operation);
    tx.hold(&owner.run_key, &pools, &[Hold { operation_id, grants }])?;
    Ok(true)
}

fn settle(tx: &mut Tx<'_>, agent: &str, operation: &str, end: HoldEnd) -> Result<(), StoreError> {
    let ends = [(sample::operation(operation), end)];
    tx.settle_holds(&sample::run_key(agent), &ends, NOW)
}

fn used(tokens: u64) -> HoldEnd {
    HoldEnd::Used(ResourceUse {
        tokens: Some(tokens),
        ..ResourceUse::default()
    })
}

async fn try_reserve(
    store: &Store,
    agent: &'static str,
    operation: &'static str,
    amount: u64,
    now: Millis,
) -> bool {
    let reserved = store.write(move |tx| reserve(tx, agent, operation, amount, now));
    reserved.await.expect("tried")
}

async fn row(store: &Store, key: &LimitKey) -> LimitRow {
    let id = key.id();
    store
        .read(move |view| view.limit(id))
        .await
        .expect("read")
        .expect("a limit")
}

async fn settled_and_reserved(store: &Store, key: &LimitKey) -> (u64, u64) {
    let row = row(store, key).await;
    (row.pool.settled, row.pool.reserved)
}

// Conformance: A-181
#[test]
fn children_draw_on_the_tree_and_on_their_own_limits() {
    everywhere(async |store| {
        let (tree, own) = (of_tree(), key(BudgetScope::Agent, "one", BudgetPeriod::Daily));
        set(&store, tree.clone(), 100).await;
        set(&store, own.clone(), 30).await;
        assert!(!try_reserve(&store, "one", "a", 31, NOW).await, "its own limit");
        assert!(try_reserve(&store, "one", "a", 30, NOW).await);
        assert!(try_reserve(&store, "two", "b", 70, NOW).await);
        assert!(
            !try_reserve(&store, "two", "c", 1, NOW).await,
            "the tree is used up"
        );
        assert_eq!(settled_and_reserved(&store, &tree).await, (0, 100));
        let ended = store.write(|tx| {
            settle(tx, "one", "a", used(10))?;
            settle(tx, "two", "b", HoldEnd::InFull)
        });
        ended.await.expect("settled");
        assert_eq!(settled_and_reserved(&store, &tree).await, (80, 0));
        assert_eq!(settled_and_reserved(&store, &own).await, (10, 0));
        assert!(
            try_reserve(&store, "one", "a", 20, NOW).await,
            "an effect is repeated"
        );
        assert_eq!(unbound(&store).await, Vec::<String>::new());
    });
}

#[test]
fn a_reservation_ends_once() {
    everywhere(async |store| {
        let all = key(BudgetScope::All, "", BudgetPeriod::Lifetime);
        set(&store, all.clone(), 100).await;
        assert!(try_reserve(&store, "one", "a", 40, NOW).await);
        for _ in 0..2 {
            let ended = store.write(|tx| settle(tx, "one", "a", used(7)));
            ended.await.expect("settled");
            assert_eq!(settled_and_reserved(&store, &all).await, (7, 0));
        }
        assert!(try_reserve(&store, "one", "b", 40, NOW).await);
        let released = store.write(|tx| settle(tx, "one", "b", HoldEnd::Released));
        released.await.expect("released");
        assert_eq!(settled_and_reserved(&store, &all).await, (7, 0));
        assert!(try_reserve(&store, "one", "c", 40, NOW).await);
        let ended = store.write(|tx| tx.settle_holds_of_run(&sample::run_key("one"), NOW));
        ended.await.expect("ended");
        assert_eq!(settled_and_reserved(&store, &all).await, (47, 0));
    });
}

// Conformance: A-180, L-168
#[test]
fn use_counts_until_the_boundary_of_its_period() {
    everywhere(async |store| {
        for (period, next) in [
            (BudgetPeriod::Daily, Some(NOW.0 + DAY_MS)),
            (BudgetPeriod::Monthly, Some(20_028 * DAY_MS)),
            (BudgetPeriod::Yearly, Some(20_089 * DAY_MS)),
            (BudgetPeriod::Lifetime, None),
        ] {
            let limit = key(BudgetScope::Agent, "one", period);
            set(&store, limit.clone(), 10).await;
            assert!(try_reserve(&store, "one", "a", 10, NOW).await);
            let ended = store.write(|tx| settle(tx, "one", "a", used(10)));
            ended.await.expect("settled");
            let last = Millis(next.map_or(i64::MAX / 2, |next| next - 1));
            assert!(!try_reserve(&store, "one", "b", 1, last).await, "{period}");
            if let Some(next) = next {
                assert!(
                    try_reserve(&store, "one", "b", 10, Millis(next)).await,
                    "{period}"
                );
                assert!(
                    !try_reserve(&store, "one", "c", 1, Millis(next)).await,
                    "at the limit: {period}"
                );
                assert!(
                    !try_reserve(&store, "one", "c", 1, NOW).await,
                    "the clock was set back: {period}"
                );
                let released = store.write(|tx| settle(tx, "one", "b", HoldEnd::Released));
                released.await.expect("released");
            }
            let id = limit.id();
            store
                .write(move |tx| tx.clear_limit(id, NOW))
                .await
                .expect("cleared");
        }
    });
}

#[test]
fn a_cleared_limit_forgets_its_use_and_its_reservations() {
    everywhere(async |store| {
        let limit = key(BudgetScope::Agent, "one", BudgetPeriod::Daily);
        set(&store, limit.clone(), 10).await;
        assert!(try_reserve(&store, "one", "a", 10, NOW).await);
        let id = limit.id();
        assert!(
            store
                .write(move |tx| tx.clear_limit(id, NOW))
                .await
                .expect("cleared")
        );
        assert!(
            !store
                .write(move |tx| tx.clear_limit(id, NOW))
                .await
                .expect("cleared")
        );
        set(&store, limit.clone(), 20).await;
        let ended = store.write(|tx| settle(tx, "one", "a", used(10)));
        ended.await.expect("nothing to settle");
        assert_eq!(settled_and_reserved(&store, &limit).await, (0, 0));
        set(&store, limit.clone(), 0).await;
        assert_eq!(row(&store, &limit).await.pool.max, 0);
        assert!(!try_reserve(&store, "one", "b", 1, NOW).await);
        assert_eq!(unbound(&store).await, Vec::<String>::new());
    });
}

#[test]
fn a_run_that_waits_for_a_limit_is_found_once_there_is_room() {
    everywhere(async |store| {
        let limit = key(BudgetScope::Agent, "main", BudgetPeriod::Lifetime);
        set(&store, limit.clone(), 10).await;
        assert!(try_reserve(&store, "main", "a", 8, NOW).await);
        let wait = Wait::Budget {
            until: None,
            needed: 5,
            limit: Some(limit.id()),
        };
        let made = store.write(move |tx| {
            tx.create_agent(&sample::agent("main"))?;
            tx.create_run(&RunRow {
                suspension: Some(Suspension { wait, since: NOW }),
                ..sample::run("run")
            })
        });
        made.await.expect("made");
        let found = async || {
            let query = WorkQuery {
                now: Millis(NOW.0 + 400 * DAY_MS),
                daily_cap: wakeful_core::budget::MicroUsd(0),
            };
            let agents = store.read(move |view| {
                let due = view.due_run(&sample::agent_id("main"), query)?;
                Ok((view.agents_with_work(query)?.len(), due.is_some()))
            });
            agents.await.expect("read")
        };
        let stored = store
            .read(|view| view.run(&sample::run_key("run")))
            .await
            .expect("read");
        assert_eq!(stored.expect("a run").wait(), Some(wait));
        assert_eq!(found().await, (0, false));
        set(&store, limit.clone(), 12).await;
        assert_eq!(found().await, (0, false), "not enough");
        set(&store, limit.clone(), 13).await;
        assert_eq!(found().await, (1, true), "a person raised it");
        set(&store, limit.clone(), 10).await;
        let ended = store.write(|tx| settle(tx, "main", "a", used(5)));
        ended.await.expect("settled");
        assert_eq!(found().await, (1, true), "a reservation was released");
        set(&store, limit.clone(), 0).await;
        assert_eq!(found().await, (0, false));
        let id = limit.id();
        store
            .write(move |tx| tx.clear_limit(id, NOW))
            .await
            .expect("cleared");
        assert_eq!(found().await, (1, true), "a person removed it");
    });
}

#[test]
fn a_reset_of_the_day_keeps_the_use() {
    everywhere(async |store| {
        let limit = key(BudgetScope::All, "", BudgetPeriod::Daily);
        set(&store, limit.clone(), 10).await;
        let ahead = Millis(NOW.0 + 9 * DAY_MS);
        assert!(try_reserve(&store, "one", "a", 10, ahead).await);
        let reset = store.write(|tx| {
            tx.reset_spend_day(UtcDay::of(NOW))?;
            tx.reset_limit_periods(NOW)
        });
        reset.await.expect("reset");
        assert_eq!(row(&store, &limit).await.pool.index, UtcDay::of(NOW).0);
        assert!(!try_reserve(&store, "one", "b", 1, NOW).await);
    });
}

/// One spender: each of its effects is settled, released or lost in a crash, after which its next process settles
/// everything in full.
async fn spend(store: Store, spender: u64) {
    let agent: &'static str = if spender.is_multiple_of(2) { "one" } else { "two" };
    let run = sample::run_key(&format!("run {spender}"));
    let owner = BudgetOwner {
        run_key: run,
        ..owner(agent)
    };
    for number in 0..TRIES {
        let operation = sample::operation(&format!("{spender} {number}"));
        let owner = owner.clone();
        let reserved = store.write(move |tx| {
            let mut pools = tx.lock_limits(&owner, NOW)?;
            let demand = Demand {
                resource: BudgetResource::Tokens,
                least: 1,
                most: 1 + (spender + number) % 5,
            };
            let Ok(grants) = check(&pools, &[demand]) else {
                return Ok(());
            };
            reserve_all(&mut pools, &grants);
            let hold = Hold {
                operation_id: operation,
                grants,
            };
            tx.hold(&owner.run_key, &pools, &[hold])
        });
        reserved.await.expect("tried");
        let ended = store.write(move |tx| match (spender + number) % 3 {
            0 => tx.settle_holds_of_run(&run, NOW),
            1 => tx.settle_holds(&run, &[(operation, HoldEnd::Released)], NOW),
            _ => tx.settle_holds(&run, &[(operation, used(1))], NOW),
        });
        ended.await.expect("ended");
    }
}

/// Spenders of several processes reserve under shared limits at once.
pub(crate) async fn spenders_at_once(stores: &[Store]) {
    let all = key(BudgetScope::All, "", BudgetPeriod::Monthly);
    let own = key(BudgetScope::Agent, "one", BudgetPeriod::Daily);
    for (limit, max) in [(&all, 150), (&own, 60), (&of_tree(), 140)] {
        set(&stores[0], (*limit).clone(), max).await;
    }
    let spenders = stores.iter().cycle().zip(0..SPENDERS);
    let spenders: Vec<_> = spenders
        .map(|(store, spender)| tokio::spawn(spend(store.clone(), spender)))
        .collect();
    for spender in spenders {
        spender.await.expect("a spender");
    }
    for limit in [all, own, of_tree()] {
        let row = row(&stores[0], &limit).await;
        let held = stores[0]
            .read(move |view| view.held_under(row.pool.limit))
            .await
            .expect("read");
        assert!(row.pool.settled <= row.pool.max, "overshoot: {row:?}");
        assert_eq!((row.pool.reserved, held), (0, 0), "leaked: {row:?}");
        assert!(
            row.pool.settled * 10 >= row.pool.max * 9,
            "much of it was spent: {row:?}"
        );
    }
    assert_eq!(unbound(&stores[0]).await, Vec::<String>::new());
}

#[test]
fn parallel_spenders_with_crashes_overdraw_and_leak_nothing() {
    everywhere(async |store| spenders_at_once(&[store]).await);
}
