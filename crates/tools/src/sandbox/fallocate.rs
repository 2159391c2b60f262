//! Refuses to allocate disk space without writing to it.
//!
//! fallocate(2) can fill a disk in one call, faster than the supervisor can detect it. On "not supported",
//! C libraries write zeros instead, which can be measured. Releasing space stays allowed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::protocol::StageError;

/// `FALLOC_FL_PUNCH_HOLE` with its mandatory flag.
const GIVE_BACK: u64 = 3;

/// Installs the filter permanently, for this process and all its children.
pub(super) fn refuse_allocation() -> Result<(), StageError> {
    let install = || apply_filter(&filter()?);
    install().map_err(StageError::failed("refusing disk space allocation"))
}

fn filter() -> Result<BpfProgram, seccompiler::Error> {
    let other = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, GIVE_BACK)?;
    let rules = vec![SeccompRule::new(vec![other])?];
    // The x32 number of the call is not needed: no list allows it.
    let table = BTreeMap::from([(libc::SYS_fallocate, rules)]);
    let refuse = SeccompAction::Errno(libc::EOPNOTSUPP.unsigned_abs());
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(SeccompFilter::new(table, SeccompAction::Allow, refuse, architecture)?.try_into()?)
}
