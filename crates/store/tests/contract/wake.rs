//! Messages and their wake records.

use wakeful_core::message::Message;
use wakeful_core::time::Millis;
use wakeful_store::rows::{MessageAdmission, WakeRow};

use crate::fixture::{everywhere, sample};

// Conformance: H-210
#[test]
fn a_message_is_read_back_unchanged() {
    everywhere(async |store| {
        let message = sample::message("t1", "hello");
        let (key, put) = (message.run_key, message.clone());
        let admission = store
            .write(move |tx| tx.admit_message(&put))
            .await
            .expect("written");
        assert_eq!(admission, MessageAdmission::New);
        assert_eq!(
            store.read(move |view| view.message(&key)).await.expect("read"),
            Some(message)
        );
        let none = store
            .read(|view| view.message(&sample::run_key("none")))
            .await
            .expect("read");
        assert_eq!(none, None);
    });
}

#[test]
fn a_repeated_message_is_recognized_at_any_time() {
    everywhere(async |store| {
        let first = sample::message("t1", "hello");
        let put = first.clone();
        store
            .write(move |tx| tx.admit_message(&put))
            .await
            .expect("written");
        let later = Message {
            admitted_at: Millis(99_000),
            ..first.clone()
        };
        let admission = store
            .write(move |tx| tx.admit_message(&later))
            .await
            .expect("written");
        assert_eq!(admission, MessageAdmission::Same);
        let key = first.run_key;
        assert_eq!(
            store.read(move |view| view.message(&key)).await.expect("read"),
            Some(first)
        );
    });
}

// Conformance: H-210
#[test]
fn another_message_with_the_same_key_changes_nothing() {
    everywhere(async |store| {
        let first = sample::message("t1", "hello");
        let put = first.clone();
        store
            .write(move |tx| tx.admit_message(&put))
            .await
            .expect("written");
        let other = sample::message("t1", "good bye");
        let admission = store
            .write(move |tx| tx.admit_message(&other))
            .await
            .expect("written");
        assert_eq!(admission, MessageAdmission::Differs);
        let key = first.run_key;
        assert_eq!(
            store.read(move |view| view.message(&key)).await.expect("read"),
            Some(first)
        );
    });
}

#[test]
fn a_refusal_may_be_replaced_and_a_positive_verdict_stays() {
    everywhere(async |store| {
        let put = async |wake: WakeRow| {
            store.write(move |tx| tx.put_wake(&wake)).await.expect("written");
            store
                .read(|view| view.wake(&sample::run_key("run")))
                .await
                .expect("read")
        };
        assert_eq!(
            store
                .read(|view| view.wake(&sample::run_key("run")))
                .await
                .expect("read"),
            None
        );
        let refused = sample::wake("run", "run_open");
        assert_eq!(put(refused.clone()).await, Some(refused.clone()));
        let yes = WakeRow {
            gates: "[]".into(),
            at: Millis(4_000),
            ..sample::wake("run", "run")
        };
        assert_eq!(put(yes.clone()).await, Some(yes.clone()));
        assert_eq!(put(refused).await, Some(yes));
    });
}
