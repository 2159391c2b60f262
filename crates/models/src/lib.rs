//! What answers model requests.
//!
//! [`ModelRef`] is what a person may name; the binary reads the file or the key that the name stands for and
//! builds [`Models`] from it. For now there is the [`Scripted`] model alone: it drives tests, the demo and
//! replays. A provider's transport moves in as another variant, and nothing above has to change.
#![forbid(unsafe_code)]

mod reference;
mod scripted;

use wakeful_core::failure::ModelFailure;
use wakeful_core::prompt::Request;
use wakeful_ports::model::{Answer, Audience, Model};

pub use reference::{BadModelRef, ModelRef, REF_CHARS_MAX};
pub use scripted::{
    DELAY_MS_MAX, Place, ROUNDS_MAX, SCRIPT_BYTES_MAX, ScriptError, Scripted, TOOLS_PER_ROUND_MAX,
};

/// The model of a run, whichever kind it is. An enum and no trait object, because [`Model`] returns a future
/// of its own type and the kinds are few and ours.
#[derive(Debug, Clone)]
pub enum Models {
    /// Answers from a script.
    Scripted(Scripted),
}

impl Model for Models {
    async fn ask(&self, request: Request, audience: &dyn Audience) -> Result<Answer, ModelFailure> {
        match self {
            Self::Scripted(model) => model.ask(request, audience).await,
        }
    }
}

impl From<Scripted> for Models {
    fn from(model: Scripted) -> Self {
        Self::Scripted(model)
    }
}
