//! `wakeful run`: one message, one run, one answer.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use wakeful_core::id::{AgentId, SessionId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::PROMPT_BYTES_MAX;
use wakeful_core::policy::Rules;
use wakeful_core::run::{ROUNDS_DEFAULT, ROUNDS_MAX};
use wakeful_core::step::Status;
use wakeful_ports::fail;
use wakeful_ports::records::{Agent, RunFilter, Visibility};
use wakeful_ports::store::{ROWS_MAX, Store as _};
use wakeful_runtime::EngineError;
use wakeful_runtime::report::{self, RunReport};
use wakeful_runtime::wake::{Admitted, Ask, Limits, WhenMissing};

use super::Shared;
use crate::failure::Failure;
use crate::place::{Place, Sandboxing, load_model, tool_names, workspace_path};
use crate::show::{Out, RunView};
use crate::world::fresh_id;

/// The session that all calls from a command line share.
const CLI_SESSION: &str = "cli";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What the agent is to do; `-` reads it from standard input
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    prompt: Option<String>,
    /// Who answers: `scripted:FILE`, or `demo` for the built-in script
    #[arg(long, value_name = "REF", env = "WAKEFUL_MODEL", hide_env_values = true)]
    model: Option<String>,
    /// An agent that remembers; without one, a temporary agent is made for this run alone
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Make the agent if there is none of that name
    #[arg(long, requires = "agent", conflicts_with = "resume")]
    create_agent: bool,
    /// Most model rounds before the run is ended
    #[arg(long, value_name = "N", default_value_t = ROUNDS_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUNDS_MAX)))]
    max_rounds: u32,
    /// The folder in which commands run and may write [default: the agent's, else the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    workspace: Option<PathBuf>,
    /// Tools that this run may not use
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "resume")]
    deny_tools: Vec<String>,
    /// Names this message: the same key again is the same message and starts no second run
    #[arg(long, value_name = "K", conflicts_with = "resume")]
    idempotency_key: Option<String>,
    /// Finish the runs that were cut off, instead of starting one
    #[arg(long)]
    resume: bool,
    /// Run commands even where this kernel cannot confine them
    #[arg(long)]
    allow_unsandboxed: bool,
}

impl RunArgs {
    const fn sandboxing(&self) -> Sandboxing {
        if self.allow_unsandboxed {
            Sandboxing::Optional
        } else {
            Sandboxing::Required
        }
    }
}

/// Runs the verb.
pub(crate) async fn run(args: &RunArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    if args.resume {
        resume(args, shared, out).await
    } else {
        start(args, shared, out).await
    }
}

async fn start(args: &RunArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    // Everything that can be wrong with the call is found before the home is touched.
    let prompt = prompt(args.prompt.as_deref().unwrap_or_default())?;
    let (model_ref, models) = load_model(args.model.as_deref(), out)?;
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let turn = TurnId::parse(args.idempotency_key.as_deref().unwrap_or(&fresh_id()))?;
    let deny_tools: BTreeSet<String> = args
        .deny_tools
        .iter()
        .map(|name| name.trim().to_owned())
        .collect();
    let rules = Rules::new(tool_names());
    rules.check_denied(&deny_tools)?;

    let place = Place::open_for_writing(shared).await?;
    let known = match agent.clone() {
        Some(agent) => place.store.read(move |view| view.agent(&agent)).await?,
        None => None,
    };
    let workspace = workspace_path(args.workspace.as_deref(), known.as_ref(), &place.home)?;
    let engine = place.engine(models, &workspace, args.sandboxing(), out)?;
    let when_missing = when_missing(args, known.as_ref());
    let ask = Ask {
        agent: agent.map_or_else(temporary_agent, Ok)?,
        when_missing,
        session: SessionId::new(CLI_SESSION),
        turn,
        prompt,
        limits: Limits {
            model_ref,
            max_rounds: args.max_rounds,
            workspace: workspace.text,
            deny_tools,
        },
    };
    let run = match engine.admit(ask).await? {
        Admitted::New(claimed) => engine.drive(claimed).await?,
        Admitted::Before(run) => {
            out.note("this message was admitted before; showing its run");
            match engine.claim(run).await? {
                Some(claimed) => engine.drive(claimed).await?,
                None => run,
            }
        }
    };
    let code = tell(&place, run, out).await?;
    place.close().await?;
    Ok(code)
}

