//! Quotas of tools: how often an agent may use a tool in one session and within 24 hours. Uses are counted
//! from the steps of its runs, and no counter can be reset or lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::ToolError;
use crate::time::Millis;

/// The code of a call that a quota denies.
pub const TOOL_QUOTA_EXCEEDED: &str = "tool_quota_exceeded";

/// The length of the period of `max_per_day`, which ends at the current time and not at midnight.
pub const QUOTA_DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Maximum of a limit. A higher one would never be reached within a day.
pub const QUOTA_MAX: u32 = 1_000_000;

/// How often an agent may use a tool. A quota has at least one limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolQuota {
    /// Maximum uses in one session of the agent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::json::whole_number"
    )]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_per_session: Option<u32>,
    /// Maximum uses within the last 24 hours, over all sessions.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::json::whole_number"
    )]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_per_day: Option<u32>,
}

/// How often a tool was used, as far as its quota limits it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    pub current_session_count: u64,
    pub current_day_count: u64,
}

/// The quota of a tool and its use so far. The driver reads it, and the run log stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaReads {
    pub quota: ToolQuota,
    pub used: QuotaUse,
    /// When the counted 24 hours begin.
    pub since: Millis,
}

/// A limit that one more use would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    pub max: u32,
    /// What the limit is about, as a phrase.
    pub period: &'static str,
}

impl ToolQuota {
    /// Whether it limits nothing, or has a limit outside the bounds.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        let limits = [self.max_per_session, self.max_per_day];
        let is_outside = |max: u32| !(1..=QUOTA_MAX).contains(&max);
        limits == [None, None] || limits.into_iter().flatten().any(is_outside)
    }
}

impl QuotaReads {
    /// The limit that one more use exceeds, after `planned` uses that are not counted yet.
    #[must_use]
    pub fn exceeded(&self, planned: u64) -> Option<QuotaExceeded> {
        let over = |max: Option<u32>, used: u64, period| {
            let max = max.filter(|max| used.saturating_add(planned) >= u64::from(*max))?;
            Some(QuotaExceeded { max, period })
        };
        let Self { quota, used, .. } = self;
        over(quota.max_per_session, used.current_session_count, "in a session")
            .or_else(|| over(quota.max_per_day, used.current_day_count, "within 24 hours"))
    }
}

impl QuotaExceeded {
    /// The error for the model. In a run with untrusted data it names no number, because the text may
    /// reach the person or program that the data came from.
    #[must_use]
    pub fn fault(self, tool: &str, is_untrusted: bool) -> ToolError {
        let Self { max, period } = self;
        let message = if is_untrusted {
            format!("the quota of {tool} is used up")
        } else {
            format!("the quota of {tool} is used up: at most {max} uses {period}")
        };
        let hint = "do without this tool, or ask a person to change the quota";
        ToolError::denied(TOOL_QUOTA_EXCEEDED, &message, hint)
    }
}

/// The reason in the audit record of a call that a quota denied.
#[must_use]
pub fn quota_reason(tool: &str) -> String {
    format!("{TOOL_QUOTA_EXCEEDED}:{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::DenialCategory;

    fn reads(quota: ToolQuota, session: u64, day: u64) -> QuotaReads {
        QuotaReads {
            quota,
            used: QuotaUse {
                current_session_count: session,
                current_day_count: day,
            },
            since: Millis(0),
        }
    }

    // Conformance: A-163
    #[test]
    fn the_last_use_is_permitted_and_the_next_one_is_not() {
        let session = ToolQuota {
            max_per_session: Some(3),
            max_per_day: None,
        };
        let day = ToolQuota {
            max_per_session: None,
            max_per_day: Some(3),
        };
        for (planned, used) in [(0, 2), (2, 0), (1, 1)] {
            assert_eq!(reads(session, used, 99).exceeded(planned), None);
            assert_eq!(reads(day, 99, used).exceeded(planned), None);
        }
        for (planned, used) in [(0, 3), (3, 0), (1, 2), (u64::MAX, 1)] {
            let period = |reads: QuotaReads| reads.exceeded(planned).map(|over| over.period);
            assert_eq!(period(reads(session, used, 0)), Some("in a session"));
            assert_eq!(period(reads(day, 0, used)), Some("within 24 hours"));
        }
    }

    #[test]
    fn a_quota_needs_a_limit_within_the_bounds() {
        let quota = |max_per_session, max_per_day| ToolQuota {
            max_per_session,
            max_per_day,
        };
        for valid in [quota(Some(1), None), quota(None, Some(QUOTA_MAX))] {
            assert!(!valid.is_invalid(), "{valid:?}");
        }
        for invalid in [
            quota(None, None),
            quota(Some(0), None),
            quota(Some(1), Some(QUOTA_MAX + 1)),
        ] {
            assert!(invalid.is_invalid(), "{invalid:?}");
        }
    }

    // Conformance: A-164
    #[test]
    fn a_run_with_an_external_cause_learns_no_number() {
        let over = QuotaExceeded {
            max: 7,
            period: "within 24 hours",
        };
        assert!(
            over.fault("ExecCommand", false)
                .message
                .contains("at most 7 uses")
        );
        let fault = over.fault("ExecCommand", true);
        assert!(!fault.message.contains(|c: char| c.is_ascii_digit()), "{fault:?}");
        assert_eq!(fault.kind, "tool_quota_exceeded");
        assert_eq!(fault.category, Some(DenialCategory::BudgetExceeded));
        assert_eq!(quota_reason("ExecCommand"), "tool_quota_exceeded:ExecCommand");
    }
}
