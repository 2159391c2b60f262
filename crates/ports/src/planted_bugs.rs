//! Planted bugs, one per guarantee, which show that the checker finds violations.
//!
//! Compiled in only under `--cfg fail_points`; in the shipped binary [`is_planted`] is false and the
//! guarded code is optimized out.

/// Every planted bug with the guarantee that it breaks first, by the name that the checker of `make
/// torture` uses.
pub const BUGS: &[(&str, &str)] = &[
    ("message_dropped", "kept"),
    ("open_run_left", "ended"),
    ("plain_again", "at_most_once"),
    ("unknown_called_ok", "done_is_done"),
    ("unknown_called_failed", "no_silence"),
    ("key_forgotten", "one_run"),
    ("told_early", "stays_reported"),
    ("commit_unsynced", "kept"),
    ("blob_unsynced", "kept"),
    ("text_cut", "whole"),
    ("newest_first", "in_order"),
    ("money_kept", "nothing_left_reserved"),
    ("brake_ignored", "braked"),
    ("denied_acts", "answered_once"),
    ("operation_renamed", "written_once"),
    ("change_skipped", "noticed_once"),
    ("moment_skipped", "fired_once"),
];

/// Returns whether the environment requests this bug: `WAKEFUL_PLANTED_BUG=name`.
#[cfg(fail_points)]
#[must_use]
pub fn is_planted(name: &str) -> bool {
    use std::sync::OnceLock;
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "planted bugs exist only in test builds and have no other channel"
    )]
    let wanted = WANTED.get_or_init(|| std::env::var("WAKEFUL_PLANTED_BUG").ok());
    wanted.as_deref() == Some(name)
}

/// Always false in this build.
#[cfg(not(fail_points))]
#[inline(always)]
#[must_use]
pub const fn is_planted(_name: &str) -> bool {
    false
}
