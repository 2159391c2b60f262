//! What a model costs, and whether there is money for it.
//!
//! Before every request its largest cost is reserved against the caps of the day, and afterwards settled to what it did
//! cost. So a cap holds whatever happens in between: what nobody knows the end of counts at its reservation.

use serde::{Deserialize, Serialize};

use crate::conversation::Usage;
use crate::time::Millis;

/// The cap of a day, in all, until a person sets one.
pub const DAILY_CAP_DEFAULT: MicroUsd = MicroUsd(5_000_000);

/// The largest cap that can be set: a million dollars a day.
pub const DAILY_CAP_MAX: MicroUsd = MicroUsd(1_000_000_000_000);

/// The most that one request counts for. What servers count may be any number, and sums of it must stay in range.
const REQUEST_MAX: MicroUsd = MicroUsd(1_000_000_000_000);

/// Most tokens that one request and its reply can have. No model reads as many.
const TOKENS_MAX: u64 = 100_000_000;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// An amount of money: a millionth of a dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Adds, without ever wrapping round.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl MicroUsd {
    /// Reads an amount of dollars such as `5`, `0.25` or `1.000001`. Nothing for anything else, and for more decimals
    /// than there are millionths.
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

/// Reads a cap that somebody wrote: an amount of dollars up to [`DAILY_CAP_MAX`].
#[must_use]
pub fn parse_cap(dollars: &str) -> Option<MicroUsd> {
    MicroUsd::parse(dollars).filter(|cap| *cap <= DAILY_CAP_MAX)
}

impl std::fmt::Display for MicroUsd {
    /// In dollars, with as many decimals as are needed and at least two.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micro = format!("{:06}", self.0 % 1_000_000);
        let decimals = micro.trim_end_matches('0');
        write!(f, "{}.{decimals:0<2}", self.0 / 1_000_000)
    }
}

/// What a model costs, in millionths of a dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Of the request.
    pub input: MicroUsd,
    /// Of the reply.
    pub output: MicroUsd,
    /// Of what the provider read from its cache.
    pub cached_read: MicroUsd,
    /// Of what the provider wrote to its cache.
    pub cached_write: MicroUsd,
}

/// How far a price is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceBasis {
    /// From the table that comes with the program.
    Listed,
    /// A person wrote it down.
    Configured,
    /// Nobody knows it; the dearest of the table stands in, so that the cap holds.
    Assumed,
}

impl Price {
    /// Whether nothing costs anything.
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

    /// What a request cost, rounded up to a millionth of a dollar.
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
        MicroUsd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)).min(REQUEST_MAX)
    }

    /// What a reply counts for. A provider that does not count both directions, or counts what cannot be, has not said
    /// what it takes: then all that was put aside counts.
    #[must_use]
    pub fn settled(&self, usage: Usage, reserved: MicroUsd) -> MicroUsd {
        let is_counted = usage.input_tokens > 0 && usage.output_tokens > 0 && usage.total() <= TOKENS_MAX;
        if is_counted { self.cost(usage) } else { reserved }
    }

    /// The most that a request can cost that has at most so many tokens, and its reply so many.
    #[must_use]
    pub fn most(&self, input_tokens_max: u64, output_tokens_max: u64) -> MicroUsd {
        let input = self.input.max(self.cached_write).max(self.cached_read);
        let dear = Self { input, ..*self };
        dear.cost(Usage::of(input_tokens_max, output_tokens_max))
    }
}

/// A day by the calendar of UTC, counted from 1970.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct UtcDay(pub i64);

impl UtcDay {
    /// The day of a moment.
    #[must_use]
    pub const fn of(at: Millis) -> Self {
        Self(at.0.div_euclid(DAY_MS))
    }

    /// The day that spending counts for: that of the clock, but never one before the latest that anything was spent on.
    /// A clock that is set back must open neither a fresh day nor an earlier one with money left.
    #[must_use]
    pub fn not_before(self, latest: Option<Self>) -> Self {
        latest.map_or(self, |latest| self.max(latest))
    }

    /// When it begins.
    #[must_use]
    pub const fn begins(self) -> Millis {
        Millis(self.0.saturating_mul(DAY_MS))
    }

    /// The day after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

string_enum! {
    /// Whose spending a cap limits.
    #[schemars(rename = "CapScope")]
    pub enum CapScope {
        /// One agent's.
        Agent = "agent",
        /// All agents' together.
        All = "all",
    }
}

/// What a day has seen so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendTotal {
    /// What was spent.
    pub settled: MicroUsd,
    /// What is put aside for requests that have not ended.
    pub reserved: MicroUsd,
}

impl SpendTotal {
    /// Both together: what counts against a cap.
    #[must_use]
    pub const fn total(self) -> MicroUsd {
        self.settled.plus(self.reserved)
    }
}

/// What a day has seen so far, and by whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DaySpend {
    /// By the agent that asks.
    pub agent: SpendTotal,
    /// By all of them.
    pub all: SpendTotal,
}

/// What a day may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Of the agent that asks; none is no limit of its own.
    pub agent: Option<MicroUsd>,
    /// Of all of them.
    pub all: MicroUsd,
}

/// Why there is no money for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BudgetExceeded {
    /// Whose cap it is.
    pub scope: CapScope,
    /// The cap.
    pub cap: MicroUsd,
    /// What the day has seen, settled and reserved.
    pub spent: MicroUsd,
    /// The part of it that is only put aside, and may come back soon.
    #[serde(default)]
    pub reserved: MicroUsd,
    /// What the request could cost at most.
    pub needed: MicroUsd,
    /// The day.
    pub day: UtcDay,
}

impl BudgetExceeded {
    /// The part of what the day has seen that was spent for good.
    #[must_use]
    pub const fn settled(&self) -> MicroUsd {
        MicroUsd(self.spent.0.saturating_sub(self.reserved.0))
    }

    /// How the day stands against its cap, in words.
    #[must_use]
    pub fn words(&self) -> String {
        format!(
            "{} USD spent, {} USD reserved by requests under way, cap {} USD a day",
            self.settled(),
            self.reserved,
            self.cap
        )
    }
}

/// The most that a request may cost that [`decide`] lets pass.
#[must_use]
pub fn room(caps: Caps, spent: DaySpend) -> MicroUsd {
    let left = |cap: MicroUsd, sum: SpendTotal| MicroUsd(cap.0.saturating_sub(sum.total().0));
    let all = left(caps.all, spent.all);
    caps.agent.map_or(all, |cap| left(cap, spent.agent).min(all))
}

/// Whether a request that may cost so much fits under the caps of its day.
pub fn decide(day: UtcDay, caps: Caps, spent: DaySpend, needed: MicroUsd) -> Result<(), BudgetExceeded> {
    let limits = [
        (CapScope::Agent, caps.agent, spent.agent),
        (CapScope::All, Some(caps.all), spent.all),
    ];
    for (scope, cap, spent) in limits {
        let Some(cap) = cap else { continue };
        // What costs nothing needs no room, also where a cap was lowered below what is spent.
        if needed > MicroUsd(0) && spent.total().plus(needed) > cap {
            return Err(BudgetExceeded {
                scope,
                cap,
                spent: spent.total(),
                reserved: spent.reserved,
                needed,
                day,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
