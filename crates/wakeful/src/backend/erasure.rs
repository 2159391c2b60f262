//! Erasing, by the daemon or here.

use wakeful_api::{EraseContent, Erasure};
use wakeful_runtime::desk::Archive as _;
use wakeful_runtime::proof::{Erase, What};
use wakeful_server::view;

use super::Front;
use crate::failure::Failure;

impl Front {
    /// Erases contents of what has ended.
    pub(crate) async fn erase(&self, erase: Erase) -> Result<Erasure, Failure> {
        match self {
            Self::Daemon(client) => {
                let (run_key, first_seq, last_seq) = match erase.what {
                    What::Run(run) => (Some(run.to_string()), None, None),
                    What::Events { first, last } => (None, Some(first), Some(last)),
                };
                let body = EraseContent {
                    run_key,
                    first_seq,
                    last_seq,
                    reason: erase.reason,
                };
                let path = format!("/api/agents/{}/erasures", erase.agent);
                Ok(client.post(&path, &body).await?)
            }
            Self::Here(clerk) => Ok(view::erasure(&clerk.erase(erase).await?)),
        }
    }
}
