//! Measures a tool call outside the engine: everything that is decided before an allowed call begins, and
//! how much longer a command takes than a process without a sandbox.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::policy::{ActionRules, PolicyEffect, PolicyQuery};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_core::tool::gate::{self, GateQuery};
use wakeful_core::tool::risk::{self, RiskFields};
use wakeful_core::tool::{AgentAccessScope, WakeReason};
use wakeful_policy::ToolRegistry;
use wakeful_ports::policy::Policy as _;
use wakeful_ports::tool::{ToolHost as _, ToolOutcome, ToolRequest};
use wakeful_tools::{CommandLimits, DeniedPaths, DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy};

use crate::engine_setup::{Never, runtime};
use crate::measure::{Measure, Target, median, ms};
use crate::{Setting, policy};

pub(crate) const COMMAND: &str = "command_over_spawn_ms";
pub(crate) const PATH: &str = "allowed_call_us";

/// The tools as the program builds them, with folders below this one.
pub(crate) fn tools(setting: &Setting, folder: &Path, pretend: DisabledFeatures) -> Result<Tools> {
    let (home, workspace) = (folder.join("home"), folder.join("workspace"));
    std::fs::create_dir_all(&home)?;
    std::fs::create_dir_all(&workspace)?;
    let variables = std::env::vars_os();
    let environment: BTreeMap<String, String> = variables
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    Ok(Tools::new(ToolsOptions {
        program: setting.program.path().to_owned(),
        program_args_prefix: vec!["sandbox".to_owned()],
        scratch: home.join("scratch"),
        home,
        workspace,
        environment,
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Refuse,
        pretend,
    })?)
}

/// Performs one call.
pub(crate) async fn call(
    tools: &Tools,
    number: usize,
    tool: &str,
    input: serde_json::Value,
) -> Result<ToolOutcome> {
    let operation_id = OperationId(Digest::of(&number.to_le_bytes()));
    let request = ToolRequest::new(operation_id, AgentId::parse("bench")?, tool, input);
    let done = tools.perform(request, Never).await;
    ensure!(done.code.is_none(), "{tool} failed: {}", done.content);
    Ok(done)
}

/// A command in the sandbox and the same process without one, in turns.
pub(crate) fn take_command(setting: &Setting) -> Result<Vec<Measure>> {
    let count = setting.effort.pick(30, 200);
    let full = tools(
        setting,
        &setting.folder.join("command-2"),
        DisabledFeatures::default(),
    )?;
    let pretend = DisabledFeatures {
        no_namespaces: true,
        ..DisabledFeatures::default()
    };
    let basic = tools(setting, &setting.folder.join("command-1"), pretend)?;
    let (mut over, mut over_basic, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    runtime()?.block_on(async {
        for number in 0..count {
            let began = Instant::now();
            ensure!(
                Command::new("/bin/sh").args(["-c", "true"]).status()?.success(),
                "sh failed"
            );
            let spawn = ms(began.elapsed());
            let input = json!({"cmd": "true"});
            let began = Instant::now();
            call(&full, number, "ExecCommand", input.clone()).await?;
            over.push(ms(began.elapsed()) - spawn);
            let began = Instant::now();
            call(&basic, number, "ExecCommand", input).await?;
            over_basic.push(ms(began.elapsed()) - spawn);
            bare.push(spawn);
        }
        anyhow::Ok(())
    })?;
    let measure = Measure::median(COMMAND, "ms", &over, Target::AtMost(15.0));
    Ok(vec![
        measure
            .beside("`/bin/sh -c true` without a sandbox", &bare)
            .with("without_namespaces_ms", median(&over_basic)),
    ])
}

/// Arguments, facts, gates, policies and risk of an allowed call, with 200 written policies.
pub(crate) fn take_path(setting: &Setting) -> Result<Vec<Measure>> {
    let folder = setting.folder.join("path");
    let tools = tools(setting, &folder, DisabledFeatures::default())?;
    let notes = folder.join("workspace/notes.txt");
    std::fs::write(&notes, "one\n")?;
    let home = tempfile::tempdir()?;
    let engine = policy::engine(home.path(), ToolRegistry::new(policy::names()))?;
    let agent_id = AgentId::parse("main")?;
    let rules = ActionRules {
        access: AgentAccessScope::everything(),
        wake_reason: WakeReason::UserInitiated,
        ..ActionRules::default()
    };
    let (tool, input, scope) = ("ReadFile", json!({"path": "notes.txt"}), SandboxScope::default());
    let level = tools.sandbox_level();
    let judge = || {
        tools.check(tool, &input).ok()?;
        let facts = tools.facts(tool, &input, &scope);
        let contract = tools.contract(tool);
        let query = GateQuery {
            contract: contract.as_ref(),
            access: &rules.access,
            wake_reason: rules.wake_reason,
        };
        gate::check(query).ok()?;
        let query = PolicyQuery {
            agent_id: &agent_id,
            tool,
            rules: &rules,
            facts: &facts,
            class: tools.class(tool)?,
            risk: tools.risk(tool),
            sandbox_level: level,
        };
        let verdict = engine.decide(&query);
        let found = tools.risk_classification(tool);
        black_box(risk::fill(found.as_ref(), RiskFields::default()));
        (verdict.effect == PolicyEffect::Permit).then_some(())
    };
    // The first call compiles the policies.
    ensure!(judge().is_some(), "the call is allowed");
    let (mut took, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(200, 20_000) {
        let began = Instant::now();
        black_box(judge());
        took.push(began.elapsed().as_secs_f64() * 1e6);
        let began = Instant::now();
        let _metadata = black_box(std::fs::metadata(black_box(&notes)));
        bare.push(began.elapsed().as_secs_f64() * 1e6);
    }
    let measure = Measure::p99(PATH, "us", &took, Target::Below(400.0));
    Ok(vec![
        measure
            .beside_p99("reading the metadata of the file", &bare)
            .with("median_us", median(&took)),
    ])
}
