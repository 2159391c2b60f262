//! The contract, written down from the handlers themselves. What guards answer is added here once for all routes,
//! because no handler knows of it.

use std::sync::OnceLock;

use axum::http::header;
use axum::response::IntoResponse;
use serde_json::Value;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{AdditionalProperties, Schema};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{self, ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi as _};

use crate::login::{COOKIE, TOKEN_HEADER};
use crate::{
    agent, brake, budget, decision, event, journal, login, message, metrics, proof, record, run, runtime,
    schedule, source, subscription, tending, transcript, trigger, why,
};

/// What any request may be answered with before or instead of its handler.
const ALWAYS: [(&str, &str, &str); 6] = [
    (
        "400",
        "BadRequest",
        "What was asked cannot be understood; the message names the part",
    ),
    (
        "403",
        "Forbidden",
        "The request comes from a foreign page, or its login does not suffice",
    ),
    ("421", "Misdirected", "The Host header names somebody else"),
    (
        "422",
        "Unmet",
        "What was asked has the right form and cannot be met; the message says why",
    ),
    (
        "429",
        "TooManyRequests",
        "Too many within a minute; Retry-After says when to come again",
    ),
    (
        "503",
        "Unavailable",
        "Not now: starting, stopping, overloaded, or the database does not answer",
    ),
];

/// What the connection answers before there is a request.
const HEAD_TOO_LARGE: (&str, &str) = ("431", "HeadTooLarge");

/// What a request that needs a login may be answered with.
const PRIVATE: [(&str, &str, &str); 2] = [
    ("401", "Unauthorized", "The request carries no valid token"),
    ("500", "Broken", "Something is broken inside; the log says what"),
];

/// What a request with a body may be answered with.
const WITH_BODY: [(&str, &str, &str); 3] = [
    ("408", "RequestTimeout", "The body did not come in time"),
    ("413", "BodyTooLarge", "The body is too large"),
    ("415", "NotJson", "The body is not declared as JSON"),
];

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Wakeful",
        description = "The API of a Wakeful daemon. Times are RFC 3339 in UTC. Every answer that is not a success is \
            an `ErrorBody` with a stable code.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    paths(
        runtime::health, runtime::ready, runtime::status, runtime::shutdown, metrics::show, show,
        agent::list, agent::create, agent::status, agent::state, agent::pause, agent::resume,
        agent::default_status, agent::default_state,
        tending::activate, tending::dormant, tending::destroy, tending::mode, tending::sleep, tending::wake, tending::stop,
        why::run, why::agent,
        trigger::show, trigger::rotate, trigger::revoke, trigger::deliver,
        message::send,
        budget::show, budget::set, budget::of_agent, budget::choose, budget::receipts, budget::confirm,
        decision::list, decision::show, decision::answer, brake::show, brake::set, brake::release,
        run::of_agent, run::list, run::show, run::cancel, run::retry, run::abandon,
        event::of_agent, event::of_all,
        transcript::show,
        proof::erase,
        login::link, login::page, login::enter, login::enter_page, login::leave, login::list,
        login::revoke, login::revoke_all, login::ticket,
        journal::tasks, journal::task, journal::create_task, journal::update_task,
        journal::notes, journal::create_note, journal::categories, journal::create_category,
        journal::sagas, journal::keep,
        subscription::list, subscription::create, subscription::remove, subscription::pause, subscription::resume,
        source::list, source::add, source::remove, source::scan,
        record::records, record::record, record::write_record, record::changes,
        schedule::list, schedule::add, schedule::show, schedule::edit, schedule::pause, schedule::resume,
        schedule::disable, schedule::trigger, schedule::history, schedule::happened,
    ),
    components(schemas(wakeful_api::ErrorBody, wakeful_api::Delta, wakeful_api::Listed)),
    tags(
        (name = "agents", description = "Agents and what they said"),
        (name = "messages", description = "What enters an agent's queue"),
        (name = "runs", description = "What became of it"),
        (name = "decisions", description = "What people are asked, and what they answer"),
        (name = "subscriptions", description = "What agents want to be woken for"),
        (name = "sources", description = "What is watched outside: folders and Git repositories"),
        (name = "brake", description = "What stops everything, or one agent"),
        (name = "budget", description = "What models cost, what they may, and who may see what is asked"),
        (name = "events", description = "Everything that happened, as pages and as streams"),
        (name = "daemon", description = "The program itself"),
        (name = "login", description = "How a browser comes in"),
        (name = "schedules", description = "When agents are woken by the clock, and what became of it"),
        (name = "journal", description = "What people wrote, and what agents write for them"),
    ),
    security(("bearer" = []), ("cookie" = [], "login_token" = [])),
    modifiers(&Guards),
)]
struct Document;

/// Adds what the guards do.
struct Guards;

/// A write of one kind has no other fields, which the derived schema of an enum does not say.
fn closed(item: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = item {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
}

impl Modify for Guards {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("bearer", bearer);
        let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(COOKIE)));
        components.add_security_scheme("cookie", cookie);
        let token = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new(TOKEN_HEADER)));
        components.add_security_scheme("login_token", token);
        for (_, name, description) in ALWAYS.iter().chain(&PRIVATE).chain(&WITH_BODY) {
            let schema = Ref::from_schema_name("ErrorBody");
            let content = ContentBuilder::new().schema(Some(schema)).build();
            let response = ResponseBuilder::new().description(*description);
            let response = response.content("application/json", content).build();
            components.responses.insert((*name).to_owned(), response.into());
        }
        if let Some(RefOr::T(Schema::OneOf(writes))) = components.schemas.get_mut("JournalWrite") {
            writes.items.iter_mut().for_each(closed);
        }
        let head =
            ResponseBuilder::new().description("The head of the request is too large; there is no body");
        components
            .responses
            .insert(HEAD_TOO_LARGE.1.to_owned(), head.build().into());
        for item in document.paths.paths.values_mut() {
            [&mut item.get, &mut item.post, &mut item.delete]
                .into_iter()
                .flatten()
                .for_each(guarded);
        }
    }
}

fn guarded(operation: &mut Operation) {
    // The empty requirement is how an operation says that it asks for nothing.
    let requirements = operation.security.as_deref().unwrap_or_default();
    let is_public = requirements.contains(&SecurityRequirement::default());
    let private = PRIVATE.iter().filter(|_| !is_public);
    let with_body = WITH_BODY.iter().filter(|_| operation.request_body.is_some());
    let always = ALWAYS.iter().chain(private).chain(with_body);
    let always = always.map(|(status, name, _)| (status, name));
    for (status, name) in always.chain([(&HEAD_TOO_LARGE.0, &HEAD_TOO_LARGE.1)]) {
        let response = RefOr::Ref(Ref::from_response_name(*name));
        operation
            .responses
            .responses
            .entry((*status).to_owned())
            .or_insert(response);
    }
}

/// The contract.
#[must_use]
pub fn openapi() -> openapi::OpenApi {
    Document::openapi()
}

/// The contract as JSON with sorted members, so that the same contract is the same text.
#[must_use]
pub fn openapi_json() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        // The document has only string keys, so it always has a JSON form.
        let value = serde_json::to_value(openapi()).map(sorted).unwrap_or_default();
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        format!("{text}\n")
    })
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// This document.
#[utoipa::path(
    get, path = "/api/openapi.json", tag = "daemon", operation_id = "openapi", security(()),
    responses((status = 200, description = "The contract", body = Object, content_type = "application/json")),
)]
pub(crate) async fn show() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], openapi_json())
}
