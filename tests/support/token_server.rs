//! A server that gives tokens for a registry, as distribution's `docs/content/spec/auth/token.md` and `jwt.md` have it. What a
//! token is good for is the registry's to check.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server that ends when it goes out of scope.
#[derive(Debug)]
pub(crate) struct TokenServer {
    port: u16,
    folder: Arc<TempDir>,
    ended: Arc<AtomicBool>,
}

const SERVICE: &str = "lab";

impl TokenServer {
    /// Starts one that knows users by name, password and what they may do: `pull`, `push`, `delete`.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn start(
        users: &'static [(&'static str, &'static str, &'static [&'static str])],
    ) -> Result<Self> {
        let folder = Arc::new(tempfile::tempdir()?);
        let status = Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab",
            ])
            .args(["-keyout", "key.pem", "-out", "certificate.pem"])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status()?;
        ensure!(status.success(), "openssl makes no certificate");
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let ended = Arc::new(AtomicBool::new(false));
        let (seen, files) = (Arc::clone(&ended), Arc::clone(&folder));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                answer(stream, files.path(), users).ok();
            }
        });
        Ok(Self { port, folder, ended })
    }

    /// The part `auth` of a registry that trusts it.
    pub(crate) fn auth(&self) -> Value {
        json!({ "token": {
            "realm": format!("http://127.0.0.1:{}/token", self.port),
            "service": SERVICE,
            "issuer": SERVICE,
            "rootcertbundle": self.folder.path().join("certificate.pem"),
        }})
    }
}

impl Drop for TokenServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

fn answer(mut stream: TcpStream, folder: &Path, users: &[(&str, &str, &[&str])]) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let (mut who, mut length) = (None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match &*name.to_ascii_lowercase() {
            "authorization" => who = Some(value.to_owned()),
            "content-length" => length = value.parse()?,
            _ => {}
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let known = users.iter().find(|(name, password, _)| {
        who.as_deref()
            == Some(&*format!(
                "Basic {}",
                STANDARD.encode(format!("{name}:{password}"))
            ))
    });
    let (status, body) = match known {
        // Names and passwords come in a request's head; clients try another way first.
        _ if !request.starts_with("GET ") => ("405 Method Not Allowed", "{}".to_owned()),
        None => ("401 Unauthorized", "{}".to_owned()),
        Some((name, _, actions)) => {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let query = path.split_once('?').map_or("", |(_, query)| query);
            (
                "200 OK",
                json!({ "token": token(folder, name, actions, query)? }).to_string(),
            )
        }
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

/// A token for what was asked for, as far as the user may do it.
fn token(folder: &Path, user: &str, actions: &[&str], query: &str) -> Result<String> {
    let mut access = Vec::new();
    for scope in query.split('&').filter_map(|pair| pair.strip_prefix("scope=")) {
        let scope = scope
            .replace("%3A", ":")
            .replace("%2C", ",")
            .replace("%2F", "/")
            .replace("%20", "+");
        for scope in scope.split('+') {
            let [kind, name, asked] = scope.split(':').collect::<Vec<_>>()[..] else {
                continue;
            };
            let granted: Vec<&str> = asked
                .split(',')
                .filter(|action| actions.contains(action))
                .collect();
            access.push(json!({ "type": kind, "name": name, "actions": granted }));
        }
    }
    let certificate = std::fs::read_to_string(folder.join("certificate.pem"))?;
    let certificate: String = certificate
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let head = json!({ "typ": "JWT", "alg": "RS256", "x5c": [certificate] });
    let claims = json!({
        "iss": SERVICE, "sub": user, "aud": SERVICE, "exp": now + 300, "nbf": now - 10, "iat": now,
        "jti": super::unique(), "access": access,
    });
    let [head, claims] = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let mut openssl = Command::new("openssl")
        .args(["dgst", "-sha256", "-sign", "key.pem"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = openssl.stdin.take().context("no standard input")?;
    write!(stdin, "{head}.{claims}")?;
    drop(stdin);
    let signature = openssl.wait_with_output()?.stdout;
    Ok(format!("{head}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
