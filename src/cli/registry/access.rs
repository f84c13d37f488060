//! What a registry is told of who asks: the answer to its challenge.

use std::collections::BTreeSet;

use anyhow::{Context as _, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use ureq::http::Uri;

use super::challenge::Challenge;
use super::login::Login;
use super::{Registry, words};

/// What requests are sent with.
#[derive(Default)]
pub(super) struct Access {
    /// The value of `Authorization`.
    pub(super) authorization: Option<String>,
    /// What the token is for: all that was asked for so far, since one token has to do for all requests.
    scopes: BTreeSet<String>,
}

/// What a token server answers.
#[derive(Deserialize)]
struct Granted {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

impl Registry {
    /// What answers one of the challenges, for a request that was sent with `used`; `None` when there is nothing new to say.
    pub(super) fn authorize(
        &self,
        challenges: &[Challenge],
        used: Option<&str>,
    ) -> anyhow::Result<Option<String>> {
        let mut access = self.access();
        if access.authorization.as_deref() != used {
            // Another thread was faster.
            return Ok(access.authorization.clone());
        }
        let bearer = |challenge: &&Challenge| matches!(challenge, Challenge::Bearer { .. });
        let challenge = challenges.iter().find(bearer).or_else(|| challenges.first());
        let authorization = match (challenge, &self.login) {
            (Some(Challenge::Bearer { .. }), Some(Login::Token(token))) => format!("Bearer {token}"),
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope,
                }),
                login,
            ) => {
                let scopes = scope.iter().flat_map(|scope| scope.split_whitespace());
                access.scopes.extend(scopes.map(str::to_owned));
                let token = self.token(realm, service.as_deref(), &access.scopes, login.as_ref())?;
                format!("Bearer {token}")
            }
            (Some(Challenge::Basic), Some(Login::Password { user, password })) => basic(user, password),
            (Some(Challenge::Basic), _) => {
                bail!("{} asks who you are: `docker login {}`", self.host, self.host)
            }
            (None, _) => return Ok(None),
        };
        if Some(&*authorization) == used {
            return Ok(None);
        }
        access.authorization = Some(authorization.clone());
        Ok(Some(authorization))
    }

    /// Asks a token server, as `docs/content/spec/auth/token.md` and `oauth.md` of distribution have it.
    fn token(
        &self,
        realm: &str,
        service: Option<&str>,
        scopes: &BTreeSet<String>,
        login: Option<&Login>,
    ) -> anyhow::Result<String> {
        let server = realm
            .parse::<Uri>()
            .ok()
            .and_then(|uri| Some(uri.host()?.to_owned()))
            .with_context(|| format!("{} sends for a token to what is no URL", self.host))?;
        let client = [("client_id", "wheelbase")];
        let answer = if let Some(Login::Identity(identity)) = login {
            let scope = scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
            let form = [
                ("grant_type", "refresh_token"),
                ("refresh_token", identity),
                ("scope", &scope),
            ];
            let service = service.map(|service| ("service", service));
            self.agent
                .post(realm)
                .send_form(form.into_iter().chain(client).chain(service))
        } else {
            let mut request = self.agent.get(realm).query_pairs(client);
            if let Some(service) = service {
                request = request.query("service", service);
            }
            for scope in scopes {
                request = request.query("scope", scope);
            }
            if let Some(Login::Password { user, password }) = login {
                request = request.header("authorization", basic(user, password));
            }
            request.call()
        };
        let mut response = answer
            .map_err(|error| anyhow!("{server}, which gives tokens, cannot be asked: {}", words(&error)))?;
        match response.status().as_u16() {
            200 => {}
            401 | 403 => bail!(
                "{server} gives no token for {}: `docker login {}` as somebody who may",
                self.name(),
                self.host
            ),
            status => bail!("{server} gives no token for {}: status {status}", self.name()),
        }
        // The answer has a secret in it, so it is not repeated.
        let granted: Option<Granted> = serde_json::from_slice(&self.read(&mut response)?).ok();
        granted
            .map(|granted| {
                if granted.token.is_empty() {
                    granted.access_token
                } else {
                    granted.token
                }
            })
            .filter(|token| !token.is_empty())
            .with_context(|| format!("{server} does not answer with a token"))
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}
