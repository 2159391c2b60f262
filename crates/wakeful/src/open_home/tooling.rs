//! The tools of this process, made from the home and the settings.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use wakeful_tools::{
    DisabledFeatures, NoSecrets, OwnAddresses, SecretSource, Tools, ToolsOptions, UnsandboxedPolicy,
    WorkspaceError,
};

use super::{SANDBOX_VERB, SandboxRequirement};
use crate::config::Settings;
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::denied_paths;
use crate::failure::Failure;
use crate::home::Home;
use crate::workspace::explain;

/// What the tools of this process are made from.
pub(super) struct ToolOrigin<'a> {
    pub(super) home: &'a Home,
    pub(super) settings: &'a Settings,
    pub(super) secrets: Arc<dyn SecretSource>,
    pub(super) sandboxing: SandboxRequirement,
}

impl ToolOrigin<'_> {
    /// The tools of an engine, without the journal.
    pub(super) fn tools_of(self, workspace: &Path) -> Result<Tools, WorkspaceError> {
        let Self {
            home,
            settings,
            secrets,
            sandboxing,
        } = self;
        Tools::new(ToolsOptions {
            program: "/proc/self/exe".into(),
            program_args_prefix: vec![SANDBOX_VERB.to_owned()],
            home: home.root().to_owned(),
            workspace: workspace.to_owned(),
            scratch: home.scratch(),
            environment: environment(),
            secrets,
            closed: denied_paths::places(settings),
            own_addresses: own_addresses(home.root()),
            limits: settings.tools.limits(),
            output: settings.tools.output(),
            unsandboxed: match sandboxing {
                SandboxRequirement::Required => UnsandboxedPolicy::Refuse,
                SandboxRequirement::Optional => UnsandboxedPolicy::Allow,
            },
            pretend: DisabledFeatures::default(),
        })
    }
}

/// Where daemons listen, of this home and of the user's others.
fn own_addresses(home: &Path) -> OwnAddresses {
    let home = home.to_owned();
    OwnAddresses::new(move || {
        let homes = denied_paths::remembered().into_iter().chain([home.clone()]);
        let records = homes.filter_map(|home| match RunDir::of(&home).found() {
            DaemonPresence::Alive(record) => Some(record),
            DaemonPresence::Absent | DaemonPresence::Stale => None,
        });
        records
            .filter_map(|record| record.http_addr.parse().ok())
            .collect()
    })
}

/// The tools of an agent, to find out what a call would do. They perform nothing.
pub(crate) fn tools_for_facts(home: &Path, settings: &Settings, workspace: &Path) -> Result<Tools, Failure> {
    let home = Home::open(home)?;
    let origin = ToolOrigin {
        home: &home,
        settings,
        secrets: Arc::new(NoSecrets),
        sandboxing: SandboxRequirement::Required,
    };
    let tools = origin.tools_of(workspace).map_err(|error| explain(&error))?;
    Ok(tools.for_explanation())
}

/// The environment for commands. Variables that are not UTF-8 are left out.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
