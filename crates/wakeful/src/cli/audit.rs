//! `wakeful audit`: lists, shows and exports what was decided about calls of tools and requests to models.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use wakeful_api::{
    AuditDecision, AuditDetail, AuditEntry, AuditPosition, GateStage, GetAuditEntry, LIMIT_MAX, Limit,
    ListAuditEntries, Text,
};
use wakeful_core::id::AgentId;

use super::GlobalArgs;
use super::runs::time;
use crate::backend::{Backend, read};
use crate::failure::Failure;
use crate::show::Out;
use crate::show::table::{Column, Table};

/// Entries shown by default.
const LIST_DEFAULT: u32 = 50;

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// List audit entries, newest first: each verdict, each answer of a person and each stop, denials included
    List {
        #[command(flatten)]
        filter: AuditFilterArgs,
        /// Maximum number of entries to show
        #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
        /// Continue after the entry with this cursor
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Show one entry with the record of its tool call
    Show {
        /// Agent name
        agent: String,
        /// Number of the entry: that of its event in the agent's log
        seq: u64,
    },
    /// Write all entries that match as JSON lines or CSV, newest first
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// New file to write to [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object per line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

/// Which entries to list.
#[derive(Debug, Args)]
pub(crate) struct AuditFilterArgs {
    /// Only entries of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only entries of this run; a unique prefix of its key is enough
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only entries about this tool
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only entries with this decision
    #[arg(long, value_name = "DECISION", value_parser = PossibleValuesParser::new(AuditDecision::WORDS))]
    decision: Option<String>,
    /// Only entries that this stage decided
    #[arg(long, value_name = "STAGE", value_parser = PossibleValuesParser::new(GateStage::WORDS))]
    stage: Option<String>,
    /// Only entries of this time or later: an RFC 3339 time, or a duration such as 1h before now
    #[arg(long, value_name = "TIME|DURATION")]
    since: Option<String>,
    /// Only entries of this time or earlier: an RFC 3339 time, or a duration before now
    #[arg(long, value_name = "TIME|DURATION")]
    until: Option<String>,
}

impl AuditFilterArgs {
    async fn query(&self, backend: &Backend) -> Result<ListAuditEntries, Failure> {
        let agent = self.agent.as_deref().map(AgentId::parse).transpose()?;
        let run = match &self.run {
            Some(run) => Some(Text(backend.find_run(run).await?)),
            None => None,
        };
        Ok(ListAuditEntries {
            agent_id: agent.map(Text),
            run_key: run,
            tool: self.tool.clone().filter(|tool| !tool.is_empty()),
            decision: self.decision.as_deref().and_then(AuditDecision::parse),
            stage: self.stage.as_deref().and_then(GateStage::parse),
            since: time("--since", self.since.as_deref())?,
            until: time("--until", self.until.as_deref())?,
            ..ListAuditEntries::default()
        })
    }
}

pub(super) async fn audit(verb: &AuditVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        AuditVerb::List {
            filter,
            limit,
            cursor,
        } => {
            let cursor = cursor.as_deref().map(position).transpose()?;
            let page = read(shared, async |backend| {
                let asked = ListAuditEntries {
                    cursor: cursor.map(Text),
                    limit: Limit(*limit),
                    ..filter.query(backend).await?
                };
                backend.call(asked).await
            });
            let page = page.await?;
            let none = "no audit entries match; an entry is written for each verdict on a tool call";
            out.list(&page, &table(&page.entries, out), none);
            if let Some(cursor) = &page.next_cursor {
                out.note(&format!("more entries may follow: --cursor {cursor}"));
            }
        }
        AuditVerb::Show { agent, seq } => {
            let asked = GetAuditEntry {
                agent_id: Text(AgentId::parse(agent)?),
                seq: *seq,
            };
            let detail = read(shared, async |backend| backend.call(asked).await).await?;
            out.answer(&detail, &words(&detail, out));
        }
        AuditVerb::Export(args) => export(args, shared, out).await?,
    }
    Ok(0)
}

fn position(text: &str) -> Result<AuditPosition, Failure> {
    AuditPosition::parse(text).ok_or_else(|| {
        let message = format!("--cursor: invalid cursor {text:?}");
        Failure::usage(
            "bad_cursor",
            message,
            "use the cursor that `wakeful audit list` printed",
        )
    })
}

fn table(entries: &[AuditEntry], out: &Out) -> Table<7> {
    let columns = [
        Column::whole("TIME", 1),
        Column::key("AGENT"),
        Column::key("SEQ"),
        Column::key("DECISION"),
        Column::whole("STAGE", 2),
        Column::text("TOOL", 3),
        Column::text("REASON", 4),
    ];
    let rows = entries.iter().map(|entry| {
        let reason = match entry.reason.is_empty() {
            true => entry.rule.clone(),
            false => format!("{}: {}", entry.rule, entry.reason),
        };
        [
            out.at(&entry.at),
            entry.agent_id.clone(),
            entry.seq.to_string(),
            entry.decision.to_string(),
            entry.stage.to_string(),
            subject(entry).to_owned(),
            reason,
        ]
    });
    Table::new(columns, rows)
}

