//! A web server for a few files, on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;

/// A server that ends when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Files {
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Files {
    /// Serves files by name.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn serve(files: BTreeMap<String, Vec<u8>>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                answer(stream, &files).ok();
            }
        });
        Ok(Self { port, ended })
    }

    /// URL of a file.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the server up.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

fn answer(stream: TcpStream, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
    }
    let mut words = request.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let found = files.get(path.trim_start_matches('/'));
    let (status, body) = match found {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &[][..]),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(body)?;
    }
    Ok(())
}
