//! `wakeful run` with a daemon: the message enters the agent's queue, and this process watches its run.

use std::path::Path;

use wakeful_api::client::{Client, Stream};
use wakeful_api::{
    Activity, Admission, AgentControl, AgentStatus, Change, CreateAgent, Decision, Delta, Event,
    GetAgentStatus, GetRun, GetRuntimeStatus, LIMIT_MAX, ParkedReason, Run, SettingsChange, Text, ToolOutput,
    Visibility,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId, RunKey};
use wakeful_core::problem::Problem;
use wakeful_core::report::EventKind;
use wakeful_core::report::payload::{BrakeChanged, Payload};
use wakeful_core::run::BUDGET_EXCEEDED;
use wakeful_core::sse::Frame;
use wakeful_core::wake::WakeOutcome;

use super::ask::{self, AskOutcome};
use super::submit::{self, exit_code};
use super::{RunArgs, RunRequest, cap, stuck};
use crate::backend::Backend;
use crate::cli::decision::undecided;
use crate::cli::events::events_after;
use crate::config::LoadedConfig;
use crate::discover::{ReconnectTimer, daemon_gone};
use crate::failure::{DENIED, Failure, OUT_OF_MONEY};
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::signals::Signals;
use crate::terminal::live::{Printed, Words};
use crate::trust::{self, FolderChoice};
use crate::workspace::WorkspacePath;

/// Sends the message and waits for its run.
pub(super) async fn start(
    request: RunRequest<'_>,
    client: Client,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    let RunRequest { call, args, settings } = request;
    refuse_unsandboxed(args)?;
    let backend = Backend {
        client: client.clone(),
    };
    let home = shared.home()?;
    let given = args.workspace.as_deref();
    let look = |path| usable(path, &home, settings);
    let workspace = given.map(look).transpose()?;
    if let Some(folder) = &workspace {
        trust::settle(&home, folder, FolderChoice::Named)?;
    }
    let agent = ready(&backend, request, workspace.clone(), &home).await?;
    cap::print_default_cap(&backend, &agent, settings, out).await?;
    let accepted = backend.call(submit::message(call, settings, workspace)).await?;
    let run = submit::run_of(&accepted)?;
    if accepted.admission == Admission::New {
        print_wait_reason(&agent, out);
    }
    if agent.activity == Activity::Stuck {
        tell_stuck(&client, &agent, out).await?;
    }
    if agent.is_braked {
        return Err(braked(&format!(
            "run {run} is queued and starts after the brake is released"
        )));
    }
    let watched = WatchedRun {
        agent: call.agent.clone(),
        is_temporary: call.named.is_none(),
        run,
        after: agent.last_seq,
    };
    watch(client, watched, shared, out).await
}

/// A workspace in which commands can start. It is checked before anything is created or queued.
fn usable(path: &Path, home: &Path, settings: &LoadedConfig) -> Result<String, Failure> {
    let found = WorkspacePath::look(path, home).map_err(Failure::into_usage)?;
    found.refuse_denied(home, &settings.config)?;
    Ok(found.text.clone())
}

/// Reports why the answer may take a while.
fn print_wait_reason(agent: &AgentStatus, out: &Out) {
    if agent.control == AgentControl::Paused {
        let name = &agent.agent_id;
        out.note(&format!(
            "the agent is paused and the message is queued; resume it with `wakeful agent resume {name}`"
        ));
    }
    match agent.pending {
        0 => {}
        1 => out.note("1 message is ahead in the queue"),
        many => out.note(&format!("{many} messages are ahead in the queue")),
    }
}

/// Reports why the agent is stuck. If it waits for budget, the command fails instead of waiting, because
/// that may take a day.
async fn tell_stuck(client: &Client, agent: &AgentStatus, out: &Out) -> Result<(), Failure> {
    let status = client.call(&GetRuntimeStatus {}).await?;
    let Some(found) = status
        .stuck
        .into_iter()
        .find(|one| one.agent_id == agent.agent_id)
    else {
        return Ok(());
    };
    let Problem { code, message, hint } = found.problem;
    if code == BUDGET_EXCEEDED {
        let message = format!("the message is queued: {message}");
        return Err(Failure::new(code, message, hint).with_exit(OUT_OF_MONEY));
    }
    out.note(&format!("the agent is stuck: {message} ({hint})"));
    Ok(())
}

/// Only the process that starts commands can disable the sandbox, so the flag is refused with a daemon.
fn refuse_unsandboxed(args: &RunArgs) -> Result<(), Failure> {
    if !args.allow_unsandboxed {
        return Ok(());
    }
    let message = "a daemon is running in this home, and its settings determine the sandbox";
    let hint = "restart it with `wakeful daemon restart --allow-unsandboxed`, or omit the option";
    Err(Failure::usage("set_by_daemon", message, hint))
}

