//! Tests of how far a failed attempt got, whether it may be billed, and which model is called.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use wakeful_core::budget::{MicroUsd, Price, PriceBasis};
use wakeful_core::failure::{ModelFailure, ModelFailureKind};
use wakeful_core::inference::{DataBoundary, NO_SECRET, SecretStatus};
use wakeful_models::{
    Credential, HostedModel, HostedOptions, Models, Provider, RequestOptions, RouteModel, ScriptedModel,
    Timeouts, UnusableModel,
};
use wakeful_ports::model::{Model as _, NoDeltaSink};

use super::fake_provider::{FakeProvider, FakeReply, KEY, fail, hosted, request, response};

const JSON: (&str, &str) = ("content-type", "application/json");
const STREAM: (&str, &str) = ("content-type", "text/event-stream");

/// Returns stage, status and whether the attempt may be billed.
fn way(failure: &ModelFailure) -> (&str, Option<u16>, bool) {
    let found = failure.diagnostics.as_ref().expect("diagnostics");
    assert!(
        found
            .url
            .as_deref()
            .is_some_and(|url| url.starts_with("http://127.0.0.1") && !url.contains('?')),
        "{found:?}"
    );
    (&found.stage, found.status, failure.may_be_billed)
}

// Conformance: H-018
#[tokio::test]
async fn every_failure_has_its_stage_and_may_be_billed() {
    let bytes = |status, kind, body: &str| FakeReply::Bytes(response(status, &[kind], body));
    let cases = [
        (bytes(503, JSON, "{}"), ("first_byte", Some(503), false)),
        (bytes(401, JSON, "{}"), ("first_byte", Some(401), false)),
        (bytes(302, JSON, ""), ("first_byte", Some(302), false)),
        (bytes(200, JSON, "no"), ("decode", Some(200), true)),
        (
            bytes(200, ("content-type", "text/html"), "no"),
            ("decode", Some(200), true),
        ),
        (bytes(200, STREAM, ""), ("body", Some(200), true)),
        (FakeReply::Silence(Vec::new()), ("first_byte", None, true)),
        (
            FakeReply::Silence(response(200, &[STREAM], "")),
            ("body", Some(200), true),
        ),
    ];
    for (reply, expected) in cases {
        // Gemini's URL has a query, which is not shown.
        let failure = fail(Provider::Gemini, reply).await;
        assert_eq!(way(&failure), expected, "{failure:?}");
    }
    let cut = response(200, &[JSON, ("content-length", "99")], "{");
    let failure = fail(Provider::Gemini, FakeReply::Bytes(cut)).await;
    assert_eq!(way(&failure), ("body", Some(200), true));
    let flags = failure
        .diagnostics
        .and_then(|found| found.reqwest)
        .expect("flags");
    assert!(
        (flags.is_body || flags.is_decode) && !flags.is_connect,
        "{flags:?}"
    );
}

// Conformance: H-018
#[tokio::test]
async fn a_failed_connection_is_not_billed_and_has_a_reason() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let asked = hosted(Provider::OpenAi, &format!("http://{address}"));
    let failure = asked.call(request(Provider::OpenAi), &NoDeltaSink).await;
    let failure = failure.expect_err("no server listens");
    assert_eq!(way(&failure), ("connect", None, false));
    let found = failure.diagnostics.expect("diagnostics");
    assert!(found.reqwest.is_some_and(|flags| flags.is_connect) && !found.source_chain.is_empty());
}

#[tokio::test]
async fn shorter_timeouts_can_be_configured() {
    let fake = FakeProvider::new(FakeReply::Silence(Vec::new())).await;
    let model = |times| {
        let options = HostedOptions {
            base_url: Some(&fake.url),
            times,
            ..HostedOptions::of(Provider::OpenAiChat, "m-1")
        };
        HostedModel::new(options).expect("a model")
    };
    for times in [
        Timeouts {
            first_byte_ms: 50,
            ..Timeouts::default()
        },
        Timeouts {
            total_ms: Some(50),
            ..Timeouts::default()
        },
    ] {
        let began = tokio::time::Instant::now();
        let failure = model(times)
            .call(request(Provider::OpenAiChat), &NoDeltaSink)
            .await;
        assert_eq!(failure.expect_err("no answer").artifact.kind, "timeout");
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}

/// The server must notice immediately that the client no longer waits.
#[tokio::test]
async fn a_dropped_attempt_disconnects_within_a_tenth_of_a_second() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let model = hosted(Provider::Anthropic, &url);
    let asking = tokio::spawn(async move { model.call(request(Provider::Anthropic), &NoDeltaSink).await });
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let mut heard = vec![0; 4_096];
    assert!(stream.read(&mut heard).await.expect("a request") > 0);
    asking.abort();
    let end = async { while stream.read(&mut heard).await.is_ok_and(|bytes| bytes > 0) {} };
    tokio::time::timeout(Duration::from_millis(100), end)
        .await
        .expect("the connection is closed in time");
}

