//! `wakeful record`: writes the conversation of a run as a script, without secrets.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use wakeful_core::conversation::Block;
use wakeful_core::key::RunKey;
use wakeful_core::run::{InputReads, RunInput};
use wakeful_models::{ROUNDS_MAX, RecordedRound, SCRIPT_BYTES_MAX, ScriptWriteError, write_script};
use wakeful_store::{StoreError, View};

use super::GlobalArgs;
use crate::backend::Backend;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::open_home::with_read_only;
use crate::redact::Redactor;
use crate::secret::SecretHandle;
use crate::show::Out;
use crate::show::phrase::{count as counted, shell_word};

/// Run log rows read at once.
const JOURNAL_PAGE: u32 = 200;

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Run key or a unique prefix of it
    run: String,
    /// Write to this file instead of standard output; the file must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads the database without a lock, so it works while a daemon runs.
pub(crate) async fn record(args: &RecordArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let mut redactor = redactor(shared, out)?;
    let (run, rounds) = with_read_only(shared, async |store| {
        let run = Backend::of_store(store, shared)?.find_run(&args.run).await?;
        let rounds = store.read(move |view| rounds(view, &run)).await?;
        Ok((run, rounds))
    })
    .await?;
    let rounds = rounds.ok_or_else(|| unknown(run))?;
    let rounds: Vec<RecordedRound> = rounds.map_err(|error| unwritable(&error))?;
    let clean: Vec<RecordedRound> = rounds
        .into_iter()
        .map(|round| without_secrets(round, &mut redactor))
        .collect();
    let script = write_script(&clean).map_err(|error| unwritable(&error))?;
    let script = format!("# Recorded from run {run}.\n{script}");
    let (count, redacted) = (clean.len(), redactor.count());
    let told = format!(
        "recorded {} and replaced {}",
        counted(count, "round"),
        counted(redacted, "secret")
    );
    match &args.out {
        Some(path) => {
            save(path, &script)?;
            let object = json!({"run_key": run, "out": path, "rounds": count, "redacted": redacted});
            out.answer(
                &object,
                &format!(
                    "{told}; run it with `wakeful run \"…\" --model {}`",
                    shell_word(&format!("scripted:{}", path.display()))
                ),
            );
        }
        None => {
            let object = json!({"run_key": run, "script": script, "rounds": count, "redacted": redacted});
            out.answer(&object, script.trim_end());
            out.note(&told);
        }
    }
    Ok(0)
}

/// Builds a redactor for all secrets that this process can find.
pub(super) fn redactor(shared: &GlobalArgs, out: &Out) -> Result<Redactor, Failure> {
    let mut redactor = Redactor::of_environment();
    know_keys(&mut redactor, shared, out)?;
    // The daemon's token permits sending messages, so it is a secret too.
    if let Ok(token) = std::fs::read_to_string(shared.home()?.join("token")) {
        redactor.know(&token);
    }
    Ok(redactor)
}

/// Adds the keys of configured providers, which may have any format and location. Keys of other providers
/// are in environment variables whose names identify them.
fn know_keys(redactor: &mut Redactor, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    for (name, provider) in &settings.config.providers {
        let Some(Ok(handle)) = provider.key.as_deref().map(SecretHandle::parse) else {
            continue;
        };
        match handle.text() {
            Ok(key) => redactor.know(&key.unwrap_or_default()),
            Err(failure) => out.note(&format!(
                "cannot read the key of {name}, so it is not redacted: {}",
                failure.message()
            )),
        }
    }
    Ok(())
}

/// The result of every model request of a run, oldest first; `None` if the run does not exist.
fn rounds(
    view: &mut View<'_>,
    run: &RunKey,
) -> Result<Option<Result<Vec<RecordedRound>, ScriptWriteError>>, StoreError> {
    if view.run(run)?.is_none() {
        return Ok(None);
    }
    let (mut rounds, mut bytes, mut after) = (Vec::new(), 0_usize, 0);
    loop {
        let page = view.run_log(run, after, JOURNAL_PAGE)?;
        let Some(last) = page.last() else {
            return Ok(Some(Ok(rounds)));
        };
        after = last.ordinal;
        for row in &page {
            let malformed = |_| StoreError::Malformed("a run log row cannot be read");
            let (input, _): (RunInput, InputReads) = serde_json::from_slice(&row.body).map_err(malformed)?;
            let round = match input {
                RunInput::Replied(reply) => {
                    let body = view.blob(&reply.content)?.unwrap_or_default();
                    bytes = bytes.saturating_add(body.len());
                    // Erased content has no blocks to record.
                    let blocks: Vec<Block> = serde_json::from_slice(&body).unwrap_or_default();
                    RecordedRound::Answer {
                        blocks,
                        usage: reply.usage,
                    }
                }
                RunInput::AttemptFailed { failure, .. } => RecordedRound::Failure(failure),
                RunInput::Admitted { .. }
                | RunInput::Parked { .. }
                | RunInput::Resumed
                | RunInput::Settled { .. }
                | RunInput::Started { .. }
                | RunInput::Postponed
                | RunInput::Decided { .. }
                | RunInput::ApprovalExpired { .. }
                | RunInput::Cancelled => continue,
            };
            rounds.push(round);
        }
        if rounds.len() > ROUNDS_MAX || bytes > SCRIPT_BYTES_MAX {
            return Ok(Some(Err(ScriptWriteError::TooLong)));
        }
    }
}

fn without_secrets(round: RecordedRound, redactor: &mut Redactor) -> RecordedRound {
    match round {
        RecordedRound::Answer { blocks, usage } => RecordedRound::Answer {
            blocks: blocks.into_iter().map(|block| redactor.block(block)).collect(),
            usage,
        },
        RecordedRound::Failure(mut failure) => {
            failure.artifact.summary = redactor.text(&failure.artifact.summary);
            RecordedRound::Failure(failure)
        }
    }
}

/// The file is readable only by its owner, because not every secret can be recognized.
fn save(path: &Path, script: &str) -> Result<(), Failure> {
    let mut new = OpenOptions::new();
    let saved = new
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(script.as_bytes()));
    saved.map_err(|error| {
        let attempt = format!("cannot write {}", path.display());
        Failure::io(
            "output_unwritable",
            &attempt,
            &error,
            "use a new file in a writable folder",
        )
    })
}

fn unknown(run: RunKey) -> Failure {
    let message = format!("run {run} has not started");
    Failure::new("run_unknown", message, "`wakeful runs list` lists all runs")
}

fn unwritable(error: &ScriptWriteError) -> Failure {
    let hint = match error {
        ScriptWriteError::Empty => "record it after its first model request",
        ScriptWriteError::TooLong => "record a shorter run",
        ScriptWriteError::Refused(_) => "use `wakeful transcript` to show it",
    };
    Failure::new(
        "run_not_recordable",
        format!("cannot record the run: {error}"),
        hint,
    )
}
