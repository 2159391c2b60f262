//! `wakeful saga`: shows agents' incomplete writes to the journal.

use clap::Subcommand;
use serde_json::json;
use wakeful_api::{ListSagas, ResolveSaga, Saga, Text};

use super::GlobalArgs;
use crate::backend::{read, write};
use crate::failure::Failure;
use crate::show::Out;
use crate::show::phrase::short;
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum SagaVerb {
    /// List writes that are neither completed nor undone, oldest first
    List,
    /// Keep the journal as it is after a stuck write that could not be undone
    Resolve {
        /// Operation id or a unique prefix of it
        operation: String,
    },
}

pub(crate) async fn saga(verb: &SagaVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let list = match verb {
        SagaVerb::List => read(shared, async |backend| backend.call(ListSagas {}).await).await?,
        SagaVerb::Resolve { operation } => {
            write(shared, out, async |backend| {
                let operation_id = Text(backend.find_saga(operation).await?);
                backend.call(ResolveSaga { operation_id }).await
            })
            .await?
        }
    };
    let sagas = list.sagas;
    let table = Table::new(SAGAS, sagas.iter().map(row));
    let none = "every write to the journal is completed or undone";
    out.list(&json!({"sagas": sagas}), &table, none);
    Ok(0)
}

const SAGAS: [Column; 5] = [
    Column::key("OPERATION"),
    Column::whole("STATUS", 0),
    Column::whole("PHASE", 2),
    Column::text("AGENT", 1),
    Column::text("ERROR", 3),
];

fn row(saga: &Saga) -> [String; 5] {
    [
        short(&saga.operation_id).to_owned(),
        saga.status.to_string(),
        saga.phase.to_string(),
        saga.agent_id.clone().unwrap_or_default(),
        saga.last_error.clone().unwrap_or_default(),
    ]
}