#[tokio::test]
async fn a_route_calls_the_named_model_and_reports_unusable_ones() {
    let script =
        |text: &str| ScriptedModel::load(&format!("rounds: [{{text: {text}}}]"), "x").expect("a script");
    let away = |code: &str| UnusableModel {
        provider: "nowhere".into(),
        boundary: DataBoundary::Outside,
        code: code.into(),
        message: "the provider nowhere does not exist".into(),
    };
    let models = Models::new(vec![
        ("a".into(), script("one").into()),
        ("b".into(), RouteModel::Unusable(away("unsupported_transport"))),
        ("c".into(), script("two").into()),
        ("d".into(), away(NO_SECRET).into()),
        ("exposed".into(), away("secret_exposed").into()),
        ("invalid".into(), away("secret_invalid").into()),
    ]);
    let ask = async |name: &str| {
        let mut asked = request(Provider::OpenAi);
        asked.model_ref = name.into();
        models.call(asked, &NoDeltaSink).await
    };
    let said =
        |answer: wakeful_ports::model::ModelResponse| wakeful_core::conversation::text_of(&answer.blocks);
    assert_eq!(ask("a").await.map(said), Ok("one".to_owned()));
    assert_eq!(ask("c").await.map(said), Ok("two".to_owned()));
    for (name, code) in [
        ("b", "unsupported_transport"),
        ("d", NO_SECRET),
        ("e", "model_not_loaded"),
    ] {
        let failure = ask(name).await.expect_err(name);
        assert_eq!(
            (failure.kind, failure.artifact.kind.as_str()),
            (ModelFailureKind::FailFast, code)
        );
        assert_eq!(
            failure.diagnostics.map(|found| found.stage),
            Some("gate".to_owned())
        );
        assert!(!failure.may_be_billed && failure.artifact.model_ref.as_deref() == Some(name));
    }
    for name in ["d", "exposed", "invalid"] {
        let secret = models.profile(name).secret;
        assert!(
            matches!(&secret, SecretStatus::Unavailable(why) if why.contains("nowhere")),
            "{name}: {secret:?}"
        );
    }
    assert_eq!(models.profile("b").secret, SecretStatus::NotNeeded);
}

#[test]
fn a_profile_has_the_data_boundary_and_the_price() {
    let price = Price {
        input: MicroUsd(1),
        output: MicroUsd(2),
        cached_read: MicroUsd(3),
        cached_write: MicroUsd(4),
    };
    let key = Some(Credential::new(KEY).expect("a key"));
    let made = |base_url, price, model, credential| {
        let options = HostedOptions {
            base_url,
            price,
            name: "mine",
            credential,
            ..HostedOptions::of(Provider::OpenAiChat, model)
        };
        HostedModel::new(options).expect("a model").profile("mine/x")
    };
    let terms = |base_url, price, model| made(base_url, price, model, key.clone());
    let port = Some("http://127.0.0.1:1/v1");
    let here = made(port, None, "gpt-5", None);
    assert_eq!(
        (here.boundary, here.price, here.provider.as_str()),
        (DataBoundary::Machine, None, "mine")
    );
    assert_eq!(here.secret, SecretStatus::NotNeeded);
    assert_eq!(
        made(Some("https://localhost/v1"), None, "x", None).boundary,
        DataBoundary::Machine
    );
    let through = terms(port, None, "gpt-5");
    assert_eq!(
        (through.boundary, through.price.map(|(_, basis)| basis)),
        (DataBoundary::Outside, Some(PriceBasis::Listed)),
        "who is sent a key hands it on"
    );
    assert_eq!(
        (through.secret, through.output_tokens_max),
        (SecretStatus::Available, 8_192)
    );
    let written = |price| made(port, Some(price), "gpt-5", None).price;
    assert_eq!(written(price), Some((price, PriceBasis::Configured)));
    let nothing = Price {
        input: MicroUsd(0),
        output: MicroUsd(0),
        cached_read: MicroUsd(0),
        cached_write: MicroUsd(0),
    };
    assert_eq!(written(nothing), None);
    assert_eq!(terms(None, Some(nothing), "gpt-5").price, None);
    let outside = terms(None, None, "gpt-5");
    assert_eq!(outside.boundary, DataBoundary::Outside);
    assert_eq!(
        outside.price.map(|(price, basis)| (price.input, basis)),
        Some((MicroUsd(1_250_000), PriceBasis::Listed))
    );
    assert_eq!(
        terms(None, None, "who").price.map(|(_, basis)| basis),
        Some(PriceBasis::Assumed)
    );
    assert!(outside.output_tokens_max > 0);
}

