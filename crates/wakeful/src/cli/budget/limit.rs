//! Limits other than daily caps: list, set and remove them.

use clap::Args;
use wakeful_api::{BudgetLimit, CapOrigin, ChangeLimit, ClearLimit, Hex, ListLimits, SetLimit};
use wakeful_core::budget::{BudgetPeriod, BudgetResource, BudgetScope};

use crate::backend::{read, write};
use crate::cli::GlobalArgs;
use crate::failure::Failure;
use crate::show::Out;

/// What a limit is for.
#[derive(Debug, Args)]
pub(crate) struct LimitSelection {
    /// Limit this agent, in addition to the limits on all agents
    #[arg(long, value_name = "ID", conflicts_with_all = ["run", "tree", "limit"])]
    pub(super) agent: Option<String>,
    /// Limit one session of the agent
    #[arg(long, value_name = "NAME", requires = "agent")]
    pub(super) session: Option<String>,
    /// Limit this run
    #[arg(long, value_name = "KEY", conflicts_with_all = ["tree", "limit"])]
    pub(super) run: Option<String>,
    /// Limit the tree of runs that this run belongs to: the run that no other run started, and all below it
    #[arg(long, value_name = "KEY", conflicts_with = "limit")]
    pub(super) tree: Option<String>,
    /// The limit with this id, or its first digits
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["resource", "period"])]
    pub(super) limit: Option<String>,
    /// What is limited: money, tokens, run_time, tool_calls or written_bytes
    #[arg(
        long,
        value_name = "RESOURCE",
        default_value = "money",
        hide_default_value = true
    )]
    pub(super) resource: String,
    /// How long use counts: daily, monthly, yearly or lifetime; only for one agent and for all agents
    #[arg(long, value_name = "PERIOD")]
    pub(super) period: Option<String>,
}

impl LimitSelection {
    /// Whether it selects a daily cap on money.
    pub(super) fn is_cap(&self) -> bool {
        let is_daily = self
            .period
            .as_deref()
            .is_none_or(|period| period == BudgetPeriod::Daily.as_str());
        let is_other =
            self.session.is_some() || self.run.is_some() || self.tree.is_some() || self.limit.is_some();
        is_daily && !is_other && self.resource == BudgetResource::Money.as_str()
    }

    fn resource(&self) -> Result<BudgetResource, Failure> {
        BudgetResource::parse(&self.resource)
            .ok_or_else(|| unknown_word("resource", &self.resource, &BudgetResource::WORDS))
    }

    fn period(&self) -> Result<Option<BudgetPeriod>, Failure> {
        let parse = |word: &String| {
            BudgetPeriod::parse(word).ok_or_else(|| unknown_word("period", word, &BudgetPeriod::WORDS))
        };
        self.period.as_ref().map(parse).transpose()
    }

    fn scope(&self) -> (BudgetScope, Option<String>) {
        match (&self.agent, &self.session, &self.run, &self.tree) {
            (Some(agent), Some(session), _, _) => (BudgetScope::Session, Some(format!("{agent}/{session}"))),
            (Some(agent), None, _, _) => (BudgetScope::Agent, Some(agent.clone())),
            (None, _, Some(run), _) => (BudgetScope::Run, Some(run.clone())),
            (None, _, None, Some(run)) => (BudgetScope::Tree, Some(run.clone())),
            (None, _, None, None) => (BudgetScope::All, None),
        }
    }

    /// Finds the selected limit among all.
    fn find<'a>(&self, limits: &'a [BudgetLimit]) -> Result<&'a BudgetLimit, Failure> {
        let mut found = if let Some(id) = &self.limit {
            let id = id.to_ascii_lowercase();
            let found = limits.iter().filter(|limit| limit.limit_id.starts_with(&id));
            found.collect::<Vec<_>>()
        } else {
            let ((scope, subject), resource, period) = (self.scope(), self.resource()?, self.period()?);
            let is_subject = |limit: &&BudgetLimit| match (&limit.subject, &subject) {
                (Some(known), Some(given)) if matches!(scope, BudgetScope::Run | BudgetScope::Tree) => {
                    known.starts_with(given.as_str())
                }
                (known, given) => known == given,
            };
            let of_scope = limits
                .iter()
                .filter(|limit| limit.scope == scope && limit.resource == resource);
            let of_period = of_scope.filter(|limit| period.is_none_or(|period| limit.period == period));
            of_period.filter(is_subject).collect()
        };
        match (found.pop(), found.is_empty()) {
            (Some(limit), true) => Ok(limit),
            (None, _) => Err(no_limit("there is no such limit")),
            (Some(_), false) => Err(no_limit("several limits match")),
        }
    }
}

