//! The route of a run: the requested model and the fallbacks that are used when it fails permanently.

use wakeful_core::attempt::TransportDiagnostics;
use wakeful_core::failure::{FailureArtifact, FailureCategory, ModelFailure, ModelFailureKind};
use wakeful_core::inference::{DataBoundary, ModelProfile, NO_SECRET, SecretStatus};
use wakeful_core::prompt::ModelRequest;
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

use crate::hosted::HostedModel;
use crate::scripted::ScriptedModel;

/// A model of a route. It is an enum and not a trait object, because [`Model`] returns an opaque future and
/// there are only a few kinds.
#[derive(Debug, Clone)]
pub enum RouteModel {
    /// Responds from a script.
    Scripted(ScriptedModel),
    /// Is called over HTTP.
    Hosted(Box<HostedModel>),
    /// Cannot be called and returns the reason when it is requested, so that other models of the route can
    /// be tried.
    Unusable(UnusableModel),
}

/// The codes of models that cannot be called because of their key: it is missing, readable by other users,
/// or invalid.
const KEY_TROUBLES: [&str; 3] = [NO_SECRET, "secret_exposed", "secret_invalid"];

/// Why a model cannot be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableModel {
    /// The provider of the model.
    pub provider: String,
    /// Where a request would be sent.
    pub boundary: DataBoundary,
    /// The error code.
    pub code: String,
    /// A sentence for people, without secrets.
    pub message: String,
}

impl UnusableModel {
    fn failure(&self, model_ref: &str) -> ModelFailure {
        let mut artifact = FailureArtifact::new(FailureCategory::Protocol, &self.code, &self.message);
        artifact.provider = Some(self.provider.clone());
        artifact.model_ref = Some(model_ref.to_owned());
        let failure = ModelFailure {
            diagnostics: Some(Box::new(TransportDiagnostics {
                stage: "gate".to_owned(),
                source_chain: vec![self.message.clone()],
                ..TransportDiagnostics::default()
            })),
            ..ModelFailure::new(ModelFailureKind::FailFast, artifact)
        };
        failure.bounded()
    }
}

/// The models that a run may call, by the reference that the run uses.
#[derive(Debug, Clone, Default)]
pub struct Models {
    // A route is short, so a linear search is faster than a map.
    candidates: Vec<(String, RouteModel)>,
}

impl Models {
    /// Creates a route from its models, in order.
    #[must_use]
    pub const fn new(candidates: Vec<(String, RouteModel)>) -> Self {
        Self { candidates }
    }

    /// Returns the models with their references, in order.
    pub fn candidates(&self) -> impl Iterator<Item = (&str, &RouteModel)> {
        self.candidates
            .iter()
            .map(|(model_ref, candidate)| (model_ref.as_str(), candidate))
    }

    fn find(&self, model_ref: &str) -> Option<&RouteModel> {
        self.candidates()
            .find_map(|(name, candidate)| (name == model_ref).then_some(candidate))
    }
}

/// The result for a model that is not part of the run's route, which is a bug in Wakeful and reported as an
/// internal error.
fn not_in_route(model_ref: &str) -> UnusableModel {
    UnusableModel {
        provider: model_ref.split('/').next().unwrap_or_default().to_owned(),
        boundary: DataBoundary::Process,
        code: "model_not_loaded".to_owned(),
        message: format!("{model_ref} is not part of this run's route"),
    }
}

impl Model for Models {
    fn redact_keys(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let hosted = self.candidates().filter_map(|(_, candidate)| match candidate {
            RouteModel::Hosted(model) => Some(model),
            RouteModel::Scripted(_) | RouteModel::Unusable(_) => None,
        });
        hosted.fold(None, |cut: Option<Vec<u8>>, model| {
            model.cut_key(cut.as_deref().unwrap_or(bytes)).or(cut)
        })
    }

    fn profile(&self, model_ref: &str) -> ModelProfile {
        match self.find(model_ref) {
            Some(RouteModel::Scripted(model)) => model.profile(model_ref),
            Some(RouteModel::Hosted(model)) => model.profile(model_ref),
            Some(RouteModel::Unusable(why)) => ModelProfile {
                boundary: why.boundary,
                secret: match KEY_TROUBLES.contains(&why.code.as_str()) {
                    true => SecretStatus::Unavailable(why.message.clone()),
                    false => SecretStatus::NotNeeded,
                },
                ..ModelProfile::here(&why.provider)
            },
            None => ModelProfile::here(&not_in_route(model_ref).provider),
        }
    }

    fn can_ask(&self, model_ref: &str) -> bool {
        match self.find(model_ref) {
            Some(RouteModel::Scripted(_) | RouteModel::Hosted(_)) => true,
            Some(RouteModel::Unusable(_)) | None => false,
        }
    }

    async fn call(
        &self,
        request: ModelRequest,
        audience: &dyn DeltaSink,
    ) -> Result<ModelResponse, ModelFailure> {
        match self.find(&request.model_ref) {
            Some(RouteModel::Scripted(model)) => model.call(request, audience).await,
            Some(RouteModel::Hosted(model)) => model.call(request, audience).await,
            Some(RouteModel::Unusable(why)) => Err(why.failure(&request.model_ref)),
            None => Err(not_in_route(&request.model_ref).failure(&request.model_ref)),
        }
    }
}

impl From<ScriptedModel> for RouteModel {
    fn from(model: ScriptedModel) -> Self {
        Self::Scripted(model)
    }
}

impl From<HostedModel> for RouteModel {
    fn from(model: HostedModel) -> Self {
        Self::Hosted(Box::new(model))
    }
}

impl From<UnusableModel> for RouteModel {
    fn from(why: UnusableModel) -> Self {
        Self::Unusable(why)
    }
}
