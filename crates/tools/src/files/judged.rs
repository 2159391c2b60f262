//! The paths of a walk on which policies decide one by one.
//!
//! The sandboxed process reports names first. Only the permitted ones become part of a list, and only permitted
//! files are opened by a search.

use std::path::Path;

use wakeful_core::policy::{PathAccess, PathDecisions, PathScope, Target};
use wakeful_ports::tool::PathPolicy;

use super::location::Reach;
use super::scan_task::{ScanKind, ScanReport, ScanTask};

/// The paths of a walk with the decision on each.
#[derive(Debug)]
pub(crate) struct JudgedPaths {
    names: ScanReport,
    /// In the order of the names.
    is_permitted: Vec<bool>,
}

/// The call lists names only, or no file of it is permitted.
pub(crate) struct NothingToSearch;

impl JudgedPaths {
    /// Decides on the paths of a report. A path that is not UTF-8, or that has no decision, is not permitted.
    pub(crate) fn of(names: ScanReport, root: &Path, reach: &Reach, policy: &PathPolicy) -> Self {
        let targets: Vec<Option<Target>> = names
            .paths
            .iter()
            .map(|inner| target(root, inner.as_deref()?, reach))
            .collect();
        let known: Vec<Target> = targets.iter().flatten().cloned().collect();
        let decisions = match policy.decide(&known) {
            PathDecisions::Unrestricted => vec![true; known.len()],
            PathDecisions::Each(decisions) => decisions,
        };
        let mut decisions = decisions.into_iter();
        let decide = |target: &Option<Target>| target.is_some() && decisions.next() == Some(true);
        Self {
            is_permitted: targets.iter().map(decide).collect(),
            names,
        }
    }

    /// The search of the permitted files.
    pub(crate) fn search(&self, task: ScanTask) -> Result<ScanTask, NothingToSearch> {
        let files: Vec<String> = self.permitted(&self.names.paths).flatten().cloned().collect();
        match task.kind {
            ScanKind::Search {
                pattern,
                ignore_case,
                files_only,
                context,
                only: _,
            } if !files.is_empty() => Ok(ScanTask {
                kind: ScanKind::Search {
                    pattern,
                    ignore_case,
                    files_only,
                    context,
                    only: Some(files),
                },
                ..task
            }),
            ScanKind::Search { .. } | ScanKind::List { .. } | ScanKind::Files => Err(NothingToSearch),
        }
    }

    /// What a search of the permitted files found, with what is known about the others.
    pub(crate) fn found(&self, found: ScanReport) -> ScanReport {
        ScanReport {
            skipped: found.skipped.saturating_add(self.names.skipped),
            stopped: found.stopped.or(self.names.stopped),
            withheld: self.withheld(),
            ..found
        }
    }

    /// The list without what is not permitted. The list of a search is empty.
    pub(crate) fn listed(self) -> ScanReport {
        let lines: Vec<&str> = self.names.text.split_inclusive('\n').collect();
        let text: String = self.permitted(&lines).copied().collect();
        ScanReport {
            count: text.matches('\n').count() as u64,
            text,
            withheld: self.withheld(),
            paths: Vec::new(),
            ..self.names
        }
    }

    fn withheld(&self) -> u64 {
        self.is_permitted.iter().filter(|permitted| !**permitted).count() as u64
    }

    fn permitted<'a, T>(&'a self, all: &'a [T]) -> impl Iterator<Item = &'a T> {
        let both = all.iter().zip(&self.is_permitted);
        both.filter(|(_, is_permitted)| **is_permitted)
            .map(|(one, _)| one)
    }
}

impl ScanTask {
    /// The walk that reports the paths on which policies decide.
    pub(crate) fn names(&self) -> Self {
        let kind = match &self.kind {
            ScanKind::List { depth } => ScanKind::List { depth: *depth },
            ScanKind::Files | ScanKind::Search { .. } => ScanKind::Files,
        };
        Self {
            is_judged: true,
            kind,
            ..self.clone()
        }
    }
}

/// A path below the root as policies see it; none for one that no call may reach.
fn target(root: &Path, inner: &str, reach: &Reach) -> Option<Target> {
    // The walk starts from a file, which has no path below itself.
    let path = match inner {
        "" => root.to_owned(),
        inner => root.join(inner),
    };
    let scope = reach.scope(&path, PathAccess::Read);
    (scope != PathScope::Denied).then(|| Target::Path {
        path: path.to_string_lossy().into_owned(),
        access: PathAccess::Read,
        scope,
    })
}
