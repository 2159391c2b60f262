#![forbid(unsafe_code)]
//! Permission policies in Cedar: which call of a tool is permitted, asks or is denied.
//!
//! | module | what it does |
//! |---|---|
//! | `generated` | policies from settings, the run's restrictions and the permission mode |
//! | [`document`], [`folder`], `last_valid` | policies that people write |
//! | `request` | calls as Cedar requests: facts are values and are never parsed |
//! | `compiled` | slices by agent, tool and kind of target, and what they say about a request |
//! | [`engine`], `explain` | the verdict on a call, and what would change it |
//! | `host` | the decision on a host that a running call connects to |
//! | `path` | the decision on paths that a walk through folders finds |
//! | [`import`] | lists of permissions of other programs |

mod bounds;
mod compiled;
pub mod document;
pub mod engine;
mod explain;
pub mod folder;
mod generated;
mod host;
pub mod import;
mod last_valid;
mod names;
mod path;
mod request;
mod schema;

pub use self::compiled::{EffectivePolicy, PolicySource};
pub use self::document::{PolicyKind, PolicyParser, PolicyProblem, WrittenPolicy};
pub use self::engine::{Judgement, PolicyEngine, TargetJudgement, ToolRegistry};
pub use self::explain::{Alternative, Explanation};
pub use self::folder::{FolderPolicies, PolicyFolders};

#[cfg(test)]
mod tests;
