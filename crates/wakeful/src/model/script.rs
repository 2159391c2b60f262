//! Scripts, read from files.

use std::io::Read as _;
use std::path::Path;

use wakeful_models::{SCRIPT_BYTES_MAX, Scripted};

use crate::failure::Failure;

/// The script in a file, and the whole path under which it is found from any folder.
pub(super) fn load(file: &Path) -> Result<(String, Scripted), Failure> {
    let invalid = |message: String| Failure::usage("script_invalid", message, "see docs/scripts.md");
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read the script {}", file.display());
        Failure::io(
            "script_unreadable",
            &attempt,
            error,
            "give a readable YAML file as scripted:FILE",
        )
    };
    // Absolute, because the run may be resumed from another folder.
    let path = file.canonicalize().map_err(|error| unreadable(&error))?;
    let name = path.display().to_string();
    let bytes = read_regular(&path).map_err(|error| unreadable(&error))?;
    // Before anything else, because a file that is cut at the limit may end inside a character.
    if bytes.len() > SCRIPT_BYTES_MAX {
        return Err(invalid(format!(
            "{name}: a script has at most {SCRIPT_BYTES_MAX} bytes"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| invalid(format!("{name}: {error}")))?;
    let script = Scripted::load(&text, &name).map_err(|error| invalid(error.to_string()))?;
    Ok((name, script))
}

/// Reads a script without ever holding more than the largest one and a byte. Pipes and devices are refused: a
/// run is asked for its script again when it is resumed, and they would not say the same twice, or anything.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let limit = u64::try_from(SCRIPT_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
