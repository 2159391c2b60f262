//! Keeps the two databases of a daemon consistent: it undoes unfinished journal writes at startup and
//! whenever a run has ended or was abandoned. No other event can leave such writes, so nothing else
//! triggers recovery.

use wakeful_runtime::Halt;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::saga::SagaRecovery;

use crate::failure::Failure;
use crate::open_home::OpenHome;

/// Recovers at startup and after each trigger until a stop is requested. Several triggers at once cause one
/// recovery.
pub(super) async fn run(place: &OpenHome, hub: &Hub, halt: &Halt) {
    while !halt.is_set() {
        match place.recover_sagas().await {
            Ok(SagaRecovery {
                undone: 0, stuck: 0, ..
            }) => {}
            Ok(SagaRecovery { undone, stuck, .. }) => tracing::warn!(
                undone,
                stuck,
                "unfinished writes to the journal were undone; `wakeful saga list` shows those that are stuck"
            ),
            // The end of the next run retries.
            Err(error) => {
                tracing::warn!(error = %Failure::from(error), "unfinished writes cannot be recovered")
            }
        }
        tokio::select! {
            biased;
            () = halt.wait_until_set() => {}
            () = hub.wait_for_run_end() => {}
        }
    }
}
