//! Checks whether providers can be reached, using only requests that cost nothing.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::run::ATTEMPTS_MAX;

use super::list::{KeyStatus, ProviderRow, mentioned};
use crate::failure::{FAILED, Failure};
use crate::model::ModelRegistry;
use crate::show::Out;

/// The check of one provider.
struct ProviderCheck {
    row: ProviderRow,
    /// Whether the settings use this provider.
    is_wanted: bool,
    outcome: CheckOutcome,
}

enum CheckOutcome {
    /// The provider responded.
    Reached(u16),
    /// Not contacted, because the key or the address is missing.
    Unasked { code: String, message: String },
    /// Contacted, but the response was not as expected.
    Refused { code: String, message: String },
}

pub(super) async fn doctor(registry: &ModelRegistry, out: &Out) -> Result<u8, Failure> {
    let mentioned = mentioned(registry);
    let wanted: BTreeSet<String> = mentioned
        .iter()
        .filter_map(|name| name.split_once('/').map(|(provider, _)| provider.to_owned()))
        .collect();
    let mut found = Vec::new();
    for name in registry.providers() {
        found.push(look(&name, wanted.contains(&name), &mentioned, registry).await);
    }
    let problems = found.iter().filter(|one| one.is_problem()).count();
    let retries = ATTEMPTS_MAX.saturating_sub(1);
    let object = json!({
        "retry_policy": {"max_retries": retries, "max_attempts": ATTEMPTS_MAX},
        "providers": found.iter().map(ProviderCheck::json).collect::<Vec<_>>(),
        "problems": problems,
    });
    let mut lines: Vec<String> = found.iter().map(ProviderCheck::line).collect();
    lines.push(format!(
        "each model request is retried at most {retries} times; then the next model of the route is used"
    ));
    out.answer(&object, &lines.join("\n"));
    Ok(if problems == 0 { 0 } else { FAILED })
}

async fn look(
    name: &str,
    is_wanted: bool,
    mentioned: &BTreeSet<String>,
    registry: &ModelRegistry,
) -> ProviderCheck {
    let row = ProviderRow::of(name, registry);
    let is_wanted = is_wanted || row.is_configured;
    let made = registry.hosted(name, "-");
    let outcome = match made.and_then(|hosted| settled(name, mentioned, registry).map(|()| hosted)) {
        Err(failure) => unasked(&failure),
        Ok(hosted) => match hosted.check_reachable().await {
            Ok(status) => CheckOutcome::Reached(status),
            Err(failure) => CheckOutcome::Refused {
                code: failure.artifact.kind,
                message: failure.artifact.summary,
            },
        },
    };
    ProviderCheck {
        row,
        is_wanted,
        outcome,
    }
}

/// Checks the settings of a provider against each of its models that the settings mention, because a
/// setting of the provider may not suit every model.
fn settled(name: &str, mentioned: &BTreeSet<String>, registry: &ModelRegistry) -> Result<(), Failure> {
    let models = mentioned.iter();
    let mut own = models.filter_map(|model| model.strip_prefix(name)?.strip_prefix('/'));
    own.try_for_each(|model| registry.hosted(name, model).map(drop))
}

fn unasked(failure: &Failure) -> CheckOutcome {
    CheckOutcome::Unasked {
        code: failure.code().to_owned(),
        message: failure.message().to_owned(),
    }
}

impl ProviderCheck {
    /// A provider that is not in use may be unreachable, but a present key that is refused is always a
    /// problem.
    fn is_problem(&self) -> bool {
        match &self.outcome {
            CheckOutcome::Reached(_) => false,
            CheckOutcome::Unasked { .. } => self.is_wanted,
            CheckOutcome::Refused { .. } => self.is_wanted || matches!(self.row.key, KeyStatus::Present),
        }
    }

    fn word(&self) -> &'static str {
        match (&self.outcome, self.is_problem()) {
            (CheckOutcome::Reached(_), _) => "ok",
            (CheckOutcome::Unasked { .. } | CheckOutcome::Refused { .. }, true) => "problem",
            (CheckOutcome::Unasked { .. } | CheckOutcome::Refused { .. }, false) => "unused",
        }
    }

    fn json(&self) -> Value {
        let (code, message, status) = match &self.outcome {
            CheckOutcome::Reached(status) => (None, None, Some(status)),
            CheckOutcome::Unasked { code, message } | CheckOutcome::Refused { code, message } => {
                (Some(code), Some(message), None)
            }
        };
        json!({
            "name": self.row.name, "kind": self.row.kind, "host": self.row.host, "state": self.word(),
            "key": self.row.key.word(), "key_source": self.row.key_source, "status": status, "code": code,
            "message": message,
        })
    }

    fn line(&self) -> String {
        let said = match &self.outcome {
            CheckOutcome::Reached(200) => format!("{} responds (key {})", self.row.host, self.row.key.word()),
            CheckOutcome::Reached(status) => {
                format!(
                    "{} responds, but does not list models (status {status})",
                    self.row.host
                )
            }
            CheckOutcome::Unasked { code, message } | CheckOutcome::Refused { code, message } => {
                format!("{message} [{code}]")
            }
        };
        format!("{:<8} {:<14} {said}", self.word(), self.row.name)
    }
}
