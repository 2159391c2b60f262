//! Reads the files attached to a prompt.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use wakeful_core::attachment;
use wakeful_core::conversation::{ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, Attachment};

use crate::failure::Failure;

/// Reads the files, each up to its size limit.
pub(in crate::cli) fn read(paths: &[PathBuf]) -> Result<Vec<Attachment>, Failure> {
    // The count is checked before any file is read.
    if paths.len() > ATTACHMENTS_MAX {
        let message = format!("--attach: more than {ATTACHMENTS_MAX} attachments");
        return Err(bad(message));
    }
    let attachments: Vec<Attachment> = paths.iter().map(|path| one(path)).collect::<Result<_, _>>()?;
    attachment::check_together(&attachments).map_err(|error| bad(format!("--attach: {error}")))?;
    Ok(attachments)
}

fn one(path: &Path) -> Result<Attachment, Failure> {
    let shown = path.display();
    let bytes = bytes(path).map_err(|error| bad(format!("--attach {shown}: {error}")))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Attachment::of_bytes(&name, &bytes).map_err(|error| bad(format!("--attach {shown}: {error}")))
}

/// Reads one byte more than allowed, to detect files over the limit. Pipes and devices are refused, because
/// a repeated call must produce the same message.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let limit = u64::try_from(ATTACHMENT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The failure for a file that was not named with the flag.
pub(in crate::cli) fn without_flag(failure: Failure) -> Failure {
    let message = failure
        .message()
        .trim_start_matches("--attach")
        .trim_start_matches(':');
    let message = message.trim_start().to_owned();
    failure.with_message(message)
}

fn bad(message: String) -> Failure {
    let hint = "attach images, PDFs and plain text; mention other files of the workspace in the prompt";
    Failure::usage("bad_attachment", message, hint)
}
