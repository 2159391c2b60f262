//! The base URL of a provider, and the URLs derived from it.

use std::net::IpAddr;

use reqwest::Url;

use crate::builtin::BuiltinProvider;
use crate::provider::Provider;

/// Longest base URL in bytes: the limit of common servers and proxies.
pub const URL_BYTES_MAX: usize = 2_048;

/// Why a URL cannot be used. The error shows parts of the URL only if they cannot contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// Not a URL to which a path can be appended.
    #[error("not a URL of the form https://HOST[:PORT][/PATH] without user, query and fragment")]
    Malformed,
    /// Keys and prompts would be sent unencrypted.
    #[error(
        "{host} is not this machine, so plain http would expose the key and prompts on the network; use https"
    )]
    Insecure { host: String },
}

/// Returns host and port of a URL, without any other part.
#[must_use]
pub fn host_of(url: &str) -> Option<String> {
    Endpoint::parse(url).ok().map(|endpoint| endpoint.host())
}

/// How the connection to a server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EndpointSecurity {
    /// A server on this machine, without TLS.
    Loopback,
    /// A server with TLS, local or remote.
    Secured,
}

/// A validated base URL.
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

    /// Whether the server is on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.base.host_str().is_some_and(is_loopback)
    }

    /// Returns host and port, which are safe to show.
    pub(super) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Returns the base URL as given, including a trailing slash.
    pub(super) fn itself(&self) -> Url {
        self.base.clone()
    }

    /// Returns a URL below the base URL, such as those of requests that are free of charge.
    pub(super) fn below(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        // A URL with a host always has path segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }

    /// Returns a URL below the server's root, without the path of the base URL.
    pub(super) fn root(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url
    }

    /// Returns the scope of thoughts from this server: the name alone if this is the address of the
    /// built-in provider with that name, otherwise name and host. Two servers with the same format, or the
    /// same name at a new address, have different scopes.
    pub(super) fn thinking_scope(&self, name: &str, provider: Provider) -> String {
        let known = BuiltinProvider::named(name).filter(|known| known.kind == provider);
        let home = known.and_then(|known| host_of(known.base_url.unwrap_or(provider.base_url())));
        match home == Some(self.host()) {
            true => name.to_owned(),
            false => format!("{name}@{}", self.host()),
        }
    }

    /// Whether this is the address of the format's original provider.
    pub(super) fn is_own(&self, provider: Provider) -> bool {
        Self::parse(provider.base_url()).is_ok_and(|own| own.base.host_str() == self.base.host_str())
    }

    /// Returns the URL for requests to a model.
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

/// Host names are not resolved, because a DNS server must not decide where keys are sent.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_its_own_request_path() {
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

    /// Thoughts that were stored before hosts were recorded have the bare name of the format.
    #[test]
    fn the_thinking_scope_names_the_host_of_other_addresses() {
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
        // A built-in name that is used for another format.
        assert_eq!(
            thinker("anthropic", Provider::OpenAi, own),
            "anthropic@api.openai.com"
        );
        let router = "https://openrouter.ai/api/v1";
        assert_eq!(thinker("openrouter", Provider::OpenAiChat, router), "openrouter");
    }

    #[test]
    fn plain_http_is_only_for_this_machine() {
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
    fn a_url_with_other_parts_is_refused_and_not_repeated() {
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
