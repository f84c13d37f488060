//! The credentials that Docker has for a registry: those of `docker login`, found where Docker finds them.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// What a helper prints when it has nothing (`credentials/error.go` of docker-credential-helpers).
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The name under which a helper gives a token that is no password.
const TOKEN: &str = "<token>";

/// What a registry is told. It is a secret, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Login {
    /// A name and a password.
    Password { user: String, password: String },
    /// What a token server gives tokens for.
    Identity(String),
    /// A token for the registry itself.
    Token(String),
}

/// The part of Docker's `config.json` that is about registries.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    auths: Option<BTreeMap<String, Entry>>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
    #[serde(rename = "credHelpers")]
    helpers: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    /// `USER:PASSWORD` in base64.
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
    registrytoken: String,
}

/// What a helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    secret: String,
}

/// The credentials for a registry, which Docker knows under `server`: its host, with its port when it has one. `None` when
/// nobody has logged in.
pub(super) fn login(server: &str) -> anyhow::Result<Option<Login>> {
    let folder = std::env::var_os("DOCKER_CONFIG")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(std::env::home_dir()?.join(".docker")));
    let Some(file) = folder.map(|folder| folder.join("config.json")) else {
        return Ok(None);
    };
    match std::fs::read(&file) {
        Ok(text) => config(&text)
            .and_then(|config| config.login(server, ask))
            .with_context(|| format!("failed to read the credentials of {}", file.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read {}", file.display())),
    }
}

fn config(text: &[u8]) -> anyhow::Result<Config> {
    // The words of the error may have a secret in them.
    serde_json::from_slice(text).map_err(|error| {
        anyhow::anyhow!(
            "it is no JSON that Docker reads: line {}, column {}",
            error.line(),
            error.column()
        )
    })
}

impl Config {
    /// As Docker's `GetCredentialsStore` has it: the helper of the registry, else the store for all, else the file.
    fn login(
        &self,
        server: &str,
        ask: impl Fn(&str, &str) -> anyhow::Result<Option<Login>>,
    ) -> anyhow::Result<Option<Login>> {
        let of_server = self.helpers.as_ref().and_then(|helpers| helpers.get(server));
        if let Some(helper) = of_server
            .or(self.store.as_ref())
            .filter(|helper| !helper.is_empty())
        {
            return ask(helper, server);
        }
        let Some(auths) = &self.auths else {
            return Ok(None);
        };
        let auth = auths.get(server).or_else(|| {
            let mut others = auths.iter().filter(|(name, _)| host(name) == server);
            others.next().map(|(_, auth)| auth)
        });
        auth.map_or(Ok(None), Entry::login)
    }
}

/// The host of a registry's name: people log in to URLs too.
fn host(name: &str) -> &str {
    let name = name.split_once("://").map_or(name, |(_, name)| name);
    name.split_once('/').map_or(name, |(host, _)| host)
}

impl Entry {
    fn login(&self) -> anyhow::Result<Option<Login>> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Login::Identity(self.identitytoken.clone())));
        }
        if !self.registrytoken.is_empty() {
            return Ok(Some(Login::Token(self.registrytoken.clone())));
        }
        let (user, password) = if self.auth.is_empty() {
            (self.username.clone(), self.password.clone())
        } else {
            let text = STANDARD.decode(&self.auth).ok();
            text.and_then(|text| String::from_utf8(text).ok())
                .and_then(|text| {
                    let (user, password) = text.split_once(':')?;
                    Some((user.to_owned(), password.trim_matches('\0').to_owned()))
                })
                .context("an `auth` is not USER:PASSWORD in base64")?
        };
        Ok((!user.is_empty()).then_some(Login::Password { user, password }))
    }
}

/// Asks a helper, as `docker` does: `docker-credential-NAME get`, with the server on its standard input.
fn ask(helper: &str, server: &str) -> anyhow::Result<Option<Login>> {
    let program = format!("docker-credential-{helper}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to run `{program}`"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that knows without reading is no error.
        stdin.write_all(server.as_bytes()).ok();
    }
    let output = child
        .wait_with_output()
        .with_context(|| format!("failed to run `{program}`"))?;
    answer(&program, output.status.success(), &output.stdout)
}

