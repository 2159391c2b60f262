//! `wakeful budget`: shows what models cost, and sets daily caps.

use std::sync::Arc;

use clap::Subcommand;
use wakeful_api::{Budget, CapOrigin, GetAgentSpending, GetBudget, SetCap, Text};
use wakeful_core::budget::{DAILY_CAP_MAX, MicroUsd, parse_cap};
use wakeful_core::decision::Channel;
use wakeful_core::id::AgentId;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::api::{ApiContext, RuntimeApi};
use wakeful_server::view;

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
    /// Set a daily cap; a run that needs more waits
    Set {
        /// US dollars per day, such as 2.50
        #[arg(
            required_unless_present = "unset",
            conflicts_with = "unset",
            allow_negative_numbers = true
        )]
        usd: Option<String>,
        /// Set the cap of this agent, in addition to the cap on all agents
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Remove the cap; the configured cap applies again, or 5 dollars
        #[arg(long)]
        unset: bool,
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
            let budget = read(shared, async |backend| backend.call(GetBudget {}).await).await?;
            tell(&budget, out);
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
        BudgetVerb::Set { usd, agent, .. } => {
            let set = SetCap {
                agent_id: agent.as_deref().map(AgentId::parse).transpose()?.map(Text),
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
    lines.extend(ahead(&budget.day));
    out.answer(&serde_json::json!(budget), &lines.join("\n"));
}
