//! A registry, as far as cleaning a wheel store needs one: lists of tags, manifests, small blobs, and deletion by digest
//! (OCI Distribution Specification 1.1).
//!
//! Builds leave registries to the daemon. Deleting is nothing that a daemon does, so it is done here, with the credentials that
//! Docker has. Plain http is spoken with loopback alone, as `docker` does without any setting.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{anyhow, bail};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use ureq::http::{Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

mod access;
mod challenge;
mod login;

use access::Access;
use challenge::{Challenge, next_link};
use login::Login;

use crate::llb::is_tag;

/// What a manifest may be. What is not asked for, a registry may translate or not find.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

/// A registry must take manifests of 4 MiB, and may take larger ones.
const MOST_BYTES: u64 = 32 << 20;

const CONNECT: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_mins(2);

/// The registry that Docker means when a reference names none: where it answers, and what its credentials are kept under.
const HUB: [&str; 3] = ["docker.io", "registry-1.docker.io", "https://index.docker.io/v1/"];

/// A repository of a registry.
pub(super) struct Registry {
    agent: Agent,
    /// Host of the registry as references have it, with its port when it has one.
    host: String,
    /// Scheme and host, as in `https://registry.example`.
    base: String,
    repository: String,
    login: Option<Login>,
    access: Mutex<Access>,
}

/// A manifest as the registry has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) digest: String,
    pub(super) bytes: Vec<u8>,
}

/// Why a registry did not delete a manifest.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It deletes nothing (405): in the words of the registry.
    SwitchedOff(String),
    /// Anything else.
    Other(anyhow::Error),
}

#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy)]
enum Method {
    Get,
    Delete,
}

impl Registry {
    /// Prepares to talk to the registry of `host/repository`; nothing is sent.
    pub(super) fn of(host: &str, repository: &str) -> anyhow::Result<Self> {
        let [hub, answers, server] = HUB;
        let (address, server) = if host == hub {
            (answers, server)
        } else {
            (host, host)
        };
        let is_plain = is_loopback(address);
        Ok(Self {
            agent: agent(is_plain)?,
            host: host.to_owned(),
            base: format!("{}://{address}", if is_plain { "http" } else { "https" }),
            repository: repository.to_owned(),
            login: login::login(server)?,
            access: Mutex::default(),
        })
    }

    /// All tags, sorted; none when there is no such repository. A list that cannot be read to its end is an error: a tag that
    /// is not seen protects nothing.
    pub(super) fn tags(&self) -> anyhow::Result<Vec<String>> {
        let mut tags = BTreeSet::new();
        let mut page = format!("/v2/{}/tags/list", self.repository);
        let mut pages = BTreeSet::new();
        loop {
            if !pages.insert(page.clone()) {
                bail!("{} goes in circles with its list of tags", self.name());
            }
            let mut response = self.send(Method::Get, &page, None)?;
            match response.status().as_u16() {
                200 => {}
                404 if pages.len() == 1 => break,
                _ => return Err(self.refused("list its tags", &mut response)),
            }
            let next = self.next(&response)?;
            let body = self.read(&mut response)?;
            let list: Tags = serde_json::from_slice(&body)
                .map_err(|_| anyhow!("{} does not answer with a list of tags", self.name()))?;
            for tag in list.tags.into_iter().flatten() {
                // It becomes a part of a path.
                if !is_tag(&tag) {
                    bail!("{} lists what is no tag", self.name());
                }
                tags.insert(tag);
            }
            match next {
                Some(next) => page = next,
                None => break,
            }
        }
        Ok(tags.into_iter().collect())
    }

    /// The manifest of a tag or a digest; `None` when there is none.
    pub(super) fn manifest(&self, reference: &str) -> anyhow::Result<Option<Manifest>> {
        let path = format!("/v2/{}/manifests/{reference}", self.repository);
        let Some(bytes) = self.found(&path, Some(MANIFESTS))? else {
            return Ok(None);
        };
        let digest = format!("sha256:{}", crate::plan::hex(&Sha256::digest(&bytes)));
        if is_digest(reference) && reference.starts_with("sha256:") && reference != digest {
            bail!("{} answers with something else for {reference}", self.name());
        }
        Ok(Some(Manifest {
            // Another algorithm's digest is the registry's to know.
            digest: if is_digest(reference) {
                reference.to_owned()
            } else {
                digest
            },
            bytes,
        }))
    }

    /// A blob; `None` when there is none.
    pub(super) fn blob(&self, digest: &str) -> anyhow::Result<Option<Vec<u8>>> {
        self.found(&format!("/v2/{}/blobs/{digest}", self.repository), None)
    }

    /// Deletes a manifest and all tags that name it. That it is gone already is no failure.
    pub(super) fn delete(&self, digest: &str) -> Result<(), Refusal> {
        let path = format!("/v2/{}/manifests/{digest}", self.repository);
        let mut response = self.send(Method::Delete, &path, None).map_err(Refusal::Other)?;
        match response.status().as_u16() {
            200 | 202 | 204 | 404 => Ok(()),
            405 => Err(Refusal::SwitchedOff(refusal(&mut response))),
            _ => Err(Refusal::Other(
                self.refused(&format!("delete {digest}"), &mut response),
            )),
        }
    }

