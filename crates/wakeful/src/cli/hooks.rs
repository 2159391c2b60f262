//! `wakeful hooks`: lists, checks, imports and tries the hooks of the operator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wakeful_api::{GetAgentPolicy, Text};
use wakeful_core::hook::{
    HOOK_FILE_BYTES_MAX, HookEvent, HookFile, REPLY_HOOKS_MS_MAX, import as import_hooks,
};
use wakeful_core::id::AgentId;
use wakeful_ports::tool::HookRequest;
use wakeful_tools::SecretSource;
use wakeful_tools::hook::{self, HookContext, HookFiles};

use super::GlobalArgs;
use super::policy::{agent_or_default, agents_with_folders, hook_line, read_text};
use crate::backend::{read, refuse_tool_process};
use crate::config::{self, LiveSettings, Overrides};
use crate::failure::{FAILED, Failure};
use crate::home::Home;
use crate::open_home::environment;
use crate::policy::view::hook_problem;
use crate::secret::SecretStore;
use crate::show::Out;
use crate::system::replace_file;

/// Maximum size of a settings file of another program.
const SETTINGS_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum HooksVerb {
    /// List the hooks that run for an agent
    List {
        /// Agent name [default: the agent of the settings]
        agent: Option<String>,
    },
    /// Check hook files, and explain every problem
    Check {
        /// Files [default: all hook files of the home]
        files: Vec<PathBuf>,
    },
    /// Import `hooks` from the settings of another agent program
    Import(ImportArgs),
    /// Run the hooks for an event with sample input, and show what they lead to
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Settings file in JSON
    file: PathBuf,
    /// Import for this agent only [default: for all agents]
    #[arg(long)]
    agent: Option<String>,
    /// Show the hooks without saving them
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Event, such as `PreToolUse`
    event: String,
    /// Agent name [default: the agent of the settings]
    #[arg(long)]
    agent: Option<String>,
    /// Tool of the call
    #[arg(long, default_value = "ExecCommand")]
    tool: String,
    /// The tool's arguments as JSON
    #[arg(long, value_name = "JSON", default_value = r#"{"cmd": "true"}"#)]
    input: String,
}

pub(crate) async fn hooks(verb: &HooksVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        HooksVerb::List { agent } => list(agent.as_deref(), shared, out).await,
        HooksVerb::Check { files } => check(files, shared, out),
        HooksVerb::Import(args) => import(args, shared, out),
        HooksVerb::Test(args) => test(args, shared, out).await,
    }
}

async fn list(agent: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent_id = Text(agent_or_default(agent, shared)?);
    let policy = read(shared, async |backend| {
        backend.call(GetAgentPolicy { agent_id }).await
    })
    .await?;
    let problems = policy
        .problems
        .iter()
        .filter(|problem| problem.file.ends_with("hooks.json"));
    let problems: Vec<_> = problems.cloned().collect();
    let mut lines: Vec<String> = policy.hooks.iter().map(hook_line).collect();
    let refused = problems.iter();
    lines.extend(refused.map(|problem| format!("{} is refused: {}", problem.file, problem.message)));
    if lines.is_empty() {
        lines.push("no hooks; `wakeful help hook-files` explains them".to_owned());
    }
    out.answer(
        &json!({"hooks": policy.hooks, "problems": problems}),
        &lines.join("\n"),
    );
    Ok(0)
}

fn check(files: &[PathBuf], shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let (mut count, mut problems) = (0, Vec::new());
    if files.is_empty() {
        let home = Home::open(&shared.home()?)?;
        let known = HookFiles::new(home.root());
        let agents = agents_with_folders(home.root());
        let states = std::iter::once(None).chain(agents.iter().map(Some));
        for state in states.filter_map(|agent| known.read(agent)) {
            count += state.hooks.iter().flat_map(HookFile::iter).count();
            problems.extend(hook_problem(&state).map(|problem| (problem.file, problem.message)));
        }
    } else {
        for file in files {
            match HookFile::parse(&read_text(file, HOOK_FILE_BYTES_MAX)?) {
                Ok(parsed) => count += parsed.iter().count(),
                Err(message) => problems.push((file.display().to_string(), message)),
            }
        }
    }
    let mut lines: Vec<String> = problems
        .iter()
        .map(|(file, message)| format!("{file}: {message}"))
        .collect();
    lines.push(match problems.len() {
        0 => format!("{count} hooks are valid"),
        1 => "1 file has a problem".to_owned(),
        more => format!("{more} files have problems"),
    });
    let shown: Vec<Value> = problems
        .iter()
        .map(|(file, message)| json!({"file": file, "message": message}))
        .collect();
    out.answer(&json!({"hooks": count, "problems": shown}), &lines.join("\n"));
    Ok(if problems.is_empty() { 0 } else { FAILED })
}

