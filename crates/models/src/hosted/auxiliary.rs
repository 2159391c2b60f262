//! Requests to the model's server that are not part of a conversation, such as embeddings.

use reqwest::Url;
use wakeful_core::failure::ModelFailure;

use super::HostedModel;
use super::failure::ExchangeError;
use super::transport::ResponseForm;
use crate::provider::Provider;
use crate::wire::ResponseError;

impl HostedModel {
    /// Returns the URL of this path next to the model's endpoint, or `None` if the server is not compatible
    /// with OpenAI's API.
    pub(crate) fn auxiliary_url(&self, word: &str) -> Option<Url> {
        match self.provider {
            Provider::OpenAi | Provider::OpenAiChat => Some(self.endpoint.below(&[word])),
            Provider::Anthropic | Provider::OpenAiCodex | Provider::Gemini => None,
        }
    }

    /// Sends a body and reads the complete response within the usual limits.
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
                    "the response is a stream instead of JSON",
                ))),
            }
        };
        let answer = exchange.await;
        answer.map_err(|trouble| self.failure(&self.model_ref(), trouble))
    }

    /// Returns the model's name at the provider.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// Returns the model reference that people use.
    pub(crate) fn model_ref(&self) -> String {
        format!("{}/{}", self.name, self.model)
    }
}
