//! Group commit: a closure must not affect the others in its group.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::Config;
use wakeful_store::{Store, StoreError};

use crate::fixture::{block_on, open_file, sample};

/// What a caller's closure may do after it has written something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupAction {
    Commit,
    Fail,
    Panic,
}

fn deeds() -> impl Strategy<Value = Vec<GroupAction>> {
    let deed = prop_oneof![4 => Just(GroupAction::Commit), 1 => Just(GroupAction::Fail), 1 => Just(GroupAction::Panic)];
    proptest::collection::vec(deed, 1..40)
}

/// Blocks the writer thread until the returned sender is dropped, so that the following jobs form one
/// group.
pub(crate) fn occupy(store: &Store) -> (mpsc::Sender<()>, tokio::task::JoinHandle<Result<(), StoreError>>) {
    let (free, busy) = mpsc::channel::<()>();
    let busy = std::sync::Mutex::new(busy);
    let store = store.clone();
    let task = tokio::spawn(async move {
        let occupied = store.write(move |_| {
            let _ = busy
                .lock()
                .expect("the lock")
                .recv_timeout(Duration::from_secs(5));
            Ok(())
        });
        occupied.await
    });
    (free, task)
}

async fn perform(store: Store, number: usize, deed: GroupAction) -> Result<(), StoreError> {
    let done = store.write(move |tx| {
        tx.create_agent(&sample::agent(&format!("agent-{number}")))?;
        tx.append_run_log(&sample::input("run", i64::try_from(number).expect("small")))?;
        match deed {
            GroupAction::Commit => Ok(()),
            GroupAction::Fail => Err(StoreError::Conflict),
            GroupAction::Panic => panic!("planted"),
        }
    });
    done.await
}

/// Runs all actions in one group; returns those that were reported as committed.
async fn in_one_group(store: &Store, deeds: &[GroupAction]) -> BTreeSet<usize> {
    let (free, busy) = occupy(store);
    tokio::task::yield_now().await;
    let tasks = deeds
        .iter()
        .enumerate()
        .map(|(number, deed)| tokio::spawn(perform(store.clone(), number, *deed)));
    let tasks: Vec<_> = tasks.collect();
    tokio::task::yield_now().await;
    drop(free);
    busy.await.expect("a task").expect("nothing happened");
    let mut committed = BTreeSet::new();
    for (number, task) in tasks.into_iter().enumerate() {
        match (deeds[number], task.await.expect("a task")) {
            (GroupAction::Commit, Ok(())) => assert!(committed.insert(number)),
            (GroupAction::Fail, Err(StoreError::Conflict))
            | (GroupAction::Panic, Err(StoreError::Backend(_))) => {}
            (deed, answer) => panic!("{deed:?} was answered {answer:?}"),
        }
    }
    committed
}

async fn found(store: &Store) -> BTreeSet<usize> {
    let found = store.read(|view| {
        let agents = view.agents(true)?;
        let numbers = agents
            .iter()
            .filter_map(|agent| agent.agent_id.as_str().strip_prefix("agent-"));
        let numbers: BTreeSet<usize> = numbers.map(|number| number.parse().expect("a number")).collect();
        let inputs = view.run_log(&sample::run_key("run"), -1, 1_000)?;
        assert_eq!(inputs.len(), numbers.len(), "a closure left half of its work");
        Ok(numbers)
    });
    found.await.expect("read")
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(24) })]

    /// Failing closures of a group change nothing, and the others commit durably.
    #[test]
    fn failing_closures_change_nothing_and_do_not_affect_others(deeds in deeds()) {
        let home = tempfile::tempdir().expect("a folder");
        block_on(async {
            let store = open_file(home.path());
            let committed = in_one_group(&store, &deeds).await;
            assert_eq!(found(&store).await, committed);
            store.close().await.expect("closed");
            assert_eq!(found(&open_file(home.path())).await, committed, "after opening it again");
        });
    }
}

#[test]
fn callers_wait_while_the_queue_is_full_and_none_is_lost() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let deeds = vec![GroupAction::Commit; wakeful_store::QUEUE_MAX + wakeful_store::GROUP_MAX + 3];
        let committed = in_one_group(&store, &deeds).await;
        assert_eq!(committed.len(), deeds.len());
        let agents = store.read(|view| view.agents(true)).await.expect("read");
        assert_eq!(agents.len(), deeds.len());
    });
}

#[test]
fn a_dropped_caller_does_not_disturb_the_group() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        let (free, busy) = occupy(&store);
        tokio::task::yield_now().await;
        let impatient = tokio::spawn(perform(store.clone(), 1, GroupAction::Commit));
        let patient = tokio::spawn(perform(store.clone(), 2, GroupAction::Commit));
        tokio::task::yield_now().await;
        impatient.abort();
        drop(free);
        busy.await.expect("a task").expect("nothing happened");
        patient.await.expect("a task").expect("committed");
        assert!(found(&store).await.contains(&2));
    });
}
