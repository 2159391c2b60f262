//! `wakeful decision`: lists, shows and answers decisions.

use clap::Subcommand;
use wakeful_api::{
    AnswerDecision, Badge, BlastRadius, Channel, Decision, DecisionList, DecisionNotification,
    DecisionStatus, GetDecision, InputGone, ListDecisions, Severity,
};
use wakeful_core::failure::truncate_chars;
use wakeful_core::policy::rule_words;

use super::GlobalArgs;
use crate::backend::{decision_id, read, refuse_tool_process, write_unlocked};
use crate::config::{self, Overrides};
use crate::failure::{FAILED, Failure, UNDECIDED};
use crate::notify::{DesktopSession, NotificationPayload, notify_targets};
use crate::show::Out;

/// Digits of an id in lists and suggested commands; enough to distinguish thousands of decisions.
const SHORT: usize = 12;

/// Maximum length of a question in a list.
const LINE_CHARS_MAX: usize = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum DecisionVerb {
    /// List pending decisions, most urgent first
    List {
        /// Include closed decisions, newest first
        #[arg(long)]
        all: bool,
    },
    /// Show a decision: the question, its options, and the notifications sent for it
    Show {
        /// Decision id or a unique prefix of it
        id: String,
    },
    /// Send a test notification to every configured target
    TestNotifications,
    /// Answer a decision; the waiting run continues
    #[command(disable_version_flag = true)]
    Answer {
        /// Decision id or a unique prefix of it
        id: String,
        /// Id of one of the options, such as `approve` or `deny`
        option: String,
        /// Note to store with the answer; if the answer denies the action, the model reads it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Answer only if the decision still has this version
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
}

pub(crate) async fn decision(verb: &DecisionVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        DecisionVerb::List { all } => {
            let list = read(shared, async |backend| {
                backend.call(ListDecisions { pending: !all }).await
            })
            .await?;
            out.answer(&list, &table(&list, *all));
        }
        DecisionVerb::Show { id } => {
            let asked = GetDecision {
                decision_id: decision_id(id)?,
            };
            let found = read(shared, async |backend| {
                Ok((backend.call(asked).await?, backend.channel()))
            });
            let (found, by) = found.await?;
            out.answer(&found, &in_full(&found, by));
        }
        DecisionVerb::TestNotifications => return test_notifications(shared, out).await,
        DecisionVerb::Answer {
            id,
            option,
            note,
            version,
        } => {
            refuse_tool_process()?;
            let answer = AnswerDecision {
                decision_id: decision_id(id)?,
                option: option.clone(),
                note: note.clone(),
                version: *version,
            };
            let told = write_unlocked(shared, out, async |backend| {
                let answered = backend.call(answer).await?;
                Ok((answered, backend.channel()))
            });
            let (answered, by) = told.await?;
            out.answer(&answered, &in_full(&answered, by));
            if by == Channel::Cli {
                out.note(
                    "no daemon is running here; continue the run with `wakeful run --resume` or `wakeful daemon start`",
                );
            }
        }
    }
    Ok(0)
}

/// Sends a test to every target. A daemon runs in another session than this command, so the result may
/// differ for desktop notifications.
async fn test_notifications(shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let targets = notify_targets(&settings.config, &DesktopSession::found())?;
    if targets.is_empty() {
        let message = "no notification target is configured, and no desktop session was found";
        let hint = "run `wakeful config set notify.webhook URL`, or see docs/decisions-and-brake.md";
        return Err(Failure::new("notify_not_configured", message, hint));
    }
    let (mut lines, mut sent, mut failed) = (Vec::new(), Vec::new(), 0_u32);
    for target in &targets {
        let (name, error) = (
            target.name(),
            target.send(&NotificationPayload::test()).await.err(),
        );
        failed += u32::from(error.is_some());
        lines.push(match &error {
            None => format!("{name:<9} sent"),
            Some(error) => format!("{name:<9} not sent: {error}"),
        });
        sent.push(serde_json::json!({"target": name, "is_delivered": error.is_none(), "error": error}));
    }
    out.answer(&serde_json::json!({"notifications": sent}), &lines.join("\n"));
    Ok(if failed == 0 { 0 } else { FAILED })
}

