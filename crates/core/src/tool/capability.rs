//! Capabilities: what a tool needs, and what an agent may be given.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agent_settings::ALL_CATEGORIES;

string_enum! {
    /// A capability in the person's journal.
    #[derive(PartialOrd, Ord)]
    pub enum AgentCapability {
        CategoryRead = "categoryRead",
        TaskRead = "taskRead",
        TaskWrite = "taskWrite",
        ChecklistWrite = "checklistWrite",
        TimeWrite = "timeWrite",
        DayPlanRead = "dayPlanRead",
        DayPlanWrite = "dayPlanWrite",
        RatingRead = "ratingRead",
        RatingWrite = "ratingWrite",
    }
}

string_enum! {
    /// A capability outside the journal.
    #[derive(PartialOrd, Ord)]
    pub enum EnvironmentCapability {
        /// Read files of the workspace.
        FileRead = "fileRead",
        /// Write files of the workspace.
        FileWrite = "fileWrite",
        /// Run commands in the sandbox.
        CommandRun = "commandRun",
        /// Read pages of the web.
        WebRead = "webRead",
        /// Start runs of other agents.
        AgentStart = "agentStart",
    }
}

string_union! {
    /// What a tool needs.
    #[derive(PartialOrd, Ord)]
    pub enum Capability {
        Journal(AgentCapability),
        Environment(EnvironmentCapability),
    }
}

/// What an agent may use. The default permits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentAccessScope {
    /// The categories of the journal that it may use; `*` for all. Without any, it may use no tool.
    pub allowed_category_ids: BTreeSet<String>,
    /// The capabilities that it has; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Whether the provider of its model may search the web for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub web_search: bool,
}

impl AgentAccessScope {
    /// Every category, every capability, and the provider's search.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            allowed_category_ids: [ALL_CATEGORIES.to_owned()].into(),
            capabilities: None,
            web_search: true,
        }
    }

    /// Whether a record of this category may be used. A record without a category is in no category, so it
    /// may be used only with all of them.
    #[must_use]
    pub fn allows_category(&self, category: Option<&str>) -> bool {
        let allowed = &self.allowed_category_ids;
        allowed.contains(ALL_CATEGORIES) || category.is_some_and(|id| allowed.contains(id))
    }

    /// The first capability that the agent lacks.
    pub(crate) fn missing(&self, required: &BTreeSet<Capability>) -> Option<Capability> {
        let given = self.capabilities.as_ref()?;
        required.difference(given).next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_has_nine_capabilities() {
        let expected = [
            "categoryRead",
            "taskRead",
            "taskWrite",
            "checklistWrite",
            "timeWrite",
            "dayPlanRead",
            "dayPlanWrite",
            "ratingRead",
            "ratingWrite",
        ];
        assert_eq!(AgentCapability::WORDS, expected);
    }

    #[test]
    fn no_capability_has_two_meanings() {
        let words: BTreeSet<&str> = Capability::words().collect();
        assert_eq!(words.len(), Capability::words().count());
        for word in Capability::words() {
            assert_eq!(Capability::parse(word).map(Capability::as_str), Some(word));
        }
    }

    #[test]
    fn a_record_without_category_needs_all_categories() {
        let work = AgentAccessScope {
            allowed_category_ids: ["work".to_owned()].into(),
            ..AgentAccessScope::default()
        };
        assert!(work.allows_category(Some("work")));
        assert!(!work.allows_category(Some("home")) && !work.allows_category(None));
        assert!(AgentAccessScope::everything().allows_category(None));
        assert!(!AgentAccessScope::default().allows_category(Some("work")));
    }
}
