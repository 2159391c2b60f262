//! Loads scripted models from files.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use wakeful_models::{SCRIPT_BYTES_MAX, ScriptedModel};

use crate::failure::Failure;

/// The file extensions of scripts. Other files cannot be used as scripts.
const SCRIPT_ENDINGS: [&str; 2] = ["yaml", "yml"];

/// Loads a script, and returns it with its absolute path.
pub(super) fn load(file: &Path) -> Result<(String, ScriptedModel), Failure> {
    let invalid = |message: String| Failure::usage("script_invalid", message, "see `wakeful help scripts`");
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read the script {}", file.display());
        Failure::io(
            "script_unreadable",
            &attempt,
            error,
            "give a readable YAML file as scripted:FILE",
        )
    };
    // Checked before the file is accessed: a caller of the API must not learn whether any other file
    // exists.
    if !is_named_as_script(file) {
        return Err(no_script_name(file));
    }
    // Absolute, because the run may be resumed from another folder.
    let path = file.canonicalize().map_err(|error| unreadable(&error))?;
    if !is_named_as_script(&path) {
        return Err(no_script_name(file));
    }
    let name = path.display().to_string();
    let bytes = read_regular(&path).map_err(|error| unreadable(&error))?;
    // Checked first, because a file that is cut at the limit may end inside a character.
    if bytes.len() > SCRIPT_BYTES_MAX {
        return Err(invalid(format!(
            "{name}: a script has at most {SCRIPT_BYTES_MAX} bytes"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| invalid(format!("{name}: {error}")))?;
    let script = ScriptedModel::load(&text, &name).map_err(|error| invalid(error.to_string()))?;
    Ok((name, script))
}

/// Whether a path has the extension of a script. A link is judged by its target.
fn is_named_as_script(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| SCRIPT_ENDINGS.iter().any(|script| ending == *script))
}

fn no_script_name(file: &Path) -> Failure {
    let message = format!("{} is not the name of a script", file.display());
    let hint = "give a YAML file whose name ends in .yaml or .yml as scripted:FILE";
    Failure::usage("script_invalid", message, hint)
}

/// Reads a script without holding more than the maximum size plus one byte in memory. Pipes and devices are
/// refused: a resumed run reads its script again, and they might return different data or none.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opened without blocking and checked afterwards, because opening a pipe would wait for its other end.
    let mut options = std::fs::OpenOptions::new();
    let no_wait = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = options.read(true).custom_flags(no_wait).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let limit = u64::try_from(SCRIPT_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
