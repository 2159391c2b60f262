//! One request and its response over HTTP, within times and sizes.

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

/// Longest time of each phase that can be asked for, an hour. Longer than the engine waits in all.
pub const TIME_MS_MAX: u64 = 3_600_000;

/// How long each phase of an exchange may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To a connection, TLS included.
    pub connect_ms: u64,
    /// From the request to the first byte of its response.
    pub first_byte_ms: u64,
    /// Of silence within a response.
    pub idle_ms: u64,
    /// For all of it; without one that is the engine's to say.
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

/// The HTTP clients of a process: one pool of connections for each reach and time to connect, made when it is first
/// needed: reading the machine's certificates takes a while, and not every model that is named is asked. Clones share.
#[derive(Debug, Clone, Default)]
pub struct HttpClients {
    // As many as there are providers in the settings, which are bounded.
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

    /// How many were made.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.made.lock().map(|made| made.len()).unwrap_or_default()
    }
}

/// Largest response in bytes. A reply has at most 4 MiB; as a stream of small events it takes several times that.
pub(super) const RESPONSE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most bytes that are read of an error's body. Only its sentence is kept.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Most bytes that are read of a list of models. The longest have some hundreds of entries.
const METADATA_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Longest time for reading it. The status is known by then, and need not wait for a sentence that does not end.
const ERROR_MS_MAX: u64 = 5_000;

/// Longest account of a client that cannot be made, in characters.
const CAUSES_CHARS_MAX: usize = 300;

/// How we introduce ourselves.
const USER_AGENT: &str = concat!("wakeful/", env!("CARGO_PKG_VERSION"));

/// What every request for an answer says of itself. Nothing here unpacks, so that nothing small can become large.
const ASKING: [(HeaderName, &str); 3] = [
    (CONTENT_TYPE, "application/json"),
    (ACCEPT, "text/event-stream, application/json"),
    (ACCEPT_ENCODING, "identity"),
];

/// The way to one place.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    reach: EndpointSecurity,
    /// Of every request.
    headers: HeaderMap,
    /// Of those that ask for an answer: the same, and what these say beside.
    asking: HeaderMap,
    times: Timeouts,
    clients: HttpClients,
}

/// How a response is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseForm {
    /// JSON, all at once.
    Whole,
    /// Server-sent events.
    Stream,
}

/// The headers of every request: those that are always the same, and the key.
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
        asking.extend(ASKING.map(|(name, value)| (name, HeaderValue::from_static(value))));
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

    /// Asks for something that costs nothing: the status, and as much of the JSON as there is.
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

/// A question that costs nothing.
#[derive(Debug)]
pub(super) enum MetadataRequest {
    Get,
    Post(Vec<u8>),
}

/// How long an exchange that has begun may still take.
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
    // Whoever was first in this process has chosen; there is one choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        // The machine decides on another attempt, and records it.
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_millis(connect_ms));
    let builder = match reach {
        // No proxy, because plain http would be read there; no certificates, because none are needed.
        EndpointSecurity::Loopback => builder.no_proxy().tls_certs_only(Vec::<Certificate>::new()),
        EndpointSecurity::Secured => builder.https_only(true),
    };
    let why = |error: reqwest::Error| {
        let causes =
            wakeful_core::failure::truncate_chars(&format!("{:?}", error.without_url()), CAUSES_CHARS_MAX);
        ExchangeError::Unsendable(format!("the HTTP client cannot be set up: {causes}"))
    };
    builder.build().map_err(why)
}

/// What the response says it is. A page of HTML from something in between is neither.
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

/// Where the bytes of a response come from.
pub(super) trait ByteSource {
    /// The next bytes; nothing at the end.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error>> + Send;
}

impl ByteSource for Response {
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error> {
        self.chunk().await
    }
}

/// The body of a response, read within its bounds.
#[derive(Debug)]
pub(super) struct ResponseReader<S> {
    source: S,
    bytes: usize,
    patience: Deadlines,
}

impl<S: ByteSource> ResponseReader<S> {
    pub(super) const fn new(source: S, patience: Deadlines) -> Self {
        Self {
            source,
            bytes: 0,
            patience,
        }
    }

    /// The next bytes; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, ExchangeError> {
        let next = timeout(self.patience.idle(), self.source.next()).await;
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

    /// All of it.
    pub(super) async fn whole(&mut self) -> Result<Vec<u8>, ExchangeError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.next().await? {
            whole.extend_from_slice(chunk.as_ref());
        }
        Ok(whole)
    }

    /// The beginning of it, as far as it can be had: the status has already said that this is no answer.
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
        // What was read until then is enough.
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

    /// Says one thing again and again, or nothing at all.
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
    async fn a_response_that_falls_silent_is_given_up() {
        let began = tokio::time::Instant::now();
        let trouble = body(Endless(None, 0)).whole().await.expect_err("an end");
        assert!(
            matches!(trouble, ExchangeError::TimedOut(WaitStage::NextByte)),
            "{trouble:?}"
        );
        assert_eq!(began.elapsed(), Duration::from_millis(IDLE_MS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_drips_goes_on_until_somebody_above_ends_it() {
        let mut drip = body(Endless(Some(b"x"), IDLE_MS - 1));
        let engine = Duration::from_secs(15 * 60);
        assert!(timeout(engine, drip.whole()).await.is_err());
        assert_eq!(drip.bytes, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_has_its_time_in_all_however_it_drips() {
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
    fn models_of_one_process_share_one_pool_for_each_reach() {
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
    async fn a_response_without_end_is_refused_at_its_bound() {
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
    async fn an_error_that_drips_is_cut_short() {
        let began = tokio::time::Instant::now();
        let mut drip = body(Endless(Some(b"x"), 900));
        assert_eq!(drip.beginning(ERROR_BYTES_MAX).await, b"xxxxx");
        assert_eq!(began.elapsed(), Duration::from_millis(ERROR_MS_MAX));
    }

    #[test]
    fn a_response_is_what_it_says_it_is() {
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
