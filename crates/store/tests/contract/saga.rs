//! Sagas: begun once, and advanced only from the state that the caller has read.

use wakeful_core::run::RunStatus;
use wakeful_core::saga::{Saga, SagaInput, saga_settlement};
use wakeful_core::time::Millis;
use wakeful_store::rows::{RunRow, SagaRow};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

fn intended(operation: &str) -> Saga {
    Saga::intended(sample::operation(operation))
}

async fn begin(store: &Store, operation: &'static str, run: &'static str) {
    let begun = store.write(move |tx| tx.begin_saga(&intended(operation), &sample::run_key(run), Millis(1)));
    begun.await.expect("begun");
}

async fn advance(store: &Store, seen: Saga, next: Saga) -> Result<(), StoreError> {
    store
        .write(move |tx| tx.advance_saga(&seen, &next, Millis(2)))
        .await
}

async fn unfinished(store: &Store) -> Vec<SagaRow> {
    store.read(|view| view.unfinished_sagas()).await.expect("read")
}

#[test]
fn a_saga_shows_whether_its_run_can_continue() {
    everywhere(async |store| {
        let open = sample::run("open");
        let ended = RunRow {
            status: RunStatus::Cancelled,
            ended_at: Some(Millis(5)),
            ..sample::run("ended")
        };
        let agent = Some(open.agent_id.clone());
        let runs = [open, ended];
        let made = store.write(move |tx| runs.iter().try_for_each(|run| tx.create_run(run)));
        made.await.expect("made");
        for (operation, run) in [("a", "open"), ("b", "ended"), ("c", "pruned")] {
            begin(&store, operation, run).await;
            begin(&store, operation, run).await;
        }
        let mut rows = unfinished(&store).await;
        rows.sort_by_key(|row| row.run_key != sample::run_key("open"));
        let find = |operation: &str| {
            let operation = sample::operation(operation);
            rows.iter()
                .find(|row| row.saga.operation_id == operation)
                .expect("there")
        };
        assert_eq!((find("a").run_open, &find("a").agent_id), (true, &agent));
        assert_eq!((find("b").run_open, &find("b").agent_id), (false, &agent));
        assert_eq!((find("c").run_open, &find("c").agent_id), (false, &None));
        assert_eq!(rows.len(), 3);
    });
}

#[test]
fn a_saga_advances_once_from_the_state_that_was_read() {
    everywhere(async |store| {
        begin(&store, "a", "run").await;
        let seen = intended("a");
        let done = saga_settlement(seen.operation_id, None);
        advance(&store, seen.clone(), done.clone()).await.expect("moved");
        let again = advance(&store, seen, done).await;
        assert!(matches!(again, Err(StoreError::Conflict)), "{again:?}");
        assert!(unfinished(&store).await.is_empty());
        let row = store
            .read(|view| view.saga(&sample::operation("a")))
            .await
            .expect("read");
        assert_eq!(row.expect("kept").saga.status.as_str(), "completed");
        begin(&store, "a", "run").await;
        assert!(
            unfinished(&store).await.is_empty(),
            "what ended does not begin again"
        );
    });
}

// Conformance: L-152
#[test]
fn a_stuck_saga_stays_listed_with_its_reason() {
    everywhere(async |store| {
        begin(&store, "a", "run").await;
        let given_up = intended("a")
            .apply(SagaInput::Abandoned { why: "ended".into() })
            .expect("taken");
        let stuck = given_up.clone().apply(SagaInput::UndoFailed {
            why: "changed – §".into(),
        });
        let stuck = stuck.expect("taken");
        advance(&store, intended("a"), given_up.clone())
            .await
            .expect("moved");
        advance(&store, given_up, stuck.clone()).await.expect("moved");
        let rows = unfinished(&store).await;
        assert_eq!(rows.iter().map(|row| &row.saga).collect::<Vec<_>>(), [&stuck]);
        assert_eq!(rows[0].updated_at, Millis(2));
    });
}

#[test]
fn the_host_of_the_journal_is_stored_until_it_changes() {
    everywhere(async |store| {
        let known = async || store.read(|view| view.journal_host()).await.expect("read");
        assert_eq!(known().await, None);
        for host in ["one", "two"] {
            store
                .write(move |tx| tx.set_journal_host(host, Millis(1)))
                .await
                .expect("kept");
            assert_eq!(known().await.as_deref(), Some(host));
        }
    });
}
