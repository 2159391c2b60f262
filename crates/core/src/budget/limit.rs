//! Limits on what agents use, and the pool of each limit: how much of it is used and reserved.
//!
//! A reservation is made against every limit that applies to a run, or against none. Before anything starts, its
//! maximum is reserved; afterwards the reservation is settled to the actual amount. A limit therefore holds
//! across crashes: work with an unknown outcome counts at its reservation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BudgetExceeded, DAILY_CAP_MAX, MicroUsd, UtcDay};
use crate::key::{Digest, derived_hash};
use crate::time::Millis;

string_enum! {
    /// Whose use a limit counts, in the order in which pools are locked.
    #[derive(PartialOrd, Ord)]
    pub enum BudgetScope {
        /// All agents together.
        All = "all",
        /// A run that no other run started, with all runs below it.
        Tree = "tree",
        /// One agent.
        Agent = "agent",
        /// One session of an agent.
        Session = "session",
        /// One run.
        Run = "run",
    }
}

string_enum! {
    /// What a limit counts.
    #[derive(PartialOrd, Ord)]
    pub enum BudgetResource {
        /// The cost of model requests, in millionths of a dollar.
        Money = "money",
        /// Tokens of model requests and replies.
        Tokens = "tokens",
        /// The time that model requests and tool calls take, in milliseconds.
        RunTime = "run_time",
        /// Tool calls that started.
        ToolCalls = "tool_calls",
        /// Bytes that tools write to files.
        WrittenBytes = "written_bytes",
    }
}

string_enum! {
    /// How long use counts against a limit. Days, months and years are those of UTC.
    #[derive(Default, PartialOrd, Ord)]
    pub enum BudgetPeriod {
        #[default]
        Daily = "daily",
        Monthly = "monthly",
        Yearly = "yearly",
        /// Use is never reset.
        Lifetime = "lifetime",
    }
}

/// Maximum of a limit on tokens and on calls: more than all agents of a home can use.
const COUNT_MAX: u64 = 1_000_000_000_000;

/// Maximum of a limit on run time: 31 years.
const RUN_TIME_MAX_MS: u64 = 1_000_000_000_000;

/// Maximum of a limit on written bytes: a petabyte.
const WRITTEN_MAX: u64 = 1_000_000_000_000_000;

impl BudgetResource {
    /// The largest limit that can be set. All limits are exact as JSON numbers.
    #[must_use]
    pub const fn limit_max(self) -> u64 {
        match self {
            Self::Money => DAILY_CAP_MAX.0,
            Self::Tokens | Self::ToolCalls => COUNT_MAX,
            Self::RunTime => RUN_TIME_MAX_MS,
            Self::WrittenBytes => WRITTEN_MAX,
        }
    }

    /// Parses an amount as people write it: dollars, a number, a time such as `90s`, `15m` or `2h`, or a size such
    /// as `500KiB` or `2GiB`. Times without a unit are seconds. None for anything else, and above the largest limit.
    #[must_use]
    pub fn parse_amount(self, text: &str) -> Option<u64> {
        let units: &[(&str, u64)] = match self {
            Self::Money => {
                return MicroUsd::parse(text)
                    .map(|usd| usd.0)
                    .filter(|usd| *usd <= self.limit_max());
            }
            Self::Tokens | Self::ToolCalls => &[("", 1)],
            Self::RunTime => &[
                ("ms", 1),
                ("s", 1_000),
                ("m", 60_000),
                ("h", 3_600_000),
                ("d", 86_400_000),
                ("", 1_000),
            ],
            Self::WrittenBytes => &[
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
                ("TiB", 1 << 40),
                ("", 1),
            ],
        };
        let (digits, unit) = units
            .iter()
            .find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        let number: u64 = is_number.then(|| digits.parse().ok()).flatten()?;
        number
            .checked_mul(*unit)
            .filter(|amount| *amount <= self.limit_max())
    }

