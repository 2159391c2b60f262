//! `wakeful runs retry`: runs an ended run again.

use wakeful_api::{Admission, RetryRun, Text};

use crate::backend::write_existing;
use crate::discover::home_holder;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// What to change.
pub(super) struct RetryChanges {
    pub(super) text: Option<String>,
    pub(super) model: Option<String>,
}

pub(super) async fn retry(
    given: &str,
    changes: RetryChanges,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    // Checked before the message is sent, because an accepted message must not be reported as a failure.
    let who = home_holder(shared).await?;
    let RetryChanges { text, model } = changes;
    let accepted = write_existing(shared, out, async |backend| {
        let run_key = Text(backend.find_run(given).await?);
        let retry = RetryRun { run_key, text, model };
        backend.call(retry).await
    });
    let accepted = accepted.await?;
    if let Some(absence) = who.absence_message() {
        out.note(&format!(
            "{absence}: the message is queued until one runs on this database; start it with `wakeful daemon start`"
        ));
    }
    let how = match accepted.admission {
        Admission::New => "queued",
        Admission::Duplicate => "already under way",
    };
    let key = &accepted.run_key;
    out.answer(
        &accepted,
        &format!("{how}: `wakeful runs show {key}` shows the answer"),
    );
    Ok(())
}