fn subject(entry: &AuditEntry) -> &str {
    match entry.operation_id {
        Some(_) => &entry.tool,
        None => "model request",
    }
}

fn words(detail: &AuditDetail, out: &Out) -> String {
    let AuditDetail { entry, invocation } = detail;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let mut lines = vec![
        format!("agent      {}  #{}", entry.agent_id, entry.seq),
        format!("time       {}", out.at(&entry.at)),
        format!("decision   {} at stage {}", entry.decision, entry.stage),
        format!("subject    {}", subject(entry)),
        format!("rule       {}", entry.rule),
        format!("reason     {}", entry.reason),
        format!(
            "category   {}",
            entry.category.map_or("-", |category| category.as_str())
        ),
        format!("policy     {}", text(&entry.policy_version)),
        format!("run        {}", text(&entry.run_key)),
        format!("operation  {}", text(&entry.operation_id)),
    ];
    if let Some(call) = invocation {
        lines.extend([
            format!("input      {}", call.has_input),
            format!("output     {}", call.has_output),
            format!("session    {}", call.in_session.as_str()),
            format!("result     {}", call.produced_tool_result),
            format!("compliance {}", call.has_compliance_status),
        ]);
    }
    lines.join("\n")
}

async fn export(args: &ExportArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let ExportArgs {
        filter,
        format,
        output,
    } = args;
    let (format, output) = (*format, output.as_deref());
    let mut sink = Sink::open(output, out)?;
    if format == ExportFormat::Csv {
        sink.write(&csv_line(&COLUMNS.map(str::to_owned)))?;
    }
    let count = read(shared, async |backend| {
        let (mut asked, mut count) = (filter.query(backend).await?, 0_usize);
        asked.limit = Limit(LIMIT_MAX);
        loop {
            let page = backend.call(asked.clone()).await?;
            for entry in &page.entries {
                sink.write(&line(entry, format))?;
            }
            count += page.entries.len();
            match page.next_cursor.as_deref().and_then(AuditPosition::parse) {
                Some(next) => asked.cursor = Some(Text(next)),
                None => return Ok(count),
            }
        }
    });
    let count = count.await?;
    if let Some(path) = output {
        let object = serde_json::json!({ "entries": count, "file": path });
        out.answer(
            &object,
            &format!("wrote {count} audit entries to {}", path.display()),
        );
    }
    Ok(())
}

/// Where an export is written.
enum Sink<'a> {
    Stdout(&'a Out),
    File(std::fs::File, &'a Path),
}

impl<'a> Sink<'a> {
    fn open(path: Option<&'a Path>, out: &'a Out) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout(out));
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(|error| not_written(path, &error))?;
        Ok(Self::File(file, path))
    }

    fn write(&mut self, line: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(out) => out.bytes(line.as_bytes()),
            Self::File(file, path) => {
                let written = file.write_all(line.as_bytes());
                written.map_err(|error| not_written(path, &error))?;
            }
        }
        Ok(())
    }
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    Failure::io(
        "export_failed",
        &attempt,
        error,
        "name a new file in a folder that you can write",
    )
}

const COLUMNS: [&str; 12] = [
    "at",
    "agent_id",
    "seq",
    "decision",
    "stage",
    "tool",
    "rule",
    "reason",
    "category",
    "policy_version",
    "run_key",
    "operation_id",
];

fn line(entry: &AuditEntry, format: ExportFormat) -> String {
    match format {
        ExportFormat::Jsonl => {
            let json = serde_json::to_string(entry).unwrap_or_default();
            format!("{json}\n")
        }
        ExportFormat::Csv => {
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            csv_line(&[
                entry.at.clone(),
                entry.agent_id.clone(),
                entry.seq.to_string(),
                entry.decision.to_string(),
                entry.stage.to_string(),
                entry.tool.clone(),
                entry.rule.clone(),
                entry.reason.clone(),
                entry
                    .category
                    .map_or_else(String::new, |category| category.to_string()),
                text(&entry.policy_version),
                text(&entry.run_key),
                text(&entry.operation_id),
            ])
        }
    }
}

fn csv_line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| csv_cell(cell)).collect();
    format!("{}\r\n", cells.join(","))
}

/// A cell as RFC 4180 writes it. A model chooses names of tools and hosts, so a cell that a spreadsheet would
/// evaluate as a formula begins with an apostrophe.
fn csv_cell(text: &str) -> String {
    let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_quoted_and_never_formulas() {
        assert_eq!(csv_cell("plain"), "plain");
        assert_eq!(csv_cell("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!(csv_cell("=HYPERLINK(1,2)"), "\"'=HYPERLINK(1,2)\"");
        assert_eq!(csv_cell("@x"), "'@x");
    }
}
