//! The errors of file tools.

use wakeful_core::step::ToolError;

use super::beneath::OpenError;
use super::location::Location;

pub(super) fn fault(kind: &str, message: &str, hint: &str) -> ToolError {
    ToolError::new(kind, message, hint)
}

/// The error with the name of the field that caused it.
pub(super) fn named(field: &str, fault: ToolError) -> ToolError {
    ToolError {
        field: Some(field.to_owned()),
        ..fault
    }
}

/// The error of a path that could not be opened.
pub(super) fn unopened(field: &str, location: &Location, error: &OpenError) -> ToolError {
    let shown = &location.shown;
    let (kind, message, hint) = match error {
        OpenError::Missing => (
            "not_found",
            format!("{shown} does not exist"),
            "find the file with ListFiles or SearchFiles",
        ),
        OpenError::Folder => (
            "is_folder",
            format!("{shown} is a folder"),
            "use ListFiles for folders",
        ),
        OpenError::NotFolder => (
            "not_a_folder",
            format!("a part of {shown} is not a folder"),
            "check the path with ListFiles",
        ),
        OpenError::NotRegular(what) => (
            "not_a_file",
            format!("{shown} is {what}, and only ordinary files are opened"),
            "use another file",
        ),
        OpenError::Changed => (
            "path_changed",
            format!("the folders of {shown} changed while it was opened"),
            "try again when no other program changes them",
        ),
        OpenError::Unsupported => (
            "openat2_missing",
            "this kernel cannot open files beneath a folder (openat2, Linux 5.6)".to_owned(),
            "use ExecCommand for files, or ask a person to update the kernel",
        ),
        OpenError::Io(cause) => (
            "file_error",
            format!("{shown}: {cause}"),
            "check the permissions and the space on the disk",
        ),
    };
    let retryable = matches!(error, OpenError::Changed);
    ToolError {
        retryable,
        ..named(field, fault(kind, &message, hint))
    }
}
