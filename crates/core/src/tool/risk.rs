//! The risk registry: the severity and blast radius of tool calls that do not state them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RiskLevel, ToolContract};
use crate::decision::{BlastRadius, Severity};

/// Maximum number of characters of a pattern, as of a tool's name.
pub const PATTERN_CHARS_MAX: usize = 64;

/// Maximum number of classifications of one plugin.
pub const CLASSIFICATIONS_MAX: usize = 256;

/// The default risk of the tools that a pattern matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolRiskClassification {
    /// A tool's name; `*` stands for any characters.
    pub tool_pattern: String,
    pub default_severity: Severity,
    pub default_blast_radius: BlastRadius,
    /// From 0 to 1.
    pub default_confidence: f64,
    /// Whether an approval must state a reason.
    pub requires_rationale: bool,
}

impl ToolRiskClassification {
    /// The classification of a tool by the risk tier of its contract.
    #[must_use]
    pub fn of(contract: &ToolContract) -> Self {
        let (severity, blast_radius) = match contract.risk_level {
            RiskLevel::Low => (Severity::Low, BlastRadius::Small),
            RiskLevel::Medium => (Severity::Medium, BlastRadius::Small),
            RiskLevel::High => (Severity::High, BlastRadius::Unknown),
        };
        Self {
            tool_pattern: contract.name.clone(),
            default_severity: severity,
            default_blast_radius: blast_radius,
            default_confidence: 0.5,
            requires_rationale: false,
        }
    }

    fn matches(&self, tool: &str) -> bool {
        matches_pattern(&self.tool_pattern, tool)
    }

    /// Exact patterns first, then longer literal prefixes; among equals the longer pattern.
    fn specificity(&self) -> (bool, usize, usize) {
        let pattern = &self.tool_pattern;
        let prefix = pattern.find('*');
        (prefix.is_none(), prefix.unwrap_or(pattern.len()), pattern.len())
    }
}

/// The risk fields of a proposed call. Absent ones are filled from the registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RiskFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blast_radius: Option<BlastRadius>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// The risk of a call with every field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolRisk {
    pub severity: Severity,
    pub blast_radius: BlastRadius,
    /// `None` if no classification matched and the call states none.
    pub confidence: Option<f64>,
    /// Whether a classification matched. Otherwise a person decides in every permission mode.
    pub is_classified: bool,
}

/// The risk of a call as its approval shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRisk {
    pub severity: Severity,
    pub blast_radius: BlastRadius,
}

impl From<ToolRisk> for CallRisk {
    fn from(risk: ToolRisk) -> Self {
        Self {
            severity: risk.severity,
            blast_radius: risk.blast_radius,
        }
    }
}

/// The classifications of one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginRegistration {
    pub plugin: String,
    pub tool_classifications: Vec<ToolRiskClassification>,
}

/// Why a registration is refused. Nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    #[error("plugin {plugin:?} is already registered; register each plugin once")]
    Duplicate { plugin: String },
    #[error("plugin {plugin:?} has {found} classifications, at most {CLASSIFICATIONS_MAX} are allowed")]
    TooMany { plugin: String, found: usize },
    #[error("plugin {plugin:?}: toolPattern {pattern:?} must have 1 to {PATTERN_CHARS_MAX} characters")]
    BadPattern { plugin: String, pattern: String },
    #[error("plugin {plugin:?}: defaultConfidence of {pattern:?} must be from 0 to 1")]
    BadConfidence { plugin: String, pattern: String },
}

/// The classifications of all plugins.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RiskRegistry {
    plugins: BTreeMap<String, Vec<ToolRiskClassification>>,
}

impl RiskRegistry {
    /// Adds the classifications of a plugin.
    pub fn register(&mut self, registration: PluginRegistration) -> Result<(), RegistrationError> {
        let PluginRegistration {
            plugin,
            tool_classifications: list,
        } = registration;
        if self.plugins.contains_key(&plugin) {
            return Err(RegistrationError::Duplicate { plugin });
        }
        if list.len() > CLASSIFICATIONS_MAX {
            let found = list.len();
            return Err(RegistrationError::TooMany { plugin, found });
        }
        for one in &list {
            let pattern = one.tool_pattern.clone();
            if !(1..=PATTERN_CHARS_MAX).contains(&pattern.chars().count()) {
                return Err(RegistrationError::BadPattern { plugin, pattern });
            }
            if !(0.0..=1.0).contains(&one.default_confidence) {
                return Err(RegistrationError::BadConfidence { plugin, pattern });
            }
        }
        self.plugins.insert(plugin, list);
        Ok(())
    }

    /// The most specific classification that matches a tool.
    #[must_use]
    pub fn classify(&self, tool: &str) -> Option<&ToolRiskClassification> {
        let all = self.plugins.values().flatten();
        all.filter(|one| one.matches(tool))
            .max_by_key(|one| one.specificity())
    }

    /// Fills the absent fields of a call. Stated fields are kept. A tool that no pattern matches has high
    /// severity and an unknown blast radius.
    #[must_use]
    pub fn fill(&self, tool: &str, stated: RiskFields) -> ToolRisk {
        fill(self.classify(tool), stated)
    }
}

