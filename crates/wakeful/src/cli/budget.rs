//! `wakeful budget`: what models cost, and what they may.

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
use crate::system::{RealClock, RealEntropy};

/// Days that are shown to a person: a week. Programs get the month.
const DAYS_SHOWN: usize = 7;

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetVerb {
    /// Show what was spent today, what may be, and what the last days cost
    Show {
        /// Only this agent, day by day
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Count for today again after the clock was set ahead by mistake; what was spent since then counts for today
    ResetDay,
    /// Set what a day may cost; a run that needs more waits
    Set {
        /// US dollars a day, such as 2.50
        #[arg(
            required_unless_present = "unset",
            conflicts_with = "unset",
            allow_negative_numbers = true
        )]
        usd: Option<String>,
        /// The cap of one agent, beside that of all together
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Take the cap away: the configured one holds again, or 5 dollars
        #[arg(long)]
        unset: bool,
    },
}

/// Says that the day of the budget is ahead of the clock; none where it is not. Both are days as text, which sort as days.
fn ahead(day: &str) -> Option<String> {
    let clock = RealClock::new().now().rfc3339();
    let today = clock.split_once('T').map_or(clock.as_str(), |(today, _)| today);
    (day > today).then(|| {
        format!(
            "note       the budget counts for {day}, which is ahead of the clock ({today}): the clock was once set ahead; \
             money comes back after {day}, or with `wakeful budget reset-day` once the clock is right"
        )
    })
}

/// Runs the verb.
pub(crate) async fn budget(verb: &BudgetVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    // Settings that cannot be read would be shown as a cap that does not hold.
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
                .map(|day| format!("{}  {} USD in {} requests", day.day, day.spent_usd, day.requests))
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

/// Makes the clock's day the day of the budget. Only where no daemon runs: it would go by the clock that it knows.
async fn reset_day(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if daemon(shared).await?.is_some() {
        return Err(Failure::usage(
            "daemon_running",
            "the day of the budget cannot be reset while a daemon runs".to_owned(),
            "stop it with `wakeful daemon stop`, set the clock right, and try again",
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

/// An amount that somebody typed.
pub(crate) fn amount(typed: &str) -> Result<MicroUsd, Failure> {
    let amount = parse_cap(typed.trim());
    amount.ok_or_else(|| {
        let message = format!("{typed:?} is no amount of dollars from 0 to {DAILY_CAP_MAX}");
        Failure::usage(
            "bad_amount",
            message,
            "give a number such as 2.50, with at most six decimals",
        )
    })
}

fn tell(budget: &Budget, out: &Out) {
    let origin = match budget.cap_origin {
        CapOrigin::Set => "set by you",
        CapOrigin::Default => "the settings' or the default; `wakeful budget set USD` sets one",
    };
    let mut lines = vec![
        format!("cap        {} USD a day in all ({origin})", budget.daily_cap_usd),
        format!(
            "today      {} USD spent, {} USD put aside ({}, UTC)",
            budget.spent_usd, budget.reserved_usd, budget.day
        ),
    ];
    lines.extend(budget.agents.iter().map(|agent| {
        let cap = agent.daily_cap_usd.as_ref().map(|cap| format!(" of {cap}"));
        format!(
            "{:<10} {} USD{} in {} requests",
            agent.agent_id,
            agent.spent_usd,
            cap.unwrap_or_default(),
            agent.requests
        )
    }));
    let days = budget.days.iter().rev().skip_while(|day| day.day == budget.day);
    lines.extend(
        days.take(DAYS_SHOWN)
            .map(|day| format!("{} {} USD in {} requests", day.day, day.spent_usd, day.requests)),
    );
    lines.extend(ahead(&budget.day));
    out.answer(&serde_json::json!(budget), &lines.join("\n"));
}
