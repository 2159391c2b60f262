//! Bound rows, changed concurrently by several processes.

use std::sync::mpsc;

use wakeful_core::id::AgentId;

use super::with_two;
use crate::contract::bound::{money_at_once, settings_at_once};
use crate::contract::budget::spenders_at_once;
use crate::fixture::sample;

#[test]
fn settings_changed_concurrently_by_processes_are_bound() {
    with_two(async |_, one, two| settings_at_once(&[one, two]).await);
}

#[test]
fn spending_changed_concurrently_by_processes_is_bound() {
    with_two(async |_, one, two| money_at_once(&[one, two]).await);
}

#[test]
fn parallel_spenders_of_two_processes_overdraw_and_leak_nothing() {
    with_two(async |_, one, two| spenders_at_once(&[one, two]).await);
}

#[test]
fn a_plain_transition_does_not_wait_for_the_homes_log() {
    with_two(async |_, one, two| {
        let made = one.write(|tx| tx.create_agent(&sample::agent("main")).map(drop));
        made.await.expect("made");
        let (locked, is_locked) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = std::sync::Mutex::new(may_go_on);
        let holder = tokio::spawn(async move {
            let held = one.write(move |tx| {
                tx.lock_head_to_announce(&AgentId::home_log())?;
                locked.send(()).expect("heard");
                may_go_on.lock().expect("a lock").recv().expect("told");
                Ok(())
            });
            held.await
        });
        tokio::task::spawn_blocking(move || is_locked.recv())
            .await
            .expect("a thread")
            .expect("locked");
        let moved = two.write(|tx| {
            tx.admit_message(&sample::message("t", "a prompt"))?;
            tx.create_run(&sample::run("run"))
        });
        moved.await.expect("written without waiting");
        go_on.send(()).expect("heard");
        holder.await.expect("a task").expect("held");
    });
}
