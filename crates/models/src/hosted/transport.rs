//! One request and its response over HTTP, within times and sizes.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Response, Url};
use tokio::time::timeout;

use super::endpoint::Reach;
use super::failure::{Stage, Trouble, retry_after_ms};
use crate::wire::Fault;

/// Longest time to a connection, TLS included.
const CONNECT_MS_MAX: u64 = 10_000;

/// Longest time from the request to the first byte of its response.
pub(super) const FIRST_BYTE_MS_MAX: u64 = 300_000;

/// Longest silence within a response. How long a response may take in all is the engine's to say.
pub(super) const IDLE_MS_MAX: u64 = 300_000;

/// Largest response in bytes. A reply has at most 4 MiB; as a stream of small events it takes several times that.
pub(super) const RESPONSE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most bytes that are read of an error's body. Only its sentence is kept.
const ERROR_BYTES_MAX: usize = 64 * 1024;

/// Longest time for reading it. The status is known by then, and need not wait for a sentence that does not end.
const ERROR_MS_MAX: u64 = 5_000;

/// How we introduce ourselves.
const USER_AGENT: &str = concat!("wakeful/", env!("CARGO_PKG_VERSION"));

/// A connection pool to one place, made when it is first needed: reading the machine's certificates takes a while, and
/// not every model that is named is asked.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    reach: Reach,
    headers: HeaderMap,
    client: OnceLock<Client>,
}

/// How a response is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON, all at once.
    Whole,
    /// Server-sent events.
    Stream,
}

impl Transport {
    pub(super) fn new(
        reach: Reach,
        fixed: &[(&'static str, &'static str)],
        key: Option<(&'static str, HeaderValue)>,
    ) -> Self {
        let fixed = fixed
            .iter()
            .map(|(name, value)| (*name, HeaderValue::from_static(value)));
        let headers = fixed.chain(key);
        Self {
            reach,
            headers: headers
                .map(|(name, value)| (HeaderName::from_static(name), value))
                .collect(),
            client: OnceLock::new(),
        }
    }

    /// Sends a body and waits for the head of a successful response.
    pub(super) async fn send(&self, url: Url, body: Vec<u8>) -> Result<(Form, Body<Response>), Trouble> {
        let request = self
            .client()?
            .post(url)
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            // Nothing here unpacks, so that nothing small can become large.
            .header(ACCEPT_ENCODING, "identity")
            .body(body);
        let sent = timeout(Duration::from_millis(FIRST_BYTE_MS_MAX), request.send()).await;
        let response = sent
            .map_err(|_| Trouble::TimedOut(Stage::FirstByte))?
            .map_err(Trouble::Connection)?;
        let status = response.status().as_u16();
        let retry_after_ms = retry_after_ms(response.headers());
        let form = form(response.headers());
        let mut body = Body::new(response);
        if status != 200 {
            return Err(Trouble::Status {
                status,
                retry_after_ms,
                body: body.beginning(ERROR_BYTES_MAX).await,
            });
        }
        Ok((form?, body))
    }

    fn client(&self) -> Result<&Client, Trouble> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = build(self.reach)?;
        Ok(self.client.get_or_init(|| made))
    }
}

fn build(reach: Reach) -> Result<Client, Trouble> {
    // Whoever was first in this process has chosen; there is one choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        // The machine decides on another attempt, and records it.
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_millis(CONNECT_MS_MAX));
    let builder = match reach {
        // No proxy, because plain http would be read there; no certificates, because none are needed.
        Reach::Loopback => builder.no_proxy().tls_certs_only(Vec::<Certificate>::new()),
        Reach::Secured => builder.https_only(true),
    };
    let why = |error: reqwest::Error| {
        let causes = wakeful_core::failure::clip(&format!("{:?}", error.without_url()), 300);
        Trouble::Unsendable(format!("the HTTP client cannot be set up: {causes}"))
    };
    builder.build().map_err(why)
}

/// What the response says it is. A page of HTML from something in between is neither.
fn form(headers: &HeaderMap) -> Result<Form, Fault> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        "application/json" => Ok(Form::Whole),
        "text/event-stream" => Ok(Form::Stream),
        _ => Err(Fault::invalid("the response is neither JSON nor an event stream")),
    }
}

/// Where the bytes of a response come from.
pub(super) trait Source {
    /// The next bytes; nothing at the end.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error>> + Send;
}

impl Source for Response {
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, reqwest::Error> {
        self.chunk().await
    }
}

/// The body of a response, read within its bounds.
#[derive(Debug)]
pub(super) struct Body<S> {
    source: S,
    bytes: usize,
}

impl<S: Source> Body<S> {
    pub(super) const fn new(source: S) -> Self {
        Self { source, bytes: 0 }
    }

    /// The next bytes; nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + Send>, Trouble> {
        let next = timeout(Duration::from_millis(IDLE_MS_MAX), self.source.next()).await;
        let chunk = next
            .map_err(|_| Trouble::TimedOut(Stage::NextByte))?
            .map_err(Trouble::Connection)?;
        let read = chunk.as_ref().map_or(0, |chunk| chunk.as_ref().len());
        self.bytes = self.bytes.saturating_add(read);
        if self.bytes > RESPONSE_BYTES_MAX {
            return Err(
                Fault::invalid(format!("the response has more than {RESPONSE_BYTES_MAX} bytes")).into(),
            );
        }
        Ok(chunk)
    }

    /// All of it.
    pub(super) async fn whole(&mut self) -> Result<Vec<u8>, Trouble> {
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

    /// Says one thing again and again, or nothing at all.
    struct Endless(Option<&'static [u8]>, u64);

    impl Source for Endless {
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
        let trouble = Body::new(Endless(None, 0)).whole().await.expect_err("an end");
        assert!(
            matches!(trouble, Trouble::TimedOut(Stage::NextByte)),
            "{trouble:?}"
        );
        assert_eq!(began.elapsed(), Duration::from_millis(IDLE_MS_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_drips_goes_on_until_somebody_above_ends_it() {
        let mut drip = Body::new(Endless(Some(b"x"), IDLE_MS_MAX - 1));
        let engine = Duration::from_secs(15 * 60);
        assert!(timeout(engine, drip.whole()).await.is_err());
        assert_eq!(drip.bytes, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_without_end_is_refused_at_its_bound() {
        static PIECE: [u8; 1 << 20] = [b'x'; 1 << 20];
        let mut endless = Body::new(Endless(Some(&PIECE), 0));
        let trouble = endless.whole().await.expect_err("a bound");
        assert!(
            matches!(trouble, Trouble::Fault(Fault::Invalid(_))),
            "{trouble:?}"
        );
        assert_eq!(endless.bytes, RESPONSE_BYTES_MAX + PIECE.len());
        let mut error = Body::new(Endless(Some(&PIECE), 0));
        assert_eq!(error.beginning(ERROR_BYTES_MAX).await.len(), ERROR_BYTES_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_drips_is_cut_short() {
        let began = tokio::time::Instant::now();
        let mut drip = Body::new(Endless(Some(b"x"), 900));
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
        assert_eq!(of("Application/JSON; charset=utf-8"), Some(Form::Whole));
        assert_eq!(of("text/event-stream;charset=utf-8"), Some(Form::Stream));
        assert_eq!(of("text/html"), None);
        assert_eq!(form(&HeaderMap::new()).ok(), None);
    }
}
