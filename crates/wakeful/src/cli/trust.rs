//! `wakeful trust`: which folders the operator trusts, and the review of what actions with untrusted data wrote.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use wakeful_api::{
    FolderReview, ListFolders, ListUntrustedFiles, ReviewFolder, Text, TrustFolder, TrustedFolder,
};
use wakeful_core::time::Millis;

use super::confirm::confirm_review;
use crate::backend::{read, write};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum TrustVerb {
    /// List the folders that you trust or do not trust, and the workspaces of agents
    List,
    /// Trust a folder: agents take its files as yours
    Add {
        /// Folder, with everything below it
        folder: PathBuf,
    },
    /// Stop trusting a folder: agents treat its files as untrusted data
    Remove {
        /// Folder, with everything below it
        folder: PathBuf,
    },
    /// Show what actions with untrusted data wrote in a folder, and mark it as reviewed
    Review {
        /// Folder, such as the workspace of an agent
        folder: PathBuf,
        /// Mark it as reviewed without a question
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn trust(verb: &TrustVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        TrustVerb::List => {
            let folders = read(shared, async |backend| backend.call(ListFolders {}).await).await?;
            let none =
                "no folder has an answer, and no agent has a workspace; trust one: wakeful trust add DIR";
            out.list(&folders, &table(&folders), none);
        }
        TrustVerb::Add { folder } => answer(folder, true, shared, out).await?,
        TrustVerb::Remove { folder } => answer(folder, false, shared, out).await?,
        TrustVerb::Review { folder, yes } => review(folder, *yes, shared, out).await?,
    }
    Ok(0)
}

async fn answer(folder: &Path, is_trusted: bool, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let asked = TrustFolder {
        folder: whole(folder)?,
        is_trusted,
    };
    let answered = write(shared, out, async |backend| backend.call(asked).await).await?;
    let words = match answered.is_trusted {
        true => format!("{} is trusted", answered.folder),
        false => format!(
            "{} is not trusted; agents treat its files as untrusted data",
            answered.folder
        ),
    };
    out.answer(&answered, &words);
    Ok(())
}

async fn review(folder: &Path, is_confirmed: bool, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let folder = whole(folder)?;
    let asked = ListUntrustedFiles {
        folder: folder.clone(),
    };
    let listed = read(shared, async |backend| backend.call(asked).await).await?;
    if listed.untrusted_actions == 0 {
        out.answer(&listed, &words(&listed));
        return Ok(());
    }
    if !is_confirmed {
        out.note(&words(&listed));
        confirm_review(&listed.folder)?;
    }
    let listed_at = Millis::parse_rfc3339(&listed.listed_at).unwrap_or(Millis(0));
    let asked = ReviewFolder {
        folder,
        listed_at: Text(listed_at),
    };
    let left = write(shared, out, async |backend| backend.call(asked).await).await?;
    let done = format!("{} is reviewed", left.folder);
    let words = match left.untrusted_actions {
        0 => done,
        _ => format!("{done}; written since then:\n{}", words(&left)),
    };
    out.answer(&left, &words);
    Ok(())
}

/// The whole path of a folder, because a daemon works in another one.
fn whole(folder: &Path) -> Result<String, Failure> {
    let found = folder.canonicalize().map_err(|error| {
        let attempt = format!("cannot open the folder {}", folder.display());
        Failure::io("folder_unknown", &attempt, &error, "give an existing folder").into_usage()
    })?;
    Ok(found.to_string_lossy().into_owned())
}

/// Characters of a run key that find the run.
const RUN_CHARS: usize = 12;

fn words(review: &FolderReview) -> String {
    let folder = &review.folder;
    if review.untrusted_actions == 0 {
        return format!("no action with untrusted data changed {folder} since the last review");
    }
    if review.files.is_empty() {
        return format!(
            "actions with untrusted data ran in {folder}; no file of them is left as they wrote it"
        );
    }
    let mut lines = vec![format!("written with untrusted data in {folder}:")];
    lines.extend(review.files.iter().map(|file| {
        let run = file.run_key.as_deref().unwrap_or("unknown");
        let run: String = run.chars().take(RUN_CHARS).collect();
        let (path, agent) = (file.path.escape_debug(), &file.agent_id);
        format!("  {path}  {}  {agent} {} run {run}", file.changed_at, file.tool)
    }));
    lines.extend(review.is_truncated.then(|| "  and more".to_owned()));
    lines.join("\n")
}

const FOLDERS: [Column; 4] = [
    Column::key("FOLDER"),
    Column::text("TRUST", 0),
    Column::text("AGENTS", 1),
    Column::text("TO REVIEW", 0),
];

fn table(folders: &[TrustedFolder]) -> Table<4> {
    let row = |folder: &TrustedFolder| {
        let trust = match (folder.is_trusted, &folder.answered_at) {
            (true, Some(_)) => "trusted",
            (true, None) => "workspace",
            (false, _) => "not trusted",
        };
        let actions = match folder.untrusted_actions {
            0 => String::new(),
            count => format!("{count} actions"),
        };
        [
            folder.folder.clone(),
            trust.to_owned(),
            folder.agents.join(", "),
            actions,
        ]
    };
    Table::new(FOLDERS, folders.iter().map(row))
}