fn table(list: &DecisionList, all: bool) -> String {
    if list.decisions.is_empty() {
        return match all {
            true => "there are no decisions".to_owned(),
            false => "no decisions are pending".to_owned(),
        };
    }
    let header = format!(
        "{:<SHORT$}  {:<8}  {:<9}  {:<20}  {:<24}  QUESTION",
        "DECISION", "SEVERITY", "STATUS", "AGENT", "ASKED"
    );
    let lines = list.decisions.iter().map(|one| {
        let (name, agent) = (short(&one.decision_id), truncate_chars(&one.agent_id, 20));
        let question = format!("{} {}", one.title, one.input);
        let question = match one.is_input_cut || question.chars().count() > LINE_CHARS_MAX {
            true => format!(
                "{} (truncated; see `decision show`)",
                truncate_chars(&question, LINE_CHARS_MAX)
            ),
            false => question,
        };
        let (severity, status) = (severity(one.severity), status(one.status));
        format!(
            "{name:<SHORT$}  {severity:<8}  {status:<9}  {agent:<20}  {:<24}  {question}",
            one.asked_at
        )
    });
    [header].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// The meaning of a rule in parentheses; empty if the name is self-explanatory.
fn meaning(rule: &str) -> String {
    rule_words(rule).map_or_else(String::new, |words| format!(" ({words})"))
}

fn in_full(one: &Decision, by: Channel) -> String {
    let late = match one.badges.contains(&Badge::TimedOut) {
        true => ", deadline passed once",
        false => "",
    };
    let mut lines = vec![
        format!("decision  {}", one.decision_id),
        format!("question  {}", one.title),
        format!("status    {} (version {}{late})", status(one.status), one.version),
        format!("tool      {}", one.tool),
        format!("input     {}{}", one.input, rest(one)),
        format!(
            "severity  {}, blast radius {}",
            severity(one.severity),
            blast_radius(one.blast_radius)
        ),
        format!("agent     {}", one.agent_id),
        format!("run       {}", one.run_key),
        format!(
            "asked     {} by rule {}{}",
            one.asked_at,
            one.rule,
            meaning(&one.rule)
        ),
        format!("channels  {}", channels(one)),
    ];
    if let (Some(deadline), DecisionStatus::Pending) = (&one.deadline_at, one.status) {
        let then = match one.severity {
            Severity::Critical => "then it is cancelled",
            Severity::Warning | Severity::Low | Severity::Medium | Severity::High => {
                "then its severity increases"
            }
        };
        lines.push(format!("deadline  {deadline} ({then})"));
    }
    lines.extend(one.options.iter().map(|option| {
        let recommended = one.recommended_option_id.as_ref() == Some(&option.id);
        let mark = if recommended { " (recommended)" } else { "" };
        format!(
            "option    {}{mark} — {}: {}",
            option.id, option.label, option.description
        )
    }));
    if let Some(answer) = &one.answer {
        let note = answer.note.as_ref().map(|note| format!(": {note}"));
        lines.push(format!(
            "answer    {} by {} at {}{}",
            answer.option,
            channel(answer.channel),
            answer.at,
            note.unwrap_or_default()
        ));
    }
    lines.extend(one.notifications.iter().map(notification_line));
    if one.status == DecisionStatus::Pending {
        lines.push(format!("\nanswer it {}", how_to_answer(one, by)));
    }
    lines.join("\n")
}

/// Why the arguments are incomplete; empty if they are complete.
const fn rest(one: &Decision) -> &'static str {
    match (one.input_gone, one.is_input_cut) {
        (Some(InputGone::Erased), _) => "\n          (arguments were erased)",
        (Some(InputGone::Pruned), _) => "\n          (truncated; the rest was deleted by retention)",
        (Some(InputGone::Unreadable), _) => {
            "\n          (truncated; the model reply with the rest cannot be read)"
        }
        (None, true) => "\n          (truncated; `wakeful decision show` shows all of it)",
        (None, false) => "",
    }
}

fn channels(one: &Decision) -> String {
    let words: Vec<&str> = one.may_answer.iter().map(|way| channel(*way)).collect();
    words.join(", ")
}

