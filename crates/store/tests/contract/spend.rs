//! Caps, reservations and privacy receipts.

use wakeful_core::budget::{DaySpend, MicroUsd, UtcDay};
use wakeful_core::decision::Channel;
use wakeful_core::id::PolicyVersion;
use wakeful_core::inference::{ImpliedChannel, ReceiptChannel};
use wakeful_core::key::OperationId;
use wakeful_core::step::StepStatus;
use wakeful_core::time::Millis;
use wakeful_store::Store;
use wakeful_store::rows::{
    CapRow, PrivacyReceiptRow, Reservation, SpendDay, SpendSettlement, StepSettlement,
};

use crate::fixture::{everywhere, sample};

const DAY: UtcDay = UtcDay(20_000);

fn reservation(agent: &str, operation: &str, amount: u64) -> Reservation {
    Reservation {
        operation_id: OperationId(sample::digest(operation)),
        run_key: sample::run_key("run"),
        agent_id: sample::agent_id(agent),
        day: DAY,
        model_ref: "anthropic/x".into(),
        rule: "inference_gates".into(),
        policy_version: PolicyVersion::new("inference-1"),
        amount: MicroUsd(amount),
    }
}

async fn reserve(store: &Store, reservation: Reservation) {
    store
        .write(move |tx| {
            tx.lock_spending(reservation.day)?;
            tx.reserve(&reservation)
        })
        .await
        .expect("reserved");
}

async fn settle(store: &Store, operation: &str, cost: Option<u64>) {
    let operation = OperationId(sample::digest(operation));
    store
        .write(move |tx| tx.settle_spend(&operation, cost.map(MicroUsd)))
        .await
        .expect("settled");
}

async fn spent(store: &Store, agent: &str) -> (u64, u64) {
    let agent = sample::agent_id(agent);
    let DaySpend { agent, all } = store
        .read(move |view| view.spent(DAY, &agent))
        .await
        .expect("read");
    (agent.total().0, all.total().0)
}

#[test]
fn a_reservation_counts_until_it_is_settled_with_its_cost() {
    everywhere(async |store| {
        assert_eq!(spent(&store, "main").await, (0, 0));
        reserve(&store, reservation("main", "a", 100)).await;
        reserve(&store, reservation("other", "b", 10)).await;
        assert_eq!(spent(&store, "main").await, (100, 110));
        settle(&store, "a", Some(7)).await;
        assert_eq!(spent(&store, "main").await, (7, 17));
        settle(&store, "a", Some(7)).await;
        assert_eq!(
            spent(&store, "main").await,
            (7, 17),
            "a second end changes nothing"
        );
        settle(&store, "nobody's", Some(7)).await;
        settle(&store, "b", None).await;
        assert_eq!(
            spent(&store, "other").await,
            (10, 17),
            "an unknown cost counts in full"
        );
        let days = store
            .read(|view| Ok((view.spend_days(None, DAY)?, view.spent_on(DAY)?)))
            .await
            .expect("read");
        let day = |agent_id, settled, requests| SpendDay {
            agent_id,
            day: DAY,
            reserved: MicroUsd(0),
            settled: MicroUsd(settled),
            requests,
        };
        assert_eq!(days.0, [day(None, 17, 2)]);
        let (main, other) = (sample::agent_id("main"), sample::agent_id("other"));
        assert_eq!(days.1, [day(Some(main), 7, 1), day(Some(other), 10, 1)]);
    });
}

#[test]
fn a_request_that_is_sent_again_counts_twice() {
    everywhere(async |store| {
        reserve(&store, reservation("main", "a", 100)).await;
        settle(&store, "a", None).await;
        let again = Reservation {
            day: DAY.next(),
            ..reservation("main", "a", 40)
        };
        reserve(&store, again).await;
        assert_eq!(spent(&store, "main").await, (100, 100));
        settle(&store, "a", Some(5)).await;
        let days = store.read(|view| view.spend_days(None, DAY)).await.expect("read");
        let settled: Vec<(i64, u64)> = days.iter().map(|day| (day.day.0, day.settled.0)).collect();
        assert_eq!(settled, [(DAY.0, 100), (DAY.0 + 1, 5)]);
    });
}

