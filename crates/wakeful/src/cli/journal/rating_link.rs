//! `wakeful journal rate|link|show|changes`: ratings, links, single records and the list of changes.

use clap::{Args, Subcommand};
use serde_json::json;
use wakeful_api::{JournalRecord, JournalWrite, Limit, ListRecords, RecordListKind, Text};

use super::plan::day;
use super::{field, kind_of, of_kind, short, write_record};
use crate::backend::read;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};

/// Arguments of `journal rate`.
#[derive(Debug, Args)]
pub(crate) struct RateArgs {
    /// Value, from 1 to the maximum of the scale
    value: u32,
    /// Record to rate: its id or a unique prefix of it
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "day",
        conflicts_with = "day"
    )]
    record: Option<String>,
    /// Day to rate, such as 2026-11-15
    #[arg(long, value_name = "DATE")]
    day: Option<String>,
    /// Name of the scale, such as energy
    #[arg(long, value_name = "NAME")]
    scale: String,
    /// Maximum of the scale
    #[arg(long, value_name = "N", default_value_t = 5)]
    scale_max: u32,
    /// Note
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkVerb {
    /// Link two records
    Add {
        /// Record that the link starts at: its id or a unique prefix of it
        from: String,
        /// Kind of link: relates_to, blocks, follows, part_of, derived_from, duplicates, or namespace:name
        kind: String,
        /// Record that the link points to: its id or a unique prefix of it
        to: String,
    },
    /// List links, newest first
    List {
        /// Show only links from or to this record
        #[arg(long, value_name = "ID")]
        record: Option<String>,
        /// Maximum number of links to show
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Delete a link
    Delete {
        /// Link id or a unique prefix of it
        id: String,
    },
}

/// Arguments of `journal changes`.
#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    /// Show only changes after this sequence number [default: the newest changes]
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Maximum number of changes to show; the last transaction is never cut
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

pub(super) async fn rate(rate: &RateArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let date = rate.day.as_deref().map(day).transpose()?;
    let rated = write_record(shared, out, async |backend| {
        let record_id = match &rate.record {
            Some(of) => Some(backend.journal_record(of).await?.id),
            None => None,
        };
        Ok(JournalWrite::Rate {
            record_id,
            date: date.map(Text),
            scale: rate.scale.clone(),
            value: rate.value,
            scale_max: Some(rate.scale_max),
            note: rate.note.clone(),
        })
    });
    rated.await
}

pub(super) async fn link(verb: &LinkVerb, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    match verb {
        LinkVerb::Add { from, kind, to } => {
            let linked = write_record(shared, out, async |backend| {
                Ok(JournalWrite::CreateLink {
                    from_id: backend.journal_record(from).await?.id,
                    to_id: backend.journal_record(to).await?.id,
                    link_kind: kind.clone(),
                })
            });
            linked.await
        }
        LinkVerb::List { record, limit } => {
            let links = read(shared, async |backend| {
                let related_id = match record {
                    Some(record) => Some(backend.journal_record(record).await?.id),
                    None => None,
                };
                let wanted = ListRecords {
                    related_id,
                    ..ListRecords::all(RecordListKind::Link, Limit(*limit))
                };
                backend.call(wanted).await
            });
            let links = links.await?.records;
            const LINKS: [Column; 4] = [
                Column::key("LINK"),
                Column::whole("FROM", 1),
                Column::text("KIND", 0),
                Column::whole("TO", 2),
            ];
            let row = |link: &JournalRecord| {
                let [from, kind, to] = ["from_id", "link_kind", "to_id"].map(|name| field(link, name));
                [short(&link.id), short(&from), kind, short(&to)]
            };
            let table = Table::new(LINKS, links.iter().map(row));
            out.list(&json!({"links": links}), &table, "there are no links");
            Ok(())
        }
        LinkVerb::Delete { id } => {
            let gone = write_record(shared, out, async |backend| {
                Ok(JournalWrite::Remove {
                    record_id: of_kind(backend.journal_record(id).await?, Some("link"))?.id,
                    move_to: None,
                })
            });
            gone.await
        }
    }
}

pub(super) async fn show(id: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let record = read(shared, async |backend| backend.journal_record(id).await).await?;
    let mut lines = vec![
        format!("kind        {}", kind_of(&record)),
        format!("id          {}", record.id),
        format!("version     {}", record.version),
        format!("created_at  {}", record.created_at),
    ];
    lines.extend(
        record
            .removed
            .then(|| "deleted     restore it with `wakeful journal restore`".to_owned()),
    );
    lines.extend(
        record
            .fields
            .keys()
            .map(|name| format!("{name:<10}  {}", field(&record, name))),
    );
    out.answer(&json!(record), &lines.join("\n"));
    Ok(())
}

pub(super) async fn changes(wanted: &ChangesArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let told = read(shared, async |backend| {
        backend.journal_changes(wanted.after, wanted.limit).await
    })
    .await?;
    const CHANGES: [Column; 5] = [
        Column::key("SEQ"),
        Column::whole("WHEN", 2),
        Column::text("CHANGE", 0),
        Column::whole("RECORD", 1),
        Column::text("BY", 3),
    ];
    let rows = told.changes.iter().map(|change| {
        [
            change.seq.to_string(),
            out.at(&change.at),
            change.kind.to_string(),
            short(&change.record_id),
            change.author.to_string(),
        ]
    });
    out.list(&json!(told), &Table::new(CHANGES, rows), "there are no changes");
    Ok(())
}
