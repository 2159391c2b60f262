//! Erasing contents.

use wakeful_api::{EraseContent, Erasure};
use wakeful_runtime::proof::{Erase, What};

use super::Backend;
use crate::failure::Failure;

impl Backend {
    /// Erases contents of what has ended.
    pub(crate) async fn erase(&self, erase: Erase) -> Result<Erasure, Failure> {
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
        Ok(self.client.post(&path, &body).await?)
    }
}
