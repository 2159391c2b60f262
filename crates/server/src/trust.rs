//! HTTP handlers for trusted folders and their review.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use wakeful_api::{FolderReview, ListFolders, ListUntrustedFiles, ReviewFolder, TrustFolder, TrustedFolder};
use wakeful_core::problem::Problem;
use wakeful_core::time::Millis;

use crate::error::ApiError;
use crate::route::{Call, Routes};

/// What the binary knows about folders. All methods access files, so they run on blocking threads.
pub trait FolderHost: Send + Sync + 'static {
    /// The folders with an answer, and these workspaces, without agents.
    fn list(&self, workspaces: &[String]) -> Result<Vec<TrustedFolder>, Problem>;

    /// Records an answer.
    fn answer(&self, folder: &str, is_trusted: bool) -> Result<TrustedFolder, Problem>;

    /// The files that actions with untrusted data may have written.
    fn files(&self, folder: &str) -> Result<FolderReview, Problem>;

    /// Forgets what was written until a time, and returns what is left.
    fn review(&self, folder: &str, until: Millis) -> Result<FolderReview, Problem>;
}

pub(crate) fn routes() -> Routes {
    Routes::default().add(list).add(trust).add(files).add(review)
}

async fn list(call: Call, _: ListFolders) -> Result<Vec<TrustedFolder>, ApiError> {
    let workspaces = workspaces(&call).await?;
    let paths: Vec<String> = workspaces.keys().cloned().collect();
    let listed = blocking(&call, move |host| host.list(&paths)).await?;
    Ok(listed
        .into_iter()
        .map(|folder| with_agents(folder, &workspaces))
        .collect())
}

async fn trust(call: Call, asked: TrustFolder) -> Result<TrustedFolder, ApiError> {
    call.refuse_tools().await?;
    let TrustFolder { folder, is_trusted } = asked;
    let answered = blocking(&call, move |host| host.answer(&folder, is_trusted)).await?;
    Ok(with_agents(answered, &workspaces(&call).await?))
}

async fn files(call: Call, asked: ListUntrustedFiles) -> Result<FolderReview, ApiError> {
    blocking(&call, move |host| host.files(&asked.folder)).await
}

async fn review(call: Call, asked: ReviewFolder) -> Result<FolderReview, ApiError> {
    call.refuse_tools().await?;
    let ReviewFolder { folder, listed_at } = asked;
    blocking(&call, move |host| host.review(&folder, listed_at.0)).await
}

/// The agents by their workspaces.
async fn workspaces(call: &Call) -> Result<BTreeMap<String, Vec<String>>, ApiError> {
    let mut workspaces: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for listed in call.runtime()?.agents.list(false).await? {
        let agent = listed.overview.agent;
        let agents = workspaces.entry(agent.workspace).or_default();
        agents.push(agent.agent_id.to_string());
    }
    Ok(workspaces)
}

fn with_agents(folder: TrustedFolder, workspaces: &BTreeMap<String, Vec<String>>) -> TrustedFolder {
    TrustedFolder {
        agents: workspaces.get(&folder.folder).cloned().unwrap_or_default(),
        ..folder
    }
}

async fn blocking<T: Send + 'static>(
    call: &Call,
    work: impl FnOnce(&dyn FolderHost) -> Result<T, Problem> + Send + 'static,
) -> Result<T, ApiError> {
    let host = Arc::clone(&call.host).folders();
    let failed = |_| {
        Err(Problem::new(
            "folders_failed",
            "the folders could not be examined",
            "try again",
        ))
    };
    let done = tokio::task::spawn_blocking(move || work(&*host)).await;
    done.unwrap_or_else(failed).map_err(|problem| {
        let status = match &*problem.code {
            "folder_unknown" => StatusCode::NOT_FOUND,
            _ => StatusCode::CONFLICT,
        };
        ApiError::of(status, problem)
    })
}
