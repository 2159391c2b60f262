//! Limits on what agents use: list, set and remove them.

use wakeful_core::budget::{
    AgentBudget, BudgetPeriod, BudgetPool, BudgetResource, BudgetScope, InvalidLimit, LimitKey, MicroUsd,
    SpendTotal, UtcDay, forecast,
};
use wakeful_core::id::{AgentId, SessionId, ThreadId};
use wakeful_core::key::RunKey;
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;
use wakeful_store::{StoreError, Tx, View};

use super::budget::BudgetApi;
use crate::EngineError;
use crate::budget::root_of;

/// A limit with its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitReport {
    pub key: LimitKey,
    /// The limit and its use in the current period.
    pub pool: BudgetPool,
    /// Whether a person set it. Only the daily cap of all agents has a default.
    pub is_set: bool,
    /// Since when use is counted; none for a daily cap, which counts the whole day.
    pub counted_at: Option<Millis>,
    /// When it is used up if its use continues at the average rate; none if that is after its period.
    pub exhausted_at: Option<Millis>,
}

/// A limit to set, as people name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLimit {
    pub scope: BudgetScope,
    /// An agent, `AGENT/SESSION`, or the digits with which the key of a run begins; none for all agents.
    pub subject: Option<String>,
    pub resource: BudgetResource,
    pub period: Option<BudgetPeriod>,
    pub max: u64,
}

/// The code of a limit that cannot be set.
const INVALID_LIMIT: &str = "invalid_limit";

impl BudgetApi {
    /// Returns all limits, including daily caps.
    pub async fn limits(&self) -> Result<Vec<LimitReport>, EngineError> {
        let (now, default) = (self.shared.clock.now(), self.shared.governance.daily_cap);
        let found = self.shared.store.read(move |view| {
            let mut reports = caps(view, default.0, now)?;
            for row in view.limits()? {
                let pool = row.pool.at(now);
                let exhausted_at = forecast(&pool, row.counted_at, now);
                reports.push(LimitReport {
                    key: LimitKey {
                        scope: pool.scope,
                        subject: row.subject,
                        resource: pool.resource,
                        period: pool.period,
                    },
                    pool,
                    is_set: true,
                    counted_at: Some(row.counted_at),
                    exhausted_at,
                });
            }
            reports.sort_by(|one, other| one.key.cmp(&other.key));
            Ok(reports)
        });
        Ok(found.await?)
    }

    /// Sets a limit, or changes one whose use is kept. Waiting runs that it holds are checked again.
    pub async fn set_limit(&self, new: NewLimit) -> Result<LimitReport, EngineError> {
        let most = new.resource.limit_max();
        if new.max > most {
            let message = format!("max is too large: a limit on {} is at most {most}", new.resource);
            return Err(invalid("max", &message, &new.resource.amount_form()));
        }
        let key = self.key_of(&new).await?;
        self.store_limit(key, new.max).await
    }

    /// Changes the limit whose id begins with these digits.
    pub async fn change_limit(&self, prefix: &str, max: u64) -> Result<LimitReport, EngineError> {
        let key = self.with_prefix(prefix).await?.key;
        let (scope, resource, period) = (key.scope, key.resource, Some(key.period));
        let checked = NewLimit {
            scope,
            subject: None,
            resource,
            period,
            max,
        };
        if checked.max > resource.limit_max() {
            return self.set_limit(checked).await;
        }
        self.store_limit(key, max).await
    }

    /// Removes the limit whose id begins with these digits. Returns it as it was.
    pub async fn clear_limit(&self, prefix: &str) -> Result<LimitReport, EngineError> {
        let found = self.with_prefix(prefix).await?;
        let (id, now) = (found.key.id(), self.shared.clock.now());
        if found.key.is_daily_cap() {
            self.set_cap(agent_of(&found.key)?, None).await?;
        } else {
            self.shared.write(move |tx| tx.clear_limit(id, now)).await?;
            self.shared.work.signal_any();
        }
        Ok(found)
    }

