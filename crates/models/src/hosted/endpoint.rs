//! Where requests go.

use std::net::IpAddr;

use reqwest::Url;

use crate::builtin::BuiltinProvider;
use crate::provider::Provider;

/// Longest base URL in bytes: what servers and proxies commonly take.
pub const URL_BYTES_MAX: usize = 2_048;

/// An address that requests cannot be sent to. Addresses are shown only where nothing secret can be in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// Not an address that a path can be put behind.
    #[error("it is no URL of the form https://HOST[:PORT][/PATH] without user, query and fragment")]
    Malformed,
    /// Keys and prompts would travel readable.
    #[error(
        "{host} is not this machine, and plain http to it would show key and prompts to everyone on the way"
    )]
    Insecure {
        /// Where it leads.
        host: String,
    },
}

/// Who listens at an address: host and port, without anything else that may stand in it.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    Endpoint::parse(url).ok().map(|endpoint| endpoint.host())
}

/// How far away the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndpointSecurity {
    /// On this machine, without TLS.
    Loopback,
    /// Elsewhere, or here with TLS.
    Secured,
}

/// A checked base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    base: Url,
}

impl Endpoint {
    pub(super) fn parse(text: &str) -> Result<Self, BadUrl> {
        let text = text.trim();
        let base = Url::parse(text).map_err(|_| BadUrl::Malformed)?;
        let bare = base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.fragment().is_none();
        let host = base.host_str().unwrap_or_default();
        if text.len() > URL_BYTES_MAX || !bare || host.is_empty() {
            return Err(BadUrl::Malformed);
        }
        match base.scheme() {
            "https" => Ok(Self { base }),
            "http" if is_loopback(host) => Ok(Self { base }),
            "http" => Err(BadUrl::Insecure {
                host: host.to_owned(),
            }),
            _ => Err(BadUrl::Malformed),
        }
    }

    pub(super) fn reach(&self) -> EndpointSecurity {
        match self.base.scheme() {
            "http" => EndpointSecurity::Loopback,
            _ => EndpointSecurity::Secured,
        }
    }

    /// Whether a program on this machine listens there.
    pub(super) fn is_here(&self) -> bool {
        self.base.host_str().is_some_and(is_loopback)
    }

    /// Who listens there, without path: what a person may be shown.
    pub(super) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The base as it was given, a slash at its end included.
    pub(super) fn itself(&self) -> Url {
        self.base.clone()
    }

    /// An address under the base, for questions that cost nothing.
    pub(super) fn below(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        // It cannot fail: what has a host has segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// The server itself, without the path of the base.
    pub(super) fn root(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url
    }

    /// Who thinks there: the name alone where it has an address of its own and this is it, else with the host. Two who speak
    /// the same format, or one name that has moved, are not the same.
    pub(super) fn thinking_scope(&self, name: &str, provider: Provider) -> String {
        let known = BuiltinProvider::named(name).filter(|known| known.kind == provider);
        let home = known.and_then(|known| host_of(known.base_url.unwrap_or(provider.base_url())));
        match home == Some(self.host()) {
            true => name.to_owned(),
            false => format!("{name}@{}", self.host()),
        }
    }

    /// Whether it is the provider's own address.
    pub(super) fn is_own(&self, provider: Provider) -> bool {
        Self::parse(provider.base_url()).is_ok_and(|own| own.base.host_str() == self.base.host_str())
    }

    /// The address of one model's answers.
    pub(super) fn url(&self, provider: Provider, model: &str) -> Url {
        let generate = format!("{model}:streamGenerateContent");
        let path: &[&str] = match provider {
            Provider::Anthropic => &["v1", "messages"],
            Provider::OpenAi | Provider::OpenAiCodex => &["responses"],
            Provider::OpenAiChat => &["chat", "completions"],
            Provider::Gemini => &["v1beta", "models", &generate],
        };
        let mut url = self.below(path);
        if provider == Provider::Gemini {
            url.set_query(Some("alt=sse"));
        }
        url
    }
}

/// Names are not looked up: whoever answers a lookup must not decide where keys go.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_asked_at_its_own_path() {
        let url = |base: &str, provider, model| {
            let endpoint = Endpoint::parse(base).expect(base);
            endpoint.url(provider, model).to_string()
        };
        let own = |provider: Provider, model| url(provider.base_url(), provider, model);
        assert_eq!(
            own(Provider::Anthropic, "m"),
            "https://api.anthropic.com/v1/messages"
        );
        assert_eq!(own(Provider::OpenAi, "m"), "https://api.openai.com/v1/responses");
        assert_eq!(
            url("http://[::1]:11434/v1/", Provider::OpenAiChat, "m"),
            "http://[::1]:11434/v1/chat/completions"
        );
        assert_eq!(
            own(Provider::Gemini, "../x"),
            "https://generativelanguage.googleapis.com/v1beta/models/..%2Fx:streamGenerateContent?alt=sse"
        );
    }

    /// Thoughts that were kept before hosts were written down carry the bare word of the format.
    #[test]
    fn who_thinks_is_a_name_at_home_and_a_name_with_its_host_elsewhere() {
        let thinker =
            |name, provider, base: &str| Endpoint::parse(base).expect(base).thinking_scope(name, provider);
        for provider in Provider::ALL {
            let word = provider.word();
            assert_eq!(thinker(word, provider, provider.base_url()), word);
        }
        let (own, proxy) = (Provider::OpenAi.base_url(), "https://proxy.example:8443/v1");
        assert_eq!(
            thinker("openai", Provider::OpenAi, proxy),
            "openai@proxy.example:8443"
        );
        assert_eq!(thinker("mine", Provider::OpenAi, own), "mine@api.openai.com");
        // A name that was given to another format.
        assert_eq!(
            thinker("anthropic", Provider::OpenAi, own),
            "anthropic@api.openai.com"
        );
        let router = "https://openrouter.ai/api/v1";
        assert_eq!(thinker("openrouter", Provider::OpenAiChat, router), "openrouter");
    }

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for text in [
            "http://localhost:1",
            "http://127.0.0.1",
            "http://127.9.9.9/v1",
            "http://[::1]:9",
        ] {
            assert_eq!(
                Endpoint::parse(text).map(|e| e.reach()),
                Ok(EndpointSecurity::Loopback)
            );
        }
        for host in ["192.168.1.2", "example.org", "localhost.example.org", "0.0.0.0"] {
            let refused = Endpoint::parse(&format!("http://{host}:8080/v1"));
            assert_eq!(
                refused,
                Err(BadUrl::Insecure {
                    host: host.to_owned()
                })
            );
            let secured = Endpoint::parse(&format!("https://{host}/v1"));
            assert_eq!(secured.map(|e| e.reach()), Ok(EndpointSecurity::Secured));
        }
    }

    #[test]
    fn an_address_with_anything_beside_host_and_path_is_refused_and_not_repeated() {
        let long = format!("https://h/{}", "x".repeat(URL_BYTES_MAX));
        for text in [
            "",
            "api.openai.com",
            "ftp://h/",
            "https://user:secret@h/",
            "https://h/?key=secret",
            "https://h/#secret",
            long.as_str(),
        ] {
            let error = Endpoint::parse(text).expect_err(text);
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
