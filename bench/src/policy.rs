//! Measures one policy decision with 200 written policies, compared with looking up as many texts in a map.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result};
use wakeful_core::id::AgentId;
use wakeful_core::policy::{
    ActionRules, CallFacts, PathAccess, PathScope, PolicyEffect, PolicyQuery, Target as CallTarget,
};
use wakeful_core::step::EffectClass;
use wakeful_core::tool::RiskLevel;
use wakeful_policy::{PolicyEngine, ToolRegistry};
use wakeful_ports::policy::Policy as _;

use crate::Setting;
use crate::measure::{Measure, Target};

pub(crate) const NAME: &str = "policy_decision_us";
pub(crate) const MEDIAN: &str = "policy_decision_median_us";

const POLICIES: usize = 200;

const TOOLS: [&str; 8] = [
    "ExecCommand",
    "ReadFile",
    "WriteFile",
    "EditFile",
    "ListFiles",
    "SearchFiles",
    "WebFetch",
    "ApplyPatch",
];

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let home = tempfile::tempdir()?;
    let engine = engine(home.path(), ToolRegistry::new(names()))?;
    let agent_id = AgentId::parse("main")?;
    let rules = ActionRules::default();
    let facts = CallFacts {
        targets: vec![CallTarget::Path {
            path: "/data/7/report".to_owned(),
            access: PathAccess::Read,
            scope: PathScope::Outside,
        }],
        ..CallFacts::default()
    };
    let query = PolicyQuery {
        agent_id: &agent_id,
        tool: "ReadFile",
        rules: &rules,
        facts: &facts,
        class: EffectClass::Idempotent,
        risk: RiskLevel::Low,
        sandbox_level: 1,
    };
    let paths: BTreeMap<String, usize> = (0..POLICIES).map(|n| (format!("/data/{n}/report"), n)).collect();
    // The first decision compiles the policies.
    anyhow::ensure!(
        engine.decide(&query).effect == PolicyEffect::Permit,
        "a policy permits it"
    );
    let (mut took, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(200, 20_000) {
        let began = Instant::now();
        black_box(engine.decide(black_box(&query)));
        took.push(began.elapsed().as_secs_f64() * 1e6);
        let began = Instant::now();
        black_box(
            paths
                .keys()
                .filter(|path| path.as_str() == black_box("/data/7/report"))
                .count(),
        );
        bare.push(began.elapsed().as_secs_f64() * 1e6);
    }
    let reference = "comparing the path with 200 others";
    let slowest = Measure::p99(NAME, "us", &took, Target::Below(150.0)).beside_p99(reference, &bare);
    let usual = Measure::median(MEDIAN, "us", &took, Target::Below(50.0)).beside(reference, &bare);
    let measures = [slowest, usual];
    Ok(measures
        .map(|measure| measure.with("policies", POLICIES as f64))
        .into())
}

/// The names of the tools that the policies are about.
pub(crate) fn names() -> std::collections::BTreeSet<String> {
    TOOLS.map(str::to_owned).into()
}

/// An engine that follows a home with policies over all tools; an eighth of them concern each tool.
pub(crate) fn engine(home: &std::path::Path, tools: ToolRegistry) -> Result<PolicyEngine> {
    let mut text = String::new();
    for (n, tool) in (0..POLICIES).zip(TOOLS.iter().cycle().skip(2)) {
        writeln!(
            text,
            "permit (principal, action == Action::\"{tool}\", resource is Path) when {{ resource.path like \"/data/{n}/*\" }};"
        )?;
    }
    std::fs::create_dir_all(home.join("policy"))?;
    std::fs::write(home.join("policy/main.cedar"), text)?;
    PolicyEngine::following(home.to_owned(), tools).context("the policy engine")
}