    /// What is said of a request that was not carried out: what it was for, and the registry's words.
    fn refused(&self, what: &str, response: &mut Response<Body>) -> anyhow::Error {
        let words = refusal(response);
        if matches!(response.status().as_u16(), 401 | 403) {
            anyhow!(
                "{} does not let you {what}: {words}; `docker login {}` as somebody who may",
                self.name(),
                self.host
            )
        } else {
            anyhow!("{} does not {what}: {words}", self.name())
        }
    }

    /// Registry and repository.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }

    fn found(&self, path: &str, accept: Option<&str>) -> anyhow::Result<Option<Vec<u8>>> {
        let mut response = self.send(Method::Get, path, accept)?;
        match response.status().as_u16() {
            200 => Ok(Some(self.read(&mut response)?)),
            404 => Ok(None),
            _ => Err(self.refused(&format!("give {path}"), &mut response)),
        }
    }

    fn read(&self, response: &mut Response<Body>) -> anyhow::Result<Vec<u8>> {
        let body = response.body_mut().with_config().limit(MOST_BYTES);
        body.read_to_vec()
            .map_err(|error| anyhow!("the answer of {} broke off: {}", self.host, words(&error)))
    }

    /// The path of the next page, which has to be this registry's: it is asked with the same credentials.
    fn next(&self, response: &Response<Body>) -> anyhow::Result<Option<String>> {
        let fields = response.headers().get_all("link");
        let mut fields = fields.iter().filter_map(|field| field.to_str().ok());
        let Some(link) = fields.find_map(next_link) else {
            return Ok(None);
        };
        let elsewhere = || anyhow!("{} continues its list of tags somewhere else", self.name());
        let uri: Uri = link.parse().map_err(|_| elsewhere())?;
        let base: Uri = self.base.parse()?;
        if uri
            .authority()
            .is_some_and(|authority| Some(authority) != base.authority())
        {
            return Err(elsewhere());
        }
        let path = uri.path_and_query().map(|path| path.as_str().to_owned());
        path.filter(|path| path.starts_with('/'))
            .map(Some)
            .ok_or_else(elsewhere)
    }

    /// Sends a request, and once more with what the registry asks for.
    fn send(&self, method: Method, path: &str, accept: Option<&str>) -> anyhow::Result<Response<Body>> {
        let url = format!("{}{path}", self.base);
        let send = |authorization: Option<&str>| {
            let mut request = match method {
                Method::Get => self.agent.get(&url),
                Method::Delete => self.agent.delete(&url),
            };
            if let Some(accept) = accept {
                request = request.header("accept", accept);
            }
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            request
                .call()
                .map_err(|error| anyhow!("{} cannot be asked: {}", self.host, words(&error)))
        };
        let used = self.access().authorization.clone();
        let response = send(used.as_deref())?;
        if response.status().as_u16() != 401 {
            return Ok(response);
        }
        let fields = response.headers().get_all("www-authenticate");
        let challenges: Vec<Challenge> = fields
            .iter()
            .filter_map(|field| field.to_str().ok())
            .flat_map(Challenge::read)
            .collect();
        match self.authorize(&challenges, used.as_deref())? {
            Some(authorization) => send(Some(&authorization)),
            None => Ok(response),
        }
    }

    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client; one that never speaks plain http unless the registry is on loopback.
fn agent(is_plain: bool) -> anyhow::Result<Agent> {
    // SSL_CERT_FILE and SSL_CERT_DIR, or else the system's.
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() && !is_plain {
        let why = found.errors.first().map(|error| format!(": {error}"));
        bail!(
            "no certificate authority is known{}; install ca-certificates, or name a bundle with SSL_CERT_FILE",
            why.unwrap_or_default()
        );
    }
    let authorities = found
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned());
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::from(authorities))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let mut config = Agent::config_builder()
        .tls_config(tls)
        .https_only(!is_plain)
        .http_status_as_error(false)
        .user_agent(concat!("wheelbase/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(ANSWER))
        .timeout_recv_body(Some(ANSWER));
    if is_plain {
        // What answers on loopback is not to be found through a proxy.
        config = config.proxy(None);
    }
    Ok(config.build().new_agent())
}

/// Whether a host, with or without a port, is this machine (`isInsecure` of Docker's registry configuration).
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// What a registry says of a request that it does not carry out: the status, and the code and the message of its first
/// error, on one line.
fn refusal(response: &mut Response<Body>) -> String {
    const MOST_LETTERS: usize = 200;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(64 << 10).read_to_vec();
    let body: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let error = &body["errors"][0];
    let word = |name: &str| {
        let text = error[name].as_str().unwrap_or_default().chars();
        let line = text.map(|letter| if letter.is_control() { ' ' } else { letter });
        line.take(MOST_LETTERS).collect::<String>()
    };
    let (code, message) = (word("code"), word("message"));
    match (code.is_empty(), message.is_empty()) {
        (true, true) => format!("status {status}"),
        (false, true) => format!("{status} {code}"),
        (true, false) => format!("{status} ({message})"),
        (false, false) => format!("{status} {code} ({message})"),
    }
}

/// What is said of a request that came to nothing. URLs are left out, since a token's has secrets in it.
fn words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "its URL cannot be read".to_owned(),
        ureq::Error::RequireHttpsOnly(_) => "its URL is not https".to_owned(),
        ureq::Error::ConnectProxyFailed(_) => "the proxy of HTTPS_PROXY does not connect".to_owned(),
        ureq::Error::Rustls(error) => untrusted(error),
        ureq::Error::Io(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(error) => untrusted(error),
            None => error.to_string(),
        },
        error => error.to_string(),
    }
}

