//! Creates a database for each episode on a PostgreSQL server, with a minimal implementation of its
//! protocol.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// The protocol version, followed by the socket name, which contains the port.
const PROTOCOL: u32 = 196_608;
const SOCKET: &str = ".s.PGSQL.5432";

/// Maximum response time of the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum size of a message.
const MESSAGE_BYTES_MAX: u32 = 1 << 20;

/// Creates an empty database, and returns its connection string.
pub(crate) fn create(words: &str, name: &str) -> Result<String> {
    order(words, &format!("CREATE DATABASE {name}"))?;
    let others = words
        .split_whitespace()
        .filter(|word| !word.starts_with("dbname="));
    let mut words: Vec<String> = others.map(str::to_owned).collect();
    words.push(format!("dbname={name}"));
    Ok(words.join(" "))
}

/// Drops the database and its open connections.
pub(crate) fn drop(words: &str, name: &str) -> Result<()> {
    order(words, &format!("DROP DATABASE {name} WITH (FORCE)"))
}

/// Executes one statement.
fn order(words: &str, statement: &str) -> Result<()> {
    let word = |name: &str| words.split_whitespace().find_map(|word| word.strip_prefix(name));
    let (host, user) = (
        word("host=").context("no host")?,
        word("user=").context("no user")?,
    );
    let database = word("dbname=").unwrap_or(user);
    let mut stream = UnixStream::connect(format!("{host}/{SOCKET}")).context("connecting to PostgreSQL")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let hello = format!("user\0{user}\0database\0{database}\0\0");
    let mut message = PROTOCOL.to_be_bytes().to_vec();
    message.extend(hello.as_bytes());
    stream.write_all(&framed(&message)?)?;
    until_ready(&mut stream)?;
    stream.write_all(b"Q")?;
    stream.write_all(&framed(format!("{statement}\0").as_bytes())?)?;
    until_ready(&mut stream).with_context(|| statement.to_owned())
}

/// Prepends the length, which includes itself.
fn framed(message: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(message.len() + 4)?;
    Ok([&length.to_be_bytes(), message].concat())
}

/// Reads until the server is ready for a query.
fn until_ready(stream: &mut UnixStream) -> Result<()> {
    let mut refused = None;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).context("reading from PostgreSQL")?;
        let [kind, length @ ..] = head;
        let length = u32::from_be_bytes(length);
        if !(4..=MESSAGE_BYTES_MAX).contains(&length) {
            bail!("PostgreSQL sent a message of {length} bytes");
        }
        let mut body = vec![0; usize::try_from(length - 4)?];
        stream.read_exact(&mut body).context("reading from PostgreSQL")?;
        match (kind, refused.take()) {
            (b'E', _) => refused = Some(String::from_utf8_lossy(&body).replace('\0', " ")),
            (b'Z', None) => return Ok(()),
            (b'Z', Some(why)) => bail!("PostgreSQL refused: {why}"),
            (_, before) => refused = before,
        }
    }
}
