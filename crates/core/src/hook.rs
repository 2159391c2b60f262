//! Hooks: programs and local services of the operator that see what an agent is about to do, or has done. They
//! may block, require approval, change arguments or only observe, and never permit what a policy does not.
//!
//! The files and the JSON are those that other agent programs use. This module parses the files and judges what a
//! hook answered; the tools run them.

mod answer;
mod file;
#[cfg(test)]
mod tests;

pub use self::answer::{HookEnd, HookOutput, HookVerdict, judge};
pub use self::file::{HookAction, HookFile, HookSpec, IMPORTED_TOOLS, ImportedHooks, import};

/// Maximum size of a hook file in bytes.
pub const HOOK_FILE_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of hooks in a file. All hooks of a reply share [`REPLY_HOOKS_MS_MAX`].
pub const HOOKS_MAX: usize = 64;

/// Maximum size of what a hook may answer, in bytes: changed arguments may contain a file.
pub const HOOK_OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// The time that a hook may take if its file does not say.
pub const HOOK_MS_DEFAULT: u64 = 10_000;

/// The time that all hooks of one reply may take together, and the longest time of one hook.
pub const REPLY_HOOKS_MS_MAX: u64 = 60_000;

/// Maximum length of a reason, in characters: a line that people and models read.
pub const REASON_CHARS_MAX: usize = 300;

string_enum! {
    /// The moment at which a hook runs.
    #[derive(PartialOrd, Ord)]
    pub enum HookEvent {
        /// A conversation begins.
        SessionStart = "SessionStart",
        /// A message is about to be sent to the model.
        UserPromptSubmit = "UserPromptSubmit",
        /// A call is about to be decided on.
        PreToolUse = "PreToolUse",
        /// A call ended, and its result is not recorded yet.
        PostToolUse = "PostToolUse",
        /// A call was denied, and the denial is recorded.
        PermissionDenied = "PermissionDenied",
        /// The model answered without calls.
        Stop = "Stop",
    }
}

impl HookEvent {
    /// Whether a hook of this event can block. If it fails, it blocks too.
    #[must_use]
    pub const fn is_blocking(self) -> bool {
        match self {
            Self::SessionStart | Self::UserPromptSubmit | Self::PreToolUse | Self::PostToolUse => true,
            Self::PermissionDenied | Self::Stop => false,
        }
    }

    /// Whether the hooks of this event are chosen by the name of a tool.
    #[must_use]
    pub const fn has_tool(self) -> bool {
        match self {
            Self::PreToolUse | Self::PostToolUse | Self::PermissionDenied => true,
            Self::SessionStart | Self::UserPromptSubmit | Self::Stop => false,
        }
    }
}

string_enum! {
    /// What a hook led to.
    #[derive(PartialOrd, Ord)]
    pub enum HookResult {
        /// Nothing.
        Passed = "passed",
        /// The call needs an approval.
        Asked = "asked",
        /// The arguments of the call changed.
        Changed = "changed",
        /// It stopped the step.
        Blocked = "blocked",
        /// It failed. A hook that can block blocks then.
        Failed = "failed",
    }
}
