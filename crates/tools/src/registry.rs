//! The registry of tools: one table with what is known about each tool before it is called.
//!
//! The names, the catalogue for models, the classes, the risks and the time limits derive from it, and the
//! tool host dispatches on the group. A new group adds its entries here and one arm to each match of the host.

use wakeful_core::conversation::ToolSpec;
use wakeful_core::retry::RetryPolicy;
use wakeful_core::step::EffectClass;
use wakeful_core::sub_run;
use wakeful_core::tool::{RiskLevel, WEB_SEARCH};
use wakeful_ports::tool::TOOL_MS_MAX;

use crate::files::patch::apply;
use crate::files::{edit, read, scan};
use crate::{arguments, journal, journal_listing, journal_reading, web};

/// The module that checks and performs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolGroup {
    /// Shell commands in the sandbox.
    Command,
    /// Reads and changes of files, in this process.
    Files,
    /// Walks through folders, in the sandbox.
    Scan,
    /// Reads from the web.
    Web,
    /// The model's provider performs these while it writes a reply; they are never called.
    Provider,
    /// Writes to the person's journal; available only with a journal.
    Journal,
    /// Reads of the person's journal; available only with a journal.
    JournalReading,
    /// The engine performs these itself, in the transaction of the run.
    Engine,
}

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolEntry {
    pub name: &'static str,
    pub group: ToolGroup,
    /// What recovery does after a crash.
    pub class: EffectClass,
    pub risk: RiskLevel,
    /// The time that a call may take; none for a tool with limits of its own.
    pub time_limit_ms: Option<u64>,
    /// The automatic retries after transient failures.
    pub retry: Option<RetryPolicy>,
    /// The description and schema for models.
    pub spec: fn() -> ToolSpec,
}

/// All tools, in the order in which models see them.
pub const TOOLS: [ToolEntry; 20] = [
    ToolEntry {
        time_limit_ms: None,
        ..plain(
            arguments::TOOL,
            ToolGroup::Command,
            RiskLevel::High,
            arguments::spec,
        )
    },
    reading(read::READ_FILE, ToolGroup::Files, read::spec),
    plain(
        edit::WRITE_FILE,
        ToolGroup::Files,
        RiskLevel::Medium,
        edit::write_spec,
    ),
    plain(
        edit::EDIT_FILE,
        ToolGroup::Files,
        RiskLevel::Medium,
        edit::edit_spec,
    ),
    plain(
        apply::APPLY_PATCH,
        ToolGroup::Files,
        RiskLevel::Medium,
        apply::spec,
    ),
    reading(scan::LIST_FILES, ToolGroup::Scan, scan::list_spec),
    reading(scan::SEARCH_FILES, ToolGroup::Scan, scan::search_spec),
    ToolEntry {
        class: EffectClass::Idempotent,
        ..plain(web::TOOL, ToolGroup::Web, RiskLevel::Medium, web::spec)
    },
    reading(WEB_SEARCH, ToolGroup::Provider, web::search_spec),
    journal_write(journal::CREATE_TASK, journal::create_task_spec),
    journal_write(journal::UPDATE_TASK, journal::update_task_spec),
    journal_read(journal_reading::LIST_TASKS, journal_reading::list_tasks_spec),
    journal_read(journal_reading::GET_TASK, journal_reading::get_task_spec),
    journal_read(
        journal_reading::LIST_CATEGORIES,
        journal_reading::list_categories_spec,
    ),
    journal_read(journal_listing::LIST_CHECKLISTS, journal_listing::checklists_spec),
    journal_read(
        journal_listing::LIST_TIME_ENTRIES,
        journal_listing::time_entries_spec,
    ),
    journal_read(journal_listing::LIST_DAY_PLANS, journal_listing::day_plans_spec),
    journal_read(journal_listing::LIST_RATINGS, journal_listing::ratings_spec),
    journal_read(journal_listing::LIST_LINKS, journal_listing::links_spec),
    ToolEntry {
        class: EffectClass::Internal,
        ..plain(
            sub_run::START_RUN,
            ToolGroup::Engine,
            RiskLevel::Medium,
            start_run_spec,
        )
    },
];

/// The names of all tools, for callers that need them before a workspace exists.
pub const TOOL_NAMES: [&str; TOOLS.len()] = names();

/// The entry of a tool.
#[must_use]
pub fn find(tool: &str) -> Option<&'static ToolEntry> {
    const { &TOOLS }.iter().find(|entry| entry.name == tool)
}

/// The descriptions and schemas of the tools that this crate performs. The engine describes its own, because
/// they depend on the agent.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let performed = TOOLS.iter().filter(|entry| entry.group != ToolGroup::Engine);
    performed.map(|entry| (entry.spec)()).collect()
}

/// A tool with an effect outside that happens at most once.
const fn plain(name: &'static str, group: ToolGroup, risk: RiskLevel, spec: fn() -> ToolSpec) -> ToolEntry {
    ToolEntry {
        name,
        group,
        class: EffectClass::Plain,
        risk,
        time_limit_ms: Some(TOOL_MS_MAX),
        retry: None,
        spec,
    }
}

/// A tool that only reads, so it can be repeated.
const fn reading(name: &'static str, group: ToolGroup, spec: fn() -> ToolSpec) -> ToolEntry {
    ToolEntry {
        class: EffectClass::Idempotent,
        ..plain(name, group, RiskLevel::Low, spec)
    }
}

const fn journal_write(name: &'static str, spec: fn() -> ToolSpec) -> ToolEntry {
    ToolEntry {
        class: EffectClass::Saga,
        retry: Some(RetryPolicy::REPEATABLE),
        ..plain(name, ToolGroup::Journal, RiskLevel::Medium, spec)
    }
}

const fn journal_read(name: &'static str, spec: fn() -> ToolSpec) -> ToolEntry {
    ToolEntry {
        retry: Some(RetryPolicy::REPEATABLE),
        ..reading(name, ToolGroup::JournalReading, spec)
    }
}

fn start_run_spec() -> ToolSpec {
    sub_run::spec(&std::collections::BTreeSet::new())
}

const fn names() -> [&'static str; TOOLS.len()] {
    let mut names = [""; TOOLS.len()];
    let (mut entries, mut rest): (&[ToolEntry], &mut [&str]) = (&TOOLS, &mut names);
    while let Some((entry, more)) = entries.split_first()
        && let Some((name, others)) = rest.split_first_mut()
    {
        *name = entry.name;
        entries = more;
        rest = others;
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_tool_is_described_under_its_own_name() {
        let described: Vec<String> = TOOLS.iter().map(|entry| (entry.spec)().name).collect();
        assert_eq!(described, TOOL_NAMES);
        let names: BTreeSet<&str> = TOOL_NAMES.into_iter().collect();
        assert_eq!(names.len(), TOOL_NAMES.len(), "each name once");
    }

    #[test]
    fn the_catalogue_is_small() {
        let size =
            |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
        let bytes: usize = specs().iter().map(size).sum();
        assert!(bytes < 8_500, "{bytes} bytes");
    }

    #[test]
    fn only_repeatable_tools_are_retried() {
        for entry in &TOOLS {
            let may_repeat = !matches!(entry.class, EffectClass::Plain | EffectClass::Internal);
            assert!(entry.retry.is_none() || may_repeat, "{}", entry.name);
        }
    }
}
