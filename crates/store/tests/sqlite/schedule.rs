//! Schedules that another program has modified.

use wakeful_core::id::RuleId;
use wakeful_core::schedule::{ExecutionOutcome, FiringTime, ScheduleDraft, ScheduleReason};
use wakeful_core::time::Millis;
use wakeful_store::rows::{ScheduleFilter, UnreadableSchedule};

use super::behind;
use crate::fixture::{Server, block_on, open_file, sample};

/// Writes that the database itself rejects: unknown enum values and incomplete records.
const REFUSED: [&str; 10] = [
    "UPDATE schedule SET status = 'ScheduleActive'",
    "UPDATE schedule SET concurrency = 'ConcurrencyAllow'",
    "UPDATE schedule SET revision = 0",
    "UPDATE schedule SET catch_up_window_seconds = 0",
    "UPDATE schedule SET max_catch_up_runs_per_tick = 0",
    "UPDATE schedule SET pattern = NULL",
    "UPDATE scheduled_execution SET trigger_source = 'CronTick'",
    "UPDATE scheduled_execution SET due_at_ms = NULL",
    "UPDATE scheduled_execution SET outcome = NULL",
    "UPDATE scheduled_execution SET schedule_id = NULL",
];

fn name(text: &str) -> RuleId {
    RuleId::parse(text).expect("id")
}

fn minutely(id: &str) -> wakeful_core::schedule::Schedule {
    let when = FiringTime::Every {
        interval_seconds: 60,
        anchor: Millis(0),
    };
    let draft = ScheduleDraft::new(name(id), sample::agent_id("main"), when, "Look.".to_owned());
    draft.check(Millis(1_000)).expect("a schedule")
}

#[test]
fn an_unreadable_schedule_hides_no_others_and_is_disabled_once() {
    let home = tempfile::tempdir().expect("a folder");
    block_on(async {
        let store = open_file(home.path());
        for id in ["broken", "fine"] {
            let made = store.write(move |tx| tx.create_schedule(&minutely(id))).await;
            assert!(made.expect("written"));
        }
        for (column, breaks) in [
            (
                "schedule.pattern",
                "UPDATE schedule SET pattern = '{}' WHERE schedule_id = 'broken'",
            ),
            (
                "schedule.guard",
                "UPDATE schedule SET pattern = (SELECT pattern FROM schedule WHERE schedule_id = 'fine'),
                guard = '[]' WHERE schedule_id = 'broken'",
            ),
            (
                "schedule.event_name",
                "UPDATE schedule SET guard = NULL, event_name = 'No Name' WHERE schedule_id = 'broken'",
            ),
        ] {
            behind(home.path()).execute(breaks, []).expect("broken");
            let found = store.read(|view| {
                let filter = ScheduleFilter {
                    limit: 10,
                    ..ScheduleFilter::default()
                };
                Ok((view.due_schedules(Millis(60_000), 10)?, view.schedules(&filter)?))
            });
            let (due, listed) = found.await.expect("the others are found");
            let broken = UnreadableSchedule {
                schedule_id: "broken".to_owned(),
                agent_id: "main".to_owned(),
                column,
            };
            assert_eq!(
                (due.timers, due.unreadable),
                (vec![minutely("fine")], vec![broken.clone()])
            );
            assert_eq!((listed.timers.len(), listed.unreadable), (1, vec![broken]));
        }
        let aside = || store.write(|tx| tx.disable_unreadable_schedule("broken", Millis(60_000)));
        assert!(aside().await.expect("disabled"));
        assert!(!aside().await.expect("it rests already"));
        let found = store.read(|view| {
            let due = view.due_schedules(Millis(60_000), 10)?;
            Ok((due.unreadable, view.executions(&name("broken"), 10)?))
        });
        let (unreadable, records) = found.await.expect("read");
        assert_eq!(unreadable, []);
        let told: Vec<_> = records
            .iter()
            .map(|one| (one.row.outcome, one.row.reason))
            .collect();
        assert_eq!(
            told,
            [(
                ExecutionOutcome::Unreadable,
                Some(ScheduleReason::Unreadable.into())
            )]
        );
        store.close().await.expect("closed");
    });
}

// Conformance: A-78
#[test]
fn unknown_values_and_incomplete_records_are_rejected_by_the_database() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Server::fresh();
    let fill = async |store: wakeful_store::Store| {
        let made = store.write(|tx| {
            tx.create_schedule(&minutely("one"))?;
            tx.disable_unreadable_schedule("one", Millis(60_000))
        });
        assert!(made.await.expect("a schedule and a record"));
        store.close().await.expect("closed");
    };
    block_on(async {
        fill(open_file(home.path())).await;
        fill(server.open().await).await;
    });
    let file = behind(home.path());
    for sql in REFUSED {
        assert!(file.execute(sql, []).is_err(), "SQLite took {sql}");
        assert!(server.try_behind(sql).is_err(), "PostgreSQL took {sql}");
    }
    for sql in [
        "UPDATE schedule SET status = 'active', concurrency = 'replace'",
        "UPDATE scheduled_execution SET trigger_source = 'event', reason = NULL",
    ] {
        assert_eq!(file.execute(sql, []).expect("SQLite takes it"), 1, "{sql}");
        server.try_behind(sql).expect("PostgreSQL takes it");
    }
}
