//! The tools of this process, made from the home and the settings.

use std::collections::BTreeMap;
use std::path::Path;

use wakeful_tools::{DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy, WorkspaceError};

use super::{SANDBOX_VERB, SandboxRequirement};
use crate::config::Settings;
use crate::denied_paths;
use crate::failure::Failure;
use crate::home::Home;
use crate::workspace::explain;

/// The tools of an engine, without the journal.
pub(super) fn tools_of(
    home: &Home,
    settings: &Settings,
    workspace: &Path,
    sandboxing: SandboxRequirement,
) -> Result<Tools, WorkspaceError> {
    Tools::new(ToolsOptions {
        program: "/proc/self/exe".into(),
        program_args_prefix: vec![SANDBOX_VERB.to_owned()],
        home: home.root().to_owned(),
        workspace: workspace.to_owned(),
        scratch: home.scratch(),
        environment: environment(),
        closed: denied_paths::places(settings),
        limits: settings.tools.limits(),
        output: settings.tools.output(),
        unsandboxed: match sandboxing {
            SandboxRequirement::Required => UnsandboxedPolicy::Refuse,
            SandboxRequirement::Optional => UnsandboxedPolicy::Allow,
        },
        pretend: DisabledFeatures::default(),
    })
}

/// The tools of an agent, to find out what a call would do. They perform nothing.
pub(crate) fn tools_for_facts(home: &Path, settings: &Settings, workspace: &Path) -> Result<Tools, Failure> {
    let home = Home::open(home)?;
    let tools = tools_of(&home, settings, workspace, SandboxRequirement::Required);
    let tools = tools.map_err(|error| explain(&error))?;
    Ok(tools.for_explanation())
}

/// The environment for commands. Variables that are not UTF-8 are left out.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
