//! Schedules over HTTP: what is wrong is named, and what is asked for reaches the desk.

use axum::http::StatusCode;
use wakeful_core::id::{EventName, RuleId};
use wakeful_core::time::Millis;
use wakeful_core::timer::{Draft, Outcome, Status, Timer, TriggerSource};
use wakeful_runtime::desk::{Asked, Edit, Scheduling};
use wakeful_runtime::rows::{Execution, ExecutionRow, ScheduleFilter, Schedules};
use wakeful_runtime::{EngineError, ScheduleFault};

use super::world::{BEARER, World, posted};

/// A desk that checks what it is asked for, and keeps nothing.
pub(super) struct NoSchedules;

fn unknown<T: Send + 'static>(schedule: RuleId) -> Asked<'static, T> {
    Box::pin(std::future::ready(Err(ScheduleFault::Unknown(schedule).into())))
}

impl Scheduling for NoSchedules {
    fn add_schedule(&self, draft: Draft) -> Asked<'_, Timer> {
        let checked = draft
            .check(Millis(1_800_000_000_000))
            .map_err(ScheduleFault::from);
        Box::pin(std::future::ready(checked.map_err(EngineError::from)))
    }

    fn schedule(&self, schedule: RuleId) -> Asked<'_, Timer> {
        unknown(schedule)
    }

    fn schedules(&self, _: ScheduleFilter) -> Asked<'_, Schedules> {
        Box::pin(std::future::ready(Ok(Schedules::default())))
    }

    fn edit_schedule(&self, schedule: RuleId, _: Edit) -> Asked<'_, Timer> {
        unknown(schedule)
    }

    fn set_schedule_status(&self, schedule: RuleId, _: Status) -> Asked<'_, Timer> {
        unknown(schedule)
    }

    fn trigger_now(&self, schedule: RuleId, _: String) -> Asked<'_, ExecutionRow> {
        unknown(schedule)
    }

    fn happened(&self, event: EventName, key: String) -> Asked<'_, Vec<ExecutionRow>> {
        let row = ExecutionRow {
            schedule_id: RuleId::parse("daily").expect("a name"),
            seq: 1,
            revision: 1,
            due_at: Millis(0),
            count: 1,
            is_capped: false,
            source: TriggerSource::Event,
            outcome: Outcome::Run,
            reason: Some(format!("{event} {key}")),
            run_key: None,
            is_catch_up: false,
            at: Millis(0),
        };
        Box::pin(std::future::ready(Ok(vec![row])))
    }

    fn makes_up_for_missed(&self) -> bool {
        true
    }

    fn executions(&self, schedule: RuleId, _: u32) -> Asked<'_, (Timer, Vec<Execution>)> {
        unknown(schedule)
    }
}

