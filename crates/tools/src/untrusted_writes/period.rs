//! The time of one action with untrusted data, or of several.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wakeful_core::key::RunKey;
use wakeful_ports::tool::ToolRequest;

/// Most periods of one folder. Beyond it, neighbours become one, which only makes more files untrusted.
pub(super) const PERIODS_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Period {
    pub(super) from_ms: u64,
    /// None while the action runs, and if it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) until_ms: Option<u64>,
    /// The operation, while it runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) operation: String,
    /// The runs, the tools and the agent, for people; of the newest action of several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) run: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) tool: String,
    /// The process that performs the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) process: Option<RunningProcess>,
    /// Whether a trusted command may reach a host. Until it ends, its period does not make the folder untrusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_tentative: bool,
}

impl Period {
    pub(super) fn new(act: &ToolRequest, from_ms: u64) -> Self {
        Self {
            from_ms,
            until_ms: None,
            operation: act.operation_id.to_string(),
            run: act.run_key.map(|run| run.to_string()).unwrap_or_default(),
            agent: act.agent_id.to_string(),
            tool: act.tool.clone(),
            process: None,
            is_tentative: false,
        }
    }

    /// A person restores the files of a run.
    pub(super) fn of_undo(run: RunKey) -> Self {
        Self {
            from_ms: 0,
            until_ms: None,
            operation: format!("undo {run}"),
            run: run.to_string(),
            agent: String::new(),
            tool: "undo".to_owned(),
            process: None,
            is_tentative: false,
        }
    }

    pub(super) fn contains(&self, at_ms: u64) -> bool {
        at_ms >= self.from_ms && self.until_ms.is_none_or(|until| at_ms <= until)
    }

    /// Whether it makes the folder untrusted.
    pub(super) fn counts(&self) -> bool {
        !self.is_tentative || self.is_orphan()
    }

    pub(super) fn is_open_as(&self, operation: &str) -> bool {
        self.until_ms.is_none() && self.operation == operation
    }

    pub(super) fn close(&mut self, until_ms: u64) {
        self.until_ms = Some(until_ms.max(self.from_ms));
        self.is_tentative = false;
        self.process = None;
    }

    /// Whether its process died before the end of the action.
    pub(super) fn is_orphan(&self) -> bool {
        let process = self.process.as_ref();
        self.until_ms.is_none() && process.is_some_and(|process| !process.is_alive())
    }
}

/// A process of this machine. A process in another container is not visible, and counts as alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunningProcess {
    pid: u32,
    /// The container in which the number is valid.
    container: String,
}

impl RunningProcess {
    pub(super) fn own() -> Self {
        Self {
            pid: std::process::id(),
            container: container(),
        }
    }

    fn is_alive(&self) -> bool {
        self.container != container() || Path::new("/proc").join(self.pid.to_string()).exists()
    }
}

fn container() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

/// Joins the oldest periods that ended while there are too many.
pub(super) fn bound(periods: &mut Vec<Period>) {
    while periods.len() > PERIODS_MAX {
        let mut ended = periods
            .iter()
            .enumerate()
            .filter(|(_, one)| one.until_ms.is_some());
        let (Some((first, oldest)), Some((second, next))) = (ended.next(), ended.next()) else {
            return;
        };
        let (from_ms, until_ms) = (
            oldest.from_ms.min(next.from_ms),
            oldest.until_ms.max(next.until_ms),
        );
        if let Some(joined) = periods.get_mut(second) {
            (joined.from_ms, joined.until_ms) = (from_ms, until_ms);
        }
        periods.remove(first);
    }
}