/// Codex accepts no output limit, so the largest response is reserved regardless of the configuration.
#[test]
fn codex_reserves_its_largest_response_for_any_configuration() {
    let aside = |provider, max_output_tokens| {
        let shape = RequestOptions {
            max_output_tokens,
            ..RequestOptions::default()
        };
        let options = HostedOptions {
            credential: Some(Credential::new(KEY).expect("a key")),
            shape,
            ..HostedOptions::of(provider, "gpt-5")
        };
        HostedModel::new(options)
            .expect("a model")
            .profile("x")
            .output_tokens_max
    };
    assert_eq!(aside(Provider::OpenAi, Some(100)), 100);
    let codex = [None, Some(100), Some(100_000)].map(|told| aside(Provider::OpenAiCodex, told));
    assert_eq!(codex, [32_768, 32_768, 100_000]);
}

#[tokio::test]
async fn metadata_is_fetched_free_of_charge() {
    let fake = FakeProvider::whole(&json!({"id": "m-1", "max_model_len": 4_096}).to_string()).await;
    let told = hosted(Provider::OpenAiChat, &fake.url).fetch_metadata().await;
    assert_eq!(told.context_tokens, Some(4_096));
    assert!(
        fake.asked()[0].head.starts_with("GET /v1/models/m-1 "),
        "{:?}",
        fake.asked()
    );
    let fake = FakeProvider::new(FakeReply::Bytes(response(
        401,
        &[JSON],
        &json!({"error": {"message": KEY}}).to_string(),
    )))
    .await;
    let refused = hosted(Provider::Anthropic, &fake.url)
        .check_reachable()
        .await
        .expect_err("401");
    assert_eq!(refused.artifact.kind, "http_401");
    assert!(!format!("{refused:?}").contains(KEY));
    let fake = FakeProvider::whole("{\"data\":[]}").await;
    assert_eq!(
        hosted(Provider::Gemini, &fake.url).check_reachable().await,
        Ok(200)
    );
    assert!(fake.asked()[0].head.starts_with("GET /v1beta/models "));
}

#[tokio::test]
async fn a_model_list_is_read_and_anything_else_is_refused_in_time() {
    let fake = FakeProvider::whole("{\"data\":[{\"id\":\"m-1\"}],\"has_more\":false}").await;
    let list = hosted(Provider::Anthropic, &fake.url)
        .list_models(Duration::from_secs(5))
        .await;
    assert_eq!(list.expect("a list").expect("some").names, ["m-1"]);
    let fake = FakeProvider::whole("<html>It works!</html>").await;
    let refused = hosted(Provider::OpenAiChat, &fake.url)
        .list_models(Duration::from_secs(5))
        .await;
    let summary = refused.expect_err("no list").artifact.summary;
    assert!(summary.contains("not with a list of models"), "{summary}");
    // The listener never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}/v1", silent.local_addr().expect("an address"));
    let refused = hosted(Provider::OpenAiChat, &url)
        .list_models(Duration::from_millis(50))
        .await;
    assert!(refused.is_err());
}
