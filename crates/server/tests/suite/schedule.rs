//! Schedules over HTTP: invalid fields are named, and valid requests reach the service.

use super::test_server::{BEARER, TestServer, posted};
use axum::http::StatusCode;

#[tokio::test]
async fn an_invalid_schedule_is_refused_and_the_field_named() {
    let world = TestServer::new();
    for (pattern, field, status) in [
        (r#"{"cron":"every day","time_zone":"Europe/Berlin"}"#, "cron", 409),
        (
            r#"{"cron":"0 0 30 2 *","time_zone":"Europe/Berlin"}"#,
            "cron",
            409,
        ),
        (
            r#"{"cron":"0 7 * * *","time_zone":"Mars/Olympus"}"#,
            "time_zone",
            409,
        ),
        (r#"{"cron":"0 7 * * *"}"#, "time_zone", 400),
        (r#"{"interval_seconds":0}"#, "interval_seconds", 400),
        (r#"{"at":"2001-01-01T00:00:00Z"}"#, "at", 409),
        (
            r#"{"interval_seconds":5,"at":"2101-01-01T00:00:00Z"}"#,
            "pattern",
            400,
        ),
        (r"{}", "pattern", 400),
    ] {
        let body = format!(r#"{{"agent_id":"main","pattern":{pattern},"message":"Look."}}"#);
        let answer = world.post("/api/schedules", &body).await;
        assert_eq!(answer.status.as_u16(), status, "{field}: {}", answer.body);
        assert!(answer.body.contains("bad_schedule"), "{}", answer.body);
        assert!(
            answer.body.contains(&format!("`{field}`")),
            "{field}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_created_schedule_contains_its_next_firings() {
    let world = TestServer::new();
    let body = r#"{"schedule_id":"daily","agent_id":"main","message":"Look.",
        "pattern":{"cron":"0 7 * * *","time_zone":"Europe/Berlin"}}"#;
    let answer = world.post("/api/schedules", body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
    assert_eq!(made.upcoming.len(), 3);
    assert_eq!(made.next_execution_at.as_ref(), made.upcoming.first());
    assert_eq!((made.schedule_id.as_str(), made.always), ("daily", true));
}

#[tokio::test]
async fn an_unknown_schedule_is_not_found() {
    let world = TestServer::new();
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
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn the_home_settings_decide_catch_up_by_default() {
    let world = TestServer::new();
    for (said, expected) in [
        ("", true),
        (r#","allows_catch_up":false"#, false),
        (r#","allows_catch_up":null"#, true),
    ] {
        let body =
            format!(r#"{{"agent_id":"main","message":"Look.","pattern":{{"interval_seconds":60}}{said}}}"#);
        let answer = world.post("/api/schedules", &body).await;
        let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
        assert_eq!(made.allows_catch_up, expected, "{said}");
    }
}

#[tokio::test]
async fn guard_and_event_are_returned_and_invalid_ones_named() {
    let world = TestServer::new();
    let add = async |more: &str| {
        let body =
            format!(r#"{{"agent_id":"main","message":"Look.","pattern":{{"interval_seconds":60}},{more}}}"#);
        world.post("/api/schedules", &body).await
    };
    let guard = r#"{"field":"since_last_run_ms","op":"gt","value":60000}"#;
    let answer = add(&format!(r#""guard":{guard},"event":"backup.done""#)).await;
    let made: wakeful_api::Schedule = serde_json::from_str(&answer.body).expect("a schedule");
    assert_eq!(made.guard, serde_json::from_str(guard).ok());
    assert_eq!(made.event.as_deref(), Some("backup.done"));
    for (more, code, field) in [
        (r#""guard":{}"#, "bad_schedule", "guard"),
        (
            r#""guard":{"field":"mood","op":"eq","value":1}"#,
            "bad_schedule",
            "guard",
        ),
        (r#""event":"No Name""#, "bad_field", "event"),
        (r#""event":"""#, "bad_field", "event"),
    ] {
        let answer = add(more).await;
        assert_eq!(answer.code(), (400, code.to_owned()), "{more}");
        assert!(answer.message().contains(field), "{more}: {}", answer.body);
    }
    let both = r#"{"guard":{"all":[]},"clear_guard":true}"#;
    let answer = world.post("/api/schedules/gone", both).await;
    assert_eq!(answer.code(), (400, "bad_schedule".to_owned()), "{}", answer.body);
}

#[tokio::test]
async fn an_event_key_may_be_in_the_header_or_the_body() {
    let world = TestServer::new();
    let path = "/api/events/backup.done";
    let body = r#"{"schedule_id":"daily","agent_id":"main","message":"Look.","event":"backup.done",
        "concurrency":"allow","pattern":{"interval_seconds":60}}"#;
    let made = world.post("/api/schedules", body).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    let fire = async |body: &str, headers: &[(&str, &str)]| {
        let answer = world
            .send(posted(path, body, &[&[BEARER], headers].concat()))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let came: wakeful_api::EventFirings = serde_json::from_str(&answer.body).expect("what became of it");
        let [one] = came.executions.as_slice() else {
            panic!("{came:?}")
        };
        assert_eq!(one.trigger_source, wakeful_api::TriggerSource::Event);
        (came.key, one.run_key.clone().expect("a run"))
    };
    let in_body = fire(r#"{"key":"k1"}"#, &[]).await;
    assert_eq!(in_body.0, "k1");
    let in_header = fire("{}", &[("idempotency-key", "k1")]).await;
    assert_eq!(in_header, in_body, "the same key is the same delivery");
    assert_ne!(fire("{}", &[("idempotency-key", "k2")]).await.1, in_body.1);
    let unnamed = [fire("{}", &[]).await, fire("{}", &[]).await];
    assert!(
        unnamed[0].0 != unnamed[1].0 && unnamed[0].1 != unnamed[1].1,
        "without one, each is another: {unnamed:?}"
    );
    let both = posted(path, r#"{"key":"k1"}"#, &[BEARER, ("idempotency-key", "k2")]);
    assert_eq!(
        world.send(both).await.code(),
        (409, "idempotency_keys_differ".to_owned())
    );
    let bad = world.post("/api/events/No%20Name", "{}").await;
    assert_eq!(bad.code(), (400, "bad_id".to_owned()));
}
