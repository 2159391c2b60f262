//! Limits of one run, as options of the commands that start runs.

use clap::Args;
use wakeful_api::RunLimits;
use wakeful_core::budget::BudgetResource;

use crate::failure::Failure;

/// The names of the options.
pub(super) const LIMIT_ARGS: [&str; 5] = [
    "max_cost",
    "max_tokens",
    "max_time",
    "max_tool_calls",
    "max_written",
];

/// What a run may use together with its sub-runs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct LimitArgs {
    /// Most that this run and its sub-runs may cost, in US dollars, such as 0.50; a run that needs more waits
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    max_cost: Option<String>,
    /// Most tokens of their requests and replies
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_tokens: Option<String>,
    /// Longest time that their requests and tool calls take, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    max_time: Option<String>,
    /// Most tool calls that start
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_tool_calls: Option<String>,
    /// Most bytes that tools and commands write to disk, such as 500KiB or 2GiB
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    max_written: Option<String>,
}

impl LimitArgs {
    /// The limits. Every message of a conversation has its own run, and so its own limits.
    pub(crate) fn parse(&self) -> Result<RunLimits, Failure> {
        let typed = [
            (BudgetResource::Money, "--max-cost", &self.max_cost),
            (BudgetResource::Tokens, "--max-tokens", &self.max_tokens),
            (BudgetResource::RunTime, "--max-time", &self.max_time),
            (
                BudgetResource::ToolCalls,
                "--max-tool-calls",
                &self.max_tool_calls,
            ),
            (BudgetResource::WrittenBytes, "--max-written", &self.max_written),
        ];
        let mut limits = RunLimits::default();
        for (resource, flag, typed) in typed {
            let Some(typed) = typed else { continue };
            let max = resource.parse_amount(typed.trim()).ok_or_else(|| {
                let message = format!("{flag}: invalid limit {typed:?} on {resource}");
                Failure::usage("bad_amount", message, format!("use {}", resource.amount_form()))
            })?;
            limits.set(resource, max);
        }
        Ok(limits)
    }
}