    /// Whether the budget of an agent is spent, so that no request of it can be sent now.
    pub async fn is_spent(&self, agent: AgentId) -> Result<bool, EngineError> {
        let (now, default) = (self.shared.clock.now(), self.shared.governance.daily_cap);
        let found = self.shared.store.read(move |view| {
            let caps = caps(view, default.0, now)?.into_iter();
            let caps = caps.filter(|cap| cap.key.subject.is_empty() || cap.key.subject == agent.as_str());
            let mut pools: Vec<BudgetPool> = caps.map(|cap| cap.pool).collect();
            let limits = view.limits_of_agent(&agent)?;
            pools.extend(limits.into_iter().map(|row| row.pool.at(now)));
            let day = UtcDay::of(now).not_before(view.latest_spend_day()?);
            let has_spent = view.spent(day, &agent)?.agent.total() > MicroUsd(0);
            let is_own = |pool: &BudgetPool| pool.scope == BudgetScope::Agent && pool.used() > 0;
            let has_cost = has_spent
                || pools
                    .iter()
                    .any(|pool| pool.resource == BudgetResource::Money && is_own(pool));
            let open = view.overview(&agent)?.and_then(|overview| overview.open_run);
            let wait = match open {
                Some(run) => view.run(&run)?.and_then(|row| row.wait()),
                None => None,
            };
            let waits_for = wait.and_then(|wait| wait.needed().map(|needed| (wait.limit(), needed)));
            Ok(AgentBudget {
                pools: &pools,
                has_cost,
                waits_for,
            }
            .is_spent())
        });
        Ok(found.await?)
    }

    async fn store_limit(&self, key: LimitKey, max: u64) -> Result<LimitReport, EngineError> {
        let (id, now) = (key.id(), self.shared.clock.now());
        if key.is_daily_cap() {
            let daily = MicroUsd(max);
            self.set_cap(agent_of(&key)?, Some(daily)).await?;
        } else {
            let set = self.shared.write(move |tx| {
                let before = spent_before(tx, &key, now)?;
                tx.set_limit(&key, max, before, now)
            });
            set.await?;
            self.shared.work.signal_any();
        }
        self.with_prefix(&id.to_string()).await
    }

    async fn with_prefix(&self, prefix: &str) -> Result<LimitReport, EngineError> {
        let wanted = prefix.to_ascii_lowercase();
        let all = self.limits().await?;
        let mut found = all
            .into_iter()
            .filter(|report| report.key.id().to_string().starts_with(&wanted));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(EngineError::UnknownLimit(wanted)),
            (Some(_), Some(_)) => {
                let message = format!("several limits have an id that begins with {wanted}");
                Err(invalid(
                    "limit_id",
                    &message,
                    "give more digits; `wakeful budget list` shows the ids",
                ))
            }
        }
    }

    /// Finds what a limit is for.
    async fn key_of(&self, new: &NewLimit) -> Result<LimitKey, EngineError> {
        if new.subject.as_deref() == Some("") {
            let hint = "leave it out for the scope all, or name an agent, a session or a run";
            return Err(invalid("subject", "subject is empty", hint));
        }
        let subject = new.subject.clone().unwrap_or_default();
        let subject = match new.scope {
            BudgetScope::All => subject,
            BudgetScope::Agent => self.known_agent(&subject).await?.to_string(),
            BudgetScope::Session => {
                let (agent, session) = subject.split_once('/').ok_or_else(bad_session)?;
                let agent = self.known_agent(agent).await?;
                let session = SessionId::parse(session).map_err(|_| bad_session())?;
                ThreadId::of_session(&agent, &session).to_string()
            }
            BudgetScope::Run => self.known_run(&subject).await?.to_string(),
            BudgetScope::Tree => {
                let run = self.known_run(&subject).await?;
                let root = self.shared.store.read(move |view| root_of(view, run));
                root.await?.to_string()
            }
        };
        LimitKey::new(new.scope, &subject, new.resource, new.period).map_err(|error| {
            let hint = match error {
                InvalidLimit::Period(_) => {
                    "leave the period out; only limits of one agent and of all agents have one"
                }
                InvalidLimit::Scope(_) => "give a subject for every scope but all",
            };
            invalid(error.field(), &error.to_string(), hint)
        })
    }

    async fn known_agent(&self, name: &str) -> Result<AgentId, EngineError> {
        let Ok(agent) = AgentId::parse(name) else {
            let message = format!("subject is not an agent: {name:?}");
            return Err(invalid("subject", &message, "give the name of an agent"));
        };
        let wanted = agent.clone();
        let known = self.shared.store.read(move |view| view.agent(&wanted)).await?;
        known
            .map(|_| agent.clone())
            .ok_or(EngineError::UnknownAgent(agent))
    }

    /// A run that has started, or whose message is queued.
    async fn known_run(&self, prefix: &str) -> Result<RunKey, EngineError> {
        let wanted = prefix.to_owned();
        let found = self.shared.store.read(move |view| {
            let keys = view.runs_with_prefix(&wanted)?;
            Ok(match keys.as_slice() {
                [key] if view.message(key)?.is_some() => Some(*key),
                _ => None,
            })
        });
        found.await?.ok_or_else(|| {
            let message = format!("subject is not a run: {prefix:?}");
            invalid(
                "subject",
                &message,
                "give the key of one run; `wakeful runs list` shows them",
            )
        })
    }
}