    /// Formats an amount so that it can be parsed again.
    #[must_use]
    pub fn amount(self, amount: u64) -> String {
        match self {
            Self::Money => MicroUsd(amount).to_string(),
            Self::RunTime if amount.is_multiple_of(1_000) => format!("{}s", amount / 1_000),
            Self::RunTime => format!("{amount}ms"),
            Self::Tokens | Self::ToolCalls | Self::WrittenBytes => amount.to_string(),
        }
    }

    /// Formats an amount with its unit.
    #[must_use]
    pub fn with_unit(self, amount: u64) -> String {
        let unit = match (self, amount) {
            (Self::Money, _) => "USD",
            (Self::RunTime, _) => return format!("{} of run time", self.amount(amount)),
            (Self::Tokens, 1) => "token",
            (Self::Tokens, _) => "tokens",
            (Self::ToolCalls, 1) => "tool call",
            (Self::ToolCalls, _) => "tool calls",
            (Self::WrittenBytes, 1) => "written byte",
            (Self::WrittenBytes, _) => "written bytes",
        };
        format!("{} {unit}", self.amount(amount))
    }

    /// How an amount of this resource is written, for messages about invalid ones.
    #[must_use]
    pub fn amount_form(self) -> String {
        let form = match self {
            Self::Money => "US dollars with at most six decimals, such as 2.50",
            Self::Tokens | Self::ToolCalls => "a whole number",
            Self::RunTime => "a time such as 90s, 15m or 2h",
            Self::WrittenBytes => "a number of bytes such as 4096, 500KiB or 2GiB",
        };
        format!("{form}, from 0 to {}", self.amount(self.limit_max()))
    }
}

impl BudgetPeriod {
    /// The number of the period that contains a time. It grows with time.
    #[must_use]
    pub fn index(self, at: Millis) -> i64 {
        let day = UtcDay::of(at).0;
        let date = date_of(day);
        match self {
            Self::Daily => day,
            Self::Monthly => i64::from(date.year()) * 12 + i64::from(date.month()) - 1,
            Self::Yearly => i64::from(date.year()),
            Self::Lifetime => 0,
        }
    }

    /// When a period begins; none for a lifetime.
    #[must_use]
    pub fn begins(self, index: i64) -> Option<Millis> {
        let first = |year: i64, month: i64| {
            let year = i16::try_from(year).ok().filter(|year| (0..=9_999).contains(year));
            let month = i8::try_from(month).ok();
            let date = year
                .zip(month)
                .and_then(|(year, month)| jiff::civil::Date::new(year, month, 1).ok());
            date.map_or(Millis::MAX, |date| UtcDay(days_to(date)).begins())
        };
        match self {
            Self::Daily => Some(UtcDay(index).begins()),
            Self::Monthly => Some(first(index.div_euclid(12), index.rem_euclid(12) + 1)),
            Self::Yearly => Some(first(index, 1)),
            Self::Lifetime => None,
        }
    }

    /// When a period ends; none for a lifetime.
    #[must_use]
    pub fn ends(self, index: i64) -> Option<Millis> {
        self.begins(index.saturating_add(1))
    }
}

const EPOCH: jiff::civil::Date = jiff::civil::date(1970, 1, 1);

/// The date of a day, within the years 0000 to 9999.
fn date_of(day: i64) -> jiff::civil::Date {
    let (first, last) = (UtcDay::of(Millis::MIN).0, UtcDay::of(Millis::MAX).0);
    EPOCH.saturating_add(jiff::SignedDuration::from_hours(
        day.clamp(first, last).saturating_mul(24),
    ))
}

fn days_to(date: jiff::civil::Date) -> i64 {
    date.duration_since(EPOCH).as_hours() / 24
}

/// The id of a limit. Derived from what it limits, so that there is at most one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LimitId(pub Digest);

impl LimitId {
    /// The first digits, which people type.
    #[must_use]
    pub fn short(&self) -> String {
        self.0.to_string().chars().take(SHORT_DIGITS).collect()
    }
}

