//! `wakeful brake`: stops everything or one agent, and releases it again.

use clap::Subcommand;
use wakeful_api::{Brake, BrakeList, ListBrakes, ReleaseBrake, Text};
use wakeful_core::id::AgentId;
use wakeful_runtime::api::REASON_CHARS_MAX;

use super::GlobalArgs;
use crate::backend::{read, refuse_tool_process, stop, write_unlocked};
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum BrakeVerb {
    /// Stop all agents or one: running work stops, messages are queued, and nothing starts. A brake
    /// persists across restarts
    On {
        /// Brake only this agent
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Reason, shown wherever the brake is shown
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Release a brake; held work continues where it stopped
    Off {
        /// Release the brake of this agent [default: the brake on everything]
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
    },
    /// Show active brakes
    Status,
}

pub(crate) async fn brake(verb: &BrakeVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let brakes = match verb {
        BrakeVerb::On { agent, reason } => {
            let agent = agent.as_deref().map(AgentId::parse).transpose()?;
            if reason
                .as_ref()
                .is_some_and(|reason| reason.chars().count() > REASON_CHARS_MAX)
            {
                let message = format!("--reason: more than {REASON_CHARS_MAX} characters");
                return Err(Failure::usage("reason_too_long", message, "use a shorter reason"));
            }
            stop::brake(shared, out, agent, reason.clone()).await?
        }
        BrakeVerb::Off { agent } => {
            refuse_tool_process()?;
            let agent_id = agent.as_deref().map(AgentId::parse).transpose()?.map(Text);
            let told = write_unlocked(shared, out, async |backend| {
                let before = backend.call(ListBrakes {}).await?.brakes;
                let after = backend.call(ReleaseBrake { agent_id }).await?;
                Ok((before, after, backend.is_daemon()))
            });
            let (before, after, has_daemon) = told.await?;
            out.answer(&after, &released(&before, &after.brakes, out));
            if !has_daemon {
                out.note("no daemon is running here; held work continues with `wakeful daemon start` or `wakeful run --resume`");
            }
            return Ok(0);
        }
        BrakeVerb::Status => match read(shared, async |backend| backend.call(ListBrakes {}).await).await {
            Ok(brakes) => brakes,
            Err(failure) => stop::brakes_in_slot(shared, failure)?,
        },
    };
    tell(&brakes, out);
    Ok(0)
}

/// What the release of a brake changed, and the brakes that remain.
fn released(before: &[Brake], after: &[Brake], out: &Out) -> String {
    let of = |brake: &Brake| brake.agent_id.clone();
    let gone = before
        .iter()
        .filter(|old| !after.iter().any(|new| of(new) == of(old)));
    let gone = gone.map(|brake| {
        let who = match &brake.agent_id {
            None => "everything".to_owned(),
            Some(agent) => format!("agent {agent}"),
        };
        format!(
            "released {who} (braked {}); held work continues",
            out.at(&brake.at)
        )
    });
    let mut lines: Vec<String> = gone.collect();
    if lines.is_empty() {
        lines.push("no such brake was set; nothing changed".to_owned());
    }
    lines.extend(after.iter().map(|brake| line(brake, out)));
    lines.join("\n")
}

fn tell(list: &BrakeList, out: &Out) {
    let lines: Vec<String> = list.brakes.iter().map(|brake| line(brake, out)).collect();
    let words = match lines.is_empty() {
        true => "no brake is set".to_owned(),
        false => lines.join("\n"),
    };
    out.answer(list, &words);
}

/// Formats a brake as one line that includes the command to release it.
pub(super) fn line(brake: &Brake, out: &Out) -> String {
    let (who, way) = match &brake.agent_id {
        None => ("everything".to_owned(), "wakeful brake off".to_owned()),
        Some(agent) => (
            format!("agent {agent}"),
            format!("wakeful brake off --agent {agent}"),
        ),
    };
    let reason = match brake.reason.as_str() {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let pending = match &brake.not_durable {
        None => String::new(),
        Some(why) => format!("\n         not yet durable: {}", why.message),
    };
    format!(
        "braked   {who} {}{reason} — release with `{way}`{pending}",
        out.at(&brake.at)
    )
}
