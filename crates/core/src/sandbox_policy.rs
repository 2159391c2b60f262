//! The sandbox policy of an agent: one view over its workspace, its settings and the limits of tools. It decides
//! nothing; the parts that it shows are enforced where they are defined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::policy::PathAccess;
use crate::sandbox_scope::SandboxScope;

/// Most repeatable actions of one run that are performed side by side.
pub const CONCURRENT_TOOLS_MAX: u32 = 4;

/// The time that a tool may take unless it has limits of its own.
pub const TOOL_EXECUTION_MS_MAX: u64 = 30_000;

/// What the sandbox of an agent allows, and the limits of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxPolicy {
    /// The agent.
    pub agent_id: String,
    /// Which files its tools may use, beside the temporary folder of each call and the folders of the system.
    pub filesystem_scope: FilesystemScope,
    /// Which hosts its tools may connect to. Without an allowed host they have none.
    pub network_scope: NetworkScope,
    /// The limits of its tools.
    pub resource_limits: ResourceLimits,
}

/// Files that the tools of an agent may use. A folder includes everything in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemScope {
    /// The workspace first, then the folders of the settings.
    pub allowed_paths: Vec<AllowedPath>,
    /// Paths that are excluded even below an allowed one: those of the settings, the home of Wakeful, and places
    /// of credentials.
    pub denied_paths: Vec<String>,
}

/// A file or folder that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedPath {
    /// The path.
    pub path: String,
    /// What may be done with it. Writing includes reading.
    pub access: PathAccess,
}

/// Hosts that the tools of an agent may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkScope {
    /// `HOST`, `HOST:PORT`, `*.DOMAIN` or `packages`.
    pub allowed_hosts: Vec<String>,
    /// Hosts that are excluded even if a pattern allows them. Private addresses always are, unless they are named.
    pub denied_hosts: Vec<String>,
}

/// The limits of an agent's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceLimits {
    /// How many repeatable calls of one run are performed side by side. Others are performed one at a time.
    pub max_concurrent_tools: u32,
    /// The time that a tool may take, in milliseconds. `ExecCommand` has its own limit.
    pub max_tool_execution_ms: u64,
}

impl SandboxPolicy {
    /// The policy of an agent with this workspace and scope, whose placeholders are replaced. `denied` are the
    /// paths that are excluded for every agent.
    #[must_use]
    pub fn new(agent_id: &AgentId, workspace: &str, scope: &SandboxScope, denied: Vec<String>) -> Self {
        let allowed = |path: &String, access| AllowedPath {
            path: path.clone(),
            access,
        };
        let own = AllowedPath {
            path: workspace.to_owned(),
            access: PathAccess::Write,
        };
        let writable = scope.writable_paths.iter();
        let readable = scope.readable_paths.difference(&scope.writable_paths);
        let mut denied_paths: Vec<String> = scope.denied_paths.iter().cloned().chain(denied).collect();
        denied_paths.sort_unstable();
        denied_paths.dedup();
        Self {
            agent_id: agent_id.to_string(),
            filesystem_scope: FilesystemScope {
                allowed_paths: std::iter::once(own)
                    .chain(writable.map(|path| allowed(path, PathAccess::Write)))
                    .chain(readable.map(|path| allowed(path, PathAccess::Read)))
                    .collect(),
                denied_paths,
            },
            network_scope: NetworkScope {
                allowed_hosts: scope.allowed_hosts.iter().cloned().collect(),
                denied_hosts: scope.denied_hosts.iter().cloned().collect(),
            },
            resource_limits: ResourceLimits {
                max_concurrent_tools: CONCURRENT_TOOLS_MAX,
                max_tool_execution_ms: TOOL_EXECUTION_MS_MAX,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // Conformance: A-176
    #[test]
    fn a_sandbox_policy_shows_the_scope_and_the_limits() {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let scope = SandboxScope {
            readable_paths: texts(&["/data", "/both"]),
            writable_paths: texts(&["/both"]),
            denied_paths: texts(&["/data/keys"]),
            allowed_hosts: texts(&["*.example.org"]),
            denied_hosts: texts(&["old.example.org"]),
            ..SandboxScope::default()
        };
        let agent = AgentId::parse("main").expect("an id");
        let policy = SandboxPolicy::new(&agent, "/work", &scope, vec!["/home/.ssh".to_owned()]);
        let json = json!({
            "agent_id": "main",
            "filesystem_scope": {
                "allowed_paths": [
                    {"path": "/work", "access": "write"},
                    {"path": "/both", "access": "write"},
                    {"path": "/data", "access": "read"},
                ],
                "denied_paths": ["/data/keys", "/home/.ssh"],
            },
            "network_scope": {
                "allowed_hosts": ["*.example.org"],
                "denied_hosts": ["old.example.org"],
            },
            "resource_limits": {"max_concurrent_tools": 4, "max_tool_execution_ms": 30000},
        });
        assert_eq!(serde_json::to_value(&policy).expect("JSON"), json);
        assert_eq!(
            serde_json::from_value::<SandboxPolicy>(json).expect("a policy"),
            policy
        );
    }
}
