//! A local server that sends prepared responses and records the requests.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use wakeful_core::conversation::{Block, Role, ToolSpec, TranscriptEntry};
use wakeful_core::failure::ModelFailure;
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{BlockSource, ModelRequest, PromptBlock, PromptCache, Stability};
use wakeful_models::{Credential, HostedModel, HostedOptions, Provider, RequestOptions};
use wakeful_ports::model::{DeltaSink, Model, ModelResponse};

/// The key, which must appear in one header and nowhere else.
pub(super) const KEY: &str = "sk-test-5f0c2b7a9d";

/// How the server responds to a request.
pub(super) enum FakeReply {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes in pieces of the given size and closes the connection.
    Pieces(Vec<u8>, usize),
    /// Sends the first bytes, then repeats the second until the client disconnects.
    Forever(Vec<u8>, Vec<u8>),
    /// Sends these bytes, then nothing, while the clock advances.
    Silence(Vec<u8>),
}

/// A received request.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceivedRequest {
    pub(super) head: String,
    pub(super) body: Value,
}

impl ReceivedRequest {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().skip(1);
        let mut pairs = lines.filter_map(|line| line.split_once(": "));
        let found = pairs.find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    }
}

/// A server for as many requests as it has responses.
pub(super) struct FakeProvider {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    asked: Vec<ReceivedRequest>,
    written: usize,
}

impl FakeProvider {
    pub(super) async fn new(reply: FakeReply) -> Self {
        Self::series([reply]).await
    }

    /// A server for several requests in sequence, each on its own connection.
    pub(super) async fn series(replies: impl IntoIterator<Item = FakeReply>) -> Self {
        let replies: Vec<FakeReply> = replies.into_iter().collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let serving = tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let asked = hear(&mut stream).await;
                shared.lock().expect("no panic").asked.push(asked);
                say(&mut stream, reply, &shared).await;
            }
        });
        Self { url, state, serving }
    }

    /// A server that sends a whole response.
    pub(super) async fn whole(body: &str) -> Self {
        Self::new(FakeReply::Bytes(response(
            200,
            &[("content-type", "application/json")],
            body,
        )))
        .await
    }

    /// A server that streams these events.
    pub(super) async fn stream(events: &str) -> Self {
        Self::new(FakeReply::Bytes(response(
            200,
            &[("content-type", "text/event-stream")],
            events,
        )))
        .await
    }

    /// Waits until the server has sent everything or the client has disconnected.
    pub(super) async fn ended(self) {
        self.serving.await.expect("no panic");
    }

    pub(super) fn asked(&self) -> Vec<ReceivedRequest> {
        self.state.lock().expect("no panic").asked.clone()
    }

    /// Returns how many bytes the client accepted.
    pub(super) fn written(&self) -> usize {
        self.state.lock().expect("no panic").written
    }
}

/// A response that ends with the connection, unless a header sets its length.
pub(super) fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!("HTTP/1.1 {status} Word\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

async fn hear(stream: &mut TcpStream) -> ReceivedRequest {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let asked = ReceivedRequest {
                head: head.to_owned(),
                body: serde_json::from_str(body).unwrap_or_default(),
            };
            let length = asked.header("content-length").and_then(|text| text.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                return asked;
            }
        }
        if stream.read_buf(&mut bytes).await.expect("a request") == 0 {
            return ReceivedRequest::default();
        }
    }
}

async fn say(stream: &mut TcpStream, reply: FakeReply, state: &Mutex<State>) {
    match reply {
        FakeReply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
        }
        FakeReply::Pieces(bytes, size) => {
            stream.set_nodelay(true).expect("a socket");
            for piece in bytes.chunks(size) {
                let _ = stream.write_all(piece).await;
                // Lets the client read this piece before the next one is written.
                tokio::task::yield_now().await;
            }
        }
        FakeReply::Forever(first, again) => {
            let _ = stream.write_all(&first).await;
            while stream.write_all(&again).await.is_ok() {
                state.lock().expect("no panic").written += again.len();
            }
        }
        FakeReply::Silence(bytes) => {
            let _ = stream.write_all(&bytes).await;
            tokio::time::pause();
            std::future::pending::<()>().await;
        }
    }
}

/// A model at a provider with this address.
pub(super) fn hosted(provider: Provider, url: &str) -> HostedModel {
    shaped(provider, url, RequestOptions::default())
}

/// A model at a provider with this address and these options.
pub(super) fn shaped(provider: Provider, url: &str, shape: RequestOptions<'_>) -> HostedModel {
    let base = match provider {
        Provider::OpenAi | Provider::OpenAiChat | Provider::OpenAiCodex => format!("{url}/v1"),
        Provider::Anthropic | Provider::Gemini => url.to_owned(),
    };
    let options = HostedOptions {
        base_url: Some(&base),
        credential: Some(Credential::new(KEY).expect("a key")),
        shape,
        ..HostedOptions::of(provider, "m-1")
    };
    HostedModel::new(options).expect("a model")
}

/// Records the text that it receives.
#[derive(Default)]
pub(super) struct CollectingSink(pub(super) Mutex<String>);

impl DeltaSink for CollectingSink {
    fn on_text(&self, text: &str) {
        self.0.lock().expect("no panic").push_str(text);
    }
}

/// Sends one request. Returns the result and the streamed text.
pub(super) async fn ask(
    provider: Provider,
    fake: &FakeProvider,
) -> (Result<ModelResponse, ModelFailure>, String) {
    let ear = CollectingSink::default();
    let answer = hosted(provider, &fake.url).call(request(provider), &ear).await;
    (answer, ear.0.into_inner().expect("no panic"))
}

/// Sends one request, expects a failure, and checks that it does not contain the key.
pub(super) async fn fail(provider: Provider, reply: FakeReply) -> ModelFailure {
    let fake = FakeProvider::new(reply).await;
    let failure = ask(provider, &fake).await.0.expect_err("no answer");
    let shown = format!("{failure:?} {}", serde_json::to_string(&failure).expect("JSON"));
    assert!(!shown.contains(KEY), "{shown}");
    assert_eq!(failure.artifact.provider.as_deref(), Some(provider.word()));
    assert_eq!(
        failure.artifact.model_ref,
        Some(format!("{}/m-1", provider.word()))
    );
    failure
}

pub(super) fn request(provider: Provider) -> ModelRequest {
    ModelRequest {
        model_ref: format!("{}/m-1", provider.word()),
        request: 0,
        system: vec![PromptBlock {
            text: "Be exact.".to_owned(),
            stability: Stability::Stable,
            source: BlockSource::Contract,
            cache_breakpoint: false,
        }],
        entries: vec![TranscriptEntry {
            role: Role::User,
            blocks: vec![Block::Text {
                text: "Hello?".to_owned(),
            }],
        }],
        tools: vec![ToolSpec {
            name: "Look".to_owned(),
            description: "Looks.".to_owned(),
            input_schema: serde_json::json!({"type": "object"}),
            freeform: None,
        }],
        answer_schema: None,
        cache: PromptCache::none(AgentId::parse("tester").expect("an id")),
    }
}
