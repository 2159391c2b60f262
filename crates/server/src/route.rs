//! Routing: parses the input of an endpoint, calls its handler, and writes the output.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, on};
use wakeful_api::endpoint::Method;
use wakeful_api::{Endpoint, Operation};
use wakeful_core::decision::Channel;
use wakeful_runtime::problem::caller_is_tool_process;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Parameters, RawInput};
use crate::guard::{Caller, Peer};
use crate::redaction::Redactions;

/// A request with parsed input, passed to its handler.
pub(crate) struct Call {
    pub(crate) app: App,
    pub(crate) head: Parts,
}

impl std::ops::Deref for Call {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl Call {
    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The authenticated caller. The guard sets it for every API request.
    pub(crate) fn caller(&self) -> Caller {
        let caller = self.head.extensions.get::<Caller>();
        caller.copied().unwrap_or(Caller::Anonymous)
    }

    /// The peer of the connection, if known.
    pub(crate) fn peer(&self) -> Option<Peer> {
        self.head.extensions.get::<Peer>().copied()
    }

    /// In how many texts of the request a secret was replaced.
    pub(crate) fn redactions(&self) -> Redactions {
        let found = self.head.extensions.get::<Redactions>();
        found.copied().unwrap_or_default()
    }

    /// The channel of the request. It follows from the connection, never from what the caller claims: only a
    /// process of the home's owner can open the socket in the home, and it could run the command line without
    /// a daemon as well. Tool processes are refused on every channel.
    pub(crate) fn channel(&self) -> Result<Channel, ApiError> {
        match (self.caller(), self.peer()) {
            (Caller::Browser(_), _) => Ok(Channel::Page),
            (Caller::Bearer, Some(Peer::Local(_))) | (Caller::InProcess, _) => Ok(Channel::Cli),
            (Caller::Bearer, Some(Peer::Network(_) | Peer::InProcess) | None) => Ok(Channel::Api),
            (Caller::Anonymous, _) => Err(ApiError::unauthorized()),
        }
    }

    /// Refuses requests from a process that an agent's tool started, because an agent must never answer its
    /// own decision.
    pub(crate) async fn refuse_tools(&self) -> Result<(), ApiError> {
        let Some(peer) = self.peer() else {
            return Ok(());
        };
        let host = Arc::clone(&self.host);
        // The check reads many small files, so it runs on a blocking thread.
        match tokio::task::spawn_blocking(move || host.is_tool(peer)).await {
            Ok(false) => Ok(()),
            // If the check fails, the caller is not known to be a person and is refused.
            Ok(true) | Err(_) => Err(ApiError::of(StatusCode::FORBIDDEN, caller_is_tool_process())),
        }
    }
}

/// A check that runs before the body is read.
type Check = fn(&App, &Parameters) -> Result<(), ApiError>;

/// A pending response.
type Answering = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send>>;

/// The type-specific part of an endpoint: parses the input and starts the handler. Everything else is
/// compiled once instead of once per endpoint.
type Handler = dyn Fn(Call, &RawInput) -> Result<Answering, ApiError> + Send + Sync;

/// The service of one path and method.
type Service = dyn Fn(App, Request) -> Answering + Send + Sync;

/// The served endpoints and their services.
#[derive(Default)]
pub(crate) struct Routes(Vec<(Operation, Arc<Service>)>);

impl Routes {
    /// Adds an endpoint.
    pub(crate) fn add<E, F, R>(self, handler: F) -> Self
    where
        E: Endpoint,
        F: Fn(Call, E) -> R + Send + Sync + 'static,
        R: Future<Output = Result<E::Output, ApiError>> + Send + 'static,
    {
        self.add_after(|_, _| Ok(()), handler)
    }

    /// Adds an endpoint with a check that runs before the body is read.
    pub(crate) fn add_after<E, F, R>(self, check: Check, handler: F) -> Self
    where
        E: Endpoint,
        F: Fn(Call, E) -> R + Send + Sync + 'static,
        R: Future<Output = Result<E::Output, ApiError>> + Send + 'static,
    {
        self.serve(check, move |call, input: E| {
            let answered = handler(call, input);
            async { answered.await.map(|output| response::<E>(&output)) }
        })
    }

