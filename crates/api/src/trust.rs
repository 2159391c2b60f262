//! Endpoints and types for trusted folders, and for what actions with untrusted data wrote in a folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::time::Millis;

use crate::endpoint::endpoints;
use crate::text::{DateTime, NO_CONTROL, Text};

endpoints! { "folders":
    /// Lists the folders with an answer of the operator, and the workspaces of agents.
    ListFolders {} = Get "/api/folders" -> Vec<TrustedFolder> { 200 "The folders, by path" }
    /// Trusts a folder with everything below it, or stops trusting it. The nearest answer above a file applies.
    TrustFolder = Post "/api/folders" -> TrustedFolder {
        200 "The answer is recorded",
        403 "The caller is a process that an agent started",
        404 "The folder does not exist (`folder_unknown`)",
        409 "The answer could not be recorded",
    }
    /// Lists the files of a folder that actions with untrusted data may have written since the last review.
    ListUntrustedFiles = Get "/api/folders/files" -> FolderReview {
        200 "The files",
        404 "The folder does not exist (`folder_unknown`)",
        409 "The record cannot be read",
    }
    /// Marks a folder as reviewed: what was written until a time counts as the operator's.
    ReviewFolder = Post "/api/folders/review" -> FolderReview {
        200 "What is left to review",
        403 "The caller is a process that an agent started",
        404 "The folder does not exist (`folder_unknown`)",
        409 "The record cannot be changed",
    }
}

/// A folder whose trust is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedFolder {
    /// The path.
    pub folder: String,
    /// Whether its files count as the operator's.
    pub is_trusted: bool,
    /// When the operator answered. Absent for a workspace that the operator gave to an agent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DateTime>")]
    pub answered_at: Option<String>,
    /// The agents that work in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The number of actions with untrusted data that changed it since the last review. Several may count as one.
    pub untrusted_actions: u64,
}

/// The answer about a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustFolder {
    /// The path of the folder on the daemon's machine.
    #[schemars(length(min = 1, max = 4096), regex(pattern = NO_CONTROL))]
    pub folder: String,
    /// Whether it is trusted.
    pub is_trusted: bool,
}

/// Selects the folder whose untrusted files are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListUntrustedFiles {
    /// The path of the folder.
    #[schemars(length(min = 1, max = 4096), regex(pattern = NO_CONTROL))]
    pub folder: String,
}

/// The folder that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewFolder {
    /// The path of the folder.
    #[schemars(length(min = 1, max = 4096), regex(pattern = NO_CONTROL))]
    pub folder: String,
    /// The time of the list that was reviewed (`listed_at`). What was written later stays untrusted.
    pub listed_at: Text<Millis>,
}

/// What actions with untrusted data wrote in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FolderReview {
    /// The path.
    pub folder: String,
    /// When the files were listed.
    #[schemars(with = "DateTime")]
    pub listed_at: String,
    /// The number of actions. Several may count as one.
    pub untrusted_actions: u64,
    /// The files that they may have written and that were not changed since, at most 200.
    pub files: Vec<UntrustedFile>,
    /// Whether there are more files.
    pub is_truncated: bool,
}

/// A file that an action with untrusted data may have written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UntrustedFile {
    /// The path below the folder.
    pub path: String,
    /// When it was changed last.
    #[schemars(with = "DateTime")]
    pub changed_at: String,
    /// The run of the action. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_key: Option<String>,
    /// The agent.
    pub agent_id: String,
    /// The tool.
    pub tool: String,
}
