//! Why work waits for budget, for people and programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BudgetPeriod, BudgetResource, BudgetScope, LimitId, MicroUsd, SpendTotal, UtcDay};
use crate::time::Millis;

/// Work that does not fit under a limit. Amounts are in the smallest unit of the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetExceeded {
    /// The scope of the limit.
    pub scope: BudgetScope,
    /// What the limit counts.
    pub resource: BudgetResource,
    /// The period of the limit.
    pub period: BudgetPeriod,
    /// The id of the limit. Absent for a daily cap on money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitId>,
    /// The limit.
    pub max: u64,
    /// What is used in the period, settled and reserved.
    pub used: u64,
    /// The reserved part of `used`, which may be released soon.
    #[serde(default)]
    pub reserved: u64,
    /// What the work may use at most.
    pub needed: u64,
    /// When the period ends, in milliseconds since 1970. Absent for a limit that only a person can raise.
    #[serde(default, rename = "until_ms", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub until: Option<Millis>,
}

impl BudgetExceeded {
    /// A request that does not fit under a daily cap.
    #[must_use]
    pub const fn of_cap(scope: BudgetScope, cap: MicroUsd, spent: SpendTotal, needed: MicroUsd) -> Self {
        Self {
            scope,
            resource: BudgetResource::Money,
            period: BudgetPeriod::Daily,
            limit: None,
            max: cap.0,
            used: spent.total().0,
            reserved: spent.reserved.0,
            needed: needed.0,
            until: None,
        }
    }

    /// Sets the day that the cap applies to.
    #[must_use]
    pub const fn on(self, day: UtcDay) -> Self {
        Self {
            until: Some(day.next().begins()),
            ..self
        }
    }

    /// The settled part of `used`.
    #[must_use]
    pub const fn settled(&self) -> u64 {
        self.used.saturating_sub(self.reserved)
    }

    /// Explains to people why the work does not start. "Used" is only what is settled.
    #[must_use]
    pub fn words(&self) -> String {
        if self.limit.is_none() {
            return self.cap_words();
        }
        let Self {
            resource,
            max,
            needed,
            ..
        } = *self;
        let whose = match self.scope {
            BudgetScope::All => "for all agents together",
            BudgetScope::Tree => "for the run and its sub-runs",
            BudgetScope::Agent => "for the agent",
            BudgetScope::Session => "for the session",
            BudgetScope::Run => "for the run",
        };
        let period = match self.period {
            BudgetPeriod::Daily => " per day",
            BudgetPeriod::Monthly => " per month",
            BudgetPeriod::Yearly => " per year",
            BudgetPeriod::Lifetime => "",
        };
        let reserved = match self.reserved {
            0 => String::new(),
            reserved => format!(", {} reserved for work in progress", resource.amount(reserved)),
        };
        format!(
            "the limit of {}{period} {whose} does not cover the next step: {} used{reserved}, {} needed",
            resource.with_unit(max),
            resource.amount(self.settled()),
            resource.amount(needed)
        )
    }

    fn cap_words(&self) -> String {
        let whose = match self.scope {
            BudgetScope::All => "today's",
            BudgetScope::Agent | BudgetScope::Tree | BudgetScope::Session | BudgetScope::Run => "the agent's",
        };
        let reserved = match self.reserved {
            0 => String::new(),
            reserved => format!(
                ", and {} USD is reserved for requests in progress",
                MicroUsd(reserved)
            ),
        };
        format!(
            "this request may cost up to {} USD; {} of {whose} {} USD cap is spent{reserved}",
            MicroUsd(self.needed),
            MicroUsd(self.settled()),
            MicroUsd(self.max)
        )
    }

    /// The command that raises the limit, to twice its amount or as far as the work needs.
    #[must_use]
    pub fn command(&self) -> String {
        match self.limit {
            None if self.scope == BudgetScope::All => "wakeful budget set USD".to_owned(),
            None => "wakeful budget set USD --agent NAME".to_owned(),
            Some(limit) => {
                let enough = self
                    .used
                    .saturating_add(self.needed)
                    .max(self.max.saturating_mul(2));
                let raised = self.resource.amount(enough.min(self.resource.limit_max()));
                format!("wakeful budget set {raised} --limit {}", limit.short())
            }
        }
    }

    /// Whether the work fits into the next period. Work that needs more than the whole limit does not.
    #[must_use]
    pub fn fits_later(&self) -> bool {
        self.needed <= self.max && self.until.is_some()
    }

    /// What a person can do.
    #[must_use]
    pub fn hint(&self) -> String {
        let command = self.command();
        let Some(until) = self.until.filter(|_| self.fits_later()) else {
            return match self.resource {
                BudgetResource::Money => {
                    format!(
                        "raise the cap with `{command}`, or choose a cheaper model or a smaller max_output_tokens"
                    )
                }
                BudgetResource::Tokens => {
                    format!("raise the limit with `{command}`, or choose a smaller max_output_tokens")
                }
                BudgetResource::RunTime | BudgetResource::ToolCalls | BudgetResource::WrittenBytes => {
                    format!("raise the limit with `{command}`")
                }
            };
        };
        match self.limit {
            None => format!("raise the cap with `{command}`, or wait for the next day (UTC)"),
            Some(_) => format!(
                "raise the limit with `{command}`, or wait until {}",
                until.rfc3339()
            ),
        }
    }
}