impl std::fmt::Display for LimitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Digits of a limit's id in messages: enough for any home.
const SHORT_DIGITS: usize = 12;

/// What a limit limits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LimitKey {
    pub scope: BudgetScope,
    /// The agent, the thread of the session, or the key of the run. Empty for all agents.
    pub subject: String,
    pub resource: BudgetResource,
    pub period: BudgetPeriod,
}

/// A limit that cannot exist. Names the field that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLimit {
    /// A run, a session or a tree with a period that resets.
    #[error("a {0} has no period: its limit is never reset")]
    Period(BudgetScope),
    /// A scope without its subject, or the scope of all agents with one.
    #[error("the scope {0} does not fit the subject")]
    Scope(BudgetScope),
}

impl InvalidLimit {
    /// The field that is wrong.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Period(_) => "period",
            Self::Scope(_) => "scope",
        }
    }
}

impl LimitKey {
    /// Without a period, a limit of agents is daily, and any other has a lifetime.
    pub fn new(
        scope: BudgetScope,
        subject: &str,
        resource: BudgetResource,
        period: Option<BudgetPeriod>,
    ) -> Result<Self, InvalidLimit> {
        if (scope == BudgetScope::All) != subject.is_empty() {
            return Err(InvalidLimit::Scope(scope));
        }
        let period = match scope {
            BudgetScope::All | BudgetScope::Agent => period.unwrap_or_default(),
            BudgetScope::Tree | BudgetScope::Session | BudgetScope::Run => match period {
                None | Some(BudgetPeriod::Lifetime) => BudgetPeriod::Lifetime,
                Some(BudgetPeriod::Daily | BudgetPeriod::Monthly | BudgetPeriod::Yearly) => {
                    return Err(InvalidLimit::Period(scope));
                }
            },
        };
        let subject = subject.to_owned();
        Ok(Self {
            scope,
            subject,
            resource,
            period,
        })
    }

    /// Whether it is a daily cap on money of an agent or of all agents, which also has a default.
    #[must_use]
    pub fn is_daily_cap(&self) -> bool {
        self.resource == BudgetResource::Money && self.period == BudgetPeriod::Daily
    }

    #[must_use]
    pub fn id(&self) -> LimitId {
        let fields = [
            self.scope.as_str(),
            self.subject.as_str(),
            self.resource.as_str(),
            self.period.as_str(),
        ];
        LimitId(derived_hash("budget_limit", &fields))
    }
}

/// A limit with its use so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetPool {
    pub limit: LimitId,
    pub scope: BudgetScope,
    pub resource: BudgetResource,
    pub period: BudgetPeriod,
    pub max: u64,
    /// Used by work that has ended.
    pub settled: u64,
    /// Reserved for work in progress.
    pub reserved: u64,
    /// The period that the use counts for.
    pub index: i64,
}

/// What something may use before it starts: at least `least`, and up to `most` where that is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    pub resource: BudgetResource,
    pub least: u64,
    pub most: u64,
}

impl Demand {
    /// A demand that cannot be reduced.
    #[must_use]
    pub const fn exactly(resource: BudgetResource, amount: u64) -> Self {
        Self {
            resource,
            least: amount,
            most: amount,
        }
    }
}

/// How much of a resource is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetGrant {
    pub resource: BudgetResource,
    pub amount: u64,
    /// The tightest limit, as it is when the amount is used up.
    pub limited_by: BudgetExceeded,
}

impl BudgetPool {
    /// The pool at a time. A later period starts without use, except for what is reserved. An earlier one, after
    /// the clock was set back, changes nothing: no budget becomes available again.
    #[must_use]
    pub fn at(mut self, now: Millis) -> Self {
        let index = self.period.index(now);
        if index > self.index {
            (self.index, self.settled) = (index, 0);
        }
        self
    }

