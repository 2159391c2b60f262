//! `wakeful saga`: shows agents' incomplete writes to the journal.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{ListSagas, ResolveSaga, Saga, SagaPhase, SagaStatus, Text};
use wakeful_core::key::{Digest, OperationId};

use super::GlobalArgs;
use crate::backend::{read, write};
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum SagaVerb {
    /// List writes that are neither completed nor undone, oldest first
    List,
    /// Keep the journal as it is after a stuck write that could not be undone
    Resolve {
        /// Operation id (all 64 digits)
        operation: String,
    },
}

pub(crate) async fn saga(verb: &SagaVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let list = match verb {
        SagaVerb::List => read(shared, async |backend| backend.call(ListSagas {}).await).await?,
        SagaVerb::Resolve { operation } => {
            let operation_id = Digest::from_hex(operation)
                .map(OperationId)
                .map(Text)
                .ok_or_else(|| {
                    let message =
                        format!("invalid operation id {operation:?}; expected 64 lower-case hex digits");
                    Failure::new("bad_id", message, "`wakeful saga list` shows the ids")
                })?;
            let resolve = ResolveSaga { operation_id };
            write(shared, out, async |backend| backend.call(resolve).await).await?
        }
    };
    let sagas = list.sagas;
    let lines: Vec<String> = sagas.iter().map(line).collect();
    let text = match lines.is_empty() {
        true => "every write to the journal is completed or undone".to_owned(),
        false => lines.join("\n"),
    };
    out.answer(&json!({"sagas": sagas}), &text);
    Ok(0)
}

fn line(saga: &Saga) -> String {
    let status = match saga.status {
        SagaStatus::Open => "open",
        SagaStatus::Completed => "completed",
        SagaStatus::Compensated => "compensated",
        SagaStatus::Stuck => "stuck",
    };
    let phase = match saga.phase {
        SagaPhase::Intent => "intent",
        SagaPhase::Journal => "journal",
        SagaPhase::Agent => "agent",
        SagaPhase::Compensation => "compensation",
    };
    let agent = saga.agent_id.as_deref().unwrap_or("-");
    let why = saga.last_error.as_deref().unwrap_or_default();
    format!(
        "{}  {status:<6} {phase:<12}  {agent:<10} {why}",
        saga.operation_id
    )
}
