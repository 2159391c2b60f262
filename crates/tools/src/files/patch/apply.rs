//! `ApplyPatch`: from a patch to changes of files.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_core::conversation::{Freeform, ToolSpec};
use wakeful_core::policy::PathAccess;
use wakeful_core::step::ToolError;

use super::super::change_set::{Change, OldFile, read_old};
use super::super::edit::{EDITED_BYTES_MAX, text_of};
use super::super::fault::{fault, named};
use super::super::location::{Location, Reach};
use super::hunk::{self, Mismatch};
use super::{FilePatch, parse};
use crate::schema;

pub(crate) const APPLY_PATCH: &str = "ApplyPatch";

/// The field that holds the patch, and that errors name.
const FIELD: &str = "patch";

/// Most bytes of all files of one patch, which are in memory together.
const PATCHED_BYTES_MAX: u64 = 4 * EDITED_BYTES_MAX;

/// The execute permissions.
const EXECUTE: u32 = 0o111;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyPatch {
    /// A unified diff, or *** Begin Patch … *** End Patch.
    #[schemars(length(min = 1))]
    pub(crate) patch: String,
    /// Only check that it applies.
    #[serde(default)]
    pub(crate) dry_run: Option<bool>,
}

/// The grammar between `*** Begin Patch` and `*** End Patch` for providers with free-form tools. `envelope`
/// reads every text that it permits.
pub(super) const GRAMMAR: &str = r#"start: begin file+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?
file: add | delete | update
add: "*** Add File: " path LF ("+" text LF)+
delete: "*** Delete File: " path LF
update: "*** Update File: " path LF (move hunks? | hunks)
move: "*** Move to: " path LF
hunks: (anchor? line+ last?) (anchor line+ last?)*
anchor: "@@" (" " text)? LF
line: ("+" | "-" | " ") text LF
last: "*** End of File" LF
path: /(.+)/
text: /(.*)/
%import common.LF
"#;

pub(crate) fn spec() -> ToolSpec {
    let spec = schema::spec::<ApplyPatch>(
        APPLY_PATCH,
        "Change, create, delete or rename several files with one patch. Either all of it applies or nothing.",
    );
    ToolSpec {
        freeform: Some(Freeform {
            field: FIELD.to_owned(),
            grammar: GRAMMAR.to_owned(),
        }),
        ..spec
    }
}

/// The changes of a patch with a description of each.
#[derive(Debug, Default)]
pub(crate) struct PatchedFiles {
    pub(crate) changes: Vec<Change>,
    pub(crate) summaries: Vec<Value>,
}

impl ApplyPatch {
    pub(crate) fn parse(input: &Value) -> Result<(Self, Vec<FilePatch>), ToolError> {
        let arguments: Self = schema::read(input, "the arguments are patch and dry_run")?;
        let files = parse(&arguments.patch)?;
        Ok((arguments, files))
    }
}

/// The locations of a file before and after.
pub(crate) fn locate(reach: &Reach, file: &FilePatch) -> Result<[Option<Location>; 2], ToolError> {
    let at = |path: &Option<String>| {
        let path = path.as_deref();
        path.map(|path| reach.locate(FIELD, path, PathAccess::Write))
            .transpose()
    };
    Ok([at(&file.old_path)?, at(&file.new_path)?])
}

impl PatchedFiles {
    /// Applies every hunk in memory.
    pub(crate) fn of(files: &[FilePatch], located: Vec<[Option<Location>; 2]>) -> Result<Self, ToolError> {
        let mut patched = Self::default();
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for (file, [before, after]) in files.iter().zip(located) {
            let paths: BTreeSet<String> = [&before, &after]
                .into_iter()
                .flatten()
                .map(|one| one.absolute.clone())
                .collect();
            if let Some(path) = paths.iter().find(|path| seen.contains(*path)) {
                let message = format!("the patch changes {path} twice");
                return Err(named(
                    FIELD,
                    fault("invalid_patch", &message, "put all hunks of a file together"),
                ));
            }
            seen.extend(paths);
            patched.add(file, before, after)?;
            let newest = patched.changes.iter().rev().take(2);
            bytes += newest.map(Change::written_bytes).sum::<u64>();
            if bytes > PATCHED_BYTES_MAX {
                let message = format!(
                    "the files of the patch have more than {} MiB",
                    PATCHED_BYTES_MAX >> 20
                );
                return Err(named(
                    FIELD,
                    fault("file_too_large", &message, "split it into several patches"),
                ));
            }
        }
        Ok(patched)
    }

