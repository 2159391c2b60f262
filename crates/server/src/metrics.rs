//! Metrics for Prometheus. Label sets are bounded by the routes and by the activities of agents; agents
//! have no labels of their own, because a home may have thousands.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use wakeful_api::{Activity, AgentStatus, GetMetrics};

use crate::agent::StuckIndex;
use crate::app::ServedHome;
use crate::error::ApiError;
use crate::route::{Call, Routes};

/// The Prometheus text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The status classes, indexed by the first digit minus one.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counters of the running daemon.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By route, with one entry for all unmatched requests.
    requests: Mutex<BTreeMap<String, [u64; CLASSES.len()]>>,
    messages_accepted: AtomicU64,
    rate_limited: AtomicU64,
}

impl Metrics {
    pub(crate) fn answered(&self, route: &str, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        // Checked before the insert, so that the name is allocated once per route and not once per request.
        if !requests.contains_key(route) {
            requests.insert(route.to_owned(), [0; CLASSES.len()]);
        }
        if let Some(count) = requests.get_mut(route).and_then(|counts| counts.get_mut(class)) {
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn message_accepted(&self) {
        self.messages_accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn rate_limited(&self) {
        self.rate_limited.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn routes() -> Routes {
    Routes::default().respond(show)
}

async fn show(call: Call, _: GetMetrics) -> Result<Response, ApiError> {
    let app = &call.app;
    let mut page = MetricsText::default();
    page.begin("wakeful_build_info", "gauge", "The running program, by version.");
    page.line("wakeful_build_info", &[("version", &app.facts.version)], 1);
    counters(&mut page, &app.metrics);
    // Before the daemon serves, no agents can be counted, but the scraper should still get the other
    // metrics.
    if let Ok(open) = app.open() {
        let agents = open.runtime.agents.list(false).await?;
        let stalled = StuckIndex::of(&open);
        let agents: Vec<_> = agents.iter().map(|agent| stalled.status(agent)).collect();
        gauges(&mut page, &agents);
        waiting(&open, &mut page).await?;
        page.begin("wakeful_event_streams", "gauge", "Open streams.");
        page.line(
            "wakeful_event_streams",
            &[],
            u64::try_from(open.runtime.events.listeners()).unwrap_or(u64::MAX),
        );
    }
    Ok(([(header::CONTENT_TYPE, FORMAT)], page.0).into_response())
}

fn counters(page: &mut MetricsText, metrics: &Metrics) {
    let name = "wakeful_http_requests_total";
    page.begin(name, "counter", "Answered requests, by route and status class.");
    let requests = metrics.requests.lock().unwrap_or_else(PoisonError::into_inner);
    for (route, counts) in &*requests {
        for (class, count) in CLASSES.iter().zip(counts).filter(|(_, count)| **count > 0) {
            page.line(name, &[("route", route), ("status", class)], *count);
        }
    }
    drop(requests);
    let name = "wakeful_messages_accepted_total";
    page.begin(
        name,
        "counter",
        "Messages stored through the API, including repeated ones.",
    );
    page.line(name, &[], metrics.messages_accepted.load(Ordering::Relaxed));
    let name = "wakeful_rate_limited_total";
    page.begin(name, "counter", "Requests refused by a rate limit.");
    page.line(name, &[], metrics.rate_limited.load(Ordering::Relaxed));
}

fn gauges(page: &mut MetricsText, agents: &[AgentStatus]) {
    let count = |activity| agents.iter().filter(|agent| agent.activity == activity).count();
    page.begin("wakeful_agents", "gauge", "Listed agents, by activity.");
    for (word, activity) in [
        ("asleep", Activity::Asleep),
        ("queued", Activity::Queued),
        ("working", Activity::Working),
        ("waiting_on_human", Activity::WaitingOnHuman),
        ("waiting", Activity::Waiting),
        ("stuck", Activity::Stuck),
    ] {
        let count = u64::try_from(count(activity)).unwrap_or(u64::MAX);
        page.line("wakeful_agents", &[("activity", word)], count);
    }
    page.begin(
        "wakeful_queued_messages",
        "gauge",
        "Queued messages of listed agents.",
    );
    page.line(
        "wakeful_queued_messages",
        &[],
        agents.iter().map(|agent| agent.pending).sum(),
    );
    page.begin(
        "wakeful_open_runs",
        "gauge",
        "Runs of listed agents that have not ended.",
    );
    let open = agents.iter().filter(|agent| agent.open_run.is_some()).count();
    page.line("wakeful_open_runs", &[], u64::try_from(open).unwrap_or(u64::MAX));
}

/// Writes the metrics of everything that waits for a person.
async fn waiting(open: &ServedHome, page: &mut MetricsText) -> Result<(), ApiError> {
    let owed = open.runtime.decisions.human_backlog().await?;
    let brakes = open.runtime.brakes.list().await?;
    for (name, help, value) in [
        (
            "wakeful_decisions_pending",
            "Decisions without an answer.",
            owed.pending_decisions,
        ),
        (
            "wakeful_runs_quarantined",
            "Runs that wait until a person resumes or abandons them.",
            owed.quarantined_runs,
        ),
        (
            "wakeful_brakes_active",
            "Active brakes.",
            u64::try_from(brakes.len()).unwrap_or(u64::MAX),
        ),
    ] {
        page.begin(name, "gauge", help);
        page.line(name, &[], value);
    }
    Ok(())
}

/// The text of the metrics page.
#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
