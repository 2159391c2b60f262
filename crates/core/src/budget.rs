//! Model prices, daily budget caps, and limits on everything that agents use.
//!
//! Before every request, its maximum cost is reserved against the caps of the day; afterwards the
//! reservation is settled to the actual cost. The cap therefore holds across crashes: a request with an
//! unknown outcome counts at its reservation.

mod exceeded;
mod limit;

use serde::{Deserialize, Serialize};

use crate::conversation::Usage;
use crate::time::Millis;

pub use self::exceeded::BudgetExceeded;
pub use self::limit::{
    BudgetGrant, BudgetPeriod, BudgetPool, BudgetResource, BudgetScope, Demand, InvalidLimit, LimitId,
    LimitKey, check, check_each, forecast, reserve_all,
};

/// The daily cap for all agents together, unless the operator sets another.
pub const DAILY_CAP_DEFAULT: MicroUsd = MicroUsd(5_000_000);

/// The largest cap that can be set: a million dollars a day.
pub const DAILY_CAP_MAX: MicroUsd = MicroUsd(1_000_000_000_000);

/// The maximum that one request counts for. Providers may report any token count, and sums of costs must
/// not overflow.
const REQUEST_MAX: MicroUsd = MicroUsd(1_000_000_000_000);

/// The price of one search of the web by a provider: the highest that one of them lists, so that the cap holds.
pub const WEB_SEARCH_PRICE: MicroUsd = MicroUsd(25_000);

/// Maximum number of tokens of one request and its reply. No model supports as many.
const TOKENS_MAX: u64 = 100_000_000;

const DAY_MS: i64 = 86_400_000;

/// An amount of money in millionths of a dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Saturating addition.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl MicroUsd {
    /// Parses an amount of dollars such as `5`, `0.25` or `1.000001`. Returns `None` for anything else,
    /// including more than six decimals.
    #[must_use]
    pub fn parse(dollars: &str) -> Option<Self> {
        let (whole, decimals) = dollars.split_once('.').unwrap_or((dollars, ""));
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || decimals.len() > 6 || !is_number(whole) || !is_number(decimals) {
            return None;
        }
        let micro: u64 = format!("{decimals:0<6}").parse().ok()?;
        whole
            .parse::<u64>()
            .ok()?
            .checked_mul(1_000_000)?
            .checked_add(micro)
            .map(Self)
    }
}

/// Parses a cap: an amount of dollars up to [`DAILY_CAP_MAX`].
#[must_use]
pub fn parse_cap(dollars: &str) -> Option<MicroUsd> {
    MicroUsd::parse(dollars).filter(|cap| *cap <= DAILY_CAP_MAX)
}

impl std::fmt::Display for MicroUsd {
    /// Formats dollars with at least two decimals and as many as needed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micro = format!("{:06}", self.0 % 1_000_000);
        let decimals = micro.trim_end_matches('0');
        write!(f, "{}.{decimals:0<2}", self.0 / 1_000_000)
    }
}

/// The price of a model, in millionths of a dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Price of request tokens.
    pub input: MicroUsd,
    /// Price of reply tokens.
    pub output: MicroUsd,
    /// Price of tokens read from the provider's cache.
    pub cached_read: MicroUsd,
    /// Price of tokens written to the provider's cache.
    pub cached_write: MicroUsd,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceBasis {
    /// The built-in price table.
    Listed,
    /// The configuration.
    Configured,
    /// The price is unknown; the highest price of the table is used instead, so that the cap holds.
    Assumed,
}

impl Price {
    /// Whether all prices are zero.
    #[must_use]
    pub const fn is_free(&self) -> bool {
        let Self {
            input,
            output,
            cached_read,
            cached_write,
        } = self;
        input.0 == 0 && output.0 == 0 && cached_read.0 == 0 && cached_write.0 == 0
    }

    /// The cost of a request, rounded up to a millionth of a dollar.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> MicroUsd {
        let cached = usage.cached_read_tokens.saturating_add(usage.cached_write_tokens);
        let parts = [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cached_read_tokens, self.cached_read),
            (usage.cached_write_tokens, self.cached_write),
            (usage.output_tokens, self.output),
        ];
        let products = parts
            .into_iter()
            .map(|(tokens, price)| u128::from(tokens).saturating_mul(u128::from(price.0)));
        let sum = products.fold(0_u128, u128::saturating_add);
        let tokens = MicroUsd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX));
        let searches = MicroUsd(usage.web_searches.saturating_mul(WEB_SEARCH_PRICE.0));
        tokens.plus(searches).min(REQUEST_MAX)
    }

    /// The cost that a reply is settled at. If the provider does not report both token counts, or reports
    /// impossible ones, the full reservation counts.
    #[must_use]
    pub fn settled(&self, usage: Usage, reserved: MicroUsd) -> MicroUsd {
        let is_counted = usage.input_tokens > 0 && usage.output_tokens > 0 && usage.total() <= TOKENS_MAX;
        if is_counted { self.cost(usage) } else { reserved }
    }

    /// The maximum cost of a request and its reply with at most these counts.
    #[must_use]
    pub fn most(&self, usage_max: Usage) -> MicroUsd {
        let input = self.input.max(self.cached_write).max(self.cached_read);
        let dear = Self { input, ..*self };
        dear.cost(usage_max)
    }
}

