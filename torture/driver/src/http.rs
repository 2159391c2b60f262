//! A minimal API client: one request and one response per connection.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Maximum response time of a running program. A longer time counts as a hang, which is different from a
/// refusal.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum size of a response.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// The address and the token of an API.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Api {
    /// Sends a GET request.
    pub(crate) fn get(&self, path: &str) -> Option<Answer> {
        self.ask("GET", path, "")
    }

    /// Sends a POST request.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Option<Answer> {
        self.ask("POST", path, &body.to_string())
    }

    /// The response, if a complete one arrived. In all other cases the client knows nothing.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        let (address, token, length) = (self.address, &self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).ok()?;
        parse(&String::from_utf8(answer).ok()?)
    }
}

/// The response, unless it is incomplete.
fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    if length? != body.len() {
        return None;
    }
    let body = serde_json::from_str(body).unwrap_or(Value::Null);
    Some(Answer { status, body })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_incomplete_response_is_none() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}";
        let answer = parse(whole).expect("an answer");
        assert_eq!((answer.status, answer.body["a"].as_u64()), (200, Some(1)));
        for cut in [whole.len() - 1, 30, 10] {
            assert!(parse(&whole[..cut]).is_none(), "{cut}");
        }
    }
}
