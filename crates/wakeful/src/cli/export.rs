//! `wakeful export`: writes one run to one file, with everything needed to verify it and without secrets.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use wakeful_core::proof::bundle::{BundleChecker, BundleError, BundleLine, VerifiedBundle};
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::proof::{ExportError, ExportOptions, ExportSummary, export as export_run};
use wakeful_store::Store;

use super::GlobalArgs;
use super::record::redactor;
use super::verify::unproven;
use crate::backend::Backend;
use crate::device;
use crate::failure::Failure;
use crate::home::DEVICE_KEY;
use crate::open_home::with_read_only;
use crate::show::Out;
use crate::show::phrase::{count, shell_word};
use crate::system::RealClock;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Run key or a unique prefix of it
    run: String,
    /// Write to this file instead of standard output; the file must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Destination of the lines. Each line is verified like a foreign bundle before it is written.
struct Sink<'a> {
    check: BundleChecker,
    flaw: Option<BundleError>,
    to: ExportTarget<'a>,
}

enum ExportTarget<'a> {
    File(BufWriter<File>),
    Answer(&'a Out),
}

impl Sink<'_> {
    fn take(&mut self, line: &BundleLine) -> Result<(), String> {
        let mut text = serde_json::to_vec(line).map_err(|error| error.to_string())?;
        if let Err(flaw) = self.check.line(&text) {
            let message = flaw.to_string();
            self.flaw = Some(flaw);
            return Err(message);
        }
        text.push(b'\n');
        match &mut self.to {
            ExportTarget::File(file) => file.write_all(&text).map_err(|error| error.to_string()),
            ExportTarget::Answer(out) => {
                out.bytes(&text);
                Ok(())
            }
        }
    }

    async fn write(
        mut self,
        args: &ExportArgs,
        shared: &GlobalArgs,
        store: &Store,
        out: &Out,
    ) -> Result<(ExportSummary, VerifiedBundle), Failure> {
        let mut redactor = redactor(shared, out)?;
        let key = shared.home()?.join(DEVICE_KEY);
        redactor.know(&device::secret(&key).unwrap_or_default());
        let key = device::read(&key).ok();
        let run = Backend::of_store(store, shared)?.find_run(&args.run).await?;
        let mut may_leave = |text: &str| {
            let before = redactor.count();
            redactor.text(text);
            redactor.count() == before
        };
        let mut take = |line: BundleLine| self.take(&line);
        let leaving = ExportOptions {
            key: key.as_ref(),
            may_leave: &mut may_leave,
            write: &mut take,
        };
        let exported = export_run(store, run, leaving, RealClock::new().now()).await;
        let exported = match (exported, self.flaw.take()) {
            (_, Some(flaw)) => return Err(unproven(&flaw, "the run cannot be exported")),
            (Err(error), None) => return Err(failed(error)),
            (Ok(exported), None) => exported,
        };
        let proven = self.check.finish();
        let proven = proven.map_err(|flaw| unproven(&flaw, "the run cannot be exported"))?;
        if let ExportTarget::File(mut file) = self.to {
            let written = file.flush().and_then(|()| file.get_ref().sync_all());
            written.map_err(|error| unwritable("the bundle", &error))?;
        }
        Ok((exported, proven))
    }
}

/// Reads the database without a lock, so it works while a daemon runs.
pub(crate) async fn export(args: &ExportArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let to = match &args.out {
        Some(path) => ExportTarget::File(BufWriter::new(create(path)?)),
        None => ExportTarget::Answer(out),
    };
    let sink = Sink {
        check: BundleChecker::default(),
        flaw: None,
        to,
    };
    let done = with_read_only(shared, async |store| sink.write(args, shared, store, out).await).await;
    let (exported, proven) = match done {
        Ok(done) => done,
        Err(failure) => {
            // A partial bundle is useless, and removing it frees the name for the next attempt.
            let _ = args.out.as_ref().map(std::fs::remove_file);
            return Err(failure);
        }
    };
    tell(args, &exported, &proven, out);
    Ok(0)
}

fn tell(args: &ExportArgs, exported: &ExportSummary, proven: &VerifiedBundle, out: &Out) {
    let keys: Vec<String> = proven.fingerprints().iter().map(ToString::to_string).collect();
    let withheld = match exported.withheld {
        0 => String::new(),
        withheld => format!("; {} left out because of secrets", count(withheld, "blob")),
    };
    let words = format!(
        "{}, {} and {}, signed by {}{withheld}",
        count(proven.lines.events, "event"),
        count(proven.lines.journal, "transition"),
        count(proven.lines.blobs, "blob"),
        keys.join(", ")
    );
    let Some(path) = &args.out else {
        return out.note(&words);
    };
    let object = json!({
        "run_key": proven.run_key, "out": path, "events": proven.lines.events, "transitions": proven.lines.journal,
        "blobs": proven.lines.blobs, "withheld": exported.withheld, "replayed": proven.replayed, "keys": keys,
    });
    let words = format!(
        "{words}\nverify it on any machine with `wakeful verify --bundle {}`",
        shell_word(&path.display().to_string())
    );
    out.answer(&object, &words);
}

/// The file is readable only by its owner, because it contains the conversation.
fn create(path: &Path) -> Result<File, Failure> {
    let mut new = OpenOptions::new();
    let file = new.write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| unwritable(&path.display().to_string(), &error))
}

fn unwritable(what: &str, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot write {what}");
    let hint = "use a new file in a writable folder";
    Failure::io("output_unwritable", &attempt, error, hint)
}

fn failed(error: ExportError) -> Failure {
    let message = error.to_string();
    match error {
        ExportError::Engine(error) => error.into(),
        ExportError::Unsigned => Failure::new(
            "log_unsigned",
            message,
            "every command that writes signs the log when it ends; `wakeful status` shows the key",
        ),
        ExportError::TooLong => Failure::new("bundle_too_long", message, "export a smaller run"),
        ExportError::Refused(_) => Failure::new(
            "output_unwritable",
            message,
            "free some space, or choose another file",
        ),
    }
}