fn unknown_word(field: &str, word: &str, words: &[&str]) -> Failure {
    let message = format!("{field}: unknown word {word:?}");
    Failure::usage(
        "invalid_limit",
        message,
        format!("use one of {}", words.join(", ")),
    )
}

fn no_limit(message: &str) -> Failure {
    let hint = "`wakeful budget list` lists all limits with their ids; choose one with --limit";
    Failure::usage("limit_unknown", message.to_owned(), hint)
}

fn parse(resource: BudgetResource, typed: &str) -> Result<u64, Failure> {
    resource.parse_amount(typed.trim()).ok_or_else(|| {
        let message = format!("max: invalid limit {typed:?} on {resource}");
        Failure::usage("bad_amount", message, format!("use {}", resource.amount_form()))
    })
}

/// The digits of a limit's id.
fn id_of(limit: &BudgetLimit) -> Result<Hex<1, 64>, Failure> {
    Hex::try_from(limit.limit_id.clone()).map_err(|_| no_limit("the id of the limit is not readable"))
}

pub(super) async fn list(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let limits = read(shared, async |backend| backend.call(ListLimits {}).await).await?;
    let lines: Vec<String> = limits.iter().map(line).collect();
    out.answer(&serde_json::json!({ "limits": limits }), &lines.join("\n"));
    Ok(())
}

pub(super) async fn set(
    typed: &str,
    selection: &LimitSelection,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    if selection.limit.is_some() {
        let limits = read(shared, async |backend| backend.call(ListLimits {}).await).await?;
        let limit = selection.find(&limits)?;
        let change = ChangeLimit {
            limit_id: id_of(limit)?,
            max: parse(limit.resource, typed)?,
        };
        let set = write(shared, out, async |backend| backend.call(change).await).await?;
        show(&set, out);
        return Ok(());
    }
    let (scope, subject) = selection.scope();
    let resource = selection.resource()?;
    let set = SetLimit {
        scope,
        subject,
        resource,
        period: selection.period()?,
        max: parse(resource, typed)?,
    };
    let set = write(shared, out, async |backend| backend.call(set).await).await?;
    show(&set, out);
    Ok(())
}

pub(super) async fn clear(selection: &LimitSelection, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let limits = read(shared, async |backend| backend.call(ListLimits {}).await).await?;
    let clear = ClearLimit {
        limit_id: id_of(selection.find(&limits)?)?,
    };
    let cleared = write(shared, out, async |backend| backend.call(clear).await).await?;
    out.answer(
        &serde_json::json!(cleared),
        &format!("removed: {}", line(&cleared)),
    );
    Ok(())
}

fn show(limit: &BudgetLimit, out: &Out) {
    out.answer(&serde_json::json!(limit), &line(limit));
}

/// Whether it is a daily cap on money, which the overview shows with the costs.
pub(super) fn is_daily_cap(limit: &BudgetLimit) -> bool {
    limit.resource == BudgetResource::Money && limit.period == BudgetPeriod::Daily
}

/// Digits of ids and run keys in lists.
const ID_DIGITS: usize = 12;

/// One line about a limit.
pub(super) fn line(limit: &BudgetLimit) -> String {
    let BudgetLimit { resource, .. } = limit;
    let short = |text: &str| text.chars().take(ID_DIGITS).collect::<String>();
    let subject = match (limit.scope, limit.subject.as_deref()) {
        (BudgetScope::Run | BudgetScope::Tree, Some(run)) => format!("{} {}", limit.scope, short(run)),
        (scope, Some(subject)) => format!("{scope} {subject}"),
        (scope, None) => format!("{scope} agents"),
    };
    let period = match limit.period {
        BudgetPeriod::Daily => " per day",
        BudgetPeriod::Monthly => " per month",
        BudgetPeriod::Yearly => " per year",
        BudgetPeriod::Lifetime => "",
    };
    let reserved = match limit.reserved {
        0 => String::new(),
        reserved => format!(", {} reserved", resource.amount(reserved)),
    };
    let forecast = match &limit.exhausted_at {
        _ if limit.used.saturating_add(limit.reserved) >= limit.max => ", used up".to_owned(),
        Some(at) => format!(", used up at {at} at the present rate"),
        None => String::new(),
    };
    let origin = match limit.origin {
        CapOrigin::Set => "",
        CapOrigin::Default => " (default)",
    };
    format!(
        "{}  {subject}: {} of {}{period} used{reserved}{forecast}{origin}",
        short(&limit.limit_id),
        resource.amount(limit.used),
        resource.with_unit(limit.max),
    )
}