/// An agent of this call alone. A temporary one needs no name, and a named one is only made when asked for:
/// a typing error must not make a new agent.
fn when_missing(args: &RunArgs, known: Option<&Agent>) -> WhenMissing {
    match (known, &args.agent) {
        (Some(_), _) => WhenMissing::Refuse,
        (None, Some(_)) if args.create_agent => WhenMissing::Create(Visibility::Public),
        (None, Some(_)) => WhenMissing::Refuse,
        (None, None) => WhenMissing::Create(Visibility::Private),
    }
}

async fn resume(args: &RunArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let place = Place::open_for_writing(shared).await?;
    let filter = RunFilter {
        agent_id: agent,
        open_only: true,
        limit: ROWS_MAX,
    };
    let mut open = place.store.read(move |view| view.runs(&filter)).await?;
    // Oldest first: later runs may build on what earlier ones did.
    open.reverse();
    let mut code = 0;
    let mut resumed = 0;
    for row in open {
        let turn = wakeful_runtime::run::decode(&row)?;
        let (_, models) = load_model(Some(&turn.model_ref), out)?;
        let workspace = workspace_path(Some(turn.workspace.as_ref()), None, &place.home)?;
        let engine = place.engine(models, &workspace, args.sandboxing(), out)?;
        let claimed = match engine.claim(row.run_key).await {
            Ok(Some(claimed)) => claimed,
            Ok(None) => continue,
            Err(error @ EngineError::AgentBusy { .. }) => {
                out.note(&error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        resumed += 1;
        out.note(&format!(
            "resuming run {} of agent {}",
            short(row.run_key),
            row.agent_id
        ));
        let run = engine.drive(claimed).await?;
        code = worse(code, tell(&place, run, out).await?);
    }
    if resumed == 0 {
        out.nothing("nothing to resume: no run is open");
    }
    place.close().await?;
    Ok(code)
}

/// Shows a finished run and says how the program should end.
async fn tell(place: &Place, run: RunKey, out: &Out) -> Result<u8, Failure> {
    fail::point("end.before_report");
    let report = report::load(&place.store, run).await?;
    out.run(&RunView::new(&report));
    Ok(exit_code(&report))
}

/// 1 when the run did not succeed or something may have happened that nobody knows of; 4 when the policy
/// refused something; 0 else.
fn exit_code(report: &RunReport) -> u8 {
    let completed = matches!(report.outcome, Some(wakeful_core::run::Outcome::Completed));
    if !completed || !report.calls_with(Status::OutcomeUnknown).is_empty() {
        1
    } else if !report.calls_with(Status::Denied).is_empty() {
        4
    } else {
        0
    }
}

/// Of two exit codes the one that needs a person more: failed before denied before fine.
fn worse(one: u8, other: u8) -> u8 {
    match (one, other) {
        (1, _) | (_, 1) => 1,
        (one, other) => one.max(other),
    }
}

fn prompt(given: &str) -> Result<String, Failure> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        // One byte more than allowed, to tell too long from just right without reading it all.
        let limit = u64::try_from(PROMPT_BYTES_MAX)
            .unwrap_or(u64::MAX)
            .saturating_add(1);
        let read = std::io::stdin().take(limit).read_to_string(&mut text);
        read.map_err(|error| Failure::io("bad_prompt", "cannot read the prompt", &error, "give UTF-8 text"))?;
    }
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "bad_prompt",
            "the prompt is empty",
            "say what the agent is to do",
        ));
    }
    if text.len() > PROMPT_BYTES_MAX {
        let message = format!("the prompt has more than {PROMPT_BYTES_MAX} bytes");
        return Err(Failure::usage(
            "prompt_too_large",
            message,
            "put it in a file of the workspace and name the file",
        ));
    }
    Ok(text)
}

/// A name nobody has: a temporary agent lives for one run and is not listed.
fn temporary_agent() -> Result<AgentId, Failure> {
    Ok(AgentId::parse(&format!("temp-{}", fresh_id()))?)
}

fn short(run: RunKey) -> String {
    run.to_string().chars().take(12).collect()
}
