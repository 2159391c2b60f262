//! Sends the input of a hook to a service of this machine.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use wakeful_core::hook::{HOOK_OUTPUT_BYTES_MAX, HookEnd, HookOutput};

/// Sends a request. It follows no redirect and uses no proxy, so that the arguments stay on this machine.
pub(super) async fn post(url: &str, input: Vec<u8>) -> HookOutput {
    let ended = |end| HookOutput {
        end,
        answer: Vec::new(),
        errors: Vec::new(),
    };
    match send(url, input).await {
        Ok(response) => {
            let status = response.status().as_u16();
            match body(response).await {
                Ok(Some(answer)) => HookOutput {
                    end: HookEnd::Answered(status),
                    answer,
                    errors: Vec::new(),
                },
                Ok(None) => ended(HookEnd::TooMuchOutput),
                Err(error) => ended(HookEnd::NotRun(error.without_url().to_string())),
            }
        }
        Err(error) => ended(HookEnd::NotRun(error.without_url().to_string())),
    }
}

async fn send(url: &str, input: Vec<u8>) -> Result<Response, reqwest::Error> {
    // The client needs one although the address is not encrypted. It is always the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The port of the address is that of the URL.
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let client = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .resolve("localhost", here)
        .build()?;
    let request = client.post(url).header(CONTENT_TYPE, "application/json");
    request.body(input).send().await
}

/// The body; none if it is longer than allowed.
async fn body(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > HOOK_OUTPUT_BYTES_MAX {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}
