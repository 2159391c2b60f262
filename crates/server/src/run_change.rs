//! HTTP handlers for the changes of a run, and for undoing them.

use wakeful_api::{CHANGED_PATH_BYTES_MAX, GetRunChanges, RunChanges, UNDO_PATHS_MAX, UndoReport, UndoRun};
use wakeful_ports::snapshot::{ChangeDetail, ChangeQuery, RestoreMode, RestoreRequest};

use crate::error::ApiError;
use crate::route::{Call, Routes};

pub(crate) fn routes() -> Routes {
    Routes::default().add(changes).add(undo)
}

async fn changes(call: Call, asked: GetRunChanges) -> Result<RunChanges, ApiError> {
    let paths: Vec<String> = asked.path.into_iter().collect();
    check("path", &paths)?;
    let detail = match asked.files_only {
        true => ChangeDetail::Files,
        false => ChangeDetail::Diff,
    };
    let query = ChangeQuery { paths, detail };
    Ok(call.runtime()?.runs.changes(asked.run_key.0, query).await?)
}

async fn undo(call: Call, asked: UndoRun) -> Result<UndoReport, ApiError> {
    call.refuse_tools().await?;
    check("paths", &asked.paths)?;
    let mode = match asked.dry_run {
        true => RestoreMode::Plan,
        false => RestoreMode::Perform,
    };
    let request = RestoreRequest {
        paths: asked.paths,
        direction: asked.direction,
        mode,
    };
    Ok(call.runtime()?.runs.undo(asked.run_key.0, request).await?)
}

fn check(field: &str, paths: &[String]) -> Result<(), ApiError> {
    let is_valid = |path: &String| (1..=CHANGED_PATH_BYTES_MAX).contains(&path.len()) && !path.contains('\0');
    if paths.len() <= UNDO_PATHS_MAX && paths.iter().all(is_valid) {
        return Ok(());
    }
    let message = format!(
        "{field}: use at most {UNDO_PATHS_MAX} paths of 1 to {CHANGED_PATH_BYTES_MAX} bytes without NUL"
    );
    Err(ApiError::bad(
        "bad_path",
        message,
        "name files or folders as the list of changes shows them",
    ))
}
