//! Checks that providers have the models that a person chose, before the choice is stored.

use serde_json::Value;
use tokio::time::timeout;
use wakeful_models::ModelRef;

use super::{ProviderSetup, TEST_TIME_MAX};
use crate::failure::Failure;

/// The code of a model that its provider does not have.
pub(crate) const MODEL_UNKNOWN: &str = "model_unknown";

impl ProviderSetup {
    /// Refuses models that their providers do not list. Returns a warning if a list cannot be read, because a
    /// provider that is away is not a reason to refuse a model.
    pub(crate) async fn check_models(&self, names: &[String]) -> Result<Option<String>, Failure> {
        let checked = async {
            let mut warnings = Vec::new();
            for name in names {
                warnings.extend(self.check_model(name).await?);
            }
            Ok::<_, Failure>(warnings)
        };
        let late = || {
            Ok(vec![format!(
                "model {} is not verified: its provider does not respond in time",
                names.join(", ")
            )])
        };
        let warnings = timeout(TEST_TIME_MAX, checked).await.unwrap_or_else(|_| late())?;
        Ok((!warnings.is_empty()).then(|| warnings.join("; ")))
    }

    /// The same for the models that a setting names.
    pub(crate) async fn check_setting(&self, name: &str, value: &Value) -> Result<Option<String>, Failure> {
        let is_route = name.starts_with("routes.") && name.ends_with(".models");
        if !is_route && !["model.default", "model.fallbacks"].contains(&name) {
            return Ok(None);
        }
        let listed = value.as_array().into_iter().flatten();
        let names: Vec<String> = listed
            .chain([value])
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let located = |failure: Failure| {
            let message = format!("{name}: {}", failure.message());
            Failure::new(failure.code().to_owned(), message, failure.hint()).into_usage()
        };
        self.check_models(&names).await.map_err(located)
    }

    async fn check_model(&self, name: &str) -> Result<Option<String>, Failure> {
        let Ok(ModelRef::Hosted { provider, model }) = ModelRef::parse(name) else {
            return Ok(None);
        };
        let test = self.test(&provider, Some(&model), None).await?;
        match test.code.as_deref() {
            None if !test.models.is_empty() => Ok(None),
            Some(MODEL_UNKNOWN) => {
                let nearest = test.hint.unwrap_or_default();
                let joint = if nearest.ends_with('?') { "" } else { ";" };
                let hint = format!(
                    "{nearest}{joint} `--no-test` (`skip_model_test` in the API) accepts it unverified"
                );
                Err(Failure::usage(MODEL_UNKNOWN, test.message, hint))
            }
            None | Some(_) => Ok(Some(format!("model {name} is not verified: {}", test.message))),
        }
    }
}