fn notification_line(one: &DecisionNotification) -> String {
    let (way, severity) = (&one.target, severity(one.severity));
    match (&one.error, one.is_delivered) {
        (_, true) => format!("notified  by {way} at {} (as {severity})", one.at),
        (error, false) => format!(
            "not sent  by {way} after {} attempts (as {severity}): {}",
            one.attempts,
            error.as_deref().unwrap_or("in progress")
        ),
    }
}

/// Describes how the decision can be answered through the current channel: with commands to copy if the
/// channel is accepted, otherwise with the step that makes one available. The same command uses the API
/// channel with a daemon and the CLI channel without one.
fn how_to_answer(one: &Decision, by: Channel) -> String {
    let name = short(&one.decision_id);
    let commands = one
        .options
        .iter()
        .map(|option| format!("`wakeful decision answer {name} {}`", option.id));
    let commands = commands.collect::<Vec<_>>().join(" or ");
    let takes = |channel| one.may_answer.contains(&channel);
    if takes(by) {
        return format!("with {commands}");
    }
    let on_page = takes(Channel::Page);
    match by {
        Channel::Cli if takes(Channel::Api) && on_page => {
            format!("after `wakeful daemon start`, on the page or with {commands}")
        }
        Channel::Cli if takes(Channel::Api) => format!("after `wakeful daemon start`, with {commands}"),
        Channel::Cli => {
            "on the page, after `wakeful daemon start`; other channels are not accepted".to_owned()
        }
        Channel::Api | Channel::Page if takes(Channel::Cli) && on_page => {
            format!("on the page, or after `wakeful daemon stop` with {commands}")
        }
        Channel::Api | Channel::Page if takes(Channel::Cli) => {
            format!("after `wakeful daemon stop`, with {commands}")
        }
        Channel::Api | Channel::Page => "on the page; other channels are not accepted".to_owned(),
    }
}

/// The failure of a run that waits for decisions. It lists each question with how to answer it through the
/// current channel; `run` names the run and its agent.
pub(super) fn undecided(run: &str, pending: &[Decision], by: Channel, out: &Out) -> Failure {
    for one in pending {
        let cut = match one.is_input_cut {
            true => format!(
                " (truncated; see `wakeful decision show {}`)",
                short(&one.decision_id)
            ),
            false => String::new(),
        };
        out.note(&format!(
            "{} {}{cut} — answer it {}",
            one.title,
            one.input,
            how_to_answer(one, by)
        ));
    }
    let message = match pending.len() {
        1 => format!("{run} waits for a decision"),
        many => format!("{run} waits for {many} decisions"),
    };
    let hint = match pending {
        [] => "`wakeful decision list` shows the questions".to_owned(),
        [one] => format!("answer it {}", how_to_answer(one, by)),
        [_, ..] if pending.iter().all(|one| one.may_answer.contains(&by)) => {
            "answer each with `wakeful decision answer ID OPTION`".to_owned()
        }
        [_, ..] => "`wakeful decision show ID` shows how to answer each".to_owned(),
    };
    let failure = Failure::new(PENDING, message, hint).with_exit(UNDECIDED);
    failure.with_field("decisions", serde_json::json!(pending))
}

/// Error code of a run that waits for a decision.
const PENDING: &str = "decision_pending";

fn short(name: &str) -> &str {
    name.get(..SHORT).unwrap_or(name)
}

const fn status(status: DecisionStatus) -> &'static str {
    match status {
        DecisionStatus::Pending => "pending",
        DecisionStatus::Answered => "answered",
        DecisionStatus::Cancelled => "cancelled",
        DecisionStatus::Withdrawn => "withdrawn",
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

const fn blast_radius(radius: BlastRadius) -> &'static str {
    match radius {
        BlastRadius::Trivial => "trivial",
        BlastRadius::Small => "small",
        BlastRadius::Medium => "medium",
        BlastRadius::Large => "large",
        BlastRadius::Unknown => "unknown",
    }
}

const fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Cli => "cli",
        Channel::Api => "api",
        Channel::Page => "page",
    }
}
