//! One HTTP request and its response, with timeouts and size limits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method, Response, Url};
use tokio::time::{Instant, timeout};

use super::endpoint::EndpointSecurity;
use super::failure::{ExchangeError, WaitStage, retry_after_ms};
use crate::wire::ResponseError;

/// Longest configurable time of each phase, one hour. It exceeds the total time limit of the engine.
pub const TIME_MS_MAX: u64 = 3_600_000;

/// How long each phase of an exchange may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start to an open connection, including TLS.
    pub connect_ms: u64,
    /// From the request to the first byte of its response.
    pub first_byte_ms: u64,
    /// Between two chunks of a response.
    pub idle_ms: u64,
    /// For the whole exchange. If unset, only the engine's limit applies.
    pub total_ms: Option<u64>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_ms: 10_000,
            first_byte_ms: 300_000,
            idle_ms: 300_000,
            total_ms: None,
        }
    }
}

/// The HTTP clients of a process: one connection pool per endpoint security and connect timeout. Clients
/// are created on first use, because loading the system's certificates is slow and not every configured
/// model is used. Clones share the pools.
#[derive(Debug, Clone, Default)]
pub struct HttpClients {
    // At most one per configured provider, and their number is bounded.
    made: Arc<Mutex<BTreeMap<(EndpointSecurity, u64), Client>>>,
}

impl HttpClients {
    pub(super) fn get(&self, reach: EndpointSecurity, connect_ms: u64) -> Result<Client, ExchangeError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(&(reach, connect_ms)) {
            return Ok(client.clone());
        }
        let client = build(reach, connect_ms)?;
        made.insert((reach, connect_ms), client.clone());
        Ok(client)
    }

    /// Returns the number of clients that were created.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.made.lock().map(|made| made.len()).unwrap_or_default()
    }
}

/// Largest response in bytes. A response has at most 4 MiB of content; as a stream of small events it takes
/// several times that.
pub(super) const RESPONSE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Maximum number of bytes that are read from an error body. Only its message is used.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of bytes that are read from a model list. The longest lists have some hundreds of
/// entries.
const METADATA_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest time for reading an error body. The status is already known and must not be delayed by a body
/// that does not end.
const ERROR_MS_MAX: u64 = 5_000;

/// Longest description of why a client cannot be created, in characters.
const CAUSES_CHARS_MAX: usize = 300;

const USER_AGENT: &str = concat!("wakeful/", env!("CARGO_PKG_VERSION"));

/// The headers of every model request. Compression is disabled, so that a small response cannot expand into
/// a large one.
const REQUEST_HEADERS: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "application/json"),
    (ACCEPT, "text/event-stream, application/json"),
    (ACCEPT_ENCODING, "identity"),
];

/// The HTTP connection settings of one server.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    reach: EndpointSecurity,
    /// The headers of every request.
    headers: HeaderMap,
    /// The headers of model requests: `headers` and `REQUEST_HEADERS`.
    asking: HeaderMap,
    times: Timeouts,
    clients: HttpClients,
}

/// The form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseForm {
    /// A complete JSON document.
    Whole,
    /// Server-sent events.
    Stream,
}