    /// Adds an endpoint whose handler builds the response itself: with another status, a header or a
    /// stream.
    pub(crate) fn respond<E, F, R>(self, handler: F) -> Self
    where
        E: Endpoint,
        F: Fn(Call, E) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        self.serve(|_, _| Ok(()), handler)
    }

    /// Adds an endpoint whose handler reads the request itself.
    pub(crate) fn raw<E, F, R>(self, handler: F) -> Self
    where
        E: Endpoint,
        F: Fn(App, Request) -> R + Send + Sync + 'static,
        R: Future<Output = Result<E::Output, ApiError>> + Send + 'static,
    {
        let service = move |app, request| -> Answering {
            let answered = handler(app, request);
            Box::pin(async { answered.await.map(|output| response::<E>(&output)) })
        };
        self.with(E::OPERATION, service)
    }

    /// Adds the endpoints of another module.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(operation, _)| operation.name).collect()
    }

    /// Builds the router.
    pub(crate) fn into_router(self) -> Router<App> {
        let routes = self.0.into_iter();
        routes.fold(Router::new(), |router, (operation, service)| {
            let method = match operation.method {
                Method::Get => MethodFilter::GET,
                Method::Post => MethodFilter::POST,
                Method::Delete => MethodFilter::DELETE,
            };
            let handler = move |State(app): State<App>, request: Request| {
                let answered = service(app.clone(), request);
                async move { answered.await.unwrap_or_else(|error| app.refuse(error)) }
            };
            router.route(operation.path, on(method, handler))
        })
    }

    fn serve<E, F, R>(self, check: Check, handler: F) -> Self
    where
        E: Endpoint,
        F: Fn(Call, E) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Response, ApiError>> + Send + 'static,
    {
        let handler = move |call, input: &RawInput| -> Result<Answering, ApiError> {
            Ok(Box::pin(handler(call, input.read::<E>()?)))
        };
        self.serve_handler(E::OPERATION, check, Arc::new(handler))
    }

    fn serve_handler(self, operation: Operation, check: Check, handler: Arc<Handler>) -> Self {
        let service = move |app, request: Request| -> Answering {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                let (mut head, body) = request.into_parts();
                let path = parameters(&mut head).await?;
                check(&app, &path)?;
                let input = RawInput::receive(&operation, path, &head, body).await?;
                let answering = async move {
                    let call = Call { app, head };
                    answer(call, input, &operation, &*handler).await
                };
                match operation.method {
                    Method::Get => answering.await,
                    Method::Post | Method::Delete => to_its_end(answering).await,
                }
            })
        };
        self.with(operation, service)
    }

    fn with(
        mut self,
        operation: Operation,
        service: impl Fn(App, Request) -> Answering + Send + Sync + 'static,
    ) -> Self {
        self.0.push((operation, Arc::new(service)));
        self
    }
}

/// Passes the input on without secrets, and tells the caller how many were replaced.
async fn answer(
    mut call: Call,
    mut input: RawInput,
    operation: &Operation,
    handler: &Handler,
) -> Result<Response, ApiError> {
    let mut redactions = Redactions::default();
    if input.may_have_secret() {
        (input, redactions) = input.redacted(operation, &call.host.redactor());
        call.head.extensions.insert(redactions);
    }
    let answered = handler(call, &input)?.await;
    answered.map(|response| redactions.announce(response))
}

/// Extracts the path parameters of a request.
async fn parameters(head: &mut Parts) -> Result<Parameters, ApiError> {
    let found = RawPathParams::from_request_parts(head, &()).await;
    let found = found.map_err(|_| ApiError::bad("bad_id", "the path is not UTF-8", "ids are ASCII"))?;
    let owned = found
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(owned.collect())
}

fn response<E: Endpoint>(output: &E::Output) -> Response {
    let status = StatusCode::from_u16(E::OPERATION.status()).unwrap_or_default();
    match status {
        StatusCode::NO_CONTENT => status.into_response(),
        _ => json_response(status, serde_json::to_vec(output)),
    }
}

fn json_response(status: StatusCode, body: serde_json::Result<Vec<u8>>) -> Response {
    match body {
        Ok(body) => (status, [(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Completes a write even if the client disconnects. If the call were dropped between its commit and the
/// following wake-up, the write would stay unnoticed until the next event.
pub(crate) async fn to_its_end<T: Send + 'static>(
    call: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::spawn(call).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The task is only cancelled when the process ends.
            Err(_) => Err(ApiError::stopping()),
        },
    }
}
