//! A stream as a response body. It has no task and no buffer: the next frame is produced when the
//! connection polls for it, after the previous one was sent.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::Frame;

/// A source of frames.
pub(super) trait FrameSource: Sized + Send + 'static {
    /// Returns the next frame and the source for the following ones, or `None` at the end.
    fn next(self: Box<Self>) -> impl Future<Output = NextFrame<Self>> + Send;
}

/// A frame and the rest of the source.
pub(super) type NextFrame<S> = Option<(Bytes, Box<S>)>;

/// A source that is being read.
struct StreamBody<S> {
    next: Option<Pin<Box<dyn Future<Output = NextFrame<S>> + Send>>>,
}

/// Builds a streaming response.
pub(super) fn respond<S: FrameSource>(source: S) -> Response {
    let flow = StreamBody {
        next: Some(Box::pin(Box::new(source).next())),
    };
    let mut response = Response::new(Body::new(flow));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Without this header, a buffering proxy would delay the events.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

impl<S: FrameSource> hyper::body::Body for StreamBody<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = self.next.as_mut() else {
            return Poll::Ready(None);
        };
        let step = ready!(next.as_mut().poll(context));
        let frame = match step {
            Some((bytes, rest)) => {
                self.next = Some(Box::pin(rest.next()));
                Some(Ok(Frame::data(bytes)))
            }
            None => {
                self.next = None;
                None
            }
        };
        Poll::Ready(frame)
    }
}
