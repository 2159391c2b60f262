//! The models of a run: the one that was asked for, and those that are asked when it fails for good.

use wakeful_core::attempt::Diagnostics;
use wakeful_core::failure::{Category, FailureArtifact, ModelFailure, ModelFailureKind};
use wakeful_core::inference::{Boundary, NO_SECRET, Secret, Terms};
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

use crate::hosted::Hosted;
use crate::scripted::Scripted;

/// A model of a route. An enum and no trait object, because [`Model`] returns a future of its own type and the kinds
/// are few and ours.
#[derive(Debug, Clone)]
pub enum Candidate {
    /// Answers from a script.
    Scripted(Scripted),
    /// Answers over HTTP.
    Hosted(Box<Hosted>),
    /// Does not answer, and says why when it is its turn: others of the route may.
    Unusable(Unusable),
}

/// The words for a model that cannot be asked because of its key: it is not there, others can read it, or it is none.
const KEY_TROUBLES: [&str; 3] = [NO_SECRET, "secret_exposed", "secret_invalid"];

/// Why a model cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// Who would provide it.
    pub provider: String,
    /// Where a request would go.
    pub boundary: Boundary,
    /// The stable word.
    pub code: String,
    /// One sentence for a person, without anything secret.
    pub message: String,
}

impl Unusable {
    fn failure(&self, model_ref: &str) -> ModelFailure {
        let mut artifact = FailureArtifact::new(Category::Protocol, &self.code, &self.message);
        artifact.provider = Some(self.provider.clone());
        artifact.model_ref = Some(model_ref.to_owned());
        let failure = ModelFailure {
            diagnostics: Some(Box::new(Diagnostics {
                stage: "gate".to_owned(),
                source_chain: vec![self.message.clone()],
                ..Diagnostics::default()
            })),
            ..ModelFailure::new(ModelFailureKind::FailFast, artifact)
        };
        failure.bounded()
    }
}

/// Everything that may answer in a run, by the reference under which the run knows it.
#[derive(Debug, Clone, Default)]
pub struct Models {
    // A route is short: looking through it is cheaper than a map.
    candidates: Vec<(String, Candidate)>,
}

impl Models {
    /// A route, in its order.
    #[must_use]
    pub const fn new(candidates: Vec<(String, Candidate)>) -> Self {
        Self { candidates }
    }

    /// All of them, in their order.
    pub fn candidates(&self) -> impl Iterator<Item = (&str, &Candidate)> {
        self.candidates
            .iter()
            .map(|(model_ref, candidate)| (model_ref.as_str(), candidate))
    }

    fn find(&self, model_ref: &str) -> Option<&Candidate> {
        self.candidates()
            .find_map(|(name, candidate)| (name == model_ref).then_some(candidate))
    }
}

/// A run asks for a model that was not made for it. That is a fault of this program, and told as one.
fn stranger(model_ref: &str) -> Unusable {
    Unusable {
        provider: model_ref.split('/').next().unwrap_or_default().to_owned(),
        boundary: Boundary::Process,
        code: "model_not_loaded".to_owned(),
        message: format!("{model_ref} is not part of this run's route"),
    }
}

impl Model for Models {
    fn without_keys(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let hosted = self.candidates().filter_map(|(_, candidate)| match candidate {
            Candidate::Hosted(model) => Some(model),
            Candidate::Scripted(_) | Candidate::Unusable(_) => None,
        });
        hosted.fold(None, |cut: Option<Vec<u8>>, model| {
            model.cut_key(cut.as_deref().unwrap_or(bytes)).or(cut)
        })
    }

    fn terms(&self, model_ref: &str) -> Terms {
        match self.find(model_ref) {
            Some(Candidate::Scripted(model)) => model.terms(model_ref),
            Some(Candidate::Hosted(model)) => model.terms(model_ref),
            Some(Candidate::Unusable(why)) => Terms {
                boundary: why.boundary,
                secret: match KEY_TROUBLES.contains(&why.code.as_str()) {
                    true => Secret::Unavailable(why.message.clone()),
                    false => Secret::NotNeeded,
                },
                ..Terms::here(&why.provider)
            },
            None => Terms::here(&stranger(model_ref).provider),
        }
    }

    fn can_ask(&self, model_ref: &str) -> bool {
        match self.find(model_ref) {
            Some(Candidate::Scripted(_) | Candidate::Hosted(_)) => true,
            Some(Candidate::Unusable(_)) | None => false,
        }
    }

    async fn ask(&self, request: Request, audience: &dyn Audience) -> Result<Answer, ModelFailure> {
        match self.find(&request.model_ref) {
            Some(Candidate::Scripted(model)) => model.ask(request, audience).await,
            Some(Candidate::Hosted(model)) => model.ask(request, audience).await,
            Some(Candidate::Unusable(why)) => Err(why.failure(&request.model_ref)),
            None => Err(stranger(&request.model_ref).failure(&request.model_ref)),
        }
    }
}

impl From<Scripted> for Candidate {
    fn from(model: Scripted) -> Self {
        Self::Scripted(model)
    }
}

impl From<Hosted> for Candidate {
    fn from(model: Hosted) -> Self {
        Self::Hosted(Box::new(model))
    }
}

impl From<Unusable> for Candidate {
    fn from(why: Unusable) -> Self {
        Self::Unusable(why)
    }
}
