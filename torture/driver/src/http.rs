//! The API as a stranger sees it: one request, one answer, and then the connection is closed.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a program that lives may take to answer. Longer means that it hangs, which is told apart from a refusal.
const PATIENCE: Duration = Duration::from_secs(20);

/// Largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// Where to ask, and with which token.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

impl Api {
    /// Asks for something.
    pub(crate) fn get(&self, path: &str) -> Option<Answer> {
        self.ask("GET", path, "")
    }

    /// Sends something.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Option<Answer> {
        self.ask("POST", path, &body.to_string())
    }

    /// The answer if a whole one came. Whatever else happened, nobody was told anything.
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

/// The answer, unless it broke off in the middle.
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
    fn an_answer_that_breaks_off_is_none() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}";
        let answer = parse(whole).expect("an answer");
        assert_eq!((answer.status, answer.body["a"].as_u64()), (200, Some(1)));
        for cut in [whole.len() - 1, 30, 10] {
            assert!(parse(&whole[..cut]).is_none(), "{cut}");
        }
    }
}
