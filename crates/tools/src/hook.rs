//! Runs the hooks of the operator: commands and local services that the files in the home name.
//!
//! Hooks are programs of the operator, so they run outside the sandbox, with a small environment, a time limit and
//! a limit on their output. A workspace cannot define hooks: an agent could write them.

mod command;
mod file;
mod http;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use wakeful_core::hook::{HookAction, HookEnd, HookOutput, HookSpec, HookVerdict, judge};
use wakeful_core::redact::{self, Redactor};
use wakeful_ports::tool::{HookRequest, HookRun, TOOL_INPUT};

pub use self::file::{HookFileState, HookFiles};
use crate::secrets::{SecretSource, SecretValue};

/// What hooks get from the program that runs them.
#[derive(Clone, Copy)]
pub struct HookContext<'a> {
    /// The variables of this process, of which commands get a few.
    pub environment: &'a BTreeMap<String, String>,
    /// Provides the secrets that a hook names.
    pub secrets: &'a Arc<dyn SecretSource>,
}

impl<'a> HookContext<'a> {
    #[must_use]
    pub const fn new(environment: &'a BTreeMap<String, String>, secrets: &'a Arc<dyn SecretSource>) -> Self {
        Self { environment, secrets }
    }
}

/// Runs the hooks for an event, in order, until one blocks.
pub async fn run(files: &HookFiles, context: HookContext<'_>, mut request: HookRequest) -> Vec<HookRun> {
    let until = Instant::now() + Duration::from_millis(request.time_ms);
    let mut ran = Vec::new();
    for file in files.of(&request.agent_id) {
        let hooks = match &file.hooks {
            Ok(hooks) => hooks,
            Err(why) => {
                ran.push(refused(&file, &request, why));
                return ran;
            }
        };
        for spec in hooks.matching(request.event, request.tool.as_deref()) {
            let begun = Instant::now();
            let left = until.saturating_duration_since(begun);
            let output = run_one(spec, left, context, &request).await;
            let verdict = judge(request.event, &output);
            if let Some(input) = &verdict.changed_input {
                request.payload.insert(TOOL_INPUT.to_owned(), input.clone());
            }
            let is_blocking = verdict.is_blocking;
            ran.push(HookRun {
                hook: spec.action.text().to_owned(),
                source: file.name.clone(),
                verdict,
                duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            if is_blocking {
                return ran;
            }
        }
    }
    ran
}

/// A file that cannot be read may define a hook for every event, so it blocks like a hook that fails.
fn refused(file: &HookFileState, request: &HookRequest, why: &str) -> HookRun {
    let why = format!("{} {why}; `wakeful hooks check` shows every problem", file.name);
    HookRun {
        hook: String::new(),
        source: file.name.clone(),
        verdict: HookVerdict::failed(request.event, &why),
        duration_ms: 0,
    }
}

async fn run_one(
    spec: &HookSpec,
    left: Duration,
    context: HookContext<'_>,
    request: &HookRequest,
) -> HookOutput {
    let nothing = |end| HookOutput {
        end,
        answer: Vec::new(),
        errors: Vec::new(),
    };
    let limit = Duration::from_millis(spec.timeout_ms).min(left);
    if limit.is_zero() {
        return nothing(HookEnd::TimedOut);
    }
    let input = Value::Object(request.payload.clone()).to_string().into_bytes();
    let running = async {
        match &spec.action {
            HookAction::Command(text) => {
                let folder = request.payload.get("cwd").and_then(Value::as_str).unwrap_or("/");
                match secrets_of(spec, context.secrets).await {
                    Ok(secrets) => {
                        let hook = command::HookCommand {
                            text,
                            folder: Path::new(folder),
                            environment: context.environment,
                            secrets: &secrets,
                        };
                        command::run(hook, input).await
                    }
                    Err(why) => nothing(HookEnd::NotRun(why)),
                }
            }
            HookAction::Http(url) => http::post(url, input).await,
        }
    };
    match tokio::time::timeout(limit, running).await {
        Ok(output) => without_secrets(output, &context.secrets.redactor()),
        Err(_) => nothing(HookEnd::TimedOut),
    }
}

/// The values of the secrets that a hook names. A hook is the operator's own program, so the file that names them
/// permits it, and not the list of an agent. Without one of them the hook does not run.
async fn secrets_of(
    spec: &HookSpec,
    source: &Arc<dyn SecretSource>,
) -> Result<BTreeMap<String, SecretValue>, String> {
    if spec.secrets.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (names, source) = (spec.secrets.clone(), Arc::clone(source));
    // A keyring may have to be asked.
    let read = tokio::task::spawn_blocking(move || {
        let values = names
            .into_iter()
            .map(|name| source.value(&name).map(|value| (name, value)));
        values.collect::<Result<BTreeMap<_, _>, String>>()
    });
    read.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// What a hook wrote, without secrets. They are removed before a reason is cut, because a part of a secret would not
/// be found afterwards; from JSON after its escapes were decoded.
fn without_secrets(output: HookOutput, redactor: &Redactor) -> HookOutput {
    if redactor.is_empty() {
        return output;
    }
    let bytes = |bytes: Vec<u8>| redactor.bytes(&bytes).unwrap_or(bytes);
    let answer = match serde_json::from_slice::<Value>(&output.answer) {
        Ok(mut answer) => match redact::json(&mut answer, &|text| redactor.text(text)) {
            0 => output.answer,
            _ => answer.to_string().into_bytes(),
        },
        Err(_) => output.answer,
    };
    HookOutput {
        end: output.end,
        answer: bytes(answer),
        errors: bytes(output.errors),
    }
}
