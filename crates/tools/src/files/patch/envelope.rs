//! Reads the grammar between `*** Begin Patch` and `*** End Patch`.

use super::hunk::{Hunk, HunkLine, Position};
use super::{BEGIN, FilePatch, PatchError};

const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// The lines that the grammar begins with.
#[cfg(test)]
pub(super) const HEADERS: [&str; 7] = [BEGIN, END, ADD, DELETE, UPDATE, MOVE, END_OF_FILE];

pub(super) fn parse(lines: &[&str]) -> Result<Vec<FilePatch>, PatchError> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut is_ended = false;
    for (at, line) in lines.iter().enumerate() {
        match line.trim_end() {
            _ if is_ended && line.trim().is_empty() => {}
            BEGIN if files.is_empty() => {}
            "" if files.is_empty() => {}
            END => is_ended = true,
            _ if is_ended => return Err(PatchError::new(at, "text follows *** End Patch")),
            header if header.starts_with("*** ") => read_header(header, at, &mut files)?,
            _ => {
                let Some(file) = files.last_mut() else {
                    return Err(PatchError::new(at, "a line comes before the first file"));
                };
                read_line(line, at, file)?;
            }
        }
    }
    if !is_ended {
        return Err(PatchError::new(lines.len(), "*** End Patch is missing"));
    }
    let is_empty = |file: &FilePatch| file.old_path == file.new_path && file.hunks.is_empty();
    if let Some(file) = files.iter().find(|file| is_empty(file)) {
        let path = file.new_path.as_deref().unwrap_or_default();
        return Err(PatchError::new(
            0,
            format!("the update of {path} changes nothing"),
        ));
    }
    Ok(files)
}

fn read_header(header: &str, at: usize, files: &mut Vec<FilePatch>) -> Result<(), PatchError> {
    let path = |prefix: &str| header.strip_prefix(prefix).map(|path| path.trim().to_owned());
    if let Some(path) = path(ADD) {
        files.push(FilePatch {
            new_path: Some(path),
            ..FilePatch::default()
        });
    } else if let Some(path) = path(DELETE) {
        files.push(FilePatch {
            old_path: Some(path),
            ..FilePatch::default()
        });
    } else if let Some(path) = path(UPDATE) {
        files.push(FilePatch {
            old_path: Some(path.clone()),
            new_path: Some(path),
            ..FilePatch::default()
        });
    } else if let Some(path) = path(MOVE) {
        match files.last_mut() {
            Some(file) if file.old_path.is_some() && file.hunks.is_empty() => file.new_path = Some(path),
            _ => return Err(PatchError::new(at, "*** Move to: must follow *** Update File:")),
        }
    } else if header == END_OF_FILE {
        match files.last_mut().and_then(|file| file.hunks.last_mut()) {
            Some(hunk) => hunk.is_at_end = true,
            None => return Err(PatchError::new(at, "*** End of File must follow a hunk")),
        }
    } else {
        return Err(PatchError::new(at, format!("unknown header {header:?}")));
    }
    Ok(())
}

fn read_line(line: &str, at: usize, file: &mut FilePatch) -> Result<(), PatchError> {
    if file.new_path.is_none() {
        return Err(PatchError::new(at, "a deleted file has no lines"));
    }
    let is_new = file.old_path.is_none();
    if let Some(anchor) = line.strip_prefix("@@").filter(|_| !is_new) {
        let anchor = anchor.trim();
        file.hunks.push(Hunk {
            position: match anchor {
                "" => Position::Anywhere,
                anchor => Position::After {
                    anchor: anchor.to_owned(),
                },
            },
            ..Hunk::default()
        });
        return Ok(());
    }
    let rest = || line.get(1..).unwrap_or_default().to_owned();
    let line = match line.as_bytes().first() {
        Some(b'+') => HunkLine::Add(rest()),
        Some(b' ') if !is_new => HunkLine::Context(rest()),
        Some(b'-') if !is_new => HunkLine::Remove(rest()),
        None if !is_new => HunkLine::Context(String::new()),
        _ if is_new => return Err(PatchError::new(at, "every line of a new file must begin with +")),
        _ => return Err(PatchError::new(at, "a line must begin with a blank, + or -")),
    };
    if file.hunks.is_empty() {
        file.hunks.push(Hunk::default());
    }
    if let Some(hunk) = file.hunks.last_mut() {
        hunk.lines.push(line);
    }
    Ok(())
}
