//! Fail points: named places where a test can end the process as `kill -9` would.
//!
//! Compiled in only under `--cfg fail_points`; in the shipped binary [`fail_point`] is empty and is
//! optimized out.

/// Every fail point, in the order in which a run reaches them. The crash tests iterate over this list.
pub const POINTS: &[&str] = &[
    "admit.before_commit",
    "admit.after_commit",
    "claim.after_commit",
    "model.before_reserve",
    "model.after_reserve",
    "model.before_ask",
    "model.after_answer",
    "transition.before_commit",
    "store.before_commit",
    "store.after_commit",
    "transition.after_commit",
    "act.before_perform",
    "act.in_process",
    "act.after_perform",
    "recover.before_clear",
    "recover.after_clear",
    "blob.before_rename",
    "blob.after_rename",
    "end.before_report",
    "journal.before_commit",
    "journal.after_commit",
    "saga.before_undo",
    "saga.after_undo",
    "saga.after_close",
    "decision.after_answer",
    "outside.before_commit",
    "outside.after_commit",
    "notice.before_commit",
    "notice.after_commit",
    "timer.before_commit",
    "timer.after_commit",
];

/// Ends the process here if the environment requests it: `WAKEFUL_FAIL_POINT=name`, or `name:n` for the n-th call.
#[cfg(fail_points)]
pub fn fail_point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    #[expect(
        clippy::disallowed_methods,
        reason = "fail points exist only in test builds and have no other channel"
    )]
    let Ok(wanted) = std::env::var("WAKEFUL_FAIL_POINT") else {
        return;
    };
    let (wanted, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
    if wanted == name && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == nth.parse().unwrap_or(1) {
        // Abort instead of exit: no destructor, no flush, no exit handler, as if the process were killed.
        std::process::abort();
    }
}

/// Does nothing in this build.
#[cfg(not(fail_points))]
#[inline(always)]
pub fn fail_point(_name: &str) {}