    /// Settled and reserved use, which counts against the limit.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.settled.saturating_add(self.reserved)
    }

    /// What is left. Zero if a person lowered the limit below the use.
    #[must_use]
    pub const fn room(&self) -> u64 {
        self.max.saturating_sub(self.used())
    }

    /// Reserves an amount.
    pub const fn reserve(&mut self, amount: u64) {
        self.reserved = self.reserved.saturating_add(amount);
    }

    /// Settles a reservation with the amount that was used, or in full if that is unknown.
    pub fn settle(&mut self, reserved: u64, used: Option<u64>) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.settled = self.settled.saturating_add(used.unwrap_or(reserved));
    }

    /// That the pool does not cover an amount.
    #[must_use]
    pub fn exceeded(&self, needed: u64) -> BudgetExceeded {
        BudgetExceeded {
            scope: self.scope,
            resource: self.resource,
            period: self.period,
            limit: Some(self.limit),
            max: self.max,
            used: self.used(),
            reserved: self.reserved,
            needed,
            until: self.period.ends(self.index),
        }
    }
}

/// Checks demands against every pool: either all of them fit, or nothing may be reserved. Demands of nothing always
/// fit, even if a limit was lowered below its use.
pub fn check(pools: &[BudgetPool], demands: &[Demand]) -> Result<Vec<BudgetGrant>, BudgetExceeded> {
    let mut grants = Vec::new();
    for demand in demands.iter().filter(|demand| demand.most > 0) {
        let of_resource = pools.iter().filter(|pool| pool.resource == demand.resource);
        if let Some(pool) = of_resource.clone().find(|pool| pool.room() < demand.least) {
            return Err(pool.exceeded(demand.least));
        }
        let Some(tightest) = of_resource.min_by_key(|pool| pool.room()) else {
            continue;
        };
        let amount = demand.most.min(tightest.room());
        let mut full = *tightest;
        full.reserve(amount);
        grants.push(BudgetGrant {
            resource: demand.resource,
            amount,
            limited_by: full.exceeded(demand.least),
        });
    }
    Ok(grants)
}

/// Checks several demands one after another, and reserves in the pools what fits. Returns the grants up to the first
/// demand that does not fit, and why it does not.
pub fn check_each(
    pools: &mut [BudgetPool],
    wanted: &[Vec<Demand>],
) -> (Vec<Vec<BudgetGrant>>, Option<BudgetExceeded>) {
    let mut granted = Vec::with_capacity(wanted.len());
    for demands in wanted {
        match check(pools, demands) {
            Ok(grants) => {
                reserve_all(pools, &grants);
                granted.push(grants);
            }
            Err(exceeded) => return (granted, Some(exceeded)),
        }
    }
    (granted, None)
}

/// Reserves grants in every pool of their resource.
pub fn reserve_all(pools: &mut [BudgetPool], grants: &[BudgetGrant]) {
    for grant in grants {
        for pool in pools.iter_mut().filter(|pool| pool.resource == grant.resource) {
            pool.reserve(grant.amount);
        }
    }
}

/// When a limit is used up if its use continues at the average rate since `since`, the beginning of its period or of
/// its counting. None if that is later than the end of the period, or nothing was used.
#[must_use]
pub fn forecast(pool: &BudgetPool, since: Millis, now: Millis) -> Option<Millis> {
    let begin = pool
        .period
        .begins(pool.index)
        .map_or(since, |begin| begin.max(since));
    let elapsed = u128::from(now.since(begin));
    let used = u128::from(pool.used());
    if pool.room() == 0 {
        return Some(now);
    }
    let left_ms = (u128::from(pool.room()) * elapsed)
        .checked_div(used)
        .filter(|_| elapsed > 0)?;
    let at = Millis(now.0.saturating_add(i64::try_from(left_ms).ok()?));
    let is_in_period = pool.period.ends(pool.index).is_none_or(|end| at < end) && at < Millis::MAX;
    is_in_period.then_some(at)
}

#[cfg(test)]
mod tests;