fn bad_session() -> EngineError {
    let hint = "write AGENT/SESSION, such as main/cli";
    invalid("subject", "subject is not a session", hint)
}

/// The error of a limit that cannot be set. Its message begins with the field that is wrong.
fn invalid(field: &str, message: &str, hint: &str) -> EngineError {
    let message = match message.starts_with(field) {
        true => message.to_owned(),
        false => format!("{field}: {message}"),
    };
    EngineError::Setting(Box::new(Problem::new(INVALID_LIMIT, message, hint)))
}

fn agent_of(key: &LimitKey) -> Result<Option<AgentId>, StoreError> {
    match key.subject.as_str() {
        "" => Ok(None),
        name => AgentId::parse(name)
            .map(Some)
            .map_err(|_| StoreError::Malformed("cap.agent_id")),
    }
}

/// What is known to be spent before a limit on money is set: the sums of days that are in its period.
fn spent_before(tx: &mut Tx<'_>, key: &LimitKey, now: Millis) -> Result<u64, StoreError> {
    if key.resource != BudgetResource::Money || tx.limit(key.id())?.is_some() {
        return Ok(0);
    }
    let agent = match key.scope {
        BudgetScope::All | BudgetScope::Agent => agent_of(key)?,
        BudgetScope::Run | BudgetScope::Session | BudgetScope::Tree => return Ok(0),
    };
    let begin = key
        .period
        .begins(key.period.index(now))
        .map_or(UtcDay(i64::MIN), UtcDay::of);
    let days = tx.spend_days(agent.as_ref(), begin)?;
    Ok(days.iter().fold(0, |sum, day| {
        sum.saturating_add(day.settled.0).saturating_add(day.reserved.0)
    }))
}

/// The daily caps as limits.
fn caps(view: &mut View<'_>, default: u64, now: Millis) -> Result<Vec<LimitReport>, StoreError> {
    let day = UtcDay::of(now).not_before(view.latest_spend_day()?);
    let mut reports = Vec::new();
    let caps = view.caps()?;
    let of_all = caps
        .iter()
        .find(|cap| cap.agent_id.is_none())
        .map(|cap| cap.daily.0);
    let spent = view.spend_days(None, day)?;
    let spent = spent.iter().find(|one| one.day == day);
    let total = |settled: u64, reserved: u64| SpendTotal {
        settled: MicroUsd(settled),
        reserved: MicroUsd(reserved),
    };
    let of_day = spent.map_or(SpendTotal::default(), |day| total(day.settled.0, day.reserved.0));
    let of_all = CapUse {
        agent: None,
        max: of_all.unwrap_or(default),
        is_set: of_all.is_some(),
        spent: of_day,
    };
    reports.push(cap_report(of_all, day, now));
    for cap in caps {
        let Some(agent) = cap.agent_id else { continue };
        let cap = CapUse {
            spent: view.spent(day, &agent)?.agent,
            agent: Some(agent),
            max: cap.daily.0,
            is_set: true,
        };
        reports.push(cap_report(cap, day, now));
    }
    Ok(reports)
}

/// A daily cap with what is spent.
struct CapUse {
    /// None for all agents.
    agent: Option<AgentId>,
    max: u64,
    is_set: bool,
    spent: SpendTotal,
}

fn cap_report(cap: CapUse, day: UtcDay, now: Millis) -> LimitReport {
    let CapUse {
        agent,
        max,
        is_set,
        spent,
    } = cap;
    let scope = match agent {
        Some(_) => BudgetScope::Agent,
        None => BudgetScope::All,
    };
    let key = LimitKey {
        scope,
        subject: agent.map(|agent| agent.to_string()).unwrap_or_default(),
        resource: BudgetResource::Money,
        period: BudgetPeriod::Daily,
    };
    let pool = BudgetPool {
        limit: key.id(),
        scope,
        resource: key.resource,
        period: key.period,
        max,
        settled: spent.settled.0,
        reserved: spent.reserved.0,
        index: day.0,
    };
    LimitReport {
        exhausted_at: forecast(&pool, day.begins(), now),
        key,
        pool,
        is_set,
        counted_at: None,
    }
}
