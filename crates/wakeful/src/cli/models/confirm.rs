//! That a person agrees to show a provider their agents' work.

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
    // A name that was misspelt must not look confirmed. Scripts may stand for somebody outside, and are asked like them.
    if provider != SCRIPTED {
        registry.provision(provider)?;
    }
    let name = Text(RuleId::parse(provider)?);
    let confirm = ConfirmProvider { provider: name };
    let receipts = write(shared, out, async |backend| backend.call(confirm).await).await?;
    let words = format!(
        "{provider} may be shown your agents' work, as far as the rules that hold now allow it; other rules or \
         addresses ask again"
    );
    out.answer(&json!({"provider": provider, "receipts": receipts}), &words);
    Ok(0)
}

/// What was agreed to, and whether it still holds.
async fn show(registry: &ModelRegistry, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let receipts = read(shared, async |backend| backend.call(ListPrivacyReceipts {}).await).await?;
    let versions = registry.policy_versions();
    let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    let lines = receipts.iter().map(|receipt| {
        let holds = match versions.contains(&receipt.policy_version) {
            true => "holds",
            false => "was given under other rules, or for other addresses",
        };
        format!("{:<14} {}  {holds}", receipt.provider, receipt.at)
    });
    let words = match receipts.is_empty() {
        true => "nothing was confirmed yet".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    };
    out.answer(
        &json!({"policy_versions": versions, "receipts": receipts}),
        &words,
    );
    Ok(0)
}
