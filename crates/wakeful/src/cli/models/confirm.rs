//! `wakeful models confirm`: records a privacy receipt for a provider.

use serde_json::json;
use wakeful_api::{ConfirmProvider, ListPrivacyReceipts, Text};
use wakeful_core::id::RuleId;
use wakeful_models::SCRIPTED;

use crate::backend::{read, write};
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::model::ModelRegistry;
use crate::show::Out;

pub(super) async fn confirm(
    provider: Option<&str>,
    registry: &ModelRegistry,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    let Some(provider) = provider else {
        return show(registry, shared, out).await;
    };
    // A misspelt name must not appear confirmed. A script can stand in for an external provider, so it
    // needs a receipt too.
    if provider != SCRIPTED {
        registry.provision(provider)?;
    }
    let name = Text(RuleId::parse(provider)?);
    let confirm = ConfirmProvider { provider: name };
    let receipts = write(shared, out, async |backend| backend.call(confirm).await).await?;
    let words = format!(
        "{provider} may now receive your agents' work within the current rules; new rules or addresses need a new confirmation"
    );
    out.answer(&json!({"provider": provider, "receipts": receipts}), &words);
    Ok(0)
}

/// Lists the receipts and whether they are still valid.
async fn show(registry: &ModelRegistry, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let receipts = read(shared, async |backend| backend.call(ListPrivacyReceipts {}).await).await?;
    let versions = registry.policy_versions();
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    let lines = receipts.iter().map(|receipt| {
        let holds = match versions.contains(&receipt.policy_version) {
            true => "holds",
            false => "given under other rules, or for other addresses",
        };
        format!("{:<14} {}  {holds}", receipt.provider, receipt.at)
    });
    let words = match receipts.is_empty() {
        true => "there are no confirmations yet".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    };
    out.answer(
        &json!({"policy_versions": versions, "receipts": receipts}),
        &words,
    );
    Ok(0)
}