/// Combines the fixed headers and the key.
pub(super) fn header_map(
    fixed: &[(&'static str, &'static str)],
    key: Option<(&'static str, HeaderValue)>,
) -> HeaderMap {
    let fixed = fixed
        .iter()
        .map(|(name, value)| (*name, HeaderValue::from_static(value)));
    let headers = fixed.chain(key);
    headers
        .map(|(name, value)| (HeaderName::from_static(name), value))
        .collect()
}

impl Transport {
    pub(super) fn new(
        reach: EndpointSecurity,
        headers: HeaderMap,
        times: Timeouts,
        clients: HttpClients,
    ) -> Self {
        let mut asking = headers.clone();
        asking.extend(REQUEST_HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        Self {
            reach,
            headers,
            asking,
            times,
            clients,
        }
    }

    /// Sends a body and waits for the head of a successful response.
    pub(super) async fn send(
        &self,
        url: Url,
        body: Vec<u8>,
    ) -> Result<(ResponseForm, ResponseReader<Response>), ExchangeError> {
        let patience = Deadlines::begin(self.times);
        let client = self.clients.get(self.reach, self.times.connect_ms)?;
        let mut request = reqwest::Request::new(Method::POST, url);
        *request.headers_mut() = self.asking.clone();
        *request.body_mut() = Some(body.into());
        let sent = timeout(patience.first_byte(), client.execute(request)).await;
        let response = sent
            .map_err(|_| ExchangeError::TimedOut(WaitStage::FirstByte))?
            .map_err(ExchangeError::Unsent)?;
        let status = response.status().as_u16();
        let retry_after_ms = retry_after_ms(response.headers());
        let form = form(response.headers());
        let mut body = ResponseReader::new(response, patience);
        if status != 200 {
            return Err(ExchangeError::Status {
                status,
                retry_after_ms,
                body: body.beginning(ERROR_BYTES_MAX).await,
            });
        }
        Ok((form?, body))
    }

    /// Sends a request that is free of charge. Returns the status and the JSON, as far as it could be read.
    pub(super) async fn look(
        &self,
        look: MetadataRequest,
        url: Url,
        wait: Duration,
    ) -> Result<(u16, Vec<u8>), ExchangeError> {
        let client = self.clients.get(self.reach, self.times.connect_ms)?;
        let request = match look {
            MetadataRequest::Get => client.get(url),
            MetadataRequest::Post(body) => client
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(body),
        };
        let request = request
            .headers(self.headers.clone())
            .header(ACCEPT, "application/json")
            .header(ACCEPT_ENCODING, "identity");
        let sent = timeout(wait, request.send()).await;
        let response = sent
            .map_err(|_| ExchangeError::TimedOut(WaitStage::FirstByte))?
            .map_err(ExchangeError::Unsent)?;
        let status = response.status().as_u16();
        let mut body = ResponseReader::new(response, Deadlines::begin(self.times));
        Ok((status, body.beginning(METADATA_BYTES_MAX).await))
    }
}

/// A request that is free of charge.
#[derive(Debug)]
pub(super) enum MetadataRequest {
    Get,
    Post(Vec<u8>),
}

/// The remaining time of an exchange in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    times: Timeouts,
    deadline: Option<Instant>,
}

impl Deadlines {
    pub(super) fn begin(times: Timeouts) -> Self {
        let total = times.total_ms.map(Duration::from_millis);
        Self {
            times,
            deadline: total.and_then(|total| Instant::now().checked_add(total)),
        }
    }

    fn first_byte(self) -> Duration {
        self.within(self.times.first_byte_ms)
    }

    fn idle(self) -> Duration {
        self.within(self.times.idle_ms)
    }

    fn within(self, ms: u64) -> Duration {
        let phase = Duration::from_millis(ms);
        let left = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(phase, |left| phase.min(left))
    }
}

fn build(reach: EndpointSecurity, connect_ms: u64) -> Result<Client, ExchangeError> {
    // Another part of the process may have installed the provider already; it is always the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        // The run machine decides about retries and records them.
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_millis(connect_ms));
    let builder = match reach {
        // No proxy, because it could read plain http; no certificates, because plain http needs none.
        EndpointSecurity::Loopback => builder.no_proxy().tls_certs_only(Vec::<Certificate>::new()),
        EndpointSecurity::Secured => builder.https_only(true),
    };
    let why = |error: reqwest::Error| {
        let causes =
            wakeful_core::failure::truncate_chars(&format!("{:?}", error.without_url()), CAUSES_CHARS_MAX);
        ExchangeError::Unsendable(format!("cannot create the HTTP client: {causes}"))
    };
    builder.build().map_err(why)
}

/// Returns the form that the content type declares. An HTML page from a proxy is rejected.
fn form(headers: &HeaderMap) -> Result<ResponseForm, ResponseError> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(ResponseForm::Whole),
        "text/event-stream" => Ok(ResponseForm::Stream),
        _ => Err(ResponseError::invalid(
            "the response is neither JSON nor an event stream",
        )),
    }
}

/// A source of response bytes.
pub(super) trait ByteSource {
    /// Returns the next bytes, or `None` at the end.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error>> + Send;
}

impl ByteSource for Response {
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error> {
        self.chunk().await
    }
}

/// Reads the body of a response within its limits.
#[derive(Debug)]
pub(super) struct ResponseReader<S> {
    source: S,
    bytes: usize,
    deadlines: Deadlines,
}

impl<S: ByteSource> ResponseReader<S> {
    pub(super) const fn new(source: S, patience: Deadlines) -> Self {
        Self {
            source,
            bytes: 0,
            deadlines: patience,
        }
    }