/// A day in UTC, counted from 1970-01-01.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct UtcDay(pub i64);

impl UtcDay {
    /// The day that contains `at`.
    #[must_use]
    pub const fn of(at: Millis) -> Self {
        Self(at.0.div_euclid(DAY_MS))
    }

    /// The day that spending counts for: the clock's day, but never earlier than the latest day with
    /// spending. Setting the clock back must not make any budget available again.
    #[must_use]
    pub fn not_before(self, latest: Option<Self>) -> Self {
        latest.map_or(self, |latest| self.max(latest))
    }

    /// The first millisecond of the day.
    #[must_use]
    pub const fn begins(self) -> Millis {
        Millis(self.0.saturating_mul(DAY_MS))
    }

    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Spending of one day so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendTotal {
    /// The cost of completed requests.
    pub settled: MicroUsd,
    /// Reserved for requests in progress.
    pub reserved: MicroUsd,
}

impl SpendTotal {
    /// Settled and reserved spending, which counts against a cap.
    #[must_use]
    pub const fn total(self) -> MicroUsd {
        self.settled.plus(self.reserved)
    }
}

/// Spending of one day so far, by scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DaySpend {
    /// Spending of the requesting agent.
    pub agent: SpendTotal,
    /// Spending of all agents.
    pub all: SpendTotal,
}

/// The caps of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// The cap of the requesting agent; `None` means that it has no cap of its own.
    pub agent: Option<MicroUsd>,
    /// The cap of all agents together.
    pub all: MicroUsd,
}

/// The maximum cost that [`decide`] still allows.
#[must_use]
pub fn room(caps: Caps, spent: DaySpend) -> MicroUsd {
    let left = |cap: MicroUsd, sum: SpendTotal| MicroUsd(cap.0.saturating_sub(sum.total().0));
    let all = left(caps.all, spent.all);
    caps.agent.map_or(all, |cap| left(cap, spent.agent).min(all))
}

/// Decides whether a request with this maximum cost fits under the caps of the day.
pub fn decide(day: UtcDay, caps: Caps, spent: DaySpend, needed: MicroUsd) -> Result<(), BudgetExceeded> {
    let limits = [
        (BudgetScope::Agent, caps.agent, spent.agent),
        (BudgetScope::All, Some(caps.all), spent.all),
    ];
    for (scope, cap, spent) in limits {
        let Some(cap) = cap else { continue };
        // Free requests always pass, even if a cap was lowered below the current spending.
        if needed > MicroUsd(0) && spent.total().plus(needed) > cap {
            let exceeded = BudgetExceeded::of_cap(scope, cap, spent, needed);
            return Err(exceeded.on(day));
        }
    }
    Ok(())
}

/// What decides whether an agent's budget is spent.
#[derive(Debug, Clone, Copy)]
pub struct AgentBudget<'a> {
    /// The limits of the agent and of all agents, in their current period.
    pub pools: &'a [BudgetPool],
    /// Whether its model requests cost money. A limit on money does not hold a free model.
    pub has_cost: bool,
    /// What its open run waits for: a limit, or a daily cap, and the amount that it needs.
    pub waits_for: Option<(Option<LimitId>, u64)>,
}

impl AgentBudget<'_> {
    /// Whether no request of the agent can be sent: its run waits for one of these limits, or one has nothing left.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        let is_waited_for = |pool: &BudgetPool| {
            self.waits_for.is_some_and(|(limit, needed)| {
                let is_meant = match limit {
                    Some(limit) => limit == pool.limit,
                    None => pool.resource == BudgetResource::Money && pool.period == BudgetPeriod::Daily,
                };
                is_meant && pool.room() < needed
            })
        };
        let has_nothing_left = |pool: &BudgetPool| match pool.resource {
            BudgetResource::Tokens | BudgetResource::RunTime => pool.room() == 0,
            BudgetResource::Money => pool.room() == 0 && self.has_cost,
            BudgetResource::ToolCalls | BudgetResource::WrittenBytes => false,
        };
        self.pools
            .iter()
            .any(|pool| is_waited_for(pool) || has_nothing_left(pool))
    }
}

#[cfg(test)]
mod tests;
