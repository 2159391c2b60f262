//! Schedules: stored unchanged, found when they are due, and changed by the first of several writers.

use wakeful_core::id::{EventName, RuleId};
use wakeful_core::schedule::{
    EXECUTIONS_KEPT_MAX, ExecutionOutcome, FiringTime, Guard, SET_BACK_MS, Schedule, ScheduleDraft,
    ScheduleReason, ScheduleStatus, TriggerSource,
};
use wakeful_core::time::Millis;
use wakeful_store::rows::{ScheduleFilter, ScheduledExecutionRow, WakeRow};
use wakeful_store::{Store, StoreError};

use crate::fixture::{everywhere, sample};

fn name(text: &str) -> RuleId {
    RuleId::parse(text).expect("id")
}

/// A schedule of agent `main`, created at time 1000, that fires every minute.
fn minutely(id: &str) -> Schedule {
    let when = FiringTime::Every {
        interval_seconds: 60,
        anchor: Millis(0),
    };
    let draft = ScheduleDraft::new(name(id), sample::agent_id("main"), when, "Look.".to_owned());
    draft.check(Millis(1_000)).expect("a schedule")
}

fn event(text: &str) -> EventName {
    EventName::parse(text).expect("a name")
}

fn guard() -> Guard {
    Guard::parse(&serde_json::json!({"field": "queued", "op": "lt", "value": 3})).expect("a guard")
}

async fn create(store: &Store, timer: Schedule) -> bool {
    store
        .write(move |tx| tx.create_schedule(&timer))
        .await
        .expect("written")
}

async fn load(store: &Store, id: &'static str) -> Schedule {
    let found = store.read(move |view| view.schedule(&name(id))).await;
    found.expect("read").expect("a schedule")
}

fn record(timer: &Schedule, seq: u64, outcome: ExecutionOutcome) -> ScheduledExecutionRow {
    ScheduledExecutionRow {
        schedule_id: timer.schedule_id.clone(),
        seq,
        revision: timer.revision,
        due_at: Millis(60_000),
        count: 3,
        is_capped: true,
        source: TriggerSource::Tick,
        outcome,
        reason: Some(ScheduleReason::Missed.into()),
        run_key: None,
        is_catch_up: true,
        at: Millis(60_001),
    }
}

// Conformance: L-021
#[test]
fn a_schedule_is_read_back_unchanged() {
    everywhere(async |store| {
        let one = Schedule {
            last_run: Some(sample::run_key("run")),
            last_execution_at: Some(Millis(7)),
            allows_catch_up: true,
            always: true,
            guard: Some(guard()),
            event: Some(event("backup.done")),
            ..minutely("one")
        };
        assert!(create(&store, one.clone()).await);
        assert!(!create(&store, minutely("one")).await, "the name is taken");
        assert_eq!(load(&store, "one").await, one);
        let cron = FiringTime::Cron {
            cron: "0 7 * * *".to_owned(),
            time_zone: "Europe/Berlin".to_owned(),
        };
        let two = Schedule {
            when: cron,
            ..minutely("two")
        };
        assert!(create(&store, two.clone()).await);
        let all = store.read(|view| {
            let filter = |agent_id, after: Option<&str>| ScheduleFilter {
                agent_id,
                after: after.map(name),
                limit: 10,
            };
            let all = view.schedules(&filter(None, None))?;
            let rest = view.schedules(&filter(Some(sample::agent_id("main")), Some("one")))?;
            let none = view.schedules(&filter(Some(sample::agent_id("nobody")), None))?;
            Ok((
                all,
                rest,
                none,
                view.count_schedules_of(&sample::agent_id("main"))?,
            ))
        });
        let (all, rest, none, count) = all.await.expect("read");
        assert_eq!((all.timers, count), (vec![one, two.clone()], 2));
        assert_eq!((rest.timers, none.timers), (vec![two], Vec::new()));
    });
}