/// Ensures that the agent exists, creates it if requested, and returns its status.
async fn ready(
    backend: &Backend,
    request: RunRequest<'_>,
    workspace: Option<String>,
    home: &Path,
) -> Result<AgentStatus, Failure> {
    let RunRequest { call, args, settings } = request;
    let make = call.named.is_none() || args.create_agent;
    let agent_id = Text(call.agent.clone());
    match backend.call(GetAgentStatus { agent_id }).await {
        Ok(agent) => Ok(agent),
        Err(failure) if make && failure.code() == "agent_unknown" => {
            let workspace = workspace.map_or_else(|| usable(Path::new("."), home, settings), Ok)?;
            trust::settle(home, &workspace, FolderChoice::Current)?;
            let visibility = match call.named {
                Some(_) => Visibility::Public,
                None => Visibility::Private,
            };
            let settings = SettingsChange {
                workspace: Change::Set(workspace),
                ..SettingsChange::default()
            };
            let new = CreateAgent::new(Text(call.agent.clone()), visibility, None, settings);
            backend.call(new).await
        }
        Err(failure) => Err(failure),
    }
}

/// The run to watch.
pub(super) struct WatchedRun {
    pub(super) agent: AgentId,
    /// Whether the agent exists for this run only.
    pub(super) is_temporary: bool,
    pub(super) run: RunKey,
    /// Sequence number of the newest event shown.
    after: u64,
}

/// Shows a run while it progresses, and its result. Ctrl-C stops watching, not the run.
async fn watch(
    client: Client,
    mut watched: WatchedRun,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    let (run, agent) = (watched.run, watched.agent.clone());
    let mut signals = Signals::listen()?.of_watcher();
    let halt = signals.halt();
    let backend = Backend { client };
    let end = loop {
        let watching = async {
            let ended = end_of(backend.client.clone(), &mut watched, shared, out);
            tokio::select! {
                biased;
                () = halt.wait_until_set() => Ok(None),
                problem = stuck::problem_of(&backend, &agent) => Ok(Some(WatchEnd::Stuck(problem))),
                ended = out.while_shown(run, ended) => ended.map(Some),
            }
        };
        match signals.during(watching, out).await? {
            Some(WatchEnd::Undecided(pending))
                if ask::can_ask(out) && ask::ask(&backend, &pending, out).await? == AskOutcome::Answered => {}
            end => break end,
        }
    };
    match end {
        Some(WatchEnd::Undecided(pending)) => {
            let run = format!("run {} of agent {}", watched.run, watched.agent);
            Err(undecided(&run, &pending, backend.channel(), out))
        }
        Some(WatchEnd::Stuck(problem)) => Err(stuck::end(&backend, &watched, problem).await),
        Some(WatchEnd::Braked) => Err(braked(&format!("run {} is stopped where it is", watched.run))),
        Some(WatchEnd::Run(run)) => match &run.parked {
            Some(parked) => Err(waits(&run.run_key, parked)),
            None => {
                out.run(&run);
                Ok(exit_code(&run))
            }
        },
        None => {
            let run = watched.run;
            let message = format!("run {run} continues in the daemon; only watching it has ended");
            let agent = &watched.agent;
            let hint = format!(
                "`wakeful chat {agent}` watches it again, `wakeful runs show {run}` shows it, `wakeful runs cancel {run}` cancels it"
            );
            Err(Failure::new("watch_interrupted", message, hint).with_exit(signals.exit()))
        }
    }
}

/// Why watching ended.
enum WatchEnd {
    /// The run has ended, or waits for budget.
    Run(Box<Run>),
    /// The run waits for decisions.
    Undecided(Vec<Decision>),
    /// A brake was set.
    Braked,
    /// The daemon cannot work for the agent.
    Stuck(Problem),
}

/// The failure for a braked agent. A brake may last for days, so the command does not wait.
fn braked(what: &str) -> Failure {
    let hint = "`wakeful brake status` shows the reason and how to release it; no data is lost";
    Failure::new("braked", format!("the agent is braked: {what}"), hint).with_exit(DENIED)
}

/// The failure of a run that waits for budget.
fn waits(run: &str, parked: &ParkedReason) -> Failure {
    let message = format!("run {run} waits: {}", parked.message);
    let hint = format!("{}; the daemon then continues the run", parked.hint);
    Failure::new(parked.code.clone(), message, hint).with_exit(OUT_OF_MONEY)
}