fn import(args: &ImportArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    refuse_tool_process()?;
    let agent = args.agent.as_deref().map(AgentId::parse).transpose()?;
    let text = read_text(&args.file, SETTINGS_BYTES_MAX)?;
    let done = import_hooks(&text).map_err(|error| {
        let message = format!("{}: {error}", args.file.display());
        Failure::usage(
            "bad_settings_file",
            message,
            "give a JSON file with an object `hooks`",
        )
    })?;
    let text = serde_json::to_string_pretty(&done.file).unwrap_or_default();
    let (mut lines, mut saved) = (Vec::new(), None);
    if args.dry_run {
        lines.push(text);
    } else if done.count > 0 {
        let home = Home::open_or_create(&shared.home()?)?;
        let file = HookFiles::new(home.root()).path(agent.as_ref());
        save(&file, &text)?;
        lines.push(format!("{} hooks in {}", done.count, file.display()));
        saved = Some(file.display().to_string());
    } else {
        lines.push("nothing to import".to_owned());
    }
    let refused: Vec<Value> = done
        .refused
        .iter()
        .map(|(event, reason)| json!({"event": event, "reason": reason}))
        .collect();
    lines.extend(
        done.refused
            .iter()
            .map(|(event, reason)| format!("not imported: {event}: {reason}")),
    );
    out.answer(
        &json!({"file": saved, "hooks": done.count, "refused": refused, "text": done.file}),
        &lines.join("\n"),
    );
    Ok(if done.refused.is_empty() { 0 } else { FAILED })
}

fn save(file: &Path, text: &str) -> Result<(), Failure> {
    if std::fs::symlink_metadata(file).is_ok() {
        let message = format!("{} exists already", file.display());
        let hint = "compare it with `--dry-run`, then move or delete it";
        return Err(Failure::new("already_imported", message, hint));
    }
    let folder = file.parent().unwrap_or(file);
    let made = std::fs::create_dir_all(folder).and_then(|()| replace_file(file, text));
    made.map_err(|error| {
        let attempt = format!("cannot write {}", file.display());
        Failure::io(
            "hooks_unwritable",
            &attempt,
            &error,
            "check the rights of the folder",
        )
    })
}

async fn test(args: &TestArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    refuse_tool_process()?;
    let agent_id = agent_or_default(args.agent.as_deref(), shared)?;
    let event = HookEvent::parse(&args.event).ok_or_else(|| {
        let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
        let message = format!("there is no event {:?}", args.event);
        Failure::usage("bad_event", message, format!("use one of {}", known.join(", ")))
    })?;
    let input: Value = serde_json::from_str(&args.input).map_err(|error| {
        let hint = r#"give one JSON object, such as '{"cmd": "ls"}'"#;
        Failure::usage("bad_input", format!("--input: {error}"), hint)
    })?;
    let home = Home::open(&shared.home()?)?;
    let folder = std::env::current_dir().unwrap_or_default();
    let payload = json!({
        "session_id": "test",
        "agent_id": agent_id,
        "hook_event_name": event,
        "cwd": folder,
        "tool_name": args.tool,
        "tool_input": input,
        "tool_use_id": "test",
    });
    let request = HookRequest {
        agent_id,
        event,
        tool: event.has_tool().then(|| args.tool.clone()),
        payload: payload.as_object().cloned().unwrap_or_default(),
        time_ms: REPLY_HOOKS_MS_MAX,
    };
    let settings = config::load(home.root(), &Overrides::default())?.config;
    let secrets: Arc<dyn SecretSource> = Arc::new(SecretStore::new(
        home.root().to_owned(),
        LiveSettings::fixed(&settings),
    ));
    let context = HookContext {
        environment: &environment(),
        secrets: &secrets,
    };
    let ran = hook::run(&HookFiles::new(home.root()), context, request).await;
    let shown: Vec<Value> = ran
        .iter()
        .map(|run| {
            json!({
                "hook": run.hook, "source": run.source, "result": run.verdict.result, "reason": run.verdict.reason,
                "blocks": run.verdict.is_blocking, "changed_input": run.verdict.changed_input,
                "duration_ms": run.duration_ms,
            })
        })
        .collect();
    let mut lines: Vec<String> = ran
        .iter()
        .map(|run| {
            let (verdict, ms) = (&run.verdict, run.duration_ms);
            let mut line = format!("{} in {ms} ms: {}", verdict.result, run.hook.escape_debug());
            if !verdict.reason.is_empty() {
                line = format!("{line} ({})", verdict.reason);
            }
            match &verdict.changed_input {
                Some(input) => format!("{line}\n  arguments: {input}"),
                None => line,
            }
        })
        .collect();
    if lines.is_empty() {
        lines.push("no hook runs for this event".to_owned());
    }
    out.answer(&json!({ "hooks": shown }), &lines.join("\n"));
    Ok(0)
}