#[test]
fn the_second_of_two_changes_of_a_schedule_is_a_conflict() {
    everywhere(async |store| {
        create(&store, minutely("one")).await;
        let seen = load(&store, "one").await;
        let moved = Schedule {
            next_execution_at: Some(Millis(120_000)),
            executions: 1,
            ..seen.clone()
        };
        let first = moved.clone();
        store
            .write(move |tx| tx.put_schedule(&first))
            .await
            .expect("the first");
        let second = store.write(move |tx| tx.put_schedule(&moved)).await;
        assert!(matches!(second, Err(StoreError::Conflict)), "{second:?}");
        let now = load(&store, "one").await;
        assert_eq!(
            (now.version, now.next_execution_at),
            (seen.version + 1, Some(Millis(120_000)))
        );
    });
}

// Conformance: A-73
#[test]
fn due_schedules_are_found_also_after_the_clock_was_set_back() {
    everywhere(async |store| {
        create(&store, minutely("a-due")).await;
        let at = |next: i64, id: &str| Schedule {
            next_execution_at: Some(Millis(next)),
            ..minutely(id)
        };
        create(&store, at(50_000, "b-earlier")).await;
        create(&store, at(999_000, "c-later")).await;
        let paused = Schedule {
            status: ScheduleStatus::Paused,
            ..at(1, "d-paused")
        };
        create(&store, paused).await;
        let ahead = Schedule {
            seen_until: Millis(60_001 + SET_BACK_MS),
            ..at(9_999_000, "e-ahead")
        };
        create(&store, ahead).await;
        let due = async |now: i64, limit: u32| {
            let due = store.read(move |view| view.due_schedules(Millis(now), limit));
            let due = due.await.expect("read").timers.into_iter();
            due.map(|timer| timer.schedule_id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(due(59_999, 10).await, ["b-earlier", "e-ahead"]);
        assert_eq!(due(60_000, 10).await, ["b-earlier", "a-due", "e-ahead"]);
        assert_eq!(
            due(60_001, 10).await,
            ["b-earlier", "a-due"],
            "one second does not count as a jump"
        );
        assert_eq!(due(60_000, 1).await, ["b-earlier"]);
        let next = store.read(|view| view.next_schedule_due()).await;
        assert_eq!(next.expect("read"), Some(Millis(50_000)));
    });
}

#[test]
fn without_active_schedules_none_is_next() {
    everywhere(async |store| {
        let over = Schedule {
            status: ScheduleStatus::Disabled,
            ..minutely("over")
        };
        create(&store, over).await;
        let next = store.read(|view| {
            Ok((
                view.next_schedule_due()?,
                view.count_schedules_of(&sample::agent_id("main"))?,
            ))
        });
        assert_eq!(next.await.expect("read"), (None, 0));
    });
}

#[test]
fn execution_records_are_stored_and_the_oldest_are_deleted() {
    everywhere(async |store| {
        let timer = minutely("one");
        create(&store, timer.clone()).await;
        let last = EXECUTIONS_KEPT_MAX + 5;
        let rows = timer.clone();
        let written = store.write(move |tx| {
            (1..=last).try_for_each(|seq| tx.append_execution(&record(&rows, seq, ExecutionOutcome::Skipped)))
        });
        written.await.expect("written");
        let found = store.read(|view| view.executions(&name("one"), 10_000));
        let found = found.await.expect("read");
        assert_eq!(found.len() as u64, EXECUTIONS_KEPT_MAX);
        let newest = found.first().expect("a record");
        assert_eq!(newest.row, record(&timer, last, ExecutionOutcome::Skipped));
        assert_eq!((newest.run_status, newest.run_ended_at), (None, None));
        assert_eq!(found.last().map(|one| one.row.seq), Some(6));
    });
}

#[test]
fn a_scheduled_run_is_active_while_queued_open_or_absorbed() {
    everywhere(async |store| {
        let made = store.write(|tx| {
            tx.create_agent(&sample::agent("main"))?;
            let message = sample::message("waits", "hello");
            tx.admit_message(&message)?;
            tx.enqueue(&message, 1, None)?;
            // Another run absorbed this one, and that run has ended or never existed.
            tx.put_wake(&WakeRow {
                absorbed_by: Some(sample::run_key("other")),
                ..sample::wake("absorbed", "absorbed")
            })
        });
        made.await.expect("written");
        let waits = sample::message("waits", "hello").run_key;
        let found = store.read(move |view| {
            Ok((
                view.is_run_active(&waits)?,
                view.is_run_active(&sample::run_key("absorbed"))?,
                view.is_run_active(&sample::run_key("nobody"))?,
            ))
        });
        assert_eq!(found.await.expect("read"), (true, false, false));
    });
}

#[test]
fn active_schedules_are_found_by_their_event() {
    everywhere(async |store| {
        let waiting = |id: &str, what: &str, status: ScheduleStatus| Schedule {
            event: Some(event(what)),
            status,
            ..minutely(id)
        };
        for timer in [
            waiting("a", "backup.done", ScheduleStatus::Active),
            waiting("b", "backup.done", ScheduleStatus::Paused),
            waiting("c", "backup.done", ScheduleStatus::Active),
            waiting("d", "backup.failed", ScheduleStatus::Active),
            waiting("e", "backup.done", ScheduleStatus::Disabled),
            minutely("f"),
        ] {
            create(&store, timer).await;
        }
        let found = async |after: Option<&'static str>, limit: u32| {
            let found = store.read(move |view| {
                let found =
                    view.schedules_for_event(&event("backup.done"), after.map(name).as_ref(), limit)?;
                Ok((found, view.count_schedules_for_event(&event("backup.done"))?))
            });
            let (found, waiting) = found.await.expect("read");
            let names = found.timers.iter().map(|timer| timer.schedule_id.to_string());
            (names.collect::<Vec<_>>(), waiting)
        };
        assert_eq!(found(None, 10).await, (vec!["a".into(), "c".into()], 3));
        assert_eq!(found(None, 1).await.0, ["a"]);
        assert_eq!(found(Some("a"), 10).await.0, ["c"]);
    });
}

#[test]
fn schedules_of_a_destroyed_agent_end_at_once_with_a_record_each() {
    everywhere(async |store| {
        create(&store, minutely("active")).await;
        let paused = Schedule {
            status: ScheduleStatus::Paused,
            executions: 7,
            ..minutely("paused")
        };
        create(&store, paused).await;
        let over = Schedule {
            status: ScheduleStatus::Disabled,
            ..minutely("over")
        };
        create(&store, over).await;
        let other = Schedule {
            agent_id: sample::agent_id("other"),
            ..minutely("others")
        };
        create(&store, other.clone()).await;
        let end = |at| {
            move |tx: &mut wakeful_store::Tx<'_>| tx.expire_schedules(&sample::agent_id("main"), Millis(at))
        };
        assert_eq!(store.write(end(70_000)).await.expect("ended"), 2);
        assert_eq!(store.write(end(80_000)).await.expect("nothing is left"), 0);
        for (id, seq) in [("active", 1), ("paused", 8)] {
            let now = load(&store, id).await;
            assert_eq!(
                (now.status, now.next_execution_at, now.executions, now.version),
                (ScheduleStatus::Disabled, None, seq, 2)
            );
            let found = store.read(move |view| view.executions(&name(id), 10)).await;
            let records: Vec<_> = found.expect("read").into_iter().map(|one| one.row).collect();
            let expected = ScheduledExecutionRow {
                due_at: Millis(70_000),
                count: 1,
                is_capped: false,
                source: TriggerSource::TriggerNow,
                reason: Some(ScheduleReason::AgentDestroyed.into()),
                is_catch_up: false,
                at: Millis(70_000),
                ..record(&now, seq, ExecutionOutcome::Disabled)
            };
            assert_eq!(records, [expected]);
        }
        assert_eq!(load(&store, "others").await, other);
    });
}
