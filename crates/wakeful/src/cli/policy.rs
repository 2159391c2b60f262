//! `wakeful policy`: shows, checks, explains, tests, edits and imports permission policies.

mod files;
mod test_file;
mod words;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wakeful_api::{ExplainCall, ExplainStep, GetAgentPolicy, GetRun, PolicyExplanation, Run, StepKind, Text};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};

pub(super) use self::files::{agents_with_folders, read_text};
pub(super) use self::words::hook_line;
use super::GlobalArgs;
use crate::backend::{Backend, read};
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Show the policies in force for an agent, with their sources
    Show {
        /// Agent name [default: the agent of the settings]
        agent: Option<String>,
    },
    /// Check policy files, and explain every problem
    Check {
        /// Files [default: all policy files of the home]
        files: Vec<PathBuf>,
    },
    /// Explain why a call is permitted, asks or is denied, and what would have to differ
    Explain(ExplainArgs),
    /// Compare expected verdicts with the policies in force
    Test {
        /// YAML or JSON file: a list of `agent`, `tool`, `input` and `expect`
        file: PathBuf,
    },
    /// Edit the policies for all agents, or for one; invalid policies are not saved
    Edit {
        /// Agent name [default: the policies for all agents]
        agent: Option<String>,
    },
    /// Import the lists `permissions.allow`, `ask` and `deny` from another agent program's settings
    Import(ImportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Run key, or the id of one of its steps; a unique prefix is enough
    #[arg(required_unless_present = "tool", conflicts_with_all = ["tool", "agent", "input"])]
    run: Option<String>,
    /// Id of the step, or its beginning [default: the run's last call that asked or was denied]
    #[arg(requires = "run")]
    call: Option<String>,
    /// Agent of a call that was not made [default: the agent of the settings]
    #[arg(long)]
    agent: Option<String>,
    /// Tool of a call that was not made
    #[arg(long)]
    tool: Option<String>,
    /// The tool's arguments as JSON
    #[arg(long, value_name = "JSON", requires = "tool")]
    input: Option<String>,
    /// Explain the call in a read-only run
    #[arg(long, requires = "tool")]
    read_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Settings file in JSON
    file: PathBuf,
    /// Import for this agent only [default: for all agents]
    #[arg(long)]
    agent: Option<String>,
    /// Folder that relative paths of the file refer to [default: the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Show the policies without saving them
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn policy(verb: &PolicyVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        PolicyVerb::Show { agent } => {
            let agent_id = Text(agent_or_default(agent.as_deref(), shared)?);
            let policy = read(shared, async |backend| {
                backend.call(GetAgentPolicy { agent_id }).await
            });
            let policy = policy.await?;
            out.answer(&policy, &words::policies(&policy));
            Ok(0)
        }
        PolicyVerb::Check { files } => files::check(files, shared, out),
        PolicyVerb::Explain(args) => explain(args, shared, out).await,
        PolicyVerb::Test { file } => test_file::test(file, shared, out).await,
        PolicyVerb::Edit { agent } => files::edit(agent.as_deref(), shared, out),
        PolicyVerb::Import(args) => files::import(args, shared, out),
    }
}

async fn explain(args: &ExplainArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let explanation: PolicyExplanation = match (&args.run, &args.tool) {
        (Some(run), _) => {
            let explained = read(shared, async |backend| {
                explain_step(backend, run, args.call.as_deref()).await
            });
            explained.await?
        }
        (None, tool) => {
            let asked = ExplainCall {
                agent_id: Text(agent_or_default(args.agent.as_deref(), shared)?),
                tool: tool.clone().unwrap_or_default(),
                input: args.input.as_deref().map_or(Ok(json!({})), input)?,
                is_read_only: args.read_only,
            };
            read(shared, async |backend| backend.call(asked).await).await?
        }
    };
    out.answer(&explanation, &words::explanation(&explanation));
    Ok(0)
}

async fn explain_step(
    backend: &Backend,
    run: &str,
    call: Option<&str>,
) -> Result<PolicyExplanation, Failure> {
    let run_key = Text(backend.find_run(run).await?);
    let stored = backend.call(GetRun { run_key }).await?;
    let operation_id = Text(step_of(&stored, call)?);
    backend
        .call(ExplainStep {
            run_key,
            operation_id,
        })
        .await
}

/// The step whose id begins like this, or the last call that the policy stopped, or the last call.
fn step_of(run: &Run, prefix: Option<&str>) -> Result<OperationId, Failure> {
    let calls = || run.steps.iter().rev().filter(|step| step.kind == StepKind::Tool);
    let found = match prefix {
        Some(prefix) => calls().find(|step| step.operation_id.starts_with(&prefix.to_ascii_lowercase())),
        None => calls()
            .find(|step| words::was_stopped(step))
            .or_else(|| calls().next()),
    };
    let id = found.and_then(|step| Digest::from_hex(&step.operation_id));
    id.map(OperationId).ok_or_else(|| {
        let message = match prefix {
            Some(prefix) => format!("the run has no call whose id begins with {prefix:?}"),
            None => "the run has made no call".to_owned(),
        };
        let hint = "`wakeful runs show` lists the calls of a run";
        Failure::usage("step_unknown", message, hint)
    })
}

/// Parses the arguments of a tool.
fn input(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let hint = r#"give one JSON object, such as '{"cmd": "ls"}'"#;
        Failure::usage("bad_input", format!("--input: {error}"), hint)
    })
}

pub(super) fn agent_or_default(given: Option<&str>, shared: &GlobalArgs) -> Result<AgentId, Failure> {
    match given {
        Some(name) => Ok(AgentId::parse(name)?),
        None => {
            let loaded = config::load(&shared.home()?, &Overrides::default())?;
            Ok(AgentId::parse(&loaded.config.agent.default)?)
        }
    }
}
