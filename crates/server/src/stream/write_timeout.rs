//! Closes the connection of a client that no longer reads.
//!
//! A stream is not polled while its connection cannot write, so it cannot end itself. Without this timeout,
//! a suspended client would keep its stream slot until the network detects the failure, which may take
//! hours. The timer runs only while a write is pending.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::STALL_MS_MAX;

/// A connection with a write timeout.
pub(crate) struct WriteTimeout<C> {
    inner: C,
    /// The timer of a pending write.
    giving_up: Option<Pin<Box<Sleep>>>,
}

impl<C> WriteTimeout<C> {
    pub(crate) const fn new(inner: C) -> Self {
        Self {
            inner,
            giving_up: None,
        }
    }

    /// Whether a write is pending.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.giving_up.is_some()
    }

    /// Passes on a write that made progress; starts the timer for one that did not.
    fn watch_progress<T>(
        &mut self,
        context: &mut Context<'_>,
        moved: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
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
        self.watch_progress(context, moved)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.watch_progress(context, moved)
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
    async fn a_client_that_never_reads_is_disconnected_after_half_a_minute() {
        let (_client, server) = tokio::io::duplex(16);
        let (mut server, begun) = (WriteTimeout::new(server), Instant::now());
        let error = server
            .write_all(&[0; 64])
            .await
            .expect_err("the client does not read");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed().as_millis(), u128::from(STALL_MS_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_not_disconnected() {
        let (mut client, server) = tokio::io::duplex(16);
        // The writer owns its end, so the reader is not left waiting when the write times out.
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
    async fn an_idle_connection_is_not_closed() {
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