    /// Returns the next bytes, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, ExchangeError> {
        let next = timeout(self.deadlines.idle(), self.source.next()).await;
        let chunk = next
            .map_err(|_| ExchangeError::TimedOut(WaitStage::NextByte))?
            .map_err(ExchangeError::Broken)?;
        let read = chunk.as_ref().map_or(0, |chunk| chunk.as_ref().len());
        self.bytes = self.bytes.saturating_add(read);
        if self.bytes > RESPONSE_BYTES_MAX {
            return Err(ResponseError::invalid(format!(
                "the response has more than {RESPONSE_BYTES_MAX} bytes"
            ))
            .into());
        }
        Ok(chunk)
    }

    /// Reads the whole body.
    pub(super) async fn whole(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.next().await? {
            whole.extend_from_slice(chunk.as_ref());
        }
        Ok(whole)
    }

    /// Reads the beginning of the body, as far as possible. It is used for error bodies, whose status is
    /// already known.
    async fn beginning(&mut self, bytes_max: usize) -> Vec<u8> {
        let mut beginning = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = self.next().await {
                let room = bytes_max.saturating_sub(beginning.len());
                let chunk = chunk.as_ref();
                beginning.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
                if beginning.len() >= bytes_max {
                    break;
                }
            }
        };
        // After the timeout, the bytes read so far are used.
        let _ = timeout(Duration::from_millis(ERROR_MS_MAX), reading).await;
        beginning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_MS: u64 = 300_000;

    fn body(source: Endless) -> ResponseReader<Endless> {
        ResponseReader::new(source, Deadlines::begin(Timeouts::default()))
    }

    /// A source that repeats the same bytes forever, or never returns.
    struct Endless(Option<&'static [u8]>, u64);

    impl ByteSource for Endless {
        async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error> {
            match self.0 {
                Some(bytes) => {
                    tokio::time::sleep(Duration::from_millis(self.1)).await;
                    Ok(Some(bytes))
                }
                None => std::future::pending().await,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_falls_silent_times_out() {
        let began = tokio::time::Instant::now();
        let trouble = body(Endless(None, 0)).whole().await.expect_err("an end");
        assert!(
            matches!(trouble, ExchangeError::TimedOut(WaitStage::NextByte)),
            "{trouble:?}"
        );
        assert_eq!(began.elapsed(), Duration::from_millis(IDLE_MS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_response_has_no_total_limit_unless_one_is_set() {
        let mut drip = body(Endless(Some(b"x"), IDLE_MS - 1));
        let engine = Duration::from_secs(15 * 60);
        assert!(timeout(engine, drip.whole()).await.is_err());
        assert_eq!(drip.bytes, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_response_ends_at_its_total_time_limit() {
        let times = Timeouts {
            total_ms: Some(1_000),
            ..Timeouts::default()
        };
        let began = Instant::now();
        let mut drip = ResponseReader::new(Endless(Some(b"x"), 300), Deadlines::begin(times));
        assert!(matches!(
            drip.whole().await,
            Err(ExchangeError::TimedOut(WaitStage::NextByte))
        ));
        assert_eq!((began.elapsed(), drip.bytes), (Duration::from_millis(1_000), 3));
    }

    #[test]
    fn models_of_one_process_share_one_pool_per_endpoint_security() {
        let clients = HttpClients::default();
        for _ in 0..3 {
            clients
                .clone()
                .get(EndpointSecurity::Loopback, 10_000)
                .expect("a client");
        }
        assert_eq!(clients.count(), 1);
        clients.get(EndpointSecurity::Loopback, 5_000).expect("a client");
        assert_eq!(clients.count(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_endless_response_is_refused_at_its_limit() {
        static PIECE: [u8; 1 << 20] = [b'x'; 1 << 20];
        let mut endless = body(Endless(Some(&PIECE), 0));
        let trouble = endless.whole().await.expect_err("a bound");
        assert!(
            matches!(trouble, ExchangeError::Fault(ResponseError::Invalid(_))),
            "{trouble:?}"
        );
        assert_eq!(endless.bytes, RESPONSE_BYTES_MAX + PIECE.len());
        let mut error = body(Endless(Some(&PIECE), 0));
        assert_eq!(error.beginning(ERROR_BYTES_MAX).await.len(), ERROR_BYTES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_a_slow_error_body_is_cut_short() {
        let began = tokio::time::Instant::now();
        let mut drip = body(Endless(Some(b"x"), 900));
        assert_eq!(drip.beginning(ERROR_BYTES_MAX).await, b"xxxxx");
        assert_eq!(began.elapsed(), Duration::from_millis(ERROR_MS_MAX));
    }

    #[test]
    fn the_content_type_decides_the_form_of_a_response() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, text.parse().expect("a header"));
            form(&headers).ok()
        };
        assert_eq!(of("Application/JSON; charset=utf-8"), Some(ResponseForm::Whole));
        assert_eq!(of("text/event-stream;charset=utf-8"), Some(ResponseForm::Stream));
        assert_eq!(of("text/html"), None);
        assert_eq!(form(&HeaderMap::new()).ok(), None);
    }
}
