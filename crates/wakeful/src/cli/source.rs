//! `wakeful source`: manages the folders and Git repositories that are watched for changes.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wakeful_api::{AddSource, ListSources, RemoveSource, ScanSource, Source, SourceKind, Text};
use wakeful_core::id::SourceId;

use super::GlobalArgs;
use crate::backend::in_process::device_of;
use crate::backend::{read, write};
use crate::failure::Failure;
use crate::home::Home;
use crate::show::Out;
use crate::show::phrase::count;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum SourceVerb {
    /// Watch a folder or a Git repository; existing content does not count as a change
    #[command(subcommand)]
    Add(AddSourceVerb),
    /// List watched sources
    List,
    /// Stop watching a source
    Remove {
        /// Source id or a unique prefix of it
        id: String,
    },
    /// Scan a source now
    Scan {
        /// Source id or a unique prefix of it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AddSourceVerb {
    /// Watch the files of a folder and its subfolders
    Folder(AddSourceArgs),
    /// Watch the refs of a Git repository
    Git(AddSourceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddSourceArgs {
    /// Folder
    path: PathBuf,
    /// Source id [default: generated]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
}

impl AddSourceVerb {
    fn wanted(&self) -> Result<AddSource, Failure> {
        let (kind, args) = match self {
            Self::Folder(args) => (SourceKind::Folder, args),
            Self::Git(args) => (SourceKind::Git, args),
        };
        let path = std::path::absolute(&args.path).ok();
        let path = path.and_then(|path| path.into_os_string().into_string().ok());
        let Some(path) = path else {
            let message = format!("the path {:?} cannot be stored", args.path);
            return Err(Failure::usage(
                "bad_path",
                message,
                "use a path that is valid UTF-8",
            ));
        };
        let source_id = args.id.as_deref().map(SourceId::parse).transpose()?;
        Ok(AddSource {
            source_id: source_id.map(Text),
            kind,
            path,
        })
    }
}

pub(crate) async fn source(verb: &SourceVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        SourceVerb::Add(add) => {
            let new = add.wanted()?;
            let added = write(shared, out, async |backend| {
                // A source belongs to the device that added it, so the device key must be readable.
                if !backend.is_daemon() {
                    device_of(&Home::open(&shared.home()?)?)?;
                }
                backend.call(new).await
            });
            let added = added.await?;
            out.answer(&added, &out.table(&table(std::slice::from_ref(&added))));
        }
        SourceVerb::List => {
            let list = read(shared, async |backend| backend.call(ListSources {}).await).await?;
            out.list(&list, &table(&list.sources), "there are no sources");
        }
        SourceVerb::Remove { id } => {
            let gone = write(shared, out, async |backend| {
                let source_id = backend.find_source(id).await?;
                backend.call(RemoveSource { source_id }).await
            });
            let gone = gone.await?;
            out.answer(&gone, &format!("stopped watching source {}", gone.source_id));
        }
        SourceVerb::Scan { id } => {
            let scan = write(shared, out, async |backend| {
                let source_id = backend.find_source(id).await?;
                backend.call(ScanSource { source_id }).await
            });
            let scan = scan.await?;
            let mut words = format!("source {}: {}", scan.source_id, count(scan.changes, "change"));
            if scan.unreadable > 0 {
                words.push_str(&format!(", {} unreadable", scan.unreadable));
            }
            out.answer(&scan, &words);
        }
    }
    Ok(0)
}

const SOURCES: [Column; 5] = [
    Column::key("SOURCE"),
    Column::whole("KIND", 1),
    Column::text("PATH", 0),
    Column::whole("WATCHES", 3),
    Column::text("PROBLEM", 2),
];

fn table(sources: &[Source]) -> Table<5> {
    let row = |one: &Source| {
        let what = match one.kind {
            SourceKind::Folder => "file",
            SourceKind::Git => "ref",
        };
        [
            one.source_id.clone(),
            one.kind.to_string(),
            one.path.clone(),
            count(one.entries, what),
            one.last_error.clone().unwrap_or_default(),
        ]
    };
    Table::new(SOURCES, sources.iter().map(row))
}
