//! Keeps the two databases of a daemon in step: what runs left behind in the journal is taken back when it starts, and
//! whenever a run has ended or was given up. Nothing else can leave something behind, so nothing else makes it look.

use wakeful_runtime::Halt;
use wakeful_runtime::hub::Hub;
use wakeful_runtime::saga::SagaRecovery;

use crate::failure::Failure;
use crate::open_home::OpenHome;

/// Looks whenever there is a reason to, until a stop is asked for. What an earlier life left behind comes first; many
/// reasons at once are one look.
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
            // The next run's end looks again.
            Err(error) => {
                tracing::warn!(error = %Failure::from(error), "unfinished writes cannot be recovered")
            }
        }
        tokio::select! {
            biased;
            () = halt.asked() => {}
            () = hub.wait_for_run_end() => {}
        }
    }
}