/// Waits for the end of a run. A broken stream is resumed at its position, from the new daemon if the first
/// one was restarted.
async fn end_of(
    client: Client,
    watched: &mut WatchedRun,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<WatchEnd, Failure> {
    let (mut client, run) = (client, watched.run);
    let mut patience = ReconnectTimer::new(shared, out);
    loop {
        let failure = match listen(&client, watched, &mut patience, out).await {
            Ok(Some(ended)) => return Ok(ended),
            Ok(None) => None,
            Err(failure) => Some(failure),
        };
        let Some(back) = patience.wait(failure).await? else {
            let hint = format!("run `wakeful daemon start`, then `wakeful runs show {run}` to see the run");
            return Err(daemon_gone(
                &format!("run {run} continues when the daemon is running again"),
                hint,
            ));
        };
        client = back;
    }
}

/// Follows the agent's events. Returns how watching ended, or `None` if only the stream ended.
async fn listen(
    client: &Client,
    watched: &mut WatchedRun,
    patience: &mut ReconnectTimer<'_>,
    out: &Out,
) -> Result<Option<WatchEnd>, Failure> {
    let (agent_id, run_key) = (Text(watched.agent.clone()), Text(watched.run));
    let events = events_after(watched.agent.clone(), None, LIMIT_MAX);
    let mut stream = client.follow(&events, Some(&watched.after.to_string())).await?;
    // The run is read after the stream was opened, so its end cannot be missed between the two.
    let seen = client.call(&GetRun { run_key }).await?;
    patience.reset();
    if seen.parked.is_some() || !seen.outcome.is_under_way() {
        return Ok(Some(WatchEnd::Run(Box::new(seen))));
    }
    let backend = Backend {
        client: client.clone(),
    };
    if backend.call(GetAgentStatus { agent_id }).await?.is_braked {
        return Ok(Some(WatchEnd::Braked));
    }
    let mut pending = backend.decisions_of(watched.run).await?;
    while pending.is_empty() {
        match until_news(&mut stream, watched, out).await? {
            StreamNews::Ended => {
                return Ok(Some(WatchEnd::Run(Box::new(
                    backend.call(GetRun { run_key }).await?,
                ))));
            }
            StreamNews::Braked => return Ok(Some(WatchEnd::Braked)),
            StreamNews::Nothing => return Ok(None),
            // The decision may have been answered before it was read.
            StreamNews::Asked => pending = backend.decisions_of(watched.run).await?,
        }
    }
    Ok(Some(WatchEnd::Undecided(pending)))
}

/// What a stream reported.
enum StreamNews {
    /// The run has ended, or waits for budget.
    Ended,
    /// A decision was requested.
    Asked,
    /// A brake was set.
    Braked,
    /// The stream has ended.
    Nothing,
}

/// Shows the events of a run until one requires a closer look.
async fn until_news(stream: &mut Stream, watched: &mut WatchedRun, out: &Out) -> Result<StreamNews, Failure> {
    let key = watched.run.to_string();
    while let Some(frame) = stream.next().await? {
        show_ephemeral(&frame, watched.run, out);
        let Ok(event) = serde_json::from_str::<Event>(frame.text()) else {
            continue;
        };
        watched.after = event.seq;
        let said = Payload::read(&event.kind, &event.payload);
        if let Some(Payload::BrakeChanged(BrakeChanged { is_on: true, .. })) = said {
            return Ok(StreamNews::Braked);
        }
        if event.run_key.as_deref() != Some(&key) {
            continue;
        }
        if let Some(said) = &said {
            out.progress(Some(watched.run), said);
        }
        let called_off =
            matches!(said, Some(Payload::WakeDecided(decided)) if decided.verdict != WakeOutcome::Run);
        // Only the kind is checked, so the end is recognized even if the details were erased.
        match EventKind::parse(&event.kind) {
            Some(EventKind::RunEnded | EventKind::RunParked | EventKind::RunQuarantined) => {
                return Ok(StreamNews::Ended);
            }
            Some(EventKind::DecisionAsked) => return Ok(StreamNews::Asked),
            _ if called_off => return Ok(StreamNews::Ended),
            _ => {}
        }
    }
    Ok(StreamNews::Nothing)
}

/// Shows what is streamed and not stored: text of the model, and output of commands.
fn show_ephemeral(frame: &Frame, run: RunKey, out: &Out) {
    let key = run.to_string();
    match frame.event.as_str() {
        "delta" => {
            let delta = serde_json::from_str::<Delta>(frame.text()).ok();
            if let Some(delta) = delta.filter(|delta| delta.run_key == key) {
                out.words(&Words {
                    run,
                    attempt: delta.attempt,
                    text: &delta.text,
                });
            }
        }
        "tool_output" => {
            let output = serde_json::from_str::<ToolOutput>(frame.text()).ok();
            let output = output.filter(|output| output.run_key == key);
            let id = output
                .as_ref()
                .and_then(|output| Digest::from_hex(&output.operation_id));
            if let Some((output, id)) = output.zip(id) {
                out.printed(&Printed {
                    operation_id: OperationId(id),
                    text: &output.text,
                });
            }
        }
        _ => {}
    }
}
