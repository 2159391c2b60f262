//! `WebFetch`: reads a page through the agent's rules for hosts, without a command. `WebSearch`: the search that
//! the model's provider performs.

mod arguments;
mod fetch;
mod search;
mod text;

use serde_json::Value;
use wakeful_core::network_scope::HostRules;
use wakeful_core::policy::{CallFacts, HostScope, Target};
use wakeful_core::provenance::{SourceKind, Sources};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::step::ToolError;
use wakeful_ports::tool::{StopSignal, ToolOutcome};

use self::arguments::WebRequest;
pub(crate) use self::arguments::{TOOL, spec};
pub(crate) use self::search::{check_search, not_callable, search_spec};
use crate::network::connector::Connector;
use crate::outcome::{failed, succeeded};

/// Checks the arguments.
pub(crate) fn check(input: &Value) -> Result<(), ToolError> {
    WebRequest::parse(input).map(drop)
}

/// The host of a call. It is not resolved here: the addresses are judged when the connection is made.
pub(crate) fn facts(input: &Value, scope: &SandboxScope) -> CallFacts {
    let Ok(request) = WebRequest::parse(input) else {
        return CallFacts::default();
    };
    let place = request.place;
    let url = input.get("url").and_then(Value::as_str).map(str::to_owned);
    let rules = HostRules::parse(scope);
    // Lists that cannot be read deny.
    let scope = rules.map_or(HostScope::Denied, |rules| {
        rules.judge(&place.host, place.port).scope
    });
    CallFacts {
        targets: vec![Target::Host {
            host: place.host.to_string(),
            port: place.port,
            scope,
        }],
        url,
        ..CallFacts::default()
    }
}

/// The source of a result: the page that answered.
pub(crate) fn sources(input: &Value, content: &str) -> Sources {
    let answered = serde_json::from_str::<Value>(content).ok();
    let answered = answered.as_ref().and_then(|content| content.get("url")?.as_str());
    let url = answered.or_else(|| input.get("url")?.as_str());
    Sources::of(SourceKind::Web, url.unwrap_or_default())
}

/// Why the lists of hosts exclude the host of a call; none if they do not.
pub(crate) fn constraint(input: &Value, scope: &SandboxScope) -> Option<String> {
    let place = WebRequest::parse(input).ok()?.place;
    let rules = match HostRules::parse(scope) {
        Ok(rules) => rules,
        Err(problem) => return Some(problem.message),
    };
    let target = place.host.with_port(place.port);
    let judged = rules.judge(&place.host, place.port);
    match judged.scope {
        HostScope::Denied => Some(format!(
            "{target} is excluded by the entry {:?} of the agent's denied hosts",
            judged.rule.unwrap_or_default()
        )),
        HostScope::Private => Some(format!(
            "{target} is on this machine or in a private network, and no entry of the agent's allowed hosts names it"
        )),
        HostScope::Allowed | HostScope::Unlisted => None,
    }
}

/// Fetches. It ends early when `stop` resolves.
pub(crate) async fn perform(connector: &Connector, input: &Value, stop: impl StopSignal) -> ToolOutcome {
    let fetched = fetch_json(connector, input, stop).await;
    fetched.map_or_else(|fault| failed(TOOL, &fault), succeeded)
}

async fn fetch_json(
    connector: &Connector,
    input: &Value,
    stop: impl StopSignal,
) -> Result<String, ToolError> {
    let request = WebRequest::parse(input)?;
    let content = tokio::select! {
        biased;
        () = stop.stopped() => Err(ToolError::new("cancelled", "the request was stopped", "")),
        done = fetch::fetch(connector, request) => done,
    }?;
    serde_json::to_string(&content)
        .map_err(|error| ToolError::new("internal", &format!("the result cannot be written: {error}"), ""))
}

#[cfg(test)]
mod tests;
