//! The policy of simulated processes: the program's own, without policy files.

use std::collections::BTreeSet;

use wakeful_policy::{PolicyEngine, ToolRegistry};

/// A policy that knows these tools.
#[expect(clippy::expect_used, reason = "the built-in entity names are valid")]
pub(crate) fn tool_policy(tools: BTreeSet<String>) -> PolicyEngine {
    PolicyEngine::new(ToolRegistry::new(tools)).expect("a policy")
}
