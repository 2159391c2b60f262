//! `wakeful runs retry`: runs an ended run again.

use wakeful_api::{Admission, GetRun, RetryRun, Run, Text};
use wakeful_core::key::{Digest, OperationId};

use crate::backend::{STEP, write_existing};
use crate::discover::home_holder;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;
use crate::show::phrase::short;

/// What to change.
pub(super) struct RetryChanges {
    pub(super) text: Option<String>,
    /// The step to begin before: its number, or a prefix of its id.
    pub(super) from: Option<String>,
    /// The message to add after the conversation before the step.
    pub(super) message: Option<String>,
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
    let RetryChanges {
        text,
        from,
        message,
        model,
    } = changes;
    let accepted = write_existing(shared, out, async |backend| {
        let run_key = Text(backend.find_run(given).await?);
        let from_step = match &from {
            Some(step) => {
                let run = backend.call(GetRun { run_key }).await?;
                Some(Text(find_step(&run, step)?))
            }
            None => None,
        };
        let retry = RetryRun {
            run_key,
            text,
            from_step,
            message,
            model,
        };
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
    let key = short(&accepted.run_key);
    out.answer(
        &accepted,
        &format!("{how}: `wakeful runs show {key}` shows the answer"),
    );
    Ok(())
}

/// Finds a step of a run by its number or by a prefix of its id. A number that a run cannot have is a prefix.
fn find_step(run: &Run, given: &str) -> Result<OperationId, Failure> {
    let by_number = given.parse::<usize>().ok().and_then(|number| {
        let index = number.checked_sub(1)?;
        run.steps.get(index)
    });
    let id = match by_number {
        Some(step) => step.operation_id.clone(),
        None => {
            let ids: Vec<String> = run.steps.iter().map(|step| step.operation_id.clone()).collect();
            STEP.pick(&given.to_ascii_lowercase(), &ids)?
        }
    };
    let found = Digest::from_hex(&id).map(OperationId);
    found.ok_or_else(|| STEP.unknown(&id))
}