/// Reads what a helper printed, which is never repeated.
fn answer(program: &str, success: bool, printed: &[u8]) -> anyhow::Result<Option<Login>> {
    if !success {
        if String::from_utf8_lossy(printed).trim() == NOT_FOUND {
            return Ok(None);
        }
        bail!("`{program} get` failed");
    }
    let Ok(Answer { username, secret }) = serde_json::from_slice(printed) else {
        bail!("`{program} get` did not print credentials");
    };
    Ok(match (&*username, &*secret) {
        (_, "") => None,
        (TOKEN, _) => Some(Login::Identity(secret)),
        ("", _) => None,
        _ => Some(Login::Password {
            user: username,
            password: secret,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A login as text. Tests have no secrets.
    fn shown(login: Option<Login>) -> String {
        match login {
            None => "none".to_owned(),
            Some(Login::Password { user, password }) => format!("{user} {password}"),
            Some(Login::Identity(token)) => format!("identity {token}"),
            Some(Login::Token(token)) => format!("token {token}"),
        }
    }

    fn of(text: &str, server: &str) -> String {
        let asked = |helper: &str, server: &str| {
            Ok(Some(Login::Password {
                user: helper.to_owned(),
                password: server.to_owned(),
            }))
        };
        match config(text.as_bytes()).and_then(|config| config.login(server, asked)) {
            Ok(login) => shown(login),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn credentials_of_the_file() {
        // `me:secret` and `me:with:colons` with a zero byte.
        let file = r#"{ "auths": {
            "plain.example": { "auth": "bWU6c2VjcmV0" },
            "https://url.example/v1/": { "auth": "bWU6d2l0aDpjb2xvbnMA" },
            "words.example": { "username": "you", "password": "word" },
            "identity.example": { "auth": "bWU6", "identitytoken": "refresh" },
            "token.example": { "registrytoken": "bearer" },
            "empty.example": {},
            "broken.example": { "auth": "c2VjcmV0" }
        }, "HttpHeaders": {}, "psFormat": "x" }"#;
        for (server, expected) in [
            ("plain.example", "me secret"),
            ("url.example", "me with:colons"),
            ("words.example", "you word"),
            ("identity.example", "identity refresh"),
            ("token.example", "token bearer"),
            ("empty.example", "none"),
            ("plain.example:5000", "none"),
            ("other.example", "none"),
            ("broken.example", "an `auth` is not USER:PASSWORD in base64"),
        ] {
            assert_eq!(of(file, server), expected, "{server}");
        }
        assert_eq!(of("{}", "plain.example"), "none");
        assert_eq!(of(r#"{ "auths": null }"#, "plain.example"), "none");
    }

    #[test]
    fn helpers_come_before_the_file() {
        let file = r#"{ "auths": { "a.example": { "auth": "bWU6c2VjcmV0" } },
                        "credsStore": "all", "credHelpers": { "b.example": "one" } }"#;
        assert_eq!(of(file, "a.example"), "all a.example");
        assert_eq!(of(file, "b.example"), "one b.example");
        let file = file.replace(r#""credsStore": "all", "#, "");
        assert_eq!(of(&file, "a.example"), "me secret");
    }

    #[test]
    fn no_error_repeats_a_secret() {
        let text = r#"{ "auths": { "a.example": "hunter2" } }"#;
        let said = of(text, "a.example");
        assert!(said.contains("line 1") && !said.contains("hunter2"), "{said}");
        for printed in ["hunter2", r#"{ "Secret": ["hunter2"] }"#] {
            for success in [true, false] {
                let error = answer("docker-credential-x", success, printed.as_bytes()).err();
                let said = format!("{:#}", error.unwrap());
                assert!(
                    said.contains("docker-credential-x") && !said.contains("hunter2"),
                    "{said}"
                );
            }
        }
    }

    #[test]
    fn answers_of_helpers() {
        let said = |success, printed: &str| shown(answer("x", success, printed.as_bytes()).unwrap());
        assert_eq!(said(false, "credentials not found in native keychain\n"), "none");
        assert_eq!(
            said(
                true,
                r#"{"ServerURL":"a.example","Username":"me","Secret":"word"}"#
            ),
            "me word"
        );
        assert_eq!(
            said(true, r#"{"Username":"<token>","Secret":"refresh"}"#),
            "identity refresh"
        );
        assert_eq!(
            said(true, r#"{"ServerURL":"","Username":"","Secret":""}"#),
            "none"
        );
    }
}