#[test]
fn the_end_of_a_step_settles_its_reservation_in_the_same_transaction() {
    everywhere(async |store| {
        store
            .write(|tx| tx.put_step(&sample::step("run", "a")))
            .await
            .expect("put");
        reserve(&store, reservation("main", "a", 100)).await;
        let end = StepSettlement {
            attempt: Some("not json".into()),
            settlement: SpendSettlement::Cost(MicroUsd(3)),
            ..sample::end("a", StepStatus::Ok)
        };
        let gone = store
            .write(move |tx| {
                tx.settle_step(&end)?;
                tx.settle_step(&end)
            })
            .await;
        assert!(gone.is_err(), "a step ends once");
        assert_eq!(
            spent(&store, "main").await,
            (100, 100),
            "nothing of it was written"
        );
        let end = StepSettlement {
            settlement: SpendSettlement::InFull,
            ..sample::end("a", StepStatus::Failed)
        };
        store
            .write(move |tx| tx.settle_step(&end))
            .await
            .expect("settled");
        reserve(&store, reservation("main", "b", 1)).await;
        assert_eq!(spent(&store, "main").await, (101, 101));
    });
}

#[test]
fn a_cap_is_set_changed_and_removed() {
    everywhere(async |store| {
        let set = async |agent: Option<&str>, daily: Option<u64>| {
            let agent = agent.map(sample::agent_id);
            store
                .write(move |tx| tx.set_cap(agent.as_ref(), daily.map(MicroUsd), Millis(9)))
                .await
                .expect("set");
        };
        set(None, Some(5)).await;
        set(Some("main"), Some(1)).await;
        set(Some("main"), Some(2)).await;
        let row = |agent_id, daily| CapRow {
            agent_id,
            daily: MicroUsd(daily),
            set_at: Millis(9),
        };
        let caps = store.read(|view| view.caps()).await.expect("read");
        assert_eq!(caps, [row(None, 5), row(Some(sample::agent_id("main")), 2)]);
        set(None, None).await;
        let found = store
            .read(|view| {
                let main = sample::agent_id("main");
                Ok((view.cap(None)?, view.cap(Some(&main))?))
            })
            .await
            .expect("read");
        assert_eq!(found, (None, Some(MicroUsd(2))));
    });
}

// Conformance: L-157
#[test]
fn a_receipt_is_valid_for_one_provider_and_policy_version() {
    everywhere(async |store| {
        let receipt = |channel: ReceiptChannel| PrivacyReceiptRow {
            provider: "anthropic".into(),
            policy_version: PolicyVersion::new("inference-1"),
            channel,
            at: Millis(4),
        };
        let (first, second) = (
            receipt(Channel::Cli.into()),
            receipt(ImpliedChannel::OperatorRun.into()),
        );
        let kept = first.clone();
        store
            .write(move |tx| {
                tx.put_receipt(&first)?;
                tx.put_receipt(&second)
            })
            .await
            .expect("put");
        let is = async |provider: &'static str, version: &'static str| {
            let version = PolicyVersion::new(version);
            store
                .read(move |view| view.is_confirmed(provider, &version))
                .await
                .expect("read")
        };
        assert!(is("anthropic", "inference-1").await);
        assert!(!is("anthropic", "inference-2").await && !is("openai", "inference-1").await);
        let all = store.read(|view| view.receipts()).await.expect("read");
        assert_eq!(all, [kept], "the first confirmation stands");
    });
}

#[test]
fn with_the_clock_set_back_the_latest_day_is_used_until_reset() {
    everywhere(async |store| {
        reserve(&store, reservation("main", "a", 100)).await;
        let earlier = UtcDay(DAY.0 - 3);
        let day = store
            .write(move |tx| tx.lock_spending(earlier))
            .await
            .expect("locked");
        assert_eq!(day, DAY, "no earlier day is opened");
        store
            .write(move |tx| tx.reset_spend_day(earlier))
            .await
            .expect("reset");
        let day = store
            .write(move |tx| tx.lock_spending(earlier))
            .await
            .expect("locked");
        assert_eq!(day, earlier);
        let agent = sample::agent_id("main");
        let counted = store
            .read(move |view| view.spent(earlier, &agent))
            .await
            .expect("read");
        assert_eq!(counted.all.total(), MicroUsd(100), "what was spent stays spent");
        settle(&store, "a", Some(40)).await;
        let agent = sample::agent_id("main");
        let counted = store
            .read(move |view| view.spent(earlier, &agent))
            .await
            .expect("read");
        assert_eq!(
            (counted.agent.total(), counted.all.total()),
            (MicroUsd(40), MicroUsd(40))
        );
    });
}
