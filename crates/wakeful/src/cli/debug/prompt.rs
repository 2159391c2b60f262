//! `wakeful debug prompt`: shows the frame of an agent's next model request, block by block. It sends no
//! request and changes nothing.

use std::path::Path;

use clap::Args;
use serde::Serialize;
use wakeful_api::LoadedAgentsMd;
use wakeful_core::conversation::{Block, Role, ToolSpec, TranscriptEntry};
use wakeful_core::id::AgentId;
use wakeful_core::message::MessageKind;
use wakeful_core::policy::{ActionRules, CallFacts, PolicyEffect, PolicyQuery};
use wakeful_core::prompt::{
    BlockSource, Guidance, ModelRequest, PromptBlock, PromptInputs, Stability, assemble, tokens_of,
};
use wakeful_core::step::EffectClass;
use wakeful_core::tool::{RiskLevel, WEB_SEARCH};
use wakeful_models::RouteModel;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::policy::Policy as _;
use wakeful_server::view::loaded_agents_md;

use crate::backend::read;
use crate::cli::agent_settings::status_and_settings;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::guidance::GuidanceFiles;
use crate::model::{ModelRegistry, RunOwner};
use crate::open_home::tool_names;
use crate::policy::failure;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Agent name
    agent: String,
    /// Show the prompt as it would be sent to this model [default: the configured one]
    #[arg(long, value_name = "REF")]
    model: Option<String>,
    /// Include the text of the blocks
    #[arg(long)]
    text: bool,
}

/// The frame of a prompt, as output.
#[derive(Debug, Serialize)]
struct FrameView {
    agent_id: String,
    agent_home: String,
    workspace: String,
    execution_root: String,
    cwd: String,
    model_ref: String,
    policy: PolicyView,
    loaded_agents_md: Vec<LoadedAgentsMd>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    blocks: Vec<BlockView>,
    tools: Vec<ToolView>,
    cache: CacheView,
    request: SizeView,
}

#[derive(Debug, Serialize)]
struct PolicyView {
    version: String,
    permitted_tools: Vec<String>,
}

#[derive(Debug, Serialize)]
struct BlockView {
    source: BlockSource,
    stability: Stability,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    bytes: usize,
    bytes_max: usize,
    estimated_tokens: u64,
    cache_breakpoint: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct ToolView {
    name: String,
    bytes: usize,
    estimated_tokens: u64,
}

#[derive(Debug, Serialize)]
struct CacheView {
    prompt_cache_key: String,
    context_fingerprint: String,
}

/// The size of a first request with an empty message.
#[derive(Debug, Serialize)]
struct SizeView {
    bytes: usize,
    /// `wire` if measured in the provider's format, otherwise `frame`.
    format: &'static str,
    estimated_tokens: u64,
}

pub(crate) async fn prompt(args: &PromptArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let home = shared.home()?;
    let flags = Overrides::default().flag("model.default", "--model", args.model.clone());
    let settings = config::load(&home, &flags)?;
    let found = read(shared, async |backend| {
        status_and_settings(backend, agent.clone()).await
    });
    let (status, own) = found.await?;
    let registry = ModelRegistry::new(&settings.config);
    let whose = RunOwner {
        chosen: own.model.as_deref(),
        fallbacks: own.fallbacks.as_deref(),
    };
    let model_ref = registry.chain(Some(whose), args.model.as_deref())?.model_ref;
    let files = GuidanceFiles::new(&home.canonicalize().unwrap_or(home));
    let guidance = files.read(&agent, Path::new(&status.workspace));
    let mut tools = wakeful_tools::specs();
    tools.retain(|spec| spec.name != WEB_SEARCH || own.web_search);
    let may_start = own.may_start.iter().cloned().collect();
    if !own.may_start.is_empty() {
        tools.push(wakeful_core::sub_run::spec(&may_start));
    }
    let request = first_request(FirstRequest {
        agent: &agent,
        workspace: &status.workspace,
        guidance: &guidance,
        model_ref: &model_ref,
        tools,
    });
    let frame = Frame {
        agent_home: files.agent_home(&agent).display().to_string(),
        workspace: status.workspace,
        guidance: &guidance,
        request: &request,
        size: size(&request, &registry),
    };
    let view = view(args, frame)?;
    out.answer(&view, &words(&view));
    Ok(0)
}

/// Inputs for the first request of a conversation.
struct FirstRequest<'a> {
    agent: &'a AgentId,
    workspace: &'a str,
    guidance: &'a Guidance,
    model_ref: &'a str,
    tools: Vec<ToolSpec>,
}

/// Builds the first request of an empty conversation.
fn first_request(of: FirstRequest<'_>) -> ModelRequest {
    let nothing = Block::Text { text: String::new() };
    let opening = TranscriptEntry {
        role: Role::User,
        blocks: vec![nothing],
    };
    assemble(PromptInputs {
        agent: of.agent,
        workspace: of.workspace,
        guidance: of.guidance,
        kind: MessageKind::OperatorPrompt,
        model_ref: of.model_ref,
        request: 0,
        opening: &opening,
        entries: std::slice::from_ref(&opening),
        answer_schema: None,
        tools: of.tools,
    })
}

/// A request and the sources of its parts.
struct Frame<'a> {
    agent_home: String,
    workspace: String,
    guidance: &'a Guidance,
    request: &'a ModelRequest,
    size: SizeView,
}

