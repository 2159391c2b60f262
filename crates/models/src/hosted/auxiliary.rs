//! Questions at the same server that are no conversation.

use reqwest::Url;
use wakeful_core::failure::ModelFailure;

use super::HostedModel;
use super::failure::ExchangeError;
use super::transport::ResponseForm;
use crate::provider::Provider;
use crate::wire::ResponseError;

impl HostedModel {
    /// The address of this word beside that of the answers; none where the server does not speak like OpenAI's.
    pub(crate) fn auxiliary_url(&self, word: &str) -> Option<Url> {
        match self.provider {
            Provider::OpenAi | Provider::OpenAiChat => Some(self.endpoint.below(&[word])),
            Provider::Anthropic | Provider::OpenAiCodex | Provider::Gemini => None,
        }
    }

    /// Sends a body there and reads the response, which comes whole, within the bounds of every other.
    pub(crate) async fn post<T>(
        &self,
        url: &Url,
        body: Vec<u8>,
        read: impl FnOnce(&[u8]) -> Result<T, ResponseError> + Send,
    ) -> Result<T, ModelFailure> {
        let exchange = async {
            let (form, mut response) = self.transport.send(url.clone(), body).await?;
            match form {
                ResponseForm::Whole => Ok(read(&response.whole().await?)?),
                ResponseForm::Stream => Err(ExchangeError::from(ResponseError::invalid(
                    "the response is a stream",
                ))),
            }
        };
        let answer = exchange.await;
        answer.map_err(|trouble| self.failure(&self.model_ref(), trouble))
    }

    /// The model's name at the provider.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// What a person calls it.
    pub(crate) fn model_ref(&self) -> String {
        format!("{}/{}", self.name, self.model)
    }
}