#[tokio::test]
async fn a_schedule_that_cannot_be_had_is_refused_with_the_field_that_is_wrong() {
    let world = World::new();
    for (pattern, field) in [
        (r#"{"cron":"every day","time_zone":"Europe/Berlin"}"#, "cron"),
        (r#"{"cron":"0 7 * * *","time_zone":"Mars/Olympus"}"#, "time_zone"),
        (r#"{"cron":"0 7 * * *"}"#, "time_zone"),
        (r#"{"interval_seconds":0}"#, "interval_seconds"),
        (r#"{"at":"2001-01-01T00:00:00Z"}"#, "at"),
        (r#"{"interval_seconds":5,"at":"2101-01-01T00:00:00Z"}"#, "pattern"),
        (r"{}", "pattern"),
    ] {
        let body = format!(r#"{{"agent_id":"main","pattern":{pattern},"say":"Look."}}"#);
        let answer = world.post("/api/schedules", &body).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{field}: {}",
            answer.body
        );
        assert!(answer.body.contains("bad_schedule"), "{}", answer.body);
        assert!(
            answer.body.contains(&format!("`{field}`")),
            "{field}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_schedule_that_was_made_says_when_it_fires() {
    let world = World::new();
    let body = r#"{"schedule_id":"daily","agent_id":"main","say":"Look.",
        "pattern":{"cron":"0 7 * * *","time_zone":"Europe/Berlin"}}"#;
    let answer = world.post("/api/schedules", body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
    assert_eq!(made.upcoming.len(), 3);
    assert_eq!(made.next_execution_at.as_ref(), made.upcoming.first());
    assert_eq!((made.schedule_id.as_str(), made.always), ("daily", false));
}

#[tokio::test]
async fn a_schedule_that_is_not_there_is_not_found() {
    let world = World::new();
    for path in ["/api/schedules/gone", "/api/schedules/gone/executions"] {
        assert_eq!(world.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for verb in ["pause", "resume", "disable"] {
        let answer = world.post(&format!("/api/schedules/gone/{verb}"), "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{verb}: {}", answer.body);
    }
    let answer = world.post("/api/schedules/gone/trigger", "{}").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    assert_eq!(
        world.get("/api/schedules/NOT%20A%20NAME").await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn what_nobody_says_about_missed_firings_is_as_the_home_settles_it() {
    let world = World::new();
    for (said, expected) in [
        ("", true),
        (r#","allows_catch_up":false"#, false),
        (r#","allows_catch_up":null"#, true),
    ] {
        let body =
            format!(r#"{{"agent_id":"main","say":"Look.","pattern":{{"interval_seconds":60}}{said}}}"#);
        let answer = world.post("/api/schedules", &body).await;
        let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
        assert_eq!(made.allows_catch_up, expected, "{said}");
    }
}

#[tokio::test]
async fn a_guard_and_an_event_are_told_back_and_what_is_none_is_named() {
    let world = World::new();
    let add = async |more: &str| {
        let body =
            format!(r#"{{"agent_id":"main","say":"Look.","pattern":{{"interval_seconds":60}},{more}}}"#);
        world.post("/api/schedules", &body).await
    };
    let guard = r#"{"field":"since_last_run_ms","op":"gt","value":60000}"#;
    let answer = add(&format!(r#""guard":{guard},"event":"backup.done""#)).await;
    let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
    assert_eq!(made.guard, serde_json::from_str(guard).ok());
    assert_eq!(made.event.as_deref(), Some("backup.done"));
    for (more, field) in [
        (r#""guard":{}"#, "guard"),
        (r#""guard":{"field":"mood","op":"eq","value":1}"#, "guard"),
        (r#""event":"No Name""#, "event"),
        (r#""event":"""#, "event"),
    ] {
        let answer = add(more).await;
        assert_eq!(answer.code(), (422, "bad_schedule".to_owned()), "{more}");
        assert!(
            answer.message().contains(&format!("`{field}`")),
            "{more}: {}",
            answer.body
        );
    }
    let both = r#"{"guard":{"all":[]},"no_guard":true}"#;
    let answer = world.post("/api/schedules/gone", both).await;
    assert_eq!(answer.code(), (422, "bad_schedule".to_owned()), "{}", answer.body);
}

#[tokio::test]
async fn an_event_is_named_by_its_key_wherever_that_stands() {
    let world = World::new();
    let path = "/api/events/backup.done";
    let key = async |body: &str, headers: &[(&str, &str)]| {
        let answer = world
            .send(posted(path, body, &[&[BEARER], headers].concat()))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let came: wakeful_api::EventFirings = serde_json::from_str(&answer.body).expect("what became of it");
        let [one] = came.executions.as_slice() else {
            panic!("{came:?}")
        };
        assert_eq!(one.trigger_source, wakeful_api::TriggerSource::Event);
        assert_eq!(
            one.reason,
            Some(format!("backup.done {}", came.key)),
            "the desk heard the same"
        );
        came.key
    };
    assert_eq!(key(r#"{"key":"k1"}"#, &[]).await, "k1");
    assert_eq!(key("{}", &[("idempotency-key", "k2")]).await, "k2");
    assert_ne!(
        key("{}", &[]).await,
        key("{}", &[]).await,
        "without one, each is another"
    );
    let both = posted(path, r#"{"key":"k1"}"#, &[BEARER, ("idempotency-key", "k2")]);
    assert_eq!(world.send(both).await.code(), (422, "two_keys".to_owned()));
    let bad = world.post("/api/events/No%20Name", "{}").await;
    assert_eq!(bad.code(), (422, "bad_id".to_owned()));
}