fn view(args: &PromptArgs, frame: Frame<'_>) -> Result<FrameView, Failure> {
    let Frame {
        agent_home,
        workspace,
        guidance,
        request,
        size,
    } = frame;
    let tools = request.tools.iter().map(|tool| {
        let bytes = serde_json::to_vec(tool).map_or(0, |json| json.len());
        ToolView {
            name: tool.name.clone(),
            bytes,
            estimated_tokens: tokens_of(bytes),
        }
    });
    let blocks = request
        .system
        .iter()
        .map(|block| block_view(args, guidance, block));
    Ok(FrameView {
        agent_id: request.cache.agent_id.to_string(),
        agent_home,
        // Commands start in the workspace, so all three are the same folder.
        execution_root: workspace.clone(),
        cwd: workspace.clone(),
        workspace,
        model_ref: request.model_ref.clone(),
        policy: policy(request)?,
        loaded_agents_md: loaded_agents_md(guidance),
        notes: guidance.notes.clone(),
        blocks: blocks.collect(),
        tools: tools.collect(),
        cache: CacheView {
            prompt_cache_key: request.cache.prompt_cache_key.clone(),
            context_fingerprint: request.cache.context_fingerprint.clone(),
        },
        request: size,
    })
}

fn block_view(args: &PromptArgs, guidance: &Guidance, block: &PromptBlock) -> BlockView {
    let file = match block.source {
        BlockSource::AgentGuidance => guidance.agent.as_ref(),
        BlockSource::WorkspaceGuidance => guidance.workspace.as_ref(),
        BlockSource::Contract | BlockSource::Identity => None,
        BlockSource::TurnMode | BlockSource::AnswerSchema => None,
    };
    BlockView {
        source: block.source,
        stability: block.stability,
        path: file.map(|file| file.path.clone()),
        bytes: block.text.len(),
        bytes_max: block.source.bytes_max(),
        estimated_tokens: tokens_of(block.text.len()),
        cache_breakpoint: block.cache_breakpoint,
        text: args.text.then(|| block.text.clone()),
    }
}

/// The policy for every tool in a run that denies none.
fn policy(request: &ModelRequest) -> Result<PolicyView, Failure> {
    let applying = ActionRules::default();
    let rules = PolicyEngine::new(ToolRegistry::new(tool_names())).map_err(|problem| failure(&problem))?;
    let mut view = PolicyView {
        version: String::new(),
        permitted_tools: Vec::new(),
    };
    let has_search = request.tools.iter().any(|spec| spec.name == WEB_SEARCH);
    for tool in tool_names() {
        if tool == WEB_SEARCH && !has_search {
            continue;
        }
        let verdict = rules.decide(&PolicyQuery {
            agent_id: &request.cache.agent_id,
            tool: &tool,
            rules: &applying,
            facts: &CallFacts::default(),
            class: EffectClass::Plain,
            risk: RiskLevel::High,
            sandbox_level: 0,
        });
        view.version = verdict.policy_version.to_string();
        match verdict.effect {
            PolicyEffect::Permit => view.permitted_tools.push(tool),
            PolicyEffect::Ask | PolicyEffect::Deny => {}
        }
    }
    Ok(view)
}

/// Measures the request in the provider's format if the model is available. A missing key falls back to the
/// size of the frame.
fn size(request: &ModelRequest, registry: &ModelRegistry) -> SizeView {
    let models = registry.route(&request.model_ref, &[]).ok();
    let hosted = models.as_ref().and_then(|models| {
        models.candidates().find_map(|(_, candidate)| match candidate {
            RouteModel::Hosted(model) => Some(model),
            RouteModel::Scripted(_) | RouteModel::Unusable(_) => None,
        })
    });
    let wire = hosted.and_then(|model| model.body(request).ok());
    let format = if wire.is_some() { "wire" } else { "frame" };
    let body = wire.unwrap_or_else(|| serde_json::to_vec(request).unwrap_or_default());
    SizeView {
        bytes: body.len(),
        format,
        estimated_tokens: request.estimated_tokens(),
    }
}

fn words(view: &FrameView) -> String {
    let mut lines = vec![
        format!("agent           {}", view.agent_id),
        format!("agent_home      {}", view.agent_home),
        format!("workspace       {}", view.workspace),
        format!("execution_root  {}", view.execution_root),
        format!("cwd             {}", view.cwd),
        format!("model           {}", view.model_ref),
        format!(
            "policy          {} permits {}",
            view.policy.version,
            view.policy.permitted_tools.join(", ")
        ),
    ];
    for file in &view.loaded_agents_md {
        lines.push(format!(
            "guidance        {} ({}, {})",
            file.path,
            spelled(&file.root),
            spelled(&file.kind)
        ));
    }
    lines.extend(view.notes.iter().map(|note| format!("note            {note}")));
    lines.push(format!(
        "cache key       {}\n\nblock               stability     bytes    limit  ~tokens  cache",
        view.cache.prompt_cache_key
    ));
    for block in &view.blocks {
        lines.push(format!(
            "{:18}  {:12}  {:5}  {:7}  {:7}  {}",
            spelled(&block.source),
            spelled(&block.stability),
            block.bytes,
            block.bytes_max,
            block.estimated_tokens,
            if block.cache_breakpoint { "ends here" } else { "" },
        ));
        lines.extend(
            block
                .text
                .iter()
                .map(|text| format!("    {}\n", text.replace('\n', "\n    "))),
        );
    }
    for tool in &view.tools {
        lines.push(format!(
            "tool {:13}  {:12}  {:5}  {:7}  {:7}",
            tool.name, "stable", tool.bytes, "", tool.estimated_tokens
        ));
    }
    let SizeView {
        bytes,
        format,
        estimated_tokens,
    } = &view.request;
    lines.push(format!(
        "\nA first request with an empty message has {bytes} bytes ({format}), at most about {estimated_tokens} tokens; token \
            counts are estimates and tend to be too high."
    ));
    lines
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The serialized spelling of an enum value.
fn spelled(word: &impl Serialize) -> String {
    let value = serde_json::to_value(word).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