    fn add(
        &mut self,
        file: &FilePatch,
        before: Option<Location>,
        after: Option<Location>,
    ) -> Result<(), ToolError> {
        match (before, after) {
            (None, Some(after)) => self.create(file, after),
            (Some(before), None) => self.delete(file, before),
            (Some(before), Some(after)) if before.absolute == after.absolute => self.update(file, before),
            (Some(before), Some(after)) => self.rename(file, before, after),
            (None, None) => Ok(()),
        }
    }

    fn create(&mut self, file: &FilePatch, location: Location) -> Result<(), ToolError> {
        if read_old(FIELD, &location, EDITED_BYTES_MAX)?.is_some() {
            return Err(exists(&location));
        }
        let new = apply(&location, "", file)?;
        let mode = (file.is_executable == Some(true)).then_some(0o755);
        self.push(
            "add",
            Change {
                field: FIELD,
                location,
                old: None,
                new: Some(new.into_bytes()),
                mode,
            },
            None,
        );
        Ok(())
    }

    fn delete(&mut self, file: &FilePatch, location: Location) -> Result<(), ToolError> {
        let old = existing(&location)?;
        if !file.hunks.is_empty() {
            apply(&location, text_of(&location, &old, FIELD)?, file)?;
        }
        self.push(
            "delete",
            Change {
                field: FIELD,
                location,
                old: Some(old),
                new: None,
                mode: None,
            },
            None,
        );
        Ok(())
    }

    fn update(&mut self, file: &FilePatch, location: Location) -> Result<(), ToolError> {
        let old = existing(&location)?;
        let (new, mode) = patched(&location, &old, file)?;
        let mode = file.is_executable.map(|_| mode);
        self.push(
            "update",
            Change {
                field: FIELD,
                location,
                old: Some(old),
                new: Some(new),
                mode,
            },
            None,
        );
        Ok(())
    }

    fn rename(&mut self, file: &FilePatch, before: Location, after: Location) -> Result<(), ToolError> {
        let old = existing(&before)?;
        if read_old(FIELD, &after, EDITED_BYTES_MAX)?.is_some() {
            return Err(exists(&after));
        }
        let (new, mode) = patched(&before, &old, file)?;
        let to = after.shown.clone();
        let created = Change {
            field: FIELD,
            location: after,
            old: None,
            new: Some(new),
            mode: Some(mode),
        };
        self.changes.push(created);
        self.push(
            "rename",
            Change {
                field: FIELD,
                location: before,
                old: Some(old),
                new: None,
                mode: None,
            },
            Some(to),
        );
        Ok(())
    }

    fn push(&mut self, kind: &str, change: Change, to: Option<String>) {
        let counts = change.line_counts();
        let mut summary = json!({"path": change.location.shown, "change": kind});
        if let Some(members) = summary.as_object_mut() {
            match to {
                Some(to) => members.insert("to".to_owned(), json!(to)),
                None => members.insert(
                    "lines".to_owned(),
                    json!(format!("+{} -{}", counts.added, counts.removed)),
                ),
            };
        }
        self.summaries.push(summary);
        self.changes.push(change);
    }
}

/// The contents and permissions of a file after its hunks.
fn patched(location: &Location, old: &OldFile, file: &FilePatch) -> Result<(Vec<u8>, u32), ToolError> {
    let new = if file.hunks.is_empty() {
        old.bytes.clone()
    } else {
        apply(location, text_of(location, old, FIELD)?, file)?.into_bytes()
    };
    let mode = old.stat.mode();
    let mode = match file.is_executable {
        Some(true) => mode | EXECUTE,
        Some(false) => mode & !EXECUTE,
        None => mode,
    };
    Ok((new, mode))
}

fn existing(location: &Location) -> Result<OldFile, ToolError> {
    read_old(FIELD, location, EDITED_BYTES_MAX)?.ok_or_else(|| {
        let message = format!("{} does not exist", location.shown);
        named(
            FIELD,
            fault("not_found", &message, "find the file with ListFiles"),
        )
    })
}

fn exists(location: &Location) -> ToolError {
    let message = format!("{} exists already", location.shown);
    named(
        FIELD,
        fault(
            "file_exists",
            &message,
            "update or delete it, or use another name",
        ),
    )
}

fn apply(location: &Location, text: &str, file: &FilePatch) -> Result<String, ToolError> {
    hunk::apply(text, &file.hunks).map_err(|mismatch| {
        let Mismatch {
            hunk,
            kind,
            message,
            expected,
        } = mismatch;
        let message = format!("hunk {hunk} of {} does not apply: {message}", location.shown);
        let hint = "read the file again and copy the lines exactly, with more context; nothing was written";
        ToolError {
            details: Some(json!({"path": location.shown, "hunk": hunk, "expected": expected})),
            ..named(FIELD, fault(kind, &message, hint))
        }
    })
}