/// Fills the absent fields of a call from its classification, if it has one.
#[must_use]
pub fn fill(found: Option<&ToolRiskClassification>, stated: RiskFields) -> ToolRisk {
    let severity = found.map_or(Severity::High, |one| one.default_severity);
    let blast_radius = found.map_or(BlastRadius::Unknown, |one| one.default_blast_radius);
    ToolRisk {
        severity: stated.severity.unwrap_or(severity),
        blast_radius: stated.blast_radius.unwrap_or(blast_radius),
        confidence: stated.confidence.or(found.map(|one| one.default_confidence)),
        is_classified: found.is_some(),
    }
}

/// Whether a name matches a pattern in which `*` stands for any characters. Linear in time for each `*`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else {
            return false;
        };
        left = left.get(at.saturating_add(part.len())..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(pattern: &str, severity: Severity) -> ToolRiskClassification {
        ToolRiskClassification {
            tool_pattern: pattern.to_owned(),
            default_severity: severity,
            default_blast_radius: BlastRadius::Small,
            default_confidence: 0.9,
            requires_rationale: false,
        }
    }

    fn plugin(plugin: &str, list: Vec<ToolRiskClassification>) -> PluginRegistration {
        PluginRegistration {
            plugin: plugin.to_owned(),
            tool_classifications: list,
        }
    }

    fn registry(list: Vec<ToolRiskClassification>) -> RiskRegistry {
        let mut registry = RiskRegistry::default();
        registry.register(plugin("test", list)).expect("registered");
        registry
    }

    // Conformance: P-118
    #[test]
    fn the_most_specific_pattern_wins() {
        let registry = registry(vec![
            class("*", Severity::Critical),
            class("deploy*", Severity::High),
            class("de*", Severity::Medium),
            class("deploy_dev", Severity::Low),
            class("rm", Severity::High),
        ]);
        let found = |tool| registry.classify(tool).map(|one| one.tool_pattern.as_str());
        assert_eq!(found("deploy_prod"), Some("deploy*"));
        assert_eq!(found("delete"), Some("de*"));
        assert_eq!(found("deploy_dev"), Some("deploy_dev"));
        assert_eq!(found("rm"), Some("rm"));
        assert_eq!(found("rmdir"), Some("*"));
    }

    #[test]
    fn absent_risk_fields_are_filled_and_stated_ones_kept() {
        let registry = registry(vec![class("write", Severity::Medium)]);
        let filled = registry.fill("write", RiskFields::default());
        assert_eq!(
            (filled.severity, filled.blast_radius, filled.confidence),
            (Severity::Medium, BlastRadius::Small, Some(0.9))
        );
        let stated = RiskFields {
            severity: Some(Severity::Critical),
            blast_radius: None,
            confidence: Some(0.1),
        };
        let kept = registry.fill("write", stated);
        assert_eq!(
            (kept.severity, kept.blast_radius, kept.confidence),
            (Severity::Critical, BlastRadius::Small, Some(0.1))
        );
    }

    #[test]
    fn a_tool_without_classification_has_the_highest_risk() {
        let risk = registry(vec![class("write", Severity::Low)]).fill("erase", RiskFields::default());
        assert_eq!(
            (risk.severity, risk.blast_radius, risk.is_classified),
            (Severity::High, BlastRadius::Unknown, false)
        );
    }

    // Conformance: P-120
    #[test]
    fn a_plugin_is_registered_once_and_only_with_valid_fields() {
        let mut registry = RiskRegistry::default();
        let first = plugin("ci", vec![class("deploy*", Severity::High)]);
        registry.register(first.clone()).expect("registered");
        let second = registry.register(plugin("ci", vec![]));
        assert_eq!(
            second,
            Err(RegistrationError::Duplicate {
                plugin: "ci".to_owned()
            })
        );
        assert!(registry.classify("deploy_prod").is_some(), "the first one stays");
        let unsure = ToolRiskClassification {
            default_confidence: f64::NAN,
            ..class("x", Severity::Low)
        };
        for (list, expected) in [
            (vec![class("", Severity::Low)], "toolPattern"),
            (vec![unsure], "0 to 1"),
        ] {
            let error = registry.register(plugin("bad", list)).expect_err("accepted");
            assert!(error.to_string().contains(expected), "{error}");
        }
        let sent = serde_json::to_value(&first).expect("JSON");
        let fields = &sent["toolClassifications"][0];
        for field in [
            "toolPattern",
            "defaultSeverity",
            "defaultBlastRadius",
            "defaultConfidence",
            "requiresRationale",
        ] {
            assert!(fields.get(field).is_some(), "{field}");
        }
        assert_eq!(
            serde_json::from_value::<PluginRegistration>(sent).ok(),
            Some(first)
        );
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "abd", false),
            ("*b*", "abc", true),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "acb", false),
            ("ab*b", "ab", false),
            ("*", "", true),
            ("a", "b", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
