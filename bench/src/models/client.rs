//! Our client as a separate process: it sends requests to a fake provider and reports their cost.

use std::fs;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;
use wakeful_core::conversation::{Block, Role, ToolSpec, TranscriptEntry};
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{BlockSource, ModelRequest, PromptBlock, PromptCache, Stability};
use wakeful_models::{Credential, HostedModel, HostedOptions, Provider};
use wakeful_ports::model::NoDeltaSink;

use crate::program::peak_mb_of;

/// Requests before the count starts: connections are open and buffers have grown.
const WARM: usize = 20;

/// Not a real key, but as long as one.
const KEY: &str = "no-key-but-as-long-as-one-0123456789";

/// The options of the client process.
#[derive(Debug, Args)]
pub(crate) struct Job {
    /// `openai` or `anthropic`
    #[arg(long)]
    provider: String,
    /// The base URL of the fake provider
    #[arg(long)]
    url: String,
    /// Requests that are counted
    #[arg(long)]
    count: usize,
    /// Send all requests at once instead of one after another
    #[arg(long)]
    at_once: bool,
}

/// The cost of all requests together. The SDKs' loop reports the same fields.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) processor_us: f64,
    pub(crate) wall_us: f64,
    pub(crate) peak_mb: f64,
}

/// Sends the requests and prints the cost.
pub(crate) fn work(job: &Job) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let used = runtime.block_on(ask_all(job))?;
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string(&used)?)?)
}

async fn ask_all(job: &Job) -> Result<Used> {
    let model = Arc::new(hosted(&job.provider, &job.url)?);
    let request = request()?;
    if !job.at_once {
        for _ in 0..WARM {
            ask(&model, &request).await?;
        }
    }
    let (begun, before) = (Instant::now(), processor_us()?);
    if job.at_once {
        let mut all = JoinSet::new();
        for _ in 0..job.count {
            let (model, request) = (Arc::clone(&model), request.clone());
            all.spawn(async move { ask(&model, &request).await });
        }
        while let Some(answered) = all.join_next().await {
            answered??;
        }
    } else {
        for _ in 0..job.count {
            ask(&model, &request).await?;
        }
    }
    Ok(Used {
        processor_us: processor_us()? - before,
        wall_us: begun.elapsed().as_secs_f64() * 1e6,
        peak_mb: peak_mb_of("self")?,
    })
}

/// The request is borrowed, as in the SDKs' loop: building one is not the client's work.
async fn ask(model: &HostedModel, request: &ModelRequest) -> Result<()> {
    let answer = model.answer(request, &NoDeltaSink).await;
    let answer = answer.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    ensure!(!answer.blocks.is_empty(), "the fake provider returned no content");
    Ok(())
}

/// Creates the client without sending a request.
pub(super) fn hosted(provider: &str, url: &str) -> Result<HostedModel> {
    let known = Provider::ALL.into_iter().find(|known| known.word() == provider);
    let known = known.with_context(|| format!("unknown provider {provider}"))?;
    Ok(HostedModel::new(HostedOptions {
        base_url: Some(url),
        credential: Some(Credential::new(KEY)?),
        ..HostedOptions::of(known, "m")
    })?)
}

/// A typical first request of a run: instructions, some tools, a question; 8 kB in all.
pub(super) fn request() -> Result<ModelRequest> {
    let words = |count: usize| "Look before you act, and say what you did. ".repeat(count);
    let tool = |number: usize| ToolSpec {
        name: format!("Tool{number}"),
        description: words(5),
        freeform: None,
        input_schema: json!({
            "type": "object", "additionalProperties": false, "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": words(1)},
                "limit": {"type": "integer", "minimum": 1, "description": words(1)},
            },
        }),
    };
    Ok(ModelRequest {
        model_ref: "bench".to_owned(),
        request: 0,
        system: vec![PromptBlock {
            text: words(60),
            stability: Stability::Stable,
            source: BlockSource::Contract,
            cache_breakpoint: false,
        }],
        entries: vec![TranscriptEntry {
            role: Role::User,
            blocks: vec![Block::Text { text: words(5) }],
        }],
        tools: (0..8).map(tool).collect(),
        answer_schema: None,
        cache: PromptCache::none(AgentId::parse("bench")?),
    })
}

/// Processor time of this process in microseconds, with nanosecond precision. Read from `/proc` and not
/// from the clock, because valgrind does not support the clock's vDSO call.
fn processor_us() -> Result<f64> {
    let mut used_ns = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split(' ').next().context("no processor time")?;
        used_ns += first.parse::<f64>()?;
    }
    Ok(used_ns / 1e3)
}
