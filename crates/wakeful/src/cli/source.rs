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

#[derive(Debug, Subcommand)]
pub(crate) enum SourceVerb {
    /// Watch a folder or a Git repository; existing content does not count as a change
    #[command(subcommand)]
    Add(AddSourceVerb),
    /// List watched sources
    List,
    /// Stop watching a source
    Remove {
        /// Source id
        id: String,
    },
    /// Scan a source now
    Scan {
        /// Source id
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
            out.answer(&added, &line(&added));
        }
        SourceVerb::List => {
            let list = read(shared, async |backend| backend.call(ListSources {}).await).await?;
            let lines: Vec<String> = list.sources.iter().map(line).collect();
            let words = match lines.is_empty() {
                true => "there are no sources".to_owned(),
                false => lines.join("\n"),
            };
            out.answer(&list, &words);
        }
        SourceVerb::Remove { id } => {
            let source_id = Text(SourceId::parse(id)?);
            let gone = write(shared, out, async |backend| {
                backend.call(RemoveSource { source_id }).await
            });
            let gone = gone.await?;
            out.answer(&gone, &format!("stopped watching source {}", gone.source_id));
        }
        SourceVerb::Scan { id } => {
            let source_id = Text(SourceId::parse(id)?);
            let scan = write(shared, out, async |backend| {
                backend.call(ScanSource { source_id }).await
            });
            let scan = scan.await?;
            let mut words = format!("source {}: {} changes", scan.source_id, scan.changes);
            if scan.unreadable > 0 {
                words.push_str(&format!(", {} unreadable", scan.unreadable));
            }
            out.answer(&scan, &words);
        }
    }
    Ok(0)
}

/// Formats a source as one line.
fn line(one: &Source) -> String {
    let (kind, what) = match one.kind {
        SourceKind::Folder => ("folder", "files"),
        SourceKind::Git => ("git", "refs"),
    };
    let trouble = one
        .last_error
        .as_ref()
        .map(|why| format!("   {why}"))
        .unwrap_or_default();
    format!(
        "{}   {kind} {}, {} {what}{trouble}",
        one.source_id, one.path, one.entries
    )
}
