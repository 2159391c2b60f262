//! `wakeful runs abandon`: abandons a quarantined run and undoes its unfinished writes to the journal.

use wakeful_api::{AbandonRun, Text};

use super::show;
use crate::backend::Backend;
use crate::discover::daemon;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::OpenHome;
use crate::show::Out;

pub(super) async fn abandon(given: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    // A daemon undoes the writes of abandoned runs by itself.
    if let Some(client) = daemon(shared).await? {
        let backend = Backend { client };
        let run_key = Text(backend.find_run(given).await?);
        show(&backend.call(AbandonRun { run_key }).await?, out);
        return Ok(());
    }
    if shared.database().is_none() {
        // A missing home must not be created.
        Home::open(&shared.home()?)?;
    }
    let place = OpenHome::open_for_writing(shared).await?;
    place
        .run_and_close(out, async |place| {
            let backend = Backend::of_open_home(place)?;
            let run_key = Text(backend.find_run(given).await?);
            let run = backend.call(AbandonRun { run_key }).await?;
            place.recover_sagas_and_tell(out).await?;
            show(&run, out);
            Ok(())
        })
        .await
}
