//! `wakeful budget`: shows what models cost, and sets daily caps and other limits.

mod limit;

use std::sync::Arc;

use clap::Subcommand;
use wakeful_api::{Budget, BudgetLimit, CapOrigin, GetAgentSpending, GetBudget, ListLimits, SetCap, Text};
use wakeful_core::budget::{DAILY_CAP_MAX, MicroUsd, parse_cap};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_server::view;

use self::limit::LimitSelection;
use super::GlobalArgs;
use crate::backend::{read, write};
use crate::config::{self, Overrides};
use crate::discover::daemon;
use crate::failure::Failure;
use crate::open_home::{OpenHome, governance};
use crate::show::Out;
use crate::show::phrase::count;
use crate::system::{RealClock, RealEntropy};

/// Days shown to people: one week. JSON output contains a month.
const DAYS_SHOWN: usize = 7;

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetVerb {
    /// Show today's spending, the caps, and the cost of the last days
    Show {
        /// Show only this agent, day by day
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Reset the budget day to today after the clock was wrongly set ahead; spending since then counts
    /// toward today
    ResetDay,
    /// List every limit with its use, its id, and when it will be used up at the present rate
    List,
    /// Set a limit; work that needs more waits. Without options, the daily cap on money for all agents
    Set {
        /// The limit: US dollars such as 2.50, a number of tokens or calls, a time such as 90s, 15m or 2h, or a size
        /// such as 500KiB or 2GiB
        #[arg(
            value_name = "AMOUNT",
            required_unless_present = "unset",
            conflicts_with = "unset",
            allow_negative_numbers = true
        )]
        amount: Option<String>,
        #[command(flatten)]
        selection: LimitSelection,
        /// Remove the daily cap; the configured cap applies again, or 5 dollars
        #[arg(long, conflicts_with_all = ["session", "run", "tree", "limit", "resource", "period"])]
        unset: bool,
    },
    /// Remove a limit with its use
    Clear {
        #[command(flatten)]
        selection: LimitSelection,
    },
}

/// Returns a note if the budget day is ahead of the clock. Both days are ISO dates, so they compare as
/// text.
fn ahead(day: &str) -> Option<String> {
    let clock = RealClock::new().now().rfc3339();
    let today = clock.split_once('T').map_or(clock.as_str(), |(today, _)| today);
    (day > today).then(|| {
        format!(
            "note       the budget counts for {day}, which is ahead of the clock ({today}): the clock was once set ahead. The \
                budget renews after {day}, or run `wakeful budget reset-day` once the clock is correct"
        )
    })
}

pub(crate) async fn budget(verb: &BudgetVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    // With unreadable settings, the output would show a cap that is not in force.
    config::load(&shared.home()?, &Overrides::default())?;
    match verb {
        BudgetVerb::Show { agent: None } => {
            let found = read(shared, async |backend| {
                let budget = backend.call(GetBudget {}).await?;
                Ok((budget, backend.call(ListLimits {}).await?))
            });
            let (budget, limits) = found.await?;
            tell_with(&budget, &limits, out);
        }
        BudgetVerb::Show { agent: Some(agent) } => {
            let agent = AgentId::parse(agent)?;
            let asked = GetAgentSpending {
                agent_id: Text(agent),
            };
            let spending = read(shared, async |backend| backend.call(asked).await).await?;
            let days = spending.days.iter();
            let lines: Vec<String> = days
                .map(|day| {
                    format!(
                        "{}  {} USD in {}",
                        day.day,
                        day.spent_usd,
                        count(day.requests, "request")
                    )
                })
                .collect();
            let text = match lines.is_empty() {
                true => format!("{} has spent nothing in the last month", spending.agent_id),
                false => lines.join("\n"),
            };
            out.answer(&serde_json::json!(spending), &text);
        }
        BudgetVerb::ResetDay => {
            reset_day(shared, out).await?;
        }
        BudgetVerb::List => limit::list(shared, out).await?,
        BudgetVerb::Clear { selection } => limit::clear(selection, shared, out).await?,
        BudgetVerb::Set {
            amount: Some(typed),
            selection,
            ..
        } if !selection.is_cap() => limit::set(typed, selection, shared, out).await?,
        BudgetVerb::Set {
            amount: usd,
            selection,
            ..
        } => {
            let agent = selection.agent.as_deref().map(AgentId::parse).transpose()?;
            let set = SetCap {
                agent_id: agent.map(Text),
                daily_usd: usd.as_deref().map(amount).transpose()?.map(Text),
                unset: usd.is_none(),
            };
            let set = write(shared, out, async |backend| backend.call(set).await);
            tell(&set.await?, out);
        }
    }
    Ok(0)
}

/// Sets the budget day to the clock's day. This is refused while a daemon runs, because the daemon would
/// continue with its own day.
async fn reset_day(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if daemon(shared).await?.is_some() {
        return Err(Failure::usage(
            "daemon_running",
            "the budget day cannot be reset while a daemon is running".to_owned(),
            "stop it with `wakeful daemon stop`, correct the clock, and try again",
        ));
    }
    let place = OpenHome::open_for_writing(shared).await?;
    let reset = place.run_and_close(out, async |place| {
        let (clock, entropy) = (Arc::new(RealClock::new()), Arc::new(RealEntropy));
        let api = RuntimeApi::without_service(ApiContext {
            governance: governance(place.home.root()),
            ..ApiContext::new(place.store.clone(), clock, entropy)
        });
        Ok(api.budgets.reset_day(Channel::Cli).await?)
    });
    tell(&view::budget(&reset.await?), out);
    Ok(())
}

/// Parses an amount in US dollars.
pub(crate) fn amount(typed: &str) -> Result<MicroUsd, Failure> {
    let amount = parse_cap(typed.trim());
    amount.ok_or_else(|| {
        let message = format!("invalid amount {typed:?}; expected US dollars from 0 to {DAILY_CAP_MAX}");
        Failure::usage(
            "bad_amount",
            message,
            "use a number such as 2.50, with at most six decimals",
        )
    })
}

fn tell(budget: &Budget, out: &Out) {
    tell_with(budget, &[], out);
}

fn tell_with(budget: &Budget, limits: &[BudgetLimit], out: &Out) {
    let origin = match budget.cap_origin {
        CapOrigin::Set => "set by you",
        CapOrigin::Default => "from config.toml or the default; `wakeful budget set USD` changes it",
    };
    let mut lines = vec![
        format!(
            "cap        {} USD per day for all agents ({origin})",
            budget.daily_cap_usd
        ),
        format!(
            "today      {} USD spent, {} USD reserved ({}, UTC)",
            budget.spent_usd, budget.reserved_usd, budget.day
        ),
    ];
    lines.extend(budget.agents.iter().map(|agent| {
        let cap = agent.daily_cap_usd.as_ref().map(|cap| format!(" of {cap}"));
        format!(
            "{:<10} {} USD{} in {}",
            agent.agent_id,
            agent.spent_usd,
            cap.unwrap_or_default(),
            count(agent.requests, "request")
        )
    }));
    let days = budget.days.iter().rev().skip_while(|day| day.day == budget.day);
    lines.extend(days.take(DAYS_SHOWN).map(|day| {
        format!(
            "{} {} USD in {}",
            day.day,
            day.spent_usd,
            count(day.requests, "request")
        )
    }));
    let others = limits.iter().filter(|limit| !limit::is_daily_cap(limit));
    lines.extend(others.map(limit::line));
    lines.extend(ahead(&budget.day));
    out.answer(&serde_json::json!(budget), &lines.join("\n"));
}
