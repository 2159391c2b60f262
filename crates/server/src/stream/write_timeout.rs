//! A connection that gives up on a client that no longer reads.
//!
//! A stream makes nothing while its connection cannot write, so it cannot end itself then. Without this, a client that
//! went to sleep with its connection open would hold its place among the streams until the network noticed, which may
//! take hours. The timer runs only while a write waits.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::STALL_MS_MAX;

/// A connection with patience.
pub(crate) struct WriteTimeout<C> {
    inner: C,
    /// Runs while a write waits.
    giving_up: Option<Pin<Box<Sleep>>>,
}

impl<C> WriteTimeout<C> {
    pub(crate) const fn new(inner: C) -> Self {
        Self {
            inner,
            giving_up: None,
        }
    }

    /// Whether a write waits for the client.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.giving_up.is_some()
    }

    /// Lets a write through that moved; one that did not may wait its time.
    fn bear<T>(&mut self, context: &mut Context<'_>, moved: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.giving_up = None;
            return moved;
        }
        let patience = Duration::from_millis(STALL_MS_MAX);
        let giving_up = self
            .giving_up
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        giving_up
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for WriteTimeout<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.bear(context, moved)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.bear(context, moved)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::{Instant, advance};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_is_given_up_after_half_a_minute() {
        let (_client, server) = tokio::io::duplex(16);
        let (mut server, begun) = (WriteTimeout::new(server), Instant::now());
        let error = server.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_millis(), u128::from(STALL_MS_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_little_now_and_then_is_borne_with() {
        let (mut client, server) = tokio::io::duplex(16);
        // It owns its end, so that the reader is not left waiting when it gives up.
        let writing = async move { WriteTimeout::new(server).write_all(&[0; 64]).await };
        let reading = async {
            let mut bytes = [0; 16];
            for _ in 0..4 {
                advance(Duration::from_millis(STALL_MS_MAX - 1)).await;
                client.read_exact(&mut bytes).await.expect("bytes");
            }
        };
        let (written, ()) = tokio::join!(writing, reading);
        written.expect("it was read");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nothing_is_said_is_not_given_up() {
        let (mut client, server) = tokio::io::duplex(16);
        let mut server = WriteTimeout::new(server);
        server.write_all(b"a").await.expect("room");
        advance(Duration::from_millis(10 * STALL_MS_MAX)).await;
        server.write_all(b"b").await.expect("room");
        let mut bytes = [0; 2];
        client.read_exact(&mut bytes).await.expect("bytes");
        assert_eq!(&bytes, b"ab");
    }
}
