//! gRPC over standard input and output.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, Join};
use tokio::net::unix::pipe;
use tonic::transport::{Channel, Endpoint, Uri};

use super::error::Error;

/// What BuildKit's own Go client names as its peer; nothing is looked up.
const AUTHORITY: &str = "http://localhost";

/// Bytes that may be on their way before the other side has to say that it has read them. The default, 64 KiB,
/// costs a round trip through the container's pipes for each of the many pieces of a lockfile.
const WINDOW: u32 = 4 << 20;

/// Standard input and output as one stream.
pub type Stdio = Join<Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>>;

/// Joins standard input and output. Needs a runtime with I/O.
///
/// BuildKit gives pipes, which are read without a thread in between. A thread that waits for input cannot be
/// interrupted, and would keep the process alive after its end; it is the fallback for whatever else there is.
pub fn stdio() -> io::Result<Stdio> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let reader: Box<dyn AsyncRead + Send + Unpin> = match pipe::Receiver::from_owned_fd(input) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdin()),
    };
    let writer: Box<dyn AsyncWrite + Send + Unpin> = match pipe::Sender::from_owned_fd(output) {
        Ok(pipe) => Box::new(pipe),
        Err(_) => Box::new(tokio::io::stdout()),
    };
    Ok(tokio::io::join(reader, writer))
}

/// A channel over a stream that exists once. When it breaks, the channel would like to connect anew; there is
/// nothing to connect to, and the second attempt says so.
pub(crate) async fn channel<S>(stream: S) -> Result<Channel, Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = Arc::new(Mutex::new(Some(stream)));
    let connector = tower::service_fn(move |_: Uri| {
        let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        async move {
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "its end of the stream is gone");
            stream.map(TokioIo::new).ok_or_else(gone)
        }
    });
    Endpoint::from_static(AUTHORITY)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .connect_with_connector(connector)
        .await
        .map_err(|error| Error::Closed(error.to_string()))
}