fn untrusted(error: &rustls::Error) -> String {
    format!(
        "{error}; SSL_CERT_FILE names the certificate authorities that are trusted, the system's otherwise"
    )
}

/// Whether a text is a digest (`descriptor.md` of the image specification).
pub(super) fn is_digest(text: &str) -> bool {
    text.split_once(':').is_some_and(|(algorithm, encoded)| {
        let is_algorithm = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+._-".contains(c);
        let is_encoded = |c: char| c.is_ascii_alphanumeric() || "=_-".contains(c);
        !algorithm.is_empty()
            && algorithm.chars().all(is_algorithm)
            && encoded.len() >= 32
            && encoded.chars().all(is_encoded)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// What a registry that gives one tag at a time says of all of them. Debian's gives all tags at once.
    fn paged(second: &str) -> anyhow::Result<Vec<String>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let host = listener.local_addr()?.to_string();
        let link = format!("link: {}\r\n", second.replace("HOST", &host));
        let answers = [
            (link.as_str(), r#"{ "name": "team/wheels", "tags": ["b"] }"#),
            ("", r#"{ "name": "team/wheels", "tags": ["a", "b"] }"#),
        ];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (index, (link, body)) in answers.into_iter().enumerate() {
                    let Ok((mut stream, _)) = listener.accept() else {
                        return;
                    };
                    let mut request = String::new();
                    BufReader::new(&stream).read_line(&mut request).ok();
                    let expected = [
                        "GET /v2/team/wheels/tags/list HTTP",
                        "GET /v2/team/wheels/tags/list?last=b&n=1 HTTP",
                    ];
                    let (status, link) = if request.starts_with(expected[index]) {
                        ("200 OK", link)
                    } else {
                        ("404 Not Found", "")
                    };
                    write!(
                        stream,
                        "HTTP/1.1 {status}\r\n{link}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    )
                    .ok();
                }
            });
            let tags = Registry::of(&host, "team/wheels").and_then(|registry| registry.tags());
            // One that was not asked twice still waits.
            std::net::TcpStream::connect(&host).ok();
            tags
        })
    }

    #[test]
    fn lists_go_on_where_the_registry_says() {
        let next = "/v2/team/wheels/tags/list?last=b&n=1";
        for link in [
            format!("<{next}>; rel=\"next\""),
            format!("<http://HOST{next}>; rel=\"next\""),
        ] {
            assert_eq!(paged(&link).unwrap(), ["a", "b"], "{link}");
        }
        assert_eq!(paged("<>; rel=\"prev\"").unwrap(), ["b"]);
        // A list that is not seen to its end is none.
        let list = "/v2/team/wheels/tags/list";
        for (link, words) in [(list, "in circles"), ("/v2/team/wheels/tags/list?n=7", "404")] {
            let error = paged(&format!("<{link}>; rel=\"next\"")).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        // Another host would be told the same secrets.
        for link in [
            format!("<http://registry.example{next}>; rel=\"next\""),
            "<tags/list?last=b>; rel=\"next\"".to_owned(),
        ] {
            let error = paged(&link).unwrap_err().to_string();
            assert!(error.contains("somewhere else"), "{error}");
        }
    }

    #[test]
    fn plain_http_is_for_loopback() {
        for host in [
            "localhost",
            "localhost:5000",
            "127.0.0.1:5000",
            "127.9.9.9",
            "[::1]:5000",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "registry.example",
            "10.0.0.1:5000",
            "[fe80::1]",
            "localhost.example",
            "127.example",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn what_becomes_a_path_is_looked_at() {
        let digest = format!("sha256:{}", "0".repeat(64));
        assert!(is_digest(&digest) && is_tag("kernel.linux-amd64") && is_tag("_1"));
        for wrong in ["", "sha256:", "sha256:../../../x", &digest[..20], "sha256"] {
            assert!(!is_digest(wrong), "{wrong}");
        }
        for wrong in ["", "-a", ".a", "a/b", "a b", "a?n=1", &"a".repeat(129)] {
            assert!(!is_tag(wrong), "{wrong}");
        }
    }
}
