//! Bound rows are bound to the home's log, even if several writers change them concurrently.

use std::collections::BTreeMap;

use wakeful_core::budget::{MicroUsd, UtcDay};
use wakeful_core::decision::Channel;
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::key::Digest;
use wakeful_core::report::payload::Payload;
use wakeful_core::time::Millis;
use wakeful_store::rows::{BrakeRow, Reservation};
use wakeful_store::{Store, StoreError, Tx, View};

use crate::fixture::{everywhere, sample};

/// Number of concurrent writers, and of writes by each.
const WRITERS: u64 = 6;
const ROUNDS: u64 = 40;

/// Returns rows that differ from their newest binding, and bindings of rows that do not exist.
pub(crate) async fn unbound(store: &Store) -> Vec<String> {
    store.read(differences).await.expect("read")
}

fn differences(view: &mut View<'_>) -> Result<Vec<String>, StoreError> {
    let mut newest: BTreeMap<(String, String), Option<Digest>> = BTreeMap::new();
    let mut after = 0;
    loop {
        let events = view.events(&AgentId::home_log(), after, 1_000)?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            let Some(Payload::RowsBound(bound)) = event.body().map(|body| body.payload) else {
                panic!("bindings: {event:?}");
            };
            newest.extend(
                bound
                    .records
                    .into_iter()
                    .map(|one| ((one.table, one.key), one.row_hash)),
            );
        }
    }
    let mut wrong = Vec::new();
    for table in view.bound_tables() {
        for row in view.bound_rows(table, None, 10_000)? {
            let key = (table.to_owned(), row.key_text());
            if newest.remove(&key) != Some(Some(row.hash)) {
                wrong.push(format!("{key:?} is not as it is bound"));
            }
        }
    }
    let gone = newest.into_iter().filter(|(_, hash)| hash.is_some());
    wrong.extend(gone.map(|(key, _)| format!("{key:?} is not there")));
    Ok(wrong)
}

/// All writers change the same few rows of caps, brakes and spending; every value occurs repeatedly.
fn change(tx: &mut Tx<'_>, writer: u64, round: u64) -> Result<(), StoreError> {
    let agent = sample::agent_id(if round.is_multiple_of(2) { "one" } else { "two" });
    let cap = (!(writer + round).is_multiple_of(3)).then_some(MicroUsd(round % 2));
    tx.set_cap(Some(&agent), cap, Millis(1))?;
    if (writer + round).is_multiple_of(2) {
        tx.put_brake(&BrakeRow {
            agent_id: Some(agent.clone()),
            reason: "a reason".to_owned(),
            channel: Channel::Cli,
            at: Millis(1),
        })?;
    } else {
        tx.release_brake(Some(&agent))?;
    }
    Ok(())
}

fn spend(tx: &mut Tx<'_>, writer: u64, round: u64) -> Result<(), StoreError> {
    let operation_id = sample::operation(&format!("request {writer} {}", round % 5));
    if round % 2 == 1 {
        return tx.settle_spend(&operation_id, Some(MicroUsd(1)));
    }
    let clock = UtcDay(i64::try_from(20_000 + round % 4).expect("small"));
    if round % 6 == 4 {
        return tx.reset_spend_day(clock);
    }
    let day = tx.lock_spending(clock)?;
    tx.settle_spend(&operation_id, None)?;
    tx.reserve(&Reservation {
        operation_id,
        run_key: sample::run_key("run"),
        agent_id: sample::agent_id("one"),
        day,
        model_ref: "m".to_owned(),
        rule: "r".to_owned(),
        policy_version: PolicyVersion::new("v"),
        amount: MicroUsd(2),
    })
}

async fn write_at_once(stores: &[Store], work: fn(&mut Tx<'_>, u64, u64) -> Result<(), StoreError>) {
    let writers = stores.iter().cycle().zip(0..WRITERS).map(|(store, writer)| {
        let store = store.clone();
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let written = store.write(move |tx| work(tx, writer, round)).await;
                written.expect("written");
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("a writer");
    }
}

/// Writers of several processes change caps and brakes concurrently.
pub(crate) async fn settings_at_once(stores: &[Store]) {
    write_at_once(stores, change).await;
    assert_eq!(unbound(&stores[0]).await, Vec::<String>::new());
}

/// Writers of several processes reserve, settle and reset the day concurrently.
pub(crate) async fn money_at_once(stores: &[Store]) {
    write_at_once(stores, spend).await;
    assert_eq!(unbound(&stores[0]).await, Vec::<String>::new());
    let sums = stores[0].read(|view| {
        let days = view.spend_days(None, UtcDay(0))?;
        let of_run = view.spent_by_run(&sample::run_key("run"))?;
        Ok((days.iter().map(|day| day.settled.0).sum::<u64>(), of_run.0))
    });
    let (of_days, of_run) = sums.await.expect("read");
    assert_eq!(of_days, of_run, "no amount is lost between two days");
}

#[test]
fn concurrently_changed_settings_are_bound() {
    everywhere(async |store| settings_at_once(&[store]).await);
}

#[test]
fn concurrently_changed_spending_is_bound() {
    everywhere(async |store| money_at_once(&[store]).await);
}

#[test]
fn a_transition_without_bound_rows_adds_no_binding() {
    everywhere(async |store| {
        let end = async || {
            let end = store.read(|view| view.log_end(&AgentId::home_log())).await;
            end.expect("read").expect("a log")
        };
        let made = store.write(|tx| tx.create_agent(&sample::agent("main")).map(drop));
        made.await.expect("made");
        let before = end().await;
        let moved = store.write(|tx| {
            tx.admit_message(&sample::message("t", "a prompt"))?;
            tx.create_run(&sample::run("run"))?;
            tx.append_run_log(&sample::input("run", 1))?;
            tx.put_step(&sample::step("run", "a"))?;
            // There is nothing to settle, release or remove.
            tx.settle_spend(&sample::operation("a"), None)?;
            tx.release_brake(None)?;
            tx.set_cap(None, None, Millis(1))
        });
        moved.await.expect("moved");
        assert_eq!(end().await, before);
    });
}

/// `docs/proof.md` documents what it adds to the home's log.
#[test]
fn a_priced_request_adds_two_small_events() {
    everywhere(async |store| {
        for round in 0..2 {
            let written = store.write(move |tx| spend(tx, 1, round));
            written.await.expect("written");
            let operation = sample::operation(&format!("request 1 {round}"));
            let settled = store.write(move |tx| tx.settle_spend(&operation, Some(MicroUsd(1))));
            settled.await.expect("settled");
        }
        let events = store.read(|view| view.events(&AgentId::home_log(), 0, 10)).await;
        let payloads = events
            .expect("read")
            .into_iter()
            .filter_map(|event| event.payload);
        let bytes: Vec<usize> = payloads.map(|(payload, _)| payload.len()).collect();
        assert_eq!(bytes.len(), 2);
        let all: usize = bytes.iter().sum();
        assert!(all < 1_200, "{bytes:?}");
    });
}

#[test]
fn a_binding_has_the_time_of_its_transaction() {
    everywhere(async |store| {
        let written = store.write(|tx| {
            tx.set_journal_host("a journal", Millis(77))?;
            tx.put_trigger_secret(&sample::digest("a secret"), Millis(78))
        });
        written.await.expect("written");
        let events = store.read(|view| view.events(&AgentId::home_log(), 0, 10)).await;
        let times: Vec<Millis> = events.expect("read").iter().map(|event| event.at).collect();
        assert_eq!(times, [Millis(78)]);
    });
}
